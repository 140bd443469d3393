"""``python -m conformance``."""

from .command import main, script

__all__ = ["main"]

if __name__ == "__main__":
    script()
