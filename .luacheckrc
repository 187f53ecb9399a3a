std = "lua54"
max_line_length = 80
-- What generated or handed-out code looks like is not ours to judge.
exclude_files = { "build", "lua_modules" }

files["spec"] = { std = "+busted" }
files["examples/testing/spec"] = { std = "+busted" }
files[".busted"] = { std = "lua54" }
-- Annotations of functions bound in C: no bodies, so no use of arguments.
files["lua/pawl/meta"] = { ignore = { "211", "212" } }
files["lua/pawl/meta/assertions.lua"] = { max_comment_line_length = 120 }
files["spec/run"] = { globals = { "arg" } }
-- Annotations of methods, which cannot be broken.
files["lua/pawl/kinds"] = { max_comment_line_length = 120 }
files["lua/pawl/kinds.lua"] = { max_comment_line_length = 120 }
