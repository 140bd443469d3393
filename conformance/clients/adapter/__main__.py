"""``python -m conformance.clients.adapter``: ``pressure.Queue`` as a process, judged like any other client.

Read it before you write one for another client: it is a table of requests and a loop over lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from pressure import PressureError, Queue

__all__ = ["serve"]


def text(value: bytes) -> str:
    """Bytes as a text, a character each."""
    return value.decode("latin-1")


def data(value: str) -> bytes:
    """The bytes that a text stands for."""
    return value.encode("latin-1")


def opened(name: str, prefix: str | None = None, **where: Any) -> Queue:
    """A client of a queue; nothing is sent to the server."""
    settings = where if prefix is None else {**where, "prefix": data(prefix).decode()}
    return Queue(data(name), **settings)


OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "create": Queue.create,
    "exists": Queue.exists,
    "length": Queue.length,
    "closed": Queue.closed,
    "put": lambda queue, value, **options: queue.put(data(value), **options),
    "put_nowait": lambda queue, value: queue.put_nowait(data(value)),
    "get": lambda queue, **options: text(queue.get(**options)),
    "get_nowait": lambda queue: text(queue.get_nowait()),
    "close": Queue.shutdown,
    "delete": Queue.delete,
    "wait_closed": Queue.wait_closed,
    "repair": lambda queue, **options: [queue.repair(**options), None][1],
    "put_many": lambda queue, values: [queue.put_many([data(value) for value in values]), None][1],
    "get_many": lambda queue, count: [text(value) for value in queue.get_many(count)],
}


def serve(requests: TextIO, replies: TextIO) -> None:
    """Answers requests until there are none."""
    queue: Queue | None = None
    for line in requests:
        request = json.loads(line)
        operation, arguments = request["op"], request["args"]
        reply: dict[str, Any]
        try:
            if operation == "open":
                queue, reply = opened(**arguments), {"result": None}
            elif operation in OPERATIONS:
                reply = {"result": OPERATIONS[operation](queue, **arguments)}
            else:
                reply = {"unsupported": True}
        except (PressureError, ValueError) as error:
            reply = {"error": type(error).__name__, "text": str(error)}
            if operation == "put_many":
                reply["done"] = getattr(error, "done", 0)
        replies.write(json.dumps({"id": request["id"], **reply}) + "\n")
        replies.flush()
    if queue is not None:
        queue.disconnect()


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m conformance.clients.adapter",
        description="A client of pressure queues as a process: reads requests from its standard input and"
        " writes replies to its standard output, each a line of JSON. 'python -m pydoc "
        "conformance.clients.adapter' describes them; 'python -m conformance --adapter COMMAND' "
        "judges such a process.",
    ).parse_args()
    serve(sys.stdin, sys.stdout)
