--- kill -9 around a failure that is told: it is recorded, emitted and handed to
--- its handler together, each once, whenever the worker dies.
local Site = require "spec.support.site"

local MEND <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.mend", start = "m" }
flow:step("m", { run = function() end, next = "z" })
flow:finish "z"
return flow
]]

--- Fails at its only step.
local function failing()
  local flow = Site.flow { { "a", "error { code = 'as_told' }",
    "retry = false," } }
  flow.text = flow.text:gsub('start = "a" }',
    'start = "a", on_failure = { emit = "t.failed", start = "t.mend" } }')
  return flow
end

Site.each("a failure that is told", function(new)
  for _, point in ipairs { "engine.commit.before", "engine.commit.after",
    "engine.deliver.handed" } do
    it("is told once by who dies at " .. point, function()
      local site = new(failing())
      site.folder:write("mend.lua", MEND)
      local n, deaths = 0, 0
      for passage = 1, 4 do
        n = n + #site:start(3)
        local code = site:worker { "mend.lua", "--until-idle", "--batch", "1",
          fault = ("%s=kill@%d"):format(point, passage) }:wait(30)
        if code == 137 then deaths = deaths + 1 end
      end
      assert.is_true(deaths > 0)
      site:drain "mend.lua"
      local function count(what)
        return site:number("select count(*) " .. what)
      end
      assert.equal(n, count "from pawl.instance where workflow = 't.crash' \
        and status = 'failed'")
      assert.equal(n, count "from pawl.outbox where type = 't.failed'")
      assert.equal(n, count "from pawl.history where type = 'on_failure'")
      assert.equal(n, count "from pawl.instance where workflow = 't.mend' \
        and status = 'completed'")
      assert.equal(0, count "from pawl.message")
    end)
  end
end)
