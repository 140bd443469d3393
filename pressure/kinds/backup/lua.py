"""The scripts of a queue with an in-progress list.

Rules:
    - ``KEYS`` are the list of what waits, the list of what is in progress, the claims.
    - An item is added where it goes before it is taken from where it was: a script that fails half-way keeps
      what it has done, and then an item is there twice, and never not at all.
    - What is in progress may be too much for one look. An item that goes back in one of several looks keeps a
      claim until the last of them, of time 0, so that an equal item that comes later is known to be stale.
      Claims without an item are looked for only where one look sees everything: else each of them would be
      looked for in the whole list.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

_BEGINNING: Final = b"""
local pending, processing, claims = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function put_back(item)
  redis.call('RPUSH', pending, item)
  redis.call('LREM', processing, 1, item)
end
"""

#: The next item, with the time of its claim; nil if there is none. Where the time cannot be written, the item
#: is claimed all the same, and whoever reaps gives it one.
CLAIM: Final = Script(
    _BEGINNING
    + b"""
redis.call('ZCARD', claims)
local item = redis.call('LMOVE', pending, processing, 'RIGHT', 'LEFT')
if item then redis.pcall('ZADD', claims, now, item) end
return item
"""
)

#: ``ARGV`` are the age in milliseconds from which a claim is stale, and how many items stay that were looked
#: at before. The items that went back, the first last; and how many stay so far if there are more to look
#: at, else -1: no more is looked at, and told, at once than fits (see ``protocol.sizes``).
REAP: Final = Script(
    _BEGINNING
    + b"local most_bytes = %d\n" % MOST_BYTES
    + b"""
local stale, stay, known, back = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, {}
local whole = stay == 0
redis.call('LLEN', pending)

-- Whoever visits an item says whether it stays. A few at first: only then it is known how long they are.
local function visit_all(read, key, at, most, visit)
  local count, all = 1, 0
  while all <= most do
    local bytes, some = 0, redis.call(read, key, at, at + count - 1)
    if #some == 0 then return -1 end
    for _, item in ipairs(some) do
      bytes = bytes + #item
      if visit(item) then at = at + 1 end
    end
    all = all + bytes
    count = bytes * 64 < most_bytes and math.min(count * 2, 64) or 1
  end
  return at
end

stay = visit_all('LRANGE', processing, stay, most_bytes, function(item)
  if known[item] == nil then
    local since = redis.call('ZSCORE', claims, item)
    if not since then redis.call('ZADD', claims, now, item) end
    known[item] = now - (tonumber(since) or now) >= stale
  end
  if not known[item] then return true end
  put_back(item)
  back[#back + 1] = item
end)
if whole and stay < 0 then
  visit_all('ZRANGE', claims, 0, math.huge, function(item)
    if known[item] == false then return true end
    redis.call('ZREM', claims, item)
  end)
  return {back, -1}
end
for item, went_back in pairs(known) do
  if went_back then redis.call('ZADD', claims, 0, item) end
end
if stay >= 0 then return {back, stay} end
while true do
  local first = redis.call('ZRANGE', claims, 0, 0, 'WITHSCORES')
  if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end
  redis.call('ZREM', claims, first[1])
end
"""
)

#: ``ARGV`` is an item; whether it was in progress, and went back.
REQUEUE: Final = Script(
    _BEGINNING
    + b"""
if not redis.call('LPOS', processing, ARGV[1]) then return 0 end
put_back(ARGV[1])
redis.call('ZREM', claims, ARGV[1])
return 1
"""
)
