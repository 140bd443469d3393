"""The scripts of reliable queues, for either backend.

Rules:
    - ``KEYS`` are the queue, the delayed, the dead, and with the module the deliveries and the heartbeats.
    - A message is added where it goes before it is taken from where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

_BEGINNING: Final = b"""
local queue, delayed, dead = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

#: ``ARGV[1]`` is the group.
_STREAM: Final = b"""
local function ack(id)
  if redis.call('XACK', queue, ARGV[1], id) == 0 then return false end
  redis.call('XDEL', queue, id)
  return true
end

local function push(key, payload, deliveries)
  if deliveries == 0 then return redis.call('XADD', key, '*', 'payload', payload) end
  redis.call('XADD', key, '*', 'payload', payload, 'deliveries', deliveries)
end
"""

_MODULE: Final = b"""
local counts, beats = KEYS[4], KEYS[5]

local function ack(id)
  local done = redis.call('MQ.ACK', queue, id)
  if not done or #done == 0 then return false end
  redis.call('HDEL', counts, id)
  redis.call('ZREM', beats, id)
  return true
end

local function push(key, payload, deliveries)
  local ids = redis.call('MQ.PUSH', key, payload)
  if deliveries > 0 then redis.call('HSET', counts, ids[1], deliveries) end
end
"""

#: ``ARGV[2...]`` are ids; those that were acknowledged.
_ACK: Final = b"""
local done = {}
for at = 2, #ARGV do
  if ack(ARGV[at]) then done[#done + 1] = ARGV[at] end
end
return done
"""

#: ``ARGV`` goes on with an id, the message as a delayed one, a delay in milliseconds, and its payload if it
#: is to
#: be dead, else nothing. Whether it was delivered still.
_RETRY: Final = b"""
local id, member, delay, payload = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
redis.call('ZADD', delayed, now + delay, member)
if not ack(id) then
  redis.call('ZREM', delayed, member)
  return 0
end
if payload then
  push(dead, payload, 0)
  redis.call('ZREM', delayed, member)
end
return 1
"""

#: ``ARGV[2]`` is how many messages to move at most; how many were, and whether more may be due: no more are
#: moved at once than fit (see ``protocol.sizes``).
_MOVE: Final = (
    b"""
local most, moved, bytes, count = tonumber(ARGV[2]), 0, 0, 1
while moved < most and bytes <= %d do
  local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, math.min(count, most - moved))
  if #due == 0 then return {moved, 0} end
  for _, member in ipairs(due) do
    local deliveries, payload = string.match(member, '^%%x+:(%%d+):(.*)$')
    push(queue, payload or member, tonumber(deliveries) or 0)
    redis.call('ZREM', delayed, member)
    bytes = bytes + #member
  end
  moved, count = moved + #due, count * 2
end
return {moved, 1}
"""
    % MOST_BYTES
)


@dataclass(frozen=True, slots=True)
class Scripts:
    """Those of a backend."""

    ack: Script
    retry: Script
    move: Script

    @classmethod
    def of(cls, backend: bytes) -> Scripts:
        """Made of the functions that a backend has."""
        return cls(*(Script(_BEGINNING + backend + body) for body in (_ACK, _RETRY, _MOVE)))


STREAM: Final = Scripts.of(_STREAM)
MODULE: Final = Scripts.of(_MODULE)
