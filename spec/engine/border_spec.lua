-- The border between tenants, tried with every public call: for an engine that
-- is one tenant's, what another one has is like what is not there.
--
-- Each method has a case below; one that has none fails, and so does a function
-- of pawl.h that no method stands for. A case is one of
--
--   gone(call)   what call says of another's id, whole or shortened, is what it
--                says of one that nobody has, to the last word
--   apart(test)  told what there is, it tells no more than if the others were
--                not; the test says how
--   refused(call)  it concerns all tenants, and says so
--   WORDS        why there is no border to be crossed
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local NOBODYS = "01920000-0000-7000-8000-00000000beef"

--- An instance waits for "go" with the key that its input names; another has a
--- task; a third ends, having emitted.
local function flows()
  local wait = pawl.workflow { code = "t.wait", start = "w" }
  wait:wait("w", { event = "go", key = "order", next = "z" })
  wait:finish("z", { output = function(ctx) return ctx.event end })
  local token = pawl.workflow { code = "t.token" }
  token:step("a", { run = function(ctx) ctx.vars.it = ctx.callback "go" end })
  token:wait("w", { event = "go" })
  local ask = pawl.workflow { code = "t.ask", start = "t" }
  ask:task("t", { roles = { "clerk" }, title = "Look", next = "z" })
  ask:finish "z"
  local tell = kit.one(function(ctx) ctx.emit("told", { n = 1 }) end,
    { code = "t.tell" })
  return { wait, ask, tell, token }
end

local OURS = { key = "k", business_key = "b", correlation = "c" }

local function given(tenant)
  local options = { tenant = tenant, attributes = { region = "eu" } }
  for name, value in pairs(OURS) do options[name] = value end
  return options
end

--- What tenant `name` has, seen by `all`.
local function settle(all, name)
  local has = {}
  for _, code in ipairs { "wait", "ask", "tell" } do
    has[code] = assert(all:start("t." .. code, { order = "o-1" },
      given(name)))
  end
  return has
end

local function begin(backend)
  local all, clock, url = backend.fresh()
  local known = flows()
  for _, flow in ipairs(known) do assert(all:load(flow)) end
  local world = { all = all, url = url, clock = clock,
    b = settle(all, "b"), none = settle(all, nil) }
  assert(all:run())
  for _, task in ipairs(assert(all.tasks:list())) do
    if task.instance == world.b.ask then world.task = task.id end
    if task.instance == world.none.ask then world.none.task = task.id end
  end
  world.b.task = world.task
  world.e = kit.rival(backend, url, clock, { tenant = "a" })
  world.theirs = kit.rival(backend, url, clock, { tenant = "b" })
  for _, flow in ipairs(known) do assert(world.theirs:load(flow)) end
  return world
end

---- cases -------------------------------------------------------------------

