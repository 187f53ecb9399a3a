/* What a claimed instance needs before it runs, read in as few trips as its
 * kind allows: a plain sequence needs its row alone.
 *
 *   row --> tokens, inbox --> definition --> undoing --> items --> events
 *
 * What came in is mail.c's. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../internal.h"
#include "mail.h"

#define ITEMS_MAX 64  /* of one each, at a time */
#define UNDO_PAGE 32  /* steps to undo, held at a time */
#define UNDO_ROWS 256 /* of history, read to find them */

static void set_text(pawl_buf *b, pawl_str s) {
  pawl_buf_clear(b);
  pawl_buf_adds(b, s);
}

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory");
}

/* A row that cannot be read is that instance's trouble alone: its lease is
 * left to end. */
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
                   h->id_text, (int)what.len, what.at ? what.at : "");
}

/* A lone token is part of the instance's row. */
static pawl_code load_lone(pawl_engine *e, pawl_held *h, const pawl_rows *r,
                           int k, pawl_error *err) {
  pawl_str state = pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_STATE);
  pawl_token *t = pawl_tokens_add(&h->tokens, &e->alloc);

  if (!t) return no_memory(err);
  t->no = (int32_t)pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_NO);
  if (!read_state(state, &t->state) || !h->node)
    return bad_token(h, state, err);
  t->node = h->node;
  t->previous = h->previous;
  t->visit = h->visit;
  t->attempt = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_ATTEMPT);
  t->due_us = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_DUE_AT);
  set_text(&t->data, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_DATA));
  set_text(&t->event, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_EVENT));
  set_text(&t->detail, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_DETAIL));
  return t->data.failed || t->event.failed || t->detail.failed ? no_memory(err)
                                                               : PAWL_OK;
}

static void load_parent(pawl_held *h, const pawl_rows *r, int k) {
  h->has_parent = !pawl_row_null(r, k, PAWL_INSTANCE_LOAD_R_PARENT);
  pawl_row_id(r, k, PAWL_INSTANCE_LOAD_R_PARENT, &h->parent);
  h->parent_token = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_PARENT_TOKEN);
  h->parent_visit = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_PARENT_VISIT);
  h->parent_index =
      pawl_row_null(r, k, PAWL_INSTANCE_LOAD_R_PARENT_INDEX)
          ? -1
          : pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_PARENT_INDEX);
  set_text(&h->parent_node,
           pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_PARENT_NODE));
}

static void load_counters(pawl_held *h, const pawl_rows *r, int k) {
  h->visit = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_VISIT);
  h->version = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_VERSION);
  h->seq = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_SEQ);
  h->started_us = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_STARTED_AT);
  h->revision = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_REVISION);
  /* the first token comes into being with the first commit */
  h->last_token =
      h->started_us ? (int32_t)pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_TOKENS)
                    : 0;
  h->sent = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_SENT);
  h->children = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_CHILDREN);
  h->immediate = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_IMMEDIATE);
  h->suspended_us = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_SUSPENDED_AT);
  h->deadline_us = pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_DEADLINE_AT);
  h->begin_us =
      h->visit ? 0 : pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_DUE_AT);
}

/* What is counted on from here on must not run over. */
static pawl_code check_counters(const pawl_held *h, pawl_error *err) {
  const int64_t counters[] = {h->visit, h->version,  h->seq,
                              h->sent,  h->children, h->immediate};
  int is_sane = h->last_token >= 0 && h->last_token < INT32_MAX / 2;

  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
    is_sane = is_sane && counters[i] >= 0 && counters[i] < INT64_MAX / 2;
  return is_sane ? PAWL_OK
                 : pawl_fail(err, PAWL_CORRUPT,
                             "instance %s has counters that cannot be",
                             h->id_text);
}

/* Out of several rows they come in no order. */
static void load_vars(pawl_held *h, pawl_str vars) {
  if (!h->parts) {
    set_text(&h->vars, vars);
    return;
  }
  pawl_buf_clear(&h->vars);
  pawl_json_apply(vars, pawl_strz("{}"), &h->vars);
}

