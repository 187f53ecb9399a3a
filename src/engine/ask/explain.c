/* Explaining: where an instance stands, why it is there, and what would move
 * it, as JSON. One look at the store, then no more than reading: the graph is
 * known and tokens are rows on it, so nothing has to be run to know.
 *
 * lua/pawl/explain.lua makes sentences of it. */
#include <inttypes.h>

#include "../../rules/asked.h"
#include "../../value/json.h"
#include "../common/answer.h"
#include "../engine.h"
#include "../internal.h"

enum {
  MAX_CHILDREN = 100,
  MAX_LETTERS = 100,
  MAX_REASONS = 100, /* rows of history that may say why */
  MAX_SIBLINGS = 100
};

/* Due that long ago while workers live: none of them takes it. */
#define PATIENCE_US (10 * PAWL_SECOND)

/* The results of the one unit, in the order they are sent. */
typedef enum part {
  INSTANCE,
  TOKENS,
  AGENDA,
  WORKFLOW,
  SUSPENSION,
  EXECUTOR,
  SUBSCRIPTIONS,
  TASKS,
  OWNERS,
  CHILDREN,
  INBOX,
  REASONS,
  MESSAGES,
  NPARTS
} part;

typedef struct facts {
  pawl_rows at[NPARTS];
  pawl_tokens tokens; /* the rows of TOKENS, in their order */
  pawl_def *def;      /* NULL: nobody has registered it */
  int64_t now_us;
  int has_ended, is_suspended;
} facts;

#define CELL(f, which, stmt, row, col) \
  pawl_rows_cell(&(f)->at[which], row, PAWL_##stmt##_R_##col)

/* ---- the look at the store ---- */

static pawl_code send_workflow(pawl_engine *e, int shard, const pawl_id *id,
                               pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_EXPLAIN_WORKFLOW);
  pawl_arg_int(a, PAWL_EXPLAIN_WORKFLOW_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_WORKFLOW_ID, id);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_SUSPENSION);
  pawl_arg_int(a, PAWL_EXPLAIN_SUSPENSION_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_SUSPENSION_ID, id);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_EXECUTOR);
  pawl_arg_int(a, PAWL_EXPLAIN_EXECUTOR_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_EXECUTOR_ID, id);
  pawl_store_arg_now(e->store, a, PAWL_EXPLAIN_EXECUTOR_NOW);
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

static pawl_code send_waits(pawl_engine *e, int shard, const pawl_id *id,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_EXPLAIN_SUBSCRIPTION);
  pawl_arg_int(a, PAWL_EXPLAIN_SUBSCRIPTION_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_SUBSCRIPTION_ID, id);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_TASK);
  pawl_arg_int(a, PAWL_EXPLAIN_TASK_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_TASK_ID, id);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_OWNER);
  pawl_arg_int(a, PAWL_EXPLAIN_OWNER_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_OWNER_ID, id);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_CHILD);
  for (int s = 0; s < e->nshards; s++)
    pawl_arg_int(a, PAWL_EXPLAIN_CHILD_SHARD, s);
  pawl_arg_int(a, PAWL_EXPLAIN_CHILD_HOME, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_CHILD_ID, id);
  pawl_arg_int(a, PAWL_EXPLAIN_CHILD_MAX, MAX_CHILDREN);
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

static pawl_code send_records(pawl_engine *e, int shard, const pawl_id *id,
                              pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_EXPLAIN_INBOX);
  pawl_arg_int(a, PAWL_EXPLAIN_INBOX_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_INBOX_ID, id);
  pawl_arg_int(a, PAWL_EXPLAIN_INBOX_MAX, MAX_LETTERS);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_HISTORY);
  pawl_arg_int(a, PAWL_EXPLAIN_HISTORY_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_HISTORY_ID, id);
  pawl_arg_int(a, PAWL_EXPLAIN_HISTORY_MAX, MAX_REASONS);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_EXPLAIN_MESSAGE);
  pawl_arg_int(a, PAWL_EXPLAIN_MESSAGE_SHARD, shard);
  pawl_arg_id(a, PAWL_EXPLAIN_MESSAGE_ID, id);
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

/* What the graph knows of joins is needed, so the definition is checked
 * again. One that does not pass any more explains less, and that is all. */
static void read_definition(pawl_engine *e, facts *f) {
  pawl_rows *r = &f->at[WORKFLOW];
  pawl_str none = {NULL, 0};

  if (!r->nrows) return;
  if (pawl_def_new("store", pawl_row_str(r, 0, PAWL_EXPLAIN_WORKFLOW_R_GRAPH),
                   none, none, &e->alloc, &f->def, NULL) != PAWL_OK) {
    f->def = NULL;
    return;
  }
  if (pawl_def_check(f->def, NULL) != PAWL_OK) {
    pawl_def_free(f->def);
    f->def = NULL;
  }
}

static pawl_token_state state_of(pawl_str name) {
  for (int s = 0; s <= PAWL_TOKEN_DROPPED; s++)
    if (pawl_str_eqz(name, pawl_token_state_name((pawl_token_state)s)))
      return (pawl_token_state)s;
  return PAWL_TOKEN_DROPPED;
}

