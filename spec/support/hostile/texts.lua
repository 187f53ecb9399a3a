--- Work over texts and values of megabytes, very often: each call is one
--- instruction to Lua. `MB`: a text of a million bytes.
local HEAD <const> = [[
local pawl = require "pawl"
local MB = ("x"):rep(1000000)
]]

--- One instruction that compares megabytes: it is the limit of time that ends
--- it.
local function by_time(one)
  one[3], one.by_time = "time", true
  return one
end

--- What is done without end, with `before` once in front of it.
local function often(what, body, before)
  return { what, ("%s%s\nfor i = 1, math.maxinteger do\n%s\nend"):format(
    HEAD, before or "", body), "instructions" }
end

local WIDE <const> = [[
local wide = {}
for i = 1, 100000 do wide[i] = i end]]

local NAMED <const> = [[
local named = {}
for i = 1, 40000 do named["name " .. i] = true end]]

local DEEP <const> = [[
local deep = {}
for i = 1, 60 do deep = { deep, ("y"):rep(10000) } end]]

return {
  -- patterns
  often("a plain find", "MB:find('y', 1, true)"),
  often("a find of a letter", "MB:find 'y'"),
  often("a find of a class", "MB:find '[^x]'"),
  often("a find of any number", "MB:find 'x*y'"),
  often("a find at the end", "MB:find('y$')"),
  often("a find that is anchored", "MB:find '^x*$'"),
  often("a find of a frontier", "MB:find '%f[y]'"),
  often("a find of a balance", "MB:find '%bxy'"),
  often("a find of what was captured", "MB:find '(x*)y%1'"),
  often("a match of all", "MB:match '.*'"),
  often("a match of what is least", "MB:match '^.-$'"),
  often("a gmatch", "for _ in MB:gmatch 'x' do end"),
  often("a gmatch of positions", "for _ in MB:gmatch '()' do end"),
  often("a gsub", "MB:gsub('x', 'y')"),
  often("a gsub by a table", "MB:gsub('.', { x = 'y' })"),
  often("a gsub of nothing", "MB:gsub('', '')"),
  -- texts
  often("a text repeated", "MB = ('x'):rep(1000000 + i)"),
  often("a chain of texts repeated", [[
    MB = ('x'):rep(100):rep(100):rep(100)]]),
  often("a text repeated with what is between",
    "MB = ('x'):rep(500000, '-')"),
  often("a text's letters in upper case", "MB:upper()"),
  often("a text's letters in lower case", "MB:lower()"),
  often("a part of a text", "MB:sub(2)"),
  often("bytes of a text", "MB:byte(1, 100000)"),
  by_time(often("texts compared", "local _ = MB < other",
    "local other = MB:sub(2) .. 'xx'")),
  by_time(often("texts that are equal", "local _ = MB == other",
    "local other = MB:sub(2) .. 'x'")),
  often("names that are long", "t[MB .. i] = nil", "local t = {}"),
  often("a text that is no number", "tonumber(MB, 36)"),
  often("a format that is wide", [[
    for j = 1, 1000 do
      local _ = ('%99s%-99s%99d%099.99f'):format('x', 'x', j, j)
    end]]),
  often("a format of large numbers",
    "for j = 1, 1000 do local _ = ('%99.99f'):format(1e308) end"),
  often("a format of a large text", "local _ = ('%s'):format(MB)"),
  often("a format of a part of it", "local _ = ('%.9s'):format(MB)"),
  often("a format that quotes", "local _ = ('%q'):format(MB)"),
  often("a format that is long itself", "local _ = (MB):format()"),
  often("a format of many", "local _ = f:format(table.unpack(wide, 1, 90))",
    WIDE .. " local f = ('%d'):rep(90) .. MB"),
  often("what a table has joined", "table.concat(wide)", WIDE),
  often("what a table has joined with a text",
    "table.concat({ 1, 2, 3 }, MB)"),
  often("a table sorted without an order",
    "pcall(table.sort, wide, function() return i % 2 == 0 end)", WIDE),
  often("a table sorted by chance",
    "pcall(table.sort, wide, function() return math.random() < 0.5 end)",
    WIDE),
  often("a table unpacked", "select('#', table.unpack(wide, 1, 90000))", WIDE),
  often("a table packed", "table.pack(table.unpack(wide, 1, 90000))", WIDE),
  often("a table moved", "table.move(wide, 1, #wide, 2)", WIDE),
  often("a table shifted", "table.insert(wide, 1, 0)", WIDE),
  -- utf8
  often("utf8.len", "utf8.len(MB)"),
  often("utf8.len of what is none", "utf8.len(MB .. '\\xff')"),
  often("utf8.codepoint", "utf8.codepoint(MB, 1, 90000)"),
  often("utf8.offset", "utf8.offset(MB, 999999)"),
  often("utf8.offset from the end", "utf8.offset(MB, -999999)"),
  often("utf8.codes", "for _ in utf8.codes(MB) do end"),
  often("utf8.char", "utf8.char(table.unpack(wide, 1, 50000))", WIDE),
  -- JSON
  often("a text written as JSON", "pawl.json.encode(MB:sub(9))"),
  often("a text of what is escaped written as JSON",
    "pawl.json.encode(odd)", "local odd = ('\\1'):rep(160000)"),
  often("a list written as JSON", "pawl.json.encode(wide)", WIDE),
  often("an object written as JSON", "pawl.json.encode(named)", NAMED),
  often("a deep value written as JSON", "pawl.json.encode(deep)", DEEP),
  often("a text read of JSON", "pawl.json.decode(text)",
    "local text = assert(pawl.json.encode(MB:sub(9)))"),
  often("a list read of JSON", "pawl.json.decode(text)",
    WIDE .. " local text = assert(pawl.json.encode(wide))"),
  often("an object read of JSON", "pawl.json.decode(text)",
    NAMED .. " local text = assert(pawl.json.encode(named))"),
  often("a deep value read of JSON", "pawl.json.decode(text)",
    DEEP .. " local text = assert(pawl.json.encode(deep))"),
  often("JSON that is too deep", "pawl.json.decode(text)",
    "local text = ('['):rep(900000)"),
  often("JSON that ends in the midst", "pawl.json.decode(text)",
    "local text = '[' .. ('0,'):rep(400000)"),
  often("JSON of white space alone", "pawl.json.decode(text)",
    "local text = (' '):rep(900000)"),
  often("JSON of a number without end", "pawl.json.decode(text)",
    "local text = ('1'):rep(900000)"),
  often("values that are too large for JSON", "pawl.json.encode(large)",
    NAMED .. " local large = { named, named, named }"),
  often("values that end in what is none", "pawl.json.encode(wide)",
    WIDE .. " wide[#wide] = print"),
  often("payloads that end in what is none", "pcall(ctx.emit, 'x.y', wide)",
    WIDE .. " wide[#wide] = print"),
  -- what ctx writes and reads
  often("a variable set", "ctx.vars.s = s", "local s = MB:sub(9)"),
  often("variables set", "ctx.vars = { s = s }", "local s = MB:sub(9)"),
  often("a variable read", "local _ = ctx.vars.s",
    "ctx.vars.s = MB:sub(9)"),
  often("a variable compared", "ctx.vars.t[1] = i",
    "ctx.vars.t = { MB:sub(99) }"),
  often("what is refused", "pcall(ctx.emit, MB, MB)"),
  often("what is refused of what a start takes",
    "pcall(ctx.start, MB, MB, { key = MB })"),
  often("what is refused of a signal",
    "pcall(ctx.signal, { name = MB, data = MB })"),
  often("what is refused of a note", "pcall(ctx.note, MB, MB)"),
  often("progress", "pcall(ctx.heartbeat, MB)"),
  often("decimals", "pcall(pawl.decimal, MB)"),
}
