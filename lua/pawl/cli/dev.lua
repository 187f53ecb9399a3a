--- pawl dev FILE|DIR...
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local working = require "pawl.cli.working"
local workflow_files = require "pawl.cli.workflow_files"

local pace <const> = 0.1 -- seconds between two looks at the files

---- one file ----------------------------------------------------------------

local function told(worker, event, path, info, text)
  working.note(worker, event, ("%s from %s"):format(text:format(info.workflow,
    info.version, info.revision), path), { workflow = info.workflow,
    version = info.version, revision = info.revision, file = path })
end

--- The modules that it has in its bundle, where they are to be found: a change
--- of one of them is a change of it.
local function modules_of(engine, path, info)
  local stored = engine.workflows:get(info.workflow, info.version)
  local dir = path:match "^(.*/)" or "./"
  local found = {}
  for name in pairs(stored and stored.bundle or {}) do
    found[#found + 1] = package.searchpath(name, dir .. "?.lua;"
      .. package.path)
  end
  return found
end

--- What differs, and who stands in the way of another version in its place.
local function both(fixing, loading)
  if fixing.code ~= "exists" then return fixing end
  return { code = fixing.code, where = fixing.where, hint = fixing.hint,
    message = ("%s; %s"):format(fixing.message, loading.message) }
end

--- A version that nobody uses is replaced, one that is in use is hot-fixed;
--- where that cannot be, what was loaded before goes on.
local function take(worker, engine, path)
  local info, err = engine:load(path)
  if info then
    told(worker, "loaded", path, info, "loaded %s %d")
    return info
  end
  if err.code ~= "exists" then return nil, err end
  local fixed, why = engine.workflows:hotfix(path, { reason = "pawl dev" })
  if not fixed then return nil, both(why, err) end
  told(worker, "hotfixed", path, fixed, "hot-fixed %s %d, revision %d,")
  return fixed
end

local function say_error(worker, file, err, more)
  local where = err.where and term.clean(err.where) .. ": " or ""
  working.note(worker, "error", ("%s: %s%s%s"):format(err.code, where,
    term.clean(err.message), more), { code = err.code, file = file.path,
    where = err.where, hint = err.hint })
  working.hint(worker, err)
end

--- "; t.a 1 goes on as it was", where it was ever loaded.
local function going_on(file)
  return file.info and ("; %s %d goes on as it was"):format(
    file.info.workflow, file.info.version) or ""
end

local function complain(worker, file, err)
  say_error(worker, file, err, going_on(file))
end

local function say_gone(worker, file)
  local info = file.info or {}
  working.note(worker, "gone", ("%s is gone%s"):format(file.path,
    going_on(file)), { file = file.path, workflow = info.workflow,
    version = info.version })
end

--- `pawl worker` refuses one version in two files; here either may be the one
--- that is right.
local function compare(worker, file, info)
  for path, other in pairs(worker.files) do
    local of = other.info
    if other ~= file and of and of.workflow == info.workflow
      and of.version == info.version and sys.kind(path) then
      say_error(worker, file, { code = "conflict",
        message = ("%s and %s both have %s %d"):format(path, file.path,
          info.workflow, info.version),
        hint = "the one that was saved last runs: leave one of them out, or "
          .. "give it a code or a version of its own" }, "")
    end
  end
end

local function begin(worker, engine, file, info)
  local opts = worker.opts
  if not opts.start then return end
  local id, err = engine:start(info.workflow, opts.input
    and opts.input.value, { version = info.version })
  if id then
    working.note(worker, "begun", ("started %s %s"):format(info.workflow, id),
      { workflow = info.workflow, instance = id })
  else
    say_error(worker, file, err, "")
  end
end

--- True when it is done with, well or not; a store that is busy is asked again.
local function reload(worker, engine, file)
  if not sys.kind(file.path) then
    say_gone(worker, file)
    return true
  end
  local info, err = take(worker, engine, file.path)
  if info then
    file.info = info
    file.modules = modules_of(engine, file.path, info)
    compare(worker, file, info)
    begin(worker, engine, file, info)
  elseif store.is_transient(err) then
    return false
  else
    complain(worker, file, err)
  end
  return true
