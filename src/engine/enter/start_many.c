/* Starting many: a list is checked whole, then written in batches, each one
 * transaction of one shard, with one statement a table.
 *
 * Nothing is stored when any item is wrong. Ids are drawn before the first
 * batch goes out, so that one whose answer was lost is sent again without
 * harm. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../../value/json.h"
#include "start.h"

#define BATCH_ROWS 1000
#define BATCH_BYTES (8 * 1024 * 1024) /* of items, as given */
#define TRIES 3

typedef struct item {
  pawl_str text;  /* JSON, a slice of the list */
  pawl_str input; /* a slice of that, or of ours */
  pawl_id id;     /* ours at first, the stored one's in the end */
  int shard, created, known;
  int is_plain; /* it has no options of its own */
} item;

/* An item of the batch that is being written. */
typedef struct row {
  item *of;
  pawl_start_options options; /* keeps its memory from batch to batch */
} row;

typedef struct many {
  pawl_engine *e;
  const char *code;
  pawl_str shared;         /* options of all, JSON */
  pawl_start_options head; /* the same, read; its version is theirs */
  int64_t asked;           /* the version, by the caller; 0: the newest */
  item *items;
  item **order; /* by shard, then as given */
  size_t nitems, items_cap, nstored;
  row *rows;
  int nrows, cap;
  int is_plain; /* all rows are */
  int was_sent; /* it may have been stored already */
  row **sorted; /* by key, then by id: rivals wait, and do not deadlock */
  pawl_buf scratch;
} many;

/* ---- checking ---- */

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory");
}

static pawl_code wrong_item(pawl_code rc, size_t i, pawl_error *err) {
  pawl_error_prefix(err, "item %zu", i + 1);
  return rc;
}

static pawl_code read_shared(const many *m, pawl_start_options *o,
                             pawl_error *err) {
  pawl_code rc = PAWL_OK;
  pawl_start_options_clear(o);
  TRY(pawl_start_options_read(o, m->shared, NULL, err));
  o->version = m->head.version;
out:
  return rc;
}

static pawl_code read_item(const many *m, item *it, pawl_start_options *o,
                           pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int nshared;
  TRY(read_shared(m, o, err));
  nshared = o->nread;
  o->version = m->asked;
  it->input = pawl_strz("{}");
  TRY(pawl_start_options_read(o, it->text, &it->input, err));
  if (o->version != m->asked)
    return pawl_fail(err, PAWL_INVALID,
                     "option `version` is one for all items: give it "
                     "beside the list");
  o->version = m->head.version;
  it->is_plain = o->nread == nshared;
out:
  return rc;
}

/* What the store would refuse later is found now. */
static pawl_code check_attributes(many *m, const pawl_start_options *o,
                                  pawl_error *err) {
  const size_t room = pawl_start_attributes_room(o);
  pawl_code rc = PAWL_OK;
  if (!room) return PAWL_OK;
  pawl_buf_clear(&m->scratch);
  if (!pawl_buf_room(&m->scratch, room))
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  pawl_args_begin(&m->e->args, PAWL_STMT_ATTRIBUTE_START);
  TRY(pawl_start_attribute_args(m->e, o, &m->scratch, err));
  TRY(pawl_args_check(&m->e->args, err));
out:
  return rc;
}

static pawl_code check_item(many *m, item *it, pawl_start_options *o,
                            pawl_error *err) {
  pawl_code rc = PAWL_OK;
  TRY(read_item(m, it, o, err));
  TRY(pawl_start_check_size(m->e, it->input, err));
  TRY(check_attributes(m, o, err));
  TRY(pawl_start_id(m->e, m->code, o, err));
  it->id = o->id;
  it->shard = pawl_start_shard(m->e, &it->id);
out:
  return rc;
}

static pawl_code check_items(many *m, pawl_error *err) {
  pawl_start_options o;
  pawl_code rc = PAWL_OK;
  pawl_start_options_init(&o, &m->e->alloc);
  for (size_t i = 0; i < m->nitems; i++)
    if ((rc = check_item(m, &m->items[i], &o, err)) != PAWL_OK) {
      (void)wrong_item(rc, i, err);
      break;
    }
  pawl_start_options_deinit(&o);
  return rc;
}

