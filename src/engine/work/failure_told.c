#include "failure_told.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../../rules/stored.h"
#include "../../value/object.h"
#include "../common/attributes.h"
#include "../common/engine_struct.h"
#include "batch.h"

static int wants(const pawl_held *h) {
  const pawl_plan *p = &h->d.plan;
  return p->tells && !p->told && pawl_plan_writes(p);
}

/* Names and attributes of those that fail. */
static pawl_code ask(pawl_engine *e, pawl_held **list, int n, pawl_rows *names,
                     pawl_rows *attributes, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int names_at, attributes_at;

  if (!e->unit) TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(&e->args, PAWL_STMT_instance_names);
  EACH (h) {
    if (wants(h)) PAWL_PUT(&e->args, instance_names, PAWL_SLOT_MEMBERS(h));
  }
  TRY(pawl_store_send(e->store, &e->args, &names_at, err));
  pawl_args_begin(&e->args, PAWL_STMT_attribute_were);
  EACH (h) {
    if (wants(h)) PAWL_PUT(&e->args, attribute_were, PAWL_SLOT_MEMBERS(h));
  }
  TRY(pawl_store_send(e->store, &e->args, &attributes_at, err));
  if (!e->unit) TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, names_at, names);
  pawl_store_rows(e->store, attributes_at, attributes);
  return PAWL_OK;
out:
  if (!e->unit) pawl_store_rollback(e->store);
  return rc;
}

/* ---- what is told ---- */

static void add_some(pawl_object *o, const char *name, pawl_str value) {
  if (value.len) pawl_member_str(o, name, value);
}

/* As its handlers have set them in this very plan. */
static pawl_code add_set(const pawl_held *h, pawl_object *o, pawl_buf *scratch,
                         pawl_error *err) {
  pawl_str attrs = pawl_buf_str(&h->d.plan.attrs);
  pawl_attribute v;

  for (pawl_json_iter it = {0}; attrs.len && pawl_json_walk(attrs, &it);) {
    if (pawl_json_kind_of(it.value) == PAWL_JSON_NULL) continue;
    pawl_buf_clear(scratch);
    if (!pawl_buf_room(scratch, 4 * it.value.len + 64))
      return pawl_fail_memory(err);
    MUST(pawl_attribute_read(it.key, it.value, &v, scratch, err));
    pawl_member_named(o, it.key);
    pawl_attribute_tell(&v, o->out);
  }
  return PAWL_OK;
}

static int is_set_anew(const pawl_held *h, pawl_str name) {
  pawl_str attrs = pawl_buf_str(&h->d.plan.attrs);

  for (pawl_json_iter it = {0}; attrs.len && pawl_json_walk(attrs, &it);)
    if (pawl_str_eq(it.key, name)) return 1;
  return 0;
}

static pawl_code add_attributes(const pawl_held *h, const pawl_rows *rows,
                                pawl_object *o, pawl_buf *scratch,
                                pawl_error *err) {
  pawl_object all;

  pawl_member_object(o, "attributes", &all);
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_attribute_were_row r = pawl_read_attribute_were(rows, k);
    if (!pawl_id_eq(r.instance, &h->d.id) || is_set_anew(h, r.name)) continue;
    const pawl_attribute v = PAWL_ATTRIBUTE_OF(r);
    pawl_member_named(&all, r.name);
    pawl_attribute_tell(&v, all.out);
  }
  MUST(add_set(h, &all, scratch, err));
  pawl_object_end(&all);
  return PAWL_OK;
}

static void find_names(const pawl_rows *rows, const pawl_id *id,
                       pawl_instance_names_row *out) {
  *out = (pawl_instance_names_row){.id = NULL};
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_instance_names_row r = pawl_read_instance_names(rows, k);
    if (pawl_id_eq(r.id, id)) *out = r;
  }
}

static pawl_code write_body(const pawl_held *h,
                            const pawl_instance_names_row *names,
                            const pawl_rows *attributes, pawl_buf *body,
                            pawl_buf *scratch, pawl_error *err) {
  pawl_object o = {.out = body, .n = 1}; /* it goes on */

  assert(h->d.plan.failure.len > 2 || h->d.plan.failure.failed);
  pawl_buf_adds(body, pawl_buf_str(&h->d.plan.failure));
  if (body->len) body->len--; /* its brace */
  add_some(&o, "key", names->key);
  add_some(&o, "business_key", names->business_key);
  add_some(&o, "correlation", pawl_buf_str(&h->correlation));
  add_some(&o, "tenant", pawl_buf_str(&h->tenant));
  MUST(add_attributes(h, attributes, &o, scratch, err));
  pawl_object_end(&o);
  return pawl_buf_check(body, err);
}

/* Known by its key: the failure is that of one commit of one instance. */
static void write_start(const pawl_held *h, pawl_str code,
                        const pawl_instance_names_row *names, pawl_str body,
                        pawl_buf *out) {
  pawl_buf place = {.alloc = out->alloc};
  char key[64];
  pawl_object o, options;

  pawl_place_of_ancestors(pawl_ancestors_below(&h->d), &place);
  if (place.failed) out->failed = 1;
  (void)snprintf(key, sizeof key, "%s/%" PRId64, h->d.id_text,
                 h->d.commits + 1);
  pawl_buf_clear(out);
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "workflow", code);
  pawl_member_json(&o, "input", body);
  pawl_member_object(&o, "options", &options);
  pawl_member_textz(&options, "key", key);
  pawl_member_textz(&options, "by", "on_failure");
  add_some(&options, "business_key", names->business_key);
  pawl_member_str(&options, "correlation",
                  h->correlation.len ? pawl_buf_str(&h->correlation)
                                     : pawl_strz(h->d.id_text));
  pawl_object_end(&options);
  pawl_member_bool(&o, "track", 0);
  if (place.len) pawl_member_json(&o, "place", pawl_buf_str(&place));
  pawl_member_bool(&o, "on_failure", 1);
  pawl_object_end(&o);
  pawl_buf_deinit(&place);
}

static pawl_code tell_one(pawl_engine *e, pawl_held *h, const pawl_rows *names,
                          const pawl_rows *attributes, pawl_error *err) {
  pawl_buf body = {.alloc = &e->alloc}, scratch = {.alloc = &e->alloc};
  pawl_plan *p = &h->d.plan;
  pawl_instance_names_row known;
  pawl_code rc = PAWL_OK;

  find_names(names, &h->d.id, &known);
  TRY(write_body(h, &known, attributes, &body, &scratch, err));
  for (int k = 0; k < p->neffects; k++) {
    pawl_effect *f = &p->effects[k];
    if (!f->is_failure) continue;
    if (f->kind == PAWL_EFFECT_EMIT)
      pawl_buf_set(&f->data, pawl_buf_str(&body));
    else
      write_start(h, pawl_buf_str(&f->key), &known, pawl_buf_str(&body),
                  &f->data);
    TRY(pawl_buf_check(&f->data, err));
  }
  p->told = 1;
out:
  pawl_buf_deinit(&body);
  pawl_buf_deinit(&scratch);
  return rc;
}

pawl_code pawl_failure_told(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  pawl_rows names, attributes;
  int any = 0;

  EACH (h) any |= wants(h);
  if (!any) return PAWL_OK;
  MUST(ask(e, list, n, &names, &attributes, err));
  EACH (h) {
    if (wants(h)) MUST(tell_one(e, h, &names, &attributes, err));
  }
  return PAWL_OK;
}
