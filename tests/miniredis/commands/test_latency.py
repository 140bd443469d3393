"""LATENCY and MEMORY tell of what this server measured, in the shapes and words of redis-server."""

from __future__ import annotations

import re
from typing import Any, Final

import hiredis

import miniredis
from conformance.targets import Address
from conformance.wire import RawConnection
from miniredis.engine import Config, Engine, Environment, Instant
from miniredis.engine.statistics.histograms import Histogram
from miniredis.engine.statistics.latency import Spike, Spikes

RECORDED = (
    (1795717110, 10), (1795717112, 35), (1795717113, 20), (1795717114, 12), (1795717115, 68),
    (1795717116, 80), (1795717117, 15), (1795717118, 64), (1795717119, 28), (1795717121, 93),
)  # fmt: skip
"""Spikes of a redis-server 7.0.15; the second of the last one was that of the graph and of the summary."""

GRAPH = """command - high 93 ms, low 10 ms (all time high 93 ms)
--------------------------------------------------------------------------------
     o   #
    #| o |
 _  || | |
_|o_||_|#|
          \n1987654320
1sssssssss
s         \n"""


def ask(client: RawConnection, *words: str) -> Any:
    reader = hiredis.Reader()
    reader.feed(client.command(*words))
    return reader.gets()


def recorded() -> Spikes:
    spikes = Spikes()
    for each in RECORDED:
        spikes.add(Spike(*each))
    return spikes


def test_a_graph_and_a_summary_are_those_that_redis_made_of_the_same_spikes() -> None:
    now = RECORDED[-1][0]
    assert recorded().graph("command", now) == GRAPH
    assert recorded().summary(now) == (
        "10 latency spikes (average 42ms, mean deviation 26ms, period 1.10 sec). Worst all time event 93ms."
    )


def test_the_worst_spike_of_a_second_is_kept_and_160_of_them() -> None:
    spikes = Spikes()
    for second, milliseconds in [(1, 5), (1, 9), (1, 7), *((2 + number, 6) for number in range(159))]:
        spikes.add(Spike(second, milliseconds))
    assert (len(spikes.kept), spikes.kept[0], spikes.worst) == (160, Spike(1, 9), 9)
    spikes.add(Spike(1000, 6))
    assert (len(spikes.kept), spikes.kept[0], spikes.worst) == (160, Spike(2, 6), 9)
    assert len(spikes.graph("command", 1001).split("\n")) > 12, "more than 80 columns are in two parts"


