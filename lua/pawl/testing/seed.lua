--- The seed with which specs begin where they say none: `pawl test --seed`. It
--- is loaded before any spec, and so is one for all of them.
---@class pawl.FirstSeed
---@field first? integer
return {}
