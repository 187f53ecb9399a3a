--- What workflows, people and files say is shown by the command, not obeyed
--- by the terminal: each command, with such text wherever text may be.
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- Colours, a title, C1, DEL, a line of its own, letters turned around.
local EVIL = "\27[31mR\27]0;t\7\u{9b}31mC\u{9d}0;o\u{9c}\127\r\nfake line\8"
  .. "\u{202e}rtl\u{2066}\u{200f}\u{2028}"

local FLOW = ([[
local pawl = require "pawl"
local evil = EVIL
local all = evil .. "\xff\xc2"
local flow = pawl.workflow {
  code = "t.evil", version = 1, start = "a", name = evil, description = evil,
}
flow:step("a", {
  run = function(ctx)
    ctx.vars.v, ctx.vars[evil] = evil, evil
    ctx.attrs.color = evil
    ctx.log("warn", all, { f = evil, [evil] = 1 })
    ctx.log("info", all)
    ctx.emit(evil, { p = evil })
    ctx.heartbeat(evil)
    return nil, { o = evil }
  end,
  next = "ask",
})
flow:task("ask", {
  title = evil, description = evil, users = { "u" .. evil },
  next = { approved = "f" },
})
flow:step("f", {
  retry = { max = 2, base = 0.01 },
  run = function()
    error { code = "c" .. evil, message = all, hint = all, where = all }
  end,
  on_error = { ["*"] = "done" }, next = "done",
})
flow:finish("done", { output = function() return { o = evil } end })
return flow
]]):gsub("EVIL", function() return ("%q"):format(EVIL):gsub("\r", "\\r") end)

local FAILS = [[
local pawl = require "pawl"
local evil = ]] .. ("%q"):format(EVIL):gsub("\r", "\\r") .. [[

local flow = pawl.workflow { code = "t.fails", version = 1, start = "a" }
flow:step("a", {
  retry = { max = 1 },
  run = function() error { code = "x", message = evil, hint = evil } end,
  next = "done",
})
flow:finish "done"
return flow
]]

--- What a terminal would obey in a text: "" when there is nothing.
local function obeyed(text)
  local found = {}
  assert(utf8.len(text), "not UTF-8: " .. text)
  for _, c in utf8.codes(text) do
    if c < 32 and c ~= 9 and c ~= 10 or c >= 127 and c <= 159 or c == 0x200f
      or c >= 0x2028 and c <= 0x202e or c >= 0x2066 and c <= 0x2069 then
      found[#found + 1] = ("U+%04X"):format(c)
    end
  end
  if ("\n" .. text):find("\nfake line", 1, true) then
    found[#found + 1] = "a line of its own"
  end
  return table.concat(found, " ")
end

describe("text of others in the command's output", function()
  local folder, id, task

  local function check(...)
    local words = { ... }
    local ran = folder:pawl(...)
    for i, word in ipairs(words) do words[i] = ("%q"):format(word) end
    local line = table.concat(words, " ")
    assert.equal("", obeyed(ran.out), line .. "\n" .. ran.out)
    assert.equal("", obeyed(ran.err), line .. "\n" .. ran.err)
    assert.is_nil(ran.err:find("internal", 1, true), ran.err)
    return ran
  end

  before_each(function()
    folder = command.folder()
    folder:write("evil.lua", FLOW)
    folder:write("fails.lua", FAILS)
  end)

  after_each(tmp.cleanup)

  local function begin()
    local ran = check("run", "evil.lua")
    assert.matches("\\u{9b}", ran.out, 1, true)
    assert.equal(6, ran.code)
    id = folder:json("list")[1].id
    task = folder:json("task", "list", "--all")[1].id
  end

  local function look()
    for _, words in ipairs { { "list" }, { "show", id }, { "explain", id },
      { "history", id }, { "tokens", id, "--all" }, { "graph", id },
      { "graph", "t.evil", "--dot" }, { "workflow", "list" }, { "outbox" },
      { "task", "list", "--all" }, { "task", "show", task } } do
      check(table.unpack(words))
      words[#words + 1] = "--json"
      check(table.unpack(words))
    end
  end

  it("is shown while an instance waits and when it has ended", function()
    check("check", "evil.lua")
    begin()
    look()
    check("edit", id, "--set", EVIL .. "=1", "--reason", EVIL)
    check("suspend", id, "--reason", EVIL, "--by", EVIL)
    look()
    check("resume", id, "--reason", EVIL)
    check("task", "complete", task, "--take", "approved", "--by",
      "u" .. EVIL)
    check("worker", "evil.lua", "--until-idle", "--stored-code", "own")
    look()
    check("run", "evil.lua", "--new", "--quiet")
    check("worker", "evil.lua", "--until-idle", "--json")
  end)

  it("is shown when what it says is wrong", function()
    check("run", "fails.lua")
    check("run", "fails.lua", "--quiet")
    check("run", "fails.lua", "--new", "--json")
    check("signal", "go" .. EVIL, "--key", EVIL)
    check("start", "t.no" .. EVIL)
    check("show", EVIL)
    check("wo" .. EVIL)
    check("list", "--" .. EVIL, "x")
    check("list", "--status", EVIL)
    check("check", "no" .. EVIL .. ".lua")
    folder:write("bad\27.lua", "\27[31mx = = \u{9b}31m\u{202e}")
    check("check", "bad\27.lua")
    check("run", "bad\27.lua")
  end)

  it("is the same value in JSON", function()
    begin()
    local shown = folder:json("show", id)
    assert.equal(EVIL, shown.variables.v)
    assert.equal(EVIL, shown.variables[EVIL])
    local engine <close> = assert(pawl.open(folder.dir .. "/pawl.db"))
    assert.same(engine:get(id).variables, shown.variables)
  end)

  it("takes no colour, where the command's own words have some", function()
    local code, out = process.run({ "script", "-qec",
      command.path .. " run evil.lua", "/dev/null" }, { cwd = folder.dir,
      env = { TERM = "xterm", LANG = "C.UTF-8", LC_ALL = "C.UTF-8" } })
    assert.equal(6, code)
    assert.matches("\27%[36mwaiting\27%[0m", out)
    assert.matches("\\x1b[31mR", out, 1, true)
    out = out:gsub("\27%[[%d;]*[mK]", ""):gsub("\r", "")
    assert.equal("", obeyed(out), out)
  end)
end)