end

---- all of them -------------------------------------------------------------

--- Of the file and its modules; those that are known are not looked up again.
local function stamps_of(file, known)
  local stamps = {}
  local function add(path)
    stamps[path] = known and known[path] or sys.stamp(path) or "gone"
  end
  add(file.path)
  for _, path in ipairs(file.modules or {}) do add(path) end
  return stamps
end

local function are_same(a, b)
  for path, stamp in pairs(a) do
    if not b or b[path] ~= stamp then return false end
  end
  return true
end

--- What there is now, and what there was.
local function list(worker)
  local paths, there = {}, {}
  for _, arg in ipairs(worker.watched) do
    local ok, files = pcall(workflow_files, { arg })
    for _, path in ipairs(ok and files or {}) do
      paths[#paths + 1], there[path] = path, true
    end
  end
  for path in pairs(worker.files) do
    if not there[path] then paths[#paths + 1] = path end
  end
  return paths
end

--- Each that stands still since the last look, and is not as it was taken: who
--- writes a file does not do it at once.
local function look(worker, engine)
  for _, path in ipairs(list(worker)) do
    local file = worker.files[path] or { path = path }
    worker.files[path] = file
    local now = stamps_of(file)
    if not are_same(now, file.taken) and are_same(now, file.seen)
      and reload(worker, engine, file) then
      -- what was written while it was loaded is another change; what modules
      -- it has may be known only now
      file.taken = stamps_of(file, now)
    end
    file.seen = now
  end
end

local function load_first(worker, engine)
  worker.files = {}
  for _ = 1, 2 do look(worker, engine) end
end

local function run(opts, args)
  opts.start = opts.start or opts.input ~= nil
  workflow_files(args) -- says what is wrong with them
  return working.run(opts, args, {
    load = function(worker, engine)
      worker.watched = args
      load_first(worker, engine)
    end,
    between = look, pace = pace, alone = true,
    files = function() return {} end,
  })
end

return {
  name = "dev", args = "FILE|DIR...", min = 1, max = math.huge,
  summary = "run what is due, and take changed files at once",
  about = "Does what `pawl worker` does, and looks at the files meanwhile: "
    .. "one that was changed is loaded again, and so is one whose bundled "
    .. "modules were. What becomes of it depends on who uses its version. "
    .. "Nobody: it is replaced. Instances that have not ended, or it was "
    .. "hot-fixed before: it is hot-fixed, and they go on with it, from the "
    .. "handler that is next; a graph that is drawn otherwise needs a version "
    .. "of its own, which new instances take, and `version = \"auto\"` gives "
    .. "it one.\n\n"
    .. "What is wrong with a file is said, with its line, and what was loaded "
    .. "before goes on, until the file is right; so it does where a file is "
    .. "gone. New files of a folder are loaded as they come.\n\n"
    .. "With --start each file has an instance started as it is loaded, and "
    .. "another one whenever it was changed. In `--store :memory:` nothing is "
    .. "left behind; in a file other commands see it all: `pawl top`, "
    .. "`pawl start`, `pawl signal`.\n\n"
    .. "It ends as a worker does, with SIGTERM or Ctrl-C.",
  options = {
    options.trust,
    { long = "start",
      help = "start an instance of each file, and again when it changes" },
    { long = "input", short = "i", arg = "JSON", type = "json",
      help = "their input; @FILE reads a file, - standard input. Implies "
        .. "--start" },
    { long = "quiet", short = "q", help = "only warnings and errors" },
  },
  examples = {
    { "pawl dev order.lua --input '{\"price\":3}' --store :memory:",
      "one window; save the file, and see what it does" },
    { "pawl dev workflows/", "a folder, in ./pawl.db" },
  },
  run = run,
}