static pawl_code read_tokens(pawl_engine *e, facts *f, pawl_error *err) {
  for (int k = 0; k < f->at[TOKENS].nrows; k++) {
    pawl_token *t = pawl_tokens_add(&f->tokens, &e->alloc);
    if (!t) return pawl_fail(err, PAWL_NOMEM, "out of memory");
    t->no = (int32_t)CELL(f, TOKENS, TOKEN_LIST, k, NO)->i;
    t->state = state_of(CELL(f, TOKENS, TOKEN_LIST, k, STATE)->s);
    t->node = CELL(f, TOKENS, TOKEN_LIST, k, NODE)->s.at;
    t->visit = CELL(f, TOKENS, TOKEN_LIST, k, VISIT)->i;
    t->attempt = CELL(f, TOKENS, TOKEN_LIST, k, ATTEMPT)->i;
    t->due_us = CELL(f, TOKENS, TOKEN_LIST, k, DUE_AT)->i; /* null: 0 */
    if (!pawl_scope_parse(t, CELL(f, TOKENS, TOKEN_LIST, k, SCOPE)->s))
      return pawl_fail(err, PAWL_CORRUPT, "token %d has an unreadable scope",
                       (int)t->no);
    if (!pawl_row_null(&f->at[TOKENS], k, PAWL_TOKEN_LIST_R_DETAIL))
      pawl_buf_adds(&t->detail, CELL(f, TOKENS, TOKEN_LIST, k, DETAIL)->s);
    if (pawl_buf_check(&t->detail, err) != PAWL_OK) return PAWL_NOMEM;
  }
  return PAWL_OK;
}

static pawl_code gather(pawl_engine *e, const pawl_id *id, facts *f,
                        pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_status status = PAWL_STATUS_RUNNING;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_send_get(e, shard, id, err));
  TRY(pawl_send_tokens(e, shard, id, 0, err));
  TRY(pawl_send_agenda(e, shard, id, err));
  TRY(send_workflow(e, shard, id, err));
  TRY(send_waits(e, shard, id, err));
  TRY(send_records(e, shard, id, err));
  TRY(pawl_store_commit(e->store, err));
  for (int k = 0; k < NPARTS; k++) pawl_store_rows(e->store, k, &f->at[k]);
  if (!f->at[INSTANCE].nrows) return pawl_not_found(id, err);
  (void)pawl_status_parse(CELL(f, INSTANCE, INSTANCE_GET, 0, STATUS)->s,
                          &status);
  f->has_ended = pawl_status_has_ended(status);
  f->is_suspended = status == PAWL_STATUS_SUSPENDED;
  f->now_us = f->at[AGENDA].nrows ? CELL(f, AGENDA, AGENDA_GET, 0, NOW)->i
                                  : pawl_engine_now(e);
  read_definition(e, f);
  TRY(read_tokens(e, f, err));
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* ---- one token: what it waits for ---- */

typedef struct token_view {
  const facts *f;
  int k; /* its row, and its index in f->tokens */
  const pawl_token *t;
  const pawl_node *node; /* NULL: not in the definition */
} token_view;

static const pawl_node *node_named(const pawl_def *def, const char *name) {
  int i = def ? pawl_def_node(def, name, strlen(name)) : -1;
  return i < 0 ? NULL : &def->nodes[i];
}

static int64_t detail_int(const token_view *v, const char *name) {
  pawl_str value;
  int64_t n = 0;
  if (v->t->detail.len &&
      pawl_json_get(pawl_buf_str(&v->t->detail), name, &value))
    (void)pawl_json_int(value, &n);
  return n;
}

/* Where a transition leads; NULL: nowhere. */
static const char *target_of(const token_view *v, const char *name) {
  const pawl_node *n = v->node;
  int to = n ? pawl_node_next(n, name, strlen(name)) : -1;
  return to < 0 ? NULL : v->f->def->nodes[to].name;
}

/* By name, or by the only way there is. */
static const char *good_way(const token_view *v, const char *name) {
  const char *to = target_of(v, name);
  return to ? to : target_of(v, "");
}

static void member_way(pawl_object *o, const char *to) {
  if (to)
    pawl_member_textz(o, "to", to);
  else
    pawl_member_null(o, "to");
}

/* The row that says how the last attempt failed; -1. */
static int last_failure(const token_view *v) {
  const pawl_rows *r = &v->f->at[REASONS];
  for (int k = 0; k < r->nrows; k++) {
    if (!pawl_str_eqz(pawl_row_str(r, k, PAWL_EXPLAIN_HISTORY_R_TYPE),
                      "failed"))
      continue;
    if (pawl_row_int(r, k, PAWL_EXPLAIN_HISTORY_R_TOKEN) == v->t->no &&
        pawl_row_int(r, k, PAWL_EXPLAIN_HISTORY_R_VISIT) == v->t->visit)
      return k;
  }
  return -1;
}

