"""The scripts of reliable queues, for either backend.

Rules:
    - ``KEYS`` are those of a lane, as in ``ReliableKeys.all``. ``ARGV[1]`` is the consumer group. For ``pop``
      the lane is that of due messages, and ``KEYS[7...]`` are the queue, its deliveries and its notes.
    - A message is added to its destination before it is removed from its source.
    - Where memory is full, a script may write only if it has written before. So each begins with a write that
      changes nothing: messages can be delivered, retried and acknowledged there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

_BEGINNING: Final = b"""
local queue, delayed, dead, counts, beats, notes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local group = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREM', delayed, '')
"""

#: An entry is deleted once every group of the stream has acknowledged it. ``is_done`` checks the other
#: groups: a group has acknowledged an id that was delivered to it and is no longer pending there.
_STREAM: Final = b"""
local function is_behind(id, last)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  local last_ms, last_number = string.match(last, '^(%d+)-(%d+)$')
  if ms == last_ms then ms, last_ms = number, last_number end
  if #ms ~= #last_ms then return #ms > #last_ms end
  return ms > last_ms
end

local others = nil
local function is_done(id)
  if not others then
    others = {}
    for _, found in ipairs(redis.call('XINFO', 'GROUPS', queue)) do
      local known = {}
      for at = 1, #found, 2 do known[found[at]] = found[at + 1] end
      if known['name'] ~= group then others[#others + 1] = known end
    end
  end
  for _, other in ipairs(others) do
    if is_behind(id, other['last-delivered-id']) then return false end
    if #redis.call('XPENDING', queue, other['name'], id, id, 1) > 0 then return false end
  end
  return true
end

local function ack(id)
  if redis.call('XACK', queue, group, id) == 0 then return false end
  if is_done(id) then redis.call('XDEL', queue, id) end
  redis.call('HDEL', notes, id)
  return true
end

local function push(key, payload, deliveries, note)
  local fields = {'payload', payload}
  if deliveries > 0 then fields[3], fields[4] = 'deliveries', deliveries end
  if note ~= '' then fields[#fields + 1] = 'note'; fields[#fields + 1] = note end
  redis.call('XADD', key, '*', unpack(fields))
end

local function check_type() redis.call('XLEN', KEYS[7]) end

local function read(key, most)
  if most < 1 then return {} end
  local command = {'XREADGROUP', 'GROUP', group, 'pressure', 'COUNT', most, 'STREAMS', key, '>'}
  for _ = 1, 2 do
    local reply = redis.pcall(unpack(command))
    if not reply then return {} end
    if not reply.err then return reply[1][2] end
    -- Redis 7 puts ERR before a message that a script raises itself, and keeps that of a command
    if not string.find(reply.err, 'NOGROUP') then redis.call(unpack(command)) end
    if redis.call('EXISTS', key) == 0 then return {} end
    redis.call('XGROUP', 'CREATE', key, group, 0)
  end
end
"""

_MODULE: Final = b"""
local function ack(id)
  local done = redis.call('MQ.ACK', queue, id)
  if not done or #done == 0 then return false end
  redis.call('HDEL', counts, id)
  redis.call('ZREM', beats, id)
  redis.call('HDEL', notes, id)
  return true
end

local function push(key, payload, deliveries, note)
  local ids = redis.call('MQ.PUSH', key, payload)
  if deliveries > 0 then redis.call('HSET', counts, ids[1], deliveries) end
  if note ~= '' then redis.call('HSET', key .. ':notes', ids[1], note) end
end

local function check_type() end

local function read(key, most, of_counts, of_notes)
  local found = most > 0 and redis.call('MQ.POP', most, key) or {}
  for _, each in ipairs(found) do
    each[3] = redis.call('HGET', of_counts or counts, each[1])
    each[4] = redis.call('HGET', of_notes or notes, each[1])
  end
  return found
end
"""

#: Acknowledges messages. ``ARGV[2...]`` are ids. Returns those that were acknowledged.
_ACK: Final = b"""
local done = {}
for at = 2, #ARGV do
  if ack(ARGV[at]) then done[#done + 1] = ARGV[at] end
end
return done
"""

#: Delays a pending message, or makes it a dead letter. ``ARGV[2...]`` are its id, its member of the delayed
#: ones without the time, a delay in milliseconds, and for a dead letter the payload and the note. Returns
#: whether it was still pending.
_RETRY: Final = b"""
local id, rest, delay, payload, note = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local member = string.format('%016.0f', time[1] * 1000000 + time[2]) .. rest
redis.call('ZADD', delayed, now + delay, member)
if not ack(id) then
  redis.call('ZREM', delayed, member)
  return 0
end
if payload then
  push(dead, payload, 0, note)
  redis.call('ZREM', delayed, member)
end
return 1
"""

#: ``move`` pushes up to ``most`` due messages to a key, and fewer if they have too many bytes (see
#: ``protocol.sizes``). Returns how many, and whether more may be due.
_MOVING: Final = (
    b"""
local function move(key, most)
  local moved, bytes, count = 0, 0, 1
  while moved < most and bytes <= %d do
    local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, math.min(count, most - moved))
    if #due == 0 then return moved, 0 end
    for _, member in ipairs(due) do
      local deliveries, length, rest = string.match(member, '^%%x+:(%%d+),?(%%d*):(.*)$')
      length = tonumber(length) or 0
      local note, payload = string.sub(rest or '', 1, length), rest and string.sub(rest, length + 1) or member
      push(key, payload, tonumber(deliveries) or 0, note)
      redis.call('ZREM', delayed, member)
      bytes = bytes + #member
    end
    moved, count = moved + #due, count * 2
  end
  return moved, 1
end
"""
    % MOST_BYTES
)

#: Moves due messages. ``ARGV[2]`` is how many at most. Returns how many, and whether more may be due.
_MOVE: Final = (
    _MOVING
    + b"""
local moved, more = move(queue, tonumber(ARGV[2]))
return {moved, more}
"""
)

#: Delivers messages. ``ARGV[2]`` is how many at most, ``ARGV[3]`` how many of them may be due messages while
#: others wait. Returns the time, when the first delayed message is due if nothing was delivered, the due
#: messages, the other messages.
_POP: Final = (
    _MOVING
    + b"""
check_type()
local most, share = tonumber(ARGV[2]), tonumber(ARGV[3])
local due = {}
local function read_due(count, whatever_is_there)
  if count < 1 or (move(queue, count) == 0 and not whatever_is_there) then return end
  for _, each in ipairs(read(queue, count)) do due[#due + 1] = each end
end
read_due(share)
local rest = read(KEYS[7], most - #due, KEYS[8], KEYS[9])
read_due(most - #due - #rest, true)
if #due + #rest > 0 then return {now, false, due, rest} end
return {now, redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] or false, due, rest}
"""
)

#: Removes a delayed message. ``ARGV[2]`` is when it is due, ``ARGV[3]`` how its member begins. Returns
#: whether it was there.
_CANCEL: Final = b"""
for _, member in ipairs(redis.call('ZRANGEBYSCORE', delayed, ARGV[2], ARGV[2])) do
  if string.sub(member, 1, #ARGV[3]) == ARGV[3] then return redis.call('ZREM', delayed, member) end
end
return 0
"""


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of one backend."""

    ack: Script
    retry: Script
    move: Script
    pop: Script
    cancel: Script

    @classmethod
    def of(cls, backend: bytes) -> Scripts:
        """Build the scripts on a backend's Lua functions."""
        bodies = (_ACK, _RETRY, _MOVE, _POP, _CANCEL)
        return cls(*(Script(_BEGINNING + backend + body) for body in bodies))


STREAM: Final = Scripts.of(_STREAM)
MODULE: Final = Scripts.of(_MODULE)