static void load_texts(pawl_held *h, const pawl_rows *r, int k) {
  h->has_tenant = !pawl_row_null(r, k, PAWL_INSTANCE_LOAD_R_TENANT);
  set_text(&h->tenant, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_TENANT));
  h->has_correlation =
      !pawl_row_null(r, k, PAWL_INSTANCE_LOAD_R_CORRELATION_ID);
  set_text(&h->correlation,
           pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_CORRELATION_ID));
  set_text(&h->input, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_INPUT));
  h->parts = (int)pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_PARTS);
  load_vars(h, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_VARIABLES));
  set_text(&h->joined, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_JOINED));
  set_text(&h->stopped, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_STOPPED));
  pawl_buf_clear(&h->watched); /* load_second tells */
  set_text(&h->compensation,
           pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_COMPENSATION));
  set_text(&h->cancellation,
           pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_CANCELLATION));
}

static int texts_failed(const pawl_held *h) {
  return h->workflow.failed || h->tenant.failed || h->correlation.failed ||
         h->input.failed || h->vars.failed || h->joined.failed ||
         h->stopped.failed || h->compensation.failed ||
         h->cancellation.failed || h->parent_node.failed;
}

/* PAWL_CORRUPT when the row holds what nobody knows. */
static pawl_code load_row(pawl_engine *e, pawl_held *h, const pawl_rows *r,
                          int k, pawl_error *err) {
  pawl_str status = pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_STATUS);

  if (!pawl_status_parse(status, &h->status))
    return pawl_fail(err, PAWL_CORRUPT, "instance %s has the status \"%.*s\"",
                     h->id_text, (int)status.len, status.at);
  set_text(&h->workflow, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_WORKFLOW));
  h->workflow_version =
      pawl_row_int(r, k, PAWL_INSTANCE_LOAD_R_WORKFLOW_VERSION);
  load_texts(h, r, k);
  load_counters(h, r, k);
  if (check_counters(h, err) != PAWL_OK) return PAWL_CORRUPT;
  load_parent(h, r, k);
  if (texts_failed(h) ||
      !intern(e, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_NODE), &h->node) ||
      !intern(e, pawl_row_str(r, k, PAWL_INSTANCE_LOAD_R_PREVIOUS_NODE),
              &h->previous))
    return no_memory(err);
  h->tokens.n = 0;
  if (pawl_row_null(r, k, PAWL_INSTANCE_LOAD_R_TOKEN_NO)) return PAWL_OK;
  return load_lone(e, h, r, k, err);
}

pawl_code pawl_load_rows(pawl_engine *e, const pawl_id *lease,
                         const pawl_rows *rows, pawl_error *err) {
  pawl_error own;
  pawl_code rc = PAWL_OK;

  if (!err) err = &own;
  for (int k = 0; k < rows->nrows; k++) {
    pawl_id id;
    pawl_row_id(rows, k, PAWL_INSTANCE_LOAD_R_ID, &id);
    pawl_held *h = pawl_held_find(e, &id, lease);
    if (!h) continue;
    rc = load_row(e, h, rows, k, err);
    if (rc == PAWL_OK) h->loaded = PAWL_LOADED_ROW;
    if (rc != PAWL_OK) TRY(give_up_corrupt(e, h, rc, err));
  }
out:
  return rc;
}

/* ---- who needs what ---- */

static int is_held(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY || h->state == PAWL_SLOT_PLANNED;
}

static int is_new(const pawl_held *h) {
  return h->state == PAWL_SLOT_READY && h->loaded == PAWL_LOADED_ROW;
}

/* A plan that is not stored yet has told to look after its commit. */
static int told_to_look(const pawl_held *h) {
  return h->look && h->state == PAWL_SLOT_READY;
}

/* Just loaded, or told to look; or its letters are read anew, and those that
 * were found among the events with them. */
int pawl_load_looks(const pawl_held *h) {
  return is_held(h) && h->loaded && (is_new(h) || told_to_look(h) || h->stale);
}

static int wants_tokens(const pawl_held *h) {
  return is_new(h) && h->started_us && !h->tokens.n &&
         !pawl_status_has_ended(h->status);
}

