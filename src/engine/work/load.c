/* What a claimed instance needs before it runs, read in as few trips as its
 * kind allows: a plain sequence needs its row alone.
 *
 *   row --> inbox, tokens, what is rare --> definition --> undoing --> items
 *       --> events
 *
 * What came in is mail.c's. */
#include "load.h"

#include <assert.h>
#include <inttypes.h>

#include "../../rules/decide.h"
#include "../../rules/stored.h"
#include "../../value/json.h"
#include "../common/names.h"
#include "../versions/crossing.h"
#include "../versions/undo_walk.h"
#include "breaks.h"
#include "mail.h"
#include "needs.h"
#include "offers.h"

#define ITEMS_MAX 64 /* of one each, at a time */
#define UNDO_PAGE 32 /* steps to undo, held at a time */

/* After a row of its was read. One that makes no sense is that instance's
 * trouble alone: its lease is left to end. */
static pawl_code give_up_corrupt(pawl_engine *e, pawl_held *h, pawl_code rc,
                                 const pawl_error *err) {
  if (rc != PAWL_CORRUPT) return rc;
  pawl_log_error(&e->log, PAWL_ERROR, "an instance cannot be loaded", err);
  pawl_held_free(e, h);
  return PAWL_OK;
}

/* ---- the instance's row ---- */

/* A name that lives on; *out NULL for null. 0: out of memory. */
static int intern(pawl_engine *e, pawl_str name, const char **out) {
  *out = name.at ? pawl_engine_intern(e, name) : NULL;
  return !name.at || *out;
}

static int read_state(pawl_str text, pawl_token_state *state) {
  if (pawl_str_eqz(text, "active"))
    *state = PAWL_TOKEN_ACTIVE;
  else if (pawl_str_eqz(text, "waiting"))
    *state = PAWL_TOKEN_WAITING;
  else
    return 0;
  return 1;
}

static pawl_code bad_token(const pawl_held *h, pawl_str what,
                           pawl_error *err) {
  return pawl_fail(err, PAWL_CORRUPT,
                   "instance %s has a token that cannot be read: \"%.*s\"",
                   h->d.id_text, (int)what.len, what.at ? what.at : "");
}

/* A lone token is part of the instance's row. */
static pawl_code load_lone(pawl_engine *e, pawl_held *h,
                           const pawl_instance_load_row *row,
                           pawl_error *err) {
  pawl_str state = row->token_state;
  pawl_token *t = pawl_tokens_add(&h->d.state.tokens, &e->alloc);

  if (!t) return pawl_fail_memory(err);
  assert(h->d.state.tokens.n == 1); /* or it would have a row of its own */
  t->no = (int32_t)row->token_no;
  if (!read_state(state, &t->state) || !h->d.state.node)
    return bad_token(h, state, err);
  t->node = h->d.state.node;
  t->previous = h->d.state.previous;
  t->visit = h->d.state.visit;
  t->attempt = row->attempt;
  t->due_us = row->token_due_at;
  t->entered_us = row->entered_at;
  pawl_buf_set(&t->data, row->token_data);
  pawl_buf_set(&t->event, row->token_event);
  (void)pawl_detail_read(&e->world, row->token_detail, t);
  return pawl_token_has_failed(t) ? pawl_fail_memory(err) : PAWL_OK;
}

static void load_parent(pawl_held *h, const pawl_instance_load_row *row) {
  h->d.has_parent = row->parent != NULL;
  h->d.parent = row->parent ? *row->parent : (pawl_id){{0}};
  pawl_buf_set(&h->d.parent_place, row->parent_place);
}

/* Of the lists in rules/state.h. */
#define LOAD_NUMBER(name) s->name = row->name;
#define LOAD_TIME(name) s->name##_us = row->name##_at;
#define LOAD_TEXT(name) pawl_buf_set(&s->name, row->name);
#define LOAD_MARKS(name) pawl_##name##_read(&e->world, row->name, &s->name);
#define LOAD(type, name) LOAD_##type(name)

static void load_own(pawl_engine *e, pawl_state *s,
                     const pawl_instance_load_row *row) {
  PAWL_STATE_OWN(LOAD)
}

