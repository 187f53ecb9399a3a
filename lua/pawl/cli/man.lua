--- pawl man [COMMAND]: manual pages, made of what `--help` is made of.
local commands = require "pawl.cli.commands"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

--- As roff shows it: nothing of it is a request.
local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (("\n" .. text):gsub("\n([.'])", "\n\\&%1"):sub(2))
end

local function bold(text) return "\\fB" .. roff(text) .. "\\fR" end

local function add(out, ...)
  for _, line in ipairs { ... } do out[#out + 1] = line end
end

local function heading(name, summary)
  return { ('.TH "%s" 1 "" "pawl %s" "Pawl"'):format(
    roff(name:upper()), pawl.version()), ".SH NAME",
    roff(name) .. " \\- " .. roff(summary), ".SH SYNOPSIS" }
end

local function add_about(out, about)
  add(out, ".SH DESCRIPTION")
  for paragraph in (about .. "\n\n"):gmatch "(.-)\n%s*\n" do
    add(out, ".PP", roff(paragraph))
  end
end

local function add_options(out, title, list)
  if #list == 0 then return end
  add(out, ".SH " .. title)
  for _, option in ipairs(list) do
    add(out, ".TP", ("%s%s%s"):format(
      option.short and bold("-" .. option.short) .. ", " or "",
      bold("--" .. option.long),
      option.arg and " \\fI" .. roff(option.arg) .. "\\fR" or ""),
      roff(option.help))
  end
end

local function add_examples(out, list)
  if #list == 0 then return end
  add(out, ".SH EXAMPLES")
  for _, example in ipairs(list) do
    add(out, ".TP", bold(example[1]), roff(example[2]))
  end
end

---@param command pawl.cli.Command
local function page_of(command)
  local out = heading("pawl-" .. command.name, command.summary)
  add(out, ("%s %s[options]"):format(bold("pawl " .. command.name),
    command.args and roff(command.args) .. " " or ""))
  local times = options.times(command)
  add_about(out, command.about .. (times and "\n\n" .. times or ""))
  add_options(out, "OPTIONS", command.options)
  add_options(out, '"OPTIONS OF EVERY COMMAND"', options.common)
  add_examples(out, command.examples)
  add(out, ".SH SEE ALSO", bold "pawl" .. "(1)")
  return out
end

local function overview()
  local help = commands.get "help"
  local out = heading("pawl", "durable workflows written in Lua")
  add(out, bold "pawl" .. " \\fICOMMAND\\fR [options]")
  add_about(out, "A crash, a power cut or a redeploy never loses a finished "
    .. "step.\n\nIds may be shortened to 4 characters or more of their "
    .. "beginning or their end.")
  add(out, ".SH COMMANDS")
  for _, name in ipairs(commands.names) do
    add(out, ".TP", bold("pawl-" .. name) .. "(1)",
      roff(commands.get(name).summary))
  end
  add_options(out, '"OPTIONS OF EVERY COMMAND"', options.common)
  add(out, ".SH EXIT STATUS", ".nf", roff(help.exit_codes), ".fi")
  return out
end

local function text_of(page) return table.concat(page, "\n") .. "\n" end

local function write(dir, name, page)
  local file <close> = store.try(io.open(dir .. "/" .. name .. ".1", "wb"))
  store.try(file:write(text_of(page)))
end

local function write_all(dir)
  local file, why = io.open(dir .. "/pawl.1", "wb")
  if not file then
    options.usage("cannot write to %s: %s", nil, dir, why:match ": (.*)" or why)
  end
  file:close()
  write(dir, "pawl", overview())
  for _, name in ipairs(commands.names) do
    write(dir, "pawl-" .. name, page_of(commands.get(name)))
  end
end

local function run(opts, args)
  local command = args[1] and commands.get(args[1])
  if args[1] and not command then
    options.usage("no page about '%s'",
      nearest.hint(args[1], commands.names), args[1])
  elseif opts.dir and command then
    options.usage("--dir is for all pages, not for one")
  elseif opts.dir then
    write_all(opts.dir)
  else
    term.lines(text_of(command and page_of(command) or overview()))
  end
  return 0
end

return {
  name = "man", args = "[COMMAND]", max = 1,
  summary = "manual pages",
  about = "Prints the manual page of a command, or of pawl itself, as roff: "
    .. "the same as --help says, for `man`. With --dir all of them are "
    .. "written there, as pawl.1 and pawl-COMMAND.1; an installation has "
    .. "them already.",
  options = {
    { long = "dir", arg = "DIR", help = "write all pages into this directory" },
  },
  examples = {
    { "pawl man list | man -l -", "read one" },
    { "pawl man --dir ~/.local/share/man/man1", "have all of them" },
  },
  run = run,
}
