/* Explaining: where an instance stands, why it is there, and what would move
 * it, as JSON. One look at the store, then no more than reading: the graph is
 * known and tokens are rows on it, so nothing has to be run to know.
 *
 * lua/pawl/explain.lua makes sentences of it. */
#include <assert.h>
#include <string.h>

#include "../../rules/asked.h"
#include "../../rules/state.h"
#include "../../value/json.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/task.h"
#include "../common/time.h"
#include "ask.h"

enum {
  MAX_ASSIGNED = 100, /* that are under way, of a shard */
  MAX_CHILDREN = 100,
  MAX_LETTERS = 100,
  MAX_REASONS = 100, /* rows of history that may say why */
  MAX_SIBLINGS = 100
};

/* Due that long ago while workers live: none of them takes it. */
#define PATIENCE_US (10 * PAWL_SECOND)

/* The results of the one unit. */
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
  ASSIGNED,
  INBOX,
  REASONS,
  MESSAGES,
  NPARTS
} part;

/* All that is said follows from these; nothing is asked for later but what
 * might be missed. */
typedef struct facts {
  int sent[NPARTS]; /* where the results are */
  pawl_rows at[NPARTS];
  pawl_token_list tokens; /* the rows of TOKENS, in their order */
  pawl_def *def;          /* NULL: nobody has registered it */
  int64_t now_us;
  int has_ended, is_suspended;
} facts;

/* ---- the look at the store ---- */

/* Sends a statement, whose result is that part. */
#define ASK(part, stmt, ...)                                                 \
  MUST(PAWL_SEND(e->store, stmt, &sent[part], err, .shard = shard, .id = id, \
                 __VA_ARGS__))

static pawl_code send_all(pawl_engine *e, int shard, const pawl_id *id,
                          int sent[NPARTS], pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);

  ASK(INSTANCE, instance_get, );
  ASK(TOKENS, token_list, .everything = 0);
  ASK(AGENDA, agenda_get, .now = now);
  ASK(WORKFLOW, explain_workflow, );
  ASK(SUSPENSION, explain_suspension, );
  ASK(EXECUTOR, explain_executor, .now = now);
  ASK(SUBSCRIPTIONS, explain_subscription, );
  ASK(TASKS, explain_task, );
  ASK(OWNERS, explain_owner, );
  pawl_args_begin(&e->args, PAWL_STMT_explain_child);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, explain_child, .shard = s, .home = shard, .id = id,
             .max = MAX_CHILDREN);
  MUST(pawl_store_send(e->store, &e->args, &sent[CHILDREN], err));
  pawl_args_begin(&e->args, PAWL_STMT_explain_assigned);
  for (int s = 0; s < e->nshards; s++)
    PAWL_PUT(&e->args, explain_assigned, .shard = s, .home = shard, .id = id,
             .now = now, .max = MAX_ASSIGNED);
  MUST(pawl_store_send(e->store, &e->args, &sent[ASSIGNED], err));
  ASK(INBOX, explain_inbox, .max = MAX_LETTERS);
  ASK(REASONS, explain_history, .max = MAX_REASONS);
  ASK(MESSAGES, explain_message, );
  return PAWL_OK;
}

/* What the graph knows of joins is needed, so the definition is checked
 * again. One that does not pass any more explains less, and that is all. */
static void read_definition(pawl_engine *e, facts *f) {
  pawl_rows *r = &f->at[WORKFLOW];
  pawl_str none = {NULL, 0};

  if (!r->nrows) return;
  if (pawl_def_new("store", pawl_read_explain_workflow(r, 0).graph, none, none,
                   &e->alloc, &f->def, NULL) == PAWL_OK &&
      pawl_def_check(f->def, NULL) == PAWL_OK)
    return;
  pawl_def_free(f->def);
  f->def = NULL;
}

/* What is not known counts as dropped: nothing is said of it. */
static pawl_token_state state_of(pawl_str name) {
  for (int s = 0; s <= PAWL_TOKEN_DROPPED; s++)
    if (pawl_str_eqz(name, pawl_token_state_name((pawl_token_state)s)))
      return (pawl_token_state)s;
  return PAWL_TOKEN_DROPPED;
}

/* As the rules see them, so that their own questions can be asked: is it
 * inside that fork, could it come to that join. */
