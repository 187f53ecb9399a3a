--- pawl test: busted, under the Lua that is in this program.
local options = require "pawl.cli.options"
local pawl = require "pawl"
local term = require "pawl.cli.term"

--- What busted is told, as its own command would be.
local function arguments(opts, args)
  local list = { [0] = "pawl test" }
  for _, one in ipairs(args) do list[#list + 1] = one end
  if opts.filter then list[#list + 1] = "--filter=" .. opts.filter end
  if opts.output or opts.json then
    list[#list + 1] = "--output=" .. (opts.output or "json")
  end
  -- it would look for the Lua of its own command, which may be another one
  list[#list + 1] = "--ignore-lua"
  return list
end

local function write(path, text)
  local file, why = io.open(path, "w")
  if file then
    local ok
    ok, why = file:write(text, "\n")
    file:close()
    if ok then return end
  end
  options.usage("cannot write %s for --coverage: %s", nil, path, why)
end

--- What the specs have gone through; 1: that is not enough.
local function tell_coverage(opts, coverage)
  local report = coverage.report()
  if opts.coverage then write(opts.coverage, pawl.json.encode(report)) end
  if not opts.json then term.lines(coverage.text(report)) end
  if not opts.threshold or report.share >= opts.threshold then return 0 end
  term.warn(("pawl: the specs go through %d %% of the workflows, less than "
    .. "%d"):format(report.share, opts.threshold))
  return 1
end

--- Has specs run under crashes, where that is asked for.
local function begin_crashes(opts)
  if not (opts.crash or opts.crash_at) then return end
  require("pawl.testing.crashes").watch({ places = opts.crash,
    at = opts.crash_at, seed = opts.seed }, term.warn)
end

-- What busted runs, or would if it had something in it.
local COUNTED <const> = { it = true, pending = true }

--- Counts what busted runs, of one that is to be made yet.
---@return { n: integer } told
local function count_specs()
  local told = { n = 0 }
  require("pawl.testing.busted").wrap(function(descriptor, executor)
    return COUNTED[descriptor] and function(element)
      told.n = told.n + 1
      return executor(element)
    end or nil
  end)
  return told
end

local function run(opts, args)
  if opts.crash and opts.crash_at then
    options.usage("--crash and --crash-at exclude each other")
  end
  if opts.output and opts.json then
    options.usage("--json and --output exclude each other")
  end
  local measures = opts.coverage or opts.threshold
  local coverage = measures and require "pawl.testing.coverage"
  local found, runner = pcall(require, "busted.runner")
  if not found then
    error({ code = "unsupported",
      message = "busted is not there for " .. _VERSION,
      hint = "Debian's package lua-busted, or "
        .. "luarocks --lua-version=5.4 install busted" }, 0)
  end
  -- busted forgets what a file of specs has loaded, when that is over; what
  -- builds workflows is kept by `pawl`, and has to be the one that the kit has
  require "pawl.workflow"
  require("pawl.testing.seed").first = opts.seed
  if opts.write then require("pawl.testing.snapshot").writes = true end
  begin_crashes(opts)
  local told = count_specs()
  _G.arg = arguments(opts, args)
  runner { standalone = false } -- which ends the program when one has failed
  if told.n == 0 then
    term.warn(opts.filter and ("pawl: no spec was run: none has '%s' in its "
      .. "name"):format(term.clean(opts.filter)) or "pawl: no spec was run")
    return 1
  end
  return coverage and tell_coverage(opts, coverage) or 0
end

return {
  name = "test", args = "[DIR|FILE...]", max = math.huge,
  summary = "run specs of workflows, by busted",
  about = "Runs busted on the specs in a folder (spec) or in files, under the "
    .. "Lua of this program: `busted` itself is a program of Lua 5.1 on many "
    .. "systems, which has no Pawl. Specs require \"pawl.testing\", which "
    .. "is in this program (docs/testing.md), and modules of the folder that "
    .. "it is called in.\n\n"
    .. "Options of busted's come behind --. Exits as busted does: with 0 when "
    .. "all has passed, else with 1; also with 1 when no spec was run.",
  options = {
    { long = "filter", arg = "PATTERN", help = "only specs whose name has it, "
      .. "a pattern of Lua's" },
    { long = "output", arg = "TYPE", help = "how busted tells it: TAP, json, "
      .. "gtest, junit..." },
    { long = "seed", arg = "N", type = "count", help = "with which engines of "
      .. "test.engine draw ids and jitter, and test.simulate begins, where the "
      .. "spec says none; 1" },
    { long = "write", help = "write the files of assert.history anew, as "
      .. "PAWL_WRITE=1 does" },
    { long = "crash", arg = "N", type = "count", help = "run each spec again "
      .. "for each place at which its engines can die, N at most, drawn by "
      .. "--seed" },
    { long = "crash-at", arg = "PLACE", type = "count", help = "at that one "
      .. "alone, as a failure tells it" },
    { long = "coverage", arg = "FILE", help = "write there, as JSON, which "
      .. "ways of the workflows were gone, and tell it" },
    { long = "threshold", arg = "PERCENT", type = "count", max = 100,
      help = "tell it, and fail when it is less than so much" },
  },
  examples = {
    { "pawl test", "all specs in ./spec" },
    { "pawl test order_spec.lua --filter=charge", "some of a file" },
    { "pawl test --coverage gone.json --threshold 80",
      "and what of the workflows no spec went through" },
    { "pawl test trouble_spec.lua --seed 417", "a story that failed, again" },
    { "pawl test --crash 20", "and with engines that die, at 20 places of each "
      .. "spec" },
    { "pawl test -- --shuffle --seed=7", "with options of busted's" },
  },
  run = run,
}
