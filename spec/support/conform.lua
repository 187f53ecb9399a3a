--- busted's output for spec/store/conformance_spec.lua: what failed on one
--- backend, then "N passed, N failed, N aside". Aside is what wants a second
--- connection of a store that has one. Then how often the functions of the
--- third driver (toy.c) were called.
local SECOND <const> = "spec: a second connection is wanted"

local function is_aside(report)
  return tostring(report.message):find(SECOND, 1, true) ~= nil
end

local function output()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()

  local function tell()
    local failed, aside = 0, 0
    for _, list in ipairs { handler.failures, handler.errors } do
      for _, report in ipairs(list) do
        if is_aside(report) then
          aside = aside + 1
        else
          failed = failed + 1
          print(("%s: %s\n  %s"):format(report.trace
            and report.trace.short_src or "?", report.name,
            tostring(report.message):sub(1, 300):gsub("\n", "\n  ")))
        end
      end
    end
    print(("%d passed, %d failed, %d aside"):format(handler.successesCount,
      failed, aside))
    local calls = {}
    for name, n in pairs(require "spec.support.probe".toy()) do
      calls[#calls + 1] = ("%s=%d"):format(name, n)
    end
    print("calls: " .. table.concat(calls, " "))
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, tell)
  return handler
end

--- `second` raises what is counted as aside.
return setmetatable({
  second = function() error(SECOND, 0) end,
}, { __call = output })
