--- pawl start --wait: what came of it, by whoever runs it.
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "price.ask", version = 1, start = "ask" }
flow:step("ask", { retry = false, next = "nap", run = function(ctx)
  if ctx.input.fail then error { code = "no_price", message = "who knows" } end
end })
flow:timer("nap", { after = 0.2, next = "told" })
flow:finish("told", { output = function(ctx)
  return { price = ctx.input.item * 2 }
end })
return flow
]]

describe("pawl start --wait", function()
  after_each(process.stop_all)

  --- A folder whose worker has the workflow.
  local function folder()
    local here = command.folder()
    here:write("price.lua", FLOW)
    here:start("worker", "price.lua")
    return here
  end

  it("prints the output of what a worker runs, and the id beside it",
    function()
      local here = folder()
      local ran = here:pawl("start", "price.ask", "-i", '{"item":7}', "--wait")
      assert.equal(0, ran.code, ran.err)
      assert.equal('{"price":14}\n', ran.out)
      local id = ran.err:match "%x+%-%x+%-%x+%-%x+%-%x+"
      assert.equal("completed", here:json("show", id).status)
      local told = here:json("start", "price.ask", "-i", '{"item":8}', "--wait")
      assert.same({ price = 16 }, told.output)
      assert.equal("completed", told.status)
      assert.is_true(told.created)
    end)

  it("says why there is none", function()
    local here = folder()
    local ran = here:pawl("start", "price.ask", "-i", '{"fail":true}',
      "--wait")
    assert.equal(1, ran.code)
    assert.equal("", ran.out)
    assert.matches("failed: .*who knows", ran.err)
    local told
    told, ran = here:json("start", "price.ask", "-i", '{"fail":true}',
      "--wait")
    assert.equal(1, ran.code)
    assert.equal("no_price", told.error.code)
  end)

  it("says once that it was cancelled, and no reason where none is given",
    function()
      local here = command.folder()
      for reason, said in pairs { [""] = "was cancelled by ann\n",
        why = "was cancelled by ann: why\n" } do
        local one = here:start("start", "price.ask", "--wait")
        local id
        assert(process.poll(20, function()
          id = one:errors():match "%x+%-%x+%-%x+%-%x+%-%x+"
          return id
        end))
        assert.equal(0, here:pawl("cancel", id, "--by", "ann", "--reason",
          reason).code)
        assert.equal(1, one:wait(20))
        assert.matches("\npawl: cancelled: instance " .. id .. " " .. said,
          one:errors(), 1, true)
        assert.matches(reason == "" and "by ann\n" or "by ann: why\n",
          here:pawl("list", "--status", "cancelled").out)
        assert.equal(0, here:pawl("purge", id, "--force").code)
      end
    end)

  it("gives up when its time is over, and waits for the same again",
    function()
      local here = command.folder()
      here:write("price.lua", FLOW)
      local words = { "start", "price.ask", "-i", '{"item":7}', "--key", "k",
        "--wait" }
      local ran = here:pawl("start", "price.ask", "-i", '{"item":7}', "--key",
        "k", "--wait", "--timeout", "0.1")
      assert.equal(1, ran.code)
      assert.equal("", ran.out)
      assert.matches("\n%x[%x-]+\npawl: timeout: instance %S+ has not ended in "
        .. "time\n hint: it goes on: pawl show ", ran.err)
      local told
      words[#words + 1] = "--timeout"
      words[#words + 1] = "0.1"
      told, ran = here:json(table.unpack(words))
      assert.equal(1, ran.code)
      assert.equal(here:json("list")[1].id, told.id)
      assert.same({ false, "timeout" }, { told.created, told.error.code })
      words[#words], words[#words - 1] = nil, nil
      local both = { here:start(table.unpack(words)),
        here:start(table.unpack(words)) }
      here:start("worker", "price.lua")
      for _, one in ipairs(both) do
        assert.equal(0, one:wait(60))
        assert.equal('{"price":14}\n', one:output())
      end
      assert.equal(1, #here:json("list"))
    end)

  it("stops waiting at Ctrl-C; the instance goes on", function()
    local here = command.folder()
    local one = here:start("start", "price.ask", "--wait")
    assert(process.poll(20, function()
      return one:errors():find "%x%-%x+%-%x+%-%x"
    end))
    one:kill "INT"
    assert.equal(130, one:wait(20))
    assert.matches("goes on", one:errors())
    assert.equal("created", here:json("list")[1].status)
  end)

  it("is for one instance", function()
    local here = command.folder()
    for _, words in ipairs { { "--timeout", "5" },
      { "--wait", "--many", "-" } } do
      local ran = here:pawl("start", "price.ask", table.unpack(words))
      assert.equal(2, ran.code)
      assert.matches("%-%-wait", ran.err)
    end
    assert.is_nil((io.open(here.dir .. "/pawl.db")))
  end)

  it("prints null where it has no output", function()
    local here = command.folder()
    here:write("none.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "no.output", start = "a" }
      flow:step("a", { run = function() end, next = "z" })
      flow:finish "z"
      return flow]])
    here:start("worker", "none.lua")
    local ran = here:pawl("start", "no.output", "--wait")
    assert.equal("null\n", ran.out)
    assert.equal(pawl.null, pawl.json.decode(ran.out))
  end)
end)
