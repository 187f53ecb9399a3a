--- undo: takes back what was done so far, or a part of it, and goes on.
local shape = require "pawl.shape"

---@class pawl.UndoOptions
---@field of? string|string[]  what is undone: nodes that have `undo`, and forks
---                              and eachs, with all inside of them; default:
---                              all that was done
---@field next? string  a node; left out: the node written behind it
---@field on_error? table<string, string>  where "undo_failed" leads: something
---                              could not be undone

---@class pawl.Workflow
---@field undo fun(self: pawl.Workflow, name: string, options?: pawl.UndoOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    of = shape.nodes,
    next = shape.single_next,
    on_error = shape.on_error,
  },
  follows = true,
  mermaid = { "[\\", "\\]" },
  dot = "larrow",
  detail = function(node)
    return "undoes " .. (node.of and table.concat(node.of, ", ") or "all")
  end,
}