static pawl_code read_tokens(pawl_engine *e, facts *f, pawl_error *err) {
  for (int k = 0; k < f->at[TOKENS].nrows; k++) {
    const pawl_token_list_row row = pawl_read_token_list(&f->at[TOKENS], k);
    pawl_token *t = pawl_tokens_add(&f->tokens, &e->alloc);
    if (!t) return pawl_fail_memory(err);
    t->no = (int32_t)row.no;
    t->state = state_of(row.state);
    t->node = row.node.at;
    t->visit = row.visit;
    t->attempt = row.attempt;
    t->due_us = row.due_at;
    if (!pawl_scope_parse(t, row.scope))
      return pawl_fail(err, PAWL_CORRUPT, "token %d has an unreadable scope",
                       (int)t->no);
    if (!pawl_detail_read(&e->world, row.detail, t))
      return pawl_fail_memory(err);
  }
  return PAWL_OK;
}

/* One trip: what is told is true of one moment. */
static pawl_code gather(pawl_engine *e, const pawl_id *id, facts *f,
                        pawl_error *err) {
  pawl_standing status = PAWL_STATUS_RUNNING;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_all(e, pawl_shard_of(e, id), id, f->sent, err));
  TRY(pawl_store_commit(e->store, err));
  for (int k = 0; k < NPARTS; k++)
    pawl_store_rows(e->store, f->sent[k], &f->at[k]);
  if (!f->at[INSTANCE].nrows) return pawl_instance_missing(id, err);
  (void)pawl_status_parse(pawl_read_instance_get(&f->at[INSTANCE], 0).status,
                          &status);
  f->has_ended = pawl_status_has_ended(status);
  f->is_suspended = status == PAWL_STATUS_SUSPENDED;
  f->now_us = f->at[AGENDA].nrows ? pawl_read_agenda_get(&f->at[AGENDA], 0).now
                                  : pawl_engine_now(e);
  read_definition(e, f);
  TRY(read_tokens(e, f, err));
  assert(f->tokens.n == f->at[TOKENS].nrows);
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

/* A token may stand at a node that the definition has not got: less is said of
 * it then. */
static const pawl_node *node_named(const pawl_def *def, const char *name) {
  int i = def ? pawl_def_node(def, name, strlen(name)) : -1;
  return i < 0 ? NULL : &def->nodes[i];
}

static const pawl_detail *detail_of(const token_view *v) {
  return pawl_detail_of(v->t);
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
  pawl_member_textz(o, "to", to); /* NULL: null */
}

/* The row of the token in that part, by these columns; of this visit, where a
 * token may have others. -1: there is none. */
static int row_of(const token_view *v, part of, const char *token,
                  const char *visit) {
  const pawl_rows *r = &v->f->at[of];
  for (int k = 0; k < r->nrows; k++)
    if (pawl_column_int(r, k, token) == v->t->no &&
        (!visit || pawl_column_int(r, k, visit) == v->t->visit))
      return k;
  return -1;
}

/* Of this visit: a token may come to the same node again, and has another task
 * then. */
static int task_of(const token_view *v) {
  return row_of(v, TASKS, "token", "visit");
}

/* The row that says how the last attempt failed; -1. */
static int last_failure(const token_view *v) {
  const pawl_rows *r = &v->f->at[REASONS];
  for (int k = 0; k < r->nrows; k++) {
    const pawl_explain_history_row row = pawl_read_explain_history(r, k);
    if (!pawl_str_eqz(row.type, "failed")) continue;
    if (row.token == v->t->no && row.visit == v->t->visit) return k;
  }
  return -1;
}

/* The last failure is the reason; how often it may fail in all is in the
 * graph. */
static void for_retry(const token_view *v, pawl_object *o) {
  int k = last_failure(v);

  pawl_member_textz(o, "what", "retry");
  pawl_member_time(o, "at", v->t->due_us);
  pawl_member_int(o, "failed", v->t->attempt);
  pawl_member_int(o, "attempts", v->node ? v->node->retry.max : 0);
  if (k < 0)
    pawl_member_null(o, "error");
  else
    pawl_member_columns(o, &v->f->at[REASONS], k, "error");
}

static void for_worker(const token_view *v, pawl_object *o) {
  int k = v->t->attempt > 0 ? last_failure(v) : -1;

  pawl_member_textz(o, "what", "worker");
  if (k >= 0) pawl_member_columns(o, &v->f->at[REASONS], k, "error");
}

/* Which event: as it stands in the store, or in the graph while the row is
 * not there. */
static void member_event(const token_view *v, pawl_ear ear, pawl_object *o) {
  const pawl_rows *r = &v->f->at[SUBSCRIPTIONS];
  int k = 0;

  while (k < r->nrows &&
         pawl_read_explain_subscription(r, k).token != pawl_ear_no(v->t, ear))
    k++;
  if (k < r->nrows) {
    pawl_member_columns(o, r, k, "event=pattern key");
    return;
  }
  pawl_member_textz(o, "event", pawl_node_listens(v->node, ear));
  pawl_member_null(o, "key");
}