static void for_retry(const token_view *v, pawl_object *o) {
  int k = last_failure(v);

  pawl_member_textz(o, "what", "retry");
  pawl_member_time(o, "at", v->t->due_us);
  pawl_member_int(o, "failed", v->t->attempt);
  pawl_member_int(o, "attempts", v->node ? v->node->retry.max : 0);
  if (k < 0)
    pawl_member_null(o, "error");
  else
    pawl_cell_json(o, "error", CELL(v->f, REASONS, EXPLAIN_HISTORY, k, ERROR));
}

static void for_worker(const token_view *v, pawl_object *o) {
  int k = v->t->attempt > 0 ? last_failure(v) : -1;

  pawl_member_textz(o, "what", "worker");
  if (k >= 0)
    pawl_cell_json(o, "error", CELL(v->f, REASONS, EXPLAIN_HISTORY, k, ERROR));
}

static void for_time(const token_view *v, pawl_object *o) {
  pawl_member_textz(o, "what", "time");
  if (v->t->due_us)
    pawl_member_time(o, "at", v->t->due_us);
  else
    pawl_member_null(o, "at");
}

/* The subscription of the token; -1. */
static int subscription_of(const token_view *v) {
  const pawl_rows *r = &v->f->at[SUBSCRIPTIONS];
  for (int k = 0; k < r->nrows; k++)
    if (pawl_row_int(r, k, PAWL_EXPLAIN_SUBSCRIPTION_R_TOKEN) == v->t->no)
      return k;
  return -1;
}

/* Which event: as it stands in the store, or in the graph while the row is
 * not there. */
static void member_event(const token_view *v, pawl_object *o) {
  int k = subscription_of(v);

  if (k >= 0) {
    pawl_cell_text(
        o, "event",
        CELL(v->f, SUBSCRIPTIONS, EXPLAIN_SUBSCRIPTION, k, PATTERN));
    pawl_cell_text(o, "key",
                   CELL(v->f, SUBSCRIPTIONS, EXPLAIN_SUBSCRIPTION, k, KEY));
    return;
  }
  pawl_member_textz(o, "event", v->node->event ? v->node->event : "");
  pawl_member_null(o, "key");
}

/* When its `timeout` ends it; 0: never. A task is looked at earlier too, when
 * it is overdue. */
static int64_t gives_up_us(const token_view *v) {
  if (!v->node || v->node->limit_us < 0) return 0;
  if (v->node->kind != PAWL_KIND_TASK) return v->t->due_us;
  return pawl_time_after(detail_int(v, "begun"), v->node->limit_us);
}

static void member_until(const token_view *v, pawl_object *o) {
  if (gives_up_us(v))
    pawl_member_time(o, "until", gives_up_us(v));
  else
    pawl_member_null(o, "until");
}

/* Events for which `match` itself failed; they count as turned down too. */
static void member_match_failures(const token_view *v, pawl_object *o) {
  const pawl_rows *r = &v->f->at[REASONS];
  int n = 0, newest = -1;

  for (int k = 0; k < r->nrows; k++) {
    if (!pawl_str_eqz(pawl_row_str(r, k, PAWL_EXPLAIN_HISTORY_R_TYPE),
                      "refused") ||
        pawl_row_int(r, k, PAWL_EXPLAIN_HISTORY_R_TOKEN) != v->t->no ||
        pawl_row_int(r, k, PAWL_EXPLAIN_HISTORY_R_VISIT) != v->t->visit)
      continue;
    if (!n++) newest = k;
  }
  if (!n) return;
  pawl_member_int(o, "match_failed", n);
  pawl_cell_json(o, "error",
                 CELL(v->f, REASONS, EXPLAIN_HISTORY, newest, ERROR));
}

static void for_event(const token_view *v, pawl_object *o) {
  pawl_member_textz(o, "what", "event");
  member_event(v, o);
  member_until(v, o);
  pawl_member_bool(o, "match", v->node->has_match);
  pawl_member_int(o, "turned_down", pawl_asked_count(v->t));
  member_match_failures(v, o);
}

/* The task of this visit; -1. */
static int task_of(const token_view *v) {
  const pawl_rows *r = &v->f->at[TASKS];
  for (int k = 0; k < r->nrows; k++)
    if (pawl_row_int(r, k, PAWL_EXPLAIN_TASK_R_TOKEN) == v->t->no &&
        pawl_row_int(r, k, PAWL_EXPLAIN_TASK_R_VISIT) == v->t->visit)
      return k;
  return -1;
}

static void for_person(const token_view *v, pawl_object *o) {
#define TASK(col) CELL(v->f, TASKS, EXPLAIN_TASK, k, col)
  int k = task_of(v);

  pawl_member_textz(o, "what", "person");
  if (k < 0) {
    pawl_member_null(o, "task");
    return;
  }
  pawl_cell_id(o, "task", TASK(ID));
  pawl_cell_text(o, "title", TASK(TITLE));
  pawl_cell_text(o, "status", TASK(STATUS));
  pawl_cell_text(o, "priority", TASK(PRIORITY));
  pawl_cell_time(o, "due", TASK(DUE_AT));
  pawl_member_bool(o, "overdue",
                   !TASK(DUE_AT)->is_null && TASK(DUE_AT)->i <= v->f->now_us);
  pawl_cell_text(o, "assignee", TASK(ASSIGNEE));
  pawl_cell_text(o, "claimed_by", TASK(CLAIMED_BY));
  pawl_cell_time(o, "escalated", TASK(ESCALATED_AT));
  pawl_cell_json(o, "error", TASK(ERROR));
  member_until(v, o);
#undef TASK
}

