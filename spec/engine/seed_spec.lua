-- Under a virtual clock and a seed two runs store the same, byte for byte.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local FLOW = [[
  local pawl = require "pawl"
  local w = pawl.workflow { code = "t.seed", version = 1, start = "a" }
  w:step("a", { retry = { max = 5, base = 1, cap = 60 }, next = "f",
    run = function(ctx)
      if ctx.attempt < 3 then error("not yet") end
      ctx.attrs.color = "red"
      ctx.emit("made", { n = 1 })
    end })
  w:fork("f", { next = { "t", "w", "b" } })
  w:timer("t", { after = "1h", next = "j" })
  w:wait("w", { event = "go", key = function(ctx) return ctx.input.key end,
    next = "j" })
  w:step("b", { next = "j", run = function(ctx)
    ctx.vars.id = ctx.start("t.child", {}, { parent_end = "leave" })
  end })
  w:join("j", { expect = "all", next = "z" })
  w:finish("z", { output = function(ctx) return ctx.vars end })
  return w
]]

local CHILD = [[
  local w = require "pawl".workflow { code = "t.child", start = "z" }
  w:finish("z")
  return w
]]

-- Traces of errors have their names.
local FILES = { child = tmp.file("child.lua", CHILD),
                flow = tmp.file("flow.lua", FLOW) }

local TABLES = { "instance", "history", "token", "event", "inbox", "outbox",
  "message", "subscription", "attribute", "agenda", "workflow", "executor",
  "counter" }

--- All rows of these tables, sorted, as one text.
local function dump(backend, url)
  local lines = {}
  for _, name in ipairs(TABLES) do
    local full = (backend.name == "postgres" and "pawl." or "pawl_") .. name
    for _, row in ipairs(backend.sql(url, "select * from " .. full)) do
      local cells = {}
      -- PostgreSQL numbers events by its own transactions
      row.ord = backend.name ~= "postgres" and row.ord or nil
      for column, value in pairs(row) do
        cells[#cells + 1] = column .. "=" .. value
      end
      table.sort(cells)
      lines[#lines + 1] = name .. ": " .. table.concat(cells, " ")
    end
  end
  table.sort(lines)
  return lines
end

--- The lines that only one of them has.
local function difference(a, b)
  local of_a, lines = {}, {}
  for _, line in ipairs(a) do of_a[line] = (of_a[line] or 0) + 1 end
  for _, line in ipairs(b) do
    of_a[line] = (of_a[line] or 0) - 1
    if of_a[line] < 0 then lines[#lines + 1] = "second " .. line end
  end
  for line, n in pairs(of_a) do
    if n > 0 then lines[#lines + 1] = "first  " .. line end
  end
  table.sort(lines)
  return lines
end

local function run(backend, seed)
  local engine, clock, url = backend.fresh { seed = seed, state = "private" }
  assert(engine:load(FILES.child))
  assert(engine:load(FILES.flow))
  local ids = {}
  for i = 1, 5 do
    ids[i] = assert(engine:start("t.seed", { key = "k" .. i },
      { key = "s" .. i }))
  end
  for _ = 1, 20 do
    assert(engine:tick(1))
    clock:advance(30)
  end
  for i = 1, 4 do assert(engine:signal { name = "go", key = "k" .. i }) end
  for _ = 1, 10 do
    clock:advance(600)
    assert(engine:tick(1))
  end
  assert.equal("completed", assert(engine:status(ids[1])))
  assert.equal("waiting", assert(engine:status(ids[5])))
  engine:close()
  return dump(backend, url)
end

kit.describe("two runs", function(backend)
  if backend.label == ":memory:" then return end

  it("store the same under a seed and a virtual clock", function()
    local first, second = run(backend, 7), run(backend, 7)
    assert.is_true(#first > 50)
    assert.same({}, difference(first, second))
    assert.is_true(#difference(first, run(backend, 8)) > 50)
  end)
end)
