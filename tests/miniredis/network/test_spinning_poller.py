"""The poller spins while requests come quickly, and sleeps otherwise."""

from miniredis.network.spinning_poller import AWAKE, SOON, SpinningPoller

EVENTS = [(7, 1)]
LOOK = AWAKE / 10


class World:
    """A poller and a clock: a look takes a moment, a sleep lasts until the next arrival or its own end."""

    def __init__(self, *, alone: bool = True) -> None:
        self.now = 0.0
        self.arrival = 0.0
        self.waits: list[float] = []
        self.alone = alone
        self.poller = SpinningPoller(self, lambda: self.now, lambda: self.alone)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        self.waits.append(seconds)
        self.now = min(max(self.arrival, self.now), self.now + max(seconds, LOOK))
        return EVENTS if self.now >= self.arrival else []

    def arrives_after(self, seconds: float) -> list[float]:
        """Something comes so much later; returns how long each wait on the poller was to last."""
        self.arrival = self.now + seconds
        self.waits.clear()
        assert self.poller.wait(1.0) == EVENTS
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


def test_the_poller_sleeps_while_requests_are_rare() -> None:
    world = World()
    assert [world.arrives_after(2 * SOON) for _ in range(3)] == [[1.0]] * 3


def test_the_poller_spins_after_a_quick_request() -> None:
    world = World()
    assert world.arrives_after(SOON / 2) == [1.0]
    assert set(world.arrives_after(AWAKE / 2)) == {0}
    assert set(world.arrives_after(AWAKE / 2)) == {0}


def test_the_poller_sleeps_after_spinning_in_vain() -> None:
    world = World()
    world.arrives_after(0)
    *looks, sleep = world.arrives_after(10 * SOON)
    assert set(looks) == {0}
    assert 2 <= len(looks) <= AWAKE / LOOK + 1
    assert sleep == 1.0
    assert world.arrives_after(10 * SOON) == [1.0]


def test_the_poller_spins_again_after_a_short_sleep() -> None:
    world = World()
    world.arrives_after(0)
    assert world.arrives_after(AWAKE * 1.5)[-1] == 1.0
    assert set(world.arrives_after(AWAKE / 2)) == {0}


def test_the_poller_sleeps_when_other_threads_want_to_run() -> None:
    world = World(alone=False)
    assert [world.arrives_after(0) for _ in range(3)] == [[1.0]] * 3


def test_a_poll_without_timeout_polls_once() -> None:
    world = World()
    for _ in range(2):
        world.arrival = world.now + 1.0
        world.waits.clear()
        assert world.poller.wait(0) == []
        assert world.waits == [0]


def test_the_poller_returns_at_its_timeout() -> None:
    world = World()
    world.arrival = 10.0
    assert world.poller.wait(1.0) == []
    assert world.now == 1.0
