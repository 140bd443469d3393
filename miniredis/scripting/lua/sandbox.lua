-- The globals that scripts see, none of which they can change.
--
-- This chunk is named "=[C]", so that its functions look in error messages like the C functions that they replace.
-- A script can give that name to a function of its own. So a function is trusted by its environment, which no
-- script can choose.
--
-- A table that scripts may read but not change is an empty proxy in front of the real one. The native functions
-- that would see the proxy itself (next, pairs, rawget, rawset, getmetatable, setmetatable) are replaced.
--
-- Arguments: Python's functions (callbacks.py).

local host = ...

local error, type, select, tostring, rawequal = error, type, select, tostring, rawequal
local rawget, rawset, rawnext, rawpairs, unpack = rawget, rawset, next, pairs, unpack
local rawpcall, rawxpcall, rawloadstring, setfenv = pcall, xpcall, loadstring, setfenv
local getmetatable, setmetatable, gcinfo = getmetatable, setmetatable, gcinfo
local rawcollect, getinfo, sethook, getfenv = collectgarbage, debug.getinfo, debug.sethook, getfenv
local create, running, wrap, resume = coroutine.create, coroutine.running, coroutine.wrap, coroutine.resume
local dump, find, match, gmatch, gsub, len = string.dump, string.find, string.match, string.gmatch, string.gsub, string.len
local byte, sub = string.byte, string.sub
local concat, ceil, floor = table.concat, math.ceil, math.floor
local patch, interrupt = host.patch, host.interrupt

local READ_ONLY = "Attempt to modify a readonly table"
local ERROR_IN_HANDLER = "error in error handling"
local INSTRUCTIONS = 100000 -- between two checks whether the script must end

local real = {} -- of each proxy, the table behind it
local shown = {} -- of each proxy, the result of getmetatable

local function readonly(table, shows)
    local proxy = {}
    real[proxy], shown[proxy] = table, shows
    return setmetatable(proxy, {
        __index = table,
        __newindex = function() error(READ_ONLY, 2) end,
    })
end

-- Errors: those of a function that replaces a native one name the line of its caller

local function relay(name, ok, ...)
    if ok then return ... end
    local message = ...
    if type(message) == "table" and message.unplaced then error(message.unplaced, 0) end
    if type(message) == "string" and find(message, "^bad argument") then
        message = gsub(message, "'%?'", "'" .. name .. "'", 1)
    end
    error(message, 3)
end

-- Wraps a function, which may raise errors without a place (level 0): they get the place of its caller.
local function native(name, body)
    return function(...)
        return relay(name, rawpcall(body, ...))
    end
end

local function wrong_type(number, name, wanted, count, value)
    local got = count < number and "no value" or type(value)
    return "bad argument #" .. number .. " to '" .. name .. "' (" .. wanted .. " expected, got " .. got .. ")"
end

local function argument(level, ...)
    error(wrong_type(...), level + 1)
end

-- Raises the error for a bad argument, in a function that `native` wraps.
local function bad_argument(number, name, text)
    error("bad argument #" .. number .. " to '" .. name .. "' (" .. text .. ")", 0)
end

local function natives(library)
    local result = {}
    for name, value in rawpairs(library) do
        result[name] = type(value) == "function" and native(name, value) or value
    end
    return result
end

local environment -- the globals as scripts see them

-- Whether a function is a script's own, and neither in this file nor in C.
local function is_foreign(body)
    return getfenv(body) == environment
end

-- Checks the result of a Python function, which is nil if Lua has no room for it.
local function enough(value)
    if value == nil then error("not enough memory", 0) end
    return value
end

-- The text without line ends at its end.
local function trimmed(text)
    local last = #text
    while last > 0 do
        local code = byte(text, last)
        if code ~= 10 and code ~= 13 then break end
        last = last - 1
    end
    return sub(text, 1, last)
end

