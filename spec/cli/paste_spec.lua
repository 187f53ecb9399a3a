--- Commands that the command tells people to run: each reaches the same store
--- when it is pasted.
local command = require "spec.support.command"
local flows = require "spec.support.flows"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local STORE = "my store's.db"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.paste", version = 1, start = "a" }
flow:step("a", {
  retry = { max = 1 },
  run = function(ctx) if ctx.input.fail then error "no" end end,
  next = "pay",
})
flow:wait("pay", { event = "payment.*", key = function() return "k 1" end,
  next = "ask" })
flow:task("ask", { title = "Approve", users = { "ann" },
  next = { approved = "done", rejected = "done" } })
flow:finish "done"
return flow
]]

--- The commands in a text: in backticks, or behind a colon up to the end of
--- what is told.
local function commands_in(text)
  local found = {}
  for line in text:gmatch "`(pawl [^`]+)`" do found[#found + 1] = line end
  for line in text:gmatch "on: (pawl [^;\n]+)" do found[#found + 1] = line end
  for line in text:gmatch "to: (pawl [^;\n]+)" do found[#found + 1] = line end
  for line in text:gmatch "one: (pawl [^;\n]+)" do found[#found + 1] = line end
  for line in text:gmatch "hint: (pawl [^;\n]+)" do
    found[#found + 1] = line
  end
  return found
end

describe("a command to be pasted", function()
  local here, pasted

  before_each(function()
    here, pasted = command.folder(), 0
    here:write("paste.lua", FLOW)
    here:write("hello.lua", flows.hello)
  end)

  after_each(tmp.cleanup)

  --- As it stands, but for what its reader has to choose.
  local function paste(line)
    assert.matches(" --store " .. shell.quote(STORE), line, 1, true)
    line = line:gsub(" FILE", " paste.lua"):gsub(" NODE", " a")
      :gsub("payment%.NAME", "payment.made"):gsub("^pawl worker",
      "%0 --until-idle"):gsub("^pawl", shell.quote(command.path), 1)
    local code, out, err = process.run({ "bash", "-c", line },
      { cwd = here.dir })
    assert.is_true(code == 0 or code == 6, line .. "\n" .. out .. err)
    pasted = pasted + 1
  end

  local function said(ran)
    return commands_in(ran.out .. ran.err)
  end

  local function pawl(...)
    local words = { ... }
    words[#words + 1], words[#words + 2] = "--store", STORE
    return here:pawl(table.unpack(words))
  end

  local function only_id()
    return here:json("list", "--store", STORE)[1].id
  end

  it("reaches the store of `pawl run`, to its end", function()
    local ran = pawl("run", "paste.lua")
    assert.equal(6, ran.code, ran.err)
    local lines = said(ran)
    assert.equal(3, #lines, ran.out)
    for _, line in ipairs(lines) do paste(line) end
    for _, line in ipairs(said(pawl("explain", only_id()))) do
      paste(line)
    end
    assert.is_true(pasted >= 4)
  end)

  it("reaches the store of what failed and what is suspended", function()
    local ran = pawl("run", "paste.lua", "--input", '{"fail":true}')
    assert.equal(1, ran.code)
    for _, line in ipairs(said(ran)) do paste(line) end
    local id = only_id()
    local lines = said(pawl("explain", id))
    assert.equal(2, #lines)
    paste(lines[1])
    assert.equal(0, pawl("worker", "--until-idle").code)
    assert.equal(0, pawl("retry", id).code)
    assert.equal(0, pawl("suspend", id).code)
    lines = said(pawl("explain", id))
    assert.equal(1, #lines)
    paste(lines[1])
  end)

  it("reaches the store that a hint speaks of", function()
    assert.equal(0, pawl("start", "t.nobody").code)
    for _, line in ipairs(said(pawl("explain", only_id()))) do
      paste(line)
    end
    local ran = pawl("worker", "hello.lua", "--until-idle")
    local lines = said(ran)
    assert.equal(1, #lines, ran.out)
    paste(lines[1])
    for _, words in ipairs { { "show", "0123abcd" },
      { "task", "show", "0123abcd" } } do
      lines = said(pawl(table.unpack(words)))
      assert.equal(1, #lines)
      paste(lines[1])
    end
  end)

  it("needs no more where the environment names the store", function()
    local ran = here:pawl("show", "0123abcd", { env = { PAWL_STORE = STORE } })
    assert.is_nil(ran.err:find("--store", 1, true))
  end)
end)
