"""The methods of a queue, declared once for every flavour."""
