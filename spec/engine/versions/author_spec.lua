--- Whose a code is: who defined it first, and what others of limited trust may
--- make of it then.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local tmp = require "spec.support.tmp"

local FILE <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a", version = %s }
flow:step("a", { run = function(ctx) ctx.vars.says = "%s" end, next = "z" })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local function file(code, version, says)
  return tmp.file("flow.lua", FILE:format(code, version, says))
end

local function mod(author, level, takes)
  return { trust = { level = level or "limited", author = author,
    takes = takes } }
end

local function says(engine, code)
  local id = assert(engine:start(code))
  engine:run { id = id }
  return assert(engine:get(id)).output.says
end

local function versions(engine)
  local list = {}
  for _, w in ipairs(engine.workflows:list()) do
    list[#list + 1] = ("%s %d %s %s"):format(w.workflow, w.version, w.trust,
      w.author or "-")
  end
  return table.concat(list, ", ")
end

kit.describe("the code of a workflow", function(backend)
  for _, level in ipairs { "limited", "isolated" } do
    it("is the host's own where that defined it: " .. level, function()
      local engine = backend.fresh()
      assert(engine:load(file("game.main", 1, "game")))
      for _, what in ipairs { file("game.main", 2, "mod"),
        file("game.main", 1, "mod"), file("game.main", '"auto"', "mod"),
        file("game.main", 1, "game") } do -- as it is, to have it limited
        kit.refused("limit", "game.main is the host's own: it may not be "
          .. "defined by spells", "takes", engine:load(what,
          mod("spells", level)))
      end
      kit.refused("limit", "the host's own: it may not be defined by guest",
        "takes", engine:load(file("game.main", 2, "mod"), { trust = level }))
      assert.equal("game.main 1 trusted -", versions(engine))
      assert.equal("game", says(engine, "game.main"))
    end)
  end

  it("is the author's who defined it first", function()
    local engine = backend.fresh()
    local first = file("mod.one", 1, "spells")
    assert(engine:load(first, mod "spells"))
    for _, what in ipairs { file("mod.one", 2, "swords"), first } do
      kit.refused("limit", "mod.one is that of author spells: it may not be "
        .. "defined by swords", "takes", engine:load(what, mod "swords"))
    end
    assert(engine:load(file("mod.one", 2, "more"), mod "spells"))
    assert(engine:load(file("mod.two", 1, "swords"), mod "swords"))
    -- a process of its own, or none, is the same author
    assert(engine:load(file("mod.one", 3, "last"), mod("spells", "isolated")))
    assert.equal("mod.one 1 limited spells, mod.one 2 limited spells, "
      .. "mod.one 3 isolated spells, mod.two 1 limited swords",
      versions(engine))
    assert.equal("last", says(engine, "mod.one"))
  end)

  it("is so in another engine, and after a start", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file("mod.one", 1, "spells"), mod "spells"))
    engine:close()
    local other = kit.rival(backend, url, clock, { state = "private",
      trust = { author = "swords" } })
    kit.refused("limit", "author spells", "takes",
      other:load(file("mod.one", 2, "swords")))
    assert.equal("spells", says(other, "mod.one"))
  end)

  it("is the guest's where no author is named", function()
    local engine = backend.fresh { trust = "limited" }
    assert(engine:load(file("mod.one", 1, "one")))
    assert(engine:load(file("mod.one", 2, "two"), { trust = "limited" }))
    kit.refused("limit", "author guest", "takes",
      engine:load(file("mod.one", 3, "three"), mod "spells"))
  end)

  it("is refused for what is deployed, and nothing of it is stored", function()
    local engine, clock, url = backend.fresh()
    assert(engine:deploy { file("game.main", 1, "game") })
    local other = kit.rival(backend, url, clock, { state = "private",
      trust = { author = "spells" } })
    local _, err, files = other:deploy { file("mod.one", 1, "spells"),
      file("game.main", 2, "spells") }
    assert(err)
    assert.is_nil(files[1].error)
    assert.equal("limit", files[2].error.code)
    assert.matches("the host's own", files[2].error.message)
    assert.equal("game.main 1 trusted -", versions(engine))
  end)

  it("lets no hot-fix by another in", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file("game.main", 1, "game")))
    assert(engine:load(file("mod.one", 1, "spells"), mod "spells"))
    local other = kit.rival(backend, url, clock, { state = "private",
      trust = { author = "swords" } })
    kit.refused("limit", "the host's own", "takes",
      other.workflows:hotfix(file("game.main", 1, "fixed")))
    kit.refused("limit", "author spells", "takes",
      other.workflows:hotfix(file("mod.one", 1, "fixed")))
    assert.equal("game", says(engine, "game.main"))
  end)

  it("stays the author's when the host fixes it", function()
    local engine = backend.fresh()
    assert(engine:load(file("mod.one", 1, "wrong"), mod "spells"))
    assert(engine.workflows:hotfix(file("mod.one", 1, "right")))
    assert.equal("mod.one 1 limited spells", versions(engine))
    assert(engine:load(file("mod.one", 2, "next"), mod "spells"))
  end)

  it("is the host's from the day that it defines a version", function()
    local engine = backend.fresh()
    local own = file("mod.one", 1, "spells")
    assert(engine:load(own, mod "spells"))
    assert(engine:load(own)) -- as it is: that is nothing new
    assert(engine:load(own, mod "spells"))
    assert(engine:load(file("mod.one", 2, "game")))
    assert.equal("mod.one 1 limited spells, mod.one 2 trusted -",
      versions(engine))
    for _, what in ipairs { own, file("mod.one", 3, "spells") } do
      kit.refused("limit", "the host's own", "takes",
        engine:load(what, mod "spells"))
    end
  end)

  it("passes to whom the host grants to take it", function()
    local engine = backend.fresh()
    local path = file("mod.one", 1, "game")
    assert(engine:load(path))
    kit.refused("limit", "the host's own", "takes",
      engine:load(path, mod("spells", "limited", "mod.two")))
    assert(engine:load(path, mod("spells", "limited", "mod.*")))
    assert.equal("mod.one 1 limited spells", versions(engine))
    assert(engine:load(path, mod "spells")) -- and is his from now on
    assert(engine:load(file("mod.one", 2, "more"), mod "spells"))
    kit.refused("limit", "author spells", "takes",
      engine:load(path, mod "swords"))
  end)

  it("is one author's where two define it at once", function()
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock)
    local points = { "register.before" }
    -- SQLite has one writer at a time
    if backend.name ~= "sqlite" then points[2] = "register.looked" end
    for i, point in ipairs(points) do
      local code = "mod.one" .. i
      local mine, theirs = file(code, 1, "mine"), file(code, 2, "theirs")
      probe.fault(point .. "=call", function()
        assert(b:load(theirs, mod "swords"))
      end)
      local info, err = a:load(mine, mod "spells")
      probe.fault(nil)
      kit.refused("limit", "author swords", "takes", info, err)
      assert.equal("theirs", says(a, code))
    end
  end)

  it("comes with what is imported, and is not taken by that", function()
    local engine, clock = backend.fresh()
    assert(engine:load(file("mod.one", 1, "spells"), mod "spells"))
    local id = assert(engine:start "mod.one")
    engine:run { id = id }
    local text = assert(engine:export(id))
    local other = backend.fresh { clock = clock }
    assert(other:import(text))
    assert.equal("mod.one 1 limited spells", versions(other))
    kit.refused("limit", "author spells", "takes",
      other:load(file("mod.one", 2, "swords"), mod "swords"))
    assert(other:load(file("mod.one", 2, "more"), mod "spells"))
  end)
end)
