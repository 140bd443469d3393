"""The clients that are judged, or stand on the other side of a queue: ours, a textbook's, and any program."""