static pawl_code check_head(many *m, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  TRY(pawl_start_check_code(m->code, err));
  if (m->shared.at) TRY(pawl_json_check(m->shared, NULL, err));
  TRY(pawl_start_options_read(&m->head, m->shared, NULL, err));
  if (m->head.has_key || m->head.has_id)
    return pawl_fail(err, PAWL_INVALID,
                     "option `%s` is one item's: give it in the list",
                     m->head.has_key ? "key" : "id");
  m->asked = m->head.version;
  TRY(pawl_start_version(m->e, m->code, &m->head, err));
out:
  return rc;
}

/* ---- the list ---- */

static pawl_code add_item(many *m, pawl_str text, pawl_error *err) {
  if (m->nitems == m->items_cap) {
    const size_t cap = m->items_cap ? m->items_cap * 2 : 64;
    item *items =
        pawl_realloc(&m->e->alloc, m->items, m->items_cap * sizeof *m->items,
                     cap * sizeof *m->items);
    if (!items) return no_memory(err);
    m->items = items;
    m->items_cap = cap;
  }
  m->items[m->nitems++] = (item){.text = text};
  return PAWL_OK;
}

static pawl_code cut_list(many *m, pawl_str list, pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str none, text;
  pawl_code rc = PAWL_OK;

  TRY(pawl_json_check(list, &kind, err));
  if (kind != PAWL_JSON_ARRAY)
    return pawl_fail(err, PAWL_INVALID, "what is started must be a list");
  while (pawl_json_each(list, &it, &none, &text)) TRY(add_item(m, text, err));
out:
  return rc;
}

static int compare_shards(const void *a, const void *b) {
  const item *x = *(item *const *)a, *y = *(item *const *)b;
  int order = (x->shard > y->shard) - (x->shard < y->shard);
  return order ? order : (x > y) - (x < y);
}

static pawl_code sort_by_shard(many *m, pawl_error *err) {
  m->order =
      pawl_realloc(&m->e->alloc, NULL, 0, m->nitems * sizeof *m->order + 1);
  if (!m->order) return no_memory(err);
  for (size_t i = 0; i < m->nitems; i++) m->order[i] = &m->items[i];
  if (m->e->nshards > 1 && m->nitems)
    qsort(m->order, m->nitems, sizeof *m->order, compare_shards);
  return PAWL_OK;
}

static pawl_code make_rows(many *m, pawl_error *err) {
  const pawl_alloc *alloc = &m->e->alloc;
  m->cap = m->nitems < BATCH_ROWS ? (int)m->nitems : BATCH_ROWS;
  m->rows = pawl_realloc(alloc, NULL, 0, (size_t)m->cap * sizeof *m->rows + 1);
  m->sorted =
      pawl_realloc(alloc, NULL, 0, (size_t)m->cap * sizeof *m->sorted + 1);
  for (int i = 0; m->rows && i < m->cap; i++)
    pawl_start_options_init(&m->rows[i].options, alloc);
  return m->rows && m->sorted ? PAWL_OK : no_memory(err);
}

static void deinit(many *m) {
  const pawl_alloc *alloc = &m->e->alloc;
  for (int i = 0; m->rows && i < m->cap; i++)
    pawl_start_options_deinit(&m->rows[i].options);
  pawl_release(alloc, m->rows, (size_t)m->cap * sizeof *m->rows + 1);
  pawl_release(alloc, m->sorted, (size_t)m->cap * sizeof *m->sorted + 1);
  pawl_release(alloc, m->items, m->items_cap * sizeof *m->items);
  if (m->order)
    pawl_release(alloc, m->order, m->nitems * sizeof *m->order + 1);
  pawl_start_options_deinit(&m->head);
  pawl_buf_deinit(&m->scratch);
}

/* ---- one batch ---- */

