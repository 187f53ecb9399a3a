-- A firmware update over a bad line, in a machine whose plug may be pulled at
-- any moment: chunk after chunk into the slot that does not run, its sum, the
-- switch, a restart, and a look whether the new one is well. If it is not, the
-- old one comes back.
--
-- fetch, write_slot, slot_sum and boot are the machine's (appliance.c).
local pawl = require "pawl"

local CHUNK <const> = 4096

local update = pawl.workflow {
  code = "appliance.firmware", version = 1, start = "download",
  retry = { max = 10, base = 0.05, cap = 5 },
}

-- Writing a chunk twice changes nothing: it needs no key.
update:step("download", {
  run = function(ctx)
    local at = ctx.vars.at or 0
    local chunk = ctx.host.fetch { version = ctx.input.version, at = at,
      length = math.min(CHUNK, ctx.input.size - at) }
    ctx.host.write_slot { at = at, bytes = chunk }
    ctx.vars.at = at + #chunk
    return ctx.vars.at < ctx.input.size and "more" or "complete"
  end,
  next = { more = "download", complete = "verify" },
})

update:step("verify", {
  run = function(ctx)
    if ctx.host.slot_sum { size = ctx.input.size } ~= ctx.input.sum then
      error { code = "bad_image", message = "the image is damaged",
        retry = false }
    end
  end,
  on_error = { bad_image = "refused" },
  next = "switch",
})

-- The next start takes the other slot, on trial. In the store, and so in the
-- transaction that records this step: both have happened, or neither has.
update:step("switch", {
  transactional = true,
  run = function(ctx)
    ctx.vars.was = ctx.db:query("select version from boot")[1].version
    ctx.db:query([[update boot set slot = 1 - slot, version = ?,
      trial = 1, switched = switched + 1]], ctx.input.version)
  end,
  next = "restart",
})

-- Does not come back before the machine has started again: it says "wait".
update:step("restart", {
  run = function(ctx) ctx.host.boot { version = ctx.input.version } end,
  next = "is_well",
})

update:choice("is_well", {
  choose = function(ctx) return ctx.input.broken and "no" or "yes" end,
  next = { yes = "keep", no = "take_back" },
})

update:step("keep", {
  transactional = true,
  run = function(ctx) ctx.db:query "update boot set trial = 0" end,
  next = "done",
})

update:step("take_back", {
  transactional = true,
  run = function(ctx)
    ctx.db:query("update boot set slot = 1 - slot, version = ?, trial = 0",
      ctx.vars.was)
  end,
  next = "taken_back",
})

update:finish("done", {
  output = function(ctx) return { bytes = ctx.vars.at } end,
})
update:finish("taken_back", { status = "failed" })
update:finish("refused", { status = "failed" })

return update
