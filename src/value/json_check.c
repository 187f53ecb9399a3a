/* Checking a whole text, its keys included. */
#include <assert.h>

#include "json_parts.h"

/* Keys of the objects that are open, innermost last. An object whose keys
 * come in strict byte order, as we write them, cannot repeat one; the others
 * are sorted when they close. */
typedef struct checker {
  pawl_keys keys;
  size_t first[PAWL_JSON_DEPTH];
  unsigned char disorder[PAWL_JSON_DEPTH];
  pawl_buf arena;
} checker;

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory for the keys of an object");
}

static pawl_code check_key(checker *c, const pawl_json_reader *r,
                           pawl_error *err) {
  size_t at = r->begin, depth = (size_t)r->depth - 1;
  pawl_str raw = {r->text.at + at + 1, r->end - at - 2};

  if (!pawl_keys_add(&c->keys, raw, at)) return no_memory(err);
  if (r->str.at != raw.at) { /* escaped: raw text has another order */
    c->disorder[depth] = 1;
  } else if (!c->disorder[depth] && c->keys.n - c->first[depth] > 1) {
    const pawl_json_key *last = &c->keys.at[c->keys.n - 1];
    c->disorder[depth] = pawl_str_cmp(last[-1].text, last->text) >= 0;
  }
  return PAWL_OK;
}

static pawl_code check_end(checker *c, const pawl_json_reader *r,
                           pawl_error *err) {
  size_t first = c->first[r->depth], n = c->keys.n - first, i;
  pawl_json_key *keys = c->keys.at + first;

  assert(first <= c->keys.n);
  c->keys.n = first;
  if (!c->disorder[r->depth]) return PAWL_OK;
  if (!pawl_keys_unescape(keys, n, &c->arena)) return no_memory(err);
  pawl_json_sort_keys(keys, n);
  for (i = 1; i < n; i++) {
    char shown[64];
    if (!pawl_str_eq(keys[i - 1].text, keys[i].text)) continue;
    pawl_str_copy(shown, sizeof shown, keys[i].text);
    pawl_fail(err, PAWL_VALUE, "the key \"%s\" stands here again", shown);
    pawl_json_locate(r->text, keys[i].tag, err);
    return PAWL_VALUE;
  }
  return PAWL_OK;
}

static pawl_code check_token(checker *c, const pawl_json_reader *r,
                             pawl_error *err) {
  switch (r->event) {
    case PAWL_JSON_BEGIN:
      c->first[r->depth - 1] = c->keys.n;
      c->disorder[r->depth - 1] = 0;
      return PAWL_OK;
    case PAWL_JSON_KEY:
      return check_key(c, r, err);
    case PAWL_JSON_END:
      return check_end(c, r, err);
    default:
      return PAWL_OK;
  }
}

pawl_code pawl_json_check_all(pawl_json_reader *r, pawl_json_kind *kind,
                              pawl_error *err) {
  pawl_code rc;
  checker c;
  pawl_json_kind found;

  pawl_keys_init(&c.keys, r->scratch.alloc);
  memset(&c.arena, 0, sizeof c.arena);
  c.arena.alloc = r->scratch.alloc;
  TRY(pawl_json_next(r, err));
  found = r->kind;
  while (r->event != PAWL_JSON_DONE) {
    TRY(check_token(&c, r, err));
    TRY(pawl_json_next(r, err));
  }
  if (kind) *kind = found;
out:
  pawl_keys_deinit(&c.keys);
  pawl_buf_deinit(&c.arena);
  return rc;
}

pawl_code pawl_json_check_depth(pawl_str text, int most, pawl_json_kind *kind,
                                pawl_error *err) {
  pawl_json_reader r;
  assert(most <= PAWL_JSON_DEPTH); /* J3 */
  pawl_json_reader_init(&r, text, NULL);
  r.most = most;
  pawl_code rc = pawl_json_check_all(&r, kind, err);
  pawl_json_reader_deinit(&r);
  return rc;
}

pawl_code pawl_json_check(pawl_str text, pawl_json_kind *kind,
                          pawl_error *err) {
  return pawl_json_check_depth(text, PAWL_JSON_DEPTH, kind, err);
}
