--- What is asked of `require`: a module's name, and what is said. SECRET is a
--- folder of the host's beside that of the file; `conf.lua` in it must not be
--- read, and `pipe` would hold up whoever opens it.
return {
  { "a path behind a semicolon", "x;SECRET/conf.lua", "is not there" },
  { "a pattern behind a semicolon", "x;SECRET/?", "is not there" },
  { "a path between semicolons", "x;/etc/passwd;y", "is not there" },
  { "a pipe", "x;SECRET/pipe;y", "is not there" },
  { "the folder above", "...SECRET.conf", "is not there" },
  { "the folder above by its path", "../secret/conf", "is not there" },
  { "a module by its whole path", "SECRET/conf", "is not there" },
  { "a name with a question mark", "?", "is not there" },
  { "no name", "", "" },
  { "a name without end", ("a"):rep(1000000), "" },
  { "a link out of the folder", "linked", "leads out of" },
  { "a folder that is linked", "away.conf", "leads out of" },
  { "a pipe beside the file", "piped", "a pipe or a device" },
  { "a device beside the file", "endless", "leads out of" },
  { "a module that is too large", "large", "1000000 are the most" },
}
