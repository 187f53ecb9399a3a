--- What wants more than there is.
return {
  { "a text repeated", "return #('x'):rep(1 << 40)", "memory" },
  { "a text of many repeated", "return #('xyz'):rep(1 << 28, 'sep')",
    "memory" },
  { "a text doubled", "local s = 'x' while true do s = s .. s end", "memory" },
  { "a text joined many times over", [[
    local s = ('x'):rep(7000000)
    return #(]] .. ("s .. "):rep(60) .. "s)", "memory" },
  { "a table that grows",
    "local t = {} for i = 1, 1 << 40 do t[i] = i end", "memory" },
  { "a table of tables",
    "local t = {} for i = 1, 1 << 40 do t[i] = {} end", "memory" },
  { "a table by names",
    "local t = {} for i = 1, 1 << 40 do t['k' .. i] = true end", "memory" },
  { "one that catches it", [[
    local t = {}
    while true do
      pcall(function() for i = 1, 1 << 40 do t[#t + 1] = i end end)
    end]], "memory" },
  { "what is kept for the next", [[
    hoard = hoard or {}
    while true do hoard[#hoard + 1] = ('x'):rep(100000) .. #hoard end]],
    "memory" },
  { "a format of large texts", [[
    local s = ('x'):rep(3000000)
    return #('%s%s%s%s%s%s%s%s'):format(s, s, s, s, s, s, s, s)]], "memory" },
  { "a format of objects that are large", [[
    local big = setmetatable({}, { __tostring = function()
      return ('x'):rep(3000000)
    end })
    return #('%s%s%s%s%s%s%s%s'):format(big, big, big, big, big, big, big,
      big)]], "memory" },
  { "a replacement that multiplies", [[
    local s = ('x'):rep(1000)
    return #(s:rep(1000):gsub('x', s))]], "memory" },
  { "a join that multiplies", [[
    local t = {}
    for i = 1, 100 do t[i] = 'x' end
    return #table.concat(t, ('y'):rep(1000000))]], "memory" },
  { "coroutines", [[
    local t = {}
    while true do
      t[#t + 1] = coroutine.create(function() end)
    end]], "" },
  { "functions", [[
    local t = {}
    while true do
      local a, b, c = {}, {}, {}
      t[#t + 1] = function() return a, b, c end
    end]], "memory" },
  { "a stack", "local function f() return 1 + f() end return f()", "" },
  { "a message", "error(('x'):rep(1 << 30))", "memory" },
  { "variables without end", [[
    local t = {}
    for i = 1, 100000 do t[i] = 'text ' .. i end
    ctx.vars.t = t]], "larger than" },
  { "a value within itself",
    "local t = {} t.t = t ctx.vars.t = t", "a cycle" },
  { "a value that is deep", [[
    local t = {}
    for _ = 1, 5000 do t = { t } end
    ctx.vars.t = t]], "nested deeper" },
  { "JSON of what refers to itself in many ways", [[
    local t = { 1 }
    for _ = 1, 60 do t = { t, t } end
    local text, err = require("pawl").json.encode(t)
    error(err.message)]], "larger than" },
  { "JSON read that is large", [[
    local text = '[' .. ('0,'):rep(1000000) .. '0]'
    local _, err = require("pawl").json.decode(text)
    error(err.message)]], "more than 1000000 bytes" },
  { "results without end", [[
    return select('#', table.unpack({}, 1, 10000000))]], "too many results" },
}
