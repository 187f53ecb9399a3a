--- join: one token goes on of those that a fork made.
local problem = require "pawl.problem"
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.JoinOptions
---@field next? string  a node; left out: the node written behind it
---@field expect? "all"|"any"|integer  how many it waits for; "all" that can
---                              still come
---@field losers? "run"|"cancel"  what becomes of those that come too late:
---                              they "run" on until they come, the default

---@class pawl.Workflow
---@field join fun(self: pawl.Workflow, name: string, options: pawl.JoinOptions): pawl.Workflow

local function is_expect(value, what)
  if value == "all" or value == "any" then return value end
  if math.type(value) == "integer" and value >= 1 then return value end
  problem.fail('"all", "any", or a number', "%s cannot be %s", what,
    type(value) == "string" and "'" .. value .. "'" or tostring(value))
end

local function place(s)
  return ("token %d at %s%s"):format(s.no, words.quoted(s.node),
    s.branch and " (branch " .. words.quoted(s.branch) .. ")" or "")
end

---@type pawl.Kind
return {
  fields = {
    next = shape.single_next,
    expect = is_expect,
    losers = shape.one_of("run", "cancel"),
  },
  follows = true,
  routes = true,
  waits_for = "siblings",
  mermaid = { "[\\", "/]" },
  dot = "invtrapezium",
  detail = function(node)
    local text = tostring(node.expect or "all")
    return node.losers == "cancel" and text .. ", cancels the rest" or text
  end,
  sentence = function(_, token, w)
    local to = words.way_of(token, "siblings").to
    local wanted = w.expect == 0 and "all that can still come"
      or words.plural(w.expect, "token") .. " in all"
    local text = ("it waits for %s: %s here"):format(wanted,
      words.plural(w.arrived, "is", "are"))
    local names = words.mapped(w.siblings, place)
    if #names > 0 then
      text = text .. ", missing " .. (#names == 1 and "is " or "are ")
        .. table.concat(names, ", ")
    end
    return text .. (to and "; then it goes to " .. words.quoted(to) or "")
      .. "."
  end,
}
