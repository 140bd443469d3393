"""Everything that can be made larger in a request, for each argument of each command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from conformance.wire import encode
from miniredis.engine.declarations.syntax import Argument

from .forms import TOGETHER, Form, Spelling, forms, routes
from .settings import BY_COMMAND, BY_GROUP, NOTHING, SETTINGS, Setting
from .values import contents, magnitudes

__all__ = ["FEW", "Growth", "growths", "growths_of"]

SAMPLES: Final = 10, 90

FEW: Final = 3
"""Elements of a key that does not grow."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Something that grows.

    Attributes:
        command: as COMMAND INFO has it.
        what: the argument and how it grows, for people.
        request: the bytes for each size.
        setting: what there is on the server.
        grows: that has as many elements as the size says.
        writes: the request changes it.
        argument: whose growth it is; None for all together.
        whole: it takes several requests, one after the other.
    """

    command: str
    what: str
    request: Callable[[int], bytes]
    setting: Setting
    grows: bool
    writes: bool
    argument: Argument | None = None
    whole: bool = False

    def sample(self) -> tuple[bytes, ...]:
        """What two growths have in common that are one."""
        place = b"%b %d" % (self.setting.name.encode(), self.grows)
        return place, *(self.request(size) for size in SAMPLES)

    @property
    def name(self) -> str:
        """For people, and for the table of exceptions."""
        return f"{self.command}: {self.what}"


def growths() -> Mapping[str, list[Growth]]:
    """All of them, by command; commands that are left out have none."""
    found: dict[str, list[Growth]] = {}
    for command, ways, _ in forms():
        seen: dict[tuple[bytes, ...], Growth] = {}
        for form in ways:
            for growth in growths_of(form):
                seen.setdefault(growth.sample(), growth)
        found[command.name.decode()] = list(seen.values())
    return found


def growths_of(form: Form) -> Iterator[Growth]:
    """All that can grow in one form of a command."""
    settings = [SETTINGS[name] for name in BY_COMMAND.get(form.name, BY_GROUP.get(form.group, ()))]
    few = settings[0] if settings else NOTHING
    for what, request in WHOLE.get(form.name, {}).items():
        yield Growth(form.name, what, request, NOTHING, False, True, None, True)
    ways = list(routes(form.arguments)) or [()]
    if all(route[-1].kind == "pure-token" for route in ways if route):  # nothing of it grows, but the server
        settings = settings or [SETTINGS["keys"]]
    for route in [] if form.name in WHOLE else ways:
        for setting in settings:
            yield of_elements(form, route, setting)
            yield from of_places(form, route, setting)
        if route:
            yield from of_texts(form, route, few)
            yield from of_repeating(form, route, few, settings[:1])


def label(form: Form, route: tuple[Argument, ...]) -> str:
    """The way to an argument: what is optional, or one of several, and its own name."""
    fixed = [each.token for each in form.arguments if each.kind == "pure-token"]
    names = [each.token or each.name for each in route if each.kind not in {"oneof", "block"} or each.token]
    return " ".join(dict.fromkeys([*fixed, *names])) or "no argument"


def of_elements(form: Form, route: tuple[Argument, ...], setting: Setting) -> Growth:
    """The key has so many elements."""
    keys = {id(each): 2 for each in form.arguments if each.kind == "key" and "multiple" in each.flags}

    def request(n: int) -> bytes:
        return encode(*Spelling(form, route, n, times=keys).words())

    what = f"{label(form, route)}, {setting.name}"
    return Growth(form.name, what, request, setting, True, form.writes, route[-1] if route else None)


PLACES: Final[Mapping[str, Callable[[int], bytes]]] = {
    "as many as there are": lambda n: b"%d" % n,
    "half of them, from the end": lambda n: b"-%d" % (n // 2),
}


DURATIONS: Final = {"timeout", "milliseconds"}
"""Numbers that are no places: a client that waits so long is not answered."""


def of_places(form: Form, route: tuple[Argument, ...], setting: Setting) -> Iterator[Growth]:
    """The key has so many elements, and a number is as large."""
    if not route or not magnitudes(route[-1]) or route[-1].name in DURATIONS:
        return
    for how, number in PLACES.items():

        def request(n: int, number: Callable[[int], bytes] = number) -> bytes:
            return encode(*Spelling(form, route, n, {id(route[-1]): number(n)}).words())

        what = f"{label(form, route)} {how}, {setting.name}"
        yield Growth(form.name, what, request, setting, True, form.writes, route[-1])


def of_texts(form: Form, route: tuple[Argument, ...], few: Setting) -> Iterator[Growth]:
    """The text of an argument is long, or its number is large."""
    argument = route[-1]
    if argument.kind == "pure-token":
        return
    for how, content in {**contents(argument), **magnitudes(argument)}.items():

        def request(n: int, content: Callable[[int], bytes] = content) -> bytes:
            return encode(*Spelling(form, route, FEW, {id(argument): content(n)}).words())

        yield Growth(form.name, f"{label(form, route)}: {how}", request, few, False, form.writes, argument)


def of_repeating(
    form: Form, route: tuple[Argument, ...], few: Setting, settings: list[Setting]
) -> Iterator[Growth]:
    """An argument, or the block that it is in, is repeated."""
    for outer in route:
        if "multiple" not in outer.flags:
            continue
        also = TOGETHER.get(outer.name, frozenset())
        ids = {id(outer), *(id(each[-1]) for each in routes(form.arguments) if each[-1].name in also)}

        def request(n: int, ids: set[int] = ids, *, there: bool = False, same: bool = False) -> bytes:
            size, times = n if there else FEW, dict.fromkeys(ids, n)
            return encode(*Spelling(form, route, size, times=times, same=same).words())

        what, argument = f"{label(form, route)} repeated", route[-1]
        yield Growth(form.name, what, request, few, False, form.writes, argument)
        same = partial(request, same=True)
        yield Growth(form.name, f"{what}, always the same", same, few, False, form.writes, argument)
        for setting in settings:
            there = partial(request, there=True)
            yield Growth(form.name, f"{what}, {setting.name}", there, setting, True, form.writes, argument)


def times(n: int, *words: bytes) -> bytes:
    return encode(*words) * n


def many(n: int, *words: bytes, name: bytes = b"e%d") -> bytes:
    return encode(*words, *(name % i for i in range(n)))


WHOLE: Final[Mapping[str, Mapping[str, Callable[[int], bytes]]]] = {
    "multi": {"of requests": lambda n: encode("MULTI") + times(n, b"GET", b"k") + encode("DISCARD")},
    "exec": {
        "of requests": lambda n: encode("MULTI") + times(n, b"PING") + encode("EXEC"),
        "of watched keys": lambda n: many(n, b"WATCH") + encode("MULTI") + encode("EXEC"),
    },
    "discard": {
        "of requests": lambda n: encode("MULTI") + times(n, b"PING") + encode("DISCARD"),
    },
    "unwatch": {"of watched keys": lambda n: many(n, b"WATCH") + encode("UNWATCH")},
    "unsubscribe": {
        "of all channels": lambda n: many(n, b"SUBSCRIBE") + encode("UNSUBSCRIBE"),
        "of channels by name": lambda n: many(n, b"SUBSCRIBE") + many(n, b"UNSUBSCRIBE"),
    },
    "punsubscribe": {
        "of all patterns": lambda n: many(n, b"PSUBSCRIBE") + encode("PUNSUBSCRIBE"),
        "of patterns by name": lambda n: many(n, b"PSUBSCRIBE") + many(n, b"PUNSUBSCRIBE"),
    },
    "sunsubscribe": {
        "of all channels": lambda n: many(n, b"SSUBSCRIBE") + encode("SUNSUBSCRIBE"),
        "of channels by name": lambda n: many(n, b"SSUBSCRIBE") + many(n, b"SUNSUBSCRIBE"),
    },
    "reset": {
        "of subscriptions": lambda n: many(n, b"SUBSCRIBE") + encode("RESET"),
    },
}
"""Requests that only grow together with others before them."""