static int compare_rows(const void *a, const void *b) {
  const pawl_start_options *x = &(*(row *const *)a)->options;
  const pawl_start_options *y = &(*(row *const *)b)->options;
  size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
  int order = len ? memcmp(x->key.at, y->key.at, len) : 0;
  if (order == 0)
    order = (x->key.len > y->key.len) - (x->key.len < y->key.len);
  return order ? order : memcmp(&x->id, &y->id, sizeof x->id);
}

/* The rows of the items from order[at] on; *next: the batch behind them. */
static pawl_code take_batch(many *m, size_t at, size_t *next,
                            pawl_error *err) {
  const int shard = m->order[at]->shard;
  size_t bytes = 0;
  pawl_code rc = PAWL_OK;

  m->is_plain = 1;
  m->was_sent = 0;
  for (m->nrows = 0; at < m->nitems && m->nrows < m->cap; at++) {
    item *it = m->order[at];
    row *r = &m->rows[m->nrows];
    bytes += it->text.len;
    if (it->shard != shard || (m->nrows && bytes > BATCH_BYTES)) break;
    TRY(it->is_plain ? read_shared(m, &r->options, err)
                     : read_item(m, it, &r->options, err));
    m->is_plain &= it->is_plain;
    r->of = it;
    r->options.id = it->id;
    m->sorted[m->nrows++] = r;
  }
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_rows);
  *next = at;
out:
  return rc;
}

static void instance_args(many *m, const row *r) {
  pawl_args *a = &m->e->args;
  const pawl_start_options *o = &r->options;
  pawl_arg_id(a, PAWL_INSTANCE_INSERT_ID, &o->id);
  pawl_start_arg_word(a, PAWL_INSTANCE_INSERT_TENANT, &o->tenant,
                      o->has_tenant);
  pawl_arg_int(a, PAWL_INSTANCE_INSERT_PRIORITY, o->priority);
  pawl_arg_textz(a, PAWL_INSTANCE_INSERT_EXECUTOR_GROUP,
                 pawl_start_group(m->e, o));
  pawl_start_arg_word(a, PAWL_INSTANCE_INSERT_BUSINESS_KEY, &o->business_key,
                      o->has_business_key);
  pawl_start_arg_word(a, PAWL_INSTANCE_INSERT_CORRELATION_ID, &o->correlation,
                      o->has_correlation);
  pawl_start_arg_word(a, PAWL_INSTANCE_INSERT_EXTERNAL_ID, &o->key,
                      o->has_key);
  pawl_arg_str(a, PAWL_INSTANCE_INSERT_INPUT, r->of->input);
  pawl_arg_str(a, PAWL_INSTANCE_INSERT_METADATA, o->metadata);
  pawl_start_arg_due(a, PAWL_INSTANCE_INSERT_DUE_AT,
                     PAWL_INSTANCE_INSERT_DELAY_US, o);
}

static pawl_code send_instances(many *m, int shard, pawl_error *err) {
  pawl_args *a = &m->e->args;
  pawl_args_begin(a, PAWL_STMT_INSTANCE_INSERT);
  pawl_arg_int(a, PAWL_INSTANCE_INSERT_SHARD, shard);
  pawl_arg_textz(a, PAWL_INSTANCE_INSERT_WORKFLOW, m->code);
  pawl_start_arg_version(a, PAWL_INSTANCE_INSERT_WORKFLOW_VERSION,
                         m->head.version);
  for (int i = 0; i < m->nrows; i++) instance_args(m, m->sorted[i]);
  pawl_store_arg_now(m->e->store, a, PAWL_INSTANCE_INSERT_NOW);
  return pawl_store_send(m->e->store, a, err);
}

/* Of rows that differ in their input alone: what all have is sent once. */
static pawl_code send_alike(many *m, int shard, pawl_error *err) {
  pawl_args *a = &m->e->args;
  pawl_start_alike_args(m->e, shard, m->code, &m->rows[0].options);
  for (int i = 0; i < m->nrows; i++) {
    pawl_arg_id(a, PAWL_INSTANCE_ALIKE_ID, &m->sorted[i]->options.id);
    pawl_arg_str(a, PAWL_INSTANCE_ALIKE_INPUT, m->sorted[i]->of->input);
  }
  return pawl_store_send(m->e->store, a, err);
}