/* Is `s` in the group of forked tokens that t's join closes? */
static int is_sibling(const pawl_token *t, const pawl_token *s, int depth) {
  return depth < t->depth && pawl_token_is_in(s, t->scope[depth]);
}

static int stands_at(const pawl_token *s, const token_view *v) {
  return s->state == PAWL_TOKEN_WAITING && strcmp(s->node, v->node->name) == 0;
}

/* Can token s still come to the join where v stands? */
static int may_come(const token_view *v, const pawl_token *s) {
  const pawl_def *def = v->f->def;
  const pawl_node *at = node_named(def, s->node);
  return at && pawl_def_meets(def, (int)(at - def->nodes),
                              (int)(v->node - def->nodes));
}

static void add_sibling(const facts *f, int k, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_cell_int(&o, "no", CELL(f, TOKENS, TOKEN_LIST, k, NO));
  pawl_cell_text(&o, "node", CELL(f, TOKENS, TOKEN_LIST, k, NODE));
  pawl_cell_text(&o, "branch", CELL(f, TOKENS, TOKEN_LIST, k, BRANCH));
  pawl_cell_text(&o, "state", CELL(f, TOKENS, TOKEN_LIST, k, STATE));
  pawl_object_end(&o);
}

static void for_siblings(const token_view *v, pawl_object *o) {
  const pawl_tokens *all = &v->f->tokens;
  int depth = v->node->join_depth, arrived = 0, missing = 0;

  pawl_member_textz(o, "what", "siblings");
  pawl_member_int(o, "expect", v->node->expect); /* 0: all */
  pawl_member(o, "siblings");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < all->n; k++) {
    const pawl_token *s = &all->at[k];
    if (!is_sibling(v->t, s, depth)) continue;
    if (stands_at(s, v)) {
      arrived++;
    } else if (may_come(v, s)) {
      if (missing++ >= MAX_SIBLINGS) continue;
      if (missing > 1) pawl_buf_addc(o->out, ',');
      add_sibling(v->f, k, o->out);
    }
  }
  pawl_buf_addc(o->out, ']');
  pawl_member_int(o, "arrived", arrived);
  pawl_member_int(o, "missing", missing);
}

/* The child that the token's call began; -1. */
static int child_of(const token_view *v) {
  const pawl_rows *r = &v->f->at[CHILDREN];
  for (int k = 0; k < r->nrows; k++)
    if (pawl_row_int(r, k, PAWL_EXPLAIN_CHILD_R_PARENT_TOKEN) == v->t->no &&
        pawl_row_int(r, k, PAWL_EXPLAIN_CHILD_R_PARENT_VISIT) == v->t->visit)
      return k;
  return -1;
}

static void for_child(const token_view *v, pawl_object *o) {
  int k = child_of(v);

  pawl_member_textz(o, "what", "child");
  if (k < 0) { /* asked for, and not there yet */
    pawl_str id = {NULL, 0};
    if (v->t->detail.len)
      (void)pawl_json_get(pawl_buf_str(&v->t->detail), "child", &id);
    pawl_member_json(o, "child", id);
    pawl_member_textz(o, "workflow", v->node->workflow);
    pawl_member_null(o, "status");
  } else {
    pawl_cell_id(o, "child", CELL(v->f, CHILDREN, EXPLAIN_CHILD, k, ID));
    pawl_cell_text(o, "workflow",
                   CELL(v->f, CHILDREN, EXPLAIN_CHILD, k, WORKFLOW));
    pawl_cell_text(o, "status",
                   CELL(v->f, CHILDREN, EXPLAIN_CHILD, k, STATUS));
  }
  member_until(v, o);
}

static void for_items(const token_view *v, pawl_object *o) {
  int64_t begun = detail_int(v, "next"), done = detail_int(v, "done"),
          failed = detail_int(v, "failed");

  pawl_member_textz(o, "what", "items");
  pawl_member_int(o, "total", detail_int(v, "total"));
  pawl_member_int(o, "begun", begun);
  pawl_member_int(o, "done", done);
  pawl_member_int(o, "failed", failed);
  pawl_member_int(o, "under_way", begun - done - failed);
  pawl_member_int(o, "window", v->node->window);
  if (v->node->workflow)
    pawl_member_textz(o, "workflow", v->node->workflow);
  else
    pawl_member_textz(
        o, "branch",
        v->node->branch < 0 ? "" : v->f->def->nodes[v->node->branch].name);
  member_until(v, o);
}

typedef void (*describe)(const token_view *v, pawl_object *o);