static void load_rare(pawl_state *s, const pawl_instance_rare_row *row) {
  PAWL_STATE_RARE(LOAD)
  pawl_compensation_read(row->compensation, s);
}

/* While it has no visit, the time in its token's column is when it may begin.
 * */
static void load_counters(pawl_held *h, const pawl_instance_load_row *row) {
  h->d.state.visit = row->visit;
  h->d.commits = row->commits;
  h->d.seq = row->seq;
  h->d.state.started_us = row->started_at;
  h->d.max_bytes = row->max_bytes;
  h->revision = row->revision;
  /* the first token comes into being with the first commit */
  h->d.state.last_token = h->d.state.started_us ? (int32_t)row->tokens : 0;
  h->d.state.begin_us = h->d.state.visit ? 0 : row->token_due_at;
}

/* What is counted on from here on must not run over. */
static pawl_code check_counters(const pawl_held *h, pawl_error *err) {
#define COUNTER_NUMBER(name) h->d.state.name,
#define COUNTER_TIME(name)
#define COUNTER_TEXT(name)
#define COUNTER_MARKS(name)
#define COUNTER(type, name) COUNTER_##type(name)
  const int64_t counters[] = {h->d.state.visit, h->d.commits, h->d.seq,
                              PAWL_STATE_OWN(COUNTER)};
  int is_sane =
      h->d.state.last_token >= 0 && h->d.state.last_token < INT32_MAX / 2;

  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
    is_sane = is_sane && counters[i] >= 0 && counters[i] < INT64_MAX / 2;
  return is_sane ? PAWL_OK
                 : pawl_fail(err, PAWL_CORRUPT,
                             "instance %s has counters that cannot be",
                             h->d.id_text);
}

/* Out of several rows they come in no order. */
static void load_vars(pawl_held *h, pawl_str vars) {
  if (!h->parts) {
    pawl_buf_set(&h->d.vars, vars);
    return;
  }
  pawl_buf_clear(&h->d.vars);
  pawl_json_apply(vars, pawl_strz("{}"), &h->d.vars);
}

static void load_texts(pawl_engine *e, pawl_held *h,
                       const pawl_instance_load_row *row) {
  h->has_tenant = row->tenant.at != NULL;
  pawl_buf_set(&h->tenant, row->tenant);
  h->has_correlation = row->correlation.at != NULL;
  pawl_buf_set(&h->correlation, row->correlation);
  pawl_buf_set(&h->d.input, row->input);
  h->parts = (int)row->parts;
  load_vars(h, row->variables);
  load_own(e, &h->d.state, row);
  h->has_rare = row->has_rare != 0;
  pawl_buf_set(&h->d.state.output, row->output);
}

static int texts_failed(const pawl_held *h) {
  return h->d.workflow.failed || h->tenant.failed || h->correlation.failed ||
         h->d.input.failed || h->d.vars.failed || h->d.parent_place.failed ||
         pawl_state_has_failed(&h->d.state);
}

/* PAWL_CORRUPT when the row holds what nobody knows. */
static pawl_code load_row(pawl_engine *e, pawl_held *h,
                          const pawl_instance_load_row *row, pawl_error *err) {
  pawl_str status = row->status;

  pawl_state_clear(&h->d.state);
  if (!pawl_status_parse(status, &h->d.state.status))
    return pawl_fail(err, PAWL_CORRUPT, "instance %s has the status \"%.*s\"",
                     h->d.id_text, (int)status.len, status.at);
  pawl_buf_set(&h->d.workflow, row->workflow);
  h->d.version = row->version;
  load_texts(e, h, row);
  load_counters(h, row);
  if (check_counters(h, err) != PAWL_OK) return PAWL_CORRUPT;
  load_parent(h, row);
  if (texts_failed(h) || !intern(e, row->node, &h->d.state.node) ||
      !intern(e, row->previous_node, &h->d.state.previous))
    return pawl_fail_memory(err);
  if (!row->token_no) return PAWL_OK;
  return load_lone(e, h, row, err);
}

