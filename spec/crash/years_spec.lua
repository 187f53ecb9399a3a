--- A device that runs for ten years on one file: what it keeps stays small, and
--- true. Its time is made up, and so is most of its life (support/device.lua).
---
--- PAWL_STEPS: how many steps of its life on SQLite (30,000); ten years are
--- 10,000,000. On PostgreSQL, where no device has its store, it is a few days.
local Device = require "spec.support.device"
local kit = require "spec.engine.kit"
local testing = require "pawl.testing"

local STEPS = assert(math.tointeger(tonumber(os.getenv "PAWL_STEPS" or 30000)),
  "PAWL_STEPS is a whole number")
local POSTGRES_STEPS = 10000

-- What it sets aside: the file and its log.
local BYTES = 5 << 20
-- Of one table. Most are counters, until they are folded; history is the next.
local ROWS = 4000
-- Of one that lives on: what it keeps, an eighth more, as often as it is
-- looked at, and what has the latest of a value.
local HISTORY = Device.KEEP + 64 + 64 + 32

local function size(path)
  local file <close> = io.open(path)
  return file and file:seek "end" or 0
end

kit.describe("a device that runs for years", function(backend)
  local sqlite = backend.name == "sqlite"

  local function number(url, text)
    text = text:gsub("pawl%.", kit.table(backend, ""))
    local _, value = next(kit.select(url, text)[1])
    return assert(math.tointeger(value), text)
  end

  local function tables(url)
    return kit.select(url, sqlite and "select name from sqlite_master \
      where type = 'table'" or "select 'pawl.' || tablename as name \
      from pg_tables where schemaname = 'pawl'")
  end

  --- What was stored, all of it, is there or gone by the rules.
  local function check(device, url)
    local engine = device.engine
    for _, row in ipairs(tables(url)) do
      assert.is_true(number(url, "select count(*) from " .. row.name) <= ROWS,
        row.name)
    end
    for _, name in ipairs { "history", "attribute", "agenda", "token",
      "inbox", "subscription", "outbox", "item", "variable", "task",
      "published", "message" } do
      assert.equal(0, number(url, ("select count(*) from pawl.%s t where not \
        exists (select 1 from pawl.instance i where i.shard = t.shard \
        and i.id = t.instance)"):format(name)), name)
    end
    assert.is_true(number(url, "select coalesce(max(n), 0) from (\
      select count(*) as n from pawl.history group by instance) t")
      <= HISTORY)
    assert.equal(0, number(url, "select count(*) from pawl.inbox t \
      join pawl.instance i on i.id = t.instance \
      where i.status in ('completed', 'failed', 'cancelled')"))
    assert.same({}, assert(engine:list { limit = 1,
      status = { "completed", "failed", "cancelled" },
      completed_before = device.clock:now() - 4 * 86400 }))
    assert.is_true(assert(engine:health()).sound)
    assert.same({ count = 0, more = false },
      { count = #assert(engine.outbox:list()), more = false })
  end

  --- What it counted itself, and what it was seen to do, agree.
  local function check_counts(device)
    local engine, hours = device.engine, device.hours
    local reports = 0
    for no = 1, Device.SENSORS do
      local sensor = device:of("device.sensor", "sensor-" .. no)
      local n = hours * 12 + 1
      assert.equal("waiting", sensor.status)
      assert.equal(n, sensor.variables.n)
      assert.equal(sensor.variables.last, sensor.attributes.last)
      reports = reports + n // 24
      local rows = assert(engine:history(sensor.id, { limit = 1000 }))
      local trimmed = sensor.trimmed and sensor.trimmed.rows or 0
      -- a row tells of those that are gone
      local left = #rows - (trimmed > 0 and 1 or 0)
      assert.equal(rows[#rows].seq, left + trimmed)
    end
    assert.equal(hours // 24,
      device:of("device.care", "care").variables.n)
    assert.equal(reports + hours * device.served_an_hour, device.reported)
    local cups = {}
    for _, version in ipairs(assert(engine:stats()).workflows) do
      if version.workflow == "device.cup" then
        for status, count in pairs(version.statuses) do
          cups[status] = (cups[status] or 0) + count
        end
      end
    end
    local purged = cups.purged
    cups.purged = nil
    local left = 0
    for _, count in pairs(cups) do left = left + count end
    assert.equal(hours * Device.CUPS, left + purged)
    assert.equal(#assert(engine:list { workflow = "device.cup",
      limit = 1000 }), left)
  end

  it("has a store that stays small, and says what happened", function()
    local clock, url = testing.clock(), backend.url()
    local device = Device.new(function(options)
      return backend.open(url, options)
    end, clock)
    local most, steps = 0, sqlite and STEPS or POSTGRES_STEPS
    while device.steps < steps do
      device:hour()
      if sqlite and device.hours % 24 == 0 then
        most = math.max(most, size(url) + size(url .. "-wal"))
        assert.is_true(most <= BYTES, ("%d bytes after %d steps"):format(most,
          device.steps))
      end
      if device.hours % (24 * 60) == 0 then check(device, url) end
    end
    while device.hours % 24 > 0 do device:hour() end
    check(device, url)
    check_counts(device)
    io.stderr:write(("%s: %d steps in %d days, at most %d bytes\n"):format(
      backend.name, device.steps, device.hours // 24, most))
  end)
end)
