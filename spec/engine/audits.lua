--- What the specs of the audit ask: its entries without what a program did by
--- loading a file, and each of them in a few words.
local audits = {}

--- "ann cancelled (why)", in the order given.
---@param entries pawl.AuditEntry[]
---@return string[]
function audits.told(entries)
  local list = {}
  for i, e in ipairs(entries) do
    list[i] = ("%s %s%s"):format(e.by or "-", e.type,
      e.text and e.text ~= "" and " (" .. e.text .. ")" or "")
  end
  return list
end

--- What was done by whom, newest first, without what was registered.
---@param engine pawl.Engine
---@param query? table
---@return pawl.AuditEntry[]
function audits.asked(engine, query)
  local list = {}
  for _, e in ipairs(assert(engine:audit(query))) do
    if e.type ~= "registered" then list[#list + 1] = e end
  end
  return list
end

return audits
