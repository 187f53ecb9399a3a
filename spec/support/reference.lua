--- The reference of a kind's fields, made from what lua/pawl/kinds says to
--- editors. In docs/workflows.md it stands between comments:
---
---   <!-- fields: timer -->
---   ...
---   <!-- end -->
---
--- `lua5.4 spec/support/reference.lua` writes it there.
local reference = {}

local PAGE <const> = "docs/workflows.md"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

---@class spec.Field
---@field name string
---@field type string
---@field is_needed boolean
---@field text string

--- The fields in an annotation of a class, in its order.
---@param file string
---@param class string  "pawl.TimerOptions"
---@return spec.Field[]
function reference.fields(file, class)
  local text = assert(read(file):match("%-%-%-@class "
    .. class:gsub("%p", "%%%0") .. "\n(.-)\n\n"), class)
  local out = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local name, mark, rest = line:match "^%-%-%-@field ([%w_]+)(%??) (.*)$"
    if name then
      local kind, told = rest:match "^(.-)  +(.*)$"
      out[#out + 1] = { name = name, is_needed = mark == "",
        type = kind or rest, text = told or "" }
    elseif #out > 0 and line:find "^%-%-%-%s" then
      out[#out].text = (out[#out].text .. " " .. line:match "^%-%-%-%s*(.*)$")
        :match "^%s*(.*)$"
    end
  end
  return out
end

--- The class of a kind's options.
function reference.class(kind)
  return "pawl." .. kind:gsub("^%l", string.upper) .. "Options"
end

--- A type as it is told to people.
local function shown(type)
  type = type:gsub("fun%((.-)%).*", function(arguments)
    return "function(" .. arguments:gsub(":%s*[%w.]+", "") .. ")"
  end)
  return (type:gsub("table<[^>]*>", "table"):gsub("pawl%.%u%w*", "table"))
end

local function wrapped(text, width)
  local lines, line = {}, "-"
  for word in text:gmatch "%S+" do
    if #line + 1 + #word > width then
      lines[#lines + 1], line = line, " "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

--- What belongs between the comments.
---@param kind string
---@return string
function reference.of(kind)
  local out = {}
  for i, field in ipairs(reference.fields("lua/pawl/kinds/" .. kind .. ".lua",
    reference.class(kind))) do
    out[i] = wrapped(("`%s` (`%s`%s): %s"):format(field.name,
      shown(field.type), field.is_needed and ", needed" or "", field.text), 84)
  end
  return table.concat(out, "\n") .. "\n"
end

--- What stands in the page, by kind.
---@return table<string, string>
function reference.written()
  local out = {}
  for kind, text in read(PAGE)
    :gmatch "<!%-%- fields: (%l+) %-%->\n(.-)<!%-%- end %-%->" do
    out[kind] = text
  end
  return out
end

--- Writes all of it into the page.
function reference.write()
  local text = read(PAGE):gsub(
    "(<!%-%- fields: (%l+) %-%->\n).-(<!%-%- end %-%->)",
    function(head, kind, tail) return head .. reference.of(kind) .. tail end)
  local file <close> = assert(io.open(PAGE, "w"))
  file:write(text)
end

if arg and arg[0]:find "reference%.lua$" then reference.write() end

return reference
