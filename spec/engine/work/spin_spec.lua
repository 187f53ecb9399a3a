-- Instances that go on and on without waiting are told of.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an instance that goes on without waiting", function(backend)
  --- What the log said of it, after `n` steps in a row and some more.
  local function told(n, between)
    local said = {}
    local engine, clock = backend.fresh { log = function(level, text, fields)
      if text:find "without waiting" then
        said[#said + 1] = { level, fields.node, fields.workflow,
          fields.instance }
      end
    end }
    local runs = 0
    local flow = pawl.workflow { code = "t.busy", start = "a" }
    flow:step("a", { next = { again = "a", rest = "t", out = "z" },
      run = function()
        runs = runs + 1
        if runs == n then return "out" end
        return between and runs % between == 0 and "rest" or "again"
      end })
    flow:timer("t", { after = "1s", next = "a" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.busy")
    while kit.status(engine, id) ~= "completed" do
      assert(engine:run())
      clock:advance(2)
    end
    return said, id
  end

  it("is told of in the log, once", function()
    local said, id = told(2500)
    assert.same({ { "warn", "a", "t.busy", id } }, said)
  end)

  it("is not when it waits now and then", function()
    assert.same({}, (told(2500, 900)))
    assert.same({}, (told(999)))
  end)

  it("is not for the many items of an each", function()
    local said = 0
    local engine = backend.fresh { log = function(_, text)
      if text:find "without waiting" then said = said + 1 end
    end }
    local flow = pawl.workflow { code = "t.busy", start = "e" }
    flow:each("e", { branch = "s", next = "z", items = function()
      local list = {}
      for i = 1, 1200 do list[i] = i end
      return list
    end })
    flow:step("s", { next = "e", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, said)
  end)
end)
