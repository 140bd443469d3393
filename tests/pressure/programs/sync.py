"""A producer and a consumer of events, on threads."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TypedDict

import pressure


class Event(TypedDict):
    """What happened."""

    user: str
    points: int


def produce(url: str) -> None:
    with pressure.Queue[Event]("events", url=url, codec="json") as events:
        events.put({"user": "ada", "points": 1})
        events.put_many([Event(user="bob", points=n) for n in range(3)], timeout=5)
        events.shutdown()


def consume(events: pressure.Queue[Event]) -> int:
    total = 0
    for message in events.messages(timeout=5):
        event = message.value
        total += event["points"] * len(event["user"])
    return total


def main(url: str) -> int:
    with contextlib.closing(pressure.Queue[Event]("events", url=url, codec="json")) as events:
        events.create(bound=10, exist_ok=True)
        producer = threading.Thread(target=produce, args=(url,))
        producer.start()
        total = consume(events)
        events.join()
        producer.join()
        events.delete()
    return total


if __name__ == "__main__":
    print(main(sys.argv[1]))  # noqa: T201
