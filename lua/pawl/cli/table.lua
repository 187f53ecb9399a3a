--- Plain aligned tables.
local term = require "pawl.cli.term"

---@class pawl.cli.Column
---@field title string
---@field value fun(row: any): any  nil and null show as "-"
---@field right? boolean            numbers
---@field flex? boolean             is cut when the terminal is narrow
---@field least? integer            but not below that; default 8
---@field tail? boolean             its end is kept, not its beginning
---@field sparse? boolean           left out where no row has it
---@field drop? integer             left out of a narrow terminal, 1 first
---@field color? fun(row: any): string?

local function escaped(byte) return ("\\x%02x"):format(byte:byte()) end

--- What ends a line or a column is shown as what it is: else two keys could
--- look alike, and a row like two.
local function text_of(value)
  if value == nil or type(value) == "userdata" then return "-" end
  return term.clean((tostring(value):gsub("[\t\n]", escaped)))
end

local function pad(text, width, right)
  local gap = (" "):rep(width - term.columns(text))
  return right and gap .. text or text .. gap
end

local function least_of(column)
  return math.max(term.columns(column.title), column.least or 8)
end

local function total_of(widths)
  local total = 2 * (#widths - 1)
  for _, w in ipairs(widths) do total = total + w end
  return total
end

--- Takes from the widest of the flexible columns until the row fits, or none
--- of them may lose more.
local function fit(columns, widths, width)
  for _ = width + 1, total_of(widths) do
    local widest
    for i, column in ipairs(columns) do
      if column.flex and widths[i] > least_of(column)
        and (not widest or widths[i] >= widths[widest]) then
        widest = i
      end
    end
    if not widest then return false end
    widths[widest] = widths[widest] - 1
  end
  return true
end

--- The column that is left out first.
local function expendable(columns)
  local found
  for i, column in ipairs(columns) do
    if column.drop and (not found or column.drop < columns[found].drop) then
      found = i
    end
  end
  return found
end

--- The columns that are shown, and how wide they are.
local function layout(columns, cells, width)
  columns = table.move(columns, 1, #columns, 1, {})
  while true do
    local widths = {}
    for i, column in ipairs(columns) do
      widths[i] = term.columns(column.title)
      for _, row in ipairs(cells) do
        local w = term.columns(row[column])
        if width and w > width then w = width end
        widths[i] = math.max(widths[i], w)
      end
    end
    if not width or fit(columns, widths, width) then return columns, widths end
    local least = expendable(columns)
    if not least then return columns, widths end
    table.remove(columns, least)
  end
end

local function is_empty(column, cells)
  for _, row in ipairs(cells) do
    if row[column] ~= "-" then return false end
  end
  return true
end

---@param columns pawl.cli.Column[]
---@param rows any[]
return function(columns, rows)
  local cells, used = {}, {}
  for r, row in ipairs(rows) do
    cells[r] = {}
    for _, column in ipairs(columns) do
      cells[r][column] = text_of(column.value(row))
    end
  end
  for _, column in ipairs(columns) do
    if not column.sparse or not is_empty(column, cells) then
      used[#used + 1] = column
    end
  end
  local width = term.width()
  local shown, widths = layout(used, cells, width)

  local function line(text_in, paint)
    local out = {}
    for i, column in ipairs(shown) do
      local text = text_in(column)
      if width then text = term.cut(text, widths[i], column.tail) end
      if i < #shown or column.right then
        text = pad(text, widths[i], column.right)
      end
      out[i] = paint(column, text)
    end
    return (table.concat(out, "  "):gsub("%s+$", ""))
  end

  local function plain(_, text) return text end
  term.print(term.paint("dim", line(function(column)
    return column.title
  end, plain)))
  for r, row in ipairs(cells) do
    term.print(line(function(column) return row[column] end,
      function(column, text)
        local color = column.color and column.color(rows[r])
        return color and term.paint(color, text) or text
      end))
  end
end