pawl_code pawl_load_rows(pawl_engine *e, const pawl_id *lease,
                         const pawl_rows *rows, pawl_error *err) {
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_instance_load_row row = pawl_read_instance_load(rows, k);
    pawl_held *h = pawl_held_find(e, row.id, lease);
    if (!h) continue;
    pawl_code rc = load_row(e, h, &row, err);
    if (rc == PAWL_OK) h->loaded = PAWL_LOADED_ROW;
    pawl_breaks_saw(e, row.breakpoints);
    MUST(give_up_corrupt(e, h, rc, err));
  }
  return PAWL_OK;
}

/* ---- a trip ---- */

/* One statement of a trip: it asks for what the slots of a shard need, and
 * takes its rows. */
typedef struct part {
  pawl_code (*ask)(pawl_engine *e, int shard, int *at, pawl_error *err);
  pawl_code (*take)(pawl_engine *e, const pawl_rows *rows, pawl_error *err);
} part;
enum { PARTS_MAX = 4 };

/* All parts of one shard, if a slot of it wants any. */
static pawl_code load_parts(pawl_engine *e, int shard,
                            int (*wants)(const pawl_held *h),
                            const part *parts, int n, pawl_error *err) {
  int at[PARTS_MAX], any = 0;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  assert(n <= PARTS_MAX);
  PAWL_EACH_SLOT (e, h) any = any || (h->shard == shard && wants(h));
  if (!any) return PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  for (int i = 0; i < n; i++) TRY(parts[i].ask(e, shard, &at[i], err));
  TRY(pawl_store_commit(e->store, err));
  for (int i = 0; i < n; i++) {
    pawl_store_rows(e->store, at[i], &rows);
    TRY(parts[i].take(e, &rows, err));
  }
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- tokens ---- */

static pawl_code load_token(pawl_engine *e, pawl_held *h,
                            const pawl_token_load_row *row, pawl_error *err) {
  pawl_token *t = pawl_tokens_add(&h->d.state.tokens, &e->alloc);

  if (!t) return pawl_fail_memory(err);
  t->no = (int32_t)row->no;
  t->stored = 1;
  if (!read_state(row->state, &t->state)) return bad_token(h, row->state, err);
  if (!pawl_scope_parse(t, row->scope)) return bad_token(h, row->scope, err);
  t->visit = row->visit;
  t->attempt = row->attempt;
  t->due_us = row->due_at;
  t->entered_us = row->entered_at;
  pawl_buf_set(&t->data, row->data);
  pawl_buf_set(&t->event, row->event);
  (void)pawl_detail_read(&e->world, row->detail, t);
  if (pawl_token_has_failed(t) || !intern(e, row->node, &t->node) ||
      !intern(e, row->previous_node, &t->previous) ||
      !intern(e, row->fork, &t->fork) || !intern(e, row->branch, &t->branch))
    return pawl_fail_memory(err);
  return PAWL_OK;
}

static pawl_code take_tokens(pawl_engine *e, const pawl_rows *rows,
                             pawl_error *err) {
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_token_load_row row = pawl_read_token_load(rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h || !pawl_slot_is_new(h)) continue;
    MUST(give_up_corrupt(e, h, load_token(e, h, &row, err), err));
  }
  return PAWL_OK;
}

static pawl_code ask_tokens(pawl_engine *e, int shard, int *at,
                            pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_token_load);
  PAWL_EACH_SLOT (e, h)
    if (h->shard == shard && pawl_needs_tokens(h))
      PAWL_PUT(&e->args, token_load, PAWL_SLOT_MEMBERS(h));
  return pawl_store_send(e->store, &e->args, at, err);
}

/* ---- what hardly any has ---- */

static int needs_rare(const pawl_held *h) {
  return h->has_rare && pawl_slot_is_new(h);
}

static pawl_code ask_rare(pawl_engine *e, int shard, int *at,
                          pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_instance_rare);
  PAWL_EACH_SLOT (e, h)
    if (h->shard == shard && needs_rare(h))
      PAWL_PUT(&e->args, instance_rare, PAWL_SLOT_MEMBERS(h));
  return pawl_store_send(e->store, &e->args, at, err);
}