/* A plain sequence that nobody has called looks at no inbox. */
int pawl_load_wants_inbox(const pawl_held *h) {
  if (!is_held(h) || !h->loaded) return 0;
  if (h->stale || told_to_look(h)) return 1;
  if (!is_new(h)) return 0;
  if (h->latch || wants_tokens(h)) return 1;
  if (!h->visit && h->version) return 1; /* no token could note its mail */
  for (int k = 0; k < h->tokens.n; k++)
    if (h->tokens.at[k].detail.len) return 1;
  return 0;
}

static int detail_has(const pawl_token *t, const char *name, int64_t *value) {
  pawl_str text;
  return t->detail.len &&
         pawl_json_get(pawl_buf_str(&t->detail), name, &text) &&
         pawl_json_int(text, value);
}

/* ---- tokens ---- */

static pawl_code load_token(pawl_engine *e, pawl_held *h, const pawl_rows *r,
                            int k, pawl_error *err) {
  pawl_str state = pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_STATE);
  pawl_str scope = pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_SCOPE);
  pawl_token *t = pawl_tokens_add(&h->tokens, &e->alloc);

  if (!t) return no_memory(err);
  t->no = (int32_t)pawl_row_int(r, k, PAWL_TOKEN_LOAD_R_NO);
  t->stored = 1;
  if (!read_state(state, &t->state)) return bad_token(h, state, err);
  if (!pawl_scope_parse(t, scope)) return bad_token(h, scope, err);
  t->visit = pawl_row_int(r, k, PAWL_TOKEN_LOAD_R_VISIT);
  t->attempt = pawl_row_int(r, k, PAWL_TOKEN_LOAD_R_ATTEMPT);
  t->due_us = pawl_row_int(r, k, PAWL_TOKEN_LOAD_R_DUE_AT);
  set_text(&t->data, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_DATA));
  set_text(&t->event, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_EVENT));
  set_text(&t->detail, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_DETAIL));
  if (t->data.failed || t->event.failed || t->detail.failed ||
      !intern(e, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_NODE), &t->node) ||
      !intern(e, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_PREVIOUS_NODE),
              &t->previous) ||
      !intern(e, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_FORK), &t->fork) ||
      !intern(e, pawl_row_str(r, k, PAWL_TOKEN_LOAD_R_BRANCH), &t->branch))
    return no_memory(err);
  return PAWL_OK;
}

static pawl_code take_tokens(pawl_engine *e, const pawl_rows *rows,
                             pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < rows->nrows; k++) {
    pawl_id id;
    pawl_row_id(rows, k, PAWL_TOKEN_LOAD_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (!h || !is_new(h)) continue;
    rc = load_token(e, h, rows, k, err);
    if (rc != PAWL_OK) TRY(give_up_corrupt(e, h, rc, err));
  }
out:
  return rc;
}

/* Tokens and inboxes of one shard, in one trip. */
static pawl_code load_first(pawl_engine *e, int shard, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int tokens = 0, inboxes = 0;

  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->shard != shard) continue;
    tokens += wants_tokens(h);
    inboxes += pawl_load_wants_inbox(h);
  }
  if (!tokens && !inboxes) return PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  pawl_args_begin(a, PAWL_STMT_TOKEN_LOAD);
  pawl_arg_int(a, PAWL_TOKEN_LOAD_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++)
    if (e->held[i].shard == shard && wants_tokens(&e->held[i]))
      pawl_arg_id(a, PAWL_TOKEN_LOAD_ID, &e->held[i].id);
  if (tokens) TRY(pawl_store_send(e->store, a, err));
  pawl_mail_ask(e, shard);
  if (inboxes) TRY(pawl_store_send(e->store, a, err));
  TRY(pawl_store_commit(e->store, err));
  if (inboxes) { /* first: whether it is wanted shows in the tokens */
    pawl_store_rows(e->store, tokens ? 1 : 0, &rows);
    TRY(pawl_mail_take(e, &rows, err));
  }
  if (tokens) {
    pawl_store_rows(e->store, 0, &rows);
    TRY(take_tokens(e, &rows, err));
  }
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- items ---- */

const pawl_node *pawl_load_node_of(const pawl_held *h, const pawl_token *t) {
  int at =
      h->def && t->node ? pawl_def_node(h->def, t->node, strlen(t->node)) : -1;
  return at < 0 ? NULL : &h->def->nodes[at];
}

