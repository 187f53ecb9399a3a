--- timer: waits until a time has come.
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.TimerOptions
---@field after? number|string|fun(ctx: pawl.Ctx): number|string  how long it
---                              waits: this or `at`
---@field at? fun(ctx: pawl.Ctx): number|string  until when: seconds since
---                              1970, or UTC as text
---@field reschedule? string|pawl.Reschedule  the event that has its time worked
---                              out anew while it stands: a name, a pattern,
---                              or `{ event=, key=, into= }`
---@field next? string  a node; left out: the node written behind it

---@class pawl.Reschedule
---@field event string  "timer.moved", or a pattern: "timer.*"
---@field key? string|fun(ctx: pawl.Ctx): any  what the event's key must equal:
---                     a name in variables or input, or a handler
---@field into? string  the variable that takes the event's data

---@class pawl.Workflow
---@field timer fun(self: pawl.Workflow, name: string, options: pawl.TimerOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    after = shape.asked_duration,
    at = shape.handler,
    reschedule = shape.reschedule,
    next = shape.single_next,
  },
  follows = true,
  either = { "after", "at", 'after = "1h", or at = function(ctx) ... end' },
  waits_for = "time",
  mermaid = { "([", "])" },
  dot = "oval",
  detail = function(node)
    return node.reschedule and "moved by " .. node.reschedule.event
  end,
  sentence = function(data, token, w)
    local by = w.event and (" %s has its time worked out anew.%s"):format(
      words.signal(w, data.id), words.refused(w)) or ""
    if not w.at then
      return (token.beside and "it fires no more." or "it waits for its time.")
        .. by
    end
    return ("it waits until %s%s.%s"):format(words.when(data, w.at),
      words.goes(words.way_of(token, "time").to), by)
  end,
}
