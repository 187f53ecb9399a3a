-- suspend, resume, retry, restart, move, kill, wake, edit, workflows.
local command = require "spec.support.command"
local sqlite = require "spec.support.backends"[1]

local TIMER = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.timer", version = %d, start = "t" }
flow:timer("t", { after = "1h", next = "b" })
flow:step("b", { run = function(ctx) ctx.vars.by = "%s" end, next = "z" })
flow:finish "z"
return flow
]]

--- Fails until there is a file `good` beside it.
local BANK = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.bank", start = "a" }
flow:step("a", { run = function(ctx) ctx.vars.n = 1 end, next = "b" })
flow:step("b", { retry = false, next = "z", run = function(ctx)
  if not io.open "good" then error { code = "closed" } end
  ctx.vars.n = ctx.vars.n + 1
end })
flow:finish "z"
return flow
]]

local function folder()
  local here = command.folder()
  here:write("timer.lua", TIMER:format(1, "one"))
  here:write("bank.lua", BANK)
  return here
end

local function timer(here)
  here:pawl("run", "timer.lua", "--timeout", "50ms")
  return here:json("list", "-w", "t.timer")[1].id
end

local function good(here, ...)
  local ran = here:pawl(...)
  assert.equal(0, ran.code, ran.err)
  return ran.out
end

local function bad(here, code, words, ...)
  local ran = here:pawl(...)
  assert.equal(code, ran.code, ran.out .. ran.err)
  assert.matches(words, ran.err)
end