static pawl_code take_rare(pawl_engine *e, const pawl_rows *rows,
                           pawl_error *err) {
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_instance_rare_row row = pawl_read_instance_rare(rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h || !needs_rare(h)) continue;
    load_rare(&h->d.state, &row);
    h->has_rare = 0;
    if (pawl_state_has_failed(&h->d.state)) return pawl_fail_memory(err);
  }
  return PAWL_OK;
}

/* ---- the first trip ---- */

/* The inbox comes first: whether it is wanted shows in the tokens. */
static const part first_parts[] = {{pawl_mail_ask, pawl_mail_take},
                                   {ask_tokens, take_tokens},
                                   {ask_rare, take_rare}};

static int wants_first(const pawl_held *h) {
  return pawl_needs_tokens(h) || pawl_needs_inbox(h) || needs_rare(h);
}

/* ---- items ---- */

/* An each that has items to begin; or, *through, that waits for none. */
static int wants_items(const pawl_held *h, const pawl_token *t, int64_t *next,
                       int64_t *behind, int *through) {
  const pawl_detail *of = pawl_detail_of(t);
  int64_t most = ITEMS_MAX;

  *next = of->next;
  if (t->state != PAWL_TOKEN_WAITING || !of->total) return 0;
  *behind = of->total;
  *through = of->done + of->failed >= of->total || of->enough;
  if (*through) return 1;
  const pawl_node *node = pawl_held_node_of(h, t);
  if (node && node->window > 0 && node->window < most) most = node->window;
  if (*next + most < of->total) *behind = *next + most;
  return *next < of->total;
}

/* A result that has failed is handed on as { error = ... }, in the place of
 * what the item would have given. */
static pawl_code add_item(pawl_engine *e, pawl_held *h, int32_t token,
                          int64_t no, pawl_str data, int failed,
                          pawl_error *err) {
  if (!PAWL_ROOM(&e->alloc, h->d.items, h->d.nitems, h->d.items_cap))
    return pawl_fail_memory(err);
  pawl_item *item = &h->d.items[h->d.nitems++];
  const pawl_token *t = pawl_tokens_find(&h->d.state.tokens, token);
  item->token = token;
  item->visit = t ? t->visit : 0;
  item->no = no;
  item->data.alloc = &e->alloc;
  pawl_buf_clear(&item->data);
  if (failed) pawl_buf_addz(&item->data, "{\"error\":");
  if (data.at)
    pawl_buf_adds(&item->data, data);
  else
    pawl_buf_addz(&item->data, "null");
  if (failed) pawl_buf_addc(&item->data, '}');
  return pawl_buf_check(&item->data, err);
}

static pawl_code send_items(pawl_engine *e, int shard, int want_through,
                            int *at, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a,
                  want_through ? PAWL_STMT_item_results : PAWL_STMT_item_next);
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_needs_look(h) || h->shard != shard) continue;
    for (int k = 0; k < h->d.state.tokens.n; k++) {
      int64_t next, behind;
      int through;
      const pawl_token *t = &h->d.state.tokens.at[k];
      if (!wants_items(h, t, &next, &behind, &through) ||
          through != want_through)
        continue;
      if (through)
        PAWL_PUT(a, item_results, PAWL_SLOT_MEMBERS(h), .token = t->no,
                 .behind = behind);
      else
        PAWL_PUT(a, item_next, PAWL_SLOT_MEMBERS(h), .token = t->no,
                 .first = next, .behind = behind);
    }
  }
  return pawl_store_send(e->store, a, at, err);
}

static pawl_code ask_next(pawl_engine *e, int shard, int *at,
                          pawl_error *err) {
  return send_items(e, shard, 0, at, err);
}

static pawl_code ask_results(pawl_engine *e, int shard, int *at,
                             pawl_error *err) {
  return send_items(e, shard, 1, at, err);
}

