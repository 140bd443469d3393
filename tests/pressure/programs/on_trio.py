"""A producer and a consumer of events, as tasks of Trio."""

from __future__ import annotations

import sys
from typing import TypedDict

import trio

from pressure.trio import Queue


class Event(TypedDict):
    """What happened."""

    user: str
    points: int


async def produce(events: Queue[Event]) -> None:
    await events.put({"user": "ada", "points": 1})
    await events.put_many([Event(user="bob", points=n) for n in range(3)], timeout=5)
    await events.shutdown()


async def consume(events: Queue[Event]) -> int:
    total = 0
    async for message in events.messages():
        total += message.value["points"] * len(message.value["user"])
    return total


async def run(url: str) -> int:
    async with Queue[Event]("events", url=url, codec="json") as events, trio.open_nursery() as nursery:
        await events.create(bound=10, exist_ok=True)
        nursery.start_soon(produce, events)
        total = await consume(events)
        await events.join()
        await events.delete()
    return total


def main(url: str) -> int:
    return trio.run(run, url)


if __name__ == "__main__":
    print(main(sys.argv[1]))  # noqa: T201
