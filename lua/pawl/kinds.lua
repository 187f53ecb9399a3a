--- The kinds of nodes: one file each in lua/pawl/kinds, which says all of its
--- shape - the fields, what is needed, its transitions, how it is drawn, how
--- `explain` words what stands there. The builder, drawings, explanations and
--- the reference in docs/workflows.md read it. Plain Lua: workflows are also
--- built in states without pawl.core.
---
---   kinds.timer.fields.after  --> a shape (pawl.shape)
---   kinds.names               --> { "step", "choice", ... }

---@class pawl.Kind
---@field fields table<string, function>  what may be said: shapes
---@field meant? table<string, string>  a field by what it might be called
---@field needs? string[][]     what must be: { field, how it is written }
---@field either? string[]      one of two: { field, field, how, and what to do
---                             where both are there }
---@field transitions? string[] all that it knows; a single `next` is the first
---@field other_transitions? string[] the same, where the second of `either` is
---                             said
---@field follows? boolean      without `next` it leads to the node written behind
---@field check? fun(node: table, whose: string)  the fields together
---@field routes? boolean       it only leads on: nothing is written, none waits
---@field receives? boolean     what it waits for is sent to it: its `timeout`
---                             says how long, and it is tried once
---@field waits_for? string     `waiting_for.what` of an explanation
---@field sentence? fun(data: pawl.Explanation, token: pawl.ExplainedToken, w: table): string
---                             that, in words: "it waits for ..."
---@field also? table<string, function>  the same by what else `what` may be
---@field mermaid string[]      what stands around its text
---@field dot string            its shape in Graphviz
---@field detail? fun(node: table): string  what is drawn below its name

---@class pawl.Kinds
---@field names string[]
---@field [string] pawl.Kind
local kinds = {
  -- as they are listed for people
  names = {
    "step", "choice", "timer", "finish", "wait", "task", "fork", "join",
    "call", "each", "undo", "escalate",
  },
}

for _, name in ipairs(kinds.names) do
  kinds[name] = require("pawl.kinds." .. name)
end

return kinds
