-- What a script returns, in the wire form of the client that called it.
--
-- Arguments: the functions of Python's.

local host = ...

local LEAST, MOST = -2 ^ 63, 2 ^ 63
-- Redis keeps what it has begun to encode on Lua's stack, whose slots are limited; `depth` counts them.
local SLOTS, NEEDED = 8000, 4
local rawget, type, next, tostring, gsub, format, concat = rawget, type, next, tostring, string.gsub, string.format, table.concat

local function one_line(text)
    return (gsub(text, "[\r\n]", " "))
end

-- A status or an error ends where a string of C's does.
local function until_nul(text)
    return (gsub(text, "%z.*", ""))
end

local function bulk(text)
    return "$" .. #text .. "\r\n" .. text .. "\r\n"
end

local function integer(number)
    if not (number >= LEAST and number < MOST) then return ":-9223372036854775808\r\n" end
    return format(":%d\r\n", number)
end

local function double(number, resp)
    local text = format("%.17g", number)
    return resp == 3 and "," .. text .. "\r\n" or bulk(text)
end

local encode

local function boolean(value, resp, script_resp)
    if script_resp == 3 then
        if resp == 3 then return value and "#t\r\n" or "#f\r\n" end
        return value and ":1\r\n" or ":0\r\n"
    end
    if value then return ":1\r\n" end
    return resp == 3 and "_\r\n" or "$-1\r\n"
end

local function array(value, resp, script_resp, depth)
    local parts, index = {}, 1
    local item = rawget(value, 1)
    while item ~= nil do
        parts[index + 1] = encode(item, resp, script_resp, depth + 1)
        index = index + 1
        item = rawget(value, index)
    end
    parts[1] = "*" .. index - 1 .. "\r\n"
    return concat(parts)
end

local function map(value, resp, script_resp, depth)
    local parts, count = {""}, 0
    for key, item in next, value do
        parts[2 * count + 2] = encode(key, resp, script_resp, depth + 4)
        parts[2 * count + 3] = encode(item, resp, script_resp, depth + 3)
        count = count + 1
    end
    parts[1] = (resp == 3 and "%" .. count or "*" .. 2 * count) .. "\r\n"
    return concat(parts)
end

local function set(value, resp, script_resp, depth)
    local parts, count = {""}, 0
    for key in next, value do
        parts[count + 2] = encode(key, resp, script_resp, depth + 3)
        count = count + 1
    end
    parts[1] = (resp == 3 and "~" or "*") .. count .. "\r\n"
    return concat(parts)
end

local function verbatim(value, resp)
    local kind, text = value.format, value.string
    if type(kind) ~= "string" and type(kind) ~= "number" then return nil end
    if type(text) ~= "string" and type(text) ~= "number" then return nil end
    kind, text = tostring(kind), tostring(text)
    if resp ~= 3 then return bulk(text) end
    kind = (kind .. "   "):sub(1, 3)
    return "=" .. #text + 4 .. "\r\n" .. kind .. ":" .. text .. "\r\n"
end

local function of_table(value, resp, script_resp, depth)
    local part = rawget(value, "err")
    if type(part) == "string" then
        part = until_nul(part)
        if not rawget(value, "ignore_error_stats_update") then host.count_error(part) end
        return "-" .. one_line(part:gsub("^[\r\n]+", ""):gsub("[\r\n]+$", "")) .. "\r\n"
    end
    part = rawget(value, "ok")
    if type(part) == "string" then return "+" .. one_line(until_nul(part)) .. "\r\n" end
    part = rawget(value, "double")
    if type(part) == "number" then return double(part, resp) end
    part = rawget(value, "map")
    if type(part) == "table" then return map(part, resp, script_resp, depth) end
    part = rawget(value, "set")
    if type(part) == "table" then return set(part, resp, script_resp, depth) end
    part = rawget(value, "big_number")
    if type(part) == "string" then
        part = one_line(part)
        return resp == 3 and "(" .. part .. "\r\n" or bulk(part)
    end
    part = rawget(value, "verbatim_string")
    if type(part) == "table" then
        part = verbatim(part, resp)
        if part then return part end
    end
    return array(value, resp, script_resp, depth)
end

function encode(value, resp, script_resp, depth)
    if depth + NEEDED > SLOTS then return "-ERR reached lua stack limit\r\n" end
    local kind = type(value)
    if kind == "string" then return "$" .. #value .. "\r\n" .. value .. "\r\n" end
    if kind == "number" then return integer(value) end
    if kind == "boolean" then return boolean(value, resp, script_resp) end
    if kind ~= "table" then return resp == 3 and "_\r\n" or "$-1\r\n" end
    return of_table(value, resp, script_resp, depth)
end

return encode
