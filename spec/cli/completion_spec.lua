-- pawl completion and pawl man: made from the tables of the commands.
local command = require "spec.support.command"
local commands = require "pawl.cli.commands"
local flows = require "spec.support.flows"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

--- The words that may stand last in a line, and what is said of them.
local function offered(here, ...)
  local ran = here:pawl("completion", "words", "--", ...)
  assert.equal(0, ran.code, ran.err)
  assert.equal("", ran.err)
  local list, about = {}, {}
  for line in ran.out:gmatch "[^\n]+" do
    local word, said = line:match "^([^\t]*)\t?(.*)$"
    list[#list + 1], about[word] = word, said
  end
  return list, about
end

local function folder()
  local here = command.folder()
  here:write("hello.lua", flows.hello)
  here:write("timer.lua", flows.timer)
  here:pawl("start", "t.hello")
  here:pawl("start", "t.timer")
  here:pawl("worker", "hello.lua", "timer.lua", "--until-idle")
  local ids = {}
  for _, row in ipairs(here:json "list") do ids[row.workflow] = row.id end
  return here, ids
end

--- The options of a command, as its help has them: --limit, --json...
local function flags(here, name)
  local list = {}
  for line in here:pawl(name, "--help").out:gmatch "[^\n]+" do
    list[#list + 1] = line:match "^  ..[, ] (%-%-[%w-]+)"
  end
  assert(#list > 4, name)
  return list
end

describe("pawl completion", function()
  after_each(tmp.cleanup)

  it("offers commands", function()
    local here = command.folder()
    local list, about = offered(here, "")
    assert.same(commands.names, list)
    assert.equal("instances, newest first", about.list)
    assert.same({ "suspend" }, (offered(here, "sus")))
    assert.same({ "list" }, (offered(here, "--store", "x", "lis")))
    assert.same({ "list" }, (offered(here, "help", "lis")))
    assert.same({}, (offered(here, "nothing", "")))
  end)

  for _, name in ipairs(commands.names) do
    it("offers the options of " .. name, function()
      local here = command.folder()
      assert.same(flags(here, name), (offered(here, name, "--")))
    end)
  end

  it("offers what a value may be", function()
    local here = command.folder()
    assert.same({ "failed" }, (offered(here, "list", "--status", "f")))
    assert.same({ "--status=failed" }, (offered(here, "list", "--status=f")))
    assert.same({ "failed" }, (offered(here, "list", "--status", "=", "f")))
    assert.same({ "urgent" }, (offered(here, "task", "list", "--priority",
      "u")))
    assert.same({ "claim", "complete" }, (offered(here, "task", "c")))
    assert.same({ ":files" }, (offered(here, "run", "he")))
    assert.same({ ":files" }, (offered(here, "list", "--store", "")))
    assert.same({}, (offered(here, "list", "--limit", "")))
  end)

  it("offers ids that a command can do something for", function()
    local here, ids = folder()
    local done, timer = ids["t.hello"], ids["t.timer"]
    local list, about = offered(here, "show", "")
    assert.same({ timer:sub(-8), done:sub(-8) }, list)
    assert.equal("t.timer waiting pause", about[timer:sub(-8)])
    assert.same({ timer:sub(-8) }, (offered(here, "cancel", "")))
    assert.same({}, (offered(here, "resume", "")))
    assert.same({ timer }, (offered(here, "cancel", timer:sub(1, 13))))
    assert.same({ done:sub(-8) }, (offered(here, "show", timer,
      done:sub(-8, -3))))
    assert.same({ timer:sub(-8) }, (offered(here, "signal", "go",
      "--instance", timer:sub(-8, -2))))
  end)

  it("offers codes and nodes", function()
    local here, ids = folder()
    local list = offered(here, "start", "")
    table.sort(list)
    assert.same({ "t.hello", "t.timer" }, list)
    assert.same({ "t.timer" }, (offered(here, "list", "-w", "t.t")))
    assert.same({ "pause" }, (offered(here, "move", ids["t.timer"], "--to",
      "p")))
    assert.same({}, (offered(here, "move", ids["t.hello"], "--to", "p")))
    assert.same({ "pause" }, (offered(here, "wake", "--node", "p")))
  end)

  it("asks the store that the line names, and minds none", function()
    local here = folder()
    assert.same({}, (offered(here, "--store", "other.db", "show", "")))
    assert.is_nil(io.open(here.dir .. "/other.db"))
    assert.equal(2, #offered(here, "show", "-s", "pawl.db", ""))
  end)

  it("offers nothing that a shell would obey", function()
    local here = command.folder()
    here:write("flow.lua", (flows.timer:gsub("t%.timer", "t.$(reboot)")))
    here:pawl("start", "t.$(reboot)")
    here:pawl("worker", "flow.lua", "--until-idle")
    assert.same({}, (offered(here, "start", "t")))
  end)

  it("works in bash", function()
    local here, ids = folder()
    here:pawl("completion", "bash")
    here:write("try.sh", here:pawl("completion", "bash").out .. ([[
COMP_WORDS=(%s "$@") COMP_CWORD=$#
_pawl
printf '%%s\n' "${COMPREPLY[@]}"
]]):format(command.path))
    local function try(...)
      local code, out = process.run({ "bash", "try.sh", ... },
        { cwd = here.dir, env = { PAWL_STORE = "" } })
      assert.equal(0, code, out)
      return out
    end
    assert.equal("suspend\n", try("sus"))
    assert.equal(ids["t.timer"]:sub(-8) .. "\n", try("cancel", ""))
    assert.equal("--correlation\n", try("list", "--cor"))
  end)

  it("has a script for each shell, and names a slip", function()
    local here = command.folder()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local out = here:pawl("completion", shell).out
      assert.matches("completion words -- ", out, 1, true)
      assert.matches("for " .. shell, out)
    end
    local ran = here:pawl("completion", "bsh")
    assert.equal(2, ran.code)
    assert.matches("did you mean 'bash'", ran.err)
  end)
end)

describe("pawl man", function()
  after_each(tmp.cleanup)

  it("has a page for each command, with all that its help has", function()
    local here = command.folder()
    assert.equal(0, here:pawl("man", "--dir", ".").code)
    local overview = tmp.read(here.dir .. "/pawl.1")
    for _, name in ipairs(commands.names) do
      local text = tmp.read(here.dir .. "/pawl-" .. name .. ".1")
      assert.matches('^%.TH "PAWL', text)
      for _, flag in ipairs(flags(here, name)) do
        assert.matches("\\fB" .. flag:gsub("%-", "\\-") .. "\\fR", text, 1,
          true)
      end
      assert.matches("pawl\\-" .. name, overview, 1, true)
    end
    assert.matches(".SH EXIT STATUS", overview, 1, true)
  end)

  it("is printed where no directory is named", function()
    local here = command.folder()
    assert.matches('^%.TH "PAWL\\%-LIST" 1', here:pawl("man", "list").out)
    assert.matches('^%.TH "PAWL" 1', here:pawl("man").out)
  end)

  it("has no line that would be a request of roff", function()
    for line in command.folder():pawl("man", "start").out:gmatch "[^\n]+" do
      local request = line:match "^[.'](%w*)"
      assert(not request or line:find "^%.[TSPn]" and #request <= 2, line)
    end
  end)

  it("names a slip, and a directory that it cannot write to", function()
    local here = command.folder()
    local ran = here:pawl("man", "lst")
    assert.equal(2, ran.code)
    assert.matches("did you mean 'list'", ran.err)
    ran = here:pawl("man", "--dir", "nowhere")
    assert.equal(2, ran.code)
    assert.matches("cannot write to nowhere: No such file", ran.err)
    assert.equal(2, here:pawl("man", "list", "--dir", ".").code)
  end)
end)