/* An each that has items to begin; or, *through, whose items are all done. */
static int wants_items(const pawl_held *h, const pawl_token *t, int64_t *next,
                       int64_t *behind, int *through) {
  const pawl_node *node;
  int64_t total, done = 0, failed = 0, most = ITEMS_MAX;

  *next = 0;
  if (t->state != PAWL_TOKEN_WAITING || !detail_has(t, "total", &total))
    return 0;
  (void)detail_has(t, "next", next);
  (void)detail_has(t, "done", &done);
  (void)detail_has(t, "failed", &failed);
  *behind = total;
  *through = done + failed >= total;
  if (*through) return 1;
  node = pawl_load_node_of(h, t);
  if (node && node->window > 0 && node->window < most) most = node->window;
  if (*next + most < total) *behind = *next + most;
  return *next < total;
}

static pawl_code add_item(pawl_engine *e, pawl_held *h, int32_t token,
                          int64_t no, pawl_str data, int failed,
                          pawl_error *err) {
  if (h->nitems == h->items_cap) {
    int cap = h->items_cap ? 2 * h->items_cap : 16;
    size_t size = sizeof *h->items;
    pawl_item *grown = pawl_realloc(
        &e->alloc, h->items, size * (size_t)h->items_cap, size * (size_t)cap);
    if (!grown) return no_memory(err);
    memset(grown + h->items_cap, 0, size * (size_t)(cap - h->items_cap));
    h->items = grown;
    h->items_cap = cap;
  }
  pawl_item *item = &h->items[h->nitems++];
  const pawl_token *t = pawl_tokens_find(&h->tokens, token);
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
                            int *sent, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a,
                  want_through ? PAWL_STMT_ITEM_RESULTS : PAWL_STMT_ITEM_NEXT);
  pawl_arg_int(a, PAWL_ITEM_NEXT_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!pawl_load_looks(h) || h->shard != shard) continue;
    for (int k = 0; k < h->tokens.n; k++) {
      int64_t next, behind;
      int through;
      const pawl_token *t = &h->tokens.at[k];
      if (!wants_items(h, t, &next, &behind, &through) ||
          through != want_through)
        continue;
      pawl_arg_id(a, PAWL_ITEM_NEXT_ID, &h->id);
      pawl_arg_int(a, PAWL_ITEM_NEXT_TOKEN, t->no);
      if (through) {
        pawl_arg_int(a, PAWL_ITEM_RESULTS_BEHIND, behind);
      } else {
        pawl_arg_int(a, PAWL_ITEM_NEXT_FIRST, next);
        pawl_arg_int(a, PAWL_ITEM_NEXT_BEHIND, behind);
      }
    }
  }
  *sent = pawl_args_rows(a) > 0;
  return *sent ? pawl_store_send(e->store, a, err) : PAWL_OK;
}

