"""RESP: bytes to requests, values to replies, and the texts of errors."""
