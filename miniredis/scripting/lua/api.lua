-- The table `redis`, and how a script is run.
--
-- Arguments: Python's functions (callbacks.py), the sandbox, and the encoder of replies (replies.lua).

local host, sandbox, replies = ...

local type, select, error, unpack, format, concat = type, select, error, unpack, string.format, table.concat
local rawpcall, rawxpcall, tostring, tonumber = pcall, xpcall, tostring, tonumber
local collect, gcinfo = collectgarbage, gcinfo
local call, call_packed, collected = host.call, host.call_packed, host.collected
local sha1hex, log, set_resp, acl_check = host.sha1hex, host.log, host.set_resp, host.acl_check
local NO_WORDS, BAD_WORDS = host.no_words, host.bad_words
local encode, forget = replies.encode, replies.forget
local handler, watch, clean, globals = sandbox.handler, sandbox.watch, sandbox.clean, sandbox.globals
local trimmed, enough = sandbox.trimmed, sandbox.enough
local STATUS, ERROR, NO_MEMORY, COLLECT = 1, 2, 3, 4
local MANY = 32 -- arguments: more are passed to Python as one string, because passing each takes quadratic time
local CROWDED = 65536 -- KiB in use: from here on, encoding a reply may need more memory than the script has left

local script_resp = 2

local function failure(text)
    return {err = "ERR " .. text}
end

local function raise(text)
    error(failure(text))
end

-- The arguments of a command as strings, numbers with 17 digits, as in Redis; nil if one has another type.
local function words(...)
    local arguments = {...}
    for index = 1, select("#", ...) do
        local value = arguments[index]
        if type(value) == "number" then
            arguments[index] = format("%.17g", value)
        elseif type(value) ~= "string" then
            return nil
        end
    end
    return arguments
end

local function answer(value, kind)
    if kind == nil then return value end
    if kind == STATUS then return {ok = value} end
    if kind == NO_MEMORY then value = host.no_memory end
    return {err = value, ignore_error_stats_update = true}, true
end

local function perform(send, ...)
    local value, kind = send(...)
    if kind == nil then return value end
    if kind == COLLECT then
        collect("collect")
        collected()
        value, kind = send(...)
    end
    return answer(value, kind)
end

local function packed(arguments, count)
    local lengths = {}
    for index = 1, count do lengths[index] = #arguments[index] end
    return concat(arguments, "", 1, count), concat(lengths, ",")
end

local function ask(...)
    local count, first, second, third, fourth = select("#", ...), ...
    -- The usual case: one to four strings. No function checks them, since its call would take as long as the checks.
    if type(first) == "string" and (count < 2 or type(second) == "string") and (count < 3 or type(third) == "string")
        and (count < 4 or count == 4 and type(fourth) == "string") then
        return perform(call, ...)
    end
    if count == 0 then
        return failure(NO_WORDS), true
    end
    local arguments = words(...)
    if not arguments then
        return failure(BAD_WORDS), true
    end
    if count > MANY then return perform(call_packed, packed(arguments, count)) end
    return perform(call, unpack(arguments, 1, count))
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REDIS_VERSION = host.version, REDIS_VERSION_NUM = host.version_number,
}
if host.valkey ~= "" then
    redis.VALKEY_VERSION, redis.VALKEY_VERSION_NUM, redis.SERVER_NAME = host.valkey, host.valkey_number, "valkey"
end

function redis.call(...)
    local value, is_error = ask(...)
    if is_error then error(value) end
    return value
end

function redis.pcall(...)
    return (ask(...))
end

function redis.sha1hex(...)
    if select("#", ...) ~= 1 then raise("wrong number of arguments") end
    local text = ...
    local kind = type(text)
    return enough(sha1hex((kind == "string" or kind == "number") and tostring(text) or ""))
end

local OF_LEVEL = (host.version_number >= 0x070400 or host.valkey ~= "") and "log" or "debug"