static pawl_code take_next(pawl_engine *e, const pawl_rows *r,
                           pawl_error *err) {
  pawl_code rc = PAWL_OK;
  for (int k = 0; k < r->nrows; k++) {
    pawl_id id;
    pawl_row_id(r, k, PAWL_ITEM_NEXT_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (h)
      TRY(add_item(e, h, (int32_t)pawl_row_int(r, k, PAWL_ITEM_NEXT_R_TOKEN),
                   pawl_row_int(r, k, PAWL_ITEM_NEXT_R_NO),
                   pawl_row_str(r, k, PAWL_ITEM_NEXT_R_ITEM), 0, err));
  }
out:
  return rc;
}

static pawl_code take_results(pawl_engine *e, const pawl_rows *r,
                              pawl_error *err) {
  pawl_code rc = PAWL_OK;
  for (int k = 0; k < r->nrows; k++) {
    pawl_id id;
    int failed =
        pawl_str_eqz(pawl_row_str(r, k, PAWL_ITEM_RESULTS_R_STATE), "failed");
    pawl_row_id(r, k, PAWL_ITEM_RESULTS_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (h)
      TRY(add_item(e, h,
                   (int32_t)pawl_row_int(r, k, PAWL_ITEM_RESULTS_R_TOKEN),
                   pawl_row_int(r, k, PAWL_ITEM_RESULTS_R_NO),
                   pawl_row_str(r, k,
                                failed ? PAWL_ITEM_RESULTS_R_ERROR
                                       : PAWL_ITEM_RESULTS_R_RESULT),
                   failed, err));
  }
out:
  return rc;
}

/* ---- what compensation undoes ---- */

static int compensation_is(const pawl_held *h, const char *status) {
  pawl_str value;
  return h->compensation.len &&
         pawl_json_get(pawl_buf_str(&h->compensation), "status", &value) &&
         pawl_str_eqz(value, status);
}

static int undoes(const pawl_held *h) {
  return is_held(h) && h->loaded && h->def &&
         compensation_is(h, "\"running\"");
}

/* The step that is undone next, and whose output is not at hand. */
static int next_undo(const pawl_held *h, int64_t *seq) {
  pawl_str step;
  int behind;
  return undoes(h) &&
         pawl_undo_next(h, &h->compensation, &step, seq, &behind) &&
         *seq != h->undo_seq;
}

static pawl_code send_undo(pawl_engine *e, int shard, int *sent,
                           pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_HISTORY_OUTPUT);
  pawl_arg_int(a, PAWL_HISTORY_OUTPUT_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    int64_t seq;
    pawl_held *h = &e->held[i];
    if (h->shard != shard || !next_undo(h, &seq)) continue;
    pawl_arg_id(a, PAWL_HISTORY_OUTPUT_ID, &h->id);
    pawl_arg_int(a, PAWL_HISTORY_OUTPUT_SEQ, seq);
  }
  *sent = pawl_args_rows(a) > 0;
  return *sent ? pawl_store_send(e->store, a, err) : PAWL_OK;
}

static pawl_code take_undo(pawl_engine *e, const pawl_rows *r,
                           pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < r->nrows; k++) {
    int64_t seq;
    pawl_id id;
    pawl_row_id(r, k, PAWL_HISTORY_OUTPUT_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (!h || !next_undo(h, &seq)) continue;
    set_text(&h->undo_output,
             pawl_row_str(r, k, PAWL_HISTORY_OUTPUT_R_OUTPUT));
    set_text(&h->undo_data, pawl_row_str(r, k, PAWL_HISTORY_OUTPUT_R_DATA));
    if (!intern(e, pawl_row_str(r, k, PAWL_HISTORY_OUTPUT_R_BRANCH),
                &h->undo_branch))
      return no_memory(err);
    TRY(pawl_buf_check(&h->undo_output, err));
    TRY(pawl_buf_check(&h->undo_data, err));
    h->undo_seq = seq;
  }
out:
  return rc;
}

/* History has the name that the node had then; the plan, that of today. Its
 * index; -1: the version of today does not undo it. */
static int undoable_node(pawl_undo_walk *w, int64_t seq, pawl_str was) {
  pawl_buf name = {.alloc = w->list->alloc};
  int at;

  if (!was.at) return -1;
  pawl_renames_follow(w->renames, &w->id, seq, was, &name);
  if (name.failed) w->list->failed = 1;
  at = name.len ? pawl_def_node(w->def, name.at, name.len) : -1;
  pawl_buf_deinit(&name);
  return at >= 0 && w->def->nodes[at].has_undo ? at : -1;
}

static int add_undoable(pawl_undo_walk *w, const pawl_rows *r, int k) {
  int64_t seq = pawl_row_int(r, k, PAWL_HISTORY_UNDOABLE_R_SEQ);
  int at =
      undoable_node(w, seq, pawl_row_str(r, k, PAWL_HISTORY_UNDOABLE_R_NODE));

  if (at < 0) return 0;
  if (w->n >= w->max) return 1;
  pawl_buf_addf(w->list, "%s{\"seq\":%" PRId64 ",\"node\":", w->n ? "," : "",
                seq);
  pawl_json_add_string(w->list, pawl_strz(w->def->nodes[at].name));
  pawl_buf_addf(w->list, ",\"visit\":%" PRId64 ",\"token\":%" PRId64 "}",
                pawl_row_int(r, k, PAWL_HISTORY_UNDOABLE_R_VISIT),
                pawl_row_int(r, k, PAWL_HISTORY_UNDOABLE_R_TOKEN));
  return 1;
}

/* The row that one of history's says was undone; 0: none. */
static int64_t undone_row(const pawl_rows *r, int k) {
  pawl_str type = pawl_row_str(r, k, PAWL_HISTORY_UNDOABLE_R_TYPE);
  pawl_str rows = pawl_row_str(r, k, PAWL_HISTORY_UNDOABLE_R_PREVIOUS);
  pawl_json_iter it = {0};
  pawl_str key, value;
  int64_t seq = 0;

  if (!rows.at ||
      (!pawl_str_eqz(type, "undone") && !pawl_str_eqz(type, "undo_failed")))
    return 0;
  while (pawl_json_each(rows, &it, &key, &value))
    (void)pawl_json_int(value, &seq);
  return seq;
}

/* Nothing runs beside an undoing, and that goes from the newest to the oldest:
 * all between a step that was undone and the row that says so has been dealt
 * with, and is passed over. */
static void walk_rows(pawl_undo_walk *w, const pawl_rows *r, int64_t upto) {
  for (int k = 0; k < r->nrows && w->n < upto; k++) {
    int64_t seq = pawl_row_int(r, k, PAWL_HISTORY_UNDOABLE_R_SEQ);
    int64_t undone = undone_row(r, k);
    if (seq >= w->below) continue;
    w->below = undone ? undone : seq;
    if (!undone) w->n += add_undoable(w, r, k);
  }
}

pawl_code pawl_undo_walk_on(pawl_engine *e, pawl_undo_walk *w, int64_t upto,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  while (!w->over && w->n < upto) {
    pawl_args_begin(a, PAWL_STMT_HISTORY_UNDOABLE);
    pawl_arg_int(a, PAWL_HISTORY_UNDOABLE_SHARD, w->shard);
    pawl_arg_id(a, PAWL_HISTORY_UNDOABLE_ID, &w->id);
    pawl_arg_int(a, PAWL_HISTORY_UNDOABLE_BELOW, w->below);
    pawl_arg_int(a, PAWL_HISTORY_UNDOABLE_MAX, UNDO_ROWS);
    TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
    walk_rows(w, &rows, upto);
    w->over = rows.nrows < UNDO_ROWS && w->n < upto;
    TRY(pawl_buf_check(w->list, err));
  }
out:
  return rc;
}

/* The plan is to be made: what there is to undo is counted. Or the next page
 * of it is needed; the one behind the next shows where to stand then. */
static int wants_plan(const pawl_held *h, int *whole) {
  pawl_str step;
  int64_t seq;
  int behind;

  if (!is_held(h) || !h->loaded || !h->def) return 0;
  *whole = compensation_is(h, "\"planning\"") &&
           ((told_to_look(h) && h->look == 2) || is_new(h));
  if (*whole) return 1;
  return undoes(h) && !h->undo_last &&
         (!pawl_undo_next(h, &h->compensation, &step, &seq, &behind) ||
          !behind);
}

/* The moves from version to version that it has behind it: found once, when
 * the plan is made, and looked up from then on, as it cannot be moved now. */
static pawl_code load_moves(pawl_engine *e, pawl_held *h, int whole,
                            pawl_renames *r, pawl_error *err) {
  pawl_str list;
  pawl_code rc = PAWL_OK;

  if (!whole)
    return pawl_json_get(pawl_buf_str(&h->compensation), "moves", &list)
               ? pawl_renames_pick(e, h->shard, &h->id, list, r, err)
               : PAWL_OK;
  TRY(pawl_renames_load(e, h->shard, &h->id, 1, r, err));
  pawl_buf_clear(&h->undo_moves);
  for (int i = 0; i < r->n; i++)
    pawl_buf_addf(&h->undo_moves, "%c%" PRId64, i ? ',' : '[', r->at[i].seq);
  if (r->n) pawl_buf_addc(&h->undo_moves, ']');
  rc = pawl_buf_check(&h->undo_moves, err);
out:
  return rc;
}

/* A page of what can be undone, newest first; the outputs come one at a time,
 * when it is their turn. */
static pawl_code load_plan(pawl_engine *e, pawl_held *h, int whole,
                           pawl_error *err) {
  pawl_renames renames = {0};
  pawl_undo_walk w = {.def = h->def,
                      .renames = &renames,
                      .shard = h->shard,
                      .id = h->id,
                      .below = h->seq + 1,
                      .max = UNDO_PAGE,
                      .list = &h->undo};
  pawl_str below;
  pawl_code rc = PAWL_OK;

  if (!whole && pawl_json_get(pawl_buf_str(&h->compensation), "below", &below))
    (void)pawl_json_int(below, &w.below);
  pawl_buf_clear(&h->undo);
  h->undo_last = 0;
  TRY(load_moves(e, h, whole, &renames, err));
  pawl_buf_addc(&h->undo, '[');
  TRY(pawl_undo_walk_on(e, &w, whole ? INT64_MAX : UNDO_PAGE, err));
  pawl_buf_addc(&h->undo, ']');
  TRY(pawl_buf_check(&h->undo, err));
  h->undo_last = w.over && w.n <= UNDO_PAGE;
  h->undo_total = w.n;
out:
  pawl_renames_deinit(e, &renames);
  return rc;
}

/* ---- what cancels it ---- */

/* As it is subscribed; nothing is before it begins. */
static int wants_rules(const pawl_held *h) {
  return is_new(h) && h->def && h->def->ncancel_on && h->started_us &&
         !pawl_status_has_ended(h->status);
}

static pawl_code send_rules(pawl_engine *e, int shard, int *sent,
                            pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_SUBSCRIPTION_RULES);
  pawl_arg_int(a, PAWL_SUBSCRIPTION_RULES_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->shard != shard || !wants_rules(h)) continue;
    pawl_buf_clear(&h->watched);
    pawl_arg_id(a, PAWL_SUBSCRIPTION_RULES_ID, &h->id);
  }
  *sent = pawl_args_rows(a) > 0;
  return *sent ? pawl_store_send(e->store, a, err) : PAWL_OK;
}

