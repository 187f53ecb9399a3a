--- pawl export ID...
local act = require "pawl.cli.act"
local core = require "pawl.core"
local filters = require "pawl.cli.filters"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local PAGE <const> = 500
local PATIENCE <const> = 10 -- seconds for who holds one, or hands its word over
local PAUSE <const> = 0.1

--- Rows of all that fit, oldest first, so that parents come before children.
local function each_row(engine, query)
  return coroutine.wrap(function()
    query.sort, query.limit = "oldest", PAGE
    repeat
      local rows = store.try(engine:list(query))
      for _, row in ipairs(rows) do coroutine.yield(row) end
      query.after = #rows == PAGE and rows[PAGE].id or nil
    until not query.after
  end)
end

--- Their ids, and whether they are archived; not of whom only attributes are
--- left.
local function yield_ids(engine, query)
  for row in each_row(engine, query) do
    if not row.purged then coroutine.yield(row.id, row.archived ~= nil) end
  end
end

local function copy(query)
  local out = {}
  for name, value in pairs(query) do out[name] = value end
  return out
end

--- What is not archived, then what is: who is archived meanwhile is in both,
--- and nobody in neither.
local function each_anywhere(engine, query)
  return coroutine.wrap(function()
    yield_ids(engine, copy(query))
    query.archived = true
    yield_ids(engine, query)
  end)
end

--- One, and below it its children.
local function each_of_family(engine, id, is_archived, with_children)
  return coroutine.wrap(function()
    local function walk(one, archived)
      coroutine.yield(one, archived)
      if not with_children then return end
      for child, away in each_anywhere(engine, { parent = one }) do
        walk(child, away)
      end
    end
    walk(id, is_archived)
  end)
end

--- Those that were named or found, each once or more, and whether they are
--- archived; of a named one it is not looked up.
local function each_asked(engine, opts, ids, query)
  local function each_named()
    for _, id in ipairs(ids) do
      coroutine.yield(store.try(engine:find(id)))
    end
  end
  local function each_found()
    filters.found(engine, query)
    if opts.all then return each_anywhere(engine, query) end
    return coroutine.wrap(function() yield_ids(engine, query) end)
  end
  return coroutine.wrap(function()
    for id, archived in #ids > 0 and coroutine.wrap(each_named)
                        or each_found() do
      for one, away in each_of_family(engine, id, archived, opts.children) do
        coroutine.yield(one, away)
      end
    end
  end)
end

--- The lines of an instance; a workflow that came before is left out.
local function lines_of(text, seen)
  local front, rest = text:match "^({\"is\":\"workflow\".-\n)(.*)$"
  if not front then return text end
  if seen[front] then return rest end
  seen[front] = true
  return text
end

--- Which masks had something to mask, by what an instance's last line says.
local function note_masks(text, masks, met)
  local unmet = {}
  local list = text:match '"unmet":(%[[^\n]*%])}\n$'
  for _, name in ipairs(list and core.json_decode(list) or {}) do
    unmet[name] = true
  end
  for _, name in ipairs(masks) do met[name] = met[name] or not unmet[name] end
end

--- A slip looks like a secret that is kept.
local function warn_unmet(masks, met)
  for _, name in ipairs(masks) do
    if met[name] == false then
      term.warn(("warning: --mask %s masks nothing in what was exported")
        :format(term.clean(name)))
    end
  end
end

--- What fn returns, asked again while it is "busy": a worker is at it.
local function patiently(fn)
  local answer, err
  for _ = 1, PATIENCE / PAUSE do
    answer, err = fn()
    if answer or err.code ~= "busy" or sys.caught() then break end
    sys.sleep(PAUSE)
  end
  return store.try(answer, err)
end

--- Fenced off, all of them before the first is written down: what one of them
--- says to another until then comes along.
local function carry_all(engine, list, asked)
  for _, id in ipairs(list) do
    store.try(engine:carry(id, { by = asked.by, reason = asked.reason }))
  end
end

