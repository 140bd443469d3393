"""A producer and a consumer of events, as tasks of asyncio."""

from __future__ import annotations

import asyncio
import sys
from typing import TypedDict

import pressure


class Event(TypedDict):
    """What happened."""

    user: str
    points: int


async def produce(events: pressure.aio.Queue[Event]) -> None:
    await events.put({"user": "ada", "points": 1})
    await events.put_many([Event(user="bob", points=n) for n in range(3)], timeout=5)
    await events.shutdown()


async def consume(events: pressure.aio.Queue[Event]) -> int:
    total = 0
    async with events.receive() as message:
        total += message.value["points"] * len(message.value["user"])
    async for event in events:
        total += event["points"] * len(event["user"])
        events.task_done()
    return total


async def run(url: str) -> int:
    async with pressure.aio.Queue[Event]("events", url=url, codec="json") as events:
        await events.create(bound=10, exist_ok=True)
        async with asyncio.TaskGroup() as group:
            group.create_task(produce(events))
            consumer = group.create_task(consume(events))
        await events.join()
        await events.delete()
    return consumer.result()


def main(url: str) -> int:
    return asyncio.run(run(url))


if __name__ == "__main__":
    print(main(sys.argv[1]))  # noqa: T201