-- Ending a script that runs for too long. By then no memory may be left, so `watch` allocates the error before.

local killed = false
local ending -- the error with which the script ends

local function is_killed()
    if not killed then
        local reason = interrupt()
        if reason then
            killed = true
            ending.err = host.reasons[reason]
        end
    end
    return killed
end

local function hook()
    if not is_killed() then return sethook(hook, "", INSTRUCTIONS) end
    sethook(hook, "l") -- called at each line from now on, so that the script cannot go on by catching the error
    if getfenv(2) == environment then error(ending) end
end

local function watch()
    killed = false
    ending = {err = false, source = false, line = false}
    sethook(hook, "", INSTRUCTIONS)
end

-- Ends the script if it must end; called in functions that take long without many instructions of Lua.
local function check_killed()
    if is_killed() then
        sethook(hook, "l")
        error(ending)
    end
end

-- Calls `check_killed` now and then; called in each turn of our own loops, whose turns are short.
local turns = 0
local function take_turn()
    turns = turns + 1
    if turns % 10000 == 0 then check_killed() end
end

local function watch_thread(thread) -- each coroutine has a hook of its own
    sethook(thread, hook, killed and "l" or "", INSTRUCTIONS)
end

-- Adds the source and the line to an error that the script did not catch. If a native function raised it, they are
-- those of its caller. The functions of this file count as native, with all that they call down to C.

local function is_native(info)
    return info.what == "C" or (info.func and not is_foreign(info.func))
end

local function culprit()
    local level = 3
    local info = getinfo(level, "Slf")
    if not info or not is_native(info) then return info end
    repeat
        level = level + 1
        info = getinfo(level, "Slf")
    until not info or info.what == "C" or not is_native(info)
    return info and info.func ~= rawxpcall and info or nil -- nil if Redis itself called the function
end

local function handler(problem)
    local info = culprit()
    if type(problem) ~= "table" then
        problem = {err = "ERR " .. tostring(problem)}
    end
    if info then
        problem.source, problem.line = info.source, info.currentline
        if is_native(info) then problem.line = -1 end
    end
    return problem
end

-- A number as C's int, to which Redis converts some arguments: a large one loses its upper bits.
local function c_int(number)
    if not (number > -2 ^ 63 and number < 2 ^ 63) then return 0 end
    local bits = (number < 0 and ceil(number) or floor(number)) % 2 ^ 32
    return bits < 2 ^ 31 and bits or bits - 2 ^ 32
end

-- Globals

local api = {}

function api.next(...)
    local table, key = ...
    if type(table) ~= "table" then argument(2, 1, "next", "table", select("#", ...), table) end
    return rawnext(real[table] or table, key) -- its error has no place, as in Redis
end

function api.pairs(...)
    local table = ...
    if type(table) ~= "table" then argument(2, 1, "pairs", "table", select("#", ...), table) end
    local behind = real[table]
    if behind then
        table = {}
        for key, value in rawpairs(behind) do table[key] = value end
    end
    return rawnext, table, nil
end

function api.rawget(...)
    local table, key = ...
    if type(table) ~= "table" then argument(2, 1, "rawget", "table", select("#", ...), table) end
    if select("#", ...) < 2 then error("bad argument #2 to 'rawget' (value expected)", 2) end
    return rawget(real[table] or table, key)
end

function api.rawset(...)
    local table, key, value = ...
    local count = select("#", ...)
    if type(table) ~= "table" then argument(2, 1, "rawset", "table", count, table) end
    if count < 3 then error("bad argument #" .. count + 1 .. " to 'rawset' (value expected)", 2) end
    if real[table] then error(READ_ONLY, 0) end
    return rawset(table, key, value) -- its errors have no place, as in Redis
end

function api.getmetatable(...)
    if select("#", ...) == 0 then error("bad argument #1 to 'getmetatable' (value expected)", 2) end
    local value = ...
    if type(value) == "table" then
        if real[value] then return shown[value] end
        return getmetatable(value)
    end
    return type(value) == "string" and shown.string or nil
