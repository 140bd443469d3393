"""HTML as text: whatever comes from elsewhere goes through ``escaped``."""

from __future__ import annotations

from html import escape

from .text import readable

__all__ = ["escaped", "tag"]


def escaped(text: str) -> str:
    """Text as it may stand in HTML, in an attribute as well."""
    return escape(readable(text))


def tag(name: str, *content: str, **attributes: str) -> str:
    """An element; its content is markup, its attributes are text. ``class_`` is the attribute ``class``."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{words}>{''.join(content)}</{name}>"
