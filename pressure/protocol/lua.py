"""The Lua scripts: the part of an operation that needs no waiting, done as one atomic step.

Rules:
    - A script checks everything that can fail before its first write. If a command fails all the same, it
      first gives back role and token (``release``), since Redis does not undo what a script has done.
    - A script pops a free role only to keep it (``take``): no other client can see a pop that the script
      undoes itself. For the same reason it leaves the token in place while there is room.
    - A script of a client that holds the role, or has popped it, first compares the holder key.
    - A script that frees the role marks the id in the holder key as released.
    - Where memory is full, a script may write only if it has written before. So those that take no memory
      begin with a write that changes nothing (``even_if_full``), unless they pop something first.
    - Afterwards ``:not_full`` has one element if there is room, and none if there is not.
    - Each script returns a list: status, number of values stored, a detail, what it could not count, what it
      could not give back, and the values (``ScriptReply``).
    - Popped values go into ``values`` at once, and are returned whatever fails after that.

A comment above each script names its ``KEYS`` and ``ARGV``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from pressure.protocol.sizes import MOST_BYTES

if TYPE_CHECKING:
    from pressure.errors import ServerReplyError


@dataclass(frozen=True)
class Script:
    """A script."""

    text: bytes

    @cached_property
    def sha(self) -> bytes:
        """Its SHA1, by which EVALSHA runs it."""
        import hashlib  # when the first script runs: this loads OpenSSL

        return hashlib.sha1(self.text).hexdigest().encode()  # noqa: S324, its name


class ScriptReply(NamedTuple):
    """What a script returns."""

    status: bytes
    stored: int
    detail: bytes
    uncounted: bytes
    stuck: bytes | ServerReplyError
    values: list[bytes]


#: ``free`` and ``holder`` are the keys of the role; ``me`` is the id of the hold; ``lease`` is in
#: milliseconds, 0 for none. ``mode`` says what the hold has already: nothing (``free``), the role but not yet
#: its id in the holder key (``popped``), the role (``role``), role and token (``token``). ``expected`` is the
#: value of the holder key as long as the hold has the role. Most scripts free the role in the
#: end or leave it free: they write the released id (``mark``), and ``me`` only if they keep the role.
_BEGINNING: Final = b"""
local bound_key, closed, free, holder, not_full = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local me, mode, lease, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local mark, said = me .. '/released', nil
local held, token, keep = mode ~= 'free', mode == 'token', false
local stored, uncounted, stuck, left, values = 0, '', '', '', {}

