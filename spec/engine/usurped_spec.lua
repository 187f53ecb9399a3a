--- An isolated process that somebody has taken over says what it likes. The
--- host believes nothing of it: the handler fails, and everything else goes on.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a", version = 1 }
flow:step("a", { retry = { max = 1 }, run = function() end, next = "z" })
flow:finish "z"
return flow]]

--- A program that begins as ours do, and goes on as the case says.
local function helper(case, graph)
  local lua = shell.output({ "sh", "-c", "command -v lua5.4" }):gsub("\n", "")
  local path = tmp.file("pawl", ("#!/bin/sh\nexec %s 1>&0\n"):format(
    shell.line { lua, os.getenv "PWD" .. "/spec/support/usurper.lua", case,
      graph, core.version() .. "/1" }))
  shell.output { "chmod", "+x", path }
  return path
end

local function graph_of(backend)
  local engine = backend.fresh()
  local graph = assert(engine:check(tmp.file("f.lua", FLOW:format "mod.one")))
  return core.json_encode(graph)
end

kit.describe("a process that was taken over", function(backend)
  local function usurped(case, trust)
    local level = { level = "isolated", helper = helper(case,
      graph_of(backend)), time = 0.5 }
    for key, value in pairs(trust or {}) do level[key] = value end
    local banned = 0
    local engine = backend.fresh { host = { ban = function()
      banned = banned + 1 end } }
    assert(engine:load(tmp.file("own.lua", FLOW:format "own.one")))
    assert(engine:load(tmp.file("mod.lua", FLOW:format "mod.one"),
      { trust = level }))
    local id = assert(engine:start "mod.one")
    engine:run { id = id }
    local own = assert(engine:start "own.one")
    engine:run { id = own }
    assert.completed(engine, own)
    assert.equal(2, #assert(engine:list()), "nothing else was started")
    assert.equal(0, banned)
    return assert(engine:get(id))
  end

  it("could be one of ours", function()
    assert.equal("completed", usurped("right").status)
  end)

  for case, said in pairs {
    cut = "its answer was not whole", long = "it said too much",
    unknown = "or what nobody asked for", again = "or what nobody asked for",
    more = "it spoke out of turn", no_json = "its answer was no answer",
    start = "its answer was no answer",
    waits = "it waits for what it may not",
    stranger = "it asked what nobody may ask",
    asks = "it asked what nobody may ask", logs = "it logged what cannot be",
    log_json = "it logged what cannot be", leaves = "has died: exit code 7",
  } do
    it("fails its handler: " .. case, function()
      local now = usurped(case)
      assert.equal("failed", now.status)
      assert.equal("script", now.error.code)
      assert.matches(said, now.error.message, 1, true)
    end)
  end

  for _, case in ipairs { "silent", "endless" } do
    it("is killed when its time is over: " .. case, function()
      local now = usurped(case, { time = 0.05 })
      assert.equal("failed", now.status)
      assert.equal("limit", now.error.code)
      assert.matches("^time: it ran for longer than 0.05 s",
        now.error.message)
    end)
  end

  for _, case in ipairs { "lease", "interrupt" } do
    it("has no say over its instance: " .. case, function()
      local now = usurped(case)
      assert.equal("failed", now.status)
      assert.equal("mine", now.error.code)
      assert.equal("boo?[2J", now.error.message)
    end)
  end

  it("is refused what was not granted", function()
    local now = usurped "not_granted"
    assert.equal("completed", now.status)
    assert.equal(4, #now.variables.codes)
    for _, code in ipairs(now.variables.codes) do assert.is_true(code > 0) end
  end)
end)