static pawl_code take_next(pawl_engine *e, const pawl_rows *r,
                           pawl_error *err) {
  for (int k = 0; k < r->nrows; k++) {
    const pawl_item_next_row row = pawl_read_item_next(r, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (h) MUST(add_item(e, h, (int32_t)row.token, row.no, row.item, 0, err));
  }
  return PAWL_OK;
}

static pawl_code take_results(pawl_engine *e, const pawl_rows *r,
                              pawl_error *err) {
  for (int k = 0; k < r->nrows; k++) {
    const pawl_item_results_row row = pawl_read_item_results(r, k);
    int failed = pawl_str_eqz(row.state, "failed");
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (h)
      MUST(add_item(e, h, (int32_t)row.token, row.no,
                    failed ? row.error : row.result, failed, err));
  }
  return PAWL_OK;
}

/* ---- what compensation undoes ---- */

static int undoes(const pawl_held *h) {
  return pawl_slot_is_held(h) && h->loaded && h->d.def &&
         h->d.state.undo.status == PAWL_UNDO_RUNNING;
}

/* The step that is undone next, and whose output is not at hand. */
static int next_undo(const pawl_held *h, int64_t *seq) {
  pawl_str step;
  int behind;
  return undoes(h) &&
         pawl_undo_next(&h->d, &h->d.state.undo, &step, seq, &behind) &&
         *seq != h->d.undo_seq;
}

static pawl_code ask_undo(pawl_engine *e, int shard, int *at,
                          pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_history_output);
  for (int i = 0; i < e->nheld_slots; i++) {
    int64_t seq;
    pawl_held *h = e->held[i];
    if (h->shard != shard || !next_undo(h, &seq)) continue;
    PAWL_PUT(a, history_output, PAWL_SLOT_MEMBERS(h), .seq = seq);
  }
  return pawl_store_send(e->store, a, at, err);
}

static pawl_code take_undo(pawl_engine *e, const pawl_rows *r,
                           pawl_error *err) {
  for (int k = 0; k < r->nrows; k++) {
    int64_t seq;
    const pawl_history_output_row row = pawl_read_history_output(r, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h || !next_undo(h, &seq)) continue;
    pawl_buf_set(&h->d.undo_output, row.output);
    pawl_buf_set(&h->d.undo_data, row.data);
    if (!intern(e, row.branch, &h->d.undo_branch))
      return pawl_fail_memory(err);
    MUST(pawl_buf_check(&h->d.undo_output, err));
    MUST(pawl_buf_check(&h->d.undo_data, err));
    h->d.undo_seq = seq;
  }
  return PAWL_OK;
}

/* The plan is to be made: what there is to undo is counted. Or the next page
 * of it is needed; the one behind the next shows where to stand then. */
static int wants_plan(const pawl_held *h, int *whole) {
  pawl_str step;
  int64_t seq;
  int behind;

  if (!pawl_slot_is_held(h) || !h->loaded || !h->d.def) return 0;
  *whole = h->d.state.undo.status == PAWL_UNDO_PLANNING &&
           (h->look == PAWL_LOOK_UNDOS || pawl_slot_is_new(h));
  if (*whole) return 1;
  return undoes(h) && !h->d.undo_last &&
         (!pawl_undo_next(&h->d, &h->d.state.undo, &step, &seq, &behind) ||
          !behind);
}

/* The transfers that it has behind it to other versions: found once, when
 * the plan is made, and looked up from then on, as it cannot be moved now. */
static pawl_code load_transfers(pawl_engine *e, pawl_held *h, int whole,
                                pawl_renames *r, pawl_error *err) {
  const pawl_buf *list = &h->d.state.undo.transfers;

  if (!whole)
    return list->len ? pawl_renames_pick(e, h->shard, &h->d.id,
                                         pawl_buf_str(list), r, err)
                     : PAWL_OK;
  MUST(pawl_renames_load(e, h->shard, &h->d.id, 1, r, err));
  pawl_buf_clear(&h->d.undo_transfers);
  for (int i = 0; i < r->n; i++)
    pawl_buf_addf(&h->d.undo_transfers, "%c%" PRId64, i ? ',' : '[',
                  r->at[i].seq);
  if (r->n) pawl_buf_addc(&h->d.undo_transfers, ']');
  return pawl_buf_check(&h->d.undo_transfers, err);
}

