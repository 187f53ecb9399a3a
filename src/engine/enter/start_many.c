/* Starting many: a list is checked whole, then written in batches, each one
 * transaction of one shard, with one statement a table.
 *
 * Nothing is stored when any item is wrong, and of a batch nothing when a key
 * of it is refused. Ids are drawn before the first
 * batch goes out, so that one whose answer was lost is sent again without
 * harm. */
#include <assert.h>
#include <stdlib.h>

#include "../../base/handed.h"
#include "../../value/json.h"
#include "../common/wake.h"
#include "enter.h"
#include "start.h"

#define BATCH_ROWS 1000
#define BATCH_BYTES (8 * 1024 * 1024) /* of items, as given */

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
  size_t nitems, items_size, nstored;
  row *rows;
  int nrows, cap;
  int is_plain; /* all rows are */
  int was_sent; /* it may have been stored already */
  int holds;    /* it is held until all of it is settled */
  int again;    /* that was tried before */
  row **sorted; /* by key, then by id: rivals wait, and do not deadlock */
  pawl_buf scratch;
} many;

/* ---- checking ---- */

/* What all have, again for each row: its buffers are the row's own, and are
 * overwritten by the item's options. */
static pawl_code read_shared(const many *m, pawl_start_options *o,
                             pawl_error *err) {
  pawl_start_options_clear(o);
  MUST(pawl_start_options_read(o, m->shared, 0, err));
  o->version = m->head.version;
  return pawl_start_tenant(m->e, NULL, o, err);
}

static pawl_code read_item(const many *m, item *it, pawl_start_options *o,
                           pawl_error *err) {
  MUST(read_shared(m, o, err));
  o->given = 0;
  o->version = m->asked;
  o->input = pawl_strz("{}");
  MUST(pawl_start_options_read(o, it->text, 1, err));
  MUST(pawl_start_tenant(m->e, NULL, o, err));
  if (o->version != m->asked)
    return pawl_fail(err, PAWL_INVALID,
                     "option `version` is one for all items: give it "
                     "beside the list");
  o->version = m->head.version;
  it->input = o->input;
  it->is_plain = pawl_start_is_plain(o);
  return PAWL_OK;
}

/* Ids are drawn in the order of the list, before anything is sent: they sort
 * as they were given. */
static pawl_code check_item(many *m, item *it, pawl_start_options *o,
                            pawl_error *err) {
  MUST(read_item(m, it, o, err));
  MUST(pawl_start_check_size(m->e, o, it->input, err));
  MUST(pawl_start_check_input(m->e, m->code, m->head.version, it->input, err));
  MUST(pawl_start_check_reuse(o, err));
  /* what the store would refuse later is found now */
  MUST(pawl_start_attributes(m->e, o, 0, 1, &m->scratch, err));
  if (pawl_args_rows(&m->e->args)) MUST(pawl_args_check(&m->e->args, err));
  MUST(pawl_start_id(m->e, m->code, o, err));
  it->id = o->id;
  it->shard = pawl_shard_of(m->e, &it->id);
  return PAWL_OK;
}

static pawl_code check_items(many *m, pawl_error *err) {
  pawl_start_options o;
  pawl_code rc = PAWL_OK;
  pawl_start_options_init(&o, &m->e->alloc);
  for (size_t i = 0; i < m->nitems; i++)
    if ((rc = check_item(m, &m->items[i], &o, err)) != PAWL_OK) {
      pawl_error_prefix(err, "item %zu", i + 1);
      break;
    }
  pawl_start_options_deinit(&o);
  return rc;
}

static pawl_code check_head(many *m, pawl_error *err) {
  MUST(pawl_start_check_code(m->code, err));
  if (m->shared.at) MUST(pawl_json_check(m->shared, NULL, err));
  MUST(pawl_start_options_read(&m->head, m->shared, 0, err));
  MUST(pawl_start_tenant(m->e, NULL, &m->head, err));
  if (m->head.key.len || m->head.has_id)
    return pawl_fail(err, PAWL_INVALID,
                     "option `%s` is one item's: give it in the list",
                     m->head.key.len ? "key" : "id");
  m->asked = m->head.version;
  return pawl_start_version(m->e, m->code, &m->head, err);
}