/* What a waiting token of each kind waits for. */
static const describe waiting_for[PAWL_NKINDS] = {
    [PAWL_KIND_TIMER] = for_time,  [PAWL_KIND_WAIT] = for_event,
    [PAWL_KIND_TASK] = for_person, [PAWL_KIND_JOIN] = for_siblings,
    [PAWL_KIND_CALL] = for_child,  [PAWL_KIND_EACH] = for_items};

/* A handler has failed and is tried again later. */
static int is_delayed(const token_view *v) {
  return v->t->attempt > 0 && v->t->due_us > v->f->now_us &&
         (v->t->state == PAWL_TOKEN_ACTIVE ||
          !waiting_for[v->node ? v->node->kind : PAWL_KIND_STEP]);
}

static describe choose(const token_view *v) {
  if (is_delayed(v)) return for_retry;
  if (v->t->state == PAWL_TOKEN_WAITING && v->node &&
      waiting_for[v->node->kind])
    return waiting_for[v->node->kind];
  return for_worker;
}

/* ---- what would move it ---- */

typedef struct list {
  pawl_buf *out;
  int n;
} list;

static void list_member(pawl_object *o, const char *name, list *l) {
  pawl_member(o, name);
  pawl_buf_addc(o->out, '[');
  l->out = o->out;
  l->n = 0;
}

static void list_object(list *l, pawl_object *o, const char *kind,
                        const char *value) {
  if (l->n++) pawl_buf_addc(l->out, ',');
  pawl_object_begin(o, l->out);
  pawl_member_textz(o, kind, value);
}

static void list_end(list *l) {
  pawl_buf_addc(l->out, ']');
}

/* The time that a wait, task, call or each has in all. */
static void move_timeout(const token_view *v, list *l) {
  pawl_object o;
  if (!gives_up_us(v)) return;
  list_object(l, &o, "what", "timeout");
  pawl_member_time(&o, "at", gives_up_us(v));
  member_way(&o, target_of(v, "timeout"));
  pawl_object_end(&o);
}

static void move_event(const token_view *v, list *l) {
  pawl_object o;
  list_object(l, &o, "what", "event");
  member_event(v, &o);
  member_way(&o, good_way(v, "received"));
  pawl_object_end(&o);
}

/* Not for a person to take: they are the engine's. */
static int is_outcome(const char *name) {
  return *name && strcmp(name, "overdue") != 0 &&
         strcmp(name, "timeout") != 0 && strcmp(name, "failed") != 0;
}

static void move_person(const token_view *v, list *l) {
  int k = task_of(v), n = 0;
  pawl_object o;

  list_object(l, &o, "what", "person");
  if (k < 0)
    pawl_member_null(&o, "task");
  else
    pawl_cell_id(&o, "task", CELL(v->f, TASKS, EXPLAIN_TASK, k, ID));
  pawl_member(&o, "outcomes");
  pawl_buf_addc(l->out, '[');
  for (int i = 0; i < v->node->nnext; i++) {
    if (!is_outcome(v->node->next[i].name)) continue;
    if (n++) pawl_buf_addc(l->out, ',');
    pawl_json_add_string(l->out, pawl_strz(v->node->next[i].name));
  }
  pawl_buf_addc(l->out, ']');
  member_way(&o, target_of(v, ""));
  pawl_object_end(&o);
}

/* Only where a transition is drawn: else being overdue moves nothing. */
static void move_overdue(const token_view *v, list *l) {
  const char *to = target_of(v, "overdue");
  int64_t due_us = detail_int(v, "due");
  pawl_object o;
  if (!to || !due_us) return;
  list_object(l, &o, "what", "overdue");
  pawl_member_time(&o, "at", due_us);
  member_way(&o, to);
  pawl_object_end(&o);
}

static void move_by(const token_view *v, list *l, const char *what,
                    const char *to) {
  pawl_object o;
  list_object(l, &o, "what", what);
  if (strcmp(what, "time") == 0 && v->t->due_us)
    pawl_member_time(&o, "at", v->t->due_us);
  member_way(&o, to);
  pawl_object_end(&o);
}

static void add_moves(const token_view *v, describe how, pawl_object *o) {
  list l;
  list_member(o, "would_move", &l);
  if (v->f->is_suspended) {
    pawl_object resume;
    list_object(&l, &resume, "what", "resume");
    pawl_object_end(&resume);
  }
  if (how == for_retry || how == for_time) {
    move_by(v, &l, "time", how == for_time ? target_of(v, "") : v->t->node);
  } else if (how == for_event) {
    move_event(v, &l);
    move_timeout(v, &l);
  } else if (how == for_person) {
    move_person(v, &l);
    move_overdue(v, &l);
    move_timeout(v, &l);
  } else if (how == for_siblings) {
    move_by(v, &l, "siblings", target_of(v, ""));
  } else if (how == for_child) {
    move_by(v, &l, "child", good_way(v, "completed"));
    move_timeout(v, &l);
  } else if (how == for_items) {
    move_by(v, &l, "items", good_way(v, "completed"));
    move_timeout(v, &l);
  } else {
    move_by(v, &l, "worker", NULL);
  }
  list_end(&l);
}

