--- pawl spec ID|FILE
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

--- What is read from a file, or from standard input.
local function read(path)
  local file, why = io.stdin, nil
  if path ~= "-" then file, why = io.open(path, "rb") end
  local text
  if file then text, why = file:read "a" end
  if file and path ~= "-" then file:close() end
  return text or options.usage("cannot read %s: %s", nil, path, why)
end

local function is_file(word) return word == "-" or sys.kind(word) == "file" end

--- The instance that is meant.
local function recorded(kit, opts, word)
  local asked = { mask = opts.mask }
  if is_file(word) then return kit.read(read(word), opts.instance, asked) end
  if word:find "[./]" then
    options.usage("there is no file %s, and no instance's id has such letters",
      "FILE is what `pawl export` wrote", word)
  end
  if opts.instance then
    options.usage("--instance is of a file, and %s is none", nil, word)
  end
  local engine <close> = store.look(opts)
  return kit.read(engine, store.try(engine:find(word)), asked)
end

--- 0: it passes.
local function check(kit, text)
  local passes, why = kit.check(text)
  if passes then
    term.warn "checked: it passes"
    return 0
  end
  term.warn("checked: it does not pass: " .. term.clean(why))
  return 1
end

local function run(opts, args)
  local kit = require "pawl.testing.spec"
  local one = recorded(kit, opts, args[1])
  local file = opts.load or kit.file_of(one.row.workflow)
  local text = kit.text(one, file)
  term.bytes(text)
  if opts.check then return check(kit, text) end
  if sys.kind(file) ~= "file" then
    term.warn(("warning: there is no %s here: --load FILE says where its "
      .. "workflow is%s"):format(term.clean(file), one.flow and one.flow.source
      and ", or " .. store.point(opts, ("`pawl workflow show %s %d --source`")
        :format(one.row.workflow, one.row.version)) .. " writes it" or ""))
  end
  return 0
end

return {
  name = "spec", args = "ID|FILE", min = 1, max = 1,
  summary = "write a spec of what an instance went through",
  about = "Writes a spec for `pawl test` to standard output: what the "
    .. "handlers of an instance gave is replayed, in its order and at its "
    .. "times, events come, people answer, and where it went is asserted. It "
    .. "passes as it is written, and fails when its workflow comes to go "
    .. "another way. FILE is what `pawl export` wrote, - standard input. What "
    .. "a history does not know, and so is not repeated, is said in the "
    .. "spec.\n\n"
    .. "--mask NAME, as of `pawl export`, keeps an attribute or a variable "
    .. "out; what decides by that goes another way.",
  options = {
    { long = "load", arg = "FILE", help = "the file of its workflow, as the "
      .. "spec is to load it; default: the last word of its code, and .lua" },
    { long = "mask", arg = "NAME", many = true,
      help = "what is not for others; several with --mask again" },
    { long = "instance", arg = "ID",
      help = "of a file that has several: which one" },
    { long = "check", help = "run it, and say whether it passes: runs the "
      .. "workflow's file" },
  },
  examples = {
    { "pawl spec 019aa1f2 > order_4711_spec.lua", "as production went" },
    { "pawl spec order.jsonl --load shop_order.lua --check",
      "of an exported file, and does it pass?" },
    { "pawl spec 019aa1f2 --mask vars.card", "without what is secret" },
  },
  run = run,
}
