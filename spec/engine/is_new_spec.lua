--- Who opens a store is told whether it was there: a program that expects its
--- save does not begin anew in silence.
local command = require "spec.support.command"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

kit.describe("a store that is opened", function(backend)
  local function opened(url, options)
    local engine = backend.open(url, options)
    local is_new = engine:is_new()
    assert.equal(is_new, engine:is_new()) -- it stays so
    engine:close()
    return is_new
  end

  it("is told to be new once, by who has made it", function()
    local url = backend.url()
    kit.refused("notfound", "no store", "pawl migrate",
      pawl.open(url, { create = false }))
    kit.refused("notfound", "no store", nil, -- and nothing was made of it
      pawl.open(url, { create = false }))
    assert.is_true(opened(url))
    assert.is_false(opened(url))
    assert.is_false(opened(url, { create = false }))
    assert.is_false(opened(url, { create = true }))
  end)

  it("is not new when it was migrated before", function()
    local url = backend.url()
    assert(pawl.migrate(url))
    assert.is_false(opened(url, { create = false }))
    assert.is_false(opened(url))
  end)

  it("is not new to another one that has it open", function()
    local url = backend.url()
    local first = backend.open(url)
    local second = backend.open(url)
    assert.is_true(first:is_new())
    assert.is_false(second:is_new())
  end)

  it("is made in what has nothing in it, unless that is forbidden", function()
    local url = backend.url()
    if backend.name == "sqlite" then
      assert(io.open(url, "w")):close()
    else
      backend.sql(url, "create schema pawl")
    end
    kit.refused("notfound", "no store", nil,
      pawl.open(url, { create = false }))
    assert.is_true(opened(url))
  end)
end)

describe("pawl says that it has made a store:", function()
  local FLOW = [[
    local flow = require("pawl").workflow { code = "t.one", start = "z" }
    flow:finish "z"
    return flow]]

  local function twice(...)
    local folder = command.folder()
    folder:write("one.lua", FLOW)
    local first, second = folder:pawl(...), folder:pawl(...)
    assert.equal(0, first.code, first.err)
    assert.equal(0, second.code, second.err)
    return first, second
  end

  for _, words in ipairs { { "start", "t.one" }, { "deploy", "one.lua" },
    { "signal", "go", "--start", "t.one" } } do
    it("pawl " .. words[1], function()
      local first, second = twice(words[1], words[2], words[3] or "--store",
        words[4] or "game.db", words[3] and "--store", words[3] and "game.db")
      assert.matches("made a new store: game%.db", first.err)
      assert.not_matches("new store", second.err)
    end)
  end

  it("pawl worker", function()
    local first, second = twice("worker", "one.lua", "--until-idle",
      "--store", "game.db")
    assert.matches("worker %d+ on the new store game%.db", first.out)
    assert.matches("worker %d+ on game%.db", second.out)
  end)

  it("pawl run needs not say so", function()
    local first = twice("run", "one.lua", "--store", "game.db")
    assert.not_matches("new store", first.out .. first.err)
  end)
end)

describe("pawl.open", function()
  it("says so of a store in memory, each time", function()
    for _ = 1, 2 do
      local engine <close> = assert(pawl.open ":memory:")
      assert.is_true(engine:is_new())
    end
    local path = tmp.path "slot.db"
    local engine <close> = assert(pawl.open ":memory:")
    assert(engine:backup(path))
    local slot <close> = assert(pawl.open(path))
    assert.is_false(slot:is_new())
  end)
end)
