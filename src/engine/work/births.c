#include "births.h"

#include <assert.h>
#include <inttypes.h>

#include "../../rules/stored.h"
#include "../../value/json.h"
#include "../enter/enter.h"

/* ---- what a child has of its parent ---- */

void pawl_kin_init(const pawl_engine *e, pawl_kin *k) {
  *k = (pawl_kin){.tenant = {.alloc = &e->alloc},
                  .group = {.alloc = &e->alloc}};
}

void pawl_kin_deinit(pawl_kin *k) {
  pawl_buf_deinit(&k->tenant);
  pawl_buf_deinit(&k->group);
}

pawl_code pawl_kin_read(pawl_engine *e, const pawl_id *parent, pawl_kin *k,
                        pawl_error *err) {
  pawl_rows rows;

  k->root = *parent;
  MUST(PAWL_READ(e->store, instance_kin, &rows, err,
                 .shard = pawl_shard_of(e, parent), .id = parent));
  if (!rows.nrows) return PAWL_OK;
  const pawl_instance_kin_row row = pawl_read_instance_kin(&rows, 0);
  if (row.root) k->root = *row.root;
  pawl_buf_adds(&k->tenant, row.tenant);
  pawl_buf_adds(&k->group, row.executor_group);
  return PAWL_OK;
}

/* ---- options ---- */

static void add_option(pawl_buf *b, pawl_str given, const char *name,
                       const pawl_buf *word) {
  pawl_str value;
  if (!word->len || (given.at && pawl_json_get(given, name, &value) &&
                     pawl_json_kind_of(value) != PAWL_JSON_NULL))
    return;
  pawl_buf_addf(b, ",\"%s\":", name);
  pawl_json_add_string(b, pawl_buf_str(word));
}

static int64_t version_of(const pawl_message_row *m) {
  pawl_str value = pawl_message_member(m, "version");
  int64_t n;
  return value.at && pawl_json_int(value, &n) ? n : 0;
}

/* The options of pawl_start: those given, and what the parent decides. */
static void child_options(const pawl_message_row *m, const pawl_kin *k,
                          pawl_buf *b) {
  pawl_str given = pawl_message_member(m, "options");
  int64_t version = version_of(m);
  char id[37];

  pawl_id_format(m->target, id);
  pawl_buf_addf(b, "{\"id\":\"%s\"", id);
  if (version) pawl_buf_addf(b, ",\"version\":%" PRId64, version);
  add_option(b, given, "tenant", &k->tenant);
  add_option(b, given, "group", &k->group);
  for (pawl_json_iter it = {0}; given.at && pawl_json_walk(given, &it);) {
    if (pawl_json_kind_of(it.value) == PAWL_JSON_NULL ||
        pawl_str_eqz(it.key, "id") ||
        (version && pawl_str_eqz(it.key, "version")))
      continue;
    pawl_buf_addz(b, ",\"");
    pawl_buf_adds(b, it.key);
    pawl_buf_addz(b, "\":");
    pawl_buf_adds(b, it.value);
  }
  pawl_buf_addc(b, '}');
}

/* ---- one child ---- */

typedef struct birth {
  pawl_buf code, options, place;
  pawl_origin origin;
} birth;

static void birth_deinit(birth *b) {
  pawl_buf_deinit(&b->code);
  pawl_buf_deinit(&b->options);
  pawl_buf_deinit(&b->place);
}

int pawl_birth_is_tracked(const pawl_message_row *m) {
  return pawl_json_kind_of(pawl_message_member(m, "track")) != PAWL_JSON_FALSE;
}

int pawl_birth_may_join(const pawl_message_row *m) {
  pawl_str key, options = pawl_message_member(m, "options");
  return !options.at || !pawl_json_get(options, "key", &key);
}

/* It has no parent, and of its place how many have led to it. */
static void untrack(birth *b) {
  pawl_place_of_ancestors(
      pawl_json_get_int(b->origin.parent_place, "ancestors", 0), &b->place);
  b->origin.parent = b->origin.root = NULL;
  b->origin.parent_place = pawl_buf_some(&b->place);
}

