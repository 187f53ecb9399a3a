--- pawl show ID...
local attribute = require "pawl.attribute"
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local progress = require "pawl.cli.progress"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local watch = require "pawl.cli.watch"
local words = require "pawl.words"

local most_interventions = 5 -- shown; `pawl history` has all
local page_size, most_pages = 20, 5 -- of the audit, looked through for them

local function present(value)
  return value ~= nil and type(value) ~= "userdata" and value ~= ""
end

local paper = {} -- of one instance: `full` as asked for, `cut`: something was

local function line(name, text)
  if not present(text) then return end
  local width = not paper.full and term.width()
  local whole = term.clean(text)
  local shown = width and term.cut(whole, width - 13) or whole
  paper.cut = paper.cut or shown ~= whole
  term.print(("%-12s "):format(name), shown)
end

local function value(name, content)
  if content ~= nil then line(name, format.json(content)) end
end

local function is_empty(content)
  return type(content) == "table" and not next(content)
end

local function show_error(opts, err)
  if not present(err) then return end
  line("error", format.message(err))
  line("  at", err.where)
  if present(err.hint) then line("  hint", store.point(opts, err.hint)) end
  if present(err.trace) then
    for text in err.trace:gmatch("[^\n]+") do
      term.print("             ", term.clean(text))
    end
  end
end

local token_columns = {
  { title = "TOKEN", right = true, value = function(t) return t.no end },
  { title = "NODE", flex = true, value = function(t) return t.node end },
  { title = "STATE", value = function(t) return t.state end },
  { title = "FAILED", right = true,
    value = function(t) return t.attempt end },
  { title = "ENTERED", value = function(t)
    return format.time(t.entered)
  end },
  { title = "DUE", value = function(t) return format.time(t.due) end },
}

--- Not what its workers did, how its tasks went, or what a line of its own
--- says.
local function is_intervention(entry)
  return present(entry.by) and not entry.task and not progress.is_deed(entry)
    and (entry.seq or entry.type ~= "started" and entry.type ~= "archived")
end

