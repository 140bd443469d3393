"""The parts of the scripts that depend on the kind of queue: Lua functions that steps call.

    hold(name)        take the consumer role for this holder; returns a status, and who else holds it; "more"
                      if some rows of an earlier consumer are in the queue again, and others not yet
    ours(name)        whether this holder has the role
    leave()           give the role back
    take(most, budget)        claim rows: move them to ``pending``; returns how many, a status, their bytes
    settle(count, size)       acknowledge the oldest claimed rows, which have so many bytes
    put(stage, most, budget)  move staged rows to the queue; returns how many, and a status

Rules:
    - Lists are ordered as in a queue: rows are added on the left and removed on the right. So moving keeps
      the order.
    - A row is added to its destination before it is removed from its source.
    - A step ends after ``budget`` bytes, since the server serves no other client meanwhile. How long values
      are is not known before they are read; so few are read first, then as many as fit by the mean so far,
      and never more than ``PART``. Of those that were read, only what fits is moved.
    - ``KEYS`` begins with three keys of the step; the keys of the queue follow (``Places.all``).

To add a kind: write its functions, and add a row to ``KINDS``.
"""

from __future__ import annotations

from typing import Final

#: The most values that a script reads at once; of a stream, they are delivered then, fit or not.
PART: Final = 64
DELIVERED: Final = 16

COMMON: Final = (
    b"local PART, DELIVERED = %d, %d" % (PART, DELIVERED)
    + b"""
local call = redis.call
local queue, pending = KEYS[4], KEYS[3]

local function bytes_of(values)
  local size = 0
  for _, value in ipairs(values) do size = size + #value end
  return size
end

local function oldest(from, count, budget)
  local values, some, size, number = call('LRANGE', from, -count, -1), {}, 0, 0
  for at = #values, 1, -1 do
    number, size = number + 1, size + #values[at]
    some[number] = values[at]
    if size >= budget then break end
  end
  return some, size
end

local function in_parts(most, budget, handle)
  local done, size, some = 0, 0, 1
  while done < most and (size < budget or done == 0) do
    local count, bytes, problem = handle(math.min(some, most - done), done, budget - size)
    if count == 0 then return done, size, problem end
    done, size = done + count, size + bytes
    local fit = size > 0 and math.floor((budget - size) * done / size) or PART
    some = math.max(1, math.min(2 * some, PART, fit))
  end
  return done, size
end

local function move(from, to, most, budget)
  return in_parts(most, budget, function(count, _, left)
    local some, size = oldest(from, count, left)
    if #some == 0 then return 0 end
    call('LPUSH', to, unpack(some))
    call('LTRIM', from, 0, -(#some + 1))
    return #some, size
  end)
end
"""
)

_NO_ROLES: Final = b"""
local function hold(name) return 'ok', '' end
local function ours(name) return true end
local function leave() end
local function settle(count, size) call('LTRIM', pending, 0, -(count + 1)) end
"""

_BACKUP: Final = (
    _NO_ROLES
    + b"""
local function take(most, budget)
  local moved, size = move(queue, pending, most, budget)
  return moved, 'ok', size
end
local function put(stage, most, budget) return (move(stage, queue, most, budget)), 'ok' end
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

local function take(most, budget)
  local moved, size, problem = in_parts(most, budget, function(count)
    local some = entries(math.min(count, DELIVERED))
    if some.err then return 0, 0, some end
    if #some == 0 then return 0 end
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
    return #some, bytes_of(rows)
  end)
  if problem then return problem, 'error' end
  return moved, 'ok', size
end

local function put(stage, most, budget)
  return (in_parts(most, budget, function(count, _, left)
    local some, size = oldest(stage, count, left)
    for _, payload in ipairs(some) do call('XADD', queue, '*', 'payload', payload) end
    call('LTRIM', stage, 0, -(#some + 1))
    return #some, size
  end)), 'ok'
end
"""
)

_MODULE: Final = (
    _NO_ROLES
    + b"""
local counts, beats = KEYS[7], KEYS[8]

local function take(most, budget)
  local moved, size = in_parts(most, budget, function(count)
    local some = call('MQ.POP', math.min(count, DELIVERED), queue) or {}
    if #some == 0 then return 0 end
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
    return #some, bytes_of(rows)
  end)
  return moved, 'ok', size
end

local function put(stage, most, budget)
  return (in_parts(most, budget, function(count, _, left)
    local some, size = oldest(stage, count, left)
    if #some == 0 then return 0 end
    call('MQ.PUSH', queue, unpack(some))
    call('LTRIM', stage, 0, -(#some + 1))
    return #some, size
  end)), 'ok'
end
"""
)

#: A stream holds the consumer role from its first claim on, with an id of its own. Before, it puts back what
#: an earlier consumer has not acknowledged; whoever takes the role in the middle of that goes on with it. A
#: writer holds the producer role only within a step.
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
  local moved, size = 0, 0
  while call('LLEN', pending) > 0 do
    if moved == 1000 or size >= 1048576 then return 'more', '' end
    moved, size = moved + 1, size + #call('LMOVE', pending, queue, 'LEFT', 'RIGHT')
  end
  call('RPOP', consumer_free)
  call('SET', consumer, name)
  return 'ok', ''
end

local function leave() call('LPUSH', consumer_free, 0) end

local function take(most, budget)
  local limit = limit_of()
  if not limit then
    leave()
    return 0, 'gone', 0
  end
  local moved, size = move(queue, pending, most, budget)
  if moved > 0 then set_token(limit) end
  return moved, call('EXISTS', closed) == 1 and 'closed' or 'ok', size
end

local function settle(number, size)
  call('LTRIM', pending, 0, -(number + 1))
  if limit_of() then count(KEYS[14], KEYS[15], number, size) end
end

local function put(stage, most, budget)
  local limit = limit_of()
  if not limit then return 0, 'gone' end
  if call('EXISTS', closed) == 1 then return 0, 'closed' end
  if call('LLEN', producer_free) == 0 then return 0, 'busy' end
  local room = limit == 0 and most or math.min(most, limit - call('LLEN', queue))
  if room <= 0 then return 0, 'full' end
  call('SET', producer, writer)
  local moved, size = move(stage, queue, room, budget)
  count(KEYS[12], KEYS[13], moved, size)
  set_token(limit)
  return moved, 'ok'
end
"""

KINDS: Final = {"pressure": _PRESSURE, "backup": _BACKUP, "stream": _STREAM, "module": _MODULE}
