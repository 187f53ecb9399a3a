--- kill -9 of a worker at each of its commits, while it undoes what was done
--- and tells the world about it.
local Site = require "spec.support.site"

local UNDO = [[
  undo = function(ctx)
    append("undone", ctx.id .. " " .. ctx.node)
    ctx.emit("undone." .. ctx.node, ctx.output)
  end,]]

local function flow()
  local steps = {}
  for name in ("abc"):gmatch "." do
    steps[#steps + 1] = { name,
      ('ctx.emit("done.%s") return nil, "out %s"'):format(name, name), UNDO }
  end
  steps[4] = { "d", 'error { code = "boom" }', "retry = false," }
  return Site.flow(steps)
end

--- The same by a node, and then it goes on.
local function by_node()
  local given = flow()
  given.text = given.text:gsub('flow:step%("d".*$', [[
flow:undo("d", {})
flow:step("e", { run = function(ctx) ctx.emit "done.d" end })
flow:finish "done"
return flow
]])
  return given
end

--- The same of one that cancels itself, and cleans up.
local function by_cancel()
  local given = flow()
  given.text = given.text:gsub('flow:step%("d".*$', [[
flow:step("d", { run = function(ctx)
  ctx.signal { name = "t.stop", instance = ctx.id }
end })
flow:timer("hour", { after = "1h", next = "done" })
flow:step("e", { run = function(ctx) ctx.emit "done.d" end, next = "done" })
flow:finish "done"
return flow
]]):gsub("pawl.workflow {", '%0 on_cancel = "e", cancel_on = "t.stop",')
  return given
end

--- What every instance has told, in order.
local TOLD = "done.a done.b done.c undone.c undone.b undone.a "

Site.each("undoing under a worker that is killed", function(new, backend)
  local function outbox(site)
    local id = backend.name == "sqlite" and "hex(instance)"
      or "instance::text"
    local told = {}
    for _, row in ipairs(site:sql("select " .. id .. " as id, type from \
        pawl.outbox order by instance, seq")) do
      told[row.id] = (told[row.id] or "") .. row.type .. " "
    end
    return told
  end

  --- Each has failed with its own error, and each undo is recorded once.
  local function assert_undone(site, ids)
    assert.equal(#ids, site:number "select count(*) from pawl.instance \
      where status = 'failed'")
    local n = 0
    for _, told in pairs(outbox(site)) do
      assert.equal(TOLD, told)
      n = n + 1
    end
    assert.equal(#ids, n)
    assert.equal(3 * #ids, site:number "select count(*) from pawl.history \
      where type = 'undone'")
    assert.equal(#ids, site:number "select count(*) from pawl.history \
      where type = 'compensated'")
    site:assert_at_rest()
    for _, id in ipairs(ids) do
      local shown = site.folder:json("show", id, "--store", site.url)
      assert.equal("boom", shown.error.code)
      assert.equal("completed", shown.compensation.status)
      assert.equal(3, #shown.compensation.completed)
    end
  end

  --- Each has gone on behind that, and each undo is recorded once.
  local function assert_gone_on(site, ids, status)
    assert.equal(#ids, site:number("select count(*) from pawl.instance \
      where status = '" .. status .. "'"))
    for _, told in pairs(outbox(site)) do
      assert.equal(TOLD .. "done.d ", told)
    end
    assert.equal(3 * #ids, site:number "select count(*) from pawl.history \
      where type = 'undone'")
    site:assert_at_rest()
  end

  local points = backend.name == "sqlite"
    and { "commit.before", "commit.after" }
    or { "commit.before_send", "commit.sent" }

  --- A worker dies at each of its commits in turn, each time with one more.
  local function die(point, given)
    local site = new(given)
    local ids, deaths = {}, 0
    for passage = 1, 60, 3 do
      ids[#ids + 1] = site:start(1)[1]
      local worker = site:worker { "--until-idle",
        fault = ("%s=kill@%d"):format(point, passage) }
      local code = worker:wait(20)
      if code == 0 then break end
      assert.equal(137, code, worker:output() .. worker:errors())
      deaths = deaths + 1
      site:drain()
    end
    assert.truthy(deaths > 3 and deaths < 20, deaths)
    return site, ids
  end

  for _, point in ipairs(points) do
    it("loses and repeats nothing at " .. point, function()
      assert_undone(die(point, flow()))
    end)

    it("by a node loses and repeats nothing at " .. point, function()
      local site, ids = die(point, by_node())
      assert_gone_on(site, ids, "completed")
    end)

    it("and cleaning up loses and repeats nothing at " .. point, function()
      local site, ids = die(point, by_cancel())
      assert_gone_on(site, ids, "cancelled")
    end)
  end
end)
