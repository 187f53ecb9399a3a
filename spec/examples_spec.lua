-- Every file in examples/ does what its first lines say; quotes.lua, which
-- needs a slow server, is http_spec's.
local backends = require "spec.support.backends"
local build = require "spec.support.build"
local command = require "spec.support.command"
local pawl = require "pawl"
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

  it("approval.lua is decided by the commands that it names", function()
    local folder = command.folder()
    local text = tmp.read(example "approval.lua")
    local start = assert(text:match "\n%-%-   pawl (start [^\n]+)")
    local complete = assert(text:match "\n%-%-   pawl (task complete [^\n]+)")
    local function pawl_line(line)
      local words = {}
      for word in line:gmatch "%S+" do
        words[#words + 1] = word:match "^'(.*)'$" or word
      end
      return folder:pawl(table.unpack(words))
    end
    local function work()
      folder:pawl("worker", example "approval.lua", "--until-idle")
    end
    assert.equal(0, pawl_line(start).code)
    work()
    local task = folder:json("task", "list", "--role", "manager")[1].id
    local ran = pawl_line((complete:gsub("TASK", task)))
    assert.equal(0, ran.code, ran.err)
    work()
    assert.equal("paid", folder:json("list")[1].node)
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

for _, backend in ipairs(backends) do
  describe("on " .. backend.name .. " the example", function()
    after_each(backend.cleanup)

    --- An engine that has loaded an example, and an instance that has run as
    --- far as it goes.
    local function started(name, code, input)
      local engine, clock = backend.fresh()
      assert(engine:load(example(name)))
      local id = assert(engine:start(code, input))
      assert(engine:run())
      return engine, id, clock
    end

    local function task_of(engine, id)
      return assert(engine.tasks:list { instance = id })[1]
    end

    it("testing/ is a folder with specs, and finds the mistakes in it",
      function()
        local folder = command.folder()
        shell.output { "cp", "-r", example "testing/.", folder.dir }
        local store = backend.name ~= "sqlite" and backend.url() or nil
        local child = folder:start("test", "--output=TAP", "--coverage",
          "gone.json", "--threshold", "90", { env = { SHOP_STORE = store } })
        local code = child:wait(600)
        local out = child:output()
        assert.equal(0, code, out .. child:errors())
        for _, what in ipairs { "a worker that dies anywhere charges nobody "
          .. "twice", "a seat is taken twice, when two look before either "
          .. "books", "whatever goes wrong is found where a key is missing" }
        do
          assert.matches("\nok %d+ %- " .. what:gsub("%p", "%%%0"),
            "\n" .. out)
        end
      end)

    it("approval.lua pays what is small without asking", function()
      local engine, id = started("approval.lua", "example.approval",
        { who = "Ada", amount = 40 })
      assert.same({ paid = 40 }, engine:get(id).output)
      assert.equal("expense.paid", engine.outbox:list()[1].type)
    end)

    it("approval.lua asks a manager, then finance too", function()
      local engine, id, clock = started("approval.lua", "example.approval",
        { who = "Ada", amount = 120 })
      local task = task_of(engine, id)
      assert.equal("Ada wants 120 EUR back", task.title)
      assert.equal(1, #assert(engine.tasks:list { role = "manager" }))
      assert.equal(0, #assert(engine.tasks:list { group = "finance" }))
      clock:advance "2d"
      assert(engine:run())
      assert.equal(1, #assert(engine.tasks:list { group = "finance" }))
      assert.equal("urgent", task_of(engine, id).priority)
      assert(engine.tasks:claim(task.id, { by = "bob",
        groups = { "finance" } }))
      assert(engine.tasks:complete(task.id, { by = "bob",
        take = "rejected", output = { note = "no receipt" } }))
      assert(engine:run())
      assert.same({ paid = 0, why = "no receipt" }, engine:get(id).output)
    end)

    it("approval.lua turns down what nobody answers", function()
      local engine, id, clock = started("approval.lua", "example.approval",
        { who = "Ada", amount = 120 })
      clock:advance "7d"
      assert(engine:run())
      assert.same({ paid = 0, why = "nobody answered" },
        engine:get(id).output)
      assert.equal("turned_down", engine:get(id).node)
    end)

    it("trip.lua books all three", function()
      local engine, id = started("trip.lua", "example.trip", { to = "Oslo" })
      assert.same({ to = "Oslo", booked = { "flight", "hotel", "car" } },
        engine:get(id).output)
    end)

    it("trip.lua takes back what it had booked, newest first", function()
      local engine, id = started("trip.lua", "example.trip",
        { to = "Oslo", no_car = true })
      local trip = engine:get(id)
      assert.equal("failed", trip.status)
      assert.equal("sold_out", trip.error.code)
      assert.same({ "hotel", "flight" }, trip.variables.cancelled)
      assert.equal("completed", trip.compensation.status)
    end)

    it("raid.lua is won when the boss falls in time", function()
      local engine, id, clock = started("raid.lua", "game.raid",
        { raid = "north" })
      assert.equal(3, #assert(engine:tokens(id)))
      for _ = 1, 2 do
        clock:advance(10)
        assert(engine:run())
      end
      assert(engine:signal { name = "boss.dead", key = "north",
        data = { by = "Ada" } })
      assert(engine:run())
      local raid = engine:get(id)
      assert.equal("won", raid.output.result)
      assert.equal(2, raid.output.waves)
      assert.equal("The boss falls to Ada.", raid.output.log[4])
    end)

    it("raid.lua is lost when the time is up", function()
      local engine, id, clock = started("raid.lua", "game.raid",
        { raid = "south" })
      for _ = 1, 6 do
        clock:advance(10)
        assert(engine:run())
      end
      assert.equal("lost", engine:get(id).output.result)
      assert.equal(4, engine:get(id).output.waves)
    end)

    it("sensors.lua reads all, and says which are silent", function()
      local engine, id, clock = started("sensors.lua", "example.sensors",
        { sensors = 12, broken = pawl.array { 3 } })
      while engine:get(id).status ~= "completed" do
        clock:advance(1)
        assert(engine:run())
      end
      local output = engine:get(id).output
      assert.equal(12, output.count)
      assert.same({ "/dev/sensor3" }, output.silent)
      assert.equal((12 * 20 + (78 - 3) / 2 - 20) / 11, output.mean)
    end)
  end)
end

describe("the example", function()
  after_each(process.stop_all)

  it("raid_game.lua plays in game time", function()
    local code, out, err = process.run({ "lua5.4",
      example "raid_game.lua" }, { env = build.env })
    assert.equal(0, code, err)
    assert.matches("north: The boss falls to Ada", out)
    assert.matches("south: The boss is furious", out)
    assert.matches("north: won\nsouth: lost\n$", out)
  end)

  it("sensors.lua runs by the command", function()
    local instance, ran = command.folder():json("run",
      example "sensors.lua", "--input", '{"sensors":5,"broken":[2]}')
    assert.equal(0, ran.code, ran.err)
    assert.same({ "/dev/sensor2" }, instance.output.silent)
  end)

  it("trip.lua fails by the command, with all taken back", function()
    local instance, ran = command.folder():json("run", example "trip.lua",
      "--input", '{"to":"Oslo","no_car":true}')
    assert.equal(1, ran.code)
    assert.same({ "hotel", "flight" }, instance.variables.cancelled)
  end)
end)
