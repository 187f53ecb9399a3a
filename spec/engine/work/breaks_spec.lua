-- Breakpoints: how workers learn of them.
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"

kit.describe("a breakpoint", function(backend)
  local engine, clock, url

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine, clock, url = backend.fresh(options)
    assert(engine:load(flow))
  end

  it("is there for every worker, and survives the one that set it", function()
    prepared(halts.chain())
    halts.set(engine, "c")
    local other = kit.rival(backend, url, clock)
    if url ~= ":memory:" then engine:close() end
    assert(other:load(halts.chain()))
    engine = other
    local id = halts.begun(engine)
    assert.same({ "a", "b" }, halts.ran)
    assert.equal("c", halts.at(engine, id))
    local third = kit.rival(backend, url, clock)
    assert(third:continue(id))
    third:close()
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is heeded by who holds the instance, after its next commit", function()
    local flow = kit.chain { function()
      local rival = kit.rival(backend, url, clock)
      assert(rival.breakpoints:set { workflow = "t.chain", node = "b" })
      rival:close()
    end, function() halts.ran[#halts.ran + 1] = "b" end }
    prepared(flow)
    local id = halts.begun(engine)
    assert.same({}, halts.ran)
    assert.equal("b", halts.at(engine, id))
  end)
end)
