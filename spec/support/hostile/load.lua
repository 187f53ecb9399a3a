--- What is done while a file is loaded: whole files, and what is said.
--- `by_time`: it is the limit of time that ends it, in the midst of the
--- compiler.
local HEAD = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "hostile.x", start = "a" }
]]

--- Functions within one another, each with as many locals as may be, and names
--- in the innermost that are none of them.
local function names()
  local text, locals = {}, {}
  for i = 1, 190 do locals[i] = "l" .. i end
  locals = "local " .. table.concat(locals, ",")
  for i = 1, 90 do text[i] = ("local function f() %s\n"):format(locals) end
  text[#text + 1] = ("a=a "):rep(200000)
  return table.concat(text) .. ("end "):rep(90)
end

return {
  { "a chain of elseif", "local a if a then "
    .. ("elseif a then "):rep(69000) .. "end", "time", by_time = true },
  { "a chain of or", "local a = 1 return "
    .. ("a or "):rep(190000) .. "a", "time", by_time = true },
  { "a chain of and", "local a = 1 return "
    .. ("a and "):rep(160000) .. "a", "time", by_time = true },
  { "a name that is looked for in vain", names(), "time", by_time = true },
  { "jumps that wait for one label",
    "do " .. ("goto e "):rep(32000) .. "::e:: end", "5000 `break` and `goto`" },
  { "breaks that wait for one end",
    "while a do " .. ("break "):rep(32000) .. "end",
    "5000 `break` and `goto`" },
  { "a module of that kind",
    "require 'there'", "time", by_time = true, there = "local a if a then "
    .. ("elseif a then "):rep(69000) .. "end" },
  { "a loop", "while true do end", "instructions" },
  { "memory", "local t = {} while true do t[#t + 1] = ('x'):rep(1 << 20) .. #t "
    .. "end", "memory" },
  { "a command", "os.execute 'touch pwned'", "nil value" },
  { "a graph without end", HEAD .. [[
for i = 1, 1e9 do flow:step("n" .. i, { run = print, next = "a" }) end]],
    "instructions" },
  { "a source that is deep", "return " .. ("("):rep(1000) .. "1"
    .. (")"):rep(1000), "overflow" },
  { "bytecode", string.dump(function() return {} end), "compiled Lua" },
  { "a workflow that is none", [[
return setmetatable({}, { __name = "pawl.workflow",
  definition = function() while true do end end })]], "instructions" },
  { "its own child", HEAD .. [[
flow:call("a", { workflow = "hostile.x", next = "z" }):finish "z"
return flow]], "may not start" },
  { "another's event, raised by a task", HEAD .. [[
    flow:task("a", { title = "A", signal = "victim.end", next = "z" })
    flow:finish "z"
    return flow]], "may not send the event victim.end" },
  { "a module outside of its bundle", "require 'lfs'", "not there" },
}
