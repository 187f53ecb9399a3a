--- --watch: what a command tells, told again and again on a terminal.
local options = require "pawl.cli.options"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local watch = {}

local every = 2 -- seconds

---@type pawl.cli.Option
watch.option = { long = "watch",
  help = ("look again every %d s, on a terminal, until Ctrl-C"):format(every) }

--- Runs `draw` once, or with --watch for ever.
---@param opts table  what the command line said
---@param draw fun(): integer  an exit code
---@return integer exit code
function watch.run(opts, draw)
  if not opts.watch then return draw() end
  if opts.json or not term.tty then
    options.usage("--watch is for people at a terminal",
      "without it the command tells how things are now")
  end
  while true do
    term.clear()
    draw()
    term.say(term.paint("dim", ("every %d s; Ctrl-C ends"):format(every)))
    sys.sleep(every)
  end
end

return watch
