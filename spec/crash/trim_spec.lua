--- kill -9 of a worker that trims long histories, at each place where it does:
--- rows are gone and that is told, or neither; nothing that holds a value goes.
local Site = require "spec.support.site"
local pawl = require "pawl"

local KEEP, ROUNDS = 100, 500

--- Goes round; `total` changes each time, `first` never again.
local FLOW = { nodes = { "a" }, text = ([[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.crash", start = "a",
  keep_history = %d }
flow:step("a", {
  run = function(ctx)
    local vars = ctx.vars
    vars.total = (vars.total or 0) + 1
    vars.first = vars.first or vars.total
    if vars.total %% 40 == 0 then vars["now and then"] = vars.total end
    return vars.total < %d and "again" or "out"
  end,
  next = { again = "a", out = "done" },
})
flow:finish "done"
return flow
]]):format(KEEP, ROUNDS) }

Site.each("a worker killed while it trims a history", function(new)
  --- What is left of an instance's history, and what tells of the rest, agree.
  local function check(engine, id)
    local instance = assert(engine:get(id))
    local rows = assert(engine:history(id, { limit = 100000 }))
    local trimmed = instance.trimmed or { upto = 0, rows = 0 }
    local seqs, n = {}, 0
    local values = {}
    for _, row in ipairs(rows) do
      if row.type == "trimmed" then
        assert.same(instance.trimmed, row.trimmed)
      else
        n = n + 1
        seqs[row.seq] = true
        for name, value in pairs(row.changes and row.changes.set or {}) do
          values[name] = value
        end
      end
    end
    local last = rows[#rows] and rows[#rows].seq or 0
    assert.equal(last, n + trimmed.rows)
    for seq = trimmed.upto + 1, last do
      assert.is_true(seqs[seq], "row " .. seq)
    end
    assert.same(instance.variables, values)
    return instance, n
  end

  for _, point in ipairs { "engine.trim.dropped", "engine.trim.before",
    "engine.trim.after" } do
    it("leaves nothing half done at " .. point, function()
      local site = new(FLOW)
      local ids, deaths = site:start(2), 0
      for passage = 1, 20 do
        local worker = site:worker { "--until-idle",
          "--recoveries", "100",
          fault = ("%s=kill@%d"):format(point, (passage - 1) % 2 + 1) }
        local code = worker:wait(30)
        local engine <close> = assert(pawl.open(site.url))
        for _, id in ipairs(ids) do check(engine, id) end
        if code == 0 then break end
        assert.equal(137, code, worker:output() .. worker:errors())
        deaths = deaths + 1
      end
      site:drain("--recoveries", "100")
      assert.is_true(deaths >= 4, deaths)
      local engine <close> = assert(pawl.open(site.url))
      for _, id in ipairs(ids) do
        local instance, n = check(engine, id)
        assert.equal("completed", instance.status)
        assert.equal(ROUNDS, instance.variables.total)
        assert.is_true(instance.trimmed.rows > 0)
        assert.is_true(n >= KEEP and n <= ROUNDS - instance.trimmed.rows
          + deaths, n)
      end
    end)
  end
end)
