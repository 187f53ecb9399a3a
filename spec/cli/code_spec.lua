-- Which commands run workflow code: of a file that is given, of the store, or
-- none. Code that runs leaves a mark in the file that MARK names.
local command = require "spec.support.command"
local commands = require "pawl.cli.commands"
local tmp = require "spec.support.tmp"

-- Marks when it is loaded, and in every handler.
local FLOW = [[
local pawl = require "pawl"
local function mark(what)
  local path = os.getenv "MARK"
  if not path or path == "" then return end
  local file <close> = assert(io.open(path, "a"))
  file:write(what, "\n")
end
mark "load"
local w = pawl.workflow { code = "t.marked", start = "a" }
w:step("a", { next = "split", run = function(ctx)
  mark "run"
  ctx.vars.k = "k1"
end, undo = function() mark "undo" end })
w:fork("split", { next = { "key", "person", "nap" } })
w:wait("key", { event = "go", key = function(ctx) mark "key"
    return ctx.vars.k end,
  match = function() mark "match" return true end,
  next = { received = "end" } })
w:task("person", { title = "Do it", role = "manager",
  prepare = function() mark "prepare" return {} end, next = { ok = "end",
  no = "end" } })
w:timer("nap", { at = function(ctx) mark "at" return ctx.now() + 86400 end,
  next = "end" })
w:join("end", { expect = "all", next = "which" })
w:choice("which", { choose = function() mark "choose" return "yes" end,
  next = { yes = "z", no = "z" } })
w:finish("z", { output = function() mark "output" return {} end })
return w
]]

local FAILING = [[
local pawl = require "pawl"
local path = os.getenv "MARK"
if path and path ~= "" then
  local file <close> = assert(io.open(path, "a"))
  file:write "load\n"
end
local w = pawl.workflow { code = "t.failing", start = "a" }
w:step("a", { next = "z", retry = false, run = function() error "no" end })
w:finish "z"
return w
]]

--- A folder with a store in which every kind of thing waits.
local function make()
  local folder = command.folder()
  folder:write("marked.lua", FLOW)
  folder:write("failing.lua", FAILING)
  for _, code in ipairs { "t.marked", "t.failing" } do
    local ran = folder:pawl("start", code)
    assert.equal(0, ran.code, ran.err)
  end
  local ran = folder:pawl("worker", "marked.lua", "failing.lua",
    "--until-idle", "--processes", "1")
  assert.equal(0, ran.code, ran.err)
  for _, instance in ipairs((folder:json("list"))) do
    folder[instance.workflow] = instance.id
  end
  local tasks = folder:json("task", "list")
  folder.task = tasks[1].id
  folder:write("some.jsonl", folder:pawl("export", folder["t.marked"]).out)
  return folder
end

