--- How strict a unit is, by its engine, its workflows and its nodes, and when
--- it is on disk for that. What is not there yet is told by a tick's `unsaved`.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local system = require "system"

local KINDS <const> = { "every", "grouped", "save" }

kit.describe("a unit's durability", function(backend)
  -- A store in memory is never on a disk. PostgreSQL takes a whole session to
  -- the disk at once, or not: what says less than its engine gets more there.
  local can_wait = backend.label ~= ":memory:"
  local relaxes = can_wait and backend.name == "sqlite"

  --- One step, a, as its workflow and it say.
  local function flow(code, whole, one)
    local made = pawl.workflow { code = code, start = "a", durability = whole }
    made:step("a", { run = function() end, next = "z", durability = one })
    made:finish "z"
    return made
  end

  --- An engine that holds nothing back so far.
  local function opened(own, flows, options)
    options = options or {}
    options.durability, options.flush = own, options.flush or 60
    local engine, clock, url = backend.fresh(options)
    for _, one in ipairs(flows) do assert(engine:load(one)) end
    assert(engine:tick())
    assert(engine:save())
    return engine, clock, url
  end

  --- What is at risk once an instance of each of `codes` has ended, all started
  --- and on disk before.
  local function at_risk(engine, codes)
    local ended = 0
    for _, code in ipairs(codes) do assert(engine:start(code)) end
    assert(engine:save())
    while true do
      local stats = assert(engine:tick(1))
      ended = ended + stats.ended
      if ended == #codes then return stats.unsaved end
    end
  end

  local function saved(engine)
    assert(engine:save())
    assert.equal(0, assert(engine:tick()).unsaved)
  end

  for _, own in ipairs(KINDS) do
    it("is the node's, else the workflow's, else the engine's: " .. own,
      function()
        local flows, said = {}, {}
        for w = 0, #KINDS do
          for n = 0, #KINDS do
            local code = ("t.w%d_n%d"):format(w, n)
            flows[#flows + 1] = flow(code, KINDS[w], KINDS[n])
            said[code] = KINDS[n] or KINDS[w] or own
          end
        end
        local engine, seen = opened(own, flows), 0
        for code, kind in pairs(said) do
          local waits = kind ~= "every"
            and (own == "every" and relaxes or own ~= "every" and can_wait)
          assert.equal(waits, at_risk(engine, { code }) > 0,
            code .. " is " .. kind)
          saved(engine)
          seen = seen + 1
        end
        assert.equal(16, seen)
      end)
  end

  --- Units of an engine that takes each to the disk are counted alone.
  it("is the strictest that is in it", function()
    local engine = opened("every", { flow("t.every", "every"),
      flow("t.grouped", "grouped"), flow("t.save", "save"), flow "t.own" })
    local relaxed = relaxes and 1 or 0
    for _, case in ipairs {
      { relaxed, "t.save", "t.save" }, { relaxed, "t.grouped", "t.grouped" },
      { relaxed, "t.save", "t.grouped" }, { 0, "t.save", "t.every" },
      { 0, "t.grouped", "t.every" }, { 0, "t.grouped", "t.own" },
      { 0, "t.save", "t.grouped", "t.every" },
    } do
      assert.equal(case[1], at_risk(engine, { table.unpack(case, 2) }),
        table.concat(case, " ", 2))
      saved(engine)
    end
  end)

  it("is the strictest of its steps, where it has several", function()
    local flows = {}
    for i, last in ipairs { "every", "save" } do
      local made = pawl.workflow { code = "t.two" .. i, start = "a",
        durability = "save" }
      made:fork("a", { next = { "b", "c" } })
      made:step("b", { run = function() end, next = "j" })
      made:step("c", { run = function() end, next = "j", durability = last })
      made:join("j", { expect = "all", next = "z" })
      made:finish "z"
      flows[i] = made
    end
    local engine = opened("save", flows)
    assert.equal(0, at_risk(engine, { "t.two1" }))
    saved(engine)
    assert.equal(can_wait, at_risk(engine, { "t.two2" }) > 0)
  end)

  --- Of what stands in a group, all that came before it is there too: the log
  --- is one.
  it("takes along what was committed before it", function()
    local engine = opened("save", { flow "t.own", flow("t.every", "every") })
    local before = at_risk(engine, { "t.own" })
    assert.equal(can_wait, before > 0)
    assert.equal(0, at_risk(engine, { "t.every" }))
  end)

  it("has it on disk in time when one of it is grouped", function()
    if not relaxes then return end
    for _, case in ipairs {
      { "t.grouped", 0 }, { "t.save", "stays" }, { "t.save", 0, "t.grouped" },
    } do
      local engine = opened("every", { flow("t.grouped", "grouped"),
        flow("t.save", "save") }, { flush = 0.05 })
      assert.equal(1, at_risk(engine, { case[1], case[3] }))
      system.sleep(0.06)
      local unsaved = assert(engine:tick(1)).unsaved
      assert.equal(case[2] == 0, unsaved == 0, table.concat(case, " "))
      saved(engine)
      engine:close()
    end
  end)

  it("comes there in time, if grouped, whatever its engine says", function()
    if not relaxes then return end
    local flows = { flow "t.own", flow("t.grouped", "grouped") }
    local engine = opened("save", flows, { flush = 0.05 })
    assert.is_true(at_risk(engine, { "t.own" }) > 0)
    system.sleep(0.06)
    assert.is_true(assert(engine:tick(1)).unsaved > 0)
    assert.is_true(at_risk(engine, { "t.grouped" }) >= 0)
    system.sleep(0.06)
    assert.equal(0, assert(engine:tick(1)).unsaved)
    -- what comes behind it owes nothing any more
    assert.is_true(at_risk(engine, { "t.own" }) > 0)
    system.sleep(0.06)
    assert.is_true(assert(engine:tick(1)).unsaved > 0)
  end)

  it("of `save` is there at a save alone, and by closing", function()
    if not relaxes then return end
    local engine, clock, url = opened("save", { flow "t.own" },
      { flush = 0.01 })
    assert.is_true(at_risk(engine, { "t.own" }) > 0)
    for _ = 1, 3 do
      system.sleep(0.02)
      assert.is_true(assert(engine:tick(1)).unsaved > 0)
      assert(engine:wait(0.001))
    end
    saved(engine)
    assert.is_true(at_risk(engine, { "t.own" }) > 0)
    engine:close()
    local rows = assert(kit.rival(backend, url, clock):list())
    assert.equal(2, #rows)
    for _, row in ipairs(rows) do assert.equal("completed", row.status) end
  end)

  --- A failure to get there is told, and owed until it is there.
  it("is owed until it is there", function()
    if not relaxes then return end
    local engine = opened("save", { flow("t.every", "every") })
    local id = assert(engine:start "t.every")
    assert(engine:save())
    probe.fault "store.save=fail"
    local stats, err = engine:tick(1)
    probe.fault(nil)
    assert.is_nil(stats)
    assert.equal("store", err.code)
    assert.equal(0, assert(engine:tick(1)).unsaved)
    assert.completed(engine, id)
  end)

  --- Once a step is stored no failure of the disk is the step's, nor that of
  --- the one behind it, which is not run before.
  for _, transactional in ipairs { true, false } do
    for behind, status in pairs { finish = "completed", wait = "waiting",
      step = "completed" } do
      it(("is owed behind a %s step, before a %s"):format(
        transactional and "transactional" or "plain", behind), function()
        local ran, made = {}, pawl.workflow { code = "t.every", start = "a" }
        made:step("a", { transactional = transactional, durability = "every",
          retry = { max = 1 }, run = function() ran[#ran + 1] = "a" end,
          next = behind == "finish" and "z" or "b" })
        if behind == "wait" then
          made:wait("b", { event = "go", next = "z" })
        elseif behind == "step" then
          made:step("b", { next = "z",
            run = function() ran[#ran + 1] = "b" end })
        end
        made:finish "z"
        local function fails(engine)
          probe.fault("store.save=fail,store.save=fail@2,store.save=fail@3,"
            .. "store.mend=fail,store.mend=fail@2,store.mend=fail@3")
          local stats, err = engine:tick(0.05)
          if stats then
            assert.is_true(#ran == 0 or not can_wait)
          else
            assert.equal("store", err.code)
            assert.matches("disk", err.message)
          end
        end
        for _, own in ipairs { "grouped", "save" } do
          local engine = opened(own, { made })
          local id = assert(engine:start "t.every")
          ran = {}
          while #ran == 0 do fails(engine) end
          for _ = 1, 2 do fails(engine) end
          if can_wait then assert.same({ "a" }, ran) end
          probe.fault(nil)
          assert(engine:run())
          assert.same({ "a", behind == "step" and "b" or nil }, ran)
          assert.equal(status, kit.status(engine, id))
          assert.equal(behind == "step" and "step a, step b" or "step a",
            kit.trail(engine, id))
          engine:close()
        end
      end)
    end
  end
end)
