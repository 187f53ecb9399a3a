--- A store, a folder with one workflow file, and worker processes on them:
--- what specs of crashes are made of.
---
---     Site.each("a worker killed", function(new)
---       it("loses nothing", function()
---         local site = new(Site.steps())
---         site:start(10)
---         local worker = site:worker { fault = "engine.commit.before=kill" }
---         assert.equal(137, worker:wait(20))
---         site:drain()
---         site:assert_complete(10)
---
--- The workflow's code is t.crash. Its handlers note each run in the file
--- `ran`, in one write, so that no note is lost when their process dies.
local assert = require "luassert"
local backends = require "spec.support.backends"
local busted = require "busted"
local command = require "spec.support.command"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

---@class spec.Flow
---@field text string
---@field nodes string[]  its steps, in order

---@class spec.Site
---@field backend spec.Backend
---@field url string
---@field folder spec.Folder
---@field nodes string[]
local Site = {}
Site.__index = Site

---- workflows ---------------------------------------------------------------

-- Handlers sleep in C: a child process would outlive a worker that is killed.
local HEAD = [[
local pawl = require "pawl"
local system = require "system"

local function append(path, line)
  local file <close> = assert(io.open(path, "a"))
  assert(file:write(line, "\n"))
end

local function note(ctx) append("ran", ctx.id .. " " .. ctx.node) end

local function exists(path)
  local file <close> = io.open(path)
  return file ~= nil
end

-- Says that it has come so far, and waits until the spec lets it go on.
local function gate(name)
  append(name .. ".reached", "")
  local deadline = system.gettime() + 60
  while not exists(name .. ".open") and system.gettime() < deadline do
    system.sleep(0.005)
  end
end

local flow = pawl.workflow { code = "t.crash", start = "a" }
]]

local STEP = [[
flow:step(%q, {
  run = function(ctx)
    note(ctx)
    %s
  end,
  %s
  next = %q,
})
]]

--- Steps in a row; what their handlers do may use append, exists, gate,
--- system and ctx.
---@param steps string[][]  node, body of its handler?, fields of the node?
---@return spec.Flow
function Site.flow(steps)
  local parts, nodes = { HEAD }, {}
  for i, step in ipairs(steps) do
    nodes[i] = step[1]
    parts[#parts + 1] = STEP:format(step[1], step[2] or "", step[3] or "",
      steps[i + 1] and steps[i + 1][1] or "done")
  end
  parts[#parts + 1] = 'flow:finish "done"\nreturn flow\n'
  return { text = table.concat(parts), nodes = nodes }
end

--- Five steps whose handlers do the same.
---@param body string?
---@return spec.Flow
function Site.steps(body)
  local steps = {}
  for name in ("abcde"):gmatch "." do steps[#steps + 1] = { name, body } end
  return Site.flow(steps)
end

---- making one --------------------------------------------------------------

---@param backend spec.Backend
---@param flow spec.Flow
---@param url string?  of the store; a new one
---@return spec.Site
function Site.new(backend, flow, url)
  local self = setmetatable({ backend = backend, url = url or backend.url(),
    folder = command.folder(), nodes = flow.nodes }, Site)
  self.folder:write("flow.lua", flow.text)
  return self
end

--- Describes `what` on every store. `fn` gets a function that makes a site
--- there, and the backend.
---@param what string
---@param fn fun(new: (fun(flow: spec.Flow): spec.Site), b: spec.Backend)
function Site.each(what, fn)
  for _, backend in ipairs(backends) do
    busted.describe(what .. " on " .. backend.name, function()
      busted.after_each(function()
        process.stop_all()
        backend.cleanup()
      end)
      fn(function(flow) return Site.new(backend, flow) end, backend)
    end)
  end
end

---- doing -------------------------------------------------------------------

--- Starts instances from this process, which runs none.
---@param n integer
---@param input (fun(i: integer): table)?
---@return string[] ids
function Site:start(n, input)
  local ids = {}
  local engine <close> = assert(pawl.open(self.url))
  assert(engine:load(self.folder.dir .. "/flow.lua"))
  for i = 1, n do
    ids[i] = assert(engine:start("t.crash", input and input(i)))
  end
  return ids
end

---@class spec.WorkerOptions
---@field fault string?   PAWL_FAULT
---@field env table<string, string>?
---@field url string?     another way to the store
---@field under string[]? words of a command that runs the worker
---@field [integer] string  more arguments

---@param options spec.WorkerOptions?
---@return spec.Process
function Site:worker(options)
  options = options or {}
  local env = { PAWL_FAULT = options.fault or "" }
  for name, value in pairs(options.env or {}) do env[name] = value end
  local words = { "worker", "flow.lua", "--store", options.url or self.url }
  table.move(options, 1, #options, #words + 1, words)
  -- One process: it is the one that a fault hits and a signal reaches.
  if not table.concat(words, " "):find("--processes", 1, true) then
    table.move({ "--processes", "1" }, 1, 2, #words + 1, words)
  end
  words[#words + 1] = { env = env, under = options.under }
  return self.folder:start(table.unpack(words))
end

--- Runs a worker until nothing is due.
---@param ... string  more arguments
---@return spec.Process
function Site:drain(...)
  local worker = self:worker { "--until-idle", ... }
  assert.equal(0, worker:wait(60), worker:output() .. worker:errors())
  return worker
end

--- Lets the handlers that wait at a gate go on.
---@param name string
function Site:open(name) self.folder:write(name .. ".open", "") end

--- Waits for a handler to reach a gate.
---@param name string
function Site:wait_gate(name)
  assert.truthy(process.poll(20, function()
    return tmp.read(self.folder.dir .. "/" .. name .. ".reached")
  end), "no handler has reached " .. name)
end

--- Waits until that many instances have ended.
---@param n integer
---@param timeout number  seconds
---@return boolean
function Site:wait_ended(n, timeout)
  return process.poll(timeout, function()
    return self:number "select count(*) from pawl.instance where status in\
      ('completed', 'failed', 'cancelled')" >= n
  end, 0.1)
end

---- looking -----------------------------------------------------------------

--- Tables are written as in PostgreSQL: pawl.history.
---@param text string
---@return table[] rows
function Site:sql(text)
  if self.backend.name == "sqlite" then text = text:gsub("pawl%.", "pawl_") end
  return self.backend.sql(self.url, text)
end

--- The one number a query gives.
---@param text string
---@return integer
function Site:number(text)
  local row = assert(self:sql(text)[1], text)
  local _, value = next(row)
  return (assert(math.tointeger(tonumber(value)), text))
end

--- How many steps are recorded.
---@return integer
function Site:recorded()
  return self:number "select count(*) from pawl.history where type = 'step'"
end

--- Lines of `ran`.
---@return string[] lines  "ID NODE"
function Site:runs()
  local lines = {}
  for line in (tmp.read(self.folder.dir .. "/ran") or ""):gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  return lines
end

--- What each instance has recorded as steps: its nodes in order, by id.
---@return table<string, string>
function Site:trails()
  local id = self.backend.name == "sqlite" and "lower(hex(instance))"
    or "replace(instance::text, '-', '')"
  local trails = {}
  for _, row in ipairs(self:sql("select " .. id .. " as id, node from \
      pawl.history where type = 'step' order by instance, seq")) do
    trails[row.id] = (trails[row.id] or "") .. row.node .. " "
  end
  return trails
end

--- Each step of these instances is recorded once, in order, and its handler
--- ran at least once.
---@param ids string[]
function Site:assert_steps(ids)
  local trails, ran = self:trails(), {}
  for _, line in ipairs(self:runs()) do ran[line] = true end
  for _, id in ipairs(ids) do
    assert.equal(table.concat(self.nodes, " ") .. " ",
      trails[id:gsub("-", "")], id)
    for _, node in ipairs(self.nodes) do
      assert.truthy(ran[id .. " " .. node], id .. " did not run " .. node)
    end
  end
end

--- Nobody is leased, scheduled or being asked for anything, and the history
--- has neither gaps nor doubles.
function Site:assert_at_rest()
  assert.equal(0, self:number "select count(*) from pawl.agenda")
  assert.equal(0, self:number "select count(*) from pawl.inbox")
  assert.equal(0, self:number "select count(*) from (select instance from \
    pawl.history group by instance having max(seq) <> count(*)) as x")
end

--- All of it for a store with just these instances, which have completed.
---@param ids string[]
function Site:assert_complete(ids)
  assert.equal(#ids, self:number "select count(*) from pawl.instance")
  assert.equal(#ids, self:number "select count(*) from pawl.instance \
    where status = 'completed'")
  self:assert_steps(ids)
  assert.equal(#ids * #self.nodes, self:recorded())
  self:assert_at_rest()
end

return Site
