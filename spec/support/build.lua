--- Where the build under test is: absolute, for children elsewhere.
local build = {}

build.dir = os.getenv("PAWL_BUILD") or os.getenv("PWD") .. "/build/debug"
build.command = build.dir .. "/pawl"

--- What a child process needs to `require "pawl"` from this build.
build.env = {
  LUA_PATH = build.dir .. "/lua/?.lua;" .. build.dir .. "/lua/?/init.lua;;",
  LUA_CPATH = build.dir .. "/lua/?.so;;",
}

return build