class Stopwatch:
    """Ahead by ``milliseconds`` each time it is read."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.milliseconds = 0.0

    def __call__(self) -> float:
        self.seconds += self.milliseconds / 1000
        return self.seconds


def test_slow_commands_are_spikes_from_the_threshold_on() -> None:
    stopwatch = Stopwatch()
    config = Config({"latency-monitor-threshold": "5", "slowlog-log-slower-than": "10000"})
    engine = Engine(config, environment=Environment(stopwatch=stopwatch))
    session = engine.connect(Instant(0, 0))

    def run(line: str, second: int = 100, milliseconds: int = 0) -> Any:
        stopwatch.milliseconds = milliseconds
        now = Instant(second * 1_000_000, second * 1_000_000)
        engine.receive(session, line.encode() + b"\r\n", now)
        engine.settle(now)
        reader = hiredis.Reader()
        reader.feed(session.take_output())
        return reader.gets()

    for second, milliseconds in ((1, 4), (2, 20), (3, 7), (4, 7)):
        run("KEYS *", second, milliseconds)
    run("GET k", 5, 30)
    assert run("LATENCY LATEST") == [[b"command", 4, 7, 20], [b"fast-command", 5, 30, 30]]
    assert run("LATENCY HISTORY command") == [[2, 20], [3, 7], [4, 7]]
    assert run("SLOWLOG LEN") == 2, "the slow log has a threshold of its own"
    report = run("LATENCY DOCTOR").decode()
    assert "1. command: 3 latency spikes (average 11ms" in report
    assert "Please use 'CONFIG SET slowlog-log-slower-than 5000'" in report
    assert "Lower the system load" in report
    run("CONFIG SET slowlog-log-slower-than -1")
    assert "Try to enable the Slow Log" in run("LATENCY DOCTOR").decode()
    assert b"command - high 20 ms, low 7 ms" in run("LATENCY GRAPH command")
    assert run("LATENCY RESET command nosuch") == 1
    assert [event for event, *_ in run("LATENCY LATEST")] == [b"fast-command"]
    run("CONFIG SET latency-monitor-threshold 0")
    run("KEYS *", 101, 1000)
    assert run("LATENCY HISTORY command") == []


def test_a_histogram_has_the_calls_of_each_command() -> None:
    with miniredis.start() as server, RawConnection(server.host, server.port) as client:
        for words in (
            ("SET", "k", "v"),
            ("GET", "k"),
            ("GET", "k"),
            ("CLIENT", "ID"),
            ("CONFIG", "GET", "hz"),
        ):
            ask(client, *words)
        told = ask(client, "LATENCY", "HISTOGRAM", "get", "config", "nosuch")
        assert told[::2] == [b"get", b"config|get"]
        calls, count, name, buckets = told[1]
        assert (calls, count, name, buckets[-1]) == (b"calls", 2, b"histogram_usec", 2)
        assert {b"set", b"client|id"} <= set(ask(client, "LATENCY", "HISTOGRAM")[::2])


def of_microseconds(*times: int) -> Histogram:
    histogram = Histogram()
    for each in times:
        histogram.add(each / 1e6 + 1e-7)
    return histogram


def test_each_call_is_counted_as_long_as_it_took() -> None:
    """The executor counts those below two microseconds by themselves, others by ``short`` or ``add``."""
    stopwatch = Stopwatch()
    engine = Engine(environment=Environment(stopwatch=stopwatch))
    session = engine.connect(Instant(0, 0))
    times = (0.5, 0.7, 1.2, 1.5, 1.7, 2.5, 9.5, 70.5, 2.5)
    for microseconds in times:
        stopwatch.milliseconds = microseconds / 1000
        engine.receive(session, b"GET k\r\n", Instant(0, 0))
    found = engine.statistics[engine.commands.lookup[b"get"]]
    by_hand = Histogram()
    for microseconds in times:
        by_hand.add(microseconds / 1e6)
    assert list(found) == list(by_hand) == [(1, 2), (1000, 3), (2000, 2), (9000, 1), (69_632, 1)]
    assert (found.count, round(found.seconds * 1e6, 1)) == (len(times), sum(times))
    engine.config.change([("latency-tracking", "no")])
    engine.receive(session, b"GET k\r\n" * 3, Instant(0, 0))
    assert (list(found), found.count) == (list(by_hand), len(times) + 3)


def test_buckets_of_histograms_end_where_those_of_redis_end() -> None:
    times = (0, 1, 3, 5, 9, 20, 40, 90, 400, 1000, 10_092, 25_821)
    ends = [end for time in times for end, _ in of_microseconds(time).cumulative()]
    assert ends == [1, 1, 4, 8, 16, 33, 66, 132, 528, 1056, 16_908, 33_816]
    assert list(of_microseconds(50, 82, 98, 133).cumulative()) == [(66, 1), (132, 3), (264, 4)]
    assert list(of_microseconds(516_000, 554_000, 1_100_000).cumulative()) == [(541_065, 1), (1_073_741, 3)]


def test_percentiles_have_the_precision_of_redis() -> None:
    """Redis showed these for calls that took this long, to its own clock."""
    for time, low, high in (
        (5, 4992, 5023), (16, 16_000, 16_063), (28, 27_904, 28_031), (50, 49_920, 50_175),
        (133, 132_096, 133_119), (161, 160_768, 161_791), (1_100_000, 998_244_352, 1_002_438_655),
    ):  # fmt: skip
        assert (of_microseconds(time).percentile(0), of_microseconds(time).percentile(50)) == (low, high)
    assert of_microseconds(0).percentile(50) == 1
    calls = of_microseconds(*range(1, 61))
    assert [calls.percentile(percent) // 1000 for percent in (0, 1, 50, 90, 99, 99.9, 100)] == [
        1, 1, 30, 54, 59, 60, 60,
    ]  # fmt: skip


NUMBER: Final = re.compile(rb"(?<==)[0-9.]+")


def test_info_tells_of_the_same_calls_in_the_same_words_as_redis(redis_7_0: Address) -> None:
    assert redis_7_0.another is not None
    told = []
    with miniredis.start() as ours, redis_7_0.another() as theirs:
        for server in (ours, theirs):
            with RawConnection(server.host, server.port) as client:
                requests = [[word.replace("~", " ").strip() for word in line.split()] for line in LATENCIES]
                told.append([seen(ask(client, *words)) for words in requests])
    assert told[0] == told[1]


LATENCIES: Final = (
    "SET k v", "BLPOP q 0.01", "LPUSH k a", "GET", "INFO latencystats", "LATENCY HISTOGRAM blpop lpush get",
    "CONFIG SET latency-tracking-info-percentiles 100~0~50.5~99.999", "INFO latencystats",
    "CONFIG SET latency-tracking-info-percentiles ~", "INFO commandstats latencystats",
    "CONFIG SET latency-tracking no", "GET k", "INFO latencystats", "LATENCY HISTOGRAM get",
    "CONFIG SET latency-tracking yes", "GET k", "CONFIG RESETSTAT", "INFO latencystats",
    "LATENCY HISTOGRAM get set", "INFO default", "INFO everything",
)  # fmt: skip
"""Requests, with ``~`` for spaces in an argument."""


def seen(reply: Any) -> list[Any]:
    """A reply without its figures, but for counts; of INFO, titles and latencies, whose order is chance."""
    if isinstance(reply, bytes):
        lines = [line for line in reply.split(b"\r\n") if line.startswith((b"#", b"latency_"))]
        return sorted(NUMBER.sub(b"N", line) for line in lines)
    match reply:
        case [b"calls", int() as calls, b"histogram_usec", [int(), count]]:
            return [calls, count]
        case list():
            return [seen(each) for each in reply]
    return [kind(reply)]


def test_memory_stats_have_the_fields_of_redis(redis_7_0: Address) -> None:
    assert redis_7_0.another is not None
    with miniredis.start() as ours, redis_7_0.another() as theirs:
        fields = []
        for server in (ours, theirs):
            with RawConnection(server.host, server.port) as client:
                ask(client, "SET", "k", "v")
                ask(client, "SELECT", "2")
                ask(client, "SETEX", "k", "100", "v")
                ask(client, "HELLO", "3")
                reader = hiredis.Reader()
                reader.feed(client.command("MEMORY", "STATS"))
                fields.append({name: kind(value) for name, value in reader.gets().items()})
        assert list(fields[0].items()) == list(fields[1].items())


def kind(value: Any) -> Any:
    return list(value) if isinstance(value, dict) else type(value)


def test_memory_stats_and_doctor_measure_the_process() -> None:
    with miniredis.start() as server, server.client() as client:
        client.set("k", "v")
        told = client.memory_stats()
        assert told["total.allocated"] > 1_000_000
        assert told["peak.allocated"] >= told["total.allocated"]
        assert told["keys.count"] == 1
        assert told["db.0"]["overhead.hashtable.main"] > 0
        assert b"can't find any memory issue" in client.execute_command("MEMORY", "DOCTOR")
        assert b"Stats not supported" in client.execute_command("MEMORY", "MALLOC-STATS")
