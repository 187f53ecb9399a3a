--- pawl import FILE
local act = require "pawl.cli.act"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function opened(path)
  if path == "-" then return io.stdin end
  local file, why = io.open(path, "rb")
  if file and not file:read(0) then -- a folder is opened, and cannot be read
    why = select(2, file:read(0)) and path .. ": " .. select(2, file:read(0))
  end
  if why then options.usage("%s", nil, why) end
  return file
end

--- The lines of one instance after the other, with the first one's number.
local function each_instance(file)
  return coroutine.wrap(function()
    local lines, first, no = {}, 1, 0
    for line in file:lines "L" do
      no = no + 1
      lines[#lines + 1] = line
      if line:find '^{"is":"end"' then
        coroutine.yield(table.concat(lines), first)
        lines, first = {}, no + 1
      end
    end
    if #lines > 0 then coroutine.yield(table.concat(lines), first) end
  end)
end

local function run(opts, args)
  if opts.copy and opts.release then
    options.usage("give --copy or --release, not both")
  end
  local file <close> = opened(args[1])
  local engine <close> = store.leave(opts)
  local imported, there = {}, {}
  local function tell()
    if opts.json then
      term.print(format.json { imported = core.array(imported),
        there = core.array(there) })
    else
      term.print(("imported %d, there before %d"):format(#imported, #there))
    end
  end
  for text, line in each_instance(file) do
    if text:find("\0", 1, true) then
      options.usage("%s is no export: it has zero bytes", nil, args[1])
    end
    local report, err = engine:import(text, { line = line,
      release = opts.release, copy = opts.copy, by = act.user(opts),
      reason = opts.reason })
    if not report then
      if not opts.json then tell() end
      error(err, 0)
    end
    table.move(report.imported, 1, #report.imported, #imported + 1, imported)
    table.move(report.there, 1, #report.there, #there + 1, there)
  end
  tell()
  return 0
end

return {
  name = "import", args = "FILE", min = 1, max = 1,
  summary = "store instances that were exported",
  about = "Reads what `pawl export` wrote; - is standard input. Each instance "
    .. "is stored whole or not at all; one that is there already is left as "
    .. "it is, so that the same file again does no harm. What is wrong with a "
    .. "file is told with its line; instances in front of it are stored "
    .. "then.\n\n"
    .. "What was exported with --move goes on here, where it stood. All "
    .. "others are copies, as all are with --copy: suspended before anything "
    .. "of them can run, and "
    .. "without what the originals have still to deliver or to publish. "
    .. "`pawl resume` has one go on. With --release they go on at once, in "
    .. "the place of the originals: only when those do not any more.\n\n"
    .. "A file brings the code of its workflows, which workers run: import "
    .. "only what you trust.",
  options = act.with({
    { long = "copy",
      help = "a copy that does nothing, also of what was moved" },
    { long = "release", help = "they go on here; the originals are gone" },
  }, act.audited),
  examples = {
    { "pawl import order.jsonl", "as copies" },
    { "pawl import --release --store new.db all.jsonl",
      "a store that was lost, or is left for good" },
  },
  run = run,
}
