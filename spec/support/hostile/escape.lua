--- What reaches for what is outside. The text names what was refused.
local function absent(name, what)
  return { name, what, "nil value" }
end

return {
  absent("a program ended", "os.exit(0)"),
  absent("a command", "os.execute 'true'"),
  absent("a file read", "io.open '/etc/passwd'"),
  absent("a file written", "io.open('pwned', 'w')"),
  absent("standard output", "io.stdout:write 'NOISE'"),
  absent("standard input", "io.read()"),
  absent("a file removed", "os.remove 'canary'"),
  absent("a file renamed", "os.rename('canary', 'gone')"),
  absent("the environment", "return os.getenv 'HOME'"),
  absent("a temporary name", "return os.tmpname()"),
  absent("the locale", "os.setlocale 'C'"),
  absent("a file that is run", "dofile '/etc/passwd'"),
  absent("a file that is compiled", "loadfile '/etc/passwd'"),
  absent("text that is compiled", "load 'return 1'"),
  absent("bytecode", "string.dump(function() end)"),
  absent("the debug library", "debug.getregistry()"),
  absent("a hook", "debug.sethook()"),
  absent("a library that is loaded", "package.loadlib('libc.so.6', 'system')"),
  absent("what modules are there", "package.loaded.x = 1"),
  absent("the table of globals", "_G.x = 1"),
  absent("the collector", "collectgarbage 'stop'"),
  { "a module of the system", "require 'io'", "not there" },
  { "a module of ours", "require 'pawl.embedded'", "not there" },
  { "a module written in C", "require 'lfs'", "not there" },
  { "a module by its path", "require '/etc/passwd'", "not there" },
  { "a store", "require('pawl').open 'other.db'", "pawl.open is not there" },
  { "another schema", "require('pawl').migrate 'other.db'", "is not there" },
  { "a finalizer",
    "setmetatable({}, { __gc = function() while true do end end })", "__gc" },
  { "globals by their metatable",
    "getmetatable(_ENV).__index.type = nil", "boolean value" },
  { "the metatable of texts",
    "getmetatable('').__index.upper = nil", "boolean value" },
  { "texts' own arithmetic",
    "getmetatable('').__add = nil", "boolean value" },
  { "the metatable of errors", [[
    local _, err = pcall(function() return ctx.nothing end)
    getmetatable(err).__tostring = nil]], "boolean value" },
  { "a library", "string.rep = nil", "cannot be changed" },
  { "a library, raw", "rawset(table, 'insert', nil)", "cannot be changed" },
  { "a library by another's hand", "table.insert(math, 1)",
    "cannot be changed" },
  { "a library's metatable", "setmetatable(string, nil)", "protected" },
  { "pawl", "require('pawl').array = nil", "cannot be changed" },
  { "pawl's parts", "require('pawl').json.encode = nil", "cannot be changed" },
  { "the store's tables", "ctx.db:query 'select 1'", "not granted" },
  { "another workflow", "ctx.start('victim.one')", "not granted" },
  { "another's event", "ctx.signal { name = 'victim.end' }",
    "ctx.signal is not granted" },
  { "another's event, its name being no text", [[
    ctx.signal { name = setmetatable({}, { __tostring = function()
      return 'hostile.y' end }) }]], "option 'name' is a table" },
  { "another's event behind a zero",
    "ctx.signal { name = 'hostile.y\\0victim.end' }", "must be text" },
  { "another's event that is told once more", [[
    local t, n = {}, 0
    setmetatable(t, { __index = function(_, key)
      if key ~= 'name' then return nil end
      n = n + 1
      return n == 1 and 'hostile.y' or 'victim.end'
    end })
    ctx.signal(t)
    error(n .. " time")]], "1 time" },
  { "a descriptor", "ctx.await { fd = 0 }", "not granted" },
  { "a wait without end", "ctx.await(function() return false end)",
    "not granted" },
}
