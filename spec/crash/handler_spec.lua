--- kill -9 of a worker at each of its commits, around what handlers leave to
--- those that come after them: progress, what is shown, errors, items that may
--- fail; and around what moves their times, or is refused.
local pawl = require "pawl"
local Site = require "spec.support.site"
local system = require "system"
local tmp = require "spec.support.tmp"

--- A workflow of these nodes; what they may use is in spec/support/site.lua.
local function flow(text)
  local given = Site.flow { { "a", "" } }
  given.text = given.text:gsub('flow:step%("a".*$', function()
    return text .. 'flow:finish "z"\nreturn flow\n'
  end)
  return given
end

-- A step is one commit of the engine's, and several transactions.
local POINTS <const> = { "engine.commit.before", "engine.commit.after" }
local STORE <const> = {
  sqlite = { "commit.before", "commit.after" },
  postgres = { "commit.before_send", "commit.sent" },
}

local function count(site, what)
  return site:number("select count(*) from pawl." .. what)
end

--- Workers that each die later than the one before, until one does not, and
--- then one that finishes it. Returns the ids of all that were started.
---   points         where they die: at the `first` passage, 1, then `step` ones
---                  further, up to the `most`-th
---   each           how many are started for each worker
---   prepare, look  functions that see what was started, and what it has left
---   words          more of a worker
local function play(site, options)
  local ids, words = {}, options.words or {}
  for _, point in ipairs(options.points) do
    local died = 0
    for passage = options.first or 1, options.most, options.step or 1 do
      local begun = site:start(options.each)
      table.move(begun, 1, #begun, #ids + 1, ids)
      if options.prepare then options.prepare(site, begun) end
      local worker = { "--until-idle", "--batch", "1",
        fault = ("%s=kill@%d"):format(point, passage) }
      table.move(words, 1, #words, #worker + 1, worker)
      worker = site:worker(worker)
      local code = worker:wait(30)
      if options.look then options.look(site, ids) end
      if code == 0 then break end
      assert.equal(137, code, worker:output() .. worker:errors())
      died = died + 1
    end
    assert.truthy(died > 2, point .. " is met too seldom: " .. died)
  end
  for _ = 1, 50 do -- some are to be tried again soon
    site:drain(table.unpack(words))
    if count(site, "instance where status = 'running'") == 0 then break end
    system.sleep(0.05)
  end
  return ids
end

local function assert_completed(site, ids)
  assert.equal(#ids, count(site, "instance where status = 'completed' \
    and workflow = 't.crash'"))
  site:assert_at_rest()
end

---- progress ------------------------------------------------------------------

local COPIES <const> = [[
flow:step("a", { next = "z", run = function(ctx)
  for i = (ctx.progress and ctx.progress.done or 0) + 1, 5 do
    append("copied", ctx.id .. " " .. i)
    ctx.heartbeat { done = i }
    append("told", ctx.id .. " " .. i)
  end
end })
]]

Site.each("the progress of a worker that is killed", function(new, backend)
  it("is where the next one goes on", function()
    local site = new(flow(COPIES))
    -- as it tells of it, mostly
    local ids = play(site, { points = STORE[backend.name], each = 1, first = 2,
      most = 32, step = 3 })
    assert_completed(site, ids)
    local copied, again, lines = {}, 0, tmp.read(site.folder.dir .. "/copied")
    for id, i in lines:gmatch "(%S+) (%d+)" do
      i = tonumber(i)
      local last = copied[id] or 0
      -- what it had not told is done again, and nothing before that
      assert.truthy(i == last or i == last + 1, last .. " and then " .. i)
      again = again + (i == last and 1 or 0)
      copied[id] = i
    end
    for _, id in ipairs(ids) do assert.equal(5, copied[id]) end
    assert.truthy(again > 0)
  end)
end)

---- what is shown -------------------------------------------------------------

local SHOWS <const> = [[
local function show(n)
  return function(ctx)
    ctx.publish("n", n)
    ctx.publish("long", (tostring(n)):rep(20000))
  end
end
flow:step("a", { run = show(1), next = "b" })
flow:step("b", { run = show(2), next = "c" })
flow:step("c", { run = show(3), next = "z" })
]]

Site.each("what a killed worker's steps show", function(new)
  it("is there with them, all or nothing", function()
    local site = new(flow(SHOWS))
    local found = {}
    local function look(_, ids)
      local engine <close> = assert(pawl.open(site.url))
      for _, id in ipairs(ids) do
        local done = 0
        for _, row in ipairs(assert(engine:history(id))) do
          done = done + (row.type == "step" and 1 or 0)
        end
        local shown = engine:published(id) or {}
        assert.equal(done, shown.n or 0)
        assert.equal(done == 0 and "" or tostring(done):rep(20000),
          shown.long or "")
        found[done] = true
      end
    end
    local ids = play(site, { points = POINTS, each = 2, most = 9,
      look = look })
    look(site, ids)
    assert_completed(site, ids)
    assert.truthy(found[0] and found[1] and found[2] and found[3])
  end)
end)

---- items that may fail -------------------------------------------------------

local FANS <const> = [[
local function items() return { 1, 2, 3, 4, 5 } end
local function item(back)
  return { retry = false, next = back, run = function(ctx)
    local i = ctx.token.data.item
    if i % 2 == 1 then error { code = "odd", message = "at " .. i } end
    return i
  end }
end
flow:each("a", { items = items, branch = "i", window = 2, tolerate = 3,
  into = "got", next = "b" })
flow:step("i", item "a")
flow:each("b", { items = items, branch = "k", window = 2, tolerate = "40%",
  next = "z", on_error = { odd = "c" } })
flow:step("k", item "b")
flow:step("c", { next = "z", run = function(ctx)
  ctx.emit("caught", { code = ctx.error.code, message = ctx.error.message })
end })
]]

Site.each("an each that tolerates failures", function(new)
  it("counts each of them once, whoever dies", function()
    local site = new(flow(FANS))
    local ids = play(site, { points = POINTS, each = 1, most = 20, step = 2 })
    assert_completed(site, ids)
    local engine <close> = assert(pawl.open(site.url))
    for _, id in ipairs(ids) do
      local got = assert(engine:get(id)).variables.got
      for i = 1, 5 do
        assert.equal(i % 2 == 1 and "at " .. i or i,
          i % 2 == 1 and got[i].error.message or got[i])
      end
    end
    assert.equal(#ids, count(site, "outbox where type = 'caught'"))
    for node, n in pairs { i = 3, k = 3 } do
      assert.equal(n * #ids, count(site, ("history where type = 'failed' \
        and node = '%s'"):format(node)))
    end
  end)
end)

---- what has failed -----------------------------------------------------------

local CAUGHT <const> = [[
flow:step("a", { next = "z", retry = { max = 2, base = 0.01, jitter = 0 },
  on_error = { declined = "pick" }, run = function(ctx)
    if ctx.attempt == 1 then error { code = "busy" } end
    error { code = "declined", message = "no", details = { by = ctx.id } }
  end })
flow:choice("pick", { next = { both = "f", none = "z" },
  choose = function(ctx)
    return ctx.error.code == "declined" and "both" or "none"
  end })
flow:fork("f", { next = { "b", "c" } })
local function tell(ctx)
  local e = ctx.error
  assert(e.details.by == ctx.id)
  ctx.emit("caught", { e.code, e.message, e.node, e.attempt })
end
flow:step("b", { run = tell, next = "j" })
flow:step("c", { run = tell, next = "j" })
flow:join("j", { next = "z" })
]]

Site.each("what has failed before a worker is killed", function(new)
  it("is told to the nodes that it leads to", function()
    local site = new(flow(CAUGHT))
    local ids = play(site, { points = POINTS, each = 2, most = 12 })
    assert_completed(site, ids)
    assert.equal(2 * #ids, count(site, "outbox where type = 'caught'"))
    for _, row in ipairs(site:sql "select distinct cast(payload as text) \
      as p from pawl.outbox") do
      assert.same({ "declined", "no", "a", 2 }, pawl.json.decode(row.p))
    end
    assert.equal(2 * #ids, count(site, "history where type = 'failed'"))
  end)
end)

---- what is refused -----------------------------------------------------------

local REFUSES <const> = [[
flow:wait("a", { event = "t.paid", accepts = { sum = "number > 0" },
  into = "paid", next = "z" })
]]

Site.each("an event that a wait does not accept", function(new)
  it("is refused once, whoever dies, and the next is taken", function()
    local site = new(flow(REFUSES))
    local engine <close> = assert(pawl.open(site.url))
    local function send(id, n, sum)
      assert(engine:signal { name = "t.paid", instance = id, id = n,
        data = { sum = sum } })
    end
    local ids = play(site, { points = POINTS, each = 2, most = 8,
      prepare = function(_, begun)
        for i, id in ipairs(begun) do
          send(id, "1", -1)
          if i == 2 then send(id, "2", 7) end
        end
      end })
    site:drain()
    assert.equal(#ids // 2, count(site, "instance \
      where status = 'completed'"))
    for i, id in ipairs(ids) do
      if i % 2 == 1 then send(id, "2", 7) end
      send(id, "1", -1) -- that was refused
    end
    site:drain()
    assert_completed(site, ids)
    for _, id in ipairs(ids) do
      assert.same({ sum = 7 }, assert(engine:get(id)).variables.paid)
    end
    assert.equal(#ids, count(site, "history where type = 'refused'"))
  end)
end)

---- times that are moved ------------------------------------------------------

local MOVED <const> = [[
local function with(more)
  more.timeout = function(ctx) return ctx.vars.sooner or 3600 end
  more.reschedule = { event = "t.sooner", into = "sooner" }
  more.on_error = { timeout = "late" }
  more.next = "j"
  return more
end
flow:fork("a", { next = { "k", "c", "e" } })
flow:task("k", with { title = "Do it" })
flow:call("c", with { workflow = "t.hour" })
flow:each("e", with { items = function() return { 1 } end,
  workflow = "t.hour" })
flow:step("late", { next = "j", run = function(ctx)
  ctx.emit("late", ctx.error.node)
end })
flow:join("j", { next = "z" })
]]

local HOUR <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.hour" }
flow:timer("t", { after = "1h" })
flow:finish "z"
return flow
]]

Site.each("a task's, a call's and an each's time", function(new)
  it("is moved once, and is over once, whoever dies", function()
    local site = new(flow(MOVED))
    site.folder:write("hour.lua", HOUR)
    local engine <close> = assert(pawl.open(site.url))
    local ids = play(site, { points = POINTS, each = 1, most = 20, step = 2,
      words = { "hour.lua" }, prepare = function(_, begun)
        site:drain "hour.lua"
        for _, id in ipairs(begun) do
          assert(engine:signal { name = "t.sooner", instance = id,
            data = 0.001 })
        end
      end })
    assert.equal(#ids, count(site, "instance where status = 'completed' \
      and workflow = 't.crash'"))
    assert.equal(2 * #ids, count(site, "instance where status = 'cancelled' \
      and workflow = 't.hour'"))
    site:assert_at_rest()
    local told = {}
    for _, row in ipairs(site:sql "select cast(payload as text) as p, \
      count(*) as n from pawl.outbox group by 1") do
      told[pawl.json.decode(row.p)] = tonumber(row.n)
    end
    assert.same({ k = #ids, c = #ids, e = #ids }, told)
    assert.equal(3 * #ids, count(site, "history where type = 'rescheduled'"))
  end)
end)
