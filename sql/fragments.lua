--- What several statements of a dialect have: once, in its fragments.sql, and
--- written out where they name it.
---
---   -- fragment: unless_suspended
---   -- Free comments.
---   not exists (select from pawl.suspension p where p.code = {{1}})
---
--- `{{unless_suspended w.workflow}}` stands for it, with what stands behind the
--- name in the place of {{1}}; of several, parted by `;`, the next is {{2}}. A
--- fragment may name others. Each statement has three of its own, of its
--- arguments with []: `{{lists}}` is "id, at", `{{@lists}}` "@id, @at", and
--- `{{unnested}}` "unnest(@id) as id, unnest(@at) as at".
local fragments = {}

---@class embed.Fragment
---@field text string  one line
---@field used boolean?

---@param lines fun(): string?  of fragments.sql
---@return table<string, embed.Fragment>
function fragments.read(lines)
  local found, open = {}, nil
  for line in lines do
    local name = line:match("^%-%- fragment: ([%l%d_]+)$")
    if name then
      open = { text = "" }
      found[name] = open
    elseif open and line:find("%S") and not line:find("^%-%-") then
      open.text = (open.text .. " " .. line):gsub("%s+", " "):gsub("^ ", "")
    end
  end
  return found
end

--- The text with its fragments written out, on as many lines as before.
---@param known table<string, embed.Fragment>
---@param lists string[]  names of the statement's arguments with []
---@param fail fun(message: string, ...)
---@param depth integer?  of fragments in fragments
function fragments.expand(text, known, lists, fail, depth)
  local function each(fmt)
    local out = {}
    for i, name in ipairs(lists) do out[i] = fmt:gsub("%%", name) end
    return table.concat(out, ", ")
  end
  local own = { lists = "%", ["@lists"] = "@%",
                unnested = "unnest(@%) as %" }
  return (text:gsub("{{(@?%l[%l%d_]*) ?([^{}]*)}}", function(name, given)
    local values = {}
    if own[name] then return each(own[name]) end
    if not known[name] or depth == 9 then
      fail("there is no fragment %s", name)
    end
    known[name].used = true
    for value in given:gmatch("[^;%s][^;]*") do values[#values + 1] = value end
    return fragments.expand(known[name].text:gsub("{{(%d)}}", function(i)
      return values[tonumber(i)] or fail("%s wants a {{%s}}", name, i)
    end), known, lists, fail, (depth or 0) + 1)
  end))
end

return fragments
