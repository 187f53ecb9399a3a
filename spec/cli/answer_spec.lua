--- pawl ask, and what pawl show tells of what is published.
local command = require "spec.support.command"
local process = require "spec.support.process"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "cart.one", version = 1, start = "open" }
flow:wait("open", { event = "cart.add", into = "item", timeout = "30d",
  next = { received = "add", timeout = "z" },
  answer = function(event)
    if event.data == pawl.null then error { code = "no_item" } end
    return { added = event.data }
  end })
flow:step("add", { next = "open", run = function(ctx)
  ctx.publish("item", ctx.vars.item)
end })
flow:finish "z"
return flow
]]

describe("pawl ask", function()
  after_each(process.stop_all)

  local function folder(has_worker)
    local here = command.folder()
    here:write("cart.lua", FLOW)
    local id = here:pawl("start", "cart.one").out:match "%S+"
    if has_worker then here:start("worker", "cart.lua") end
    return here, id
  end

  it("prints the answer, and show what is published", function()
    local here, id = folder(true)
    local ran = here:pawl("ask", id, "cart.add", "-d", '"lamp"')
    assert.equal(0, ran.code, ran.err)
    assert.equal('{"added":"lamp"}\n', ran.out)
    assert.same({ id = id, value = { added = 3 } },
      here:json("ask", id:sub(-8), "cart.add", "-d", "3"))
    assert(process.poll(20, function()
      return here:pawl("show", id).out:find('published    {"item":3}', 1,
        true)
    end))
  end)

  it("says that it was refused, and why", function()
    local here, id = folder(true)
    local ran = here:pawl("ask", id, "cart.add")
    assert.equal(1, ran.code)
    assert.equal("", ran.out)
    assert.matches("refused: .*no_item", ran.err)
    local told
    told, ran = here:json("ask", id, "cart.add")
    assert.equal(1, ran.code)
    assert.equal("no_item", told.error.code)
  end)

  it("says once that it was refused, where that is all", function()
    local here = command.folder()
    here:write("no.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "no.to.all" }
      flow:wait("w", { event = "try" })
      flow:step("s", { run = function(ctx) ctx.answer(nil, "sold out") end })
      flow:finish "z"
      return flow]])
    here:start("worker", "no.lua")
    local id = here:pawl("start", "no.to.all").out:match "%S+"
    local ran = here:pawl("ask", id, "try")
    assert.equal("pawl: refused: sold out\n", ran.err)
  end)

  it("tells, when its time is over, how to have the answer", function()
    local here, id = folder()
    local ran = here:pawl("ask", id, "cart.add", "-d", "1", "--timeout",
      "0.1")
    assert.equal(1, ran.code)
    assert.matches("has not answered in time", ran.err)
    local event = ran.err:match "%-%-event (%S+)":gsub("%W+$", "")
    here:start("worker", "cart.lua")
    ran = here:pawl("ask", id, "cart.add", "-d", "2", "--event", event)
    assert.equal('{"added":1}\n', ran.out)
  end)

  it("stops at Ctrl-C, and asks no store that is not there", function()
    local here, id = folder()
    local one = here:start("ask", id, "cart.add", "-d", "1")
    assert(process.poll(20, function()
      return #here:json("history", id) == 0
        and here:pawl("show", id).code == 0
    end))
    process.poll(0.3, function() end)
    one:kill "INT"
    assert.equal(130, one:wait(20))
    local none = command.folder()
    assert.is_true(none:pawl("ask", id, "cart.add").code > 1)
    assert.is_nil((io.open(none.dir .. "/pawl.db")))
  end)
end)