local function newest(here, id)
  local history = here:json("history", id)
  return history[#history]
end

describe("pawl suspend and resume", function()
  it("hold an instance, and let it go", function()
    local here = folder()
    local id = timer(here)
    assert.equal("suspended " .. id .. "\n", good(here, "suspend",
      id:sub(1, 13), "--reason", "wrong price", "--by", "ada"))
    assert.equal("suspended", here:json("show", id).status)
    local entry = newest(here, id)
    assert.equal("ada", entry.by)
    assert.equal("wrong price", entry.text)
    bad(here, 4, "need not be suspended", "suspend", id)
    assert.equal("resumed " .. id .. "\n", good(here, "resume", id))
    assert.equal("waiting", here:json("show", id).status)
    bad(here, 4, "cannot be resumed", "resume", id)
  end)

  it("do the same with workflows and prefixes", function()
    local here = folder()
    timer(here)
    assert.matches("^suspended t.timer:", good(here, "workflow",
      "suspend", "t.timer"))
    assert.matches("suspended", good(here, "workflow"))
    good(here, "workflow", "resume", "t.timer", "--shift")
    assert.matches("^suspended t.%*:", good(here, "workflow",
      "suspend", "--prefix", "t."))
    bad(here, 4, "is not suspended", "workflow", "resume",
      "t.timer")
    assert.equal("resumed t.*\n", good(here, "workflow",
      "resume", "--prefix", "t."))
    bad(here, 3, 'no workflow "t.tmer"', "workflow", "suspend",
      "t.tmer")
    bad(here, 2, "needs CODE or %-%-prefix", "workflow", "suspend")
    for _, action in ipairs { "suspend", "resume" } do
      bad(here, 2, "usage: %-%-prefix is empty",
        "workflow", action, "--prefix", "")
    end
    bad(here, 2, "they exclude each other", "workflow", "resume", "a",
      "--prefix", "b")
  end)
end)

describe("pawl retry and restart", function()
  it("bring back what failed", function()
    local here = folder()
    here:pawl("run", "bank.lua")
    local id = here:json "list"[1].id
    assert.equal("failed", here:json("show", id).status)
    here:write("good", "")
    assert.equal("retried " .. id .. "\n", good(here, "retry", id,
      "--reason", "open again"))
    assert.equal("open again", newest(here, id).text)
    good(here, "worker", "--until-idle")
    assert.equal("completed", here:json("show", id).status)
    bad(here, 4, "has ended already", "retry", id)
    bad(here, 2, 'no node "bb"', "restart", id, "--from", "bb")
    bad(here, 2, "needs %-%-from", "restart", id)
    assert.equal("restarted " .. id .. "\n", good(here, "restart", id,
      "--from", "b"))
    assert.equal(1, here:json("show", id).variables.n)
  end)
end)

describe("pawl note", function()
  it("is a row of the history, with who and what", function()
    local here = folder()
    local id = timer(here)
    assert.equal("noted " .. id .. "\n", good(here, "note", id, "she called",
      "--by", "ann", "--data", '{"urgent":true}'))
    local row = here:json("history", id)
    row = row[#row]
    assert.same({ "note", "she called", "ann", { urgent = true } },
      { row.type, row.text, row.by, row.output })
    assert.matches("note +.* by ann: she called", good(here, "show", id))
    bad(here, 2, "not JSON", "note", id, "x", "--data", "{")
    bad(here, 2, "an argument is empty", "note", id, "")
  end)
end)

describe("pawl edit", function()
  it("is told in the history and by show, with who and what", function()
    local here = folder()
    local id = timer(here)
    good(here, "edit", id, "--set", "price=9", "--set", "odd=true", "--by",
      "ann", "--reason", "as agreed")
    good(here, "edit", id, "--unset", "odd", "--by", "bob")
    local told = good(here, "history", id)
    assert.matches("changed .* by ann; odd=true, price=9; as agreed\n", told)
    assert.matches("changed .* by bob; odd removed\n", told)
    told = good(here, "show", id)
    assert.matches("\nchanged +[^\n]+ by ann: odd=true, price=9; as agreed"
      .. "\nchanged +[^\n]+ by bob: odd removed\n", told)
  end)

  it("is shown by few rows, however long the history is", function()
    local here = folder()
    local id = timer(here)
    for i = 1, 7 do
      good(here, "edit", id, "--set", "n=" .. i, "--by", "ann")
    end
    -- a row that nobody can read any more, and that nobody needs
    sqlite.sql(here.dir .. "/pawl.db",
      "update pawl_history set output = '{broken' where seq = 1")
    local told = good(here, "show", id)
    assert.matches("\nchanged +[^\n]+ by ann: n=3\nchanged .*n=7\n", told)
    assert.is_nil(told:find("n=2", 1, true))
  end)

  it("sets and removes variables", function()
    local here = folder()
    local id = timer(here)
    good(here, "edit", id, "--set", "price=9.5", "--set", 'who="ada"')
    assert.equal("changed " .. id .. "\n", good(here, "edit", id, "--set",
      'x={"y":[1]}', "--unset", "who"))
    assert.same({ price = 9.5, x = { y = { 1 } } },
      here:json("show", id).variables)
    bad(here, 2, "that is not JSON.*quote texts", "edit", id, "--set",
      "who=ada")
    bad(here, 2, "takes NAME=JSON", "edit", id, "--set", "who")
    bad(here, 2, "needs %-%-set", "edit", id)
    bad(here, 2, "both name 'ok'", "edit", id, "--set", "ok=1", "--unset",
      "ok")
    bad(here, 2, "names 'ok' twice", "edit", id, "--set", "ok=1", "--set",
      "ok=2")
    local ran = here:pawl("edit", id, "--unset", "nosuch")
    assert.equal(0, ran.code, ran.err)
    assert.equal("warning: there was no variable 'nosuch'\n", ran.err)
    bad(here, 4, "changed meanwhile", "edit", id, "--unset", "x",
      "--if-commits", "1")
  end)
end)

describe("pawl wake, move and kill", function()
  it("do what they are called", function()
    local here = folder()
    local id = timer(here)
    bad(here, 2, 'no node "tt"', "wake", id, "--node", "tt")
    assert.equal("woken " .. id .. "\n", good(here, "wake", id, "--node",
      "t"))
    assert.equal("woken", newest(here, id).type)
    assert.equal("moved " .. id .. "\n", good(here, "move", id, "--to",
      "b"))
    assert.equal("b", here:json("show", id).tokens[1].node)
    bad(here, 2, 'no node "bb"', "move", id, "--to", "bb")
    assert.equal("killed " .. id .. "\n", good(here, "kill", id,
      "--reason", "enough"))
    assert.equal("cancelled", here:json("show", id).status)
    bad(here, 4, "has ended already", "kill", id)
  end)

  it("move a workflow's instances to another version", function()
    local here = folder()
    local id = timer(here)
    here:write("timer.lua", (TIMER:format(2, "two"):gsub('"t"', '"u"')))
    here:pawl("run", "timer.lua", "--timeout", "50ms")
    local ran = here:pawl("workflow", "transfer", "t.timer", "--from", "1",
      "--to", "2", "--plan")
    assert.equal(4, ran.code)
    assert.matches("0 can be transferred, 1 cannot", ran.out)
    assert.matches('no node "t"', ran.out)
    assert.matches("1 transferred, 0 cannot", good(here, "workflow",
      "transfer", "t.timer", "--from", "1", "--to", "2", "--map", "t=u"))
    local instance = here:json("show", id)
    assert.equal(2, instance.version)
    assert.equal("u", instance.tokens[1].node)
    bad(here, 2, "takes a version", "workflow", "transfer", "t.timer",
      "--from", "x", "--to", "2")
    bad(here, 2, "move needs ids", "move", "--to", "b")
  end)
end)

describe("pawl workflow", function()
  it("lists what is there, and switches versions off and on", function()
    local here = folder()
    timer(here)
    local out = good(here, "workflow")
    assert.matches("WORKFLOW +VERSION +REVISION", out)
    assert.matches("t%.timer +1 +1 +active +trusted +1", out)
    assert.equal(1, here:json("workflow", "list", "t.timer")[1].live)
    assert.matches("not active", good(here, "workflow", "deactivate",
      "t.timer", "1"))
    bad(here, 4, "no version of workflow \"t.timer\" is active", "start",
      "t.timer")
    assert.matches("is active", good(here, "workflow", "activate",
      "t.timer", "1"))
    good(here, "start", "t.timer")
    bad(here, 3, "no workflow", "workflow", "activate", "t.timer", "7")
    bad(here, 2, "needs CODE and VERSION", "workflow", "activate", "t")
    bad(here, 2, "cannot 'lst'", "workflow", "lst")
  end)

  it("fixes a version in place", function()
    local here = folder()
    local id = timer(here)
    here:write("timer.lua", TIMER:format(1, "fixed"))
    assert.matches("runs revision 2 now", good(here, "workflow", "hotfix",
      "timer.lua", "--reason", "rounding", "--by", "ada"))
    assert.equal("ada", here:json "workflow"[1].by)
    good(here, "wake", id)
    good(here, "worker", "--until-idle")
    assert.equal("fixed", here:json("show", id).variables.by)
  end)
end)
