"""Looking for differences: hypothesis draws conversations, and makes one that differs as short as can be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

from .grammar import GROUPS, Form
from .requests import Choose, request
from .sizes import LARGEST, size_of
from .steps import CLIENTS, Difference, EndedError, Step

__all__ = ["Found", "Player", "converse", "of_seed", "themed"]

SHORTEST: Final = 30
LONGEST: Final = 80
"""Steps in one conversation."""

BYTES: Final = 72
"""How many are drawn for one step; what needs more gets the first of each choice."""

CUTS: Final = (0, 0, 0, 0, 0, 0, 0, 3, 9, 17)

LAST: Final = -1
"""In place of a client: the one of the step before."""

STAYS: Final = 2
"""How often, beside once for each client, a step is said by the client that spoke last."""

KEYS_WEIGH: Final = 3
"""How much more often a command for keys is drawn than another."""

COMMON: Final = tuple(
    "lpush rpush lpush rpush set blpop brpop blmove blmpop brpoplpush multi exec exec discard lmove rename "
    "copy del watch getex setex pexpiretime hset sadd zadd xadd xgroup|create xreadgroup subscribe "
    "psubscribe psubscribe client|tracking client|tracking client|caching client|caching".split()
)
"""Commands that are drawn more often than others, so that there is something to meet."""

# Each comes in its turn. What is here twice comes twice as often: some faults show late.
NARROW: Final = (
    "@list @transactions",
    "blpop brpop blmove blmpop brpoplpush lpush rpush lmove del multi exec",
    "blmove brpoplpush blpop set rpush lpush multi exec",
    "@hash @set @transactions",
    "@sorted-set",
    "@stream",
    "set get getex setex persist ttl append pexpiretime",
    "blpop blmpop lpush rpush set getset sort rename copy move del",
    "hset hsetnx hdel hincrby sadd srem spop object|encoding",
    "sadd srem object|encoding",
    "zadd",
    "sadd sintercard zintercard",
    "zadd zcount zrangebyscore",
    "client|tracking client|caching get set",
    "xadd xgroup|create xreadgroup xinfo|groups xinfo|stream",
    "xadd xgroup|create xreadgroup xack xpending xinfo|consumers",
    "zadd zrangebyscore zrevrangebyscore zrangebylex zrange",
    "zadd bzpopmin bzpopmax bzmpop zpopmin zmpop zunionstore zrangestore zrem del multi exec",
    "xadd xreadgroup xgroup|create xack xclaim xautoclaim xpending xinfo|consumers xdel",
    "@string @bitmap @transactions",
    "eval evalsha eval_ro script|load get set lpush hset zadd watch multi exec blpop",
    "@scripting set get",
    "function|load fcall fcall_ro get",
    "function|load function|delete function|list function|dump function|restore",
    "blpop set sort rpush",
    "@geo zadd zrange",
    "hset sadd zadd rpush sort sort_ro",
    "xread xreadgroup xadd xgroup|create xgroup|destroy del rename swapdb flushall lpush multi exec",
    "blpop lpush swapdb select",
    "zadd zrange zrevrank sort sort_ro object|encoding copy zpopmin",
    "@hyperloglog get copy strlen",
    "lpush rpush lrem lpos linsert lset ltrim lindex lrange rpoplpush",
    "rpush lrem lrange",
    "set getex ttl",
    "set incr decr incrby decrby",
    "set getrange setrange",
    "zadd sadd zunion zinter zdiff zunionstore zinterstore zdiffstore zintercard sunionstore zrange",
    "setex pexpireat expireat expire persist ttl expiretime pexpiretime rename copy",
    "blpop lpush multi exec",
    "watch unwatch multi exec discard set append",
    "@transactions set get incr del rpush lpop pexpireat flushdb swapdb select reset",
    "blpop bzpopmin xread xreadgroup xgroup|create lpush zadd xadd set del rename copy swapdb exec multi",
    "@pubsub @transactions client|reply hello ping reset quit blpop lpush",
    "psubscribe subscribe config|set @list @hash select rename copy move exec multi",
    "client|tracking client|caching get set mget del flushall multi exec rename lpush blpop hello",
    "psubscribe config|set client|tracking subscribe client|caching hello @string @generic @set @stream",
    "psubscribe config|set @sorted-set @geo @hyperloglog @bitmap hello",
    "dump restore copy move rename type scan object|encoding sort lpush hset sadd zadd xadd set",
    "blpop blmove lpush multi exec",
    "blmpop blpop rpush multi exec",
    "blpop lpush multi exec",
    "client|pause client|unpause multi exec lpush lpop",
    "hset rpush sort",
    "select reset set get",
    "client|tracking client|caching get mget set del",
    "client|kill client|list client|id client|info client|setname ping",
    "sscan hscan zscan sadd srem hset hdel zadd zrem",
)

EVERYTHING: Final = tuple(f"@{group}" for group in GROUPS)

THEMES: Final = tuple(
    theme
    for place, words in enumerate(NARROW, 1)
    for theme in ((tuple(words.split()), EVERYTHING) if place % 5 == 0 else (tuple(words.split()),))
)
"""Commands or @groups that conversations are made of, in turn, so that those of one theme meet often, too."""


def themed(forms: Sequence[Form], theme: Sequence[str]) -> list[Form]:
    """The forms of a theme; all of them where it has none of these."""
    chosen = [form for form in forms if f"@{form.group}" in theme or form.name in theme]
    return [*chosen, *(form for form in forms if form.name == "hello")] if chosen else list(forms)


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation in which the two servers differ, and how."""

    steps: list[tuple[str, Step]]
    difference: Difference


