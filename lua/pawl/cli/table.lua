--- Plain aligned tables.
local term = require "pawl.cli.term"

---@class pawl.cli.Column
---@field title string
---@field value fun(row: any): any  nil and null show as "-"
---@field right? boolean            numbers
---@field flex? boolean             is cut first when the terminal is narrow

local function text_of(value)
  if value == nil or type(value) == "userdata" then return "-" end
  return term.clean(tostring(value))
end

local function pad(text, width, right)
  local gap = (" "):rep(width - term.columns(text))
  return right and gap .. text or text .. gap
end

--- Takes from the flexible columns until the row fits.
local function fit(columns, widths, width)
  local total = 2 * (#columns - 1)
  for _, w in ipairs(widths) do total = total + w end
  for i = #columns, 1, -1 do
    if total <= width then return end
    if columns[i].flex then
      local least = math.max(term.columns(columns[i].title), 8)
      local less = math.min(total - width, math.max(widths[i] - least, 0))
      widths[i], total = widths[i] - less, total - less
    end
  end
end

---@param columns pawl.cli.Column[]
---@param rows any[]
return function(columns, rows)
  local widths, cells = {}, {}
  for i, column in ipairs(columns) do widths[i] = #column.title end
  for r, row in ipairs(rows) do
    cells[r] = {}
    for i, column in ipairs(columns) do
      cells[r][i] = text_of(column.value(row))
      widths[i] = math.max(widths[i], term.columns(cells[r][i]))
    end
  end
  local width = term.width()
  if width then fit(columns, widths, width) end

  local function line(texts, color)
    local out = {}
    for i, column in ipairs(columns) do
      local text = width and term.cut(texts[i], widths[i]) or texts[i]
      out[i] = pad(text, widths[i], column.right)
    end
    local joined = table.concat(out, "  "):gsub("%s+$", "")
    term.print(color and term.paint(color, joined) or joined)
  end

  local titles = {}
  for i, column in ipairs(columns) do titles[i] = column.title end
  line(titles, "dim")
  for _, row in ipairs(cells) do line(row) end
end
