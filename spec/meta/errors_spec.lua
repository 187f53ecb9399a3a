--- The list of codes in pawl.h and the table in docs/errors.md are the same.
local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

describe("docs/errors.md", function()
  it("has a row for every code of pawl.h, in its order", function()
    local list = read("src/pawl.h"):match "#define PAWL_CODES%(X%)(.-)\n\n"
    local codes, rows = {}, {}
    for text in list:gmatch 'X%([%u_]+, "([%w_]+)"%)' do
      codes[#codes + 1] = text
    end
    for code in read("docs/errors.md"):gmatch "\n| `([%w_]+)`" do
      rows[#rows + 1] = code
    end
    assert.is_true(#codes > 20)
    assert.same(codes, rows)
  end)
end)
