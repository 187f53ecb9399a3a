--- each: one branch, or one child, for each item of a list. A branch ends its
--- item by leading back to the each; ctx.token.data holds its `item` and
--- `index`.
local boundary = require "pawl.boundary"
local problem = require "pawl.problem"
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.EachOptions
---@field items fun(ctx: pawl.Ctx): any[]  the list
---@field next? string  a node; left out: the node written behind it
---@field branch? string  the first node of a branch: this or `workflow`
---@field workflow? string  the children's code
---@field version? integer  of that workflow; default: the newest
---@field parent_end? "cancel"|"leave"  what becomes of children when the parent
---                              ends first; "cancel"
---@field group? string|fun(ctx: pawl.Ctx): string?  of executors, that runs
---                              the children; default: the parent's
---@field priority? integer|fun(ctx: pawl.Ctx): integer?  of the children: a
---                              higher one is claimed first; 0
---@field window? integer  how many are under way at once; 16
---@field on_failure? "stop"|"collect"  whether one that fails fails the node,
---                              the default, or leaves `{ error = ... }` in
---                              its place
---@field tolerate? integer|string  up to so many may fail, each with
---                              `{ error = ... }` in its place: 3, or "10%" of
---                              all; one more fails the node
---@field enough? fun(ctx: pawl.Ctx, so_far: pawl.SoFar): boolean, any  asked
---                              when an item has ended: need the others end?
---                              What it returns behind that is `so_far.sum`
---                              when the next one has
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  how long
---                              it waits for all of them
---@field reschedule? string|pawl.Reschedule  an event that has `timeout`
---                              worked out anew: a name, a pattern, or
---                              `{ event=, key=, into= }`
---@field into? string  the variable that takes the results, in order
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

--- What is known when an item has ended, and others have not.
---@class pawl.SoFar
---@field total integer      items in all
---@field done integer       of them, those that ended well
---@field failed integer     and those that failed
---@field under_way integer  and those that have begun
---@field index integer      the one that has just ended: its place in the list
---@field result? any        what it gave
---@field error? { code: string, message: string }  or why it failed
---@field sum? any           what `enough` returned last, behind its verdict

---@class pawl.Workflow
---@field each fun(self: pawl.Workflow, name: string, options: pawl.EachOptions): pawl.Workflow

local function check(node, whose)
  shape.moved(node, whose, { "timeout" })
  if node.tolerate and node.on_failure then
    problem.fail("keep one of them", "%s has both 'tolerate' and 'on_failure'",
      whose)
  end
  for _, field in ipairs { "version", "parent_end", "group", "priority" } do
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
    group = shape.group,
    priority = shape.start_priority,
    window = shape.count,
    on_failure = shape.one_of("stop", "collect"),
    tolerate = shape.share,
    enough = shape.handler,
    timeout = shape.asked_limit,
    reschedule = shape.reschedule,
    into = shape.name,
    on_error = shape.on_error,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  meant = { limit = "window", concurrency = "window", parallel = "window" },
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
    local text = ("%d at once"):format(node.window or 16)
    if node.workflow then text = words.child(node) .. ", " .. text end
    if node.tolerate then
      text = ("%s, %s may fail"):format(text, node.tolerate)
    end
    return node.enough and text .. ", until enough" or text
  end,
  sentence = function(data, token, w)
    local text = ("it waits for its items: %d of %d are done"):format(w.done,
      w.total)
    if w.failed > 0 then text = ("%s, %d failed"):format(text, w.failed) end
    if w.tolerated then
      text = ("%s (%d may fail)"):format(text, w.tolerated)
    end
    return ("%s, %d under way (%d at most).%s%s%s"):format(text, w.under_way,
      w.window, w.early and " It may end before all of them have." or "",
      words.timeout_of(data, token), words.moved_by(data, w))
  end,
}
