--- pawl task list | show | claim | unclaim | complete | fail | retry |
--- reassign | delegate | escalate | edit
local act = require "pawl.cli.act"
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local types_of = require("pawl.words").types
local verb_args = require "pawl.args"
local watch = require "pawl.cli.watch"

local statuses = verb_args.words("task_list", "status")

local priorities = verb_args.words("task_list", "priority")

--- "a,b" and options given again, as one list; nil: none.
local function words(given)
  if not given then return nil end
  local out = {}
  for _, text in ipairs(given) do
    for word in text:gmatch("[^,]+") do
      out[#out + 1] = word:match("^%s*(.-)%s*$")
    end
  end
  return out
end

local function present(value)
  return value ~= nil and type(value) ~= "userdata" and value ~= ""
end

---- ids ---------------------------------------------------------------------

local WHOLE <const> = 32 -- digits of an id
local LEAST <const> = 8 -- digits of an end, which are random: as lists show
local PAGE <const>, MOST <const> = 1000, 10000 -- tasks that are looked at

--- Those whose ids end so, of the newest ones.
local function ending_so(engine, text)
  local query, found, seen = { limit = PAGE }, {}, 0
  repeat
    local rows = store.try(engine.tasks:list(query))
    for _, task in ipairs(rows) do
      if task.id:sub(-#text) == text then found[#found + 1] = task.id end
    end
    seen = seen + #rows
    query.before = rows[1] and rows[#rows].id
  until #rows < PAGE or seen >= MOST
  return found
end

--- The whole id. Lists show ends on a terminal, which no index knows: they are
--- looked for among the newest tasks, when no id begins so.
local function find(engine, text)
  local id, err = engine.tasks:find(text)
  if id then return id end
  if #text:gsub("%-", "") >= WHOLE then error(err, 0) end -- no end of one
  local ending = text:lower()
  if err.code == "notfound" and #ending < LEAST then
    err.hint = ("of an end of an id give %d characters at least"):format(LEAST)
  end
  if err.code ~= "notfound" or #ending < LEAST then error(err, 0) end
  local found = ending_so(engine, ending)
  if #found == 0 then
    err.message = ("no task's id begins with \"%s\", and none of the newest "
      .. "%d ends so"):format(text, MOST)
    error(err, 0)
  elseif #found > 1 then
    error({ code = "ambiguous", message = ("several tasks' ids end with \"%s\"")
      :format(text), hint = table.concat(found, ", ", 1, math.min(#found, 4))
    }, 0)
  end
  return found[1]
end

---- list --------------------------------------------------------------------

local function status_list(opts)
  if opts.all then return nil end
  local given = words(opts.status)
  if not given or #given == 0 then return { "pending", "running" } end
  for _, name in ipairs(given) do
    local known = false
    for _, status in ipairs(statuses) do known = known or status == name end
    if not known then
      options.usage("unknown status '%s'", nearest.hint(name, statuses), name)
    end
  end
  return given
end

--- Who has it, or may take it.
local function whose(task)
  if present(task.claimed_by) then return task.claimed_by end
  local out = {}
  if present(task.assignee) then out[1] = "(" .. task.assignee .. ")" end
  for kind, sign in pairs { users = "", roles = "@", groups = "%" } do
    for _, name in ipairs(task[kind] or {}) do
      out[#out + 1] = "(" .. sign .. name .. ")"
    end
  end
  table.sort(out)
  return table.concat(out, " ")
end

local columns = {
  { title = "ID", value = function(t) return t.shown end },
  { title = "TITLE", flex = true, value = function(t) return t.title end },
  { title = "WORKFLOW", flex = true, tail = true, value = function(t)
    return format.workflow(t.workflow, t.version)
  end },
  { title = "KEY", flex = true, tail = true, least = 6, drop = 4,
    value = function(t) return t.business_key end },
  { title = "STATUS", value = function(t)
    return t.overdue and t.status .. ", late" or t.status
  end, color = function(t) return t.overdue and "yellow" or nil end },
  { title = "PRIORITY", drop = 2, value = function(t) return t.priority end },
  { title = "WHO", flex = true, least = 6, drop = 3, value = whose },
  { title = "DUE", drop = 1, value = function(t)
    return format.time(t.due)
  end },
  { title = "AGE", right = true, value = function(t)
    return format.since(t.created, t.now)
  end },
}

local function tally(engine, query, opts)
  local n, more = store.try(engine.tasks:tally(query))
  if opts.json then
    term.print(format.json { count = n, more = more })
  else
    term.print((more and "more than %d" or "%d"):format(n))
  end
  return 0
end

--- Where the next page is, of one that is full.
local function point_on(opts, rows)
  if #rows < (opts.limit or 100) then return end
  local up = opts.after and not opts.before
  term.warn(("%d tasks; the next page: --%s %s"):format(#rows,
    up and "after" or "before", rows[up and 1 or #rows].shown))
end

local function list(opts)
  local workflow, version = filters.of_workflow(opts)
  local engine <close> = store.look(opts)
  local query = {
    user = opts.user, roles = words(opts.roles), groups = words(opts.groups),
    status = status_list(opts), form = opts.form, limit = opts.limit,
    overdue = opts.overdue, due_before = opts.due_before,
    priority = opts.priority,
    instance = opts.instance and store.try(engine:find(opts.instance)),
    before = opts.before and find(engine, opts.before),
    after = opts.after and find(engine, opts.after),
    workflow = workflow, version = version, node = opts.node,
    assignee = opts.assignee, business_key = opts.business_key, key = opts.key,
    due_after = opts.due_after,
    created_before = opts.created_before, created_after = opts.created_after,
  }
  if opts.count then return tally(engine, query, opts) end
  if opts.json then
    local text = store.try(engine.tasks:list(query, "json"))
    if text == "[]" then store.check_workflow(engine, workflow) end
    term.json(text)
    return 0
  end
  local rows = store.try(engine.tasks:list(query))
  if #rows == 0 then
    store.check_workflow(engine, workflow)
    term.print(opts.all and "no tasks" or "no such tasks")
    return 0
  end
  local now = engine:now()
  for _, task in ipairs(rows) do task.now = now end
  term.shorten(rows, "id")
  table_of(columns, rows)
  point_on(opts, rows)
  return 0
end

---- show --------------------------------------------------------------------

local function line(name, text)
  if present(text) then
    term.print(("%-12s "):format(name), term.clean(tostring(text)))
  end
end

--- "Look" as JSON, a time as people read it; nothing where it was none.
local function value_of(name, value)
  if value == nil then return "none" end
  return name == "due" and format.time(value) or format.json(value)
end

--- What an edit has changed, under its line; of what is long the name alone.
local function show_changes(changes)
  for _, name in ipairs { "title", "description", "form", "input", "metadata",
    "due", "priority" } do
    local change = changes[name]
    local long = change and change.from == nil and change.to == nil
    if long then
      line("", ("  %s was changed"):format(name))
    elseif change then
      line("", ("  %s from %s to %s"):format(name,
        value_of(name, change.from), value_of(name, change.to)))
    end
  end
end

local function show_log(log)
  for i, entry in ipairs(log) do
    local said = present(entry.reason) and ": " .. entry.reason or ""
    local to = present(entry.to) and " to " .. entry.to or ""
    local over = present(entry.instead_of)
      and " instead of " .. entry.instead_of or ""
    line(i == 1 and "log" or "", ("%s %s by %s%s%s%s"):format(
      format.time(entry.at), entry.what, entry.by, over, to, said))
    show_changes(entry.changes or {})
  end
end

local function show_task(task)
  for _, name in ipairs { "id", "title", "description", "status", "priority",
    "form", "workflow", "instance", "node", "assignee" } do
    line(name, task[name])
  end
  for _, name in ipairs { "users", "roles", "groups" } do
    line(name, table.concat(task[name], ", "))
  end
  line("claimed by", task.claimed_by)
  line("delegated by", task.delegated_by)
  if present(task.due) then
    line("due", format.time(task.due)
      .. (task.overdue and " (overdue)" or ""))
  end
  line("created", format.time(task.created))
  line("escalated", format.time(task.escalated))
  line("completed", format.time(task.completed))
  line("by", task.completed_by)
  line("transition", task.transition)
  if task.input ~= nil then line("input", format.json(task.input)) end
  if present(task.metadata) then
    line("metadata", format.json(task.metadata))
  end
  line("accepts", types_of(task.accepts))
  if task.output ~= nil then line("output", format.json(task.output)) end
  if present(task.error) then line("error", format.message(task.error)) end
  show_log(task.log)
end

local function show(opts, ids)
  return several(opts, ids, function(engine, text)
    local id = find(engine, text)
    if opts.json then return (store.try(engine.tasks:get(id, "json"))) end
    show_task(store.try(engine.tasks:get(id)))
  end, true)
end

---- changes -----------------------------------------------------------------

local said = {
  claim = "claimed", unclaim = "given back", complete = "completed",
  fail = "failed", retry = "open again", reassign = "reassigned",
  delegate = "delegated", escalate = "escalated", edit = "changed",
}

local function action_of(opts)
  local action = {
    by = act.user(opts), reason = opts.reason, to = opts.to,
    take = opts.take, error = opts.error, priority = opts.priority,
    users = words(opts.users), roles = words(opts.roles),
    groups = words(opts.groups), override = opts.override,
    title = opts.title, description = opts.description, form = opts.form,
    due = opts.due, metadata = opts.metadata, unset = words(opts.unset),
  }
  if opts.input then action.input = opts.input.value end
  if opts.output then action.output = opts.output.value end
  if opts.code then
    action.error = { code = opts.code, message = opts.error or opts.code }
  end
  return action
end

local function change(kind, opts, ids)
  local action = action_of(opts)
  return several(opts, ids, function(engine, text)
    local id = find(engine, text)
    local task = store.try(engine.tasks[kind](engine.tasks, id, action))
    if opts.json then return (store.try(engine.tasks:get(task.id, "json"))) end
    term.print(said[kind], " ", task.id, ": ", term.clean(task.title))
  end)
end

---- the command -------------------------------------------------------------

-- Which options each one takes; the store's and --json go with all.
local actions = {
  list = { "user", "roles", "groups", "status", "all", "overdue", "due_before",
    "form", "priority", "instance", "limit", "before", "after", "workflow",
    "version", "node", "assignee", "business_key", "key", "due_after",
    "created_before", "created_after", "count", "watch" },
  show = {},
  claim = { "by", "roles", "groups", "override", "reason" },
  unclaim = { "by", "reason" },
  complete = { "by", "roles", "groups", "output", "take", "override",
    "reason" },
  fail = { "by", "roles", "groups", "error", "code", "override", "reason" },
  retry = { "by", "reason" },
  reassign = { "by", "to", "users", "roles", "groups", "reason" },
  delegate = { "by", "to", "reason" },
  escalate = { "by", "users", "roles", "groups", "priority", "reason" },
  edit = { "by", "title", "description", "form", "input", "priority", "due",
    "metadata", "unset", "reason" },
}

local order = { "list", "show", "claim", "unclaim", "complete", "fail",
  "retry", "reassign", "delegate", "escalate", "edit" }

local command -- below: its options are asked for

local function check_options(action, opts)
  local takes = {}
  for _, key in ipairs(actions[action]) do takes[key] = true end
  for _, option in ipairs(command.options) do
    local key = option.key or option.long:gsub("-", "_")
    if opts[key] ~= nil and not takes[key] then
      options.usage("`pawl task %s` has no --%s", nil, action, option.long)
    end
  end
end

local most_watched = 20 -- that a screen has room for

local function run(opts, args)
  local action = args[1]
  if not actions[action] then
    options.usage("a task has no '%s'", nearest.hint(action, order), action)
  end
  check_options(action, opts)
  if action == "list" then
    if args[2] then
      options.usage("unexpected argument '%s'", nil, args[2])
    end
    opts.limit = opts.limit or opts.watch and most_watched or nil
    return watch.run(opts, function() return list(opts) end)
  end
  if not args[2] then
    options.usage("task %s needs a task's ID",
      "`pawl task list` shows what there is", action)
  end
  local ids = table.move(args, 2, #args, 1, {})
  if action == "show" then return show(opts, ids) end
  return change(action, opts, ids)
end

command = {
  name = "task", args = table.concat(order, "|") .. " [ID...]", min = 1,
  max = math.huge,
  summary = "what people have to do: list, claim, complete...",
  about = "`task list` shows open tasks, newest first; the others act on one "
    .. "of them and exit with 4 when somebody else has it or was first.\n\n"
    .. "claim takes a task and unclaim gives it back; complete ends it, with "
    .. "--take where several ways lead on; fail says that it cannot be done "
    .. "and retry opens it again; reassign gives it to another, delegate "
    .. "hands on what one holds, escalate raises it; edit changes what an "
    .. "open one says and when it is due.\n\n"
    .. "An ID is a task's, or its beginning, or its end as lists show it on a "
    .. "terminal: at least 8 digits of one of the newest 10,000.\n\n"
    .. "In lists, who may take a task stands in brackets: users, @roles and "
    .. "%groups.",
  options = {
    { long = "by", arg = "WHO",
      help = "who does it; default: the user's name" },
    { long = "user", short = "u", arg = "NAME", help = "list: whose" },
    { long = "role", arg = "NAME", many = true, key = "roles",
      help = "that the user has; of a list, reassign and escalate: whom it "
        .. "is for. Several with commas, or given again" },
    { long = "group", arg = "NAME", many = true, key = "groups",
      help = "the same" },
    { long = "candidate", arg = "NAME", many = true, key = "users",
      help = "reassign, escalate: a user whom it is for" },
    { long = "output", arg = "JSON", type = "json",
      help = "complete: what came of it; - reads it, @FILE too" },
    { long = "take", arg = "TRANSITION", help = "complete: the way on" },
    { long = "error", arg = "TEXT", help = "fail: what went wrong" },
    { long = "code", arg = "ERROR",
      help = "fail: for the workflow's on_error" },
    { long = "to", arg = "NAME", help = "reassign, delegate: to this user" },
    { long = "override", help = "claim, complete, fail: though another holds "
      .. "it; whom that passes over is recorded" },
    { long = "reason", arg = "TEXT", may_be_empty = true,
      help = "why; kept in the task's log" },
    { long = "priority", arg = "NAME", type = "name", one_of = priorities,
      help = "low, normal, high or urgent: of a list, escalate and edit" },
    { long = "status", arg = "NAME", many = true,
      help = "list: " .. table.concat(statuses, ", ")
        .. "; default: pending and running" },
    { long = "all", help = "list: of every status" },
    { long = "overdue", help = "list: those that should be done by now" },
    { long = "due-before", arg = "TIME", type = "ahead",
      help = "list: those due by then" },
    { long = "form", arg = "NAME", help = "list: with this form; edit" },
    { long = "title", arg = "TEXT", help = "edit: what is to be done" },
    { long = "description", arg = "TEXT", may_be_empty = true,
      help = "edit: the same at length" },
    { long = "input", arg = "JSON", type = "json",
      help = "edit: what is shown with it; - reads it, @FILE too" },
    { long = "due", arg = "TIME", type = "ahead",
      help = "edit: by when it is to be done" },
    { long = "metadata", arg = "JSON", type = "object",
      help = "edit: what others keep with it, an object" },
    { long = "unset", arg = "NAME", many = true,
      help = "edit: description, form, input, metadata or due is to be none" },
    { long = "instance", arg = "ID", help = "list: of this instance" },
    { long = "limit", short = "n", arg = "N", type = "count",
      help = "list: at most so many; default 100" },
    { long = "before", arg = "ID", help = "list: those older than this task; "
      .. "by due time, those due later" },
    { long = "after", arg = "ID", help = "list: those newer, or due sooner: "
      .. "the nearest to it" },
    { long = "workflow", short = "w", arg = "CODE",
      help = "list: of this workflow; CODE@N: of that version" },
    { long = "workflow-version", arg = "N", type = "count", key = "version",
      help = "list: of this version" },
    { long = "node", arg = "NODE", help = "list: of this node" },
    { long = "business-key", arg = "KEY", help = "list: of instances with this "
      .. "business key; 'order-*': one that begins so" },
    { long = "key", arg = "KEY", help = "list: of the one with this key" },
    { long = "assignee", arg = "NAME", help = "list: assigned to this user" },
    { long = "due-after", arg = "TIME", type = "ahead",
      help = "list: those due then or later" },
    { long = "created-after", arg = "TIME", type = "since",
      help = "list: created at that time or later" },
    { long = "created-before", arg = "TIME", type = "since",
      help = "list: created earlier" },
    { long = "count", help = "list: only how many there are, up to 10000, or "
      .. "to --limit" },
    watch.option,
  },
  examples = {
    { "pawl task list --user ann --role manager", "what Ann can do" },
    { "pawl task list --overdue", "what should be done, longest first" },
    { "pawl task claim 019aa1f2 --by ann --role manager", "Ann takes it" },
    { "pawl task complete 019aa1f2 --by ann --take approved",
      "and the instance goes on" },
    { "pawl task complete 019aa1f2 --override --reason 'Bob is ill'",
      "in spite of whoever holds it" },
  },
  run = run,
}

return command