/* ---- the list ---- */

static pawl_code cut_list(many *m, pawl_str list, pawl_error *err) {
  pawl_json_kind kind;

  MUST(pawl_json_check(list, &kind, err));
  if (kind != PAWL_JSON_ARRAY)
    return pawl_fail(err, PAWL_INVALID, "what is started must be a list");
  m->items_size = (size_t)pawl_json_count(list) * sizeof *m->items + 1;
  m->items = pawl_calloc(&m->e->alloc, m->items_size);
  if (!m->items) return pawl_fail_memory(err);
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);)
    m->items[m->nitems++].text = it.value;
  return PAWL_OK;
}

/* Within a shard as they were given: equal keys become one instance, the
 * first. */
static int compare_shards(const void *a, const void *b) {
  const item *x = *(item *const *)a, *y = *(item *const *)b;
  int order = (x->shard > y->shard) - (x->shard < y->shard);
  return order ? order : (x > y) - (x < y);
}

static pawl_code sort_by_shard(many *m, pawl_error *err) {
  m->order =
      pawl_realloc(&m->e->alloc, NULL, 0, m->nitems * sizeof *m->order + 1);
  if (!m->order) return pawl_fail_memory(err);
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
  return m->rows && m->sorted ? PAWL_OK : pawl_fail_memory(err);
}

static void deinit(many *m) {
  const pawl_alloc *alloc = &m->e->alloc;
  for (int i = 0; m->rows && i < m->cap; i++)
    pawl_start_options_deinit(&m->rows[i].options);
  pawl_release(alloc, m->rows, (size_t)m->cap * sizeof *m->rows + 1);
  pawl_release(alloc, m->sorted, (size_t)m->cap * sizeof *m->sorted + 1);
  pawl_release(alloc, m->items, m->items_size);
  if (m->order)
    pawl_release(alloc, m->order, m->nitems * sizeof *m->order + 1);
  pawl_start_options_deinit(&m->head);
  pawl_buf_deinit(&m->scratch);
}

/* ---- one batch ---- */

/* Rivals that insert the same keys lock them in the same order. */
static int compare_rows(const void *a, const void *b) {
  const pawl_start_options *x = &(*(row *const *)a)->options;
  const pawl_start_options *y = &(*(row *const *)b)->options;
  int order = pawl_str_cmp(pawl_buf_str(&x->key), pawl_buf_str(&y->key));
  return order ? order : pawl_id_cmp(&x->id, &y->id);
}

/* The rows of the items from order[at] on; *next: the batch behind them. */
static pawl_code take_batch(many *m, size_t at, size_t *next,
                            pawl_error *err) {
  const int shard = m->order[at]->shard;
  size_t bytes = 0;

  m->is_plain = 1;
  m->was_sent = 0;
  for (m->nrows = 0; at < m->nitems && m->nrows < m->cap; at++) {
    item *it = m->order[at];
    row *r = &m->rows[m->nrows];
    bytes += it->text.len;
    if (it->shard != shard || (m->nrows && bytes > BATCH_BYTES)) break;
    MUST(it->is_plain ? read_shared(m, &r->options, err)
                      : read_item(m, it, &r->options, err));
    m->is_plain &= it->is_plain;
    r->of = it;
    r->options.id = it->id;
    m->sorted[m->nrows++] = r;
  }
  assert(m->nrows > 0); /* else the batches would never end */
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_rows);
  *next = at;
  return PAWL_OK;
}

static pawl_code send_instances(many *m, int shard, int *at, pawl_error *err) {
  const int64_t now = pawl_store_now(m->e->store);
  pawl_args *a = &m->e->args;
  pawl_args_begin(a, PAWL_STMT_instance_insert);
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->sorted[i]->options;
    PAWL_PUT(a, instance_insert, .shard = shard,
             .workflow = pawl_strz(m->code), .version = m->head.version,
             .key = pawl_buf_some(&o->key), .input = m->sorted[i]->of->input,
             .now = now, PAWL_START_MEMBERS(m->e));
  }
  return pawl_store_send(m->e->store, a, at, err);
}

