-- The library `cjson`: Lua values as JSON.

local host, sandbox = ...
local type, tonumber, tostring, select, error, next, rawget = type, tonumber, tostring, select, error, next, rawget
local concat, char, byte, sub, find, format, floor =
    table.concat, string.char, string.byte, string.sub, string.find, string.format, math.floor
local gsub, match = string.gsub, string.match
local INT_MAX = 2147483647
local null, take_turn = sandbox.null, sandbox.take_turn

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["/"] = "\\/", ["\b"] = "\\b", ["\t"] = "\\t", ["\n"] = "\\n",
                 ["\f"] = "\\f", ["\r"] = "\\r", ["\127"] = "\\u007f"}
for code = 0, 31 do
    ESCAPES[char(code)] = ESCAPES[char(code)] or format("\\u%04x", code)
end
local UNESCAPED = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", t = "\t", n = "\n", f = "\f", r = "\r"}

-- Writing

local function fail(kind, reason)
    error("Cannot serialise " .. kind .. ": " .. reason, 0)
end

local function quoted(text)
    return '"' .. gsub(text, '[%z\1-\31"\\/\127]', ESCAPES) .. '"'
end

local function number(value, config)
    if value ~= value or value - value ~= 0 then
        if config.encode_invalid == 0 then fail("number", "must not be NaN or Inf") end
        if config.encode_invalid == 2 then return "null" end
        if value ~= value then return "nan" end
    end
    return format(config.format, value)
end

-- The length of a table as an array; nil if it is no array.
local function array_length(value, config)
    local most, items = 0, 0
    for key in next, value do
        if type(key) ~= "number" or key < 1 or floor(key) ~= key then return nil end
        if key > most then most = key <= INT_MAX and key or -INT_MAX - 1 end -- the original counts in 32 bits
        items = items + 1
    end
    local ratio = config.sparse_ratio
    if ratio > 0 and most > items * ratio and most > config.sparse_safe then
        if not config.sparse_convert then fail("table", "excessively sparse array") end
        return nil
    end
    return most
end

local encode

