--- pawl outbox [list]
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

local columns = {
  { title = "CREATED", value = function(r) return format.time(r.created) end },
  { title = "TYPE", value = function(r) return r.type end },
  { title = "INSTANCE", value = function(r) return r.shown end },
  { title = "SEQ", right = true, value = function(r) return r.seq end },
  { title = "PAYLOAD", flex = true, value = function(r)
    return r.payload ~= nil and format.json(r.payload) or nil
  end },
}

local function list(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("outbox_list", opts)
  query.instance = opts.instance and store.try(engine:find(opts.instance))
  if opts.json then
    term.json((store.try(engine.outbox:list(query, "json"))))
    return 0
  end
  local rows = store.try(engine.outbox:list(query))
  if #rows == 0 then
    term.print("nothing waits to be published")
  else
    term.shorten(rows, "instance")
    table_of(columns, rows)
    if #rows == (opts.limit or 100) then
      term.warn(("the first %d; the next page: --after %s"):format(#rows,
        rows[#rows].place))
    end
  end
  return 0
end

local function run(opts, args)
  if args[1] and args[1] ~= "list" then
    options.usage("outbox cannot '%s'", "known: list", args[1])
  end
  return list(opts)
end

return {
  name = "outbox", args = "[list]", max = 1,
  summary = "what workflows have emitted and nobody has published yet",
  about = "Lists what handlers have given to ctx.emit and nobody has "
    .. "published yet, oldest first. A row is stored in the same transaction "
    .. "as the step that emitted it.",
  options = {
    { long = "type", arg = "NAME", help = "of this type" },
    { long = "instance", arg = "ID", help = "emitted by this instance" },
    { long = "emitted-before", arg = "TIME", type = "time",
      help = "emitted before that time, in UTC" },
    { long = "limit", short = "n", arg = "N", type = "count",
      help = "at most so many; default 100" },
    { long = "after", arg = "PLACE",
      help = "the page behind a row; its place is in --json" },
  },
  examples = {
    { "pawl outbox list", "what waits, oldest first" },
    { "pawl outbox list --type order.shipped --json", "one type, as JSON" },
  },
  run = run,
}