/* Of rows that differ in their input alone: what all have is sent once. */
static pawl_code send_alike(many *m, int shard, int *at, pawl_error *err) {
  const int64_t now = pawl_store_now(m->e->store);
  pawl_args *a = &m->e->args;
  pawl_args_begin(a, PAWL_STMT_instance_alike);
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->sorted[i]->options;
    PAWL_PUT(a, instance_alike, .shard = shard, .workflow = pawl_strz(m->code),
             .version = o->version, .input = m->sorted[i]->of->input,
             .now = now, PAWL_START_MEMBERS(m->e));
  }
  return pawl_store_send(m->e->store, a, at, err);
}

/* Marks the item of each id that was inserted: rows and ids by their ids. */
static int compare_ids(const void *a, const void *b) {
  const row *x = *(row *const *)a, *y = *(row *const *)b;
  int order = memcmp(&x->options.id, &y->options.id, sizeof x->options.id);
  return order ? order : (x->of > y->of) - (x->of < y->of);
}

/* What the statement returns has ids alone: the items are found by them. */
static void mark_new(many *m, const pawl_rows *rows) {
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_ids);
  for (int i = 0; i < rows->nrows; i++) {
    const pawl_id *id = pawl_read_instance_insert(rows, i).id;
    int low = 0, high = m->nrows; /* the first row that has it */
    while (low < high) {
      int mid = (low + high) / 2;
      if (pawl_id_cmp(&m->sorted[mid]->options.id, id) < 0)
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

/* A second try takes the long way: rows of the first may be there. */
static pawl_code insert_batch(many *m, int shard, pawl_error *err) {
  const int alike = m->is_plain && !m->was_sent;
  pawl_store *store = m->e->store;
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  m->was_sent = 1;
  TRY(pawl_store_begin(store, PAWL_UNIT_BATCH, err));
  TRY(alike ? send_alike(m, shard, &at, err)
            : send_instances(m, shard, &at, err));
  TRY(pawl_start_attributes(m->e, &m->rows->options, sizeof *m->rows, m->nrows,
                            &m->scratch, err));
  TRY(pawl_store_send(store, &m->e->args, NULL, err));
  TRY(pawl_store_commit(store, err));
  pawl_store_rows(store, at, &rows);
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

  pawl_args_begin(a, PAWL_STMT_instance_known);
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->rows[i].options;
    if (m->rows[i].of->known) continue;
    PAWL_PUT(a, instance_known, .shard = shard, .workflow = pawl_strz(m->code),
             .no = i, .id = &o->id, .tenant = pawl_buf_some(&o->tenant),
             .key = pawl_buf_some(&o->key));
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  MUST(pawl_store_once(m->e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int i = 0; i < rows.nrows; i++) {
    const pawl_instance_known_row known = pawl_read_instance_known(&rows, i);
    assert(known.no >= 0 && known.no < m->nrows);
    row *r = &m->rows[known.no];
    MUST(pawl_start_check_known(
        m->code, &r->options,
        &(const pawl_known){known.id, known.workflow, known.tenant,
                            known.deleted != 0},
        err));
    r->of->created =
        again && !r->options.has_id && pawl_id_eq(known.id, &r->of->id);
    r->of->known = 1;
    r->of->id = *known.id;
  }
  return PAWL_OK;
}

/* Ids of the caller's may be other workflows': told before anything of the
 * batch is stored. */
static pawl_code check_ids(many *m, int shard, pawl_error *err) {
  int given = 0;
  for (int i = 0; i < m->nrows; i++) given |= m->rows[i].options.has_id;
  return given ? find_known(m, shard, 0, err) : PAWL_OK;
}

/* Neither new nor there before: the store has refused them. */
static int count_unknown(const many *m) {
  int n = 0;
  for (int i = 0; i < m->nrows; i++) n += !m->rows[i].of->known;
  return n;
}

/* Who holds the batch begins it anew as a whole. */
static int may_repeat(const many *m, pawl_code rc, int *tries) {
  return !m->holds && pawl_store_may_repeat(rc, tries);
}

/* Stores what the batch has and the store does not. *refused: how many the
 * store did not take, because their version is not active. */
static pawl_code write_batch(many *m, int *refused, pawl_error *err) {
  const int shard = m->rows[0].of->shard;
  int tries = 0;
  pawl_code rc;

  do {
    rc = m->was_sent ? PAWL_OK : check_ids(m, shard, err);
    if (rc == PAWL_OK) rc = insert_batch(m, shard, err);
    if (rc == PAWL_OK) rc = find_known(m, shard, m->again || tries > 0, err);
  } while (may_repeat(m, rc, &tries));
  *refused = rc == PAWL_OK ? count_unknown(m) : 0;
  return rc;
}

/* Ours is not active: with the newest one that is. */
static pawl_code write_again(many *m, int *refused, pawl_error *err) {
  m->head.version = 0;
  for (int i = 0; i < m->nrows; i++) m->rows[i].options.version = 0;
  return write_batch(m, refused, err);
}

static int is_choosy(const many *m) {
  for (int i = 0; i < m->nrows; i++)
    if (pawl_start_is_choosy(&m->rows[i].options)) return 1;
  return 0;
}

/* A key that is in use may go on to the item's instance: each by itself, as
 * few are. */
static pawl_code settle_key(many *m, row *r, pawl_error *err) {
  pawl_starting s = {
      .code = m->code, .input = r->of->input, .options = &r->options};
  int tries = 0;
  pawl_code rc;

  do rc = pawl_start_succeed(m->e, &s, err);
  while (may_repeat(m, rc, &tries));
  if (rc == PAWL_OK && s.refused)
    rc = pawl_start_refuse(m->code, &r->options, m->asked, err);
  if (rc != PAWL_OK) {
    pawl_error_prefix(err, "item %zu", (size_t)(r->of - m->items) + 1);
    return rc;
  }
  r->of->id = s.id;
  r->of->created = s.created;
  return PAWL_OK;
}

/* By the instance that has the key, then as they were given. */
static int compare_holders(const void *a, const void *b) {
  const item *x = (*(row *const *)a)->of, *y = (*(row *const *)b)->of;
  int order = pawl_id_cmp(&x->id, &y->id);
  return order ? order : (x > y) - (x < y);
}

/* Whose key is to go on is locked until all are settled: S2. */
static pawl_code settle_keys(many *m, pawl_error *err) {
  if (!is_choosy(m)) return PAWL_OK;
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_holders);
  for (int i = 0; i < m->nrows; i++) {
    row *r = m->sorted[i];
    if (!r->of->created && pawl_start_is_choosy(&r->options))
      MUST(settle_key(m, r, err));
  }
  return PAWL_OK;
}

static pawl_code store_batch(many *m, pawl_error *err) {
  int refused;

  MUST(write_batch(m, &refused, err));
  if (refused && !m->asked && m->head.version)
    MUST(write_again(m, &refused, err));
  if (refused) return pawl_start_refuse(m->code, &m->head, m->asked, err);
  return settle_keys(m, err);
}

/* None of it is stored, as far as anybody knows. */
static void forget_batch(many *m) {
  for (int i = 0; i < m->nrows; i++) {
    m->rows[i].of->created = m->rows[i].of->known = 0;
    m->rows[i].of->id = m->rows[i].options.id;
  }
  qsort(m->sorted, (size_t)m->nrows, sizeof *m->sorted, compare_rows);
}

static pawl_code store_held(many *m, pawl_error *err) {
  pawl_store *store = m->e->store;

  MUST(pawl_store_hold(store, err));
  pawl_code rc = store_batch(m, err);
  if (rc == PAWL_OK) return pawl_store_held_commit(store, err);
  pawl_store_held_rollback(store);
  return rc;
}

/* Whether a key that is in use is refused is known only once all others are
 * sent. So that they go with it, they are held until then. */
static pawl_code store_choosy(many *m, pawl_error *err) {
  int tries = 0;
  pawl_code rc;

  m->holds = 1;
  do {
    m->again = tries > 0;
    rc = store_held(m, err);
    if (rc != PAWL_OK) forget_batch(m);
  } while (pawl_store_may_repeat(rc, &tries));
  m->holds = m->again = 0;
  return rc;
}

static int any_due(const many *m) {
  for (int i = 0; i < m->nrows; i++) {
    const pawl_start_options *o = &m->rows[i].options;
    if (m->rows[i].of->created && !o->delay_us && !o->at_us) return 1;
  }
  return 0;
}

static int any_created(const many *m) {
  for (int i = 0; i < m->nrows; i++)
    if (m->rows[i].of->created) return 1;
  return 0;
}

/* In a transaction that is held already the call is a part of that. */
static pawl_code store_next(many *m, pawl_error *err) {
  const int holds = is_choosy(m) && !pawl_store_held(m->e->store);

  MUST(holds ? store_choosy(m, err) : store_batch(m, err));
  if (any_due(m))
    pawl_wake(m->e);
  else if (any_created(m))
    pawl_wake_programs(m->e);
  return PAWL_OK;
}

/* Batch by batch; what is stored stays when a later one fails, and the message
 * says how many those are. */
static pawl_code write_all(many *m, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (size_t at = 0, next; at < m->nitems; at = next) {
    pawl_store_call(m->e->store);
    TRY(take_batch(m, at, &next, err));
    rc = store_next(m, err);
    /* also where nobody could ask any more which of them were known */
    if (rc == PAWL_OK || any_created(m)) m->nstored = next;
    if (rc != PAWL_OK) break;
  }
out:
  if (rc != PAWL_OK && m->nstored && !pawl_store_held(m->e->store))
    pawl_error_prefix(err, "%zu of %zu instances are stored", m->nstored,
                      m->nitems);
  return rc;
}

/* ---- the whole ---- */

/* {"ids":["...","..."],"created":[true,false]}: how long it is at most is
 * known, as ids have one length. */
static const char IDS[] = "{\"ids\":[", CREATED[] = "],\"created\":[",
                  ENDS[] = "]}";
enum {
  AN_ID = sizeof(pawl_id_text) + 2, /* in quotes, behind a comma */
  A_FLAG = sizeof "false" - 1 + 1
};

static size_t most_of_answer(const many *m) {
  return sizeof IDS + sizeof CREATED + sizeof ENDS +
         m->nitems * (AN_ID + A_FLAG);
}

static pawl_code make_room(const many *m, char **answer, pawl_error *err) {
  *answer = pawl_hand_room(&m->e->given, most_of_answer(m));
  return *answer ? PAWL_OK : pawl_fail_memory(err);
}

static void write_answer(const many *m, char *to) {
  to = pawl_hand_put(to, IDS);
  for (size_t i = 0; i < m->nitems; i++) {
    to = pawl_hand_put(to, i ? ",\"" : "\"");
    to = pawl_hand_put(to, pawl_id_text_of(&m->items[i].id).at);
    to = pawl_hand_put(to, "\"");
  }
  to = pawl_hand_put(to, CREATED);
  for (size_t i = 0; i < m->nitems; i++) {
    if (i) to = pawl_hand_put(to, ",");
    to = pawl_hand_put(to, m->items[i].created ? "true" : "false");
  }
  (void)pawl_hand_put(to, ENDS);
}

pawl_code pawl_engine_start_many(pawl_engine *e, const char *code,
                                 pawl_str items, pawl_str options, char **out,
                                 pawl_error *err) {
  many m = {.e = e,
            .code = code,
            .shared = options,
            .scratch = {.alloc = &e->alloc}};
  char *answer = NULL;
  pawl_code rc = PAWL_OK;

  pawl_start_options_init(&m.head, &e->alloc);
  TRY(check_head(&m, err));
  TRY(cut_list(&m, items, err));
  TRY(check_items(&m, err));
  TRY(sort_by_shard(&m, err));
  TRY(make_rows(&m, err));
  if (out) TRY(make_room(&m, &answer, err));
  TRY(write_all(&m, err));
  if (!out) goto out;
  write_answer(&m, answer);
  *out = answer;
out:
  if (rc != PAWL_OK) pawl_free(e, answer);
  deinit(&m);
  return rc;
}