/* One that ended without `undo` is in nobody's way when its version is replaced
 * by one that has it: what was done before that was trimmed is in no plan. */
static pawl_code load_gone(pawl_engine *e, pawl_held *h, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, history_trimmed, &rows, err, PAWL_SLOT_MEMBERS(h)));
  h->d.undo_gone = rows.nrows > 0;
  return PAWL_OK;
}

/* A page of what can be undone, newest first; the outputs come one at a time,
 * when it is their turn. */
static pawl_code load_plan(pawl_engine *e, pawl_held *h, int whole,
                           pawl_error *err) {
  const pawl_compensation *u = &h->d.state.undo;
  pawl_renames renames = {0};
  pawl_undo_walk w = {.def = h->d.def,
                      .renames = &renames,
                      .shard = h->shard,
                      .id = h->d.id,
                      .below = h->d.seq + 1,
                      .from = INT64_MAX,
                      .max = UNDO_PAGE,
                      .list = &h->d.undo};
  pawl_code rc = PAWL_OK;

  if (!whole) pawl_undo_walk_below(&w, u->below, u->again);
  if (u->by) w.by = pawl_buf_str(&u->node);
  pawl_buf_clear(&h->d.undo);
  h->d.undo_last = 0;
  if (whole) TRY(load_gone(e, h, err));
  TRY(load_transfers(e, h, whole, &renames, err));
  pawl_buf_addc(&h->d.undo, '[');
  TRY(pawl_undo_walk_on(e, &w, whole ? INT64_MAX : UNDO_PAGE, err));
  pawl_buf_addc(&h->d.undo, ']');
  TRY(pawl_buf_check(&h->d.undo, err));
  h->d.undo_last = w.over && w.n <= UNDO_PAGE;
  h->d.undo_total = w.n;
  if (whole) h->d.undo_again = w.again;
out:
  pawl_undo_walk_deinit(&w);
  pawl_renames_deinit(e, &renames);
  return rc;
}

/* ---- what cancels it ---- */

/* As it is subscribed; nothing is before it begins. */
static int wants_rules(const pawl_held *h) {
  return pawl_slot_is_new(h) && h->d.def && h->d.def->ncancel_on &&
         h->d.state.started_us && !pawl_status_has_ended(h->d.state.status);
}

static pawl_code ask_rules(pawl_engine *e, int shard, int *at,
                           pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_subscription_rules);
  PAWL_EACH_SLOT (e, h) {
    if (h->shard != shard || !wants_rules(h)) continue;
    pawl_marks_clear(&h->d.state.watched);
    PAWL_PUT(a, subscription_rules, PAWL_SLOT_MEMBERS(h));
  }
  return pawl_store_send(e->store, a, at, err);
}

static pawl_code take_rules(pawl_engine *e, const pawl_rows *r,
                            pawl_error *err) {
  for (int k = 0; k < r->nrows; k++) {
    const pawl_subscription_rules_row row = pawl_read_subscription_rules(r, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h || !wants_rules(h)) continue;
    pawl_marks_add(&h->d.state.watched, &e->alloc,
                   pawl_engine_intern(e, row.pattern), -row.token, row.key);
    if (h->d.state.watched.failed) return pawl_fail_memory(err);
  }
  return PAWL_OK;
}

/* ---- items, outputs and rules ---- */

static const part second_parts[] = {{ask_next, take_next},
                                    {ask_results, take_results},
                                    {ask_undo, take_undo},
                                    {ask_rules, take_rules}};

static int wants_second(const pawl_held *h) {
  int64_t from, behind;
  int through;

  if (next_undo(h, &from) || wants_rules(h)) return 1;
  for (int k = 0; pawl_needs_look(h) && k < h->d.state.tokens.n; k++)
    if (wants_items(h, &h->d.state.tokens.at[k], &from, &behind, &through))
      return 1;
  return 0;
}

/* ---- transfers to other versions ---- */

