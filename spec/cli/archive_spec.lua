-- pawl archive, pawl unarchive, and what is purged but for its attributes.
local command = require "spec.support.command"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.red", start = "a" }
flow:step("a", { next = "z", run = function(ctx)
  ctx.attrs.colour = "red"
  ctx.vars.told = "kept"
end })
flow:finish "z"
return flow
]]

describe("pawl archive", function()
  after_each(tmp.cleanup)

  --- A folder whose store has two that have completed.
  local function filled()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    here:pawl("run", "flow.lua", "--quiet")
    here:pawl("run", "flow.lua", "--quiet")
    return here, here:json("list")[1].id
  end

  local function done(here, ...)
    local ran = here:pawl(...)
    assert.equal(0, ran.code, ran.err)
    return ran.out
  end

  it("puts one out of the way, and brings it back", function()
    local here, id = filled()
    done(here, "note", id, "she called", "--by", "bob")
    local before = done(here, "show", id):match "\nnote [^\n]+\n"
    assert.matches("by bob: she called", before)
    assert.equal("archived " .. id .. "\n", done(here, "archive", id:sub(-8),
      "--by", "ann", "--reason", "old"))
    assert.equal(1, #here:json "list")
    assert.equal(id, here:json("list", "--archived")[1].id)
    local shown = done(here, "show", id)
    assert.truthy(shown:find(before, 1, true), shown)
    assert.matches("\narchived +since [%d-]+ [%d:]+.*, by ann: old\n", shown)
    assert.matches("kept", shown)
    assert.matches("It was archived .* %(by ann: old%)",
      (done(here, "explain", id):gsub(" by ann: old", " (by ann: old)")))
    assert.matches("step", done(here, "history", id))
    local ran = here:pawl("restart", id, "--from", "a")
    assert.matches("is archived", ran.err)
    assert.matches("unarchive it first", ran.err)
    assert.equal("unarchived " .. id .. "\n", done(here, "unarchive", id))
    assert.equal(2, #here:json "list")
  end)

  it("does once what has a name", function()
    local here, id = filled()
    local one = "019b76da-a800-7287-8c7a-ec222ea7ecb7"
    done(here, "archive", id, "--request", one)
    done(here, "unarchive", id)
    assert.equal("archived " .. id .. "\n", done(here, "archive", id,
      "--request", one))
    assert.equal(2, #here:json "list")
    local ran = here:pawl("restart", id, "--from", "a", "--request", one)
    assert.matches("was to archive it, not to restart it", ran.err)
    assert.matches("a request of its own", ran.err)
  end)

  it("has its tasks, each by its own id", function()
    local here = command.folder()
    here:write("flow.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.task", start = "ask" }
flow:task("ask", { title = "Yes?", next = "z" })
flow:finish "z"
return flow
]])
    here:pawl("run", "flow.lua", "--quiet")
    local task = here:json("task", "list")[1]
    done(here, "cancel", task.instance)
    local before = done(here, "task", "show", task.id, "--json")
    done(here, "archive", task.instance, "--by", "ann")
    assert.equal(before, done(here, "task", "show", task.id, "--json"))
    local ran = here:pawl("task", "claim", task.id, "--by", "ann")
    assert.matches("is archived", ran.err)
    assert.matches("unarchive it first", ran.err)
  end)

  it("keeps in the audit why", function()
    local here, id = filled()
    for _, verb in ipairs { "archive", "unarchive" } do
      assert.matches("why; kept in the audit", done(here, "help", verb))
      done(here, verb, id, "--by", "ann", "--reason", "because " .. verb)
      assert.matches("because " .. verb, done(here, "audit", "--json"))
    end
    assert.is_nil(done(here, "history", id):find("because", 1, true))
  end)

  it("takes what the filters find, when it is told to", function()
    local here = filled()
    assert.not_equal(0, here:pawl("archive", "--workflow", "t.red").code)
    done(here, "archive", "--workflow", "t.red", "--yes")
    assert.equal(0, #here:json "list")
    assert.equal(2, #here:json("list", "--archived", "--attr",
      "colour=red"))
    done(here, "unarchive", "--workflow", "t.red", "--yes", "--limit", "1")
    assert.equal(1, #here:json "list")
  end)

  it("is what a prune does that is told so", function()
    local here = filled()
    local out = done(here, "prune", "--retain", "completed=0s,archive")
    assert.matches("ARCHIVED", out)
    assert.matches("instances +0 +2", out)
    assert.equal(2, #here:json("list", "--archived"))
  end)

  it("is not what is purged, which attributes may outlive", function()
    local here, id = filled()
    done(here, "purge", id, "--keep-attributes", "--by", "ann")
    assert.equal(1, #here:json "list")
    assert.equal(id, here:json("list", "--archived", "--attr",
      "colour=red")[1].id)
    assert.matches("\npurged +since [%d-]+ [%d:]+.*, by ann\n",
      done(here, "show", id))
  end)
end)
