"""The scripts of writers: each is one atomic step, as those in ``lua``, and ``sink`` runs them."""

from __future__ import annotations

from typing import Final

from pressure.protocol.lua import Script
from pressure.spark.lua import Step

#: Decide which lists make up a batch. KEYS: the writer's marker, then the staged lists. ARGV: the batch, for
#: how many milliseconds to keep it, the server's run id, what to do after a rollback, then the id and the
#: length of each list. Returns the lists to move: those of this batch, or of an earlier one that was decided
#: and not completed. If batches are missing, and the server's process is another one since, it has lost them:
#: then it also returns the last batch before them.
DECIDE: Final = Script(
    b"""
local call, marker, batch, kept = redis.call, KEYS[1], tonumber(ARGV[1]), ARGV[2]
local known = call('HMGET', marker, 'done', 'batch', 'lists')
local done, current, lists = tonumber(known[1]), tonumber(known[2]), known[3]
local mine, decided = {}, {}
for at = 2, #KEYS do mine[at - 1] = ARGV[3 + 2 * (at - 1)] end
for name in string.gmatch(lists or '', '%S+') do decided[name] = true end
local function drop()
  for at = 2, #KEYS do
    if not decided[mine[at - 1]] then call('UNLINK', KEYS[at]) end
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
  if length ~= tonumber(ARGV[4 + 2 * (at - 1)]) then return {'gone', at - 2, length} end
end
local run = call('HGET', marker, 'run')
local lost = done and batch > done + 1 and run and run ~= '' and run ~= ARGV[3]
if lost and ARGV[4] ~= 'resume' then return {'back', done} end
for at = 2, #KEYS do call('PEXPIRE', KEYS[at], kept) end
lists = table.concat(mine, ' ')
call('HSET', marker, 'batch', batch, 'lists', lists, 'moved', 0, 'run', ARGV[3])
call('PEXPIRE', marker, kept)
return {'go', batch, lists, lost and done or nil}
"""
)

#: Move rows of a staged list to the queue. KEYS: marker, stage, (marker). ARGV: the holder id, the batch, how
#: many rows and about how many bytes at most. Returns how many were put, and how many are left in the list.
MOVE: Final = Step(
    b"""
local marker, stage = KEYS[1], KEYS[2]
if call('HGET', marker, 'batch') ~= ARGV[2] then return {'done', 0, 0} end
local left = call('LLEN', stage)
if left == 0 then return {'ok', 0, 0} end
local moved, status = put(stage, tonumber(ARGV[3]), tonumber(ARGV[4]))
if moved > 0 then call('HINCRBY', marker, 'moved', moved) end
return {status, moved, left - moved}
"""
)

#: End a batch whose rows are all in the queue. KEYS: marker. ARGV: the batch, for how many milliseconds to
#: keep the marker.
END: Final = Script(
    b"""
if redis.call('HGET', KEYS[1], 'batch') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'batch', 'lists', 'moved')
redis.call('HSET', KEYS[1], 'done', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
)

#: Drop staged lists that are not part of a decided batch. KEYS: marker, then the lists. ARGV: their ids.
ABANDON: Final = Script(
    b"""
local decided = {}
for name in string.gmatch(redis.call('HGET', KEYS[1], 'lists') or '', '%S+') do decided[name] = true end
for at = 2, #KEYS do
  if not decided[ARGV[at - 1]] then redis.call('UNLINK', KEYS[at]) end
end
return 1
"""
)
