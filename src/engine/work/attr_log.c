#include "attr_log.h"

#include "../../value/object.h"
#include "../common/attributes.h"
#include "../common/engine_struct.h"
#include "batch.h"

static int is_unlogged(const pawl_record *r) {
  return r->attrs.len && !r->attrs_logged;
}

static int wants(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;

  if (!p->attrs.len || !pawl_plan_writes(p)) return 0;
  for (int k = 0; k < p->nrecords; k++)
    if (is_unlogged(&p->records[k])) return 1;
  return 0;
}

/* All attributes of those that change some. */
static pawl_code ask(pawl_engine *e, pawl_held **list, int n, pawl_rows *rows,
                     pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int at;

  if (!e->unit) TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(&e->args, PAWL_STMT_attribute_were);
  EACH (h) {
    if (wants(h)) PAWL_PUT(&e->args, attribute_were, PAWL_SLOT_MEMBERS(h));
  }
  TRY(pawl_store_send(e->store, &e->args, &at, err));
  if (!e->unit) TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, at, rows);
  return PAWL_OK;
out:
  if (!e->unit) pawl_store_rollback(e->store);
  return rc;
}

/* ---- one of them ---- */

/* As a handler has set it, told as the store would. */
static pawl_code tell_set(pawl_str name, pawl_str typed, pawl_buf *scratch,
                          pawl_buf *out, pawl_error *err) {
  pawl_attribute v;

  if (pawl_json_kind_of(typed) == PAWL_JSON_NULL) return PAWL_OK;
  pawl_buf_clear(scratch);
  if (!pawl_buf_room(scratch, 4 * typed.len + 64))
    return pawl_fail_memory(err);
  MUST(pawl_attribute_read(name, typed, &v, scratch, err));
  pawl_attribute_tell(&v, out);
  return pawl_buf_check(out, err);
}

static void tell_stored(const pawl_rows *rows, const pawl_id *id,
                        pawl_str name, pawl_buf *out) {
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_attribute_were_row r = pawl_read_attribute_were(rows, k);
    if (!pawl_id_eq(r.instance, id) || !pawl_str_eq(r.name, name)) continue;
    const pawl_attribute v = PAWL_ATTRIBUTE_OF(r);
    pawl_attribute_tell(&v, out);
    return;
  }
}

/* What it was when record k came: set by one before in this plan, or stored.
 * Nothing: it was not there. */
static pawl_code tell_was(const pawl_held *h, int k, pawl_str name,
                          const pawl_rows *rows, pawl_buf *scratch,
                          pawl_buf *out, pawl_error *err) {
  char named[256]; /* it has no more, or it had been refused */
  pawl_str typed;

  pawl_str_copy(named, sizeof named, name);
  while (--k >= 0)
    if (pawl_json_get(pawl_buf_str(&h->d.plan.records[k].attrs), named,
                      &typed))
      return tell_set(name, typed, scratch, out, err);
  tell_stored(rows, &h->d.id, name, out);
  return pawl_buf_check(out, err);
}

/* ---- a row of history ---- */

/* Behind what it says of variables. */
static void add_changes(pawl_buf *changes, const pawl_buf *attributes) {
  if (changes->len > 2) {
    changes->len--;
    pawl_buf_addc(changes, ',');
  } else {
    pawl_buf_set(changes, pawl_strz("{"));
  }
  pawl_buf_addz(changes, "\"attributes\":");
  pawl_buf_adds(changes, pawl_buf_str(attributes));
  pawl_buf_addc(changes, '}');
}

static pawl_code log_record(pawl_engine *e, pawl_held *h, int k,
                            const pawl_rows *rows, pawl_error *err) {
  pawl_record *r = &h->d.plan.records[k];
  pawl_buf all = {.alloc = &e->alloc}, scratch = {.alloc = &e->alloc},
           was = {.alloc = &e->alloc}, is = {.alloc = &e->alloc};
  pawl_object o, one;
  pawl_code rc = PAWL_OK;
  int n = 0;

  pawl_object_begin(&o, &all);
  for (pawl_json_iter it = {0};
       pawl_json_walk(pawl_buf_str(&r->attrs), &it);) {
    pawl_buf_clear(&was);
    pawl_buf_clear(&is);
    TRY(tell_was(h, k, it.key, rows, &scratch, &was, err));
    TRY(tell_set(it.key, it.value, &scratch, &is, err));
    if (pawl_str_eq(pawl_buf_str(&was), pawl_buf_str(&is))) continue;
    pawl_member_named(&o, it.key);
    pawl_object_begin(&one, &all);
    if (was.len) pawl_member_json(&one, "from", pawl_buf_str(&was));
    if (is.len) pawl_member_json(&one, "to", pawl_buf_str(&is));
    pawl_object_end(&one);
    n++;
  }
  pawl_object_end(&o);
  TRY(pawl_buf_check(&all, err));
  if (n) add_changes(&r->changes, &all);
  r->attrs_logged = 1;
  TRY(pawl_buf_check(&r->changes, err));
out:
  pawl_buf_deinit(&all);
  pawl_buf_deinit(&scratch);
  pawl_buf_deinit(&was);
  pawl_buf_deinit(&is);
  return rc;
}

pawl_code pawl_attr_log(pawl_engine *e, pawl_held **list, int n,
                        pawl_error *err) {
  pawl_rows rows;
  int any = 0;

  EACH (h) any |= wants(h);
  if (!any) return PAWL_OK;
  MUST(ask(e, list, n, &rows, err));
  EACH (h) {
    if (!wants(h)) continue;
    for (int k = 0; k < h->d.plan.nrecords; k++)
      if (is_unlogged(&h->d.plan.records[k]))
        MUST(log_record(e, h, k, &rows, err));
  }
  return PAWL_OK;
}
