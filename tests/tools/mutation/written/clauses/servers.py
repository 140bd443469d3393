"""Servers that are wrong: ``miniredis`` with one small change each."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["SERVERS"]

SERVERS: Final = (
    Mutant(
        "wakes everybody, and lets luck decide who takes",
        "miniredis/engine/clients/waiting.py",
        "next(iter(queue))",
        '__import__("random").choice(list(queue))',
        ("list.block.fifo", "list.matrix.fifo", "history.waiters"),
    ),
    Mutant(
        "goes on serving clients whose time is over",
        "miniredis/engine/clients/waiting.py",
        "            self.remove(waiter)\n            yield waiter",
        "            self.remove(waiter)\n            yield waiter\n"
        "            waiter.deadline = None\n            self.add(waiter)",
        ("list.block.timeout-clears", "list.block.served-in-time"),
    ),
    Mutant(
        "pops for a client whose time is over, and drops what it popped",
        "miniredis/engine/clients/waiting.py",
        "            self.remove(waiter)\n            yield waiter",
        "            self.remove(waiter)\n"
        "            yield waiter\n"
        "            serve = waiter.serve\n"
        "            place = waiter.session, waiter.database, waiter.keys, waiter.waits_for\n"
        "            ghost = Waiter(*place, None, None)\n"
        "            ghost.serve = lambda *args: (self.remove(ghost), serve(*args), NO_REPLY)[2]\n"
        "            self.add(ghost)",
        ("list.block.timeout-clears",),
    ),
    Mutant(
        "serves the key that was ready last first",
        "miniredis/engine/clients/waiting.py",
        "for database, key in ready:",
        "for database, key in reversed(list(ready)):",
        ("list.block.ready-in-order",),
    ),
    Mutant(
        "loses an element whose waiter could not take it",
        "miniredis/engine/clients/waiting.py",
        "        except CommandError as error:\n            reply = error\n",
        "        except CommandError as error:\n"
        "            database.delete(key)\n"
        "            reply = error\n",
        ("list.block.wrong-target",),
    ),
    Mutant(
        "pops several elements the wrong way round",
        "miniredis/engine/commands/lists/lists.py",
        "    elements = [pop_next(values) for _ in range(min(count, len(values)))]\n",
        "    elements = [pop_next(values) for _ in range(min(count, len(values)))][::-1]\n",
        ("list.pop.count", "list.matrix.both-ends", "history.linearizable"),
    ),
    Mutant(
        "answers several of nothing with the wrong null",
        "miniredis/engine/commands/lists/lists.py",
        "return NULL_ARRAY if values is None else pop_many",
        "return None if values is None else pop_many",
        ("list.pop.count-missing", "list.matrix.both-ends"),
    ),
    Mutant(
        "answers a move of nothing with the wrong null",
        "miniredis/engine/commands/lists/lists.py",
        "    return move(session.db, args[1], args[2], read_end(args[3]), read_end(args[4]))\n",
        "    moved = move(session.db, args[1], args[2], read_end(args[3]), read_end(args[4]))\n"
        "    return NULL_ARRAY if moved is None else moved\n",
        ("list.lmove.reply",),
    ),
    Mutant(
        "serves the youngest waiter first",
        "miniredis/engine/clients/waiting.py",
        "next(iter(queue))",
        "next(reversed(queue))",
        (
            "list.block.fifo",
            "list.block.one-push-many",
            "list.block.wrong-target",
            "history.waiters",
            "mq.pop.block",
        ),
    ),
    Mutant(
        "serves only one waiter for each push",
        "miniredis/engine/clients/waiting.py",
        "            value = database.lookup_write(key)\n",
        "            value = None\n",
        ("list.block.one-push-many",),
    ),
    Mutant(
        "serves while a transaction runs",
        "miniredis/engine/call.py",
        "    keep_request(session, args)\n    if hears",
        "    keep_request(session, args)\n    engine.serve_ready()\n    if hears",
        ("list.block.after-transaction",),
    ),
    Mutant(
        "goes on handing elements to clients that have gone",
        "miniredis/engine/engine.py",
        "            self.waiting.remove(session.waiter)\n            session.unblock()\n        del",
        "            session.unblock()\n        del",
        ("list.block.disconnect",),
    ),
    Mutant(
        "loses an element that cannot be given",
        "miniredis/engine/commands/lists/lists.py",
        "    receiver = db.lookup_write(target, LIST)\n    element = POP[take](values)\n",
        "    element = pop_one(db, source, values, take)\n    receiver = db.lookup_write(target, LIST)\n",
        ("list.lmove.atomic", "history.linearizable"),
    ),
    Mutant(
        "keeps the key of an empty list",
        "miniredis/engine/keyspace/keyspace.py",
        '            self.delete(key, event + " del", count)\n',
        "            self.signal_modified(key, event, count)\n",
        ("list.last-pop-deletes", "list.ltrim.empty", "list.block.atomic"),
    ),
    Mutant(
        "pushes several elements the wrong way round",
        "miniredis/engine/commands/lists/lists.py",
        "    LEFT: deque.extendleft,\n",
        "    LEFT: lambda values, elements: values.extendleft(reversed(elements)),\n",
        (
            "list.lpush.prepends",
            "list.matrix.both-ends",
            "list.block.one-push-many",
            "history.waiters",
            "history.linearizable",
        ),
    ),
    Mutant(
        "answers a push with what the waiters left",
        "miniredis/engine/commands/lists/lists.py",
        "    return push(session.db, args[1], args[2:], RIGHT)\n",
        "    push(session.db, args[1], args[2:], RIGHT)\n"
        "    session.engine.serve_ready()\n"
        "    return len(session.db.lookup_write(args[1], LIST) or ())\n",
        ("list.block.push-reply", "list.block.chain"),
    ),
    Mutant(
        "answers a push, and carries it out when the next one comes",
        "miniredis/engine/commands/lists/lists.py",
        "    return push(session.db, args[1], args[2:], RIGHT)\n",
        '    later = globals().setdefault("LATER", [])\n'
        "    for push_before in later:\n"
        "        push(*push_before)\n"
        "    later[:] = [(session.db, args[1], args[2:], RIGHT)]\n"
        "    return len(session.db.lookup_write(args[1], LIST) or ()) + len(args) - 2\n",
        ("list.push-creates", "list.rpush.appends"),
    ),
    Mutant(
        "ends a wait with the wrong null",
        "miniredis/engine/timers.py",
        "engine.wake, waiter, waiter.reply_when_over())",
        "engine.wake, waiter, None)",
        ("list.bpop.timed-out", "list.blmove.timed-out", "list.matrix.blocking"),
    ),
    Mutant(
        "creates a list where there is none to push to",
        "miniredis/engine/commands/lists/lists.py",
        "return 0 if db.lookup_write(key, LIST) is None else push(",
        "return push(",
        ("list.pushx.missing",),
    ),
    Mutant(
        "keeps one element too many",
        "miniredis/engine/commands/lists/elements.py",
        "end = min(stop + length if stop < 0 else stop, length - 1) + 1",
        "end = min(stop + length if stop < 0 else stop, length - 1) + 1 + (0 <= stop < length - 1)",
        ("list.ltrim.keeps", "list.ltrim.caps", "list.lrange", "history.linearizable"),
    ),
    Mutant(
        "removes from the head whatever the sign",
        "miniredis/engine/commands/lists/elements.py",
        "from_tail=count < 0",
        "from_tail=False",
        ("list.lrem.tail-and-all", "history.linearizable"),
    ),
    Mutant(
        "recovers without counting a delivery",
        "miniredis/engine/values/rqueues.py",
        "payload, now, deliveries + 1",
        "payload, now, deliveries",
        ("mq.recover.deliveries",),
    ),
    Mutant(
        "recovers what was delivered a moment ago",
        "miniredis/engine/values/rqueues.py",
        "if max(now - time, 0) < elapsed:",
        "if False:",
        ("mq.recover.elapsed",),
    ),
    Mutant(
        "leaves what is recovered where it was",
        "miniredis/engine/values/rqueues.py",
        "            delivered.move_to_end(oldest)\n",
        "",
        ("mq.recover.moves", "mq.recover.count"),
    ),
    Mutant(
        "tells of all messages that they were acknowledged now",
        "miniredis/engine/values/rqueues.py",
        "if drop(each, None) is not None]",
        "if drop(each, None) is not None or True]",
        ("mq.ack.reply",),
    ),
    Mutant(
        "answers an acknowledgement, and keeps the messages",
        "miniredis/engine/values/rqueues.py",
        "if drop(each, None) is not None]",
        "if each in self.delivered and drop]",
        ("mq.ack.removes", "mq.memory"),
    ),
    Mutant(
        "frees what was popped before it is acknowledged",
        "miniredis/engine/values/rqueues.py",
        "        self.delivered.update((each, (payload, now, 1)) for each, payload in popped)\n",
        "",
        ("mq.two-lists", "mq.ack.removes"),
    ),
    Mutant(
        "cuts arguments at a million bytes",
        "miniredis/engine/protocol/requests.py",
        "        return large.getvalue()  # its",
        "        return large.getvalue()[:1_000_000]  # its",
        ("list.push.binary", "list.block.wakes-on-push", "get.pops-right", "decided.reliable-put-back"),
    ),
    Mutant(
        "pops ten thousand elements at most",
        "miniredis/engine/commands/lists/lists.py",
        "range(min(count, len(values)))",
        "range(min(count, len(values), 10_000))",
        ("list.pop.count",),
    ),
    Mutant(
        "tells that SAVE takes arguments",
        "miniredis/engine/commands/server/server.py",
        '@command("SAVE", 1, ',
        '@command("SAVE", -1, ',
        ("wire.commands",),
    ),
    Mutant(
        "counts only the last of the users that it removes",
        "miniredis/engine/commands/server/acl.py",
        "        removed += session.engine.users.remove(name)",
        "        removed = session.engine.users.remove(name)",
        ("recorded.acl",),
    ),
    Mutant(
        "has an empty drawing for an event without spikes",
        "miniredis/engine/commands/server/latency.py",
        "        raise CommandError(errors.no_samples(args[2]))",
        '        return Verbatim(b"")',
        ("recorded.latency",),
    ),
    Mutant(
        "counts a change for HSET, however many fields it sets",
        "miniredis/engine/commands/hashes/hashes.py",
        'changed, "hset", len(args) // 2 - 1)',
        'changed, "hset")',
        ("recorded.changes",),
    ),
    Mutant(
        "SPOP leaves the first member that it draws",
        "miniredis/engine/commands/sets/sets.py",
        "    for member in found:\n        values.remove(member)\n    if stay",
        "    for member in found[1:]:\n        values.remove(member)\n    if stay",
        ("recorded.luck",),
    ),
    Mutant(
        "cuts long arguments of a request",
        "miniredis/engine/protocol/requests.py",
        "            request.append(data[start:at])\n",
        "            request.append(data[start:min(at, start + 512)])\n",
        ("recorded.large-requests",),
    ),
)
