--- Telling a service manager how a worker stands: systemd's `Type=notify` and
--- `WatchdogSec`. Without one nothing is told, and nothing costs.
local core = require "pawl.core"
local sys = require "pawl.sys"

local service = {}

local told = nil -- when the last sign of life was given
local is_quiet = false

--- Of several processes the one above them tells.
function service.leave() is_quiet = true end

--- Seconds between two signs of life; nil: nobody waits for any.
---@return number?
function service.pace() return not is_quiet and sys.watchdog() or nil end

function service.ready()
  if not is_quiet then sys.notify "READY=1" end
end

function service.stopping()
  if not is_quiet then sys.notify "STOPPING=1" end
end

--- To be called at least as often as the pace says; more often is cheap.
function service.alive()
  local pace = service.pace()
  if not pace then return end
  local now = core.mono()
  if told and now - told < pace / 2 then return end
  told = now
  sys.notify "WATCHDOG=1"
end

return service
