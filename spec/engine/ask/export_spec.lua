-- What an instance is, as lines of JSON; what is masked of it. That they are
-- the same elsewhere is told in ../enter/import_spec.lua.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local function decoded(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    lines[#lines + 1] = assert(core.json_decode(line))
  end
  return lines
end

local function of(lines, name)
  local found = {}
  for _, line in ipairs(lines) do
    if line.is == name then found[#found + 1] = line end
  end
  return found
end

local function flow()
  local made = pawl.workflow { code = "t.cards", start = "a" }
  made:step("a", { next = "t", run = function(ctx)
    ctx.attrs.card = "4111-secret"
    ctx.attrs.colour = "red"
    ctx.vars.customer = { name = "secret Ann", town = "Rome" }
    ctx.vars.list = pawl.array { { name = "kept", pin = "secret 1" } }
    ctx.vars.large = { pin = "secret 2", text = ("y"):rep(9000) }
    ctx.emit("told", { customer = { name = "secret Ann" } })
    return nil, { customer = { name = "secret Ann", age = 7 } }
  end })
  made:timer("t", { after = "1h", next = "z" })
  made:finish "z"
  return made
end

kit.describe("an export", function(backend)
  local function one(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(flow()))
    local id = assert(engine:start("t.cards", { pin = "secret 3" }))
    assert(engine:run())
    return engine, id, clock, url
  end

  it("is lines with a head and an end", function()
    local engine, id = one()
    local lines = decoded(assert(engine:export(id, { by = "ann" })))
    assert.equal("workflow", lines[1].is)
    assert.same({ "export", 1, id, "t.cards", "ann", false }, { lines[2].is,
      lines[2].format, lines[2].id, lines[2].workflow, lines[2].by,
      lines[2].masked })
    assert.equal("instance", lines[3].is)
    assert.same({ is = "end", id = id, rows = #lines - 3 }, lines[#lines])
    assert.equal(id, of(lines, "instance")[1].id)
    assert.is_nil(of(lines, "instance")[1].lease)
  end)

  it("has every column of every table that has rows of one", function()
    local _, _, _, url = one()
    local carried = {}
    local text = tmp.read "sql/shared/export.sql":gsub("\n%-%-   ", " ")
    for name, list in text:gmatch "%-%- columns: carried_([%l_]+)([^\n]*)" do
      carried[name] = {}
      for column in list:gmatch "([%l_%d]+) %l+" do
        carried[name][column] = true
      end
    end
    -- What another store has of its own, or makes of the rest.
    local aside = { shard = true, instance = true,
      ["instance.lease"] = true, ["instance.purge_at"] = true,
      ["agenda.lease"] = true, ["agenda.executor"] = true,
      ["agenda.was_executor"] = true, ["agenda.was_due_at"] = true,
      ["agenda.latch"] = true, ["outbox.lease"] = true,
      ["workflow.active"] = true,
        ["workflow.switched_off"] = true, ["workflow.current"] = true }
    -- made of the instance; what was done in this store stays its own, but
    -- for what its history told before it was trimmed (trim_spec)
    local standing = { standing = true, audit = true, archived_task = true,
      waiter = true, deadline = true }
    local columns = kit.select(url, backend.name == "postgres"
      and "select table_name as t, column_name as c from "
        .. "information_schema.columns where table_schema = 'pawl' and "
        .. "table_name in (select tablename from pg_tables "
        .. "where schemaname = 'pawl')"
      or "select substr(m.name, 6) as t, c.name as c from sqlite_master m, "
        .. "pragma_table_info(m.name) c where m.type = 'table' "
        .. "and m.name like 'pawl!_%' escape '!'")
    local of_instances = { instance = true, workflow = true, owner = true }
    for _, row in ipairs(columns) do
      if row.c == "instance" then of_instances[row.t] = true end
    end
    local n = 0
    for _, row in ipairs(columns) do
      if of_instances[row.t] and not standing[row.t] and not aside[row.c]
         and not aside[row.t .. "." .. row.c] then
        assert.truthy(carried[row.t], "not exported: " .. row.t)
        assert.truthy(carried[row.t][row.c],
          ("not exported: %s.%s"):format(row.t, row.c))
        n = n + 1
      end
    end
    assert.truthy(n > 150)
  end)

  it("shows nothing of what is masked", function()
    local engine, id = one()
    local text = assert(engine:export(id, { mask = { "card",
      "vars.customer.name", "vars.pin" } }))
    assert.is_nil(text:gsub('{"is":"workflow".-\n', ""):find "secret")
    local lines = decoded(text)
    assert.is_true(of(lines, "export")[1].masked)
    assert.same({ "colour" }, { of(lines, "attribute")[1].name })
    assert.equal(1, #of(lines, "attribute"))
    assert.equal("***", of(lines, "instance")[1].input.pin)
    local parts = {}
    for _, row in ipairs(of(lines, "variable")) do
      parts[#parts + 1] = row.members
    end
    local vars = assert(core.json_decode(
      "{" .. table.concat(parts, ",") .. "}"))
    assert.same({ name = "***", town = "Rome" }, vars.customer)
    assert.same({ name = "kept", pin = "***" }, vars.list[1])
    assert.equal(9000, #vars.large.text)
    local step = of(lines, "history")[1]
    assert.same({ name = "***", town = "Rome" }, step.changes.set.customer)
    assert.equal("***", of(lines, "outbox")[1].payload.customer.name)
  end)

  it("names the masks that have nothing to mask, as they were given",
    function()
      local engine, id = one()
      local function unmet(mask)
        local lines = decoded(assert(engine:export(id, { mask = mask })))
        local list = of(lines, "end")[1].unmet
        return list and { table.unpack(list) }
      end
      assert.is_nil(unmet { "card", "vars.customer.name", "vars.pin" })
      assert.is_nil(unmet "vars.name") -- beside the longer one, too
      assert.is_nil(unmet { "vars.name", "vars.customer.name" })
      assert.same({ "vars.costumer.name", "crad", "vars.customer.nam",
        "vars.vars.pin" }, unmet { "vars.costumer.name", "vars.pin", "crad",
        "vars.customer.nam", "card", "vars.vars.pin" })
      assert.same({ "nothing" }, unmet "nothing")
      assert.is_nil(unmet())
      local many = {}
      for i = 1, 32 do many[i] = "n" .. i end
      assert.same(many, unmet(many))
    end)

  it("is refused of what is not there, or not whole", function()
    local engine, id, _, url = one()
    kit.refused("notfound", "no instance", nil,
      engine:export(kit.draw_id()))
    backend.sql(url, ("update %s set purge_at = created_at"):format(
      kit.table(backend, "instance")))
    kit.refused("notfound", "no instance", nil, engine:export(id))
    assert.error_matches(function() engine:export(id, { masks = "a" }) end,
      "mask")
  end)

  it("tells of damage in the store", function()
    local engine, id, _, url = one()
    if backend.name == "postgres" then return end -- it takes JSON alone
    backend.sql(url, "update pawl_history set output = '{' where seq = 1")
    kit.refused("corrupt", "damaged JSON, of " .. id:gsub("%-", "%%-"), nil,
      engine:export(id))
  end)
end)