--- What people did to it lately, newest first: by the audit, which finds that
--- however long the history is.
local function interventions(engine, instance)
  local found, cursor = {}, nil
  for _ = 1, instance.purged and 0 or most_pages do
    local page = store.try(engine:audit { instance = instance.id,
      limit = page_size, before = cursor })
    for _, entry in ipairs(page) do
      if #found < most_interventions and is_intervention(entry) then
        found[#found + 1] = entry
      end
    end
    if #page < page_size or #found == most_interventions then break end
    cursor = page[#page].cursor
  end
  return found
end

--- "price=9", as the row of its history has it; of what is archived that would
--- be all of its history.
local function changes_of(engine, instance, entry)
  if not entry.seq or entry.type ~= "changed" or instance.archived then
    return nil
  end
  local row = store.try(engine:history(instance.id, { after = entry.seq - 1,
    limit = 1 }))[1]
  return row and row.seq == entry.seq and format.changes(row.changes) or nil
end

--- "2026-11-21 07:38:00 by ann: price=9; why".
local function show_interventions(engine, instance)
  local entries = interventions(engine, instance)
  for i = #entries, 1, -1 do
    local entry = entries[i]
    local what = { changes_of(engine, instance, entry) }
    what[#what + 1] = present(entry.text) and entry.text or nil
    line(entry.type, ("%s by %s%s"):format(format.time(entry.at), entry.by,
      #what > 0 and ": " .. table.concat(what, "; ") or ""))
  end
end

--- "worker 28570 on host since 2026-11-21 07:38:00", and what it told.
local function show_holder(instance, now)
  local lease = instance.lease
  if not present(lease) then return end
  line("held by", ("%s since %s"):format(present(lease.pid)
    and ("worker %d on %s"):format(lease.pid, lease.host) or lease.executor,
    format.when(lease.since, now)))
  value("progress", instance.progress)
end

--- "2026-11-21 07:38:00 by ann: a test", or that it is to be.
local function show_deleted(deleted, now)
  if not deleted then return end
  line("deleted", ("%s%s%s"):format(
    deleted.at and format.when(deleted.at, now) or "when it has ended",
    words.who_why(deleted.by, deleted.reason),
    deleted.purge_at and " (half purged: parts of it are gone)" or ""))
end

local function show_since(name, since, now)
  if not since then return end
  line(name, ("since %s%s%s"):format(format.when(since.at, now),
    since.by and "," or "", words.who_why(since.by, since.reason)))
end

-- What has a place of its own below, or is said by another.
local placed = {}
for name in ([[id workflow version status node key business_key correlation
  tenant group parent parent_node parent_index root trigger_event
  trigger_source priority times due lease executor progress deadline max_bytes
  suspended_at input variables attributes output cancellation compensation
  error tokens commits deleted away archived purged trimmed
]]):gmatch "%S+" do
  placed[name] = true
end

--- What is gone of its history.
local function show_trimmed(trimmed)
  if not trimmed then return end
  line("history", ("%d of its first %d rows are gone (keep_history = %d)")
    :format(trimmed.rows, trimmed.upto, trimmed.keep))
end

--- What else is told of an instance, as it is.
local function show_rest(instance)
  local names = {}
  for name in pairs(instance) do
    if not placed[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local content = instance[name]
    local show_it = type(content) == "string" and line or value
    if not is_empty(content) then show_it(name:gsub("_", " "), content) end
  end
end

local function show_times(instance, now)
  for _, name in ipairs { "created", "started", "updated", "completed" } do
    line(name, format.when(instance.times[name], now))
  end
  line("due", format.when(instance.due, now))
  show_holder(instance, now)
  line("deadline", format.when(instance.deadline, now))
  line("max bytes", instance.max_bytes and tostring(instance.max_bytes))
  line("suspended", format.when(instance.suspended_at, now))
end

--- A typed attribute as --json has it: bytes are no text, a time is one.
local function told(one)
  if one.type == "date" then return { type = one.type, value = one.value } end
  return attribute.to_json(one)
end

local function show(opts, engine, instance)
  local now = engine:now()
  paper = { full = opts.full, cut = false }
  term.print(("%-12s "):format("id"), instance.id)
  line("workflow", ("%s %d"):format(instance.workflow, instance.version))
  term.print(("%-12s "):format("status"), format.status(instance.status))
  for _, field in ipairs { "node", "key", "business_key",
    "correlation", "tenant", "group", "parent", "parent_node", "root",
    "trigger_event", "trigger_source" } do
    line((field:gsub("_", " ")), instance[field])
  end
  if instance.priority ~= 0 then value("priority", instance.priority) end
  show_times(instance, now)
  show_deleted(instance.deleted, now)
  show_since("away", instance.away, now)
  show_since("archived", instance.archived, now)
  show_since("purged", instance.purged, now)
  show_trimmed(instance.trimmed)
  value("input", instance.input)
  for name, one in pairs(instance.attributes) do
    if type(one) == "table" then instance.attributes[name] = told(one) end
  end
  for _, name in ipairs { "variables", "attributes" } do
    if not is_empty(instance[name]) then value(name, instance[name]) end
  end
  local shown = not instance.purged
    and store.try(engine:published(instance.id)) or {}
  if not is_empty(shown) then value("published", shown) end
  show_rest(instance)
  value("output", instance.output)
  value("cancellation", instance.cancellation)
  value("compensation", instance.compensation)
  show_error(opts, instance.error)
  show_interventions(engine, instance)
  if instance.tokens and #instance.tokens > 0 then
    term.print()
    table_of(token_columns, instance.tokens)
  end
  if paper.cut then
    term.print(term.paint("dim", store.point(opts,
      ("some of it is cut: `pawl show %s --full` has all"):format(
        instance.id:sub(-8)))))
  end
end

local most_holders = 100 -- of one key, that are looked at

--- Of rows with one key, newest first, those that have it still: of each
--- workflow and tenant the one that nobody has succeeded.
local function holders(engine, rows)
  local found, taken = {}, {}
  for _, row in ipairs(rows) do
    local whose = row.workflow .. "\0" .. (row.tenant or "")
    if not taken[whose] and not row.purged
      and not store.try(engine:get(row.id)).successor then
      taken[whose] = true
      found[#found + 1] = row
    end
  end
  return found
end

--- Those that are meant by a key, or by a business key, which several may
--- have: what was archived if no other has it.
local function bearers(engine, opts)
  local all, code, version = {}, filters.of_workflow(opts)
  for _, archived in ipairs { false, true } do
    local rows = store.try(engine:list { key = opts.key,
      business_key = opts.business_key, workflow = code, version = version,
      archived = archived, limit = opts.key and most_holders or 2 })
    local found = opts.key and holders(engine, rows) or rows
    if #found > 0 then return found, archived end
    table.move(rows, 1, #rows, #all + 1, all)
  end
  return { all[1] } -- what had it last, if who succeeded it is gone
end

--- The one that a key names; what several have is for who asks to choose.
local function named(opts)
  local engine <close> = store.look(opts)
  local rows, archived = bearers(engine, opts)
  local option = opts.key and "--key" or "--business-key"
  local key = opts.key or opts.business_key
  if #rows == 1 then return { rows[1].id } end
  error({ code = #rows == 0 and "notfound" or "ambiguous",
    message = ("%s instance has the %s '%s'"):format(#rows == 0 and "no"
      or "more than one", opts.key and "key" or "business key", key),
    hint = #rows > 0 and ("`%s` lists them; -w CODE names a workflow, "
      .. "--tenant ID whose it is"):format(store.point(opts,
        ("pawl list %s%s %s"):format(archived and "--archived " or "", option,
          key))) or nil }, 0)
end

local function chosen(opts, args)
  local by_key = opts.key or opts.business_key
  if by_key and (#args > 0 or opts.key and opts.business_key) then
    options.usage("an id, --key or --business-key: one of them", nil)
  elseif not by_key and #args == 0 then
    options.usage("pawl show needs an ID, or --key or --business-key", nil)
  end
  return by_key and named(opts) or args
end

local function tell(opts, args)
  return several(opts, chosen(opts, args), function(engine, id)
    if opts.json then return (store.try(engine:get(id, "json"))) end
    show(opts, engine, store.try(engine:get(id)))
  end, true)
end

local function run(opts, args)
  return watch.run(opts, function() return tell(opts, args) end)
end

return {
  name = "show", args = "[ID...]", min = 0, max = math.huge,
  summary = "one instance: where it stands, its data, its error",
  about = "Shows one instance: its status, where its tokens stand, when it "
    .. "is looked at next, its input, variables, output and error, and what "
    .. "people did to it last. Times are local; in --json, which "
    .. "writes exactly one object, or a list of them for several ids, they "
    .. "are UTC. On a terminal what is long is cut, but for --full.",
  options = {
    { long = "key", arg = "KEY", help = "the one that was started with it: "
      .. "of several, one after another, that which has it still" },
    { long = "business-key", arg = "KEY", help = "the one that has it" },
    { long = "workflow", short = "w", arg = "CODE",
      help = "of those with the key that of this workflow, or of CODE@N" },
    { long = "full", help = "cut nothing" },
    watch.option,
  },
  examples = {
    { "pawl show 019aa1f2", "an id may be shortened" },
    { "pawl show --business-key order-17", "the one that has it" },
    { "pawl show 019aa1f2 --json | jq .output", "only what came of it" },
  },
  run = run,
}
