-- Every file in examples/ does what its first lines say.
local build = require "spec.support.build"
local command = require "spec.support.command"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local here = os.getenv "PWD"
local function example(name) return here .. "/examples/" .. name end

local function rows(folder, sql)
  return (shell.output { "sqlite3", folder.dir .. "/pawl.db", sql })
end

describe("the example", function()
  after_each(process.stop_all)

  it("01_hello.lua greets", function()
    local instance, ran = command.folder():json("run",
      example "01_hello.lua", "--input", '{"name":"Ada"}')
    assert.equal(0, ran.code, ran.err)
    assert.same({ greeting = "HELLO, ADA!" }, instance.output)
  end)

  it("order.lua retries, decides, waits and ends", function()
    local folder = command.folder()
    local ran = folder:pawl("run", example "order.lua", "--input",
      '{"item":"lamp","price":30,"count":4}')
    assert.equal(0, ran.code, ran.err)
    assert.matches("charge attempt 1 failed .*the bank does not answer",
      ran.out)
    assert.matches("charge attempt 3 done .*pack_with_care", ran.out)
    assert.matches("cool_off waiting until", ran.out)
    assert.matches("timer cool_off fired %-> ship", ran.out)
    assert.matches('output  {"parcel":"crate","total":120}', ran.out, 1, true)
  end)

  it("order.lua ends as failed when the card is refused", function()
    local instance, ran = command.folder():json("run", example "order.lua",
      "--input", '{"card":"stolen"}')
    assert.equal(1, ran.code)
    assert.equal("failed", instance.status)
    assert.equal("refused", instance.node)
  end)

  it("firmware.lua switches the slot, exactly once", function()
    local folder = command.folder()
    local instance, ran = folder:json("run", example "firmware.lua",
      "--input", '{"version":"2.1","size":40000}')
    assert.equal(0, ran.code, ran.err)
    assert.same({ running = "2.1", bytes = 40000 }, instance.output)
    assert.equal("B|2.1\n", rows(folder,
      "select slot, version from boot_slot"))
  end)

  it("firmware.lua survives a power cut while it downloads", function()
    local folder = command.folder()
    local words = { "run", example "firmware.lua", "--input",
      '{"version":"2.1","size":4000000}' }
    local child = folder:start(table.unpack(words))
    assert.truthy(child:wait_for("download attempt 1 done", 20))
    child:kill "KILL"
    child:wait(10)
    local ran = folder:pawl(table.unpack(words))
    assert.equal(0, ran.code, ran.err)
    assert.matches("^resuming ", ran.err)
    assert.matches('"bytes":4000000', ran.out)
  end)

  it("firmware.lua rolls back an image that does not come up", function()
    local folder = command.folder()
    local instance, ran = folder:json("run", example "firmware.lua",
      "--input", '{"version":"2.2","broken":true}')
    assert.equal(1, ran.code)
    assert.equal("rolled_back", instance.node)
    assert.equal("A|2.2\n", rows(folder,
      "select slot, version from boot_slot"))
  end)

  it("quest_game.lua plays in game time", function()
    local code, out, err = process.run({ "lua5.4",
      example "quest_game.lua" }, { env = build.env })
    assert.equal(0, code, err)
    assert.matches("Bob: You swim", out)
    assert.matches("Ada: You pay", out)
    assert.matches("all quests done after 1%d%.%d s of game time\n$", out)
  end)

  it("quest_game.lua goes on from its save file", function()
    local save = tmp.path "quest.db"
    local words = { "lua5.4", example "quest_game.lua", save }
    assert.equal(0, (process.run(words, { env = build.env })))
    local code, out = process.run(words, { env = build.env })
    assert.equal(0, code)
    assert.matches("Ada: The other shore!", out) -- told again, not run again
    local _, count = out:gsub("The other shore!", "")
    assert.equal(2, count)
  end)

  it("embed/main.c runs the hello workflow", function()
    local code, out, err = process.run { build.dir .. "/example_embed",
      example "01_hello.lua" }
    assert.equal(0, code, err)
    assert.matches('"greeting":"HELLO, C!"', out, 1, true)
  end)
end)