static pawl_code send_attributes(many *m, int shard, pawl_error *err) {
  pawl_args *a = &m->e->args;
  size_t room = 0;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < m->nrows; i++)
    room += pawl_start_attributes_room(&m->rows[i].options);
  if (!room) return PAWL_OK;
  pawl_buf_clear(&m->scratch);
  if (!pawl_buf_room(&m->scratch, room)) return no_memory(err);
  pawl_args_begin(a, PAWL_STMT_ATTRIBUTE_START);
  pawl_arg_int(a, PAWL_ATTRIBUTE_START_SHARD, shard);
  for (int i = 0; i < m->nrows; i++)
    TRY(pawl_start_attribute_args(m->e, &m->sorted[i]->options, &m->scratch,
                                  err));
  pawl_store_arg_now(m->e->store, a, PAWL_ATTRIBUTE_START_NOW);
  TRY(pawl_store_send(m->e->store, a, err));
out:
  return rc;
}

/* Marks the item of each id that was inserted: rows and ids by their ids. */
static int compare_ids(const void *a, const void *b) {
  const row *x = *(row *const *)a, *y = *(row *const *)b;
  int order = memcmp(&x->options.id, &y->options.id, sizeof x->options.id);
  return order ? order : (x->of > y->of) - (x->of < y->of);
}

static void mark_new(many *m, const pawl_rows *rows) {
  pawl_id id;
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_ids);
  for (int i = 0; i < rows->nrows; i++) {
    pawl_row_id(rows, i, PAWL_INSTANCE_INSERT_R_ID, &id);
    int low = 0, high = m->nrows; /* the first row that has it */
    while (low < high) {
      int mid = (low + high) / 2;
      if (memcmp(&m->sorted[mid]->options.id, &id, sizeof id) < 0)
        low = mid + 1;
      else
        high = mid;
    }
    assert(low < m->nrows);
    m->sorted[low]->of->created = m->sorted[low]->of->known = 1;
  }
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_rows);
}

/* All rows are new, or none is: their ids are ours, and not sent before. */
static void mark_alike(many *m, const pawl_rows *rows) {
  assert(rows->changed == 0 || rows->changed == m->nrows);
  for (int i = 0; i < m->nrows && rows->changed; i++)
    m->rows[i].of->created = m->rows[i].of->known = 1;
}

static pawl_code insert_batch(many *m, int shard, pawl_error *err) {
  const int alike = m->is_plain && !m->was_sent;
  pawl_store *store = m->e->store;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  m->was_sent = 1;
  TRY(pawl_store_begin(store, PAWL_UNIT_BATCH, err));
  TRY(alike ? send_alike(m, shard, err) : send_instances(m, shard, err));
  TRY(send_attributes(m, shard, err));
  TRY(pawl_store_commit(store, err));
  pawl_store_rows(store, 0, &rows);
  if (alike)
    mark_alike(m, &rows);
  else
    mark_new(m, &rows);
out:
  if (rc != PAWL_OK) pawl_store_rollback(store);
  return rc;
}

/* Those that inserted nothing: which instance had their key or id before?
 * `again`: the batch has been sent before, so that one of ours may be new. */
static pawl_code find_known(many *m, int shard, int again, pawl_error *err) {
  pawl_args *a = &m->e->args;
  pawl_rows rows;
  pawl_id id;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_INSTANCE_KNOWN);
  pawl_arg_int(a, PAWL_INSTANCE_KNOWN_SHARD, shard);
  pawl_arg_textz(a, PAWL_INSTANCE_KNOWN_WORKFLOW, m->code);
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->rows[i].options;
    if (m->rows[i].of->known) continue;
    pawl_arg_int(a, PAWL_INSTANCE_KNOWN_NO, i);
    pawl_arg_id(a, PAWL_INSTANCE_KNOWN_ID, &o->id);
    pawl_arg_str(a, PAWL_INSTANCE_KNOWN_TENANT,
                 o->has_tenant ? pawl_buf_str(&o->tenant) : (pawl_str){0});
    pawl_arg_str(a, PAWL_INSTANCE_KNOWN_EXTERNAL_ID,
                 o->has_key ? pawl_buf_str(&o->key) : (pawl_str){0});
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  TRY(pawl_store_once(m->e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int i = 0; i < rows.nrows; i++) {
    row *r = &m->rows[pawl_row_int(&rows, i, PAWL_INSTANCE_KNOWN_R_NO)];
    pawl_row_id(&rows, i, PAWL_INSTANCE_KNOWN_R_ID, &id);
    r->of->created =
        again && !r->options.has_id && pawl_id_eq(&id, &r->of->id);
    r->of->known = 1;
    r->of->id = id;
  }
out:
  return rc;
}