/* ---- who may ---- */

static void list_who(list *l, const char *kind, const pawl_cell *id) {
  pawl_object o;
  list_object(l, &o, "kind", kind);
  if (id) pawl_cell_text(&o, "id", id);
  pawl_object_end(&o);
}

static void list_people(const token_view *v, list *l) {
#define TASK(col) CELL(v->f, TASKS, EXPLAIN_TASK, k, col)
  const pawl_rows *r = &v->f->at[OWNERS];
  int k = task_of(v), before = l->n;

  if (k >= 0 && !TASK(CLAIMED_BY)->is_null) {
    list_who(l, "user", TASK(CLAIMED_BY));
    return;
  }
  if (k >= 0 && !TASK(ASSIGNEE)->is_null) list_who(l, "user", TASK(ASSIGNEE));
  for (int i = 0; k >= 0 && i < r->nrows; i++) {
    char kind[24];
    if (!pawl_str_eq(pawl_row_str(r, i, PAWL_EXPLAIN_OWNER_R_TASK),
                     TASK(ID)->s))
      continue;
    pawl_str_copy(kind, sizeof kind,
                  pawl_row_str(r, i, PAWL_EXPLAIN_OWNER_R_KIND));
    list_who(l, kind, CELL(v->f, OWNERS, EXPLAIN_OWNER, i, ID));
  }
  if (l->n == before) list_who(l, "anybody", NULL);
#undef TASK
}

static void add_may(const token_view *v, describe how, pawl_object *o) {
  list l;
  list_member(o, "may", &l);
  if (v->f->is_suspended) /* has to resume it first */
    list_who(&l, "operator", NULL);
  if (how == for_person)
    list_people(v, &l);
  else if (how == for_event)
    list_who(&l, "sender", NULL);
  else if (how == for_child || how == for_items)
    list_who(&l, v->node->workflow ? "child" : "worker", NULL);
  else if (!v->f->is_suspended)
    list_who(&l, "worker", NULL);
  list_end(&l);
}

static void add_token(const facts *f, int k, pawl_buf *out) {
#define TOKEN(col) CELL(f, TOKENS, TOKEN_LIST, k, col)
  token_view v = {f, k, &f->tokens.at[k], NULL};
  pawl_object o, inner;
  describe how;

  v.node = node_named(f->def, v.t->node);
  how = choose(&v);
  pawl_object_begin(&o, out);
  pawl_cell_int(&o, "no", TOKEN(NO));
  pawl_cell_text(&o, "node", TOKEN(NODE));
  if (v.node)
    pawl_member_textz(&o, "kind", pawl_kind_name(v.node->kind));
  else
    pawl_member_null(&o, "kind");
  pawl_cell_text(&o, "fork", TOKEN(FORK));
  pawl_cell_text(&o, "branch", TOKEN(BRANCH));
  pawl_cell_text(&o, "state", TOKEN(STATE));
  pawl_cell_int(&o, "visit", TOKEN(VISIT));
  pawl_cell_int(&o, "attempt", TOKEN(ATTEMPT));
  pawl_cell_time(&o, "since", TOKEN(ENTERED_AT));
  pawl_cell_time(&o, "due", TOKEN(DUE_AT));
  pawl_member_object(&o, "waiting_for", &inner);
  how(&v, &inner);
  pawl_object_end(&inner);
  add_moves(&v, how, &o);
  add_may(&v, how, &o);
  pawl_object_end(&o);
#undef TOKEN
}

/* ---- the instance as a whole ---- */

static int is_leased(const facts *f) {
  const pawl_rows *r = &f->at[AGENDA];
  return r->nrows && !pawl_row_null(r, 0, PAWL_AGENDA_GET_R_LEASE);
}

/* Due, free, and nobody has taken it: since when; 0: that is not so. */
static int64_t idle_since(const facts *f) {
  const pawl_rows *r = &f->at[AGENDA];
  int64_t due;

  if (!r->nrows || is_leased(f)) return 0;
  due = pawl_row_int(r, 0, PAWL_AGENDA_GET_R_DUE_AT);
  if (due <= f->now_us) return due;
  return pawl_row_int(r, 0, PAWL_AGENDA_GET_R_READY) ? f->now_us : 0;
}

static void add_next_look(const facts *f, pawl_object *o) {
  if (!f->at[AGENDA].nrows)
    pawl_member_null(o, "next_look");
  else if (idle_since(f))
    pawl_member_time(o, "next_look", f->now_us);
  else
    pawl_cell_time(o, "next_look", CELL(f, AGENDA, AGENDA_GET, 0, DUE_AT));
}

