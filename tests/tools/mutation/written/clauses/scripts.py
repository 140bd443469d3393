"""Clients whose scripts are wrong; what they send without scripts is right.

The guilts are those of ``batches``, where a script has them too. Two have no counterpart: that a queue is
closed is looked at by the script and by what waits for the role, and the token of a full queue is popped and
then deleted, so that no one change undoes either.
"""

from __future__ import annotations

from typing import Final

from ...model import Mutant

__all__ = ["SCRIPTS"]

LUA: Final = "pressure/protocol/lua.py"

SCRIPTS: Final = (
    Mutant(
        "runs no script, as where none is allowed",
        "pressure/protocol/scripts.py",
        "    if not server.scripts or max(",
        "    if server.scripts or max(",
        ("decided.round-trips",),
    ),
    Mutant(
        "has a script keep the role of a client that does not wait for a message",
        LUA,
        "    if wait then take() end\n    keep = wait\n",
        "    take()\n    keep = true\n",
        ("get-nowait.empty",),
    ),
    Mutant(
        "has a script keep the role of a client that does not wait for room",
        LUA,
        "  if room == 0 and not keep then return 'full' end\n",
        "  keep = keep or room == 0\n",
        ("put-nowait.full",),
    ),
    Mutant(
        "has a script keep the role when a message is settled",
        LUA,
        "if not keep then release() end",
        "if not keep and mode == 'free' then release() end",
        ("decided.reliable-done",),
    ),
    Mutant(
        "has a script leave two tokens",
        LUA,
        "try('LTRIM', not_full, 0, 0)",
        "try('LTRIM', not_full, 0, 1)",
        ("put.trims-not-full", "decided.foreign-tokens"),
    ),
    Mutant(
        "has a script pass the bound by one",
        LUA,
        "    uncounted = set_token(limit == 0 or length < limit, tokens) or uncounted",
        "    uncounted = set_token(limit == 0 or length <= limit, tokens) or uncounted",
        ("put.leaves-full", "queue.synchronized"),
    ),
    Mutant(
        "has a script count no messages",
        LUA,
        "try('INCRBY', messages, number)",
        "try('EXISTS', messages)",
        ("put.counts-message", "get.counts-message", "queue.exclusive"),
    ),
    Mutant(
        "has a script count characters it did not send",
        LUA,
        "try('INCRBY', bytes, size)",
        "try('INCRBY', bytes, size + 1)",
        ("put.counts-bytes", "decided.stats-names"),
    ),
    Mutant(
        "has a script push at the wrong end",
        LUA,
        "length = redis.pcall('LPUSH', KEYS[6], ",
        "length = redis.pcall('RPUSH', KEYS[6], ",
        ("put.pushes-left", "keys.left-in-right-out", "queue.fifo"),
    ),
    Mutant(
        "has a script pop at the wrong end",
        LUA,
        "local some = call('RPOP', KEYS[6], asked)",
        "local some = call('LPOP', KEYS[6], asked)",
        ("get.pops-right", "keys.left-in-right-out", "queue.fifo", "queue.beside-ours"),
    ),
    Mutant(
        "has a script put onto a closed queue",
        LUA,
        "  if call('EXISTS', closed) == 1 then return 'closed' end\n",
        "",
        ("put.refuses-closed", "put-nowait.closed", "history.closed"),
    ),
    Mutant(
        "has a script over-fill a closed queue",
        LUA,
        "  if call('EXISTS', closed) == 1 then return 'closed' end\n",
        "  if not overfill and call('EXISTS', closed) == 1 then return 'closed' end\n",
        ("decided.overfill-refuses-closed",),
    ),
    Mutant(
        "has a script mark a close once",
        LUA,
        "call('LPUSH', closed, 0, 0)",
        "call('LPUSH', closed, 0)",
        ("close.marks-twice",),
    ),
    Mutant(
        "has a script refill though the queue is over-full",
        LUA,
        "set_token(limit == 0 or length < limit) or uncounted\n  count(",
        "set_token(true) or uncounted\n  count(",
        ("get.over-full", "decided.drains-to-bound"),
    ),
    Mutant(
        "has a script lose the first value that is too much",
        LUA,
        "return return_all_but(at - 1, some)",
        "return return_all_but(at, some)",
        ("decided.many",),
    ),
    Mutant(
        "has a script lose a value that cannot go back",
        LUA,
        "  for at = kept + 1, last do ",
        "  for at = kept + 2, last do ",
        ("decided.refused",),
    ),
    Mutant(
        "has a script keep the token when it fails",
        LUA,
        "  if token then refused = set_token(true) end\n",
        "",
        ("decided.token-back-on-error",),
    ),
    Mutant(
        "has a script not notice that the queue was deleted",
        LUA,
        "  if not bound then return 'gone' end\n",
        "  bound = bound or '0'\n",
        ("decided.deleted-meanwhile",),
    ),
    Mutant(
        "has a script make room before a message is done with",
        LUA,
        "  if reliable then\n    keep = true\n",
        "  if reliable then\n    set_token(true)\n    keep = true\n",
        ("decided.reliable-done",),
    ),
    Mutant(
        "has a script put its message back at the wrong end",
        LUA,
        "redis.pcall('LMOVE', KEYS[9], KEYS[6], 'LEFT', 'RIGHT')",
        "redis.pcall('LMOVE', KEYS[9], KEYS[6], 'LEFT', 'LEFT')",
        ("decided.reliable-put-back",),
    ),
    Mutant(
        "has a script leave the message of a dead consumer where it is",
        LUA,
        "if bound then put_back_orphans() end",
        "",
        ("decided.reliable-orphans",),
    ),
    Mutant(
        "has a script let other producers in between its values",
        LUA,
        "if room < wanted then keep = wait end",
        "keep = keep and room == wanted",
        ("decided.many",),
    ),
    Mutant(
        "has a script make room when an over-filled queue is full again",
        LUA,
        "set_token(limit == 0 or length < limit) or ''",
        "set_token(limit == 0 or length <= limit) or ''",
        ("decided.reliable-done",),
    ),
    Mutant(
        "has a script not count the value that was waited for, where it takes more",
        LUA,
        "number + #values, size)",
        "math.max(number, #values), size)",
        ("decided.many",),
    ),
)
