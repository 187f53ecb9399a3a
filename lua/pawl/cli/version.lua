--- pawl version
local format = require "pawl.cli.format"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local function run(opts)
  local build = sys.libraries()
  build.pawl = pawl.version()
  build.lua = _VERSION:match("[%d.]+")
  build.schema = store.try(pawl.migrate(":memory:")).to
  if opts.json then
    term.print(format.json(build))
    return 0
  end
  term.print("pawl ", build.pawl)
  for _, name in ipairs { "schema", "lua", "sqlite", "libpq" } do
    if build[name] then term.print(("%-7s %s"):format(name, build[name])) end
  end
  return 0
end

return {
  name = "version",
  summary = "versions of the program and what is built in",
  about = "Versions of the program, of the schema it makes, and of the "
    .. "libraries it runs with.",
  options = {},
  examples = { { "pawl version --json", "the same for programs" } },
  run = run,
}