class EvenProvider(HypothesisProvider):
    """Draws each conversation anew, and the same ones from the same seed.

    Hypothesis's own backend mostly varies the last conversations, and mixes in bytes it finds in the code.
    """

    def draw_bytes(self, min_size: int = 0, max_size: int = BYTES) -> bytes:
        """As many bytes as are wanted at least, which here is at most, too."""
        assert self._random is not None
        return self._random.randbytes(min(min_size, max_size))


AVAILABLE_PROVIDERS["even"] = f"{__name__}.{EvenProvider.__name__}"


class DifferError(AssertionError):
    """Tells hypothesis that a conversation is what is looked for."""


class EnoughError(BaseException):
    """Ends hypothesis at once; what is an Exception is only one more failure to it."""


def conversations(forms: Sequence[Form], largest: int) -> st.SearchStrategy[list[Step | None]]:
    """Lists of steps, of all commands, none much larger than so many bytes or words."""
    by_name = {form.name: form for form in forms}
    common = [by_name[name] for name in COMMON if name in by_name]
    with_keys = [form for form in forms if form.has_keys]
    pool = [*forms, *with_keys * KEYS_WEIGH, *common * KEYS_WEIGH]

    def step(drawn: bytes) -> Step | None:
        choose = chooser(drawn)
        form = choose([None, *pool])
        if form is None:
            return None  # what a step becomes that is not needed
        client, cut = choose((*range(CLIENTS), *(LAST,) * STAYS)), choose(CUTS)
        return Step(client, tuple(request(form, choose, size_of(choose, largest))), form.name, cut)

    steps = st.binary(min_size=BYTES, max_size=BYTES).map(step)
    return st.lists(steps, min_size=SHORTEST, max_size=LONGEST).map(said_by_somebody)


def said_by_somebody(steps: Sequence[Step | None]) -> list[Step | None]:
    """The steps, those of the last speaker with its number."""
    last, told = 0, list(steps)
    for place, step in enumerate(steps):
        if step is not None:
            last = last if step.client == LAST else step.client
            told[place] = replace(step, client=last)
    return told


def chooser(drawn: bytes) -> Choose:
    """Makes choices of bytes that were drawn, two for each: even, quick, and made smaller with the bytes."""
    pairs = iter(range(0, len(drawn), 2))

    def choose(choices: Sequence[Any]) -> Any:
        at = next(pairs, len(drawn))
        return choices[int.from_bytes(drawn[at : at + 2], "big") % len(choices)]

    return choose


class Player(Protocol):
    """Plays a conversation on two servers: what was sent, by whom, and what was not the same."""

    def play(self, steps: list[Step]) -> tuple[list[tuple[str, Step]], Difference | None]: ...  # noqa: D102


def of_seed(forms: Sequence[Form], number: int) -> tuple[list[Form], str]:
    """What the conversations of a seed are made of, and their label.

    The seed chooses a theme; what one theme has to say does not depend on which others there are.
    """
    turn, place = divmod(number, len(THEMES))
    theme = THEMES[place]
    return themed(forms, theme), f"{turn} {THEMES[:place].count(theme)} {' '.join(theme)}"


def converse(
    pair: Player,
    forms: Sequence[Form],
    label: str,
    *,
    examples: int,
    shorten: bool = True,
    shorten_for: float = math.inf,
    largest: int = LARGEST,
    tick: Callable[[], None] = lambda: None,
) -> Found | None:
    """Plays so many conversations of some commands; one that differs, if one does.

    Args:
        pair: the two servers.
        forms: what to send.
        label: the seed: the same conversations come again with it.
        examples: how many conversations.
        shorten: makes what differs as short as can be, which takes its time.
        shorten_for: seconds that this may take.
        largest: bytes or words that a request has at most, about.
        tick: called after each.
    """
    last: list[Found] = []
    latest = math.inf

    @seed(label)
    @settings(
        backend="even", max_examples=examples, database=None, deadline=None,
        phases=(Phase.generate, Phase.shrink) if shorten else (Phase.generate,),
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(conversations(forms, largest))
    def run(steps: list[Step | None]) -> None:
        nonlocal latest
        if time.monotonic() > latest:
            raise EnoughError
        sent, difference = pair.play([step for step in steps if step is not None])
        tick()
        if difference is not None:
            latest = min(latest, time.monotonic() + shorten_for)
            last[:] = [Found(sent, difference)]
            raise DifferError

    try:
        run()
    except (DifferError, EnoughError, Flaky):
        return last[0]
    except EndedError as end:  # perhaps while what differs was made shorter
        return (
            last[0] if last else Found(end.sent, Difference("nobody", b"nothing", b"the end of the server"))
        )
    return None
