--- What is wrong with a definition: raised where it was written.
local problem = {}

--- The chunk names of our own modules begin with this: "=pawl." inside the
--- program, "@/usr/share/lua/5.4/pawl/" as files.
local OURS = debug.getinfo(1, "S").source:gsub("problem$", "")
  :gsub("problem%.lua$", "")

local Problem = { __name = "pawl.definition_error" }

function Problem.__tostring(self)
  local text = self.message
  if self.where then text = self.where .. ": " .. text end
  if self.hint then text = text .. " (" .. self.hint .. ")" end
  return text
end

--- The workflow that is being added to: its last known line stands in for a
--- caller that has gone.
---@type pawl.WorkflowState?
local building

--- Whose lines stand in from here on.
---@param state? pawl.WorkflowState
function problem.building(state) building = state end

--- File and line of the code that called into the builder. A tail call, as in
--- `return order:finish("done")`, leaves no trace of its own: then the line
--- before it, or else whoever called that code.
---@return string? file
---@return integer line
function problem.caller()
  local level, gone = 2, false
  while true do
    local info = debug.getinfo(level, "Slt")
    if not info then return nil, 0 end
    if info.source:sub(1, #OURS) == OURS then
      gone = info.istailcall
    elseif gone and building then
      return building.file, building.last_line
    elseif info.currentline > 0 then
      return (info.short_src:gsub("^%./", "")), info.currentline
    end
    level = level + 1
  end
end

--- Raises it as the error of some place.
---@param where? string
---@param hint? string
function problem.raise(where, hint, message, ...)
  error(setmetatable({
    code = "definition",
    message = message:format(...),
    hint = hint,
    where = where,
  }, Problem), 0)
end

--- Raises it as the error of whoever called into the builder.
---@param hint? string  what to write instead
---@param message string  a format
function problem.fail(hint, message, ...)
  local file, line = problem.caller()
  problem.raise(file and ("%s:%d"):format(file, line), hint, message, ...)
end

--- "a table", "an integer", "nothing", "null" (a pointer to nothing): what was
--- given instead.
---@param value any
---@return string
function problem.given(value)
  local kind = math.type(value) or type(value)
  if kind == "nil" then return "nothing" end
  if kind == "userdata" and ("%p"):format(value) == "(null)" then
    return "null"
  end
  return (kind:find("^[aeiou]") and "an " or "a ") .. kind
end

return problem
