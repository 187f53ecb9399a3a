--- docs/schema.md: made from the comments of the schema, and as that is now.
local postgres = require "spec.support.backends"[2]
local schema = require "spec.support.schema"
local tmp = require "spec.support.tmp"

if postgres then
  describe("the page about the schema", function()
    local rows

    setup(function()
      local _, _, url = postgres.fresh()
      rows = postgres.sql(url, schema.COLUMNS)
      if os.getenv "PAWL_WRITE" then
        local file <close> = assert(io.open("docs/schema.md", "w"))
        file:write(schema.page(rows))
      end
    end)
    teardown(postgres.cleanup)

    it("says something of each table, view and column", function()
      assert.is_true(#rows > 300)
      assert.same({}, schema.unsaid(rows))
    end)

    it("is as the schema is", function()
      assert.is_true(schema.page(rows) == tmp.read "docs/schema.md",
        "make it anew: PAWL_WRITE=1 ./dev test spec/meta/schema_spec.lua")
    end)
  end)
end
