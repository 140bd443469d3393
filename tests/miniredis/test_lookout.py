"""How the poll loop waits: awake while requests come quickly, asleep otherwise."""

from miniredis.lookout import AWAKE, SOON, Lookout

EVENTS = [(7, 1)]
LOOK = AWAKE / 10


class World:
    """A poller and a clock: a look takes a moment, a sleep lasts until the next arrival or its own end."""

    def __init__(self, *, alone: bool = True) -> None:
        self.now = 0.0
        self.arrival = 0.0
        self.waits: list[float] = []
        self.alone = alone
        self.lookout = Lookout(self, lambda: self.now, lambda: self.alone)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        self.waits.append(seconds)
        self.now = min(max(self.arrival, self.now), self.now + max(seconds, LOOK))
        return EVENTS if self.now >= self.arrival else []

    def arrives_after(self, seconds: float) -> list[float]:
        """Something comes so much later; returns how long each wait on the poller was to last."""
        self.arrival = self.now + seconds
        self.waits.clear()
        assert self.lookout.wait(1.0) == EVENTS
        return self.waits.copy()

    def fileno(self) -> int:
        raise NotImplementedError

    def add(self, descriptor: int, events: int) -> None:
        raise NotImplementedError

    def change(self, descriptor: int, events: int) -> None:
        raise NotImplementedError

    def remove(self, descriptor: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def test_sleeps_while_little_comes() -> None:
    world = World()
    assert [world.arrives_after(2 * SOON) for _ in range(3)] == [[1.0]] * 3


def test_keeps_looking_once_something_came_soon() -> None:
    world = World()
    assert world.arrives_after(SOON / 2) == [1.0]
    assert set(world.arrives_after(AWAKE / 2)) == {0}
    assert set(world.arrives_after(AWAKE / 2)) == {0}


def test_goes_to_sleep_when_it_has_looked_for_long_enough() -> None:
    world = World()
    world.arrives_after(0)
    *looks, sleep = world.arrives_after(10 * SOON)
    assert set(looks) == {0}
    assert 2 <= len(looks) <= AWAKE / LOOK + 1
    assert sleep == 1.0
    assert world.arrives_after(10 * SOON) == [1.0]


def test_goes_on_looking_when_it_slept_but_briefly() -> None:
    world = World()
    world.arrives_after(0)
    assert world.arrives_after(AWAKE * 1.5)[-1] == 1.0
    assert set(world.arrives_after(AWAKE / 2)) == {0}


def test_sleeps_where_other_threads_want_to_run() -> None:
    world = World(alone=False)
    assert [world.arrives_after(0) for _ in range(3)] == [[1.0]] * 3


def test_a_look_is_one_look() -> None:
    world = World()
    for _ in range(2):
        world.arrival = world.now + 1.0
        world.waits.clear()
        assert world.lookout.wait(0) == []
        assert world.waits == [0]


def test_what_does_not_come_is_not_waited_for_beyond_the_time_given() -> None:
    world = World()
    world.arrival = 10.0
    assert world.lookout.wait(1.0) == []
    assert world.now == 1.0
