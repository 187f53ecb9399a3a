-- pawl complete: what a workflow gave a token for.
local command = require "spec.support.command"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.token" }
flow:step("a", { run = function(ctx) ctx.vars.token = ctx.callback "paid" end })
flow:wait("w", { event = "paid", into = "sum" })
flow:finish "z"
return flow
]]

describe("pawl complete", function()
  local here, id, token

  before_each(function()
    here = command.folder()
    here:write("flow.lua", FLOW)
    here:pawl("deploy", "flow.lua")
    id = here:json("start", "t.token").id
    here:pawl("worker", "--until-idle", "flow.lua")
    token = here:json("show", id).variables.token
  end)

  it("sends its event, once", function()
    local ran = here:pawl("complete", token, "--data", "30", "--by", "bank")
    assert.same({ 0, "completed\n" }, { ran.code, ran.out })
    ran = here:pawl("complete", token, "--data", "40")
    assert.same({ 0, "it was completed before\n" }, { ran.code, ran.out })
    assert.same({ repeated = true }, (here:json("complete", token)))
    here:pawl("worker", "--until-idle", "flow.lua")
    local shown = here:json("show", id)
    assert.equal("completed", shown.status)
    assert.equal(30, shown.variables.sum)
    assert.equal("bank", here:json("history", id, "--type", "received")[1].by)
  end)

  it("says of no token what is wrong with it", function()
    local ran = here:pawl("complete", token .. "x")
    assert.equal(3, ran.code)
    assert.matches("nothing can be completed with this token", ran.err, 1,
      true)
    assert.matches("give it whole", ran.err, 1, true)
  end)

  it("says that it comes too late", function()
    here:pawl("cancel", id)
    local ran = here:pawl("complete", token)
    assert.equal(4, ran.code)
    assert.matches("has ended already", ran.err, 1, true)
  end)
end)