static int count_unknown(const many *m) {
  int n = 0;
  for (int i = 0; i < m->nrows; i++) n += !m->rows[i].of->known;
  return n;
}

/* Stores what the batch has and the store does not. *refused: how many the
 * store did not take, because their version is not active. */
static pawl_code write_batch(many *m, int *refused, pawl_error *err) {
  const int shard = m->rows[0].of->shard;
  pawl_code rc = PAWL_OK;

  for (int tries = 0; tries < TRIES; tries++) {
    rc = insert_batch(m, shard, err);
    if (rc == PAWL_OK) rc = find_known(m, shard, tries > 0, err);
    if (rc == PAWL_OK || (rc != PAWL_UNREACHABLE && rc != PAWL_BUSY)) break;
  }
  *refused = rc == PAWL_OK ? count_unknown(m) : 0;
  return rc;
}

/* Ours is not active: with the newest one that is. */
static pawl_code write_again(many *m, int *refused, pawl_error *err) {
  m->head.version = 0;
  for (int i = 0; i < m->nrows; i++) m->rows[i].options.version = 0;
  return write_batch(m, refused, err);
}

static int any_due(const many *m) {
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->rows[i].options;
    if (m->rows[i].of->created && !o->delay_us && !o->at_us) return 1;
  }
  return 0;
}

static pawl_code write_all(many *m, pawl_error *err) {
  int refused;
  pawl_code rc = PAWL_OK;

  for (size_t at = 0, next; at < m->nitems; at = next) {
    TRY(take_batch(m, at, &next, err));
    TRY(write_batch(m, &refused, err));
    if (refused && !m->asked && m->head.version)
      TRY(write_again(m, &refused, err));
    if (refused) {
      rc = pawl_start_refuse(m->code, &m->head, m->asked, err);
      goto out;
    }
    m->nstored = next;
    if (any_due(m)) pawl_start_wake(m->e);
  }
out:
  if (rc != PAWL_OK && m->nstored)
    pawl_error_prefix(err, "%zu of %zu instances are stored", m->nstored,
                      m->nitems);
  return rc;
}

/* ---- the whole ---- */

static pawl_code add_answer(const many *m, pawl_buf *out, pawl_error *err) {
  char id[37];
  pawl_buf_addz(out, "{\"ids\":[");
  for (size_t i = 0; i < m->nitems; i++) {
    pawl_id_format(&m->items[i].id, id);
    pawl_buf_addz(out, i ? ",\"" : "\"");
    pawl_buf_add(out, id, 36);
    pawl_buf_addc(out, '"');
  }
  pawl_buf_addz(out, "],\"created\":[");
  for (size_t i = 0; i < m->nitems; i++) {
    if (i) pawl_buf_addc(out, ',');
    pawl_buf_addz(out, m->items[i].created ? "true" : "false");
  }
  pawl_buf_addz(out, "]}");
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_start_many(pawl_engine *e, const char *code,
                                 pawl_str items, pawl_str options,
                                 pawl_buf *out, pawl_error *err) {
  many m = {.e = e,
            .code = code,
            .shared = options,
            .scratch = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;

  pawl_start_options_init(&m.head, &e->alloc);
  TRY(check_head(&m, err));
  TRY(cut_list(&m, items, err));
  TRY(check_items(&m, err));
  TRY(sort_by_shard(&m, err));
  TRY(make_rows(&m, err));
  TRY(write_all(&m, err));
  TRY(add_answer(&m, out, err));
out:
  deinit(&m);
  return rc;
}