static const pawl_letter *find_transfer(const pawl_held *h) {
  for (int i = 0; i < h->d.nletters; i++)
    if (pawl_letter_is(&h->d.letters[i], "transfer")) return &h->d.letters[i];
  return NULL;
}

/* Both graphs, and whether what was done can still be undone there. That it
 * cannot be is the request's trouble, not the store's. */
static pawl_code open_crossing(pawl_engine *e, pawl_held *h,
                               const pawl_letter *l, pawl_error *err) {
  pawl_crossing *c = h->d.crossing;
  pawl_places lost = {0};
  pawl_str data = pawl_buf_str(&l->data), value;
  pawl_error why;
  int64_t version = 0;
  pawl_code rc = PAWL_OK;

  c->letter = l->no;
  if (pawl_json_get(data, "to_version", &value))
    (void)pawl_json_int(value, &version);
  (void)pawl_json_get(data, "map", &c->map);
  rc = pawl_crossing_open(e, h->d.workflow.at, h->d.version, version, c, &why);
  if (rc == PAWL_NOTFOUND || rc == PAWL_INVALID || rc == PAWL_DEFINITION) {
    pawl_buf_addz(&c->why, why.message);
    return pawl_buf_check(&c->why, err);
  }
  if (rc != PAWL_OK) {
    *err = why;
    return rc;
  }
  TRY(pawl_crossing_lost(e, c, h->shard, &h->d.id, 1, &lost, err));
  if (lost.n) pawl_crossing_tell_lost(c, &lost.at[0], &c->why);
  TRY(pawl_buf_check(&c->why, err));
out:
  pawl_places_deinit(&e->world, &lost);
  return rc;
}

static pawl_code load_crossing(pawl_engine *e, pawl_held *h, pawl_error *err) {
  const pawl_letter *l = find_transfer(h);

  pawl_held_forget(e, h);
  if (!l) return PAWL_OK;
  h->d.crossing = pawl_calloc(&e->alloc, sizeof *h->d.crossing);
  if (!h->d.crossing) return pawl_fail_memory(err);
  return open_crossing(e, h, l, err);
}

/* ---- all of it ---- */

/* Asked in every round: a plain sequence gets no further than this, and costs
 * no trip. */
static int any_wants(const pawl_engine *e) {
  int64_t seq;
  int whole;
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_slot_is_held(h)) continue; /* most, as a rule */
    if (pawl_needs_look(h) || wants_plan(h, &whole) || next_undo(h, &seq))
      return 1;
  }
  return 0;
}

pawl_code pawl_load_more(pawl_engine *e, pawl_error *err) {
  if (!any_wants(e)) return PAWL_OK;
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_needs_look(h)) continue;
    h->d.unread = 0;
    h->d.read_us = PAWL_NEVER;
  }
  for (int s = 0; s < e->nshards; s++)
    MUST(load_parts(e, s, wants_first, first_parts, 3, err));
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_needs_look(h)) continue;
    h->d.nitems = h->d.has_items = 0;
    pawl_breaks_heard(e, h);
  }
  MUST(pawl_breaks_load(e, err));
  PAWL_EACH_SLOT (e, h) {
    if (pawl_slot_is_new(h)) MUST(pawl_offers_definition(e, h, err));
  }
  for (int i = 0; i < e->nheld_slots; i++) {
    int whole;
    if (!wants_plan(e->held[i], &whole)) continue;
    MUST(load_plan(e, e->held[i], whole, err));
  }
  for (int s = 0; s < e->nshards; s++)
    MUST(load_parts(e, s, wants_second, second_parts, 4, err));
  PAWL_EACH_SLOT (e, h)
    if (pawl_needs_inbox(h)) MUST(load_crossing(e, h, err));
  MUST(pawl_mail_search(e, err));
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_slot_is_held(h) || !h->loaded) continue;
    if (pawl_needs_look(h)) {
      if (h->state == PAWL_SLOT_READY) h->d.has_items = 1;
      h->beside_us = 0; /* what came in is decided on */
    }
    if (pawl_slot_is_new(h)) h->loaded = PAWL_LOADED;
    h->look = PAWL_LOOK_NO; /* N6 */
  }
  return PAWL_OK;
}