static pawl_code take_rules(pawl_engine *e, const pawl_rows *r,
                            pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < r->nrows; k++) {
    pawl_id id;
    pawl_row_id(r, k, PAWL_SUBSCRIPTION_RULES_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (!h || !wants_rules(h)) continue;
    pawl_rules_add(&h->watched,
                   -pawl_row_int(r, k, PAWL_SUBSCRIPTION_RULES_R_TOKEN),
                   pawl_row_str(r, k, PAWL_SUBSCRIPTION_RULES_R_PATTERN),
                   pawl_row_str(r, k, PAWL_SUBSCRIPTION_RULES_R_KEY));
    TRY(pawl_buf_check(&h->watched, err));
  }
out:
  return rc;
}

/* Items, outputs and rules of one shard, in one trip, if any are wanted. */
static pawl_code load_second(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int next = 0, results = 0, undo = 0, rules = 0, at = 0, any = 0;

  for (int i = 0; i < e->nheld_slots && !any; i++) {
    pawl_held *h = &e->held[i];
    int64_t from, behind;
    int through;
    if (h->shard != shard) continue;
    any = next_undo(h, &from) || wants_rules(h);
    for (int k = 0; pawl_load_looks(h) && k < h->tokens.n && !any; k++)
      any = wants_items(h, &h->tokens.at[k], &from, &behind, &through);
  }
  if (!any) return PAWL_OK;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_items(e, shard, 0, &next, err));
  TRY(send_items(e, shard, 1, &results, err));
  TRY(send_undo(e, shard, &undo, err));
  TRY(send_rules(e, shard, &rules, err));
  TRY(pawl_store_commit(e->store, err));
  if (next) {
    pawl_store_rows(e->store, at++, &rows);
    TRY(take_next(e, &rows, err));
  }
  if (results) {
    pawl_store_rows(e->store, at++, &rows);
    TRY(take_results(e, &rows, err));
  }
  if (undo) {
    pawl_store_rows(e->store, at++, &rows);
    TRY(take_undo(e, &rows, err));
  }
  if (rules) {
    pawl_store_rows(e->store, at++, &rows);
    TRY(take_rules(e, &rows, err));
  }
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- moves to other versions ---- */

