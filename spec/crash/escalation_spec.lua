--- kill -9 around what is escalated, in an instance and to its parent: who is
--- told is told once, whenever the worker dies.
local Site = require "spec.support.site"

local CHILD <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.child" }
flow:step("tell", { run = function(ctx)
  ctx.escalate("stock.low", ctx.id)
  ctx.escalate("nobody.cares")
end })
flow:escalate("again", { event = "stock.low" })
flow:finish "z"
return flow
]]

--- A call that its child tells something, twice; and a step that ends its fork.
local PARENT <const> = [[
local function told(ctx) ctx.emit("told", ctx.event.data) end
flow:call("a", { workflow = "t.child", next = "both",
  on_event = { event = "stock.low", interrupt = false, run = told } })
flow:fork("both", { next = { "out", "idle" },
  on_event = { event = "no.stock", next = "ends" } })
flow:step("out", { next = "meet",
  run = function(ctx) ctx.escalate "no.stock" end })
flow:timer("idle", { after = "1d", next = "meet" })
flow:join("meet", { next = "z" })
flow:step("ends", { next = "z", run = function(ctx) ctx.emit "ended" end })
flow:finish "z"
return flow
]]

local function parent()
  local given = Site.flow { { "a", "" } }
  given.text = given.text:gsub('flow:step%("a".*$',
    (PARENT:gsub("%%", "%%%%")))
  return given
end

Site.each("what is escalated", function(new)
  for _, point in ipairs { "engine.commit.before", "engine.commit.after",
    "engine.deliver.handed" } do
    it("is told once by who dies at " .. point, function()
      local site = new(parent())
      site.folder:write("child.lua", CHILD)
      local n, deaths = 0, 0
      for passage = 1, 8 do
        n = n + #site:start(2)
        local code = site:worker { "child.lua", "--until-idle", "--batch", "1",
          fault = ("%s=kill@%d"):format(point, passage) }:wait(30)
        if code == 137 then deaths = deaths + 1 end
      end
      assert.is_true(deaths > 0)
      site:drain "child.lua"
      local function count(what)
        return site:number("select count(*) " .. what)
      end
      assert.equal(2 * n, count "from pawl.instance where status = 'completed'")
      assert.equal(2 * n, count "from pawl.outbox where type = 'told'")
      assert.equal(n, count "from pawl.outbox where type = 'ended'")
      assert.equal(n, count "from pawl.history where type = 'untaken'")
      assert.equal(4 * n, count "from pawl.history where type = 'escalated'")
      assert.equal(0, count "from pawl.message")
    end)
  end
end)
