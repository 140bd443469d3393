"""One module for each shell; its function ``script`` makes the completion script."""

from typing import Final

SHELLS: Final = ("bash", "zsh", "fish")
