-- A firmware update of an appliance that may lose power at any moment.
--
-- The image is fetched in chunks, each one a step, so a power cut costs at
-- most one chunk. The switch of the boot slot is written through ctx.db in the
-- very transaction that records the step: either both happened, or neither.
-- The first start of the new image must confirm itself within its time, else
-- the old slot comes back.
--
--   pawl run examples/firmware.lua --input '{"version":"2.1","size":40000}'
--   pawl run examples/firmware.lua --input '{"version":"2.2","broken":true}'
local pawl = require "pawl"

local CHUNK = 8192

-- The image server and the flash chip, made up: bytes that depend on the
-- place alone. A device would fetch with an HTTP range and write to its flash.
local function fetch(version, offset, length)
  local bytes = {}
  for i = 1, length do
    bytes[i] = string.char((offset + i * 7 + #version) % 256)
  end
  return table.concat(bytes)
end

-- Fletcher's checksum over chunk after chunk: its whole state is two numbers,
-- so it can be kept in the variables between steps.
local function fletcher(sum, bytes)
  local a, b = sum[1], sum[2]
  for i = 1, #bytes do
    a = (a + bytes:byte(i)) % 65535
    b = (b + a) % 65535
  end
  return pawl.array { a, b }
end

local function expected_sum(input)
  local sum = { 1, 0 }
  for offset = 0, input.size - 1, CHUNK do
    sum = fletcher(sum, fetch(input.version, offset,
      math.min(CHUNK, input.size - offset)))
  end
  return sum
end

local update = pawl.workflow {
  code = "example.firmware",
  version = 1,
  start = "prepare",
  retry = { max = 5, base = 1, cap = 60 },
}

update:step("prepare", {
  run = function(ctx)
    ctx.vars.size = ctx.input.size or 40000
    ctx.vars.offset = 0
    ctx.vars.sum = pawl.array { 1, 0 }
  end,
  next = "download",
})

-- One chunk a step; the step leads back to itself until all is there.
update:step("download", {
  run = function(ctx)
    local vars = ctx.vars
    local chunk = fetch(ctx.input.version, vars.offset,
      math.min(CHUNK, vars.size - vars.offset))
    vars.sum = fletcher(vars.sum, chunk)
    vars.offset = vars.offset + #chunk
    return vars.offset < vars.size and "more" or "complete"
  end,
  next = { more = "download", complete = "verify" },
})

update:step("verify", {
  run = function(ctx)
    local want = expected_sum { version = ctx.input.version,
      size = ctx.vars.size }
    if ctx.vars.sum[1] ~= want[1] or ctx.vars.sum[2] ~= want[2] then
      error { code = "bad_image", message = "the checksum differs",
        retry = false }
    end
  end,
  on_error = { bad_image = "refused" },
  next = "flash",
})

-- Writing the idle slot is harmless and may be repeated.
update:step("flash", {
  run = function(ctx) ctx.vars.slot = "B" end,
  next = "switch",
})

update:step("switch", {
  transactional = true,
  run = function(ctx)
    ctx.db:query [[create table if not exists boot_slot
      (id integer primary key, slot text not null, version text not null)]]
    ctx.db:query([[insert into boot_slot (id, slot, version)
      values (1, ?, ?) on conflict (id) do update
      set slot = excluded.slot, version = excluded.version]],
      ctx.vars.slot, ctx.input.version)
  end,
  next = "reboot",
})

update:timer("reboot", { after = "1s", next = "is_healthy" })

-- After the restart: did the new image come up?
update:choice("is_healthy", {
  choose = function(ctx) return ctx.input.broken and "no" or "yes" end,
  next = { yes = "confirm", no = "roll_back" },
})

update:step("confirm", {
  run = function(ctx) ctx.vars.running = ctx.input.version end,
  next = "done",
})

update:step("roll_back", {
  transactional = true,
  run = function(ctx)
    ctx.db:query("update boot_slot set slot = ? where id = 1", "A")
    ctx.vars.running = "previous"
  end,
  next = "rolled_back",
})

local function result(ctx)
  return { running = ctx.vars.running, bytes = ctx.vars.offset }
end

update:finish("done", { output = result })
update:finish("rolled_back", { status = "failed", output = result })
update:finish("refused", { status = "failed" })

return update