static void add_suspended(const facts *f, pawl_object *o) {
  const pawl_cell *since = CELL(f, INSTANCE, INSTANCE_GET, 0, SUSPENDED_AT);
  const pawl_rows *r = &f->at[REASONS];
  pawl_object s;
  int k = 0;

  if (!f->is_suspended) {
    pawl_member_null(o, "suspended");
    return;
  }
  while (k < r->nrows &&
         !pawl_str_eqz(pawl_row_str(r, k, PAWL_EXPLAIN_HISTORY_R_TYPE),
                       "suspended"))
    k++;
  pawl_member_object(o, "suspended", &s);
  if (k < r->nrows) {
    pawl_cell_text(&s, "by", CELL(f, REASONS, EXPLAIN_HISTORY, k, CALLER));
    pawl_cell_text(&s, "reason", CELL(f, REASONS, EXPLAIN_HISTORY, k, TEXT));
    if (since->is_null)
      since = CELL(f, REASONS, EXPLAIN_HISTORY, k, COMPLETED_AT);
  }
  pawl_cell_time(&s, "since", since);
  if (!since->is_null) { /* by so many seconds a resume may shift timers */
    pawl_member(&s, "shift");
    pawl_json_add_float(s.out, (double)(f->now_us - since->i) / 1e6);
  }
  pawl_object_end(&s);
}

static void add_workflow_suspended(const facts *f, pawl_object *o) {
#define BY(col) CELL(f, SUSPENSION, EXPLAIN_SUSPENSION, 0, col)
  pawl_object s;

  if (!f->at[SUSPENSION].nrows) {
    pawl_member_null(o, "workflow_suspended");
    return;
  }
  pawl_member_object(o, "workflow_suspended", &s);
  pawl_cell_text(&s, "code", BY(CODE));
  pawl_cell_bool(&s, "prefix", BY(IS_PREFIX));
  pawl_cell_text(&s, "by", BY(SUSPENDED_BY));
  pawl_cell_text(&s, "reason", BY(REASON));
  pawl_cell_time(&s, "since", BY(SUSPENDED_AT));
  pawl_object_end(&s);
#undef BY
}

/* Why nothing moves, in words that stay as they are. */
typedef struct blocked {
  const char *words[6];
  int n;
  int64_t workers, idle_us;
  int can_retry;      /* it has failed, and stood somewhere */
  const char *unseen; /* what could move it, and nobody will look; NULL */
} blocked;

static void find_blocked(const facts *f, blocked *b) {
  const pawl_rows *r = &f->at[EXECUTOR];
  int is_paused = f->at[SUSPENSION].nrows > 0;

  b->workers =
      r->nrows ? pawl_row_int(r, 0, PAWL_EXPLAIN_EXECUTOR_R_WORKERS) : 0;
  b->can_retry =
      r->nrows && pawl_row_int(r, 0, PAWL_EXPLAIN_EXECUTOR_R_HAS_STOPPED);
  b->idle_us = idle_since(f);
  if (f->has_ended) return;
  if (f->is_suspended) b->words[b->n++] = "suspended";
  if (is_paused) b->words[b->n++] = "workflow_suspended";
  if (!f->at[WORKFLOW].nrows) b->words[b->n++] = "unknown_workflow";
  if (b->idle_us && !b->workers) b->words[b->n++] = "no_worker";
  if (b->idle_us && b->workers && !is_paused &&
      f->now_us - b->idle_us > PATIENCE_US)
    b->words[b->n++] = "not_taken";
}

/* Neither due nor held: does it miss something that is there? The rows of all
 * else are gone behind that. */
static pawl_code find_unseen(pawl_engine *e, const pawl_id *id, const facts *f,
                             blocked *b, pawl_error *err) {
  pawl_buf workflow = {.alloc = &e->alloc}, status = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  if (f->has_ended || f->is_suspended || b->idle_us || is_leased(f))
    return PAWL_OK;
  pawl_buf_adds(&workflow, CELL(f, INSTANCE, INSTANCE_GET, 0, WORKFLOW)->s);
  /* as it is stored; "created" is how one is shown that has not started */
  pawl_buf_adds(&status, CELL(f, INSTANCE, INSTANCE_GET, 0, STATUS)->s);
  TRY(pawl_buf_check(&workflow, err));
  TRY(pawl_buf_check(&status, err));
  TRY(pawl_health_of(e, id, pawl_buf_str(&workflow),
                     pawl_str_eqz(pawl_buf_str(&status), "created")
                         ? pawl_strz("running")
                         : pawl_buf_str(&status),
                     &b->unseen, err));
  if (b->unseen) b->words[b->n++] = "unseen";
out:
  pawl_buf_deinit(&workflow);
  pawl_buf_deinit(&status);
  return rc;
}

static void add_blocked(const blocked *b, pawl_object *o) {
  pawl_member(o, "blocked");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < b->n; k++)
    pawl_buf_addf(o->out, "%s\"%s\"", k ? "," : "", b->words[k]);
  pawl_buf_addc(o->out, ']');
  if (b->unseen) pawl_member_textz(o, "unseen", b->unseen);
  pawl_member_int(o, "workers", b->workers);
  pawl_member_bool(o, "can_retry", b->can_retry);
  if (b->idle_us)
    pawl_member_time(o, "idle_since", b->idle_us);
  else
    pawl_member_null(o, "idle_since");
}

