-- pawl signal: events sent from the command line.
local command = require "spec.support.command"

local WAIT = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.wait", start = "w" }
flow:wait("w", { event = "order.paid", key = "order", into = "got",
  next = "done" })
flow:finish("done", {
  output = function(ctx) return { got = ctx.vars.got } end,
})
return flow
]]

--- A folder whose store has one instance that waits for order 1.
local function folder()
  local here = command.folder()
  here:write("wait.lua", WAIT)
  here:pawl("start", "t.wait", "-i", '{"order":"1"}')
  here:pawl("worker", "wait.lua", "--until-idle")
  return here, here:json("list")[1].id
end

describe("pawl signal", function()
  it("reaches what waits, and says how many", function()
    local here, id = folder()
    local ran = here:pawl("signal", "order.paid", "--key", "1", "--data",
      '{"sum":9}')
    assert.equal(0, ran.code, ran.err)
    assert.equal("reached 1 instance\n", ran.out)
    here:pawl("worker", "wait.lua", "--until-idle")
    assert.same({ got = { sum = 9 } }, here:json("show", id).output)
    ran = here:pawl("signal", "order.paid", "--key", "1")
    assert.equal("reached 0 instances\n"
      .. "kept for waits that begin later with this key\n", ran.out)
  end)

  it("goes to one instance, whose id may be shortened", function()
    local here, id = folder()
    local ran = here:pawl("signal", "order.paid", "--instance",
      id:sub(1, 18))
    assert.equal(0, ran.code, ran.err)
    assert.equal("reached " .. id .. "\n", ran.out)
    here:pawl("worker", "wait.lua", "--until-idle")
    assert.equal("completed", here:json("show", id).status)
    ran = here:pawl("signal", "order.paid", "--instance", id)
    assert.equal(4, ran.code)
    assert.matches("already_finished", ran.err)
  end)

  it("takes an id once", function()
    local here = folder()
    local first = here:json("signal", "order.paid", "--key", "1", "--id",
      "e1", "--source", "shop", "--ttl", "2h")
    assert.same({ reached = 1, id = "e1", ["repeated"] = false, kept = true },
      first)
    assert.is_true(here:json("signal", "order.paid", "--key", "1", "--id",
      "e1", "--source", "shop").repeated)
    local ran = here:pawl("signal", "order.paid", "--key", "1", "--id", "e1",
      "--source", "shop")
    assert.equal("known already: event e1 was ignored\n", ran.out)
  end)

  it("starts an instance with the event", function()
    local here = folder()
    local first = here:json("signal", "order.paid", "--start", "t.wait",
      "--input", '{"order":"5"}', "--start-key", "k", "--data", "7")
    assert.is_true(first.created)
    here:pawl("worker", "wait.lua", "--until-idle")
    assert.same({ got = 7 }, here:json("show", first.instance).output)
  end)

  it("bounds the instance that it starts", function()
    local here = folder()
    local bounds = { "--deadline", "2h", "--max-bytes", "5000" }
    local first = here:json("signal", "order.seen", "--start", "t.wait",
      "--input", '{"order":"5"}', table.unpack(bounds))
    here:pawl("worker", "wait.lua", "--until-idle")
    local started = here:json("show", first.instance)
    assert.equal(5000, started.max_bytes)
    assert.is_string(started.deadline)
    local ran = here:pawl("signal", "order.paid", "--key", "1",
      table.unpack(bounds))
    assert.equal(2, ran.code)
    assert.matches("--deadline goes with --start", ran.err, 1, true)
  end)

  it("says when an event is lost", function()
    local here = folder()
    assert.matches("^reached 0 instances\nnobody waits for it, and .* lost\n$",
      here:pawl("signal", "go").out)
    assert.is_false(here:json("signal", "go").kept)
    assert.is_true(here:json("signal", "go", "--key", "k").kept)
  end)

  it("warns of a workflow that nobody has loaded", function()
    local ran = folder():pawl("signal", "go", "--start", "t.wiat")
    assert.equal(0, ran.code, ran.err)
    assert.matches("warning: no worker has loaded workflow t.wiat yet\n"
      .. " hint: did you mean 't.wait'", ran.err)
  end)

  it("refuses what does not fit together", function()
    local here, id = folder()
    for _, case in ipairs {
      { 2, "exclude each other", "a", "--start", "t.wait", "--instance", id },
      { 2, "goes with %-%-start", "a", "--input", "1" },
      { 2, "goes with %-%-start", "a", "--start-key", "1" },
      { 2, "cannot be an event's name", "a.*" },
      { 2, "not JSON", "a", "--data", "{" },
      { 3, "begins or ends with", "a", "--instance", "ffff" },
      { 2, "needs NAME" },
      { 2, "usage: %-%-key is empty", "a", "--key", "" },
      { 2, "got 256", "a", "--key", ("x"):rep(256) },
      { 2, "usage: %-%-ttl must be longer than 0", "a", "--ttl", "0" },
    } do
      local ran = here:pawl("signal", table.unpack(case, 3))
      assert.equal(case[1], ran.code, ran.err)
      assert.matches(case[2], ran.err)
    end
  end)

  it("does not make a store", function()
    local here = command.folder()
    assert.equal(3, here:pawl("signal", "a.b").code)
  end)
end)
