#include "author.h"

#include <assert.h>

int pawl_author_is(const pawl_def *def, pawl_str owner) {
  return owner.at && def->author ? pawl_str_eqz(owner, def->author)
                                 : !owner.at && !def->author;
}

static pawl_code check(const pawl_def *def, pawl_str owner, pawl_error *err) {
  if (!def->is_limited || def->takes || pawl_author_is(def, owner))
    return PAWL_OK;
  pawl_fail_hint(err, PAWL_LIMIT,
                 "give it a code of its own; who runs it may grant this one, "
                 "by `takes` of its `trust`",
                 "workflow code %s is %s%.*s: it may not be defined by %s",
                 def->code, owner.at ? "that of author " : "the host's own",
                 (int)owner.len, owner.at ? owner.at : "", def->author);
  pawl_error_where(err, "%s:%d", def->file, def->line);
  return PAWL_LIMIT;
}

pawl_code pawl_author_look(pawl_engine *e, const pawl_def *def,
                           pawl_error *err) {
  pawl_rows rows;
  int at;

  if (!def->is_limited) return PAWL_OK;
  MUST(PAWL_SEND(e->store, code_author, &at, err,
                 .code = pawl_strz(def->code)));
  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return PAWL_OK;
  return check(def, pawl_read_code_author(&rows, 0).author, err);
}

pawl_code pawl_author_claim(pawl_engine *e, const pawl_def *def, int keeps,
                            pawl_error *err) {
  pawl_rows rows;
  int at;

  MUST(PAWL_SEND(e->store, code_claim, &at, err, .code = pawl_strz(def->code),
                 .author = pawl_strz(def->author)));
  pawl_store_rows(e->store, at, &rows);
  assert(rows.nrows == 1);
  const pawl_str owner = pawl_read_code_claim(&rows, 0).author;
  MUST(check(def, owner, err));
  if (keeps || pawl_author_is(def, owner)) return PAWL_OK;
  return PAWL_SEND(e->store, code_take, NULL, err,
                   .code = pawl_strz(def->code),
                   .author = pawl_strz(def->author));
}
