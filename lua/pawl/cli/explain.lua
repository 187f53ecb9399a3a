--- pawl explain ID...
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

--- Words behind one another as lines that fit the terminal.
local function wrapped(text, width)
  local line = ""
  for word in text:gmatch "%S+" do
    if line ~= "" and term.columns(line) + 1 + term.columns(word) > width then
      term.print(line)
      line = "  " .. word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  term.print(line)
end

local function tell(opts, sentences)
  for _, sentence in ipairs(sentences) do
    sentence = term.clean(store.point(opts, sentence))
    local width = term.width()
    if width then wrapped(sentence, width) else term.print(sentence) end
  end
end

local function run(opts, args)
  return several(opts, args, function(engine, id)
    if opts.json then return (store.try(engine:explain(id, "json"))) end
    tell(opts, store.try(engine:explain(id)).sentences)
  end, true)
end

return {
  name = "explain", args = "ID...", min = 1, max = math.huge,
  summary = "where an instance stands, why, and what would move it",
  about = "Says in sentences what each token of an instance waits for and "
    .. "since when, what would move it and who may, when it is looked at "
    .. "next, who holds its lease, and why nothing moves: suspended, no "
    .. "worker, a delay after a failure, siblings that a join waits for, a "
    .. "child. --json has the same as data, its times in UTC.",
  options = {},
  examples = {
    { "pawl explain 019aa1f2", "an id may be shortened" },
    { "pawl explain 019aa1f2 --json | jq '.tokens[].waiting_for'",
      "what each token waits for" },
  },
  run = run,
}
