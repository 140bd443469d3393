"""The scripts. Each is one atomic step, so that a crash cannot leave it half done.

A ``Step`` joins three parts: the functions for all kinds and those for one kind of queue, both in ``kinds``,
and the text of the step.

Here are the steps of streams and tables, and those of writers are in ``sink_lua``. To add a step: write its
script, and call it in ``source``, ``peeking`` or ``sink``.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.spark.kinds import COMMON, KINDS


class Step:
    """A step: one script for each kind of queue."""

    def __init__(self, text: bytes) -> None:
        self._scripts = {kind: Script(COMMON + functions + text) for kind, functions in KINDS.items()}

    def of(self, kind: str) -> Script:
        """The script for a kind of queue; for a reliable queue, for its backend."""
        return self._scripts[kind]


#: Become the owner. KEYS: owner. ARGV: the new owner, its lease in milliseconds, the owner that it may
#: replace. Returns nothing, or the present owner and the milliseconds that are left of its lease.
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

#: Stop being the owner. KEYS: owner. ARGV: the owner.
RELEASE: Final = Script(
    b"""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
)

_OWNER: Final = b"""
local owner, source, me = KEYS[1], KEYS[2], ARGV[1]
local holder = call('GET', owner)
if holder and holder ~= me then return {'lost', holder, 0} end
"""
_STATE: Final = b"""
local state = call('HMGET', source, 'id', 'first', 'claimed')
local id, first, claimed = state[1], tonumber(state[2]), tonumber(state[3])
"""
_STREAMS: Final = _OWNER + b"if not holder then return {'lost', '', 0} end" + _STATE

#: Refuse an owner whose lease ran out, and who is the owner again after another one was; also a stream that
#: the server does not know any more.
_SAME_OWNER: Final = b"""
local by = call('HGET', source, 'by')
if not by then return {'unknown', '', 0} end
if by ~= me then return {'lost', by, 0} end
"""

#: Begin or continue a stream. KEYS of this and the next four: owner, source, pending. ARGV: the owner, and
#: the id for a new stream. A new one begins if there is none, or if its claimed rows were moved meanwhile.
#: The status "more" asks for another call: each puts back some rows of an earlier consumer.
#: Returns the stream's id, the first row that is not acknowledged, the row after the last claimed one, the
#: row where rows were numbered anew (or 0), and the first that was claimed unchecked (or nothing).
OPEN: Final = Step(
    _STREAMS
    + b"""
local new = ARGV[2]
local name = 'spark/' .. (id or new)
local status, other = hold(name)
if status ~= 'ok' then return {status, other} end
local count = call('LLEN', pending)
if not id or claimed - first ~= count then
  if id then
    leave()
    status, other = hold('spark/' .. new)
    if status ~= 'ok' then return {status, other} end
    count = call('LLEN', pending)
  end
  id, first, claimed = new, 0, count
  call('DEL', source)
  call('HSET', source, 'id', id, 'first', first, 'claimed', claimed)
end
call('HDEL', source, 'paused')
call('HSET', source, 'by', me)
local more = call('HMGET', source, 'renumbered', 'unchecked')
return {'ok', id, first, claimed, tonumber(more[1] or 0), tonumber(more[2])}
"""
)

#: Give the rows that are claimed, and those that will be, numbers from a row on that the server does not know
#: any more. ARGV: the owner, the row. Returns the row after those that are claimed.
RENUMBER: Final = Step(
    _STREAMS
    + _SAME_OWNER
    + b"""
for _, name in ipairs(call('HKEYS', source)) do
  if string.sub(name, 1, 6) == 'bytes ' then call('HDEL', source, name) end
end
local after = tonumber(ARGV[2]) + call('LLEN', pending)
call('HSET', source, 'first', ARGV[2], 'claimed', after, 'renumbered', ARGV[2])
call('HDEL', source, 'unchecked')
return {'ok', after}
"""
)

#: Note that the server knows all rows that the query knows. ARGV: the owner.
CHECKED: Final = Step(_STREAMS + _SAME_OWNER + b"return {'ok', call('HDEL', source, 'unchecked')}")