function redis.log(...)
    local count, level = select("#", ...), ...
    if count < 2 then raise("redis.log() requires two arguments or more.") end
    if type(level) ~= "number" then raise("First argument must be a number (log level).") end
    if not (level > -1 and level < 4) then raise("Invalid " .. OF_LEVEL .. " level.") end
    local parts = {}
    for index = 2, count do
        local part = select(index, ...)
        if type(part) == "string" or type(part) == "number" then parts[#parts + 1] = tostring(part) end
    end
    log(level < 0 and 0 or level - level % 1, concat(parts, " "))
end

function redis.status_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then return failure("wrong number or type of arguments") end
    return {ok = text}
end

function redis.error_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then return failure("wrong number or type of arguments") end
    text = trimmed((text:gsub("%z.*", ""):gsub("^%-", "", 1)))
    local code, rest = text:match("^([^ ]*) (.*)$")
    if not code then return failure(text) end
    return {err = code .. " " .. rest:gsub("^[\r\n]+", "")}
end

function redis.setresp(...)
    if select("#", ...) ~= 1 then raise("redis.setresp() requires one argument.") end
    local version = tonumber((...)) or 0
    version = version - version % 1
    if version ~= 2 and version ~= 3 then raise("RESP version must be 2 or 3.") end
    script_resp = version
    set_resp(version)
end

function redis.acl_check_cmd(...)
    if select("#", ...) == 0 then raise(NO_WORDS) end
    local arguments = words(...)
    if not arguments then raise(BAD_WORDS) end
    local verdict = acl_check(arguments[1], arguments[2])
    if verdict == nil then raise("Invalid command passed to redis.acl_check_cmd()") end
    return verdict
end

local SINCE = {REDIS_VERSION = 0x070000, REDIS_VERSION_NUM = 0x070000, acl_check_cmd = 0x070000}
for name, version in pairs(SINCE) do
    if host.version_number < version then redis[name] = nil end
end

redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL = 0, 1, 2, 2, 3

local WANTED_BY_SET_REPL = host.version_number < 0x070200 and "two arguments" or "one argument"

function redis.set_repl(...)
    if select("#", ...) ~= 1 then raise("redis.set_repl() requires " .. WANTED_BY_SET_REPL .. ".") end
    local flags = tonumber((...)) or 0
    if not (flags > -1 and flags < 4) then
        raise("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
    end
end

local function for_eval()
    globals.__redis__err__handler = handler

    function redis.replicate_commands() return true end
    function redis.breakpoint() return false end
    function redis.debug() end
end

-- Running

-- Returns what `encode` returns; or nil, the text of an error, and whether the error was counted already.
local function reply(ok, result, resp, name)
    local text
    if type(result) == "table" then
        if ok then text = rawget(result, "err") else text = result.err end
    end
    if ok and type(text) ~= "string" then
        return encode(result, resp, script_resp)
    end
    if type(result) ~= "table" then
        local shown = type(result) == "string" and result or "execution failure"
        return nil, "ERR Error running script " .. name .. ", " .. shown:sub(1, 100), false
    end
    if type(text) == "number" then text = tostring(text) end
    text = type(text) == "string" and text:gsub("%z.*", "") or "ERR unknown error"
    if not ok and result.line and result.source then
        text = text .. " script: " .. name .. ", on " .. tostring(result.source) .. ":" .. tostring(result.line) .. "."
    end
    return nil, text, result.ignore_error_stats_update and true or false
end

-- Copies an error without its metamethods. They are a script's, so this runs within the limits of scripts.
local function plain(result)
    return {
        err = result.err, line = result.line, source = result.source,
        ignore_error_stats_update = result.ignore_error_stats_update,
    }
end

local function raw(result)
    return {err = rawget(result, "err"), line = rawget(result, "line"), source = rawget(result, "source")}
end

local function conclude(ok, result, resp, name)
    -- The script may have used up its memory, and what is allocated from here on is not its fault.
    if ok then
        if gcinfo() > CROWDED then host.make_room() end
    elseif type(result) == "table" then
        local fine, found = rawpcall(plain, result)
        host.lift_limit()
        result = fine and found or raw(result)
    else
        host.lift_limit()
    end
    local fine, wire, text, counted = rawpcall(reply, ok, result, resp, name)
    if not fine or type(wire) == "table" then host.lift_limit() end
    if not fine then
        wire, text, counted = nil, type(wire) == "table" and wire.err or "ERR " .. tostring(wire), false
    end
    globals.KEYS, globals.ARGV = nil, nil
    clean()
    forget()
    return wire, text, counted
end

local function evaluate(chunk, keys, arguments, resp, name)
    globals.KEYS, globals.ARGV, script_resp = keys, arguments, 2
    watch()
    local ok, result = rawxpcall(chunk, handler)
    return conclude(ok, result, resp, name)
end

local function invoke(body, keys, arguments, resp, name)
    script_resp = 2
    watch()
    local ok, result = rawxpcall(function() return (body(keys, arguments)) end, handler)
    return conclude(ok, result, resp, name)
end

return {redis = redis, for_eval = for_eval, evaluate = evaluate, invoke = invoke, raise = raise, failure = failure}
