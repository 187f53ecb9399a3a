--- engine.outbox: what workflows have emitted and nobody has published yet.
local core = require "pawl.core"
local args = require "pawl.args"

local outbox = {}

local list_shape = args.of "outbox_list"

---@param query? pawl.OutboxQuery
---@param how? "table"|"json"
---@return table[]? rows
---@return pawl.Error? err
function outbox:list(query, how)
  return core.outbox_list(self[1], args.query("outbox:list", list_shape,
    query), how)
end

---- handing over --------------------------------------------------------------

local function how_of(value)
  if value == "table" or value == "json" then return value end
end

local relay_shape = args.of("outbox_relay", nil, {
  publish = { "callable" },
  how = { how_of, wants = '"table" or "json"' } })

--- What is handed over as a table: its id, again, is all of it.
local function decoded(publish)
  return function(text, id, attempt, again)
    if again then return publish({ id = id }, id, attempt, true) end
    local event, err = core.json_decode(text)
    if not event then return nil, err end
    return publish(event, id, attempt, false)
  end
end

--- Hands over what is due, until nothing is, or for so long.
---@param options pawl.RelayOptions
---@return pawl.Relayed? relayed
---@return pawl.Error? err
function outbox:relay(options)
  local given = args.read("outbox:relay", relay_shape, options)
  local publish, how = given.publish, given.how
  if not publish then error("outbox:relay needs 'publish', a function", 2) end
  given.publish, given.how = nil, nil
  return core.outbox_relay(self[1], next(given) and given or nil,
    how == "json" and function(...) return publish(...) end
    or decoded(publish))
end

---- by hand -------------------------------------------------------------------

for _, kind in ipairs(args.kinds "outbox_change") do
  local shape = args.of("outbox_change", kind)
  outbox[kind] = function(self, options)
    local given = args.read("outbox:" .. kind, shape, options)
    given.kind = kind
    local info, err = core.outbox_change(self[1], given)
    if not info then return nil, err end
    return info.changed, info.more
  end
end

return outbox
