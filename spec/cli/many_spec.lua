-- One command for all that filters find.
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.pay", version = 1, start = "a" }
flow:step("a", { retry = false, next = "t", run = function(ctx)
  if ctx.input.code then
    error { code = ctx.input.code, message = "no money" }
  end
end })
flow:timer("t", { after = "1h", next = "done" })
flow:finish "done"
return flow
]]

--- A folder, and the ids of three that wait and two that failed.
local function folder()
  local here, ids = command.folder(), {}
  here:write("pay.lua", FLOW)
  for i, input in ipairs { "{}", "{}", "{}", '{"code":"bank_down"}',
    '{"code":"bank_shut"}' } do
    ids[i] = here:pawl("start", "t.pay", "--input", input).out:sub(1, 36)
  end
  assert.equal(0, here:pawl("worker", "pay.lua", "--until-idle").code)
  return here, ids
end

local function count(here, status)
  return (here:json("list", "--status", status, "--count")).count
end

describe("a command with filters", function()
  after_each(tmp.cleanup)

  it("changes all that they find and that it can be done to", function()
    local here, ids = folder()
    local ran = here:pawl("cancel", "-w", "t.pay", "--reason", "over", "--yes")
    assert.equal(0, ran.code, ran.err)
    assert.equal("cancelled 3 instances\n", ran.out)
    assert.equal(3, count(here, "cancelled"))
    assert.equal(2, count(here, "failed"))
    assert.equal("over", here:json("show", ids[1]).cancellation.reason)
    local report
    report, ran = here:json("delete", "--error", "bank_*", "-y", "--limit",
      "1")
    assert.equal(0, ran.code)
    assert.same({ "delete", 1, 1, 0, 0 }, { report.kind, report.matched,
      report.done, report.asked, report.refused })
    assert.same({}, report.refusals)
    ran = here:pawl("undelete", "-w", "t.pay", "--yes")
    assert.equal("undeleted 1 instance\n", ran.out)
    assert.equal("purged 5 instances\n",
      here:pawl("purge", "-w", "t.pay", "--yes").out)
  end)

  it("takes one version of a workflow, named as lists show it", function()
    local here, ids = folder()
    here:write("pay2.lua", (FLOW:gsub("version = 1", "version = 2")))
    assert.equal(0, here:pawl("deploy", "pay2.lua").code)
    ids[6] = here:pawl("start", "t.pay", "--version", "2", "--input",
      "{}").out:sub(1, 36)
    assert.equal(0, here:pawl("worker", "pay.lua", "pay2.lua",
      "--until-idle").code)
    local function found(...)
      local rows = here:json("list", ...)
      return #rows == 1 and rows[1].id or #rows
    end
    assert.equal(ids[6], found("-w", "t.pay@2"))
    assert.equal(ids[6], found("--workflow-version", "2"))
    assert.equal(ids[6], found("-w", "t.pay@2", "--workflow-version", "2"))
    assert.equal(5, found("-w", "t.pay@1"))
    assert.equal(6, found("-w", "t.pay"))
    assert.equal(0, found("-w", "t.pay@3"))
    local ran = here:pawl("list", "-w", "t.pya@2")
    assert.equal(3, ran.code)
    assert.matches("no workflow \"t.pya\"", ran.err, 1, true)
    assert.equal("cancelled 1 instance\n",
      here:pawl("cancel", "-w", "t.pay@2", "--yes").out)
    assert.equal("cancelled", here:json("show", ids[6]).status)
    assert.equal(3, count(here, "waiting"))
    assert.equal("suspended 3 instances\n", here:pawl("suspend",
      "--workflow-version", "1", "--yes").out)
  end)

  it("takes those that were first worked on before or after a time", function()
    local here, ids = folder()
    ids[6] = here:pawl("start", "t.pay", "--delay", "1h").out:sub(1, 36)
    assert.equal(5, #here:json("list", "--started-after", "1d"))
    assert.equal(5, #here:json("list", "--started-before",
      "2100-01-01T00:00:00Z"))
    assert.equal(0, #here:json("list", "--started-before", "1d"))
    assert.equal("cancelled 3 instances\n",
      here:pawl("cancel", "--started-after", "1d", "--yes").out)
    assert.equal("created", here:json("show", ids[6]).status)
  end)

  it("says of whom a worker holds that this is no status", function()
    local here = folder()
    for _, name in ipairs { "executing", "leased" } do
      local ran = here:pawl("list", "--status", name)
      assert.equal(2, ran.code)
      assert.matches("unknown status '" .. name .. "'", ran.err, 1, true)
      assert.matches("--leased has those that a worker holds", ran.err, 1,
        true)
    end
    assert.equal(0, #here:json("list", "--leased"))
  end)

  it("refuses a version that is none, or that cannot be meant", function()
    local here = folder()
    local function refused(words, ...)
      local ran = here:pawl(...)
      assert.equal(2, ran.code, ran.err)
      assert.matches(words, ran.err, 1, true)
    end
    for _, text in ipairs { "t.pay@", "t.pay@0", "t.pay@x", "@1", "t.pay@-1",
      "t.pay@1@2", "t.pay@99999999999999999999" } do
      refused(("takes CODE or CODE@N, got '%s'"):format(text), "list", "-w",
        text)
      refused("takes CODE or CODE@N", "cancel", "-w", text, "--yes")
    end
    refused("--workflow says version 1, --workflow-version says 2", "list",
      "-w", "t.pay@1", "--workflow-version", "2")
    refused("--workflow-version must be 1 or more", "list",
      "--workflow-version", "0")
    for _, words in ipairs { { "audit" }, { "stats" }, { "problems" } } do
      words[#words + 1] = "--workflow"
      words[#words + 1] = "t.pay@1"
      refused("takes a workflow's code and no version, got 't.pay@1'",
        table.unpack(words))
    end
    assert.equal(3, count(here, "waiting"))
  end)

  it("tells what was refused, and ends with the worst of that", function()
    local here, ids = folder()
    local ran = here:pawl("suspend", "--status", "waiting,failed", "--yes")
    assert.equal(4, ran.code)
    assert.matches("^suspended 3 instances\nrefused 2: already_finished, such "
      .. "as " .. ids[5]:gsub("%-", "%%-") .. ": [^\n]+\n$", ran.out)
  end)

  it("says what it did until a signal came, and goes on when asked", function()
    local here = folder()
    local function stopped(signal, code, ...)
      local words = { ... }
      words[#words + 1] = { env = { PAWL_FAULT =
        ("engine.purge.last=%s@2"):format(signal) } }
      local ran = here:pawl(table.unpack(words))
      assert.equal(code, ran.code, ran.err)
      assert.matches("^stopped: 2 instances were seen to, there may be more\n "
        .. "hint: the same again goes on, and with %-%-request %S+ does",
        ran.err)
      return ran
    end
    assert.equal(0, here:pawl("cancel", "-w", "t.pay", "--status", "waiting",
      "--yes").code)
    assert.equal(0, here:pawl("delete", "-w", "t.pay", "--yes").code)
    local words = { "purge", "-w", "t.pay", "--deleted", "--yes" } -- singly
    assert.equal("purged 2 instances\n",
      stopped("int", 130, table.unpack(words)).out)
    assert.equal(3, #here:json("list", "--deleted"))
    words[6] = "--json"
    local report = pawl.json.decode(stopped("term", 143,
      table.unpack(words)).out)
    assert.same({ 2, 2, true },
      { report.matched, report.done, report.stopped })
    words[6] = nil
    assert.equal("purged 1 instance\n", here:pawl(table.unpack(words)).out)
    local ran = here:pawl(table.unpack(words))
    assert.same({ 0, "purged 0 instances\n" }, { ran.code, ran.out })
  end)

  it("is no error of what is being cancelled already", function()
    local here = command.folder()
    here:write("undo.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.undo", start = "a" }
flow:step("a", { next = "t", run = function() end, retry = { max = 3,
  base = 3600 }, undo = function() error "not now" end })
flow:timer("t", { after = "1h", next = "done" })
flow:finish "done"
return flow
]])
    here:pawl("start", "t.undo")
    here:pawl("start", "t.undo")
    assert.equal(0, here:pawl("worker", "undo.lua", "--until-idle").code)
    assert.equal(0, here:pawl("cancel", "-w", "t.undo", "--yes").code)
    assert.equal(0, here:pawl("worker", "undo.lua", "--until-idle").code)
    assert.equal(2, count(here, "running"))
    local ran = here:pawl("cancel", "-w", "t.undo", "--yes")
    assert.same({ 0, "cancelled 0 instances\npassed by 2 instances: gone, or "
      .. "changed by another meanwhile\n" }, { ran.code, ran.out })
    assert.equal("killed 2 instances\n", -- it ends what is undone, too
      here:pawl("kill", "-w", "t.undo", "--yes").out)
  end)

  it("does nothing dry, with filters or ids", function()
    local here, ids = folder()
    local ran = here:pawl("suspend", "--status", "waiting,failed",
      "--dry-run")
    assert.equal(0, ran.code)
    assert.matches("^3 instances would be suspended\nrefused 2: ", ran.out)
    ran = here:pawl("suspend", ids[1], "--dry-run")
    assert.equal(("would be suspended %s\n"):format(ids[1]), ran.out)
    ran = here:pawl("cancel", ids[5], "--dry-run")
    assert.equal(4, ran.code)
    assert.equal(3, count(here, "waiting"))
  end)

  it("edits, and adds a note to, all that they find", function()
    local here, ids = folder()
    local function price(id) return here:json("show", id).variables.price end
    local edit = { "edit", "-w", "t.pay", "--node", "t", "--set", "price=9" }
    local ran = here:pawl(table.unpack(edit))
    assert.equal(2, ran.code)
    assert.matches("%-%-dry%-run says how many", ran.err)
    edit[#edit + 1] = "--dry-run"
    assert.equal("3 instances would be changed\n",
      here:pawl(table.unpack(edit)).out)
    assert.is_nil(price(ids[1]))
    edit[#edit] = "--yes"
    assert.equal("changed 3 instances\n", here:pawl(table.unpack(edit)).out)
    assert.equal(9, price(ids[1]))
    assert.is_nil(price(ids[5]))
    ran = here:pawl("edit", "--status", "failed", "--set", "a=1", "-y")
    assert.equal(4, ran.code)
    assert.matches("^changed 0 instances\nrefused 2: already_finished", ran.out)

    local function notes(id) return here:json("history", id, "--by", "ann") end
    ran = here:pawl("note", "the bank was down", "--error", "bank_*", "--by",
      "ann", "--data", "7", "--dry-run")
    assert.equal("2 instances would be noted\n", ran.out, ran.err)
    local report = here:json("note", "the bank was down", "--error", "bank_*",
      "--by", "ann", "--data", "7", "--limit", "1", "--yes")
    assert.same({ "note", 1 }, { report.kind, report.done })
    assert.equal("noted 2 instances\n", here:pawl("note", "--error", "bank_*",
      "--by", "ann", "--yes", "it was").out)
    assert.equal(3, #notes(ids[4]) + #notes(ids[5]))
    assert.equal("it was", notes(ids[4])[#notes(ids[4])].text)
    assert.same({}, notes(ids[1]))
    ran = here:pawl("note", ids[1], ids[2]:sub(-8), "both", "--by", "ann")
    assert.equal(("noted %s\nnoted %s\n"):format(ids[1], ids[2]), ran.out)
    assert.equal("both", notes(ids[2])[1].text)
    ran = here:pawl("note", ids[1], "--yes")
    assert.equal(2, ran.code)
    assert.matches("note needs an ID and TEXT, or filters and TEXT", ran.err)
  end)

  it("wakes at a node those that stand there", function()
    local here = folder()
    local ran = here:pawl("wake", "-w", "t.pay", "--node", "t", "--yes")
    assert.equal("woken 3 instances\n", ran.out)
    ran = here:pawl("wake", "-w", "t.pay", "--node", "t", "--node", "a",
      "--yes")
    assert.equal(2, ran.code)
    assert.matches("%-%-node with filters names one node", ran.err)
    assert.equal(0, here:pawl("worker", "pay.lua", "--until-idle").code)
    assert.equal(3, count(here, "completed"))
  end)

  it("finds by how long ago, by messages, by what is due", function()
    local here = folder()
    local function counted(...)
      return (here:json("list", "--count", ...)).count
    end
    assert.equal(5, counted("--since", "1h"))
    assert.equal(0, counted("--since", "2100-01-01"))
    assert.equal(0, counted("--untouched", "1h"))
    assert.equal(2, counted("--error", "no mon*"))
    assert.equal(0, counted("--due-before", "now"))
    assert.equal(3, counted("--due-before", "2100-01-01"))
    assert.equal(0, counted("--deadline-before", "now"))
    assert.equal(0, counted("--leased"))
    assert.equal(0, counted("--cancelled-by", "ann"))
    here:pawl("cancel", "--node", "t", "--by", "ann", "--yes")
    assert.equal(3, counted("--cancelled-by", "ann"))
    assert.equal(0, counted("--compensation", "completed"))
    for _, words in ipairs { { "error" }, { "node", "--count" },
      { "workflow", "--json" } } do
      local ran = here:pawl("list", "--group", table.unpack(words))
      assert.equal(0, ran.code)
      assert.matches("--group-by " .. words[1] .. "` counts", ran.err, 1, true)
    end
    assert.equal("", here:pawl("list", "--group", "eror").err)
    assert.equal("", here:pawl("list", "--group", "default").err)
    local ran = here:pawl("list", "--since", "soon")
    assert.equal(2, ran.code)
    assert.matches("%-%-since: 'soon' is not a time", ran.err)
    assert.matches("or how long ago: 90m", ran.err)
    for _, kind in ipairs { "created", "updated", "completed" } do
      assert.equal(0, counted(("--%s-before"):format(kind), "30d"))
      assert.equal(5, counted(("--%s-after"):format(kind), "30d",
        "--status", "failed,waiting,cancelled"))
    end
    assert.equal(0, counted("--deadline-before", "9999-12-31"))
  end)

  it("is one request, which may be named", function()
    local here, ids = folder()
    local request = "019aa1f2-0000-7000-8000-000000000001"
    for _ = 1, 2 do
      local ran = here:pawl("suspend", "-w", "t.pay", "--status",
        "waiting,suspended", "--request", request, "--yes")
      assert.equal("suspended 3 instances\n", ran.out, ran.err)
    end
    local rows = here:json("history", ids[1])
    assert.equal(request, rows[#rows].request)
    assert.equal("step", rows[#rows - 1].type)
    local ran = here:pawl("resume", "--status", "suspended", "--request", "x",
      "--yes")
    assert.equal(2, ran.code)
    assert.matches("`--request` of[^\n]*UUID", ran.err)
  end)

  it("asks for ids or filters, and for --yes where nobody can be asked",
    function()
      local here = folder()
      for _, words in ipairs { { "cancel" }, { "cancel", "--yes" },
        { "cancel", "--yes", "--limit", "3", "--sort", "oldest" } } do
        local ran = here:pawl(table.unpack(words))
        assert.equal(2, ran.code)
        assert.matches("cancel needs ids, or filters", ran.err)
      end
      local ran = here:pawl("cancel", "-w", "t.pay")
      assert.equal(2, ran.code)
      assert.matches("%-%-yes", ran.err)
      ran = here:pawl("cancel", "--status", "waitin", "--yes")
      assert.equal(2, ran.code)
      assert.matches("waiting", ran.err)
      assert.equal(3, count(here, "waiting"))
    end)

  it("takes no filters beside ids, which would be heeded by nobody", function()
    local here, ids = folder()
    for _, words in ipairs { { "--status", "completed" }, { "-w", "t.pay" },
      { "--node", "a" }, { "--since", "1d", "--yes" } } do
      local ran = here:pawl("cancel", ids[1], table.unpack(words))
      assert.equal(2, ran.code)
      assert.matches("give ids, or filters, not both", ran.err, 1, true)
    end
    assert.equal(3, count(here, "waiting"))
    -- Of these it says where, and is no filter.
    local ran = here:pawl("wake", ids[1], "--node", "nowhere")
    assert.matches("nowhere", ran.err, 1, true)
  end)

  it("says on a terminal how many there are, and asks", function()
    local here = folder()
    local function asked(answer)
      local code, out = process.run({ "script", "-qec",
        ("echo %s | script -qec '%s cancel -w t.pay' /dev/null"):format(
          answer, command.path), "/dev/null" }, { cwd = here.dir })
      return code, out
    end
    local _, out = asked "n"
    assert.matches("3 instances would be cancelled", out)
    assert.matches("go on%? %[y/N%]", out)
    assert.equal(3, count(here, "waiting"))
    _, out = asked "y"
    assert.matches("cancelled 3 instances", out)
    assert.equal(3, count(here, "cancelled"))
  end)
end)
