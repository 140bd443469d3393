"""The scripts, which do in one step what a crash must not cut in two.

Each is made of three parts: what all have in common and what differs by the kind of queue, which are in
``kinds``, and the step itself.

To add a step: its script here, and who asks for it in ``source`` or ``sink``.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.spark.kinds import COMMON, KINDS

__all__ = ["ABANDON", "ACK", "CLAIM", "DECIDE", "END", "LEAVE", "MOVE", "OPEN", "RELEASE", "TAKE", "Step"]


class Step:
    """A step, as a script for each kind."""

    def __init__(self, text: bytes) -> None:
        self._scripts = {kind: Script(COMMON + functions + text) for kind, functions in KINDS.items()}

    def of(self, kind: str) -> Script:
        """Its script for queues of a kind, or carried in a way."""
        return self._scripts[kind]


#: KEYS: owner. ARGV: who wants to be it, its lease, and instead of whom it may be. Nothing, or who has the
#: queue and for how many milliseconds.
TAKE: Final = Script(
    b"""
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {} end
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] or holder == ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return {}
end
return {holder, redis.call('PTTL', KEYS[1])}
"""
)

#: KEYS: owner. ARGV: who it is no more.
RELEASE: Final = Script(
    b"""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
)

_STREAMS: Final = b"""
local owner, source, me = KEYS[1], KEYS[2], ARGV[1]
if call('GET', owner) ~= me then return {'lost', call('GET', owner) or '', 0} end
local state = call('HMGET', source, 'id', 'first', 'claimed')
local id, first, claimed = state[1], tonumber(state[2]), tonumber(state[3])
"""

#: KEYS of this and the next three: owner, source, pending. ARGV: who asks, and an id for a stream that is
#: new, or whose claimed rows are not there as it left them. Its id, first row, and the row after the last.
OPEN: Final = Step(
    _STREAMS
    + b"""
local new = ARGV[2]
local name = 'spark/' .. (id or new)
local status, holder = hold(name)
if status ~= 'ok' then return {status, holder} end
local count = call('LLEN', pending)
if not id or claimed - first ~= count then
  if id then
    leave()
    hold('spark/' .. new)
    count = call('LLEN', pending)
  end
  id, first, claimed = new, 0, count
  call('HSET', source, 'id', id, 'first', first, 'claimed', claimed)
end
return {'ok', id, first, claimed}
"""
)

#: ARGV: who asks, how many rows at most. How many were claimed, and the row after the last.
CLAIM: Final = Step(
    _STREAMS
    + b"""
if not id or not ours('spark/' .. id) then return {'taken', '', 0} end
local moved, status = take(tonumber(ARGV[2]))
if status == 'error' then return moved end
if moved > 0 then call('HINCRBY', source, 'claimed', moved) end
return {status, moved, claimed + moved}
"""
)

#: ARGV: who asks, the stream's id, the row up to which all are done.
ACK: Final = Step(
    _STREAMS
    + b"""
local last = tonumber(ARGV[3])
if id ~= ARGV[2] or last > claimed then return {'other', id or ''} end
if not ours('spark/' .. id) or call('LLEN', pending) ~= claimed - first then return {'taken', ''} end
if last > first then
  settle(last - first)
  call('HSET', source, 'first', last)
end
return {'ok', claimed - math.max(first, last)}
"""
)

#: ARGV: who asks. How many rows are claimed still; if none, all is given back that a stream holds.
LEAVE: Final = Step(
    _STREAMS
    + b"""
local left = id and claimed - first or 0
if left == 0 and id and ours('spark/' .. id) then leave() end
call('DEL', owner)
return {'ok', left}
"""
)

#: KEYS: the writer's marker, then what is staged. ARGV: batch, for how many milliseconds to keep it, then the
#: names and the lengths of what is staged. What to move: of this batch, or of one before it.
DECIDE: Final = Script(
    b"""
local call, marker, batch, kept = redis.call, KEYS[1], tonumber(ARGV[1]), ARGV[2]
local known = call('HMGET', marker, 'done', 'batch', 'lists')
local done, current, lists = tonumber(known[1]), tonumber(known[2]), known[3]
local mine = {}
for at = 2, #KEYS do mine[at - 1] = ARGV[1 + 2 * (at - 1)] end
local function drop()
  for at = 2, #KEYS do
    if not (lists and string.find(lists, mine[at - 1], 1, true)) then call('UNLINK', KEYS[at]) end
  end
end
if done and batch <= done then
  drop()
  return {'done'}
end
if current and current < batch then return {'before', current, lists} end
if current and current > batch then return {'stale', current} end
if current then
  drop()
  return {'go', current, lists}
end
for at = 2, #KEYS do
  local length = call('LLEN', KEYS[at])
  if length ~= tonumber(ARGV[2 + 2 * (at - 1)]) then return {'gone', at - 2, length} end
end
for at = 2, #KEYS do call('PEXPIRE', KEYS[at], kept) end
lists = table.concat(mine, ' ')
call('HSET', marker, 'batch', batch, 'lists', lists, 'moved', 0)
call('PEXPIRE', marker, kept)
return {'go', batch, lists}
"""
)

#: KEYS: marker, stage, (marker). ARGV: who puts, batch, how many rows at most. How many were put, and how
#: many are left of this stage.
MOVE: Final = Step(
    b"""
local marker, stage = KEYS[1], KEYS[2]
if call('HGET', marker, 'batch') ~= ARGV[2] then return {'done', 0, 0} end
local left = call('LLEN', stage)
if left == 0 then return {'ok', 0, 0} end
local moved, status = put(stage, tonumber(ARGV[3]))
if moved > 0 then call('HINCRBY', marker, 'moved', moved) end
return {status, moved, left - moved}
"""
)

#: KEYS: marker. ARGV: batch, for how many milliseconds to keep the marker. All of the batch is in the queue.
END: Final = Script(
    b"""
if redis.call('HGET', KEYS[1], 'batch') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'batch', 'lists', 'moved')
redis.call('HSET', KEYS[1], 'done', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
)

#: KEYS: marker, then what is staged. ARGV: the names of that. What is not to be moved is dropped.
ABANDON: Final = Script(
    b"""
local lists = redis.call('HGET', KEYS[1], 'lists')
for at = 2, #KEYS do
  if not (lists and string.find(lists, ARGV[at - 1], 1, true)) then redis.call('UNLINK', KEYS[at]) end
end
return 1
"""
)
