--- kill -9 of each process that takes part, at each of its commits, while an
--- instance waits for what comes from outside: a token that is completed, an
--- event that moves a timer, variables that meet a condition, an event that one
--- takes for all. Whoever has died is asked again, as its answer was lost.
local pawl = require "pawl"
local Site = require "spec.support.site"
local system = require "system"
local tmp = require "spec.support.tmp"

--- What the instance has come to by what is stored, in one text.
local function story(site, id)
  local is = ("%s = '%s'"):format(site.backend.name == "sqlite"
    and "lower(hex(%s))" or "replace(%s::text, '-', '')", id:gsub("-", ""))
  local function all(format, text)
    local lines = {}
    for i, row in ipairs(site:sql(text)) do
      lines[i] = format:gsub("%w+", row)
    end
    return table.concat(lines, "\n")
  end
  return table.concat({
    all("status, output", "select status, coalesce(cast(output as text), '-') \
      as output from pawl.instance where " .. is:format "id"),
    all("type node way", "select type, coalesce(node, '-') as node, \
      coalesce(transition, '-') as way from pawl.history \
      where type <> 'recovered' and " .. is:format "instance"
      .. " order by seq"),
    all("type payload", "select type, coalesce(cast(payload as text), '-') as \
      payload from pawl.outbox where " .. is:format "instance"
      .. " order by seq") }, "\n")
end

---- acts ----------------------------------------------------------------------

-- Each has a process do something to an instance, and returns its exit code.

local function work(site, _, fault)
  local worker = site:worker { "--until-idle", fault = fault }
  return worker:wait(30), worker
end

