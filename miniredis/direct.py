"""The direct way of a client in this process: requests go to the engine as values, and replies come back so.

redis-py's client, with its methods, callbacks and exceptions, stands above. Its encoding and its parser are
passed by for requests for data. All others, and replies that the two versions of the protocol have in
different shapes, go through them as with a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .engine.replies import NO_REPLY, NOT_ASKED, NoReply

if TYPE_CHECKING:
    from .local import LocalClient

__all__ = ["Direct", "called_back"]


class Direct:
    """Encodes the words of requests and decodes replies, as a connection of redis-py does with hiredis.

    Args:
        encoder: that of the connection.
        encode_text: how it encodes text.

    Attributes:
        reply: to the last request; ``NO_REPLY`` if it is to be read from the connection.
    """

    __slots__ = ("_decode", "_encoders", "reply")

    def __init__(self, encoder: Any, encode_text: Callable[[str], bytes] = str.encode) -> None:
        self.reply: Any = NO_REPLY
        self._encoders: dict[type, Callable[[Any], bytes]] = {
            bytes: bytes,
            int: b"%d".__mod__,
            str: encode_text,
        }
        self._decode: Callable[[Any], Any] | None = encoder.decode if encoder.decode_responses else None

    def ask(self, client: LocalClient, words: tuple[Any, ...]) -> bool:
        """Runs a request, unless it has to be sent as bytes: then returns False."""
        try:
            args = [self._encoders[type(word)](word) for word in words]
        except (KeyError, UnicodeEncodeError):  # floats and what is refused, too, are left to redis-py
            return False
        self.reply = reply = client.ask(args)
        return reply is not NOT_ASKED

    @property
    def has_reply(self) -> bool:
        """Whether the reply is here, so that there is nothing to read."""
        return type(self.reply) is not NoReply

    def take(self, *, decodes: bool = True) -> Any:
        """Returns the reply, and forgets it."""
        reply, self.reply = self.reply, NO_REPLY
        if self._decode is None or not decodes or reply is None:
            return reply
        return [*map(self._decode, reply)] if type(reply) is list else self._decode(reply)


NEVER_DECODE: Final = "NEVER_DECODE"
FOR_READING: Final = {NEVER_DECODE, "EMPTY_RESPONSE", "keys"}
"""Options of redis-py's commands that its callbacks do not take."""


def called_back(
    callbacks: Mapping[Any, Callable[..., Any]], direct: Direct, name: Any, options: dict[str, Any]
) -> Any:
    """The reply as redis-py's callback for a command, if there is one, hands it to the caller."""
    reply = direct.take(decodes=not options or NEVER_DECODE not in options)
    callback = callbacks.get(name)
    if callback is None:
        return reply
    if options:
        options = {key: value for key, value in options.items() if key not in FOR_READING}
    return callback(reply, **options)