/* When its `timeout` ends it; 0: never. A task is looked at earlier too, when
 * it is overdue. */
static int64_t gives_up_us(const token_view *v) {
  int64_t limit_us = v->node ? pawl_token_limit(v->t, v->node) : -1;
  if (limit_us < 0) return 0;
  if (v->node->kind != PAWL_KIND_TASK) return v->t->due_us;
  return pawl_time_after(detail_of(v)->begun, limit_us);
}

static void member_until(const token_view *v, pawl_object *o) {
  pawl_member_time(o, "until", gives_up_us(v));
}

/* Has the handler refused it that was to say a time anew? Else `match`,
 * `accepts` or `answer` have. */
static int is_movers(pawl_str text) {
  static const pawl_handler says[] = {PAWL_HANDLER_AT, PAWL_HANDLER_AFTER,
                                      PAWL_HANDLER_DUE, PAWL_HANDLER_TIMEOUT};

  for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
    const char *name = pawl_handler_name(says[i]);
    const size_t len = strlen(name);
    if (text.len > len + 1 && !memcmp(text.at + 1, name, len) &&
        text.at[len + 1] == '`')
      return 1;
  }
  return 0;
}

/* Events that an ear of it has refused in this visit; `match_failed`: those for
 * which `match` itself did. `error` is of the newest. */
typedef struct refusals {
  int refused, match_failed;
  pawl_str error;
} refusals;

static refusals refused_by(const token_view *v, pawl_ear ear) {
  static const char MATCH[] = "`match`";
  const pawl_rows *r = &v->f->at[REASONS];
  refusals out = {.error = {NULL, 0}};

  for (int k = 0; k < r->nrows; k++) {
    const pawl_explain_history_row row = pawl_read_explain_history(r, k);
    if (!pawl_str_eqz(row.type, "refused") || row.asked ||
        row.token != v->t->no || row.visit != v->t->visit ||
        is_movers(row.text) != (ear == PAWL_EAR_MOVE))
      continue;
    if (!out.error.at) out.error = row.error;
    if (row.text.len > sizeof MATCH &&
        memcmp(row.text.at, MATCH, sizeof MATCH - 1) == 0)
      out.match_failed++;
    else
      out.refused++;
  }
  return out;
}

static void member_refused(const token_view *v, pawl_ear ear, pawl_object *o) {
  const refusals of = refused_by(v, ear);

  if (of.match_failed) pawl_member_int(o, "match_failed", of.match_failed);
  if (of.refused) pawl_member_int(o, "refused", of.refused);
  if (of.match_failed || of.refused) pawl_member_json(o, "error", of.error);
}

/* Of its own events; what it is not asked about again has the others, too. */
static int turned_down(const token_view *v) {
  const int own =
      pawl_asked_count(v->t) - refused_by(v, PAWL_EAR_MOVE).refused;
  return own > 0 ? own : 0;
}

/* The event that moves its timeout. */
static void member_mover(const token_view *v, pawl_object *o) {
  pawl_object mover;

  if (!v->node->moved_by) return;
  pawl_member_object(o, "moved_by", &mover);
  member_event(v, PAWL_EAR_MOVE, &mover);
  member_refused(v, PAWL_EAR_MOVE, &mover);
  pawl_object_end(&mover);
}

static void for_time(const token_view *v, pawl_object *o) {
  pawl_member_time(o, "at", v->t->due_us);
  if (!v->node->moved_by) return;
  member_event(v, PAWL_EAR_MOVE, o);
  member_refused(v, PAWL_EAR_MOVE, o);
}

/* One that may come here, as others had it first. */
static void member_assigned(const token_view *v, pawl_object *o) {
  const pawl_rows *r = &v->f->at[ASSIGNED];
  const int k = row_of(v, ASSIGNED, "token", NULL);
  if (k >= 0)
    pawl_member_str(o, "assigned", pawl_read_explain_assigned(r, k).name);
}

/* How many events came and did not match is told, too: a wait that turns all
 * of them down is the riddle that people have most. */
static void for_event(const token_view *v, pawl_object *o) {
  member_event(v, PAWL_EAR_OWN, o);
  member_until(v, o);
  member_mover(v, o);
  pawl_member_bool(o, "match", v->node->has_match);
  if (v->node->accepts.at) pawl_member_json(o, "accepts", v->node->accepts);
  if (v->node->take_one) pawl_member_textz(o, "take", "one");
  member_assigned(v, o);
  pawl_member_int(o, "turned_down", turned_down(v));
  member_refused(v, PAWL_EAR_OWN, o);
}

