-- What people do to tasks at the command line.
local command = require "spec.support.command"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.ask", start = "ask" }
flow:task("ask", {
  title = "Approve the order", role = "manager", priority = "high",
  due = "2d", form = "approval", input = { total = 30 },
  next = { approved = "yes", rejected = "no", failed = "no" },
})
flow:finish("yes", { output = function() return "yes" end })
flow:finish("no", { output = function() return "no" end })
return flow
]]

describe("pawl task", function()
  local folder, file, instance, id
  after_each(tmp.cleanup)

  local function work()
    local ran = folder:pawl("worker", file, "--until-idle")
    assert.equal(0, ran.code, ran.err)
  end

  --- Starts one and runs it to its task.
  local function begin()
    instance = folder:json("start", "t.ask").id
    work()
    local tasks = folder:json("task", "list", "--instance", instance)
    assert.equal(1, #tasks)
    id = tasks[1].id
  end

  before_each(function()
    folder = command.folder()
    file = folder:write("ask.lua", FLOW)
    work()
    begin()
  end)

  local function fails(code, pattern, ...)
    local ran = folder:pawl(...)
    assert.equal(code, ran.code, ran.out .. ran.err)
    assert.matches(pattern, ran.err)
  end

  it("lists what is open, and whose", function()
    local ran = folder:pawl("task", "list")
    assert.equal(0, ran.code)
    assert.is_truthy(ran.out:find(id, 1, true))
    assert.matches("Approve the order", ran.out)
    assert.matches("pending", ran.out)
    assert.matches("@manager", ran.out)
    assert.matches("high", ran.out)
    assert.matches("no such tasks",
      folder:pawl("task", "list", "--user", "ann").out)
    ran = folder:pawl("task", "list", "--user", "ann", "--role", "x,manager")
    assert.is_truthy(ran.out:find(id, 1, true))
    assert.equal(0, #folder:json("task", "list", "--overdue"))
    assert.equal(1, #folder:json("task", "list", "--form", "approval"))
    assert.equal(1, #folder:json("task", "list", "--due-before",
      "2999-01-01"))
    assert.equal(0, #folder:json("task", "list", "--status",
      "completed,failed"))
    assert.equal(1, #folder:json("task", "list", "--all", "-n", "5"))
  end)

  it("lists workflow, business key and age, and counts", function()
    folder:pawl("start", "t.ask", "--business-key", "order-7", "--key", "k7")
    work()
    local ran = folder:pawl("task", "list", "--business-key", "order-*")
    for _, text in ipairs { "WORKFLOW", "KEY", "AGE", "t.ask", "order-7" } do
      assert.is_truthy(ran.out:find(text, 1, true), text)
    end
    assert.equal("2", folder:pawl("task", "list", "--count",
      "--workflow", "t.ask").out:match "%d+")
    assert.equal("0", folder:pawl("task", "list", "--count", "--assignee",
      "ann").out:match "%d+")
    for words, n in pairs { ["--workflow t.ask@1"] = 2,
      ["--workflow t.ask@2"] = 0, ["--workflow-version 1"] = 2,
      ["--key k7"] = 1, ["--key k8"] = 0 } do
      local flag, value = words:match "(%S+) (%S+)"
      assert.equal(n, #folder:json("task", "list", flag, value), words)
    end
    local both = folder:json("task", "list")
    assert.equal(both[1].id, folder:json("task", "list", "--after",
      both[2].id)[1].id)
    assert.matches("for people at a terminal",
      folder:pawl("task", "list", "--watch").err)
  end)

  it("shows one, by a shortened id", function()
    local ran = folder:pawl("task", "show", id:sub(1, 20))
    assert.equal(0, ran.code)
    for _, text in ipairs { id, "Approve the order", "manager", "approval",
      "pending", "high", instance } do
      assert.is_truthy(ran.out:find(text, 1, true), text)
    end
    assert.equal(30, folder:json("task", "show", id).input.total)
    assert.matches("\ndue  ", ran.out)
    folder:write("plain.lua", (FLOW:gsub("t.ask", "t.plain")
      :gsub('due = "2d", ', "")))
    folder:pawl("run", "plain.lua")
    ran = folder:pawl("task", "show", folder:json("task", "list")[1].id)
    assert.equal(0, ran.code, ran.err)
    assert.is_nil(ran.out:find("\ndue", 1, true))
  end)

  it("claims, gives back and completes", function()
    local ran = folder:pawl("task", "claim", id, "--by", "ann", "--role",
      "manager")
    assert.equal(0, ran.code, ran.err)
    assert.equal("claimed " .. id .. ": Approve the order\n", ran.out)
    fails(4, "taken.*ann", "task", "claim", id, "--by", "bob", "--role",
      "manager")
    assert.equal("ann", folder:json("task", "list", "--user",
      "ann")[1].claimed_by)
    assert.equal(0, folder:pawl("task", "unclaim", id, "--by", "ann").code)
    local task, done = folder:json("task", "complete", id, "--by", "bob",
      "--role", "manager", "--take", "approved", "--output", '{"n":1}')
    assert.equal(0, done.code, done.err)
    assert.equal("completed", task.status)
    assert.same({ n = 1 }, task.output)
    assert.equal("bob", task.completed_by)
    work()
    assert.equal("yes", folder:json("show", instance).output)
    fails(4, "already_finished.*bob", "task", "complete", id, "--by", "ann")
    assert.matches("bob", folder:pawl("task", "show", id).out)
  end)

  it("fails, hands on and escalates", function()
    assert.equal(0, folder:pawl("task", "escalate", id, "--by", "ann",
      "--role", "chief", "--priority", "urgent").code)
    local task = folder:json("task", "reassign", id, "--by", "boss", "--to",
      "cid", "--reason", "ann is away")
    assert.equal("cid", task.assignee)
    assert.same({ "chief", "manager" }, task.roles)
    assert.equal("urgent", task.priority)
    task = folder:json("task", "delegate", id, "--by", "cid", "--to", "dan")
    assert.equal("dan", task.assignee)
    assert.matches("ann is away", folder:pawl("task", "show", id).out)
    fails(4, "assigned to dan", "task", "fail", id, "--by", "eve", "--role",
      "manager")
    assert.equal(0, folder:pawl("task", "claim", id, "--by", "eve",
      "--override").code)
    assert.matches("claim by eve instead of dan",
      folder:pawl("task", "show", id).out)
    task = folder:json("task", "fail", id, "--by", "eve", "--error",
      "no key", "--code", "no_key")
    assert.same({ code = "no_key", message = "no key" }, task.error)
    fails(4, "busy.*not yet heard", "task", "retry", id, "--by", "dan")
    work()
    assert.equal("no", folder:json("show", instance).output)
    fails(4, "already_finished", "task", "retry", id, "--by", "dan")
  end)

  it("changes what it says, and when it is due", function()
    local ran = folder:pawl("task", "edit", id, "--title", "Look", "--due",
      "2999-01-01", "--metadata", '{"desk":3}', "--unset", "form,input")
    assert.equal(0, ran.code, ran.err)
    assert.matches("changed .*: Look", ran.out)
    local task = folder:json("task", "show", id)
    assert.same({ "Look", "2999-01-01T00:00:00.000000Z", 3 },
      { task.title, task.due, task.metadata.desk })
    assert.equal(pawl.null, task.form or pawl.null)
    ran = folder:pawl("task", "show", id)
    assert.matches('title from "[^"]+" to "Look"', ran.out)
    assert.matches("due from .- to 2999%-01%-01 ", ran.out)
    assert.matches('metadata from none to {"desk":3}', ran.out)
    assert.not_matches("priority from", ran.out)
    assert(folder:pawl("task", "edit", id, "--input",
      ('"%s"'):format(("x"):rep(300))))
    assert.matches("\n +input was changed\n", folder:pawl("task", "show",
      id).out)
    ran = folder:pawl("audit", "--type", "edited")
    assert.matches("title, .*metadata, due", ran.out)
    ran = folder:pawl("task", "edit", id)
    assert.matches("nothing is given to be changed", ran.err)
    assert.matches("has no %-%-take", folder:pawl("task", "edit", id, "--take",
      "x").err)
  end)

  it("says what is wrong", function()
    fails(2, "several ways.*approved, rejected", "task", "complete", id,
      "--by", "ann", "--role", "manager")
    fails(2, "needs a task's ID", "task", "claim")
    fails(2, "did you mean.*claim", "task", "clam", id)
    fails(2, "has no %-%-take", "task", "claim", id, "--take", "approved")
    fails(2, "unexpected argument", "task", "list", id)
    for _, action in ipairs { "list", "escalate" } do
      fails(2, "usage: %-%-priority takes low, .* got 'urgnt'\n hint: did you "
        .. "mean 'urgent'", "task", action, action ~= "list" and id
        or "--all", "--priority", "urgnt")
    end
    fails(2, "unknown status 'opn'", "task", "list", "--status", "opn")
    fails(2, "list|show|claim", "task")
    fails(3, "notfound", "task", "show", "ffffffff")
    fails(2, "ambiguous", "task", "show", (function()
      begin()
      return id:sub(1, 4)
    end)())
    fails(4, "taken.*manager", "task", "claim", id, "--by", "eve")
  end)

  it("prints JSON for programs", function()
    local ran = folder:pawl("task", "claim", id, "--by", "ann", "--role",
      "manager", "--json")
    local task = pawl.json.decode(ran.out)
    assert.equal("running", task.status)
    assert.equal(pawl.null, task.completed_by)
    assert.equal("claim", task.log[1].what)
  end)
end)