void pawl_load_forget(pawl_engine *e, pawl_held *h) {
  if (!h->crossing) return;
  pawl_crossing_close(h->crossing);
  pawl_release(&e->alloc, h->crossing, sizeof *h->crossing);
  h->crossing = NULL;
}

static const pawl_letter *find_move(const pawl_held *h) {
  for (int i = 0; i < h->nletters; i++)
    if (pawl_str_eqz(pawl_buf_str(&h->letters[i].kind), "migrate"))
      return &h->letters[i];
  return NULL;
}

/* Both graphs, and whether what was done can still be undone there. That it
 * cannot be is the request's trouble, not the store's. */
static pawl_code open_crossing(pawl_engine *e, pawl_held *h,
                               const pawl_letter *l, pawl_error *err) {
  pawl_crossing *c = h->crossing;
  pawl_places lost = {0};
  pawl_str data = pawl_buf_str(&l->data), value;
  pawl_error why;
  int64_t version = 0;
  pawl_code rc = PAWL_OK;

  c->letter = l->no;
  if (pawl_json_get(data, "version", &value))
    (void)pawl_json_int(value, &version);
  (void)pawl_json_get(data, "map", &c->map);
  rc = pawl_crossing_open(e, h->workflow.at, h->workflow_version, version, c,
                          &why);
  if (rc == PAWL_NOTFOUND || rc == PAWL_INVALID || rc == PAWL_DEFINITION) {
    pawl_buf_addz(&c->why, why.message);
    return pawl_buf_check(&c->why, err);
  }
  if (rc != PAWL_OK) {
    *err = why;
    return rc;
  }
  TRY(pawl_crossing_lost(e, c, h->shard, &h->id, 1, &lost, err));
  if (lost.n) pawl_crossing_tell_lost(c, &lost.at[0], &c->why);
  TRY(pawl_buf_check(&c->why, err));
out:
  pawl_places_deinit(e, &lost);
  return rc;
}

