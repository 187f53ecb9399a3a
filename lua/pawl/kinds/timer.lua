--- timer: waits until a time has come.
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.TimerOptions
---@field after? number|string|fun(ctx: pawl.Ctx): number|string  how long it
---                              waits: this or `at`
---@field at? fun(ctx: pawl.Ctx): number|string  until when: seconds since
---                              1970, or UTC as text
---@field next? string  a node

---@class pawl.Workflow
---@field timer fun(self: pawl.Workflow, name: string, options: pawl.TimerOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    after = shape.asked_duration,
    at = shape.handler,
    next = shape.single_next,
  },
  follows = true,
  either = { "after", "at", 'after = "1h", or at = function(ctx) ... end' },
  waits_for = "time",
  mermaid = { "([", "])" },
  dot = "oval",
  sentence = function(data, token, w)
    if not w.at then return "it waits for its time." end
    return ("it waits until %s%s."):format(words.when(data, w.at),
      words.goes(words.way_of(token, "time").to))
  end,
}
