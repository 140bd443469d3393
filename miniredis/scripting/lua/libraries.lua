-- Loads libraries of functions. While one is loaded, its code sees only `redis`, with few of its functions.
--
-- Arguments: Python's functions (callbacks.py), the sandbox, and the API (api.lua).

local host, sandbox, api = ...
local type, tostring, next, pairs, select, rawxpcall = type, tostring, next, pairs, select, xpcall
local raise, globals, handler = api.raise, sandbox.globals, sandbox.handler

local FLAGS = {["no-writes"] = true, ["allow-oom"] = true, ["allow-stale"] = true, ["no-cluster"] = true,
               ["allow-cross-slot-keys"] = true}
local NAME = "^[%w_]+$"
local NAMES = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

local registered -- what the library that is being loaded has registered so far

local function text(value)
    if type(value) == "string" or type(value) == "number" then return tostring(value) end
end

local function read_flags(value)
    if type(value) ~= "table" then
        raise("flags argument to redis.register_function must be a table representing function flags")
    end
    local flags, index = {}, 1
    while value[index] ~= nil do
        local flag = value[index]
        if type(flag) ~= "string" or not FLAGS[flag] then raise("unknown flag given") end
        flags[index] = flag
        index = index + 1
    end
    return flags
end

local READERS = {}

function READERS.function_name(value)
    return text(value) or raise("function_name argument given to redis.register_function must be a string")
end

function READERS.description(value)
    return text(value) or raise("description argument given to redis.register_function must be a string")
end

function READERS.callback(value)
    if type(value) == "function" then return value end
    raise("callback argument given to redis.register_function must be a function")
end

READERS.flags = read_flags

local function read_named(arguments)
    if type(arguments) ~= "table" then
        raise("calling redis.register_function with a single argument is only applicable to Lua table " ..
              "(representing named arguments).")
    end
    local found = {}
    for name, value in next, arguments do
        if not text(name) then raise("named argument key given to redis.register_function is not a string") end
        if not READERS[name] then raise("unknown argument given to redis.register_function") end
        found[name] = READERS[name](value)
    end
    if not found.function_name then raise("redis.register_function must get a function name argument") end
    if not found.callback then raise("redis.register_function must get a callback argument") end
    return found
end

local function read_positional(name, callback)
    name = text(name)
    if not name then raise("first argument to redis.register_function must be a string") end
    if type(callback) ~= "function" then raise("second argument to redis.register_function must be a function") end
    return {function_name = name, callback = callback}
end

local function register(...)
    if not registered then raise("redis.register_function can only be called on FUNCTION LOAD command") end
    local count = select("#", ...)
    if count < 1 or count > 2 then raise("wrong number of arguments to redis.register_function") end
    local found = count == 1 and read_named(...) or read_positional(...)
    if not found.function_name:find(NAME) then raise(NAMES) end
    for _, other in next, registered do
        if other.function_name == found.function_name then raise("Function already exists in the library") end
    end
    registered[#registered + 1] = found
end

local redis = {register_function = register, log = api.redis.log}
for name, value in pairs(api.redis) do
    if name:find("^LOG_") or name:find("^REDIS_") then redis[name] = value end
end
setmetatable(redis, {__index = sandbox.absent})
local seen = setmetatable({redis = sandbox.readonly(redis)}, {__index = sandbox.absent})

-- Returns the functions that a library registers; or nil and an error.
local function load(chunk)
    registered = {}
    sandbox.watch()
    sandbox.see(seen)
    local ok, problem = rawxpcall(chunk, handler)
    local found = registered
    registered = nil
    sandbox.see(globals)
    sandbox.clean()
    host.lift_limit() -- the library may have used up the memory that the result needs
    if ok then return found end
    return nil, type(problem) == "table" and tostring(problem.err) or tostring(problem)
end

return load
