-- Breakpoints: set and removed.
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"

kit.describe("a breakpoint", function(backend)
  local engine, clock, url

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine, clock, url = backend.fresh(options)
    assert(engine:load(flow))
  end

  it("lets go what stands there as it is removed", function()
    prepared(halts.chain())
    halts.set(engine, "b")
    halts.set(engine, "c")
    local one, two = halts.begun(engine), halts.begun(engine)
    assert.same({ removed = 1, continued = 2 }, assert(
      engine.breakpoints:remove { workflow = "t.chain", node = "b",
        by = "bob" }))
    assert(engine:run())
    assert.equal("c", halts.at(engine, one))
    assert.equal("c", halts.at(engine, two))
    assert.same({ removed = 1, continued = 2 },
      assert(engine.breakpoints:remove { all = true }))
    assert(engine:run())
    assert.completed(engine, one)
    assert.completed(engine, two)
    kit.refused("notfound", "no breakpoint at \"t.chain\", \"b\"", "breaks",
      engine.breakpoints:remove { workflow = "t.chain", node = "b" })
    local deeds = {}
    for i, row in ipairs(assert(engine:audit { workflow = "t.chain" })) do
      deeds[i] = row.type
    end
    assert.matches("breakpoint_removed.*breakpoint_set", table.concat(deeds,
      " "))
  end)

  it("says what is wrong with what it is given", function()
    prepared(halts.chain())
    local function refused(code, text, options)
      kit.refused(code, text, nil, engine.breakpoints:set(options))
    end
    refused("notfound", "no workflow", { workflow = "t.none", node = "a" })
    refused("invalid", "no node", { workflow = "t.chain", node = "none" })
    refused("invalid", "", { workflow = "t.chain", node = "a",
      when = "vars.total >" })
    refused("invalid", "", { workflow = "t.chain", node = "a",
      when = "os.exit(1) end" })
    for _, lasts in ipairs { -1, 0, "0s" } do
      assert.error_matches(function()
        engine.breakpoints:set { workflow = "t.chain", node = "a",
          lasts = lasts }
      end, "option 'lasts' must be seconds or words like \"30s\"", 1, true)
    end
    assert.same({}, assert(engine.breakpoints:list()))
    local id = halts.begun(engine)
    kit.refused("already_finished", "", nil, engine:continue(id))
    halts.set(engine, "b")
    id = halts.begun(engine)
    kit.refused("conflict", "does not stand at a breakpoint", nil,
      engine:continue(id, { node = "c" }))
    kit.refused("invalid", "no node", nil, engine:step(id, { node = "x" }))
  end)

  it("holds a tenant's own alone, where that one sets it", function()
    prepared(halts.chain())
    local acme = kit.rival(backend, url, clock, { tenant = "acme" })
    assert(acme.breakpoints:set { workflow = "t.chain", node = "b" })
    assert.equal("completed", kit.status(engine, halts.begun(engine)))
    local id = halts.begun(engine, {}, { tenant = "acme" })
    assert.equal("b", halts.at(engine, id))
    assert.equal("acme", assert(engine.breakpoints:list())[1].tenant)
    halts.set(engine, "c", { tenant = "globex" })
    assert.equal(1, #assert(acme.breakpoints:list()))
    kit.refused("notfound", "no breakpoint", nil,
      acme.breakpoints:remove { workflow = "t.chain", node = "c" })
    assert(acme:continue(id))
    acme:close()
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)
