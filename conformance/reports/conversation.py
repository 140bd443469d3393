"""The conversation with a server, byte by byte: as text, and as two columns to compare.

Each connection comes by itself, its moves numbered through the whole conversation, so that one can see what
was said before what. Bytes that the other side does not have are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

from ..failure import Evidence
from ..wire import reply_end
from .markup import escaped
from .text import readable

if TYPE_CHECKING:
    from ..wire.recording import Move
    from .take import Take

__all__ = ["compared"]

FIRST: Final = 40
LAST: Final = 80
"""Moves that are shown, at the beginning and at the end of a conversation."""

LONGEST: Final = 300
"""Bytes of a frame that are shown."""

FRAMES: Final = 24
"""Frames of a move that are shown."""

ARROWS: Final = {"client": "→", "server": "←"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation: a heading if ``arrow`` is empty."""

    number: str
    arrow: str
    text: str


def compared(here: Take, there: Take | str) -> Evidence:
    """The conversation with this server beside that with another, or why there is no other."""
    mine = list(told(here))
    if isinstance(there, str):
        word = f"There is nothing to compare with: {there}"
        text = "\n\n".join((as_text(here, mine, AGAIN), word))
        return Evidence(TITLE, text, f"{column(here, mine, None, AGAIN)}<p>{escaped(word)}</p>")
    theirs = list(told(there))
    text = "\n\n".join((as_text(here, mine, AGAIN), as_text(there, theirs, THERE)))
    columns = column(here, mine, theirs, AGAIN) + column(there, theirs, mine, THERE)
    markup = f'<div class="sides">{columns}</div>'
    return Evidence(TITLE, text, f"{LEGEND}{markup}")


TITLE: Final = "Conversation with the server"

LEGEND: Final = (
    '<p class="legend">→ what clients sent, ← what the server answered, '
    "<mark>≠</mark> a line that differs from the other server.</p>"
)


def verdict(take: Take, passed: str) -> str:
    return passed if take.verdict == "passed" else f"{take.verdict}: {take.reason}"


AGAIN: Final = "passed when it was run again"
THERE: Final = "passed"


def heading(take: Take) -> str:
    from .model import plain_origin

    return plain_origin(take.server)


def told(take: Take) -> Iterator[Line]:
    """The conversation, connection by connection."""
    last = max((move.number for move in take.moves), default=0)
    for connection, moves in groupby(take.moves, key=lambda move: move.connection):
        yield Line("", "", f"connection {connection}")
        for left_out, some in groupby(moves, key=lambda move: FIRST < move.number <= last - LAST):
            if left_out:
                yield Line("", "", f"… {len(list(some))} moves are left out")
            else:
                yield from chain.from_iterable(map(of_move, some))
    if take.lost:
        yield Line("", "", f"… {take.lost:,} bytes more were not written down")


def of_move(move: Move) -> Iterator[Line]:
    number, arrow = f"{move.number}", ARROWS[move.side]
    frames = list(frames_of(move.data))
    for frame in frames[:FRAMES]:
        yield Line(number, arrow, bytes_as_text(frame))
        number = ""
    if len(frames) > FRAMES:
        yield Line("", arrow, f"… {len(frames) - FRAMES} more")
    if move.times > 1 and move.side == "server":
        yield Line("", "", f"the same {move.times:,} times in a row")


def frames_of(data: bytes) -> Iterator[bytes]:
    """The data, cut behind each whole request or reply."""
    at = 0
    while at < len(data):
        try:
            end = reply_end(data, at) or len(data)
        except (ValueError, RecursionError):  # a server under judgement may say anything
            end = len(data)
        yield data[at:end]
        at = end


def bytes_as_text(data: bytes) -> str:
    r"""As Python writes it, without the quotes: ``\r\n``, ``\x00``, and ``\\`` for a backslash."""
    text = data[:LONGEST].decode("latin-1").encode("unicode_escape").decode()
    return text if len(data) <= LONGEST else f"{text}… ({len(data):,} bytes)"


def as_text(take: Take, lines: Sequence[Line], passed: str) -> str:
    title = f"{heading(take)}: {verdict(take, passed)}"
    return "\n".join([readable(title), *map(plain, lines)])


def plain(line: Line) -> str:
    return f"{line.number:>5} {line.arrow} {line.text}" if line.arrow else f"  {line.text}"


def column(take: Take, lines: Sequence[Line], others: Iterable[Line] | None, passed: str) -> str:
    known = None if others is None else {(line.arrow, line.text) for line in others}
    body = "".join(marked(line, known) for line in lines) or "nothing"
    title = escaped(heading(take))
    return (
        f"<section><h5>{title}</h5><p>{escaped(verdict(take, passed))}</p>"
        f'<div class="talk" tabindex="0" role="region" aria-label="Conversation with {title}">{body}</div>'
        "</section>"
    )


def marked(line: Line, known: set[tuple[str, str]] | None) -> str:
    if not line.arrow:
        return f'<p class="who">{escaped(line.text)}</p>'
    differs = known is not None and (line.arrow, line.text) not in known
    sign = "<mark>≠</mark>" if differs else "<i></i>"
    return f"<p>{sign}<i>{line.number}</i><b>{line.arrow}</b><code>{escaped(line.text)}</code></p>"