end

function api.setmetatable(...)
    local table, meta = ...
    if type(table) ~= "table" then argument(2, 1, "setmetatable", "table", select("#", ...), table) end
    if real[table] then error(READ_ONLY, 0) end
    if type(meta) == "table" and real[meta] then
        local copy = {}
        for key, value in rawpairs(real[meta]) do copy[key] = value end
        meta = copy
    end
    if select("#", ...) < 2 then meta = 0 end
    return relay("setmetatable", rawpcall(setmetatable, table, meta))
end

local MOST_RESULTS = 8000

-- The native function computes the number of results without checking for integer overflow.
function api.unpack(...)
    local table, first, last = ...
    if type(table) ~= "table" then argument(2, 1, "unpack", "table", select("#", ...), table) end
    first = first == nil and 1 or tonumber(first)
    last = last == nil and #table or tonumber(last)
    if not first then argument(2, 2, "unpack", "number", 3, (select(2, ...))) end
    if not last then argument(2, 3, "unpack", "number", 3, (select(3, ...))) end
    if c_int(last) - c_int(first) >= MOST_RESULTS then error("too many results to unpack", 2) end
    return relay("unpack", rawpcall(unpack, ...)) -- all arguments: each takes the slot of one result
end

-- With a full stack no hook can be called, so a script that catches stack overflows is checked here.
local function check_stacks(problem)
    if type(problem) == "string" and (find(problem, "stack overflow", 1, true) or problem == ERROR_IN_HANDLER) then
        check_killed()
    end
end

local function outcome(ok, ...)
    if ok then return true, ... end
    local problem = ...
    check_stacks(problem)
    if problem == "not enough memory" then
        rawcollect("collect") -- Lua 5.1 does not do that by itself
        check_killed()
    end
    if type(problem) == "table" then
        local text = problem.err
        if type(text) == "string" or type(text) == "number" then return false, text end
    end
    return false, problem
end

local function as_it_is(ok, ...)
    if not ok then check_stacks((...)) end
    return ok, ...
end

function api.pcall(...)
    if select("#", ...) == 0 then return false, "attempt to call a boolean value" end
    return outcome(rawpcall(...))
end

function api.xpcall(...)
    if select("#", ...) < 2 then error("bad argument #2 to 'xpcall' (value expected)", 2) end
    local body, handle = ...
    return as_it_is(rawxpcall(body, function(problem)
        if killed then return problem end -- called from a hook, in which no hook could end the script's handler
        return handle(problem)
    end))
end

local function compile(code, name)
    local bytecode, problem = rawloadstring(code, name)
    if not bytecode then return nil, problem end
    local patched, line = patch(dump(bytecode))
    if line then return nil, string.format(host.too_many_parameters, line) end
    return rawloadstring(enough(patched), name)
end

local function load_text(code, name)
    if code:byte() == 27 then code = " " .. code end -- Lua would take it for bytecode; Redis takes it for text
    local chunk, problem = compile(code, name)
    if not chunk then return nil, problem end
    return setfenv(chunk, environment)
end

-- Gives a chunk that Python has compiled the globals of scripts.
local function adopt(chunk)
    return setfenv(chunk, environment)
end

function api.loadstring(...)
    local code, name = ...
    if type(code) ~= "string" and type(code) ~= "number" then
        argument(2, 1, "loadstring", "string", select("#", ...), code)
    end
    code = tostring(code)
    return load_text(code, type(name) == "string" and name or code)
end

