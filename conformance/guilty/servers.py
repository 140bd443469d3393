"""Servers that are wrong: ``miniredis`` with one small change each."""

from __future__ import annotations

from typing import Final

from .model import Guilty

__all__ = ["SERVERS"]

SERVERS: Final = (
    Guilty(
        "serves the youngest waiter first",
        "miniredis/engine/waiting.py",
        "next(iter(queue))",
        "next(reversed(queue))",
        ("list.block.fifo", "list.block.one-push-many", "list.block.wrong-target"),
    ),
    Guilty(
        "serves only one waiter for each push",
        "miniredis/engine/waiting.py",
        "while (value := database.find(key)) is not None:",
        "if (value := database.find(key)) is not None:",
        ("list.block.one-push-many",),
    ),
    Guilty(
        "serves while a transaction runs",
        "miniredis/engine/dispatch.py",
        "        return command.handler(session, args)\n",
        "        reply = command.handler(session, args)\n"
        "        session.engine.waiting.serve_ready()\n"
        "        return reply\n",
        ("list.block.after-transaction",),
    ),
    Guilty(
        "goes on handing elements to clients that have gone",
        "miniredis/engine/engine.py",
        "            self.waiting.remove(session.waiter)\n            session.waiter = None\n",
        "            session.waiter = None\n",
        ("list.block.disconnect",),
    ),
    Guilty(
        "loses an element that cannot be given",
        "miniredis/engine/commands/lists.py",
        "    receiver = db.find_list(target)\n    element = POP[take](values)\n",
        "    element = pop_one(db, source, values, take)\n    receiver = db.find_list(target)\n",
        ("list.lmove.atomic",),
    ),
    Guilty(
        "keeps the key of an empty list",
        "miniredis/engine/keyspace.py",
        "        if not value:\n            self.delete(key)\n",
        "",
        ("list.last-pop-deletes", "list.ltrim.empty", "list.block.atomic"),
    ),
    Guilty(
        "pushes several elements the wrong way round",
        "miniredis/engine/commands/lists.py",
        "    LEFT: deque.extendleft,\n",
        "    LEFT: lambda values, elements: values.extendleft(reversed(elements)),\n",
        ("list.lpush.prepends", "list.matrix.both-ends", "list.block.one-push-many"),
    ),
    Guilty(
        "answers a push with what the waiters left",
        "miniredis/engine/commands/lists.py",
        "    return push(session.db, args[1], args[2:], RIGHT)\n",
        "    push(session.db, args[1], args[2:], RIGHT)\n"
        "    session.engine.waiting.serve_ready()\n"
        "    return len(session.db.find_list(args[1]) or ())\n",
        ("list.block.push-reply", "list.block.fifo", "list.block.chain"),
    ),
    Guilty(
        "ends a wait with the wrong null",
        "miniredis/engine/engine.py",
        "self.wake(waiter, NULL_ARRAY)",
        "self.wake(waiter, None)",
        ("list.bpop.timed-out", "list.blmove.timed-out", "list.matrix.blocking"),
    ),
    Guilty(
        "creates a list where there is none to push to",
        "miniredis/engine/commands/lists.py",
        "        if not create:\n            return 0\n",
        "",
        ("list.pushx.missing",),
    ),
    Guilty(
        "keeps one element too many",
        "miniredis/engine/commands/lists.py",
        "end = min(stop + length if stop < 0 else stop, length - 1) + 1",
        "end = min(stop + length if stop < 0 else stop, length - 1) + 1 + (0 <= stop < length - 1)",
        ("list.ltrim.keeps", "list.ltrim.caps", "list.lrange"),
    ),
    Guilty(
        "removes from the head whatever the sign",
        "miniredis/engine/commands/lists.py",
        "from_tail=count < 0",
        "from_tail=False",
        ("list.lrem.tail-and-all",),
    ),
)
