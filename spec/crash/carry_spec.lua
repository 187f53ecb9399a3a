--- kill -9 of `pawl export --move` and `pawl import` at each of their steps:
--- what is moved goes on in one of the two stores, never in both, and is not
--- lost between them.
local command = require "spec.support.command"
local pawl = require "pawl"
local Site = require "spec.support.site"
local system = require "system"
local tmp = require "spec.support.tmp"

local FLOW <const> = { { "a", 'ctx.vars.a = 1 ctx.attrs.colour = "red"' },
  { "b" } }

Site.each("what is moved under kills", function(new)
  --- An instance that has not begun, and the folder of where it is moved to.
  local function two()
    local site = new(Site.flow(FLOW))
    local id = site:start(1)[1]
    local there = command.folder()
    there:write("flow.lua", tmp.read(site.folder.dir .. "/flow.lua"))
    return site, there, id
  end

  local function export(site, id, fault)
    local child = site.folder:start("export", id, "--move", "--store",
      site.url, { env = { PAWL_FAULT = fault or "" } })
    return child:wait(30), child:output(), child:errors()
  end

  local function import(there, fault)
    local child = there:start("import", "moved.jsonl",
      { env = { PAWL_FAULT = fault or "" } })
    return child:wait(30), child:output(), child:errors()
  end

  local function status(url, id)
    local engine <close> = assert(pawl.open(url))
    local instance = engine:get(id)
    return instance and instance.status, instance and instance.away
  end

  for _, point in ipairs { "engine.act.send", "engine.export.carried" } do
    it("is fenced off whole, or not at all: " .. point, function()
      local site, there, id = two()
      assert.equal(137, (export(site, id, point .. "=kill")))
      local _, away = status(site.url, id)
      assert.equal(point == "engine.export.carried", away ~= nil)
      local code, lines, errors = export(site, id)
      assert.equal(0, code, errors)
      there:write("moved.jsonl", lines)
      assert.equal(0, (import(there)))
      assert.equal("suspended", (status(site.url, id)))
      local worker = there:pawl("worker", "flow.lua", "--until-idle")
      assert.equal(0, worker.code, worker.err)
      assert.equal("completed", there:json("show", id).status)
      site:drain()
      assert.equal("suspended", (status(site.url, id)))
    end)
  end

  for _, point in ipairs { "engine.import.batch", "engine.import.last" } do
    it("has arrived whole, or not at all: " .. point, function()
      local site, there, id = two()
      local code, lines, errors = export(site, id)
      assert.equal(0, code, errors)
      there:write("moved.jsonl", lines)
      assert.equal(0, there:pawl("migrate").code)
      local deaths = 0
      for passage = 1, 20 do
        code = import(there, ("%s=kill@%d"):format(point, passage))
        if code == 0 then break end
        assert.equal(137, code)
        deaths = deaths + 1
        assert.same({}, there:json("list"))
      end
      assert.is_true(deaths > 0)
      assert.equal(0, code)
      local _, said = import(there) -- its answer was lost
      assert.matches("imported 0, there before 1", said)
      assert.equal(0, there:pawl("worker", "flow.lua", "--until-idle").code)
      assert.equal("completed", there:json("show", id).status)
    end)
  end

  it("has arrived whole, or not at all, whenever it is killed", function()
    local site, there = two()
    local ids = site:start(20)
    local child = site.folder:start("export", "--all", "--move", "--store",
      site.url)
    assert.equal(0, child:wait(30), child:errors())
    there:write("moved.jsonl", child:output())
    assert.equal(0, there:pawl("migrate").code)
    local most = 0
    for _ = 1, 15 do
      local one = there:start("import", "moved.jsonl")
      system.sleep(math.random() * 0.08)
      one:kill "KILL"
      one:wait(30)
      local list = there:json("list")
      assert.is_true(#list >= most, #list) -- what has arrived stays
      most = #list
    end
    local code, said, errors = import(there)
    assert.equal(0, code, said .. errors)
    assert.equal(0, there:pawl("worker", "flow.lua", "--until-idle").code)
    local found = {}
    for _, instance in ipairs(there:json("list")) do
      found[instance.id] = instance.status
    end
    for _, id in ipairs(ids) do assert.equal("completed", found[id]) end
  end)
end)
