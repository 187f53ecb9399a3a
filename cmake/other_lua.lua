-- What `require "pawl"` and `require "pawl.testing"` find under another Lua
-- than 5.4: many systems have a `busted` of Lua 5.1.
error("pawl needs Lua 5.4, and this is " .. _VERSION
  .. ": run specs by `pawl test`", 0)