function api.load(...)
    local reader, name = ...
    if type(reader) ~= "function" then argument(2, 1, "load", "function", select("#", ...), reader) end
    local pieces = {}
    while true do
        local ok, piece = rawpcall(reader)
        if not ok then return nil, piece end
        if piece == nil or piece == "" then break end
        if type(piece) ~= "string" and type(piece) ~= "number" then
            return nil, "reader function must return a string"
        end
        pieces[#pieces + 1] = piece
    end
    return load_text(concat(pieces), type(name) == "string" and name or "=(load)")
end

local TUNING = {setpause = 200, setstepmul = 200, stop = 0, restart = 0}
local COLLECTING = {count = true, collect = true, step = true}

function api.collectgarbage(option, value)
    option = option == nil and "collect" or option
    local before = TUNING[option]
    if before then
        if before > 0 then TUNING[option] = tonumber(value) or 0 end
        return before
    end
    if not COLLECTING[option] then
        error("bad argument #1 to 'collectgarbage' (invalid option '" .. tostring(option) .. "')", 2)
    end
    local result = rawcollect(option)
    check_killed()
    return result
end

-- Strings: the matcher calls itself for each operator in a pattern, and the C stack is limited

local OPERATORS = 1000

local function checked(name, body)
    return function(...)
        local _, pattern = ...
        if type(pattern) == "string" and len(pattern) > OPERATORS then
            local _, count = gsub(pattern, "[%*%+%-%?%(]", "")
            if count > OPERATORS then error("pattern too complex", 2) end
        end
        return relay(name, rawpcall(body, ...))
    end
end

local function checked_gsub(...)
    local text, pattern, replacement, most = ...
    if type(pattern) == "string" and len(pattern) > OPERATORS then
        local _, count = gsub(pattern, "[%*%+%-%?%(]", "")
        if count > OPERATORS then error("pattern too complex", 2) end
    end
    if type(replacement) ~= "function" then
        return relay("gsub", rawpcall(gsub, ...))
    end
    local inside = false -- an error in the replacement function has its place already
    local function back(...) inside = false; return ... end
    local function replace(...) inside = true; return back(replacement(...)) end
    local function outcome(ok, ...)
        if not ok and inside then error((...), 0) end
        return ok, ...
    end
    if most == nil then return relay("gsub", outcome(rawpcall(gsub, text, pattern, replace))) end
    return relay("gsub", outcome(rawpcall(gsub, text, pattern, replace, most)))
end

-- Coroutines: each has a hook of its own

function api.create_coroutine(...)
    local body = ...
    if type(body) ~= "function" or not is_foreign(body) then
        error("bad argument #1 to 'create' (Lua function expected)", 2)
    end
    local thread = create(body)
    watch_thread(thread)
    return thread
end

function api.resume(...)
    if type((...)) ~= "thread" then error("bad argument #1 to 'resume' (coroutine expected)", 2) end
    return as_it_is(resume(...))
end

function api.wrap_coroutine(...)
    local body = ...
    if type(body) ~= "function" or not is_foreign(body) then
        error("bad argument #1 to 'wrap' (Lua function expected)", 2)
    end
    return wrap(function(...)
        watch_thread(running())
        return body(...)
    end)
end

-- Random numbers: the sequence of lrand48, as it begins in Redis

local low, middle, high = 0x330E, 0xABCD, 0x1234
local RANDOM_MAX = 2147483647

local function draw()
    local sum = low * 0xE66D + 0xB
    local next_low = sum % 65536
    sum = floor(sum / 65536) + low * 0xDEEC + middle * 0xE66D
    local next_middle = sum % 65536
    sum = floor(sum / 65536) + low * 5 + middle * 0xDEEC + high * 0xE66D
    low, middle, high = next_low, next_middle, sum % 65536
    return high * 32768 + floor(middle / 2)
end

local function number_argument(level, name, position, count, value)
    local number = tonumber(value)
    if not number then argument(level + 1, position, name, "number", count, value) end
    return number
end

local function random(...)
    local fraction = (draw() % RANDOM_MAX) / RANDOM_MAX
    local count, first, second = select("#", ...), ...
    if count == 0 then return fraction end
    first = c_int(number_argument(2, "random", 1, count, first))
    if count == 1 then
        if first < 1 then error("bad argument #1 to 'random' (interval is empty)", 2) end
        return floor(fraction * first) + 1
    elseif count == 2 then
        second = c_int(number_argument(2, "random", 2, count, second))
        if first > second then error("bad argument #2 to 'random' (interval is empty)", 2) end
        return floor(fraction * c_int(second - first + 1)) + first
    end
    error("wrong number of arguments", 2)
end

local function randomseed(...)
    local number = c_int(number_argument(2, "randomseed", 1, select("#", ...), (...))) % 2 ^ 32
    low, middle, high = 0x330E, number % 65536, floor(number / 65536)
end

-- Putting it together

local function chosen(library, names)
    local result = {}
    for name in names:gmatch("%S+") do result[name] = library[name] end
    return result
end

local strings = chosen(string, "byte char dump format len lower rep reverse sub upper")
strings.find, strings.match = checked("find", find), checked("match", match)
strings.gmatch, strings.gsub = checked("gmatch", gmatch), checked_gsub
strings.gfind = checked("gfind", gmatch)
strings.dump = native("dump", function(...)
    local body = ...
    if type(body) == "function" and not is_foreign(body) then
        error("unable to dump given function", 0)
    end
    return dump(...)
end)
getmetatable("").__index = strings

local numbers = chosen(math, "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 \
    max min mod modf pi pow rad sin sinh sqrt tan tanh")
numbers.random, numbers.randomseed = random, randomseed

local globals = chosen(_G, "_VERSION assert error gcinfo ipairs rawequal select tonumber tostring type")
for _, name in ipairs({"next", "pairs", "rawget", "rawset", "getmetatable", "setmetatable", "pcall", "xpcall",
                       "loadstring", "load", "collectgarbage", "unpack"}) do
    globals[name] = api[name]
end

local proxies = {}

local function publish(name, library)
    proxies[#proxies + 1] = readonly(library)
    globals[name] = proxies[#proxies]
end

local function alias(name, other) globals[name] = globals[other] end

publish("string", strings)
publish("math", numbers)
publish("table", chosen(table, "concat foreach foreachi getn insert maxn remove setn sort"))
publish("coroutine", {
    create = api.create_coroutine, wrap = api.wrap_coroutine,
    resume = api.resume, running = running, status = coroutine.status, yield = coroutine.yield,
})
shown.string = readonly({__index = globals.string})

local function absent(_, key)
    if type(key) ~= "string" and type(key) ~= "number" then
        error("Second argument to luaProtectedTableError must be a string or number", 2)
    end
    error("Script attempted to access nonexistent global variable '" .. key .. "'", 2)
end

setmetatable(globals, {__index = absent})
environment = readonly(globals, readonly({__index = absent}))

-- Replaces the globals that scripts see.
local function see(others)
    getmetatable(environment).__index = others
end

proxies[#proxies + 1] = environment
proxies[#proxies + 1] = shown.string
proxies[#proxies + 1] = shown[environment]
globals._G = environment

-- Removes what a script has written into proxies by a way around their metatables.
local function clean()
    for index = 1, #proxies do
        local proxy = proxies[index]
        local key = rawnext(proxy)
        while key ~= nil do
            rawset(proxy, key, nil)
            key = rawnext(proxy)
        end
    end
end

-- cjson's null: a userdata
local null = newproxy(true)
getmetatable(null).__tostring = function() return "userdata: (nil)" end

return {
    null = null, publish = publish, alias = alias, see = see, absent = absent, readonly = readonly, globals = globals, environment = environment,
    handler = handler, watch = watch, clean = clean, adopt = adopt, natives = natives,
    wrong_type = wrong_type, bad_argument = bad_argument, enough = enough, trimmed = trimmed,
    check_killed = check_killed, take_turn = take_turn,
}