/* `kin` is to stay where it is. */
static pawl_code prepare(pawl_engine *e, const pawl_message_row *m,
                         const pawl_kin *kin, birth *b, pawl_error *err) {
  *b = (birth){.code = {.alloc = &e->alloc},
               .options = {.alloc = &e->alloc},
               .place = {.alloc = &e->alloc},
               .origin = {.inside = 1,
                          .parent = m->instance,
                          .root = &kin->root,
                          .parent_place = pawl_message_member(m, "place")}};
  if (!pawl_birth_is_tracked(m)) untrack(b);
  pawl_json_unquote(pawl_message_member(m, "workflow"), &b->code);
  child_options(m, kin, &b->options);
  MUST(pawl_buf_check(&b->code, err));
  MUST(pawl_buf_check(&b->place, err));
  return pawl_buf_check(&b->options, err);
}

static const char *code_of(const birth *b) {
  return b->code.at ? b->code.at : "";
}

/* Perhaps of a workflow not seen to be ready yet. */
static void look_soon(pawl_engine *e) {
  e->fresh_ready = 1;
  e->look_mono_us = 0;
}

pawl_code pawl_birth(pawl_engine *e, const pawl_message_row *m,
                     pawl_error *err) {
  pawl_kin kin;
  birth b = {.code = {0}};
  int created;
  pawl_id id;
  pawl_code rc = PAWL_OK;

  pawl_kin_init(e, &kin);
  TRY(pawl_kin_read(e, m->instance, &kin, err));
  TRY(prepare(e, m, &kin, &b, err));
  TRY(pawl_engine_start(e, code_of(&b), pawl_message_member(m, "input"),
                        pawl_buf_str(&b.options), &b.origin, &id, &created,
                        err));
  look_soon(e);
out:
  birth_deinit(&b);
  pawl_kin_deinit(&kin);
  return rc;
}

/* ---- many ---- */

typedef struct births {
  pawl_kin *kin; /* nkin of them: of each parent, in its order */
  birth *list;
  pawl_start_of *starts;
  int nkin, n;
} births;

/* Messages stand in the order of their senders. */
static pawl_code read_kin(pawl_engine *e, births *all,
                          const pawl_message_row *const *list, int i,
                          pawl_error *err) {
  if (i && pawl_id_eq(list[i]->instance, list[i - 1]->instance))
    return PAWL_OK;
  pawl_kin_init(e, &all->kin[all->nkin++]);
  return pawl_kin_read(e, list[i]->instance, &all->kin[all->nkin - 1], err);
}

static pawl_code prepare_all(pawl_engine *e, births *all,
                             const pawl_message_row *const *list, int n,
                             pawl_error *err) {
  for (int i = 0; i < n; i++) {
    birth *b = &all->list[all->n];
    MUST(read_kin(e, all, list, i, err));
    all->n++;
    MUST(prepare(e, list[i], &all->kin[all->nkin - 1], b, err));
    all->starts[i] =
        (pawl_start_of){.code = code_of(b),
                        .input = pawl_message_member(list[i], "input"),
                        .options = pawl_buf_str(&b->options),
                        .origin = &b->origin};
  }
  return PAWL_OK;
}

pawl_code pawl_births(pawl_engine *e, const pawl_message_row *const *list,
                      int n, unsigned char *born, pawl_error *err) {
  const size_t count = (size_t)n;
  births all = {.kin = pawl_calloc(&e->alloc, count * sizeof *all.kin),
                .list = pawl_calloc(&e->alloc, count * sizeof *all.list),
                .starts = pawl_calloc(&e->alloc, count * sizeof *all.starts)};
  pawl_code rc = PAWL_OK;

  assert(n > 0);
  if (!all.kin || !all.list || !all.starts) {
    rc = pawl_fail_memory(err);
    goto out;
  }
  TRY(prepare_all(e, &all, list, n, err));
  TRY(pawl_engine_start_together(e, all.starts, n, err));
  for (int i = 0; i < n; i++) born[i] = all.starts[i].created != 0;
  look_soon(e);
out:
  for (int i = 0; i < all.n; i++) birth_deinit(&all.list[i]);
  for (int i = 0; i < all.nkin; i++) pawl_kin_deinit(&all.kin[i]);
  pawl_release(&e->alloc, all.kin, count * sizeof *all.kin);
  pawl_release(&e->alloc, all.list, count * sizeof *all.list);
  pawl_release(&e->alloc, all.starts, count * sizeof *all.starts);
  return rc;
}
