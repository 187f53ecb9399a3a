-- Files that become the store's at once, or not at all.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local tmp = require "spec.support.tmp"

--- A file whose workflow's output is `says`.
local function file(code, version, says)
  return tmp.file(code .. ".lua", ([[
    local pawl = require "pawl"
    local flow = pawl.workflow { code = %q, version = %s, start = "t" }
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish("z", { output = function() return %q end })
    return flow
  ]]):format(code, version, says))
end

local AUTO <const> = '"auto"'

kit.describe("a deployment", function(backend)
  after_each(function() probe.fault(nil) end)

  local function versions(engine)
    local found = {}
    for i, flow in ipairs(assert(engine.workflows:list())) do
      found[i] = ("%s %d.%d"):format(flow.workflow, flow.version,
        flow.revision)
    end
    return table.concat(found, ", ")
  end

  local function outcomes(list)
    local found = {}
    for i, one in ipairs(list) do
      found[i] = one.error and one.error.code
        or ("%s %d %s"):format(one.workflow, one.version, one.outcome)
    end
    return table.concat(found, ", ")
  end

  it("is of all its files, for others to run", function()
    local engine, clock, url = backend.fresh()
    local a, b = file("t.a", 1, "a"), file("t.b", AUTO, "b")
    local list = assert(engine:deploy({ a, b }, { by = "ann" }))
    assert.equal("t.a 1 new, t.b 1 new", outcomes(list))
    assert.equal(a, list[1].file)
    assert.equal("ann", engine.workflows:get("t.a").by)
    assert.equal(list[1].sha256, engine.workflows:get("t.a").sha256)
    local id = assert(engine:start "t.b")
    engine:close()
    local worker = kit.rival(backend, url, clock)
    assert(worker:run { wait = true, timeout = "2h" })
    assert.equal("b", assert(worker:get(id)).output)
  end)

  it("says what was there, and what it replaced", function()
    local engine = backend.fresh()
    local a, b = file("t.a", 1, "a"), file("t.b", AUTO, "b")
    assert(engine:deploy { a, b })
    assert.equal("t.a 1 replaced, t.b 1 same, t.c 5 new",
      outcomes(assert(engine:deploy { file("t.a", 1, "other"), b,
        file("t.c", 5, "c") })))
    assert.equal("t.b 2 new",
      outcomes(assert(engine:deploy(file("t.b", AUTO, "more")))))
    assert.equal("t.a 1.2, t.b 1.1, t.b 2.1, t.c 5.1", versions(engine))
  end)

  it("is of none when one is wrong, and tells of each", function()
    local engine = backend.fresh()
    assert(engine:deploy(file("t.used", 1, "old")))
    assert(engine:start "t.used")
    local before = versions(engine)
    local good, used = file("t.good", 1, "x"), file("t.used", 1, "new")
    local list, err, wrong = engine:deploy { good, used, file("t.c", 1, "c") }
    assert.is_nil(list)
    assert.equal("exists", err.code)
    assert.matches("nothing is deployed: .*t%.used", err.message)
    assert.matches("version = 2", err.hint)
    assert.equal("t.good 1 new, exists, t.c 1 new", outcomes(wrong))
    assert.equal(before, versions(engine))

    local bad = tmp.file("bad.lua", "return 7")
    list, err, wrong = engine:deploy { bad, good, "/nowhere/x.lua" }
    assert.is_nil(list)
    assert.equal("definition", err.code)
    assert.matches("and 1 more", err.message)
    assert.same({ "definition", "notfound" }, { wrong[1].error.code,
      wrong[3].error.code })
    assert.equal("t.good", wrong[2].workflow)
    assert.is_nil(wrong[2].error)
    assert.equal(before, versions(engine))
  end)

  it("refuses one version in two files that differ", function()
    local engine = backend.fresh()
    for _, version in ipairs { 3, AUTO } do
      local a, b = file("t.a", version, "a"), file("t.a", version, "b")
      local _, err, wrong = engine:deploy { a, b }
      assert.equal("definition", err.code)
      assert.matches("are one version of workflow \"t.a\", and differ",
        wrong[2].error.message)
      assert(wrong[2].error.message:find(a, 1, true))
    end
    assert.equal("", versions(engine))
    local a = file("t.a", 3, "a") -- a copy does no harm
    assert.equal("t.a 3 new, t.a 3 same", outcomes(assert(engine:deploy { a,
      file("t.a", 3, "a") })))
  end)

  it("goes on where another has deployed the same meanwhile", function()
    if backend.name == "sqlite" then return end -- one writer at a time
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    local files = { file("t.a", AUTO, "a"), file("t.b", 1, "b") }
    local other
    probe.fault("register.looked=call", function()
      other = assert(b:deploy(files))
    end)
    local own = assert(a:deploy(files))
    probe.fault(nil)
    assert.equal("t.a 1 new, t.b 1 new", outcomes(other))
    assert.equal("t.a 1 same, t.b 1 same", outcomes(own))
    assert.equal("t.a 1.1, t.b 1.1", versions(a))
  end)

  it("names what it was given wrong", function()
    local engine = backend.fresh()
    for _, files in ipairs { {}, { 7 }, 7, { a = "x" } } do
      assert.error_matches(function() engine:deploy(files) end,
        "bad argument #1 to 'deploy' %(a file or a list of files expected")
    end
    assert.error_matches(function() engine:deploy("x", { bye = "x" }) end,
      "by")
    local _, err, wrong = engine:deploy { "", "a\0b" }
    assert.equal("invalid", err.code)
    assert.matches("path is empty", wrong[1].error.message)
    assert.matches("zero byte", wrong[2].error.message)
  end)
end)