--- An act that is a command; `words` gets the site and the one it is about.
local function tell(words)
  return function(site, one, fault)
    local line = words(site, one)
    table.move({ "--store", site.url, "--json",
      { env = { PAWL_FAULT = fault or "" } } }, 1, 4, #line + 1, line)
    local ran = site.folder:pawl(table.unpack(line))
    if ran.code == 0 then one.told = pawl.json.decode(ran.out) end
    return ran.code, ran
  end
end

local function pause(seconds)
  return function()
    system.sleep(seconds)
    return 0
  end
end

--- One instance and all acts about it. Each process has the fault; if it dies
--- of it, another one does the same. `one.died` tells in which acts.
local function play(site, acts, fault)
  local one = { id = site:start(1)[1], died = {} }
  for i, act in ipairs(acts) do
    local code, who = act(site, one, fault)
    if code == 137 then
      one.died[i] = true
      code, who = act(site, one)
    end
    assert.equal(0, code, who and tostring(who.err or who:output()
      .. who:errors()))
  end
  return one
end

-- On PostgreSQL a worker has far more transactions, of which most read. Who
-- dies behind one has stored what who dies before the next has: every other one
-- is enough there.
local points = {
  sqlite = { { "commit.before", 1, 1 }, { "commit.after", 1, 1 } },
  postgres = { { "commit.before_send", 1, 1 }, { "commit.sent", 2, 2 } },
}

--- An instance for each passage of each point, until nobody dies of that: all
--- come to what one comes to that nobody disturbs. Returns them.
local function play_all(site, acts)
  local calm = play(site, acts)
  local wanted, all = story(site, calm.id), { calm }
  assert.matches("^completed", wanted)
  for _, point in ipairs(points[site.backend.name]) do
    for passage = point[2], 100, point[3] do
      local fault = ("%s=kill@%d"):format(point[1], passage)
      local one = play(site, acts, fault)
      assert.equal(wanted, story(site, one.id), fault)
      all[#all + 1] = one
      if not next(one.died) then break end
    end
  end
  site:assert_at_rest()
  assert.equal(0, site:number "select count(*) from pawl.token_view \
    where state in ('active', 'waiting')")
  return all
end

--- In each of these acts processes have died, as often at least.
local function assert_deaths(all, wanted)
  for at, n in pairs(wanted) do
    for _, one in ipairs(all) do n = n - (one.died[at] and 1 or 0) end
    assert.truthy(n <= 0, ("act %d has %d deaths too few"):format(at, n))
  end
end

--- A workflow of this text, behind a first step that only tells of itself.
local function flow(text)
  local given = Site.flow { { "a", 'ctx.emit "done.a"' } }
  given.text = given.text:gsub('next = "done"', 'next = "w"')
    :gsub('flow:finish "done"\n', function() return text end)
  return given
end

---- a token -------------------------------------------------------------------

local ASKED = [[
flow:step("w", { next = "job", run = function(ctx)
  ctx.vars.token = ctx.callback "job.done"
  append("tokens", ctx.id .. " " .. ctx.vars.token)
  ctx.emit "asked"
end })
flow:wait("job", { event = "job.done", key = "token", into = "result",
  next = "b" })
flow:step("b", { next = "done", run = function(ctx) ctx.emit "done.b" end })
flow:finish "done"
]]

--- Each time it tells something else; what the first has told is what counts.
local complete = tell(function(site, one)
  one.token = one.token
    or site.folder:json("show", one.id, "--store", site.url).variables.token
  one.n = (one.n or 0) + 1
  return { "complete", one.token, "--data", tostring(one.n) }
end)

local function told(repeated)
  return function(_, one)
    assert.equal(repeated, one.told.repeated)
    return 0
  end
end

--- As it was told then, whoever has died meanwhile: the first who was not told
--- that it was done before has done it.
local function first(_, one)
  one.first = one.told.repeated and 1 or one.n
  return 0
end

--- Attempts of one visit have one token, and others have others. Returns how
--- many attempts were not the first.
local function assert_tokens(site)
  local of, whose, again = {}, {}, 0
  for id, token in tmp.read(site.folder.dir .. "/tokens")
    :gmatch "(%S+) (%S+)" do
    again = again + (of[id] and 1 or 0)
    assert.equal(of[id] or token, token)
    assert.equal(whose[token] or id, id)
    of[id], whose[token] = token, id
  end
  return again
end

Site.each("a token that is completed", function(new)
  it("is the same in all attempts, and counts once, whoever dies", function()
    local site = new(flow(ASKED))
    local all = play_all(site, { work, complete, first, complete, told(true),
      work, complete, told(true) })
    assert_deaths(all, { [1] = 4, [2] = 2, [6] = 2 })
    assert.truthy(assert_tokens(site) > 0)
    local by = { 0, 0 }
    for _, one in ipairs(all) do
      local shown = site.folder:json("show", one.id, "--store", site.url)
      assert.equal(one.first, shown.variables.result)
      if one.died[2] then by[one.first] = by[one.first] + 1 end
    end
    assert.truthy(by[1] > 0 and by[2] > 0) -- who died had done it, or not
  end)
end)

---- a timer -------------------------------------------------------------------

-- `w` would be over at once, and is put off by what came before it stood; `t`
-- would stand for an hour.
local MOVED = [[
flow:timer("w", {
  after = function(ctx) return ctx.vars.later or 0.01 end,
  reschedule = { event = "t.later", into = "later" }, next = "b" })
flow:step("b", { next = "t", run = function(ctx) ctx.emit "done.b" end })
flow:timer("t", {
  after = function(ctx) return ctx.vars.sooner or 3600 end,
  reschedule = { event = "t.sooner", into = "sooner" }, next = "c" })
flow:step("c", { next = "done", run = function(ctx) ctx.emit "done.c" end })
flow:finish "done"
]]

local LATER <const>, SOONER <const> = 0.25, 0.05

local function send(name, data)
  return tell(function(_, one)
    return { "signal", name, "--instance", one.id, "--id", name, "--data",
      tostring(data) }
  end)
end

--- The fewest seconds from another row of an instance until a timer was over.
local function fewest(site, since, which)
  local seconds = site.backend.name == "sqlite" and "%s / 1e6"
    or "extract(epoch from %s)"
  return tonumber(site:sql(([[select min(%s - %s) as s from pawl.history t
    join pawl.history b on b.shard = t.shard and b.instance = t.instance
    where t.type = 'timer' and %s]]):format(seconds:format "t.completed_at",
    seconds:format(since), which))[1].s)
end

Site.each("a timer that is moved", function(new)
  it("is over once, at its new time, whoever dies", function()
    local site = new(flow(MOVED))
    local later, sooner = send("t.later", LATER), send("t.sooner", SOONER)
    local all = play_all(site, { later, later, work, pause(LATER), work,
      sooner, sooner, work, pause(SOONER), work })
    assert_deaths(all, { [1] = 2, [3] = 4, [5] = 4, [6] = 2, [8] = 4,
      [10] = 2 })
    assert.truthy(fewest(site, "b.due_at",
      "b.type = 'rescheduled' and b.visit = t.visit") >= 0)
    -- a step is recorded a moment after the timer behind it has begun
    assert.truthy(fewest(site, "b.completed_at",
      "b.node = 'a' and t.node = 'w'") > LATER - 0.1)
  end)
end)

---- a condition ---------------------------------------------------------------

-- `w` goes on when its neighbour's step has counted; that waits then for an
-- edit by somebody who has none of these functions.
local MET = [[
flow:fork("w", { next = { "hear", "enough" } })
flow:wait("hear", { event = "t.offer", into = "n", next = "count" })
flow:step("count", { next = "edited", run = function(ctx)
  ctx.vars.n = ctx.vars.n + 1
  ctx.emit("counted", ctx.vars.n)
end })
flow:wait("edited", { condition = function(ctx) return ctx.vars.ok end,
  next = "meet" })
flow:wait("enough", { condition = function(ctx)
  return (ctx.vars.n or 0) >= 2
end, timeout = "1h", next = { met = "b", timeout = "late" } })
flow:step("b", { next = "meet", run = function(ctx) ctx.emit "done.b" end })
flow:step("late", { next = "meet", run = function() end })
flow:join("meet", { next = "done" })
flow:finish("done", { output = function(ctx) return ctx.vars.n end })
]]

local function edit(set, number)
  return tell(function(_, one)
    return { "edit", one.id, "--set", set, "--request",
      (one.id:gsub("%x$", ("%x"):format(number))) }
  end)
end

Site.each("a wait for a condition", function(new)
  it("goes on once, and is looked at again, whoever dies", function()
    local site = new(flow(MET))
    local offer, no, yes = send("t.offer", 1), edit("ok=false", 1),
      edit("ok=true", 2)
    local all = play_all(site, { work, offer, offer, work, no, work, yes, yes,
      work })
    assert_deaths(all, { [1] = 4, [2] = 2, [4] = 4, [7] = 2, [9] = 2 })
  end)
end)

---- an event that one takes ---------------------------------------------------

local TAKEN = [[
flow:wait("w", { event = "t.job", key = function(ctx) return ctx.id end,
  take = "one", into = "n", next = "b" })
flow:step("b", { next = "done", run = function(ctx) ctx.emit "done.b" end })
flow:finish("done", { output = function(ctx) return ctx.vars.n end })
]]

local job = tell(function(_, one)
  return { "signal", "t.job", "--key", one.id, "--id", one.id, "--data", "7" }
end)

--- An event that is stored, and whose sender has died, is posted after a while.
local function work_on(site, one, fault)
  local code, worker = work(site, one, fault)
  for _ = 1, 60 do
    if code ~= 0 or site.folder:json("show", one.id, "--store",
      site.url).status == "completed" then break end
    system.sleep(0.2)
    code, worker = work(site, one)
  end
  return code, worker
end

Site.each("an event that one takes for all", function(new)
  it("is had by whom it is assigned to, whoever dies", function()
    local site = new(flow(TAKEN))
    local all = play_all(site, { work, job, work_on })
    assert_deaths(all, { [1] = 4, [2] = 5, [3] = 3 })
    assert.equal(0, site:number "select count(*) from pawl.event \
      where key is not null and (taker is null or assigned_at is not null)")
  end)
end)