local function call(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then error(reply, 0) end
  return reply
end

local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return reply.err end
  return nil
end

local function even_if_full() redis.pcall('RPOP', free, 0) end

local function set_token(room, tokens)
  if (tokens or redis.pcall('LLEN', not_full)) == (room and 1 or 0) then return nil end
  if not room then return try('DEL', not_full) and try('RPOP', not_full) end
  return try('LPUSH', not_full, 0) or try('LTRIM', not_full, 0, 0)
end

local function say(how, what)
  if said == what then return nil end
  said = what
  if what == mark or lease == '0' then return how('SET', holder, what) end
  return how('SET', holder, what, 'PX', lease)
end

local function take()
  if not held then call('RPOP', free) end
  held = true
end

local function release()
  local refused = nil
  if held or token then even_if_full() end
  if token then refused = set_token(true) end
  if held or said then
    local taken = held and try('LPUSH', free, 0)
    uncounted = say(try, taken and me or mark) or uncounted
    refused = taken or refused
  end
  stuck = refused or left
  if stuck ~= '' then stuck = {err = stuck} end
end

local function count(messages, bytes, number, size)
  local refused = try('INCRBY', messages, number) or try('INCRBY', bytes, size)
  if not refused then return false end
  uncounted = refused
  for _, of_the_counter in ipairs({'WRONGTYPE', 'integer', 'overflow'}) do
    if string.find(refused, of_the_counter) then return false end
  end
  return refused
end

-- Nothing if the role is ours, or free for all that is known; else the status, and who has it.
local function taken_away()
  if mode == 'free' then return nil end
  local name = call('GET', holder) or ''
  if name == expected then return nil end
  held = false
  return mode == 'popped' and 'busy' or 'lost', name
end

local function limit_of(bound)
  return #bound < 20 and string.match(bound, '^%d+$') and tonumber(bound)
end
"""

_END: Final = b"""
local fine, status, detail = pcall(main)
if not fine then
  detail = type(status) == 'table' and status.err or tostring(status)
  status, keep = 'error', false
end
if keep then
  local refused = say(try, me)
  if refused then status, detail, keep = 'error', refused, false end
end
if not keep then release() end
return {status, stored, detail or '', uncounted, stuck, values}
"""

#: KEYS: bound, closed, producer_free, producer, not_full, queue, produced messages, produced bytes.
#: ARGV: hold id, mode, lease, expected, overfill, whether the client will wait for room, whether more values
#: follow, values.
PUT: Final = Script(
    _BEGINNING
    + b"""
local function size_of(first, last)
  local size = 0
  for at = first, last do size = size + #ARGV[at] end
  return size
end

-- What is counted and then refused is taken off the counters again.
local function push(first, last, length)
  if count(KEYS[7], KEYS[8], last - first + 1, size_of(first, last)) then error({err = uncounted}, 0) end
  for at = first, last, 1000 do
    local till = math.min(at + 999, last)
    length = redis.pcall('LPUSH', KEYS[6], unpack(ARGV, at, till))
    if type(length) == 'table' then
      count(KEYS[7], KEYS[8], at - 1 - last, -size_of(at, last))
      error(length, 0)
    end
    stored = till - first + 1
  end
  return length
end

local function main()
  local overfill, wait, more = ARGV[5] == '1', ARGV[6] == '1', ARGV[7] == '1'
  local status, name = taken_away()
  if status then
    if token and call('EXISTS', bound_key) == 1 then left = set_token(true) or '' end
    token = false
    return status, name
  end
  local bound = call('GET', bound_key)
  if not bound then return 'gone' end
  local limit = limit_of(bound)
  if not limit then return 'bound', bound end
  if call('EXISTS', closed) == 1 then return 'closed' end
  if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end
  local tokens, length = call('LLEN', not_full), limit > 0 and call('LLEN', KEYS[6])
  local wanted = #ARGV - 7
  local room = wanted
  if not overfill then
    if not token and tokens == 0 then
      room = 0
    elseif limit > 0 then
      room = math.min(wanted, math.max(limit - length, 1))
    end
  end
  keep = more
  if room < wanted then keep = wait end
  if room == 0 and not keep then return 'full' end
  say(call, keep and me or mark)
  if keep then take() end
  if room > 0 then
    length, token = push(8, 7 + room, length), false
    uncounted = set_token(limit == 0 or length < limit, tokens) or uncounted
  end
  return room < wanted and 'full' or 'ok'
end
"""
    + _END
)

#: KEYS: bound, closed, consumer_free, consumer, not_full, queue, consumed messages, consumed bytes, unacked.
#: ARGV: hold id, mode, lease, expected, how many values at most, whether the client will wait for one, number
#: and bytes of the values that it has popped already, whether to keep the value in unacked.
GET: Final = Script(
    _BEGINNING
    + b"local most_bytes = %d\n" % MOST_BYTES
    + b"""
local function settle(bound, length, number, size)
  local limit = bound and limit_of(bound)
  if not limit then return end
  uncounted = set_token(limit == 0 or length < limit) or uncounted
  count(KEYS[7], KEYS[8], number, size)
end

local function return_all_but(kept, some)
  local last = #some
  while last > kept and not try('RPUSH', KEYS[6], some[last]) do last = last - 1 end
  for at = kept + 1, last do values[#values + 1] = some[at] end
end

-- A few at first, since only what was popped tells how long values are; what is too much goes back.
local function pop(most)
  local asked, bytes, popped = 1, 0, 0
  local some = call('RPOP', KEYS[6], asked)
  while some and not some.err do
    for at, value in ipairs(some) do
      bytes = bytes + #value
      if bytes > most_bytes and popped > 0 then return return_all_but(at - 1, some) end
      popped = popped + 1
      values[popped] = value
    end
    if #some < asked or popped >= most or bytes >= most_bytes then return end
    asked = math.min(3 * popped, most - popped, 64)
    some = redis.pcall('RPOP', KEYS[6], asked)
  end
end

-- The messages of dead consumers, which this hold is the first to see, go back before another is taken.
local function put_back_orphans()
  local orphans = call('LLEN', KEYS[9])
  if orphans > 0 then even_if_full() end
  for _ = 1, orphans do call('LMOVE', KEYS[9], KEYS[6], 'LEFT', 'RIGHT') end
end

local function main()
  local most, wait, number, size = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7]), tonumber(ARGV[8])
  local reliable = ARGV[9] == '1'
  if held then even_if_full() end
  local status, name = taken_away()
  if status then return status, name end
  local bound = call('GET', bound_key)
  if not bound and number == 0 then return 'gone' end
  if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end
  if bound then put_back_orphans() end
  local is_closed = call('EXISTS', closed) == 1
  local length = call('LLEN', KEYS[6])
  if reliable then
    take()
    say(call, me)
  end
  if bound and reliable then
    values = {call('LMOVE', KEYS[6], KEYS[9], 'RIGHT', 'LEFT') or nil}
  elseif bound and most > 0 then
    pop(most)
  end
  if #values + number == 0 then
    if is_closed then return 'closed' end
    if wait then take() end
    keep = wait
    return wait and 'wait' or 'empty'
  end
  if reliable then
    keep = true
    return 'ok'
  end
  for _, value in ipairs(values) do size = size + #value end
  settle(bound, length - #values, number + #values, size)
  uncounted = say(try, mark) or uncounted
  return 'ok'
end
"""
    + _END
)

#: KEYS: as in GET, and rejected. ARGV: hold id, ``role``, lease, expected, what becomes of the message (0:
#: requeued, 1: acknowledged, 2: rejected), its size in bytes.
SETTLE: Final = Script(
    _BEGINNING
    + b"""
local function remove_token_if_full()
  local limit = limit_of(call('GET', bound_key))
  if limit and limit > 0 and call('LLEN', KEYS[6]) >= limit then set_token(false) end
end

local function put_back()
  repeat
    local moved = redis.pcall('LMOVE', KEYS[9], KEYS[6], 'LEFT', 'RIGHT')
    if type(moved) == 'table' then left = moved.err end
  until type(moved) ~= 'string'
  pcall(remove_token_if_full)
end

local function acknowledge()
  local bound, length = call('GET', bound_key), call('LLEN', KEYS[6])
  local limit = bound and limit_of(bound)
  if call('LLEN', KEYS[9]) == 0 then return end
  if ARGV[5] == '2' then
    call('LMOVE', KEYS[9], KEYS[10], 'RIGHT', 'LEFT')
  else
    call('LTRIM', KEYS[9], 0, -2)
  end
  if limit then
    uncounted = set_token(limit == 0 or length < limit) or ''
    count(KEYS[7], KEYS[8], 1, ARGV[6])
  end
end

local function main()
  even_if_full()
  local fine, refused, name = pcall(taken_away)
  if fine and refused then return refused, name end
  if fine and ARGV[5] ~= '0' then
    fine, refused = pcall(acknowledge)
    if fine then return 'ok' end
  end
  put_back()
  if not fine then error(refused, 0) end
  if left ~= '' then error({err = left}, 0) end
  return 'ok'
end
"""
    + _END
)

#: KEYS: bound, closed, producer_free, producer, not_full. ARGV: hold id, mode, lease, expected.
CLOSE: Final = Script(
    _BEGINNING
    + b"""
local function main()
  even_if_full()
  local status, name = taken_away()
  if status then return status, name end
  if not call('GET', bound_key) then return 'gone' end
  local is_closed = call('EXISTS', closed) == 1
  if not held and call('LLEN', free) == 0 then return 'busy', call('GET', holder) end
  say(call, mark)
  if is_closed then return 'closed' end
  call('LPUSH', closed, 0, 0)
  return 'ok'
end
"""
    + _END
)

#: Frees the role of a dead holder, or of one that gives up, where memory is full. A server that is out of
#: memory refuses a transaction with a push in it, but not a push of a script that has written before.
#:
#: KEYS: the list of the role, its holder key, queue, unacked, closed, not_full. ARGV: the new value of the
#: holder key, its expected value, whether it is the consumer's role, whether the holder has the token.
#: Returns how many messages went back, and how many marks.
FREE: Final = Script(
    b"""
local free, holder, queue, unacked, closed, not_full = unpack(KEYS)
if redis.call('LLEN', free) > 0 or (redis.call('GET', holder) or '') ~= ARGV[2] then return false end
redis.call('DEL', holder)
redis.call('SET', holder, ARGV[1])
local orphans, mark = 0, 0
if ARGV[3] == '1' then
  orphans = redis.call('LLEN', unacked)
  for _ = 1, orphans do redis.call('LMOVE', unacked, queue, 'LEFT', 'RIGHT') end
  if redis.call('LLEN', closed) == 1 then mark = redis.call('LPUSH', closed, 0) - 1 end
end
if ARGV[4] == '1' then
  redis.call('LPUSH', not_full, 0)
  redis.call('LTRIM', not_full, 0, 0)
end
redis.call('LPUSH', free, 0)
return {orphans, mark}
"""
)
