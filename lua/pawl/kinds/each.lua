--- each: one branch, or one child, for each item of a list. A branch ends its
--- item by leading back to the each; ctx.token.data holds its `item` and
--- `index`.
local boundary = require "pawl.boundary"
local problem = require "pawl.problem"
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.EachOptions
---@field items fun(ctx: pawl.Ctx): any[]  the list
---@field next? string  a node
---@field branch? string  the first node of a branch: this or `workflow`
---@field workflow? string  the children's code
---@field version? integer  of that workflow; default: the newest
---@field parent_end? "cancel"|"leave"  what becomes of children when the parent
---                              ends first; "cancel"
---@field window? integer  how many are under way at once; 16
---@field on_failure? "stop"|"collect"  whether one that fails fails the node,
---                              the default, or leaves `{ error = ... }` in
---                              its place
---@field timeout? number|string  how long it waits for all of them
---@field into? string  the variable that takes the results, in order
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.Workflow
---@field each fun(self: pawl.Workflow, name: string, options: pawl.EachOptions): pawl.Workflow

local function check(node, whose)
  for _, field in ipairs { "version", "parent_end" } do
    if node.branch and node[field] then
      problem.fail("it is for: workflow = \"code\"",
        "%s has '%s' with a 'branch'", whose, field)
    end
  end
end

---@type pawl.Kind
return {
  fields = {
    items = shape.handler,
    next = shape.single_next,
    branch = shape.name,
    workflow = shape.code,
    version = shape.count,
    parent_end = shape.parent_end,
    window = shape.count,
    on_failure = shape.one_of("stop", "collect"),
    timeout = shape.limit,
    into = shape.name,
    on_error = shape.on_error,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  needs = { { "items", "items = function(ctx) return ctx.vars.list end" } },
  follows = true,
  either = { "branch", "workflow",
    'branch = "the_first_node", or workflow = "code"' },
  check = check,
  receives = true,
  waits_for = "items",
  mermaid = { "[(", ")]" },
  dot = "cylinder",
  detail = function(node)
    local window = ("%d at once"):format(node.window or 16)
    return node.workflow and words.child(node) .. ", " .. window or window
  end,
  sentence = function(data, token, w)
    local text = ("it waits for its items: %d of %d are done"):format(w.done,
      w.total)
    if w.failed > 0 then text = ("%s, %d failed"):format(text, w.failed) end
    return ("%s, %d under way (%d at most).%s"):format(text, w.under_way,
      w.window, words.timeout_of(data, token))
  end,
}
