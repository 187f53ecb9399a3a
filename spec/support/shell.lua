--- Commands of the system, with their arguments quoted.
local shell = {}

---@param word string
---@return string  the word as sh reads it back
function shell.quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

---@param words string[]
---@return string
function shell.line(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = shell.quote(word) end
  return table.concat(quoted, " ")
end

--- Runs a command to its end and returns what it wrote. A sanitizer that was
--- preloaded into this process is not passed on: these are helpers, not what
--- is tested.
---@param words string[]
---@return string output  stdout and stderr, raises when the command failed
function shell.output(words)
  local line = "env -u LD_PRELOAD " .. shell.line(words) .. " 2>&1 </dev/null"
  local pipe <close> = assert(io.popen(line))
  local output = pipe:read("a")
  local ok, _, code = pipe:close()
  if not ok then
    error(("%s\nexit %d: %s"):format(output, code, line), 2)
  end
  return output
end

return shell