--- An error as text, without the id that it is about.
local function said(id, ok, err)
  assert.is_nil(ok)
  local words = {}
  for _, name in ipairs { "code", "message", "hint", "where", "raised" } do
    words[#words + 1] = name .. "=" .. tostring(err[name] or "")
  end
  local text = table.concat(words, " | ")
  return (text:gsub(id:gsub("%W", "%%%0"), "ID"))
end

local function gone(call, of)
  return function(world)
    local foreign = { world.b[of or "wait"], world.none[of or "wait"] }
    local forms = {
      function(id) return id end,
      function(id) return id:sub(1, 18) end,
      of ~= "task" and function(id) return id:sub(-10) end or nil,
    }
    for _, id in ipairs(foreign) do
      for _, form in ipairs(forms) do
        local other = form(NOBODYS)
        assert.equal(said(other, call(world.e, other, world)),
          said(form(id), call(world.e, form(id), world)))
      end
    end
  end
end

local is_refusal = {} -- functions that `refused` has made

local function refused(call)
  local function test(world)
    kit.refused("unsupported", "^tenant \"a\"'s engine does not ",
      "without one", call(world.e, world))
  end
  is_refusal[test] = true
  return test
end

local function apart(test) return test end

local function nothing_in(list, err) assert.same({}, assert(list, err)) end

--- With each way of finding there is.
local FILTERS = {
  {}, { workflow = "t.wait" }, { status = "waiting" }, { key = "k" },
  { business_key = "b" }, { business_key = "b*" }, { correlation = "c" },
  { attributes = { region = "eu" } },
  { attributes = { region = { ">", "a" } } },
  { node = "w" }, { sort = "oldest" }, { created_after = 1 },
  { deleted = true },
}

local function each_filter(world, test)
  for _, filter in ipairs(FILTERS) do test(filter) end
  for _, name in ipairs { "parent", "root", "before", "after" } do
    test { [name] = world.b.wait }
  end
end

local BY = { by = "eve" }

local change = {
  cancel = BY, kill = BY, suspend = BY, resume = BY, retry = BY,
  wake = BY, continue = BY, step = BY, delete = BY, undelete = BY, purge = BY,
  carry = BY, reclaim = BY,
  archive = BY, unarchive = BY,
}

local cases = {
  ---- what there is ----
  find = gone(function(e, id) return e:find(id) end),
  get = gone(function(e, id) return e:get(id) end),
  status = gone(function(e, id) return e:status(id) end),
  result = gone(function(e, id) return e:result(id, { timeout = 0 }) end),
  ask = gone(function(e, id) return e:ask(id, "go", 1, { timeout = 0 }) end),
  complete = apart(function(world)
    local tokens = {}
    for i, options in ipairs { { tenant = "b" }, {} } do
      local id = assert(world.all:start("t.token", {}, options))
      assert(world.all:run())
      tokens[i] = assert(world.all:get(id)).variables.it
    end
    assert.equal(2, #tokens)
    for _, token in ipairs(tokens) do
      assert.equal(said(NOBODYS, world.e:complete "x"),
        said(NOBODYS, world.e:complete(token)))
      assert.is_true(world.all:complete(token))
    end
  end),
  published = gone(function(e, id) return e:published(id) end),
  history = gone(function(e, id) return e:history(id) end),
  variable_history = gone(function(e, id)
    return e:variable_history(id, "total")
  end),
  tokens = gone(function(e, id) return e:tokens(id) end),
  export = gone(function(e, id) return e:export(id) end),
  explain = gone(function(e, id) return e:explain(id) end),
  children = apart(function(world)
    nothing_in(world.e:children(world.b.wait))
  end),
  audit = apart(function(world)
    for _, id in ipairs { world.b.wait, world.none.wait } do
      assert(world.all:note(id, { by = "ann", text = "seen" }))
    end
    assert(world.all.tasks:escalate(world.task,
      { by = "ann", priority = "high" }))
    for _, query in ipairs { {}, { by = "ann" }, { type = "note" },
      { type = "escalated" }, { instance = world.b.wait } } do
      nothing_in(world.e:audit(query))
    end
    assert.equal(2, #assert(world.theirs:audit { by = "ann" }))
    kit.refused("invalid", "`tenant` is \"b\"", nil,
      world.e:audit { tenant = "b" })
  end),
  list = apart(function(world)
    each_filter(world, function(filter)
      nothing_in(world.e:list(filter))
    end)
    kit.refused("invalid", "`tenant` is \"b\", but this is tenant \"a\"'s",
      "without a tenant", world.e:list { tenant = "b" })
  end),
  tally = apart(function(world)
    each_filter(world, function(filter)
      assert.equal(0, assert(world.e:tally(filter)))
    end)
  end),
  transaction = apart(function(world)
    assert(world.e:transaction(function(tx)
      nothing_in(tx:list())
      assert.equal(said(NOBODYS, tx:get(NOBODYS)),
        said(world.b.wait, tx:get(world.b.wait)))
    end))
  end),
  ---- what comes into being ----
  start = apart(function(world)
    local options = given(nil)
    local id, created = assert(world.e:start("t.wait", {}, options))
    assert.is_true(created)
    assert.equal("a", assert(world.e:get(id)).tenant)
    assert.equal(id, assert(world.e:start("t.wait", {}, options)))
    kit.refused("invalid", "`tenant`", nil,
      world.e:start("t.wait", {}, { tenant = "b" }))
    kit.refused("conflict", "^the id [%x-]+ is taken by another tenant", nil,
      world.e:start("t.wait", {}, { id = world.b.wait }))
  end),
  start_many = apart(function(world)
    local ids, created = assert(world.e:start_many("t.ask",
      { given(nil), { input = {} } }))
    assert.same({ true, true }, created)
    for _, id in ipairs(ids) do
      assert.equal("a", assert(world.all:get(id)).tenant)
    end
    kit.refused("invalid", "^item 1: option `tenant`", nil,
      world.e:start_many("t.wait", { { tenant = "b" } }))
    kit.refused("conflict", "taken by another tenant", nil,
      world.e:start_many("t.wait", { { id = world.b.wait } }))
  end),
  signal = apart(function(world)
    local event = { name = "go", key = "o-1", id = "e-1" }
    for _, engine in ipairs { world.e, world.theirs } do
      local info = select(2, assert(engine:signal(event)))
      assert.is_false(info.repeated)
      assert.equal(engine == world.theirs and 1 or 0, info.reached)
    end
    gone(function(e, id)
      return e:signal { name = "go", instance = id }
    end)(world)
    kit.refused("invalid", "`tenant`", nil,
      world.e:signal { name = "go", tenant = "b" })
    local info = select(2, assert(world.e:signal { name = "go",
      start = { workflow = "t.wait", key = "s", input = { order = "o-1" } } }))
    assert.is_true(info.created)
    assert.equal("a", assert(world.all:get(info.instance)).tenant)
    kit.refused("invalid", "`tenant`", nil, world.e:signal { name = "go",
      start = { workflow = "t.wait", tenant = "b" } })
  end),
  ---- what changes it ----
  restart = gone(function(e, id) return e:restart(id, { from = "w" }) end),
  move = gone(function(e, id) return e:move(id, { to = "z" }) end),
  edit = gone(function(e, id) return e:edit(id, { set = { n = 1 } }) end),
  note = gone(function(e, id) return e:note(id, { text = "seen" }) end),
  bulk = apart(function(world)
    each_filter(world, function(filter)
      if not next(filter) or filter.sort then return end
      local report = assert(world.e:bulk("cancel", filter, BY))
      assert.equal(0, report.matched)
    end)
    kit.refused("invalid", "`tenant` is \"b\"", nil,
      world.e:bulk("cancel", { tenant = "b" }, BY))
  end),
  tick_instance = gone(function(e, id) return e:tick_instance(id) end),
  ---- tasks ----
  ["tasks:find"] = gone(function(e, id) return e.tasks:find(id) end, "task"),
  ["tasks:get"] = gone(function(e, id) return e.tasks:get(id) end, "task"),
  ["tasks:list"] = apart(function(world)
    for _, filter in ipairs { {}, { role = "clerk" }, { user = "ann" },
      { instance = world.b.ask }, { status = "pending" },
      { due_before = 4e9 } } do
      nothing_in(world.e.tasks:list(filter))
    end
    assert.equal(1, #assert(world.theirs.tasks:list { role = "clerk" }))
    for _, name in ipairs { "assignee", "workflow", "node" } do
      nothing_in(world.e.tasks:list { [name] = "t.ask" })
    end
    nothing_in(world.e.tasks:list { business_key = "b*" })
    gone(function(e, id) return e.tasks:list { before = id } end,
      "task")(world)
    kit.refused("invalid", "`tenant`", nil,
      world.e.tasks:list { tenant = "b" })
  end),
  ["tasks:tally"] = apart(function(world)
    assert.equal(0, assert(world.e.tasks:tally()))
    assert.equal(1, assert(world.theirs.tasks:tally { role = "clerk" }))
  end),
  ---- outbox ----
  ["outbox:list"] = apart(function(world)
    nothing_in(world.e.outbox:list())
    nothing_in(world.e.outbox:list { instance = world.b.tell })
    assert.equal(1, #assert(world.theirs.outbox:list()))
    kit.refused("invalid", "`tenant`", nil,
      world.e.outbox:list { tenant = "b" })
  end),
  ["outbox:retry"] = apart(function(world)
    assert.equal(0, (assert(world.e.outbox:retry {})))
    gone(function(e, id) return e.outbox:retry { instance = id } end,
      "tell")(world)
  end),
  ["outbox:drop"] = apart(function(world)
    assert.equal(0, (assert(world.e.outbox:drop {})))
    gone(function(e, id) return e.outbox:drop { instance = id, seq = 1 } end,
      "tell")(world)
    assert.equal(1, #assert(world.theirs.outbox:list()))
  end),
  ["outbox:relay"] = refused(function(e)
    return e.outbox:relay { publish = function() return true end }
  end),
  ---- what is everybody's ----
  tick = refused(function(e) return e:tick() end),
  run = refused(function(e) return e:run() end),
  next_due = refused(function(e) return e:next_due() end),
  busy = refused(function(e) return e:busy() end),
  health = refused(function(e) return e:health() end),
  import = refused(function(e) return e:import "" end),
  prune = refused(function(e) return e:prune() end),
  backup = refused(function(e, world)
    return e:backup(world.url .. ".copy")
  end),
  backup_bytes = refused(function(e) return e:backup_bytes() end),
  restore = refused(function(e, world) return e:restore(world.url) end),
  restore_bytes = refused(function(e) return e:restore_bytes "x" end),
  ["executors:list"] = refused(function(e) return e.executors:list() end),
  stats = refused(function(e) return e:stats() end),
  problems = refused(function(e) return e:problems() end),
  ["workflows:hotfix"] = refused(function(e)
    return e.workflows:hotfix(flows()[1])
  end),
  ["workflows:transfer"] = refused(function(e)
    return e.workflows:transfer("t.wait", 1, 2)
  end),
  ["workflows:list"] = apart(function(world)
    assert.equal(#flows(), #assert(world.e.workflows:list()))
    refused(function(e) return e.workflows:list { live = true } end)(world)
  end),
  ["breakpoints:set"] = apart(function(world)
    kit.refused("invalid", "tenant", nil, world.e.breakpoints:set {
      workflow = "t.wait", node = "w", tenant = "b" })
    assert(world.e.breakpoints:set { workflow = "t.wait", node = "w" })
    assert.equal("a", assert(world.all.breakpoints:list())[1].tenant)
    assert(world.all.breakpoints:remove { all = true })
  end),
  ["breakpoints:list"] = apart(function(world)
    assert(world.all.breakpoints:set { workflow = "t.wait", node = "w",
      tenant = "b" })
    nothing_in(world.e.breakpoints:list())
    kit.refused("invalid", "tenant", nil,
      world.e.breakpoints:list { tenant = "b" })
  end),
  ["breakpoints:remove"] = apart(function(world)
    assert(world.all.breakpoints:set { workflow = "t.wait", node = "w",
      tenant = "b" })
    kit.refused("notfound", "no breakpoint", nil,
      world.e.breakpoints:remove { workflow = "t.wait", node = "w" })
    assert.equal(0, assert(world.e.breakpoints:remove { all = true }).removed)
    assert.equal(1, #assert(world.all.breakpoints:list()))
    assert(world.all.breakpoints:remove { all = true })
  end),
  ["workflows:get"] = "definitions are shared by all",
  ["workflows:graph"] = "definitions are shared by all",
  load = "definitions are shared by all",
  deploy = "definitions are shared by all",
  check = "reads a file",
  close = "is about the engine itself",
  now = "is about the engine itself",
  is_new = "is about the engine itself",
  executor_id = "is about the engine itself",
  count = "is about the engine itself",
  memory = "is about the engine itself",
  interrupt = "is about the engine itself",
  save = "is about the engine itself",
  fd = "is about the engine itself",
  wait = "is woken for whatever happens, and not told what",
}
for name, options in pairs(change) do
  cases[name] = gone(function(e, id) return e[name](e, id, options) end)
end
for _, name in ipairs { "suspend", "resume" } do
  cases["workflows:" .. name] = refused(function(e)
    return e.workflows[name](e.workflows, { workflow = "t.wait" })
  end)
end
for _, name in ipairs { "activate", "deactivate" } do
  cases["workflows:" .. name] = refused(function(e)
    return e.workflows[name](e.workflows, "t.wait", 1)
  end)
end
for _, name in ipairs { "off", "on" } do
  cases["workflows:" .. name] = refused(function(e)
    return e.workflows[name](e.workflows, "t.wait")
  end)
end
for _, name in ipairs { "claim", "unclaim", "complete", "fail", "retry",
  "escalate", "delegate", "reassign", "edit" } do
  cases["tasks:" .. name] = gone(function(e, id)
    local options = { by = "eve" }
    if name == "delegate" or name == "reassign" then options.to = "ann" end
    if name == "edit" then options.title = "Theirs" end
    return e.tasks[name](e.tasks, id, options)
  end, "task")
end

--- Functions of pawl.h for which no method of an engine stands.
local ELSEWHERE = { pawl_open = true, pawl_migrate = true,
  pawl_migrations = true, pawl_doctor = true,
  pawl_store_name = true, pawl_free = true, pawl_code_name = true,
  pawl_version = true, pawl_time_us = true, pawl_game_clock_now = true,
  pawl_game_clock_passed = true, pawl_game_clock_set = true,
  pawl_transaction_sqlite = true, pawl_sqlite_memory = true,
  pawl_sqlite_memory_used = true,
  -- of the program's own, and of text
  pawl_register = true, pawl_at = true, pawl_value_type = true,
  pawl_text = true, pawl_int = true, pawl_num = true, pawl_bool = true,
  pawl_length = true, pawl_each = true, pawl_format = true,
  pawl_format_into = true }

--- They come last: from then on tenant "a" has something.
local MAKES = { start = true, start_many = true, signal = true }

---- the walk ----------------------------------------------------------------

local function methods()
  local names = {}
  for name, value in pairs(core.engine) do
    if type(value) == "function" then names[#names + 1] = name end
  end
  for _, noun in ipairs { "tasks", "workflows", "outbox", "executors",
    "breakpoints" } do
    for name in pairs(require("pawl.nouns." .. noun)) do
      names[#names + 1] = noun .. ":" .. name
    end
  end
  table.sort(names)
  return names
end

--- By the table of docs/api.md, which another spec compares with both.
local function methods_of(name)
  for row in tmp.read "docs/api.md":gmatch "\n(|[^\n]+)" do
    if row:find("`" .. name .. "`", 1, true)
      and row:find "`engine[.:][%w_.:]+`" then return true end
  end
end

describe("the border between tenants", function()
  it("has a case for every method, and for no other", function()
    local there = {}
    for _, name in ipairs(methods()) do
      there[name] = true
      assert(cases[name], name .. " has no case")
    end
    for name in pairs(cases) do
      assert(there[name], "a case for " .. name .. ", which is not there")
    end
  end)

  it("is told in docs/stores.md and in pawl.h as it is", function()
    local wanted, of_c, told, told_c = {}, {}, {}, {}
    for name, case in pairs(cases) do
      if is_refusal[case] then wanted[name] = true end
    end
    local page = tmp.read "docs/stores.md":match "\n## Tenants\n(.*)$"
    for name in page:match "fails with `unsupported`:(.-)%. So"
      :gmatch "`([%w_:]+)`" do told[name] = true end
    assert.is_true(told.live and told["workflows:list"])
    told.live, told["workflows:list"] = nil, nil
    assert.same(wanted, told)
    for row in tmp.read "docs/api.md":gmatch "\n|[^\n]+" do
      local c, named = {}, {}
      for name in row:gmatch "`(pawl_[%w_]+)`" do c[#c + 1] = name end
      for name in row:gmatch "`engine[.:]([%w_:]+)`" do
        named[#named + 1] = name
      end
      for i, name in ipairs(named) do -- one has several, or each its own
        if wanted[name] then of_c[c[#c == #named and i or 1] or ""] = true end
      end
    end
    of_c[""] = nil -- what Lua has alone
    for name in tmp.read "src/pawl.h"
      :match "What concerns all is PAWL_UNSUPPORTED:(.-)%.\n"
      :gmatch "pawl_[%w_]+" do told_c[name] = true end
    told_c.pawl_workflow_list = nil -- `live` of it
    assert.same(of_c, told_c)
  end)

  it("has a method for every function that can cross it", function()
    local text = tmp.read "src/pawl.h":gsub("/%*.-%*/", "")
    for name in text:gmatch "PAWL_API%s+[^;(]-(pawl_[%w_]+)%(" do
      assert(ELSEWHERE[name] or methods_of(name), name)
    end
  end)
end)

kit.describe("the border between tenants", function(backend)
  it("is crossed by no call", function()
    local world = begin(backend)
    local function try(name)
      local fine, why = pcall(cases[name], world)
      if not fine then error(name .. ": " .. tostring(why), 0) end
    end
    for _, name in ipairs(methods()) do
      if not MAKES[name] and type(cases[name]) == "function" then try(name) end
    end
    for name in pairs(MAKES) do try(name) end
    local seen = {}
    for _, code in ipairs { "wait", "ask", "tell" } do
      seen[code] = kit.status(world.all, world.none[code])
    end
    assert.same({ wait = "waiting", ask = "waiting", tell = "completed" },
      seen)
  end)

  it("lets its own through", function()
    local world = begin(backend)
    local theirs = world.theirs
    assert.equal(3, assert(theirs:tally()))
    assert.equal(world.b.wait,
      assert(theirs:find(world.b.wait:sub(-10))))
    assert.equal("b", assert(theirs:get(world.b.wait)).tenant)
    local ann = { by = "ann", role = "clerk" }
    assert(theirs.tasks:claim(world.b.task, ann))
    assert(theirs.tasks:complete(world.b.task:sub(1, 18), ann))
    assert.equal(1, assert(theirs:signal { name = "go", key = "o-1" }))
    assert(theirs:tick_instance(world.b.wait))
    assert.completed(theirs, world.b.wait)
    assert(theirs:cancel(world.b.ask, { by = "ann" }))
    assert(theirs:delete(world.b.tell, { by = "ann" }))
    assert.equal(1, #assert(theirs:list { deleted = true }))
  end)
end)