local function check(opts, is_filtered, ids)
  if #ids == 0 and not is_filtered and not opts.all then
    options.usage("which instances?", "give their ids, or filters as `pawl "
      .. "list` has them, or --all")
  elseif #ids > 0 and (is_filtered or opts.all) then
    options.usage("give ids, or filters, not both")
  elseif opts.move and opts.mask then
    options.usage("what is masked cannot be moved",
      "without --move it is exported as a copy")
  end
end

--- Each once. What is archived has ended and cannot be carried away: it is
--- counted, and its family goes without it.
local function each_once(engine, opts, ids, query)
  return coroutine.wrap(function()
    local done, left = {}, 0
    for id, archived in each_asked(engine, opts, ids, query) do
      if not done[id] then
        done[id] = true
        if opts.move and archived then
          left = left + 1
        else
          coroutine.yield(id)
        end
      end
    end
    if left > 0 then
      term.warn(("%d archived stay here: without --move they are exported, "
        .. "as copies; `pawl unarchive` first has them go along"):format(left))
    end
  end)
end

--- Those that go on elsewhere: all are fenced off, then written.
local function move_all(engine, opts, list, asked, seen)
  carry_all(engine, list, { by = asked.by, reason = opts.reason })
  for _, id in ipairs(list) do
    term.bytes(lines_of(patiently(function()
      return engine:export(id, asked)
    end), seen))
  end
end

local function run(opts, ids)
  local query = filters.read(opts)
  check(opts, next(query) ~= nil, ids)
  local engine <close> = opts.move and store.open(opts, { create = false })
    or store.look(opts)
  local asked = { mask = opts.mask, by = act.user(opts), move = opts.move }
  local seen, met, list = {}, {}, {}
  for id in each_once(engine, opts, ids, query) do
    if opts.move then
      list[#list + 1] = id
    else
      local text = store.try(engine:export(id, asked))
      note_masks(text, opts.mask or {}, met)
      term.bytes(lines_of(text, seen))
    end
  end
  warn_unmet(opts.mask or {}, met)
  move_all(engine, opts, list, asked, seen)
  return 0
end

return {
  name = "export", args = "[ID...]", min = 0, max = math.huge,
  summary = "instances as lines of JSON, for another store",
  about = "Writes instances with all their rows to standard output: where "
    .. "they stand, their history, letters, tasks, and the source of their "
    .. "workflows. `pawl import` reads it, into a store of either kind. They "
    .. "stay here as they are, and what is imported is a copy that does "
    .. "nothing before it is resumed.\n\n"
    .. "With --move each is to go on elsewhere: it is fenced off here, so that "
    .. "nothing of it runs and nobody can change it, and `pawl import` has it "
    .. "go on there. Asked again, it is written again. `pawl reclaim` takes it "
    .. "back, when it was never imported; `pawl kill` and `pawl purge` are for "
    .. "what has arrived.\n\n"
    .. "--mask NAME leaves an attribute out; --mask vars.customer.name has "
    .. "\"***\" where that is, in variables and all other data of the "
    .. "workflow. Texts of errors are not looked into.",
  options = filters.behind {
    { long = "children", help = "with all that descend from them, also "
      .. "what is archived" },
    { long = "all", help = "all of the store, also what is archived" },
    { long = "move", help = "they go on elsewhere, and no more here" },
    { long = "reason", arg = "TEXT", may_be_empty = true,
      help = "move: why; kept in the history" },
    { long = "mask", arg = "NAME", many = true,
      help = "what is not for others; several with --mask again" },
    { long = "by", arg = "WHO", type = "name",
      help = "who asks; default: the user's name" },
  },
  examples = {
    { "pawl export 019aa1f2 --children > order.jsonl", "one and its children" },
    { "pawl export --status failed --mask vars.card | ssh test pawl import -",
      "what failed, to be looked at elsewhere" },
    { "pawl export --move --all | pawl import - --store postgres://db/shop",
      "to a larger database" },
  },
  run = run,
}