#: Claim rows. ARGV: the owner, how many rows and about how many bytes at most, the row after those claimed so
#: far, and whether the query has told a row that it knows (1 or 0). If more rows are claimed, an earlier
#: attempt has claimed them, and if fewer are, the server has gone back. If the query has told none yet, the
#: first row is noted as ``unchecked``: the new rows may have the numbers of rows that the server has lost.
#: Returns how many were claimed, the row after them, and their bytes, noted in a field ``bytes FIRST`` beside
#: the row after them.
CLAIM: Final = Step(
    _STREAMS
    + _SAME_OWNER
    + b"""
if not id or not ours('spark/' .. id) then return {'taken', '', 0} end
if claimed < tonumber(ARGV[4]) then return {'back', claimed} end
if call('HEXISTS', source, 'paused') == 1 then return {'ok', 0, claimed, 0} end
if claimed > tonumber(ARGV[4]) then
  local size = string.match(call('HGET', source, 'bytes ' .. ARGV[4]) or ' 0', ' (%d+)')
  return {'ok', claimed - tonumber(ARGV[4]), claimed, tonumber(size)}
end
local moved, status, size = take(tonumber(ARGV[2]), tonumber(ARGV[3]))
if status == 'error' then return moved end
if moved > 0 then
  if ARGV[5] == '0' and call('HEXISTS', source, 'unchecked') == 0 then
    call('HSET', source, 'unchecked', claimed)
  end
  call('HINCRBY', source, 'claimed', moved)
  call('HSET', source, 'bytes ' .. claimed, (claimed + moved) .. ' ' .. size)
end
return {status, moved, claimed + moved, size}
"""
)

#: Acknowledge rows. ARGV: the owner, the stream's id, the row before which all are acknowledged, how many
#: rows and about how many bytes at most. Returns how many rows are still claimed, and the first of them.
#: Bytes that were not noted, or not for these rows alone, are counted.
ACK: Final = Step(
    _STREAMS
    + _SAME_OWNER
    + b"""
local last, most, budget = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if id ~= ARGV[2] then return {'other', ''} end
if last > claimed then return {'back', claimed} end
if not ours('spark/' .. id) or call('LLEN', pending) ~= claimed - first then return {'taken', ''} end

local function noted(at)
  local found = call('HGET', source, 'bytes ' .. at)
  if not found then return nil end
  call('HDEL', source, 'bytes ' .. at)
  local after, size = string.match(found, '(%d+) (%d+)')
  return tonumber(after), tonumber(size)
end

local function counted(at, rows)
  return in_parts(rows, budget, function(count, done)
    local from = at - first + done
    local some = call('LRANGE', pending, -(from + count), -(from + 1))
    return #some, bytes_of(some)
  end)
end

local at, size = first, 0
while at < last and at - first < most and (at == first or size < budget) do
  local after, bytes = noted(at)
  if after and after <= last then
    at, size = after, size + bytes
  else
    local count, some = counted(at, math.min(last - at, most))
    at, size = at + count, size + some
    if after and after > at then call('HSET', source, 'bytes ' .. at, after .. ' ' .. (bytes - some)) end
  end
end
if at > first then
  settle(at - first, size)
  call('HSET', source, 'first', at)
end
return {'ok', claimed - at, at}
"""
)

#: Stop reading, also if the lease has run out and nobody is the owner. ARGV: the owner. Returns how many rows
#: are still claimed; if none, the role is given back.
LEAVE: Final = Step(
    _OWNER
    + _STATE
    + _SAME_OWNER
    + b"""
local left = id and claimed - first or 0
if left == 0 and id and ours('spark/' .. id) then leave() end
call('DEL', owner)
return {'ok', left}
"""
)

#: Let the stream claim nothing more, until it is opened again. KEYS: source.
PAUSE: Final = Script(
    b"return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HSET', KEYS[1], 'paused', 1)"
)

#: Copy a queue for a table that is read, or take a copy that was made some seconds ago. KEYS: queue, the name
#: of the last copy, the copy to make. ARGV: for how many seconds to keep it, and to use it again. Returns the
#: key of the copy and its length.
SNAPSHOT: Final = Script(
    b"""
local last = redis.call('GET', KEYS[2])
if last and redis.call('EXISTS', last) == 1 then return {last, redis.call('LLEN', last)} end
redis.call('COPY', KEYS[1], KEYS[3])
redis.call('EXPIRE', KEYS[3], ARGV[1])
redis.call('SET', KEYS[2], KEYS[3], 'EX', ARGV[2])
return {KEYS[3], redis.call('LLEN', KEYS[3])}
"""
)

#: Note that a slice of a copy was read. After the last one the copy is not used again, and expires soon.
#: KEYS: the copy, the name of the last copy, the slices that were read. ARGV: the slice, how many there are,
#: for how many seconds to keep the copy.
READ_OUT: Final = Script(
    b"""
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('EXPIRE', KEYS[3], redis.call('TTL', KEYS[1]))
if redis.call('SCARD', KEYS[3]) < tonumber(ARGV[2]) then return 0 end
if redis.call('GET', KEYS[2]) == KEYS[1] then redis.call('DEL', KEYS[2]) end
redis.call('DEL', KEYS[3])
return redis.call('EXPIRE', KEYS[1], ARGV[3])
"""
)
