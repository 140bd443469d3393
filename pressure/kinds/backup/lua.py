"""The scripts of backup queues.

Rules:
    - ``KEYS`` are the list of waiting items, the list of items in progress, and the sorted set of claims.
    - Where memory is full, a script may write only if it has written before. So each begins with a write that
      changes nothing: items can be taken and completed there, which frees memory.
    - An item is added to its destination before it is removed from its source. A script that fails halfway
      keeps its changes, so the item is then in both lists, never in neither.
    - ``REAP`` may need several runs to look at all items in progress. An item that a run puts back keeps a
      claim of time 0 until the last run, so that a later run treats an equal item as stale, too. Claims
      without an item are removed only if one run sees all items: otherwise each of these claims would need a
      search of the whole list.
"""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.protocol.sizes import MOST_BYTES

_BEGINNING: Final = b"""
local pending, processing, claims = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPOP', pending, 0)
redis.call('ZREMRANGEBYSCORE', claims, '(0', '(0')
"""

#: Claims the next item, records the time, and returns the item; nil if there is none. If the time cannot be
#: written, the item is claimed all the same, and ``REAP`` records a time later.
CLAIM: Final = Script(
    _BEGINNING
    + b"""
local item = redis.call('LMOVE', pending, processing, 'RIGHT', 'LEFT')
if item then redis.pcall('ZADD', claims, now, item) end
return item
"""
)

#: How many items one run of ``REAP`` looks at, at most.
MOST_ITEMS: Final = 10_000

#: Puts back stale items. ``ARGV`` are the age in milliseconds from which a claim is stale, and how many items
#: are left to look at; -1 for all. Returns the items that were put back, the next one last, and how many are
#: left to look at; -1 if none is. A run stops early if the items have too many bytes (``protocol.sizes``).
#:
#: The script takes each item from the left end, where the newest claim is, and puts it back into the queue or
#: moves it to the right end. So each item costs the same, and after all runs the order is as before.
REAP: Final = Script(
    _BEGINNING
    + b"local most_bytes = %d\nlocal most_items = %d\n" % (MOST_BYTES, MOST_ITEMS)
    + b"""
local stale, left, known, back = tonumber(ARGV[1]), tonumber(ARGV[2]), {}, {}
local whole = left < 0
if whole then left = redis.call('LLEN', processing) end

local bytes, looked_at = 0, 0
while left > 0 and bytes <= most_bytes and looked_at < most_items do
  local item = redis.call('LINDEX', processing, 0)
  if not item then left = 0 break end
  if known[item] == nil then
    local since = redis.call('ZSCORE', claims, item)
    if not since then redis.call('ZADD', claims, now, item) end
    known[item] = now - (tonumber(since) or now) >= stale
  end
  if known[item] then
    redis.call('RPUSH', pending, item)
    redis.call('LPOP', processing)
    back[#back + 1] = item
  else
    redis.call('LMOVE', processing, processing, 'LEFT', 'RIGHT')
  end
  left, bytes, looked_at = left - 1, bytes + #item, looked_at + 1
end

if whole and left == 0 then
  local at = 0
  while true do
    local some = redis.call('ZRANGE', claims, at, at + 63)
    if #some == 0 then return {back, -1} end
    for _, item in ipairs(some) do
      if known[item] == false then at = at + 1 else redis.call('ZREM', claims, item) end
    end
  end
end
for item, went_back in pairs(known) do
  if went_back then redis.call('ZADD', claims, 0, item) end
end
if left > 0 then return {back, left} end
while true do
  local first = redis.call('ZRANGE', claims, 0, 0, 'WITHSCORES')
  if #first == 0 or tonumber(first[2]) ~= 0 then return {back, -1} end
  redis.call('ZREM', claims, first[1])
end
"""
)

#: Puts back one item, ``ARGV[1]``. Returns whether it was in progress.
REQUEUE: Final = Script(
    _BEGINNING
    + b"""
if not redis.call('LPOS', processing, ARGV[1]) then return 0 end
redis.call('RPUSH', pending, ARGV[1])
redis.call('LREM', processing, 1, ARGV[1])
redis.call('ZREM', claims, ARGV[1])
return 1
"""
)
