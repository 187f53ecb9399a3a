--- What the store's specs share: stores opened through pawl.probe, and rows to
--- put into them.
local probe = require "spec.support.probe"

local helper = { null = probe.null }
local opened = {}

--- Opens a store and closes it again in helper.cleanup.
---@param url string
---@param options table?  see spec/support/probe.c
function helper.open(url, options)
  local store, err = probe.open(url, options)
  if store then opened[#opened + 1] = store end
  return store, err
end

--- For after_each: closes what was opened; then the backend may remove it.
function helper.cleanup()
  probe.fault()
  for _, store in ipairs(opened) do store:close() end
  opened = {}
end

--- Runs statements in one unit: helper.unit(store, "batch", {name, args}...)
---@return table[]? results, table? err
function helper.unit(store, kind, ...)
  assert(store:begin(kind))
  for _, statement in ipairs { ... } do
    local ok, err = store:send(table.unpack(statement))
    if not ok then
      store:rollback()
      return nil, err
    end
  end
  return store:commit()
end

--- The rows of one statement, read by itself.
function helper.ask(store, ...)
  return assert(helper.unit(store, "read", { ... }))[1]
end

function helper.put(store, key, value)
  return helper.unit(store, "batch", { "meta_put", { key = key,
                                                     value = value } })
end

--- The value of a key in the meta table; nil when there is none.
function helper.get(store, key)
  local rows = helper.ask(store, "meta_get", { key = key })
  return rows[1] and rows[1].value
end

--- An id that ends in the number given.
function helper.id(number)
  return ("01939d3e-7c1f-7000-8000-%012x"):format(number)
end

--- An id by which rows are locked.
helper.lease = "01939d3e-7c1f-7000-8000-0000000000ff"

--- Arguments for instance_insert, one list a column.
function helper.instances(count)
  local args = { shard = 0, now = 1700000000000000,
                 workflow = "order.fulfil", version = 1, id = {},
                 tenant = {}, priority = {}, executor_group = {},
                 business_key = {}, correlation = {}, key = {},
                 input = {}, metadata = {}, started_by = {},
                 due_at = {}, delay_us = {}, lasts = {}, max_bytes = {} }
  for _, column in pairs(args) do
    if type(column) == "table" then column.n = count end
  end
  for i = 1, count do
    args.id[i] = helper.id(i)
    args.priority[i] = 3
    args.executor_group[i] = "default"
  end
  return args
end

return helper
