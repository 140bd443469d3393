"""Servers whose lists are wrong, one clause of the notes on lists after the other: ``miniredis`` with one small change."""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["LISTS"]

PUSHES: Final = "miniredis/engine/commands/lists/lists.py"
ELEMENTS: Final = "miniredis/engine/commands/lists/elements.py"
WAITING: Final = "miniredis/engine/clients/waiting.py"
NUMBERS: Final = "miniredis/engine/numbers/numbers.py"

LISTS: Final = (
    # Pushes and pops
    Mutant("answers an empty string for an element of nothing", ELEMENTS, "    if values is None:\n        return None\n", '    if values is None:\n        return b""\n', ("list.missing-is-empty",)),
    Mutant("pushes one element at the tail instead of the head", PUSHES, 'if needed."""\n    return push(session.db, args[1], args[2:], LEFT)', 'if needed."""\n    return push(session.db, args[1], args[2:], LEFT if len(args) > 3 else RIGHT)', ("list.lpush-rpop",)),
    Mutant("pushes one element at the head instead of the tail", PUSHES, 'if needed."""\n    return push(session.db, args[1], args[2:], RIGHT)', 'if needed."""\n    return push(session.db, args[1], args[2:], RIGHT if len(args) > 3 else LEFT)', ("list.rpush-lpop",)),
    Mutant("counts two pushed elements as one", PUSHES, "    return len(values)\n\n\n# Popping", "    return len(values) - (len(elements) == 2)\n\n\n# Popping", ("list.push.length",)),
    Mutant("pushes one element only to a list that has to be there", PUSHES, "push_existing(session.db, args[1], args[2:], LEFT)", "push_existing(session.db, args[1], args[2:3], LEFT)", ("list.pushx.existing",)),
    Mutant("pops one element from the head always", PUSHES, 'tail of a list."""\n    return pop(session, args, RIGHT)', 'tail of a list."""\n    return pop(session, args, RIGHT if len(args) > 2 else LEFT)', ("list.pop.one",)),
    Mutant("answers one of nothing with the wrong null", PUSHES, "return None if values is None else pop_one(", "return NULL_ARRAY if values is None else pop_one(", ("list.pop.missing",)),
    Mutant("answers a pop of a count of one as if there were none", PUSHES, "return NULL_ARRAY if values is None else pop_many(", "if count == 1 and values:\n        return pop_one(session.db, args[1], values, end)\n    return NULL_ARRAY if values is None else pop_many(", ("list.pop.count-one",)),
    Mutant("pops one element at least", PUSHES, "    count = read_positive(args[2])\n", "    count = max(read_positive(args[2]), 1)\n", ("list.pop.count-zero",)),
    Mutant("takes any count", PUSHES, "    count = read_positive(args[2])\n", '    count = int(args[2]) if args[2].isdigit() else 1\n', ("list.pop.count-bad",)),
    Mutant("looks at the count before the type", PUSHES, "    count = read_positive(args[2])\n", "    count = read_positive(args[2])\n    if count == 0 and session.db.lookup_write(args[1]) is not None:\n        return []\n", ("list.wrong-type.count",)),
    Mutant("keeps the key when a single pop takes the last element", PUSHES, "    element = POP[end](values)\n    db.shrunk(key, values, POP_EVENT[end])\n", "    element = POP[end](values)\n    if values:\n        db.shrunk(key, values, POP_EVENT[end])\n", ("list.matrix.last-pop", "list.last-pop-deletes")),
    Mutant("gives some elements twice", PUSHES, "    if elements:\n        db.shrunk(key, values, POP_EVENT[end], len(elements))\n    return elements\n", '    seen = globals().setdefault("SEEN", [])\n    if end == RIGHT and elements and elements[-1] not in seen and len(seen) < 20:\n        seen.append(elements[-1])\n        values.append(elements[-1])\n    if elements:\n        db.shrunk(key, values, POP_EVENT[end], len(elements))\n    return elements\n', ("history.no-duplicate",)),
    # Moves
    Mutant("takes the two ends of a move for each other", PUSHES, "    return move(session.db, args[1], args[2], read_end(args[3]), read_end(args[4]))\n", "    return move(session.db, args[1], args[2], read_end(args[4]), read_end(args[3]))\n", ("list.lmove.ends", "list.reliable.take", "list.matrix.pipeline")),
    Mutant("makes a list anew that is moved within", PUSHES, "    receiver = db.lookup_write(target, LIST)\n", "    receiver = None if source == target else db.lookup_write(target, LIST)\n", ("list.lmove.rotate",)),
    Mutant("gives to the head what it takes from the tail", PUSHES, "        PUSH[give](receiver, element)\n", "        PUSH[LEFT if take == RIGHT else give](receiver, element)\n", ("list.reliable.requeue", "list.lmove.ends")),
    Mutant("copies an element that it should move", PUSHES, "    db.shrunk(source, values, POP_EVENT[take])\n", "    if values:\n        db.shrunk(source, values, POP_EVENT[take])\n    else:\n        PUSH[take](values, element)\n", ("list.reliable.take", "list.matrix.move-wakes", "list.last-pop-deletes")),
    Mutant("moves nothing from what is no list, and says nothing of it", PUSHES, "    values = db.lookup_write(source, LIST)\n    return None if values is None else move_from", "    values = db.lookup_write(source)\n    return None if type(values) is not deque else move_from", ("list.wrong-type.move", "list.matrix.cross-list")),
    Mutant("gives at the tail what RPOPLPUSH moves", PUSHES, "args[2], RIGHT, LEFT)\n", "args[2], RIGHT, RIGHT)\n", ("list.rpoplpush",)),
    Mutant("gives at the tail what BRPOPLPUSH moves", PUSHES, "args[2], RIGHT, LEFT, read_timeout", "args[2], RIGHT, RIGHT, read_timeout", ("list.brpoplpush",)),
    Mutant("takes from the wrong end where BLMOVE need not wait", PUSHES, "        return serve(session.db, source, values)\n", "        return move_from(session.db, source, values, target, give, take)\n", ("list.blmove.immediate",)),
    Mutant("takes from the wrong end where BLMOVE has waited", PUSHES, "        return move_from(db, key, values, target, take, give)\n\n    values = session.db.lookup_write(source, LIST)\n    if values is not None:\n        return serve(session.db, source, values)\n", "        return move_from(db, key, values, target, give, take)\n\n    values = session.db.lookup_write(source, LIST)\n    if values is not None:\n        return move_from(session.db, source, values, target, take, give)\n", ("list.blmove.ends", "list.blmove.waits")),
    Mutant("does not wait in a BLMOVE", PUSHES, "    return session.block([source], deque, serve, timeout) if session.may_block else None\n", "    return None\n", ("list.blmove.waits", "list.matrix.move-wakes")),
    Mutant("takes any word for an end in a BLMOVE", PUSHES, "    take, give = read_end(args[3]), read_end(args[4])\n    return blocking", "    take, give = ENDS.get(args[3], LEFT), ENDS.get(args[4], LEFT)\n    return blocking", ("list.blmove.bad",)),
    # Elements
    Mutant("counts no more than one element", ELEMENTS, "    return len(session.db.lookup_read(args[1], LIST) or ())\n", "    return min(len(session.db.lookup_read(args[1], LIST) or ()), 1)\n", ("list.llen",)),
    Mutant("counts what is no list", ELEMENTS, "    return len(session.db.lookup_read(args[1], LIST) or ())\n", "    return len(session.db.lookup_read(args[1]) or ())\n", ("list.matrix.types", "list.wrong-type")),
    Mutant("trims what is no list", ELEMENTS, "    values = session.db.lookup_write(args[1], LIST)\n    if values is None:\n        return OK\n", '    values = session.db.lookup_write(args[1])\n    if not hasattr(values, "popleft"):\n        return OK\n', ("list.wrong-type",)),
    Mutant("removes from the tail where several go", ELEMENTS, "from_tail=count < 0", "from_tail=count not in (0, 1)", ("list.lrem.head",)),
    Mutant("answers how many it was to remove", ELEMENTS, '        session.db.shrunk(args[1], values, "lrem", removed)\n    return removed\n', '        session.db.shrunk(args[1], values, "lrem", removed)\n    return removed and (abs(count) or removed)\n', ("list.lrem.count",)),
    Mutant("removes all equal elements instead of one", ELEMENTS, "abs(count) or MAX", "abs(count) if abs(count) > 1 else MAX", ("list.reliable.ack",)),
    Mutant("takes elements for equal that begin alike", ELEMENTS, "        if value != element:\n", "        if value[:1] != element[:1]:\n", ("list.matrix.ack",)),
    Mutant("keeps one element too many where it counts from the end", ELEMENTS, "    first, end = clamp(start, stop, length)\n", "    first, end = clamp(start, stop + (start < stop < -1), length)\n", ("list.ltrim.negative",)),
    Mutant("does not find the first element from the end", ELEMENTS, "return values[index] if -len(values) <= index", "return values[index] if -len(values) < index", ("list.lindex",)),
    Mutant("takes a push of nothing", PUSHES, '@command("LPUSH", -3,', '@command("LPUSH", -2,', ("list.wrong-arity",)),
    # Waiting
    Mutant("takes from the head where BRPOP need not wait", PUSHES, "    return blocking_pop(session, args, RIGHT)\n", "    return blocking_pop(session, args, LEFT)\n", ("list.bpop.reply",)),
    Mutant("does not wait where the timeout is 0", NUMBERS, "        return int(text) * 1000 or None\n", "        return int(text) * 1000\n", ("list.bpop.timeout-zero",)),
    Mutant("rounds timeouts up to seconds", NUMBERS, "    milliseconds = seconds.ceiling_of_thousandfold()\n", "    milliseconds = seconds.ceiling_of_thousandfold()\n    if milliseconds is not None:\n        milliseconds = -(-milliseconds // 1000) * 1000\n", ("list.bpop.timeout-fraction", "list.blmove.timed-out", "list.brpoplpush")),
    Mutant("takes any word for a timeout", NUMBERS, "    if seconds is None:\n        raise CommandError(TIMEOUT_NOT_A_FLOAT)\n", "    if seconds is None:\n        return 10\n", ("list.bpop.timeout-bad",)),
    Mutant("looks at keys from the last to the first", PUSHES, "    for key in keys:\n", "    for key in reversed(keys):\n", ("list.matrix.key-order", "list.block.at-once")),
    Mutant("looks at the types of all keys first", PUSHES, "    for key in keys:\n", "    for key in keys:\n        session.db.lookup_write(key, LIST)\n    for key in keys:\n", ("list.block.at-once",)),
    Mutant("counts clients as blocked that are not any more", "miniredis/engine/statistics/info.py", '"blocked_clients": len(engine.waiting)', '"blocked_clients": engine.waiting._blocked_ever', ("list.block.registers",)),
    Mutant("answers a pop in a transaction with the wrong null", PUSHES, "serve, timeout) if session.may_block else NULL_ARRAY", "serve, timeout) if session.may_block else None", ("list.block.inside-transaction",)),
    Mutant("names the first key whichever key serves", PUSHES, "        return [key, pop_one(db, key, values, end)]\n", "        return [args[1], pop_one(db, key, values, end)]\n", ("list.block.first-ready",)),
    Mutant("leaves a client that was served in the lines of its other keys", WAITING, "        for key in waiter.keys:\n            self._leave(waiter, key)\n", "        for key in waiter.keys[:1]:\n            self._leave(waiter, key)\n", ("list.block.several-keys",)),
    Mutant("puts a waiter last when its key becomes another type", WAITING, "        if kind in waited_for or Stream in waited_for:", "        if kind not in waited_for and waited_for:\n            for line in waited_for.values():\n                line.move_to_end(next(iter(line)))\n        if kind in waited_for or Stream in waited_for:", ("list.block.other-type",)),
    Mutant("forgets what a client sends while it waits", "miniredis/engine/input.py", "    session.parser.feed(data)\n    if session.waiter is None:\n        run_input(session)\n", "    if session.waiter is None:\n        session.parser.feed(data)\n        run_input(session)\n", ("list.block.holds-input",)),
    Mutant("serves the waiter first whose time is over first", WAITING, "next(iter(queue)), database", "min(queue, key=lambda each: each.deadline or 1 << 63), database", ("list.block.fifo",)),
    Mutant("follows a chain to its end before it serves another key", WAITING, "                self._serve(self._databases[database], key)\n", "                self._serve(self._databases[database], key)\n                self.serve_ready()\n", ("list.block.ready-in-order",)),
    Mutant("takes a list for new that takes the place of a string", "miniredis/engine/keyspace/keyspace.py", "        if type(old) is Stream:\n", "        if type(old) is not type(value):\n", ("list.block.other-type",)),
)  # fmt: skip
