--- What sql/embed.lua must know of PostgreSQL's SQL; see embed.Dialect there.
return {
  is_first = true,
  needs = "PAWL_POSTGRES",
  sign = "$",
  has_dollar_quotes = true,
  no_run = "for SQLite only: lists are arrays here already",
}