local function encode_table(value, parts, depth, config)
    take_turn()
    depth = depth + 1
    if depth > config.encode_depth then error("Cannot serialise, excessive nesting (" .. depth .. ")", 0) end
    local length = array_length(value, config)
    if length and length > 0 then
        for index = 1, length do
            parts[#parts + 1] = index == 1 and "[" or ","
            encode(rawget(value, index), parts, depth, config)
        end
        parts[#parts + 1] = "]"
        return
    end
    local separator = "{"
    for key, item in next, value do
        if type(key) == "number" then
            parts[#parts + 1] = separator .. '"' .. number(key, config) .. '":'
        elseif type(key) == "string" then
            parts[#parts + 1] = separator .. quoted(key) .. ":"
        else
            fail(type(key), "table key must be a number or string")
        end
        encode(item, parts, depth, config)
        separator = ","
    end
    parts[#parts + 1] = separator == "{" and "{}" or "}"
end

function encode(value, parts, depth, config)
    local kind = type(value)
    if kind == "string" then
        parts[#parts + 1] = quoted(value)
    elseif kind == "number" then
        parts[#parts + 1] = number(value, config)
    elseif kind == "boolean" then
        parts[#parts + 1] = value and "true" or "false"
    elseif kind == "table" then
        encode_table(value, parts, depth, config)
    elseif value == nil or value == null then
        parts[#parts + 1] = "null"
    else
        fail(kind, "type not supported")
    end
end

-- Reading. A token is four values: its kind, its value, its place, and the place behind it.

local SINGLE = {["{"] = "T_OBJ_BEGIN", ["}"] = "T_OBJ_END", ["["] = "T_ARR_BEGIN", ["]"] = "T_ARR_END",
                [":"] = "T_COLON", [","] = "T_COMMA"}
local WORDS = {t = {"true", "T_BOOLEAN", true}, f = {"false", "T_BOOLEAN", false}, n = {"null", "T_NULL", null}}

local function expected(what, kind, value, index)
    local found = kind == "T_ERROR" and value or kind
    error("Expected " .. what .. " but found " .. found .. " at character " .. index, 0)
end

local function utf8(code)
    if code < 0x80 then return char(code) end
    if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
        return char(0xe0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    return char(0xf0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64,
                0x80 + code % 64)
end

-- The character of an escape \uXXXX and the length of the escape; nil if it is not valid.
local function unicode(text, at)
    local digits = match(text, "^%x%x%x%x", at + 2)
    if not digits then return nil end
    local code = tonumber(digits, 16)
    if code < 0xd800 or code > 0xdfff then return utf8(code), 6 end
    if code >= 0xdc00 then return nil end
    local low = match(text, "^\\u(%x%x%x%x)", at + 6)
    low = low and tonumber(low, 16)
    if not low or low < 0xdc00 or low > 0xdfff then return nil end
    return utf8((code - 0xd800) * 1024 + low - 0xdc00 + 0x10000), 12
end

local function string_token(text, start)
    local at, stop = start + 1, find(text, '["\\%z]', start + 1)
    if stop and sub(text, stop, stop) == '"' then return "T_STRING", sub(text, at, stop - 1), start, stop + 1 end
    local parts = {}
    while true do
        stop = find(text, '["\\%z]', at)
        local mark = stop and sub(text, stop, stop)
        if not stop then return "T_ERROR", "unexpected end of string", #text + 1 end
        parts[#parts + 1] = sub(text, at, stop - 1)
        if mark == '"' then return "T_STRING", concat(parts), start, stop + 1 end
        if mark == "\0" then return "T_ERROR", "unexpected end of string", stop end
        local code = sub(text, stop + 1, stop + 1)
        if code == "u" then
            local letter, length = unicode(text, stop)
            if not letter then return "T_ERROR", "invalid unicode escape code", stop end
            parts[#parts + 1], at = letter, stop + length
        else
            if not UNESCAPED[code] then return "T_ERROR", "invalid escape code", stop end
            parts[#parts + 1], at = UNESCAPED[code], stop + 2
        end
    end
end

local NOTATIONS = {"^[+-]?0[xX]%x+%.?%x*", "^[+-]?0[xX]%.%x+", "^[+-]?%d+%.?%d*", "^[+-]?%.%d+"}

local function number_token(text, at)
    local _, last = find(text, "^%-?%d+", at)
    if last and not find(text, "^[%.eExX]", last + 1) then
        return "T_NUMBER", tonumber(sub(text, at, last)), at, last + 1
    end
    for index, pattern in ipairs(NOTATIONS) do
        local _, stop = find(text, pattern, at)
        if stop then
            local _, further = find(text, index < 3 and "^[pP][+-]?%d+" or "^[eE][+-]?%d+", stop + 1)
            stop = further or stop
            local digits = sub(text, at, stop)
            return "T_NUMBER", index < 3 and host.to_number(digits) or tonumber(digits), at, stop + 1
        end
    end
    local sign, word = match(text, "^([+-]?)(%a+)", at)
    word = word and word:lower() or ""
    for _, name in ipairs({"infinity", "inf", "nan"}) do
        if sub(word, 1, #name) == name then
            local value = name == "nan" and -(0 / 0) or 1 / 0
            local stop = at + #sign + #name
            local payload = name == "nan" and match(text, "^%([%w_]*%)", stop)
            return "T_NUMBER", sign == "-" and -value or value, at, stop + (payload and #payload or 0)
        end
    end
    return "T_ERROR", "invalid number", at
end

local function is_invalid_number(text, at)
    if sub(text, at, at) == "+" then return true end
    local rest = match(text, "^%-?(...?)", at) or match(text, "^%-?(.*)", at)
    if find(rest, "^0[xX%d]") then return true end
    return rest:lower() == "inf" or rest:lower() == "nan"
end

local function token(text, at, config)
    at = find(text, "[^ \t\n\r]", at)
    if not at then return "T_END", nil, #text + 1, #text + 1 end
    local letter = sub(text, at, at)
    if SINGLE[letter] then return SINGLE[letter], nil, at, at + 1 end
    if letter == "\0" then return "T_END", nil, at, at end
    if letter == '"' then return string_token(text, at) end
    if find(letter, "[%d%-]") then
        if not config.decode_invalid and is_invalid_number(text, at) then
            return "T_ERROR", "invalid number", at
        end
        return number_token(text, at)
    end
    local word = WORDS[letter]
    if word and sub(text, at, at + #word[1] - 1) == word[1] then
        return word[2], word[3], at, at + #word[1]
    end
    if config.decode_invalid and find(letter, "[+iInN]") and is_invalid_number(text, at) then
        return number_token(text, at)
    end
    return "T_ERROR", "invalid token", at
end

local process

local function descend(depth, at, config)
    if depth > config.decode_depth then
        error("Found too many nested data structures (" .. depth .. ") at character " .. at - 1, 0)
    end
end

local function object(text, at, depth, config)
    descend(depth, at, config)
    local result = {}
    local kind, value, index, after = token(text, at, config)
    if kind == "T_OBJ_END" then return result, after end
    while true do
        if kind ~= "T_STRING" then expected("object key string", kind, value, index) end
        local key = value
        kind, value, index, after = token(text, after, config)
        if kind ~= "T_COLON" then expected("colon", kind, value, index) end
        kind, value, index, after = token(text, after, config)
        result[key], after = process(text, kind, value, index, after, depth, config)
        kind, value, index, after = token(text, after, config)
        if kind == "T_OBJ_END" then return result, after end
        if kind ~= "T_COMMA" then expected("comma or object end", kind, value, index) end
        kind, value, index, after = token(text, after, config)
    end
end

local function array(text, at, depth, config)
    descend(depth, at, config)
    local result, length = {}, 0
    local kind, value, index, after = token(text, at, config)
    if kind == "T_ARR_END" then return result, after end
    while true do
        length = length + 1
        result[length], after = process(text, kind, value, index, after, depth, config)
        kind, value, index, after = token(text, after, config)
        if kind == "T_ARR_END" then return result, after end
        if kind ~= "T_COMMA" then expected("comma or array end", kind, value, index) end
        kind, value, index, after = token(text, after, config)
    end
end

function process(text, kind, value, index, after, depth, config)
    if kind == "T_STRING" or kind == "T_NUMBER" or kind == "T_BOOLEAN" or kind == "T_NULL" then
        return value, after
    elseif kind == "T_OBJ_BEGIN" then
        return object(text, after, depth + 1, config)
    elseif kind == "T_ARR_BEGIN" then
        return array(text, after, depth + 1, config)
    end
    expected("value", kind, value, index)
end

local function decode(text, config)
    if #text >= 2 and (byte(text, 1) == 0 or byte(text, 2) == 0) then
        error("JSON parser does not support UTF-16 or UTF-32", 0)
    end
    local kind, value, index, after = token(text, 1, config)
    local result
    result, after = process(text, kind, value, index, after, 0, config)
    kind, value, index = token(text, after, config)
    if kind ~= "T_END" then expected("the end", kind, value, index) end
    return result
end

-- The module, with its settings

local function checked(name, number, text)
    sandbox.bad_argument(number, name, text)
end

local function integer_option(config, name, field, position, value, least, most)
    if value ~= nil then
        local converted = tonumber(value)
        if not converted then checked(name, position, "number expected, got " .. type(value)) end
        converted = converted < 0 and math.ceil(converted) or floor(converted)
        if converted < least or converted > most then
            checked(name, 1, format("expected integer between %d and %d", least, most))
        end
        config[field] = converted
    end
    return config[field]
end

local function switch_option(config, name, field, value)
    if value ~= nil then
        if type(value) == "boolean" then
            config[field] = value
        elseif value == "on" or value == "off" then
            config[field] = value == "on"
        elseif type(value) == "string" or type(value) == "number" then
            checked(name, 1, "invalid option '" .. value .. "'")
        else
            checked(name, 1, "string expected, got " .. type(value))
        end
    end
    return config[field]
end

local INVALID = {off = 0, on = 1, null = 2}

local function invalid_option(config, name, value)
    if type(value) == "boolean" then
        config.encode_invalid = value and 1 or 0
    elseif INVALID[value] then
        config.encode_invalid = INVALID[value]
    elseif value ~= nil then
        switch_option({}, name, "none", value)
    end
    if config.encode_invalid == 2 then return "null" end
    return config.encode_invalid == 1
end

local function most_arguments(name, most, count)
    if count > most then
        checked(name, most + 1, "found too many arguments")
    end
end

local function one_argument(name, count)
    if count ~= 1 then checked(name, 1, "expected 1 argument") end
end

local function new()
    local config = {
        sparse_convert = false, sparse_ratio = 2, sparse_safe = 10, encode_depth = 1000, decode_depth = 1000,
        precision = 14, format = "%.14g", keep_buffer = true, encode_invalid = 0, decode_invalid = true,
    }
    local cjson = {_NAME = "cjson", _VERSION = "2.1.0", null = null}

    function cjson.encode(...)
        one_argument("encode", select("#", ...))
        local parts = {}
        encode((...), parts, 0, config)
        return concat(parts)
    end

    function cjson.decode(...)
        one_argument("decode", select("#", ...))
        local text = ...
        if type(text) == "number" then text = tostring(text) end
        if type(text) ~= "string" then checked("decode", 1, "string expected, got " .. type(text)) end
        return decode(text, config)
    end

    function cjson.encode_sparse_array(...)
        local name = "encode_sparse_array"
        most_arguments(name, 3, select("#", ...))
        local convert, ratio, safe = ...
        convert = switch_option(config, name, "sparse_convert", convert)
        ratio = integer_option(config, name, "sparse_ratio", 2, ratio, 0, INT_MAX)
        safe = integer_option(config, name, "sparse_safe", 3, safe, 0, INT_MAX)
        return convert, ratio, safe
    end

    local function setting(name, set)
        cjson[name] = function(...)
            most_arguments(name, 1, select("#", ...))
            return set(config, name, (...))
        end
    end

    local function depth(field)
        return function(settings, name, value)
            return integer_option(settings, name, field, 1, value, 1, INT_MAX)
        end
    end

    setting("encode_max_depth", depth("encode_depth"))
    setting("decode_max_depth", depth("decode_depth"))
    setting("encode_number_precision", function(settings, name, value)
        local result = integer_option(settings, name, "precision", 1, value, 1, 14)
        settings.format = "%." .. result .. "g"
        return result
    end)
    setting("encode_keep_buffer", function(settings, name, value)
        return switch_option(settings, name, "keep_buffer", value)
    end)
    setting("encode_invalid_numbers", invalid_option)
    setting("decode_invalid_numbers", function(settings, name, value)
        return switch_option(settings, name, "decode_invalid", value)
    end)
    cjson.new = new
    return sandbox.natives(cjson)
end

return new()