-- By command, what is run: a list of command lines. `ID`, `FAILED` and `TASK`
-- stand for the ids. `code`: they are for running it.
local LINES = {
  run = { code = true, { "run", "failing.lua", "--quiet" } }, -- and fails
  worker = { code = true, { "worker", "marked.lua", "--until-idle",
    "--processes", "1" } },
  dev = { code = true, { "dev", "marked.lua", -- and has no end of its own
    under = { "timeout", "--preserve-status", "3" } } },
  check = { code = true, { "check", "marked.lua" } },
  test = { code = true, { "test", "marked.lua" } },
  deploy = { code = true, { "deploy", "marked.lua" } },
  start = { { "start", "t.marked" },
    { "start", "t.marked", "--key", "once" } },
  list = { { "list" } },
  show = { { "show", "ID" } },
  explain = { { "explain", "ID" } },
  tokens = { { "tokens", "ID" } },
  history = { { "history", "ID" } },
  audit = { { "audit" } },
  outbox = { { "outbox" }, { "outbox", "retry", "--dead" } },
  relay = { { "relay", "--exec", "cat", "--once" } },
  ask = { { "ask", "ID", "go", "--timeout", "0", code = 1 } }, -- no answer
  complete = { { "complete", "no-token", code = 3 } },
  signal = { { "signal", "go", "--key", "k1" },
    { "signal", "go", "--instance", "ID" },
    { "signal", "go", "--key", "k2", "--start", "t.marked" } },
  task = {
    { "task", "list" }, { "task", "show", "TASK" },
    { "task", "escalate", "TASK", "--role", "boss", "--priority", "high" },
    { "task", "claim", "TASK", "--by", "ann", "--role", "manager" },
    { "task", "unclaim", "TASK", "--by", "ann" },
    { "task", "reassign", "TASK", "--by", "ann", "--to", "ann" },
    { "task", "delegate", "TASK", "--by", "ann", "--to", "bob" },
    { "task", "complete", "TASK", "--by", "bob", "--take", "ok" },
  },
  cancel = { { "cancel", "ID" } },
  suspend = { { "suspend", "ID" }, { "workflow", "suspend", "t.marked" },
    { "workflow", "suspend", "--prefix", "t." } },
  resume = { { "suspend", "ID" }, { "resume", "ID" },
    { "workflow", "suspend", "--prefix", "t." },
    { "workflow", "resume", "--prefix", "t." } },
  retry = { { "retry", "FAILED" } },
  restart = { { "restart", "FAILED", "--from", "a" } },
  move = { { "move", "ID", "--token", "4", "--to", "end" } },
  kill = { { "kill", "ID" } },
  wake = { { "wake", "ID" } },
  ["break"] = { { "break", "t.failing", "a", "--when", "vars.n" },
    { "break", "--remove", "--all" } },
  breaks = { { "breaks" } },
  step = { { "step", "ID", code = 4 } }, -- it stands at none
  continue = { { "continue", "ID", code = 4 } },
  edit = { { "edit", "ID", "--set", "k=\"k2\"" } },
  note = { { "note", "ID", "seen" } },
  delete = { { "delete", "FAILED" }, { "delete", "ID", "--cancel" } },
  undelete = { { "delete", "FAILED" }, { "undelete", "FAILED" } },
  archive = { { "archive", "FAILED" } },
  unarchive = { { "archive", "FAILED" }, { "unarchive", "FAILED" } },
  purge = { { "purge", "FAILED" } },
  prune = { { "prune", "--retain", "0s" } },
  workflow = { { "workflow", "list" } },
  executors = { { "executors", "--all" } },
  stats = { { "stats" } },
  problems = { { "problems" } },
  top = { { "top" } },
  doctor = { { "doctor" } },
  health = { { "health" }, { "health", "--repair" } },
  graph = { { "graph", "t.marked" }, { "graph", "ID" } },
  migrate = { { "migrate" }, { "migrate", "--print" } },
  backup = { { "backup", "copy.db" } },
  restore = { { "backup", "copy.db" }, { "restore", "copy.db" } },
  spec = { { "spec", "ID" }, { "spec", "some.jsonl" } },
  export = { { "export", "ID", "--children" }, { "export", "--all" } },
  import = { { "import", "some.jsonl" },
    { "import", "some.jsonl", "--store", "other.db", "--release" } },
  reclaim = { { "export", "ID", "--move", "--children" },
    { "reclaim", "ID" } },
  version = { { "version" } },
  completion = { { "completion", "words", "--", "move", "ID", "--to", "" },
    { "completion", "words", "--", "start", "" } },
  man = { { "man" } },
  help = { { "help" } },
}

local function run(folder, line)
  local ids = { ID = folder["t.marked"], FAILED = folder["t.failing"],
    TASK = folder.task }
  local words = {}
  for i, word in ipairs(line) do words[i] = ids[word] or word end
  words[#words + 1] = { env = { MARK = folder.dir .. "/mark" },
    under = line.under }
  local ran = folder:pawl(table.unpack(words))
  return ran, tmp.read(folder.dir .. "/mark")
end

describe("the code that a command runs", function()
  it("is told here for each of them", function()
    local found = commands.names
    assert.truthy(#found > 20)
    for _, name in ipairs(found) do assert.truthy(LINES[name], name) end
  end)

  for name, lines in pairs(LINES) do
    it(("is %s: pawl %s"):format(lines.code and "what it was given" or "none",
      name), function()
      local folder = make()
      for _, line in ipairs(lines) do
        local ran, mark = run(folder, line)
        local said = table.concat(line, " ") .. ": " .. ran.err
        if lines.code then
          assert.truthy(mark, said)
        else
          assert.equal(line.code or 0, ran.code, said)
          assert.is_nil(mark, said)
        end
      end
    end)
  end

  it("is what workers run afterwards", function()
    local folder = make()
    local id = folder["t.marked"]
    assert.equal(0, folder:pawl("cancel", id).code)
    -- The steps it has done are undone by whoever has the code.
    local got = assert((folder:json("show", id)))
    assert.equal("running", got.status)
    local _, mark = run(folder, { "worker", "--until-idle", "--processes",
      "1" })
    assert.matches("undo", mark)
    assert.equal("cancelled", (folder:json("show", id)).status)
  end)
end)

describe("a stored source that is not the one recorded", function()
  it("is not run, fails nothing, and is named in the log", function()
    local folder = make()
    local url = folder.dir .. "/pawl.db"
    require("spec.support.backends")[1].sql(url, [[update pawl_workflow
      set source = 'local changed = 1 ' || source
      where code = 't.marked'; select 1 as done]])
    assert.equal(0, folder:pawl("signal", "go", "--key", "k1").code)
    local ran, mark = run(folder, { "worker", "failing.lua", "--until-idle",
      "--processes", "1" })
    assert.equal(0, ran.code, ran.err)
    assert.equal("load\n", mark) -- of the file that it was given
    assert.matches("SHA%-256", ran.out .. ran.err)
    assert.equal("waiting", (folder:json("show", folder["t.marked"])).status)
    -- Whoever has the file goes on.
    assert.equal(0, folder:pawl("worker", "marked.lua", "--until-idle",
      "--processes", "1").code)
  end)
end)