static void add_head(const facts *f, pawl_object *o) {
#define GET(col) CELL(f, INSTANCE, INSTANCE_GET, 0, col)
  pawl_cell_id(o, "id", GET(ID));
  pawl_cell_text(o, "status", GET(STATUS));
  pawl_cell_text(o, "workflow", GET(WORKFLOW));
  pawl_cell_int(o, "version", GET(WORKFLOW_VERSION));
  pawl_cell_text(o, "node", GET(NODE));
  pawl_cell_text(o, "group", GET(EXECUTOR_GROUP));
  pawl_cell_id(o, "parent", GET(PARENT));
  pawl_cell_text(o, "parent_node", GET(PARENT_NODE));
  pawl_cell_time(o, "created", GET(CREATED_AT));
  pawl_cell_time(o, "started", GET(STARTED_AT));
  pawl_cell_time(o, "completed", GET(COMPLETED_AT));
  pawl_cell_json(o, "error", GET(ERROR));
  pawl_cell_json(o, "cancellation", GET(CANCELLATION));
  pawl_cell_json(o, "compensation", GET(COMPENSATION));
  pawl_cell_time(o, "deadline", GET(DEADLINE_AT));
  if (is_leased(f)) /* else nobody's any more */
    pawl_cell_json(o, "progress", GET(STATE_TEXT));
  pawl_member_time(o, "now", f->now_us);
#undef GET
}

static void add_tokens(const facts *f, pawl_object *o) {
  pawl_member(o, "tokens");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < f->tokens.n; k++) {
    if (k) pawl_buf_addc(o->out, ',');
    add_token(f, k, o->out);
  }
  pawl_buf_addc(o->out, ']');
}

static void add_children(const facts *f, pawl_object *o) {
#define CHILD(col) CELL(f, CHILDREN, EXPLAIN_CHILD, k, col)
  const pawl_rows *r = &f->at[CHILDREN];
  pawl_object child;

  pawl_member(o, "children");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < r->nrows && k < MAX_CHILDREN; k++) {
    if (k) pawl_buf_addc(o->out, ',');
    pawl_object_begin(&child, o->out);
    pawl_cell_id(&child, "id", CHILD(ID));
    pawl_cell_text(&child, "workflow", CHILD(WORKFLOW));
    pawl_cell_int(&child, "version", CHILD(WORKFLOW_VERSION));
    pawl_cell_text(&child, "status", CHILD(STATUS));
    pawl_cell_text(&child, "node", CHILD(PARENT_NODE));
    pawl_cell_int(&child, "token", CHILD(PARENT_TOKEN));
    pawl_cell_int(&child, "index", CHILD(PARENT_INDEX));
    pawl_cell_time(&child, "created", CHILD(CREATED_AT));
    pawl_object_end(&child);
  }
  pawl_buf_addc(o->out, ']');
#undef CHILD
}

static void add_inbox(const facts *f, pawl_object *o) {
#define LETTER(col) CELL(f, INBOX, EXPLAIN_INBOX, k, col)
  const pawl_rows *r = &f->at[INBOX];
  pawl_object letter;

  pawl_member(o, "inbox");
  pawl_buf_addc(o->out, '[');
  for (int k = 0; k < r->nrows; k++) {
    if (k) pawl_buf_addc(o->out, ',');
    pawl_object_begin(&letter, o->out);
    pawl_cell_text(&letter, "kind", LETTER(KIND));
    pawl_cell_text(&letter, "name", LETTER(NAME));
    pawl_cell_text(&letter, "key", LETTER(KEY));
    pawl_cell_text(&letter, "source", LETTER(SOURCE));
    pawl_cell_text(&letter, "by", LETTER(CALLER));
    pawl_cell_time(&letter, "received", LETTER(RECEIVED_AT));
    pawl_object_end(&letter);
  }
  pawl_buf_addc(o->out, ']');
#undef LETTER
}

static void add_undelivered(const facts *f, pawl_object *o) {
  const pawl_rows *r = &f->at[MESSAGES];
  int64_t n = 0;
  for (int k = 0; k < r->nrows; k++)
    n += pawl_row_int(r, k, PAWL_EXPLAIN_MESSAGE_R_N);
  pawl_member_int(o, "undelivered", n);
}

pawl_code pawl_engine_explain(pawl_engine *e, const pawl_id *id, pawl_buf *out,
                              pawl_error *err) {
  facts f = {0};
  blocked b = {.n = 0};
  pawl_object o;
  pawl_code rc = PAWL_OK;

  TRY(gather(e, id, &f, err));
  find_blocked(&f, &b);
  pawl_object_begin(&o, out);
  add_head(&f, &o);
  pawl_member_lease(&o, &f.at[AGENDA]);
  add_next_look(&f, &o);
  add_suspended(&f, &o);
  add_workflow_suspended(&f, &o);
  add_tokens(&f, &o);
  add_children(&f, &o);
  add_inbox(&f, &o);
  add_undelivered(&f, &o);
  TRY(find_unseen(e, id, &f, &b, err));
  add_blocked(&b, &o);
  pawl_object_end(&o);
  TRY(pawl_buf_check(out, err));
out:
  pawl_tokens_deinit(&f.tokens, &e->alloc);
  pawl_def_free(f.def);
  return rc;
}
