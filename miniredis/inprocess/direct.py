"""The direct way of a client in this process: requests go to the engine as values, and replies come back so.

redis-py's client, with its methods, callbacks and exceptions, stands above. Its encoding and its parser are
passed by for requests for data, alone or in pipelines and transactions. All others, and replies that the two
versions of the protocol have in different shapes, go through them as with a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from redis.exceptions import ConnectionError, WatchError  # noqa: A004

from ..engine.protocol.replies import NO_REPLY, NOT_ASKED, Encoded, NoReply
from .local import LocalClient

__all__ = ["HUNG_UP", "NEVER_DECODE", "Direct", "call_back"]

HUNG_UP: Final = "Connection closed by server."

Callbacks: TypeAlias = Any
"""A dict of functions by name, in upper case."""
StagedCommand: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""The words of a command in a pipeline of redis-py, and its options."""

NEVER_DECODE: Final = "NEVER_DECODE"
EMPTY_RESPONSE: Final = "EMPTY_RESPONSE"
FOR_READING: Final = {NEVER_DECODE, EMPTY_RESPONSE, "keys"}
"""Options of redis-py's commands that its callbacks do not take."""


class Direct:
    """Encodes the words of requests and decodes replies, as a connection of redis-py does with hiredis.

    Args:
        encoder: that of the connection.
        parser: that of the connection.
        encode_text: how it encodes text.

    Attributes:
        client: runs the requests; None until the connection is connected.
        reply: to the last request; a ``NoReply`` if it is to be read from the connection.
    """

    __slots__ = ("_decode", "_encoders", "_parser", "client", "reply")

    def __init__(self, encoder: Any, parser: Any, encode_text: Callable[[str], bytes] = str.encode) -> None:
        self.client: LocalClient | None = None
        self.reply: Any = NO_REPLY
        self._parser = parser
        self._encoders: dict[type, Callable[[Any], bytes]] = {
            bytes: bytes,
            int: b"%d".__mod__,
            str: encode_text,
        }
        self._decode: Callable[[Any], Any] | None = encoder.decode if encoder.decode_responses else None

    def ask(self, words: Sequence[Any]) -> Any:
        """Runs a request, and returns its reply, not decoded; see ``LocalClient.ask``."""
        encoders = self._encoders
        try:
            args = [encoders[type(word)](word) for word in words]
        except (KeyError, UnicodeEncodeError):  # floats and what is refused, too, are left to redis-py
            return NOT_ASKED
        return NOT_ASKED if self.client is None else self.client.ask(args)

    @property
    def has_reply(self) -> bool:
        """Whether the reply is here, so that there is nothing to read."""
        return type(self.reply) is not NoReply

    def take(self, *, decodes: bool) -> Any:
        """Returns the reply, and forgets it."""
        reply, self.reply = self.reply, NO_REPLY
        return self.decoded(reply, decodes=decodes)

    def decoded(self, reply: Any, *, decodes: bool = True) -> Any:
        """A reply as a connection of redis-py decodes it; an error is returned as an exception."""
        if type(reply) is Encoded:
            self._reader.feed(reply)
            return self._reader.gets(decodes)
        if self._decode is None or reply is None or not decodes:
            return reply
        return [*map(self._decode, reply)] if type(reply) is list else self._decode(reply)

    @property
    def _reader(self) -> Any:
        return getattr(self._parser, "_reader", None)  # that of hiredis

    # Pipelines

    def run_pipeline(self, pipeline: Any, commands: Sequence[StagedCommand]) -> list[Any] | None:
        """Runs commands of a pipeline of redis-py; returns their replies, errors among them.

        Returns:
            None if nothing was done, as they have to be sent as bytes.

        Raises:
            ConnectionError: of redis-py; the server has closed the connection.
        """
        replies = self._ask(LocalClient.ask_all, commands)
        if replies is not None and (self._decode is not None or Encoded in map(type, replies)):
            replies = [
                self.decoded(reply, decodes=NEVER_DECODE not in options)
                for reply, (_, options) in zip(replies, commands, strict=True)
            ]
        return None if replies is None else all_called_back(replies, commands, pipeline.response_callbacks)

    def run_transaction(self, pipeline: Any, commands: Sequence[StagedCommand]) -> list[Any] | None:
        """The same for a transaction.

        Raises:
            ConnectionError: as ``run_pipeline``.
            WatchError: a key that the client watches was modified.
        """
        reply = self._ask(LocalClient.ask_transaction, commands)
        if reply is None:
            return None
        replies = self.decoded(reply)
        pipeline.watching = False
        if replies is None:
            raise WatchError("Watched variable changed.")
        return all_called_back(replies, commands, pipeline.response_callbacks)

    def _ask(
        self, ask: Callable[[LocalClient, list[list[bytes]]], Any], commands: Sequence[StagedCommand]
    ) -> Any:
        """What the server replies; None if redis-py has to encode the commands, or to read their replies."""
        encoders, client = self._encoders, self.client
        if (
            client is None
            or self._reader is None
            or any(EMPTY_RESPONSE in options for _, options in commands)
        ):
            return None
        try:
            requests = [[encoders[type(word)](word) for word in words] for words, _ in commands]
        except (KeyError, UnicodeEncodeError):
            return None
        reply = ask(client, requests)
        if reply is NO_REPLY:
            raise ConnectionError(HUNG_UP)
        return None if reply is NOT_ASKED else reply


def all_called_back(replies: list[Any], commands: Sequence[StagedCommand], callbacks: Callbacks) -> list[Any]:
    return [
        call_back(reply, callbacks, words[0], options)
        for reply, (words, options) in zip(replies, commands, strict=True)
    ]


def call_back(reply: Any, callbacks: Callbacks, name: Any, options: Mapping[str, Any]) -> Any:
    """A reply as redis-py's callback for a command, if there is one, hands it to the caller."""
    callback = dict.get(callbacks, name.upper())  # their own look-up does the same in a slower way
    if callback is None or isinstance(reply, Exception):
        return reply
    if options:
        options = {key: value for key, value in options.items() if key not in FOR_READING}
    return callback(reply, **options)
