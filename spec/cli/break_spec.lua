-- pawl break, breaks, step, continue.
local command = require "spec.support.command"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "shop.order" }
flow:step("pack", { run = function(ctx) ctx.vars.total = ctx.input.total end })
flow:step("ship", { run = function(ctx) ctx.vars.shipped = true end })
flow:step("bill", { run = function(ctx) end })
flow:finish "done"
return flow
]]

describe("pawl break", function()
  local here, id

  local function work() here:pawl("worker", "--until-idle", "flow.lua") end

  before_each(function()
    here = command.folder()
    here:write("flow.lua", FLOW)
    here:pawl("deploy", "flow.lua")
    local ran = here:pawl("break", "shop.order", "ship", "--when",
      "vars.total > 1000", "--by", "ann", "--reason", "too much")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^tokens halt before ship of shop.order, until ", ran.out)
    id = here:json("start", "shop.order", "--input", '{"total":2000}').id
    here:json("start", "shop.order", "--input", '{"total":20}')
    work()
  end)

  it("is listed, with what has halted there", function()
    local ran = here:pawl "breaks"
    assert.matches("shop.order%s+ship%s+vars.total > 1000%s+ann", ran.out)
    assert.matches("1\n$", ran.out)
    local listed = here:json "breaks"
    assert.equal("vars.total > 1000", listed[1].when)
    local found = here:json("list", "--halted")
    assert.equal(1, #found)
    assert.equal(id, found[1].id)
    assert.matches("halted at a breakpoint by ann",
      here:pawl("list").out)
    assert.matches("`pawl continue " .. id .. "` lets it go on",
      here:pawl("explain", id).out:gsub("%s+", " "), 1, true)
  end)

  it("says so of one where others wait for something else", function()
    here:write("fork.lua", [[
local flow = require("pawl").workflow { code = "shop.fork" }
flow:fork("f", { next = { "rest", "ship", "mail" } })
flow:timer("rest", { after = "3h", next = "j" })
flow:step("ship", { run = function() end, next = "j" })
flow:wait("mail", { event = "mail", next = "j" })
flow:join("j", { next = "done" })
flow:finish "done"
return flow
]])
    here:pawl("deploy", "fork.lua")
    here:pawl("break", "shop.fork", "ship", "--by", "ann")
    here:pawl("start", "shop.fork")
    here:pawl("worker", "--until-idle", "fork.lua")
    local function listed()
      return here:pawl("list", "--workflow", "shop.fork").out
    end
    assert.matches("halted at a breakpoint by ann; goes on in %d+m %(%+2%)",
      listed())
    here:pawl("continue", "--all", "--workflow", "shop.fork", "--yes")
    here:pawl("worker", "--until-idle", "fork.lua")
    assert.matches("due in 2h %(%+%d%)", listed())
  end)

  it("is told by its own options when its time is none", function()
    for _, words in ipairs { { "break", "shop.order", "ship" },
      { "step", id } } do
      words[#words + 1] = "--for"
      words[#words + 1] = "0s"
      local ran = here:pawl(table.unpack(words))
      assert.equal(2, ran.code)
      assert.matches("--for must be longer than 0, got '0s'", ran.err, 1, true)
    end
  end)

  it("steps, and goes on", function()
    local ran = here:pawl("step", id)
    assert.equal("stepped " .. id .. "\n", ran.out)
    work()
    local shown = here:json("show", id)
    assert.is_true(shown.variables.shipped)
    assert.equal("bill", shown.node)
    assert.equal(0, here:pawl("edit", id, "--set", "total=3").code)
    assert.equal(0, here:pawl("continue", id).code)
    work()
    assert.equal("completed", here:json("show", id).status)
    ran = here:pawl("continue", id)
    assert.equal(4, ran.code)
  end)

  it("lets all go on by filters, and with its removal", function()
    local ran = here:pawl("continue", "--all", "--yes")
    assert.equal(0, ran.code, ran.err)
    work()
    assert.equal("completed", here:json("show", id).status)
    id = here:json("start", "shop.order", "--input", '{"total":3000}').id
    work()
    ran = here:pawl("break", "--remove", "shop.order", "ship")
    assert.equal("removed 1 breakpoint; 1 instance goes on\n", ran.out)
    work()
    assert.equal("completed", here:json("show", id).status)
    assert.equal("no breakpoint is set\n", here:pawl("breaks").out)
    assert.equal(3, here:pawl("break", "--remove", "shop.order").code)
  end)

  it("says what is wrong with its words", function()
    local ran = here:pawl("break", "shop.order")
    assert.matches("needs a CODE and a NODE", ran.err)
    ran = here:pawl("break", "shop.order", "shap")
    assert.matches("did you mean \"ship\"", ran.err)
    ran = here:pawl("break", "--remove")
    assert.matches("needs a CODE, or %-%-all", ran.err)
    ran = here:pawl("break", "--remove", "shop.order", "--when", "true")
    assert.matches("takes neither", ran.err)
    ran = here:pawl("break", "shop.order", "ship", "--when", "vars.")
    assert.matches("expression", ran.err)
    ran = here:pawl("continue", id, "--all")
    assert.matches("one of them", ran.err)
    ran = here:pawl "continue"
    assert.matches("needs ids, or filters", ran.err)
  end)
end)
