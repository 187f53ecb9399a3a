--- pawl deploy FILE|DIR...
local act = require "pawl.cli.act"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local workflow_files = require "pawl.cli.workflow_files"

local said = {
  new = "deployed %s %d",
  same = "%s %d is there already, as it is",
  replaced = "replaced %s %d, which nothing uses",
}
local would = {
  new = "%s %d would be new", same = said.same,
  replaced = "%s %d would be replaced",
}

local function tell(opts, one, words)
  local err = one.error
  local outcome = one.outcome and words[one.outcome]:format(one.workflow,
    one.version)
  term.print(("%s: %s"):format(err and err.where or one.file,
    err and err.code .. ": " .. err.message or outcome
      or "nothing is wrong with it"))
  if err then store.tell_hint(opts, err, term.print) end
end

local function deploy(opts, files)
  local given = { by = act.user(opts) }
  local function all(engine) return engine:deploy(files, given) end
  local engine <close>, err, wrong = store.open_for(opts, all)
  if not engine then return nil, err, wrong end
  store.tell_new(opts, engine)
  return all(engine)
end

local function run(opts, args)
  local files = workflow_files(args)
  for _, path in ipairs(files) do store.check_source(opts, path) end
  term.divert() -- a file's top level may print
  local deployed, err, wrong = deploy(opts, files)
  if not deployed and not wrong then error(err, 0) end
  if opts.json then
    term.print(format.json { stored = deployed ~= nil,
      files = core.array(deployed or wrong) })
  else
    for _, one in ipairs(deployed or wrong) do
      tell(opts, one, deployed and said or would)
    end
  end
  if not deployed then
    local n = 0
    for _, one in ipairs(wrong) do n = n + (one.error and 1 or 0) end
    error({ code = err.code, message = ("nothing is deployed: %d of %d %s "
      .. "cannot be"):format(n, #wrong, #wrong == 1 and "file" or "files") },
      0)
  end
  return 0
end

return {
  name = "deploy", args = "FILE|DIR...", min = 1, max = math.huge,
  summary = "register workflow files without running them",
  about = "Stores workflow files (of a folder: every *.lua) for workers that "
    .. "run what the store has: all of them, in one transaction, or none. Says "
    .. "of each file what became of it, or what is wrong with it.\n\n"
    .. "A version that is there already, with the same content, stays as it "
    .. "is; one that nothing uses is replaced; one that is in use is refused: "
    .. "give it the next number, or write version = \"auto\", which takes the "
    .. "next when the content differs from the newest. A file's own top level "
    .. "is executed, as whenever a workflow is loaded.\n\n"
    .. "Instances that run stay on their version: see `pawl workflow "
    .. "transfer`.",
  options = {
    options.trust,
    { long = "by", arg = "WHO", type = "name",
      help = "who deploys them; default: the user's name" },
  },
  examples = {
    { "pawl deploy workflows/", "all files of a folder, or none" },
    { "pawl deploy order.lua ship.lua --by ann", "two that belong together" },
  },
  run = run,
}
