"""What keys hold: a module for each type, and for each part of one."""
