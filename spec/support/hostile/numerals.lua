--- Texts that stand for a number, and are long: to read one takes long.
--- `by_time`: it is the limit of time that ends it.
local TEXT <const> = [[local s = ("0"):rep(7000000) ]]

local list = {
  { "a loop to a text", TEXT .. [[
    while true do pcall(function() for _ = 1, s do break end end) end]],
    "time", by_time = true },
  { "a loop of texts", TEXT .. [[
    while true do for _ = s, s, s .. 1 do break end end]], "",
    by_time = true },
  { "a loop to a text in a coroutine that was there before", [[
    local s = "1"
    local next_ = coroutine.wrap(function()
      while true do
        coroutine.yield()
        for _ = 1, 40 do
          for _ = 1, s do break end for _ = 1, s do break end
          for _ = 1, s do break end for _ = 1, s do break end
        end
      end
    end)
    next_()
    s = ("0"):rep(7000000)
    while true do next_() end]], "time", by_time = true },
  { "sums of texts", TEXT .. [[
    while true do pcall(function() return s + s - -s end) end]],
    "instructions" },
  { "a number of many texts", TEXT .. [[
    local t = {}
    for i = 1, 200 do t[i] = s end
    while true do pcall(math.max, table.unpack(t)) end]], "instructions" },
  { "a format of many texts", TEXT .. [[
    local t = {}
    for i = 1, 200 do t[i] = s end
    local f = ("%d"):rep(200)
    while true do pcall(string.format, f, table.unpack(t)) end]],
    "instructions" },
}

for _, call in ipairs {
  "math.floor(s)", "math.max(1, s)", "math.random(s)", "math.randomseed(s)",
  "math.tointeger(s)", "math.ult(1, s)", "math.fmod(s, 2)", "math.log(2, s)",
  "string.sub('x', s)", "string.rep('x', s)", "string.byte('x', 1, s)",
  "string.char(97, s)", "string.format('%s%%%5d', s, s)",
  "string.find('x', 'x', s)", "string.match('x', 'x', s)",
  "string.gmatch('x', 'x', s)", "string.gsub('x', 'x', 'x', s)",
  "utf8.char(s)", "utf8.codepoint('x', s)", "utf8.offset('x', s)",
  "utf8.len('x', s)", "utf8.codes('x')('x', s)", "select(s, 1)",
  "tonumber('1', s)", "table.insert({}, s, 1)", "table.remove({}, s)",
  "table.concat({}, '', s)", "table.unpack({}, s)", "table.move({}, 1, s, 2)",
  "os.date('%c', s)", "os.difftime(1, s)", "error('x', s)",
} do
  list[#list + 1] = { call, TEXT .. call, "no number" }
end
list[#list + 1] = { "a time of texts", TEXT .. "os.time { year = s }",
  "field 'year'" }

return list