/* Only where that is so: it is to be asked, and nobody has yet. */
static void for_condition(const token_view *v, pawl_object *o) {
  member_until(v, o);
  member_mover(v, o);
  if (pawl_token_asks_now(v->t)) pawl_member_bool(o, "due", 1);
}

/* A row that is not there is said to be none: the task is written with the
 * commit that makes the token wait. */
static void for_person(const token_view *v, pawl_object *o) {
  int k = task_of(v);

  if (k < 0) {
    pawl_member_null(o, "task");
    return;
  }
  const pawl_rows *r = &v->f->at[TASKS];
  const int64_t due_us = pawl_read_explain_task(r, k).due_at;
  pawl_member_columns(o, r, k, "task=id title status priority due=due_at");
  pawl_member_bool(o, "overdue", due_us && due_us <= v->f->now_us);
  pawl_member_columns(o, r, k,
                      "assignee claimed_by escalated=escalated_at error");
  if (v->node->accepts.at) pawl_member_json(o, "accepts", v->node->accepts);
  member_until(v, o);
  member_mover(v, o);
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

/* Those that cannot come any more are not waited for: neither is it said of
 * them. */
static void for_siblings(const token_view *v, pawl_object *o) {
  const pawl_token_list *all = &v->f->tokens;
  int depth = v->node->join_depth, arrived = 0, missing = 0;
  pawl_object list, one;

  pawl_member_int(o, "expect", v->node->expect); /* 0: all */
  pawl_member_list(o, "siblings", &list);
  for (int k = 0; k < all->n; k++) {
    const pawl_token *s = &all->at[k];
    if (!is_sibling(v->t, s, depth)) continue;
    if (stands_at(s, v)) {
      arrived++;
    } else if (may_come(v, s)) {
      if (missing++ >= MAX_SIBLINGS) continue;
      pawl_list_object(&list, &one);
      pawl_member_columns(&one, &v->f->at[TOKENS], k, "no node branch state");
      pawl_object_end(&one);
    }
  }
  pawl_list_end(&list);
  pawl_member_int(o, "arrived", arrived);
  pawl_member_int(o, "missing", missing);
}

/* Found by the token's visit: the same call may have begun others before. */
static void for_child(const token_view *v, pawl_object *o) {
  int k = row_of(v, CHILDREN, "parent_token", "parent_visit");

  if (k < 0) { /* asked for, and not there yet */
    pawl_member_str(o, "child", pawl_buf_some(&detail_of(v)->child));
    pawl_member_textz(o, "workflow", v->node->workflow);
    pawl_member_null(o, "status");
  } else {
    pawl_member_columns(o, &v->f->at[CHILDREN], k, "child=id workflow status");
  }
  member_until(v, o);
  member_mover(v, o);
}

/* Counted in the token's detail, so that no row of an item has to be read. */
static void for_items(const token_view *v, pawl_object *o) {
  int64_t begun = detail_of(v)->next, done = detail_of(v)->done,
          failed = detail_of(v)->failed;

  pawl_member_int(o, "total", detail_of(v)->total);
  pawl_member_int(o, "begun", begun);
  pawl_member_int(o, "done", done);
  pawl_member_int(o, "failed", failed);
  pawl_member_int(o, "under_way", begun - done - failed);
  pawl_member_int(o, "window", v->node->window);
  if (pawl_node_tolerates(v->node, 0) >= 0)
    pawl_member_int(o, "tolerated",
                    pawl_node_tolerates(v->node, detail_of(v)->total));
  if (v->node->has_enough) pawl_member_bool(o, "early", 1);
  if (v->node->workflow)
    pawl_member_textz(o, "workflow", v->node->workflow);
  else
    pawl_member_textz(
        o, "branch",
        v->node->branch < 0 ? "" : v->f->def->nodes[v->node->branch].name);
  member_until(v, o);
  member_mover(v, o);
}

static int is_condition(const token_view *v) {
  return v->node && v->node->has_condition;
}

/* What a waiting token of its kind waits for; NULL: of none. */
static const char *waits_for(const token_view *v) {
  if (is_condition(v)) return "condition";
  return v->node ? pawl_kind_shapes[v->node->kind].waits_for : NULL;
}

/* A handler has failed and is tried again later. */
static int is_delayed(const token_view *v) {
  return v->t->attempt > 0 && v->t->due_us > v->f->now_us &&
         (v->t->state == PAWL_TOKEN_ACTIVE || !waits_for(v));
}

/* It stands at a breakpoint, whose time is not over. */
static int has_halted(const token_view *v) {
  return v->t->state == PAWL_TOKEN_ACTIVE && detail_of(v)->halted.len &&
         v->t->due_us > v->f->now_us;
}

/* Who has set it, or steps; its condition may have failed. */
static void for_operator(const token_view *v, pawl_object *o) {
  static const char *const members[] = {"by", "reason", "error"};
  const pawl_str note = pawl_buf_str(&detail_of(v)->halted);
  pawl_str value;

  pawl_member_textz(o, "what", "breakpoint");
  pawl_member_time(o, "until", v->t->due_us);
  pawl_member_time(o, "since", pawl_json_get_int(note, "since", 0));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (pawl_json_get(note, members[i], &value))
      pawl_member_json(o, members[i], value);
  pawl_member_bool(o, "steps", pawl_json_get(note, "steps", &value));
}

/* ---- what would move it ---- */

static void list_object(pawl_object *l, pawl_object *o, const char *kind,
                        const char *value) {
  pawl_list_object(l, o);
  pawl_member_textz(o, kind, value);
}

/* The time that a wait, task, call or each has in all. */
static void move_timeout(const token_view *v, pawl_object *l) {
  pawl_object o;
  if (!gives_up_us(v)) return;
  list_object(l, &o, "what", "timeout");
  pawl_member_time(&o, "at", gives_up_us(v));
  member_way(&o, target_of(v, "timeout"));
  pawl_object_end(&o);
}

static void move_event(const token_view *v, pawl_object *l) {
  pawl_object o;
  list_object(l, &o, "what", "event");
  member_event(v, PAWL_EAR_OWN, &o);
  member_way(&o, good_way(v, "received"));
  pawl_object_end(&o);
}

static void move_condition(const token_view *v, pawl_object *l) {
  pawl_object o;
  list_object(l, &o, "what", "condition");
  member_way(&o, good_way(v, "met"));
  pawl_object_end(&o);
}

static void move_person(const token_view *v, pawl_object *l) {
  int k = task_of(v);
  pawl_object o, outcomes;

  list_object(l, &o, "what", "person");
  if (k < 0)
    pawl_member_null(&o, "task");
  else
    pawl_member_columns(&o, &v->f->at[TASKS], k, "task=id");
  pawl_member_list(&o, "outcomes", &outcomes);
  for (int i = 0; i < v->node->nnext; i++) {
    const char *name = v->node->next[i].name;
    if (!*name || !pawl_task_is_outcome(name)) continue;
    pawl_list_next(&outcomes);
    pawl_json_add_string(l->out, pawl_strz(name));
  }
  pawl_list_end(&outcomes);
  member_way(&o, target_of(v, ""));
  pawl_object_end(&o);
}

/* Only where a transition is drawn: else being overdue moves nothing. */
static void move_overdue(const token_view *v, pawl_object *l) {
  const char *to = target_of(v, "overdue");
  int64_t due_us = detail_of(v)->due;
  pawl_object o;
  if (!to || !due_us) return;
  list_object(l, &o, "what", "overdue");
  pawl_member_time(&o, "at", due_us);
  member_way(&o, to);
  pawl_object_end(&o);
}

/* Only of what waits for a time: the due time of all others is their limit. */
static void move_by(const token_view *v, pawl_object *l, const char *what,
                    const char *to) {
  pawl_object o;
  list_object(l, &o, "what", what);
  if (strcmp(what, "time") == 0 && v->t->due_us)
    pawl_member_time(&o, "at", v->t->due_us);
  member_way(&o, to);
  pawl_object_end(&o);
}

static void move_retry(const token_view *v, pawl_object *l) {
  move_by(v, l, "time", v->t->node);
}

static void move_operator(const token_view *v, pawl_object *l) {
  move_by(v, l, "continue", v->t->node);
}

static void move_time(const token_view *v, pawl_object *l) {
  move_by(v, l, "time", target_of(v, ""));
}

static void move_worker(const token_view *v, pawl_object *l) {
  move_by(v, l, "worker", NULL);
}

static void move_siblings(const token_view *v, pawl_object *l) {
  move_by(v, l, "siblings", target_of(v, ""));
}

static void move_child(const token_view *v, pawl_object *l) {
  move_by(v, l, "child", good_way(v, "completed"));
}

static void move_items(const token_view *v, pawl_object *l) {
  move_by(v, l, "items", good_way(v, "completed"));
}

/* Of a kind without words of its own: whom it waits for. */
static void move_other(const token_view *v, pawl_object *l) {
  move_by(v, l, waits_for(v), target_of(v, ""));
}

/* ---- who may ---- */

static void list_who(pawl_object *l, const char *kind, pawl_str id) {
  pawl_object o;
  list_object(l, &o, "kind", kind);
  if (id.at) pawl_member_str(&o, "id", id);
  pawl_object_end(&o);
}

static void list_kind(pawl_object *l, const char *kind) {
  list_who(l, kind, pawl_strz(NULL));
}

/* Who has claimed it is the only one; else its assignee, and all whom it is
 * for. */
static void list_people(const token_view *v, pawl_object *l) {
  const pawl_rows *r = &v->f->at[OWNERS];
  pawl_explain_task_row task = {.id = NULL};
  int k = task_of(v), before = l->n;

  if (k >= 0) task = pawl_read_explain_task(&v->f->at[TASKS], k);
  if (task.claimed_by.at) {
    list_who(l, "user", task.claimed_by);
    return;
  }
  if (task.assignee.at) list_who(l, "user", task.assignee);
  for (int i = 0; k >= 0 && i < r->nrows; i++) {
    const pawl_explain_owner_row row = pawl_read_explain_owner(r, i);
    char kind[24];
    if (!pawl_id_eq(row.task, task.id)) continue;
    pawl_str_copy(kind, sizeof kind, row.kind);
    list_who(l, kind, row.id);
  }
  if (l->n == before) list_kind(l, "anybody");
}

static void list_sender(const token_view *v, pawl_object *l) {
  (void)v;
  list_kind(l, "sender");
}

/* Who changes its variables. */
static void list_editor(const token_view *v, pawl_object *l) {
  (void)v;
  list_kind(l, "editor");
}

static void list_child(const token_view *v, pawl_object *l) {
  list_kind(l, v->node->workflow ? "child" : "worker");
}

/* None takes one that is suspended. */
static void list_worker(const token_view *v, pawl_object *l) {
  if (!v->f->is_suspended) list_kind(l, "worker");
}

static void list_operator(const token_view *v, pawl_object *l) {
  if (!v->f->is_suspended) list_kind(l, "operator");
}

static void list_other(const token_view *v, pawl_object *l) {
  list_kind(l, waits_for(v));
}

/* ---- how it is told ---- */

/* What it waits for, besides its name; what would move it, the likely way
 * first; who may. */
typedef void (*teller)(const token_view *v, pawl_object *o);
typedef struct telling {
  teller what, moves[3], may;
} telling;

static const telling retrying = {for_retry, {move_retry}, list_worker};
static const telling halting = {
    for_operator, {move_operator, move_retry}, list_operator};
static const telling for_turn = {for_worker, {move_worker}, list_worker};
static const telling condition = {
    for_condition, {move_condition, move_timeout}, list_editor};
static const telling other = {NULL, {move_other}, list_other};
static const telling kinds[PAWL_NKINDS] = {
    [PAWL_KIND_TIMER] = {for_time, {move_time}, list_worker},
    [PAWL_KIND_WAIT] = {for_event, {move_event, move_timeout}, list_sender},
    [PAWL_KIND_TASK] = {for_person,
                        {move_person, move_overdue, move_timeout},
                        list_people},
    [PAWL_KIND_JOIN] = {for_siblings, {move_siblings}, list_worker},
    [PAWL_KIND_CALL] = {for_child, {move_child, move_timeout}, list_child},
    [PAWL_KIND_EACH] = {for_items, {move_items, move_timeout}, list_child}};

/* Whatever waits for something has a node: those of its kind need it. */
static const telling *choose(const token_view *v) {
  if (has_halted(v)) return &halting;
  if (is_delayed(v)) return &retrying;
  if (v->t->state != PAWL_TOKEN_WAITING || !waits_for(v)) return &for_turn;
  assert(v->node);
  if (is_condition(v)) return &condition;
  return kinds[v->node->kind].may ? &kinds[v->node->kind] : &other;
}

/* It goes on elsewhere: who would resume it here has to take it back. */
static int is_away(const facts *f) {
  return pawl_read_instance_get(&f->at[INSTANCE], 0).away.len > 0;
}

static void add_moves(const token_view *v, const telling *how,
                      pawl_object *o) {
  pawl_object l;
  pawl_member_list(o, "would_move", &l);
  if (v->f->is_suspended) {
    pawl_object resume;
    list_object(&l, &resume, "what", is_away(v->f) ? "reclaim" : "resume");
    pawl_object_end(&resume);
  }
  for (int i = 0; i < 3 && how->moves[i]; i++) how->moves[i](v, &l);
  pawl_list_end(&l);
}

/* Of one that is suspended an operator comes first: nobody else can do
 * anything. */
static void add_may(const token_view *v, const telling *how, pawl_object *o) {
  pawl_object l;
  pawl_member_list(o, "may", &l);
  if (v->f->is_suspended) /* has to resume it first */
    list_kind(&l, "operator");
  how->may(v, &l);
  pawl_list_end(&l);
}

static void add_token(const facts *f, int k, pawl_object *list) {
  token_view v = {f, k, &f->tokens.at[k], NULL};
  pawl_object o, inner;

  v.node = node_named(f->def, v.t->node);
  const telling *how = choose(&v);
  pawl_list_object(list, &o);
  pawl_member_columns(&o, &f->at[TOKENS], k, "no node");
  pawl_member_textz(&o, "kind", v.node ? pawl_kind_name(v.node->kind) : NULL);
  if (v.node && v.node->on) pawl_member_textz(&o, "beside", v.node->on);
  pawl_member_columns(&o, &f->at[TOKENS], k,
                      "fork branch state visit attempt since=entered_at "
                      "due=due_at");
  pawl_member_object(&o, "waiting_for", &inner);
  if (how != &for_turn && how != &retrying && how != &halting)
    pawl_member_textz(&inner, "what", waits_for(&v));
  if (how->what) how->what(&v, &inner);
  pawl_object_end(&inner);
  add_moves(&v, how, &o);
  add_may(&v, how, &o);
  pawl_object_end(&o);
}

/* ---- the instance as a whole ---- */

/* Somebody has it now. */
static int is_leased(const facts *f) {
  const pawl_rows *r = &f->at[AGENDA];
  return r->nrows && pawl_read_agenda_get(r, 0).lease;
}

/* Due, free, and nobody has taken it: since when; 0: that is not so. */
static int64_t idle_since(const facts *f) {
  const pawl_rows *r = &f->at[AGENDA];

  if (!r->nrows || is_leased(f)) return 0;
  const pawl_agenda_get_row row = pawl_read_agenda_get(r, 0);
  if (row.due_at <= f->now_us) return row.due_at;
  return row.ready ? f->now_us : 0;
}

static void add_next_look(const facts *f, pawl_object *o) {
  if (!f->at[AGENDA].nrows)
    pawl_member_null(o, "next_look");
  else if (idle_since(f))
    pawl_member_time(o, "next_look", f->now_us);
  else
    pawl_member_columns(o, &f->at[AGENDA], 0, "next_look=due_at");
}

/* The time is the instance's own; by whom, and why, is in history alone. */
static void add_suspended(const facts *f, pawl_object *o) {
  int64_t since = pawl_read_instance_get(&f->at[INSTANCE], 0).suspended_at;
  const pawl_rows *r = &f->at[REASONS];
  pawl_object s;

  if (!f->is_suspended) {
    pawl_member_null(o, "suspended");
    return;
  }
  pawl_member_object(o, "suspended", &s);
  for (int k = 0; k < r->nrows; k++) {
    const pawl_explain_history_row row = pawl_read_explain_history(r, k);
    if (!pawl_str_eqz(row.type, "suspended")) continue;
    pawl_member_columns(&s, r, k, "by reason=text");
    if (!since) since = row.completed_at;
    break;
  }
  pawl_member_time(&s, "since", since);
  if (since) { /* by so many seconds a resume may shift timers */
    pawl_member(&s, "shift");
    pawl_json_add_float(s.out, (double)(f->now_us - since) / 1e6);
  }
  pawl_object_end(&s);
}

static void add_workflow_suspended(const facts *f, pawl_object *o) {
  pawl_object s;

  if (!f->at[SUSPENSION].nrows) {
    pawl_member_null(o, "workflow_suspended");
    return;
  }
  pawl_member_object(o, "workflow_suspended", &s);
  pawl_member_columns(&s, &f->at[SUSPENSION], 0,
                      "code prefix=is_prefix by reason "
                      "since=suspended_at");
  pawl_object_end(&s);
}

/* Why nothing moves, in words that stay as they are. */
typedef struct blocked {
  const char *words[6];
  int n;
  int64_t workers, idle_us;
  int can_retry;      /* it has failed, and stood somewhere */
  const char *unseen; /* what could move it, and nobody will look; NULL */
} blocked;

/* Words that programs compare: they stay as they are. Sentences are made in
 * Lua. */
static void find_blocked(const facts *f, blocked *b) {
  int is_paused = f->at[SUSPENSION].nrows > 0;

  if (f->at[EXECUTOR].nrows) {
    const pawl_explain_executor_row row =
        pawl_read_explain_executor(&f->at[EXECUTOR], 0);
    b->workers = row.workers;
    b->can_retry = row.has_stopped != 0;
  }
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
  pawl_buf workflow = {.alloc = &e->alloc};
  pawl_standing status = PAWL_STATUS_RUNNING;
  pawl_code rc = PAWL_OK;

  if (f->has_ended || f->is_suspended || b->idle_us || is_leased(f))
    return PAWL_OK;
  const pawl_instance_get_row row =
      pawl_read_instance_get(&f->at[INSTANCE], 0);
  pawl_buf_adds(&workflow, row.workflow);
  TRY(pawl_buf_check(&workflow, err));
  /* as it is stored; "created" is how one is shown that has not started */
  if (!pawl_status_parse(row.status, &status) || status == PAWL_STATUS_CREATED)
    status = PAWL_STATUS_RUNNING;
  TRY(pawl_health_of(e, id, pawl_buf_str(&workflow),
                     pawl_strz(pawl_status_name(status)), &b->unseen, err));
  if (b->unseen) b->words[b->n++] = "unseen";
  assert(b->n <= (int)(sizeof b->words / sizeof *b->words));
out:
  pawl_buf_deinit(&workflow);
  return rc;
}

static void add_blocked(const blocked *b, pawl_object *o) {
  pawl_object words;
  pawl_member_list(o, "blocked", &words);
  for (int k = 0; k < b->n; k++) {
    pawl_list_next(&words);
    pawl_json_add_string(o->out, pawl_strz(b->words[k]));
  }
  pawl_list_end(&words);
  if (b->unseen) pawl_member_textz(o, "unseen", b->unseen);
  pawl_member_int(o, "workers", b->workers);
  pawl_member_bool(o, "can_retry", b->can_retry);
  pawl_member_time(o, "idle_since", b->idle_us);
}

/* The columns that `get` shows, too, under the same names. */
/* One handler's progress, which its next attempt is given. */
static int is_to_try_again(const facts *f) {
  const pawl_token *t = pawl_tokens_lone(&f->tokens);

  return t && t->attempt > 0;
}

static void add_head(const facts *f, pawl_object *o) {
  const pawl_rows *r = &f->at[INSTANCE];
  pawl_member_columns(o, r, 0,
                      "id status workflow version node "
                      "group=executor_group parent parent_node "
                      "created=created_at started=started_at "
                      "completed=completed_at error cancellation compensation "
                      "deadline=deadline_at");
  const pawl_instance_get_row row = pawl_read_instance_get(r, 0);
  pawl_member_deleted(o, row.deletion, row.deleted_at, row.purge_at);
  pawl_member_away(o, row.away);
  if (is_leased(f) || is_to_try_again(f)) /* else nobody's any more */
    pawl_member_json(o, "progress", row.progress);
  pawl_member_time(o, "now", f->now_us);
}

static void add_tokens(const facts *f, pawl_object *o) {
  pawl_object list;
  pawl_member_list(o, "tokens", &list);
  for (int k = 0; k < f->tokens.n; k++) add_token(f, k, &list);
  pawl_list_end(&list);
}

/* Each shard gave as many as are shown in all. */
static void add_children(const facts *f, pawl_object *o) {
  pawl_rows r = f->at[CHILDREN];
  if (r.nrows > MAX_CHILDREN) r.nrows = MAX_CHILDREN;
  pawl_member(o, "children");
  pawl_add_rows(o->out, &r,
                "id workflow version status node=parent_node "
                "token=parent_token index=parent_index created=created_at");
}

/* The first letters, and how many there are in all. */
static void add_inbox(const facts *f, pawl_object *o) {
  const pawl_rows *r = &f->at[INBOX];
  pawl_member(o, "inbox");
  pawl_add_rows(o->out, r, "kind name key source by received=received_at");
  pawl_member_int(o, "inbox_total",
                  r->nrows ? pawl_read_explain_inbox(r, 0).total : 0);
}

/* What it has said to others, and they have not got yet. */
static void add_undelivered(const facts *f, pawl_object *o) {
  const pawl_rows *r = &f->at[MESSAGES];
  int64_t n = 0;
  for (int k = 0; k < r->nrows; k++) n += pawl_read_explain_message(r, k).n;
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