static pawl_code load_crossing(pawl_engine *e, pawl_held *h, pawl_error *err) {
  const pawl_letter *l = find_move(h);

  pawl_load_forget(e, h);
  if (!l) return PAWL_OK;
  h->crossing = pawl_calloc(&e->alloc, sizeof *h->crossing);
  if (!h->crossing) return no_memory(err);
  return open_crossing(e, h, l, err);
}

/* ---- all of it ---- */

static int any_wants(const pawl_engine *e) {
  int64_t seq;
  int whole;
  for (int i = 0; i < e->nheld_slots; i++) {
    const pawl_held *h = &e->held[i];
    if (!is_held(h)) continue; /* most, as a rule */
    if (pawl_load_looks(h) || pawl_load_wants_inbox(h) ||
        wants_plan(h, &whole) || next_undo(h, &seq))
      return 1;
  }
  return 0;
}

pawl_code pawl_load_more(pawl_engine *e, pawl_error *err) {
  pawl_error own;
  pawl_code rc = PAWL_OK;

  if (!err) err = &own;
  if (!any_wants(e)) return PAWL_OK;
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!pawl_load_looks(h)) continue;
    h->behind = h->flooded = h->unread = 0;
    h->read_us = PAWL_NEVER;
  }
  for (int s = 0; s < e->nshards; s++) TRY(load_first(e, s, err));
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (pawl_load_looks(h)) h->nitems = h->has_items = 0;
    if (is_new(h)) TRY(pawl_claim_definition(e, h, err));
  }
  for (int i = 0; i < e->nheld_slots; i++) {
    int whole;
    if (!wants_plan(&e->held[i], &whole)) continue;
    TRY(load_plan(e, &e->held[i], whole, err));
  }
  for (int s = 0; s < e->nshards; s++) TRY(load_second(e, s, err));
  for (int i = 0; i < e->nheld_slots; i++)
    if (pawl_load_wants_inbox(&e->held[i]))
      TRY(load_crossing(e, &e->held[i], err));
  TRY(pawl_mail_search(e, err));
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!is_held(h) || !h->loaded) continue;
    if (pawl_load_looks(h) && h->state == PAWL_SLOT_READY) h->has_items = 1;
    if (is_new(h)) h->loaded = PAWL_LOADED;
    h->stale = 0;
    if (h->state == PAWL_SLOT_READY) h->look = 0;
  }
out:
  return rc;
}
