"""The scripts, which do in one step what a crash must not cut in two.

Each is made of three parts: what all have in common, what differs by the kind of queue, and the step itself.
A kind has these functions:

    hold(name)      have the consumer's role under this name; a status, and who has it if it is not ours
    ours(name)      whether it is
    leave()         give it back
    take(most)      claim rows: move them to ``pending``; how many, and a status
    settle(count)   be done with the oldest claimed rows
    put(stage, most)  move staged rows to the queue; how many, and a status

Rules:
    - Rows lie as in a queue: in on the left, out on the right; so moving keeps the order.
    - A row is added where it goes before it is taken from where it was.
    - ``KEYS`` are three of the step, then those of the queue (``Places.all``).

To add a kind: its functions, and a row in ``_KINDS``.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script

__all__ = ["ABANDON", "ACK", "CLAIM", "DECIDE", "END", "LEAVE", "MOVE", "OPEN", "RELEASE", "TAKE"]

_COMMON: Final = b"""
local call = redis.call
local queue, pending = KEYS[4], KEYS[3]

local function turned(values)
  local others, count = {}, #values
  for at = 1, count do others[at] = values[count + 1 - at] end
  return others
end

local function move(from, to, most)
  local moved, size = 0, 0
  while moved < most do
    local some = call('LRANGE', from, -math.min(most - moved, 1000), -1)
    if #some == 0 then break end
    for _, value in ipairs(some) do size = size + #value end
    call('LPUSH', to, unpack(turned(some)))
    call('LTRIM', from, 0, -(#some + 1))
    moved = moved + #some
  end
  return moved, size
end
"""

_NO_ROLES: Final = b"""
local function hold(name) return 'ok', '' end
local function ours(name) return true end
local function leave() end
local function settle(count) call('LTRIM', pending, 0, -(count + 1)) end
"""

_BACKUP: Final = (
    _NO_ROLES
    + b"""
local function take(most) return (move(queue, pending, most)), 'ok' end
local function put(stage, most) return (move(stage, queue, most)), 'ok' end
"""
)

#: The queue keeps messages with an id and a count of deliveries; a claimed row is ``id deliveries payload``.
_STREAM: Final = (
    _NO_ROLES
    + b"""
local function entries(most)
  local ask = {'XREADGROUP', 'GROUP', 'workers', 'spark', 'COUNT', most, 'STREAMS', queue, '>'}
  local found = redis.pcall(unpack(ask))
  if type(found) == 'table' and found.err then
    if not string.find(found.err, 'NOGROUP') then return found end
    call('XGROUP', 'CREATE', queue, 'workers', 0, 'MKSTREAM')
    found = call(unpack(ask))
  end
  return found and found[1] and found[1][2] or {}
end

local function take(most)
  local moved = 0
  while moved < most do
    local some = entries(math.min(most - moved, 1000))
    if some.err then return some, 'error' end
    if #some == 0 then break end
    local rows, ids = {}, {}
    for at, entry in ipairs(some) do
      local fields, payload, before = entry[2], nil, 0
      for name = 1, #fields, 2 do
        if fields[name] == 'payload' then payload = fields[name + 1] end
        if fields[name] == 'deliveries' then before = tonumber(fields[name + 1]) or 0 end
      end
      rows[at] = entry[1] .. ' ' .. string.format('%d', before + 1) .. ' ' .. (payload or fields[2])
      ids[at] = entry[1]
    end
    call('LPUSH', pending, unpack(rows))
    call('XACK', queue, 'workers', unpack(ids))
    call('XDEL', queue, unpack(ids))
    moved = moved + #some
  end
  return moved, 'ok'
end

local function put(stage, most)
  local some = turned(call('LRANGE', stage, -most, -1))
  for _, payload in ipairs(some) do call('XADD', queue, '*', 'payload', payload) end
  call('LTRIM', stage, 0, -(#some + 1))
  return #some, 'ok'
end
"""
)

_MODULE: Final = (
    _NO_ROLES
    + b"""
local counts, beats = KEYS[7], KEYS[8]

local function take(most)
  local moved = 0
  while moved < most do
    local some = call('MQ.POP', math.min(most - moved, 1000), queue) or {}
    if #some == 0 then break end
    local rows, ids = {}, {}
    for at, entry in ipairs(some) do
      local before = tonumber(call('HGET', counts, entry[1]) or 0)
      rows[at] = entry[1] .. ' ' .. string.format('%d', before + 1) .. ' ' .. entry[2]
      ids[at] = entry[1]
    end
    call('LPUSH', pending, unpack(rows))
    call('MQ.ACK', queue, unpack(ids))
    call('HDEL', counts, unpack(ids))
    call('ZREM', beats, unpack(ids))
    moved = moved + #some
  end
  return moved, 'ok'
end

local function put(stage, most)
  local some = turned(call('LRANGE', stage, -math.min(most, 1000), -1))
  if #some > 0 then call('MQ.PUSH', queue, unpack(some)) end
  call('LTRIM', stage, 0, -(#some + 1))
  return #some, 'ok'
end
"""
)

#: A stream holds the consumer's role from its first claim on, under a name of its own; a writer holds the
#: producer's within a step only.
_PRESSURE: Final = b"""
local bound_key, closed, producer_free, producer = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local consumer_free, consumer, not_full = KEYS[9], KEYS[10], KEYS[11]
local writer = ARGV[1]

local function limit_of()
  local bound = call('GET', bound_key)
  return bound and tonumber(bound)
end

local function set_token(limit)
  if limit > 0 and call('LLEN', queue) >= limit then return call('DEL', not_full) end
  call('LPUSH', not_full, 0)
  call('LTRIM', not_full, 0, 0)
end

local function count(messages, bytes, number, size)
  call('INCRBY', messages, number)
  call('INCRBY', bytes, size)
end

local function ours(name)
  return call('LLEN', consumer_free) == 0 and call('GET', consumer) == name
end

local function hold(name)
  if not limit_of() then return 'gone', '' end
  if ours(name) then return 'ok', '' end
  if call('LLEN', consumer_free) == 0 then return 'busy', call('GET', consumer) or '' end
  call('RPOP', consumer_free)
  call('SET', consumer, name)
  while call('LLEN', pending) > 0 do call('LMOVE', pending, queue, 'LEFT', 'RIGHT') end
  return 'ok', ''
end

local function leave() call('LPUSH', consumer_free, 0) end

local function take(most)
  local limit = limit_of()
  if not limit then
    leave()
    return 0, 'gone'
  end
  local moved = move(queue, pending, most)
  if moved > 0 then set_token(limit) end
  return moved, call('EXISTS', closed) == 1 and 'closed' or 'ok'
end

local function settle(number)
  local size, at = 0, 0
  while at < number do
    local some = call('LRANGE', pending, -math.min(number, at + 1000), -(at + 1))
    for _, value in ipairs(some) do size = size + #value end
    at = at + 1000
  end
  call('LTRIM', pending, 0, -(number + 1))
  if limit_of() then count(KEYS[14], KEYS[15], number, size) end
end

local function put(stage, most)
  local limit = limit_of()
  if not limit then return 0, 'gone' end
  if call('EXISTS', closed) == 1 then return 0, 'closed' end
  if call('LLEN', producer_free) == 0 then return 0, 'busy' end
  local room = limit == 0 and most or math.min(most, limit - call('LLEN', queue))
  if room <= 0 then return 0, 'full' end
  call('SET', producer, writer)
  local moved, size = move(stage, queue, room)
  count(KEYS[12], KEYS[13], moved, size)
  set_token(limit)
  return moved, 'ok'
end
"""

_KINDS: Final = {"pressure": _PRESSURE, "backup": _BACKUP, "stream": _STREAM, "module": _MODULE}


class Step:
    """A step, as a script for each kind."""

    def __init__(self, text: bytes) -> None:
        self._scripts = {kind: Script(_COMMON + functions + text) for kind, functions in _KINDS.items()}

    def of(self, kind: str) -> Script:
        """Its script for queues of a kind, or carried in a way."""
        return self._scripts[kind]


#: KEYS: owner. ARGV: who wants to be it, its lease. Nothing, or who has the queue and for how many
#: milliseconds.
TAKE: Final = Script(
    b"""
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {} end
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
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
