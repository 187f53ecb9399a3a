/* What people do to tasks. See tasks.h for how a change is made.
 *
 *   pending --claim--> running --complete--> completed
 *      ^  <--unclaim--    |  ----fail------> failed --retry--> pending
 *      +---- reassign ----+
 *
 * complete and fail need no claim; delegate hands on what is held, claimed or
 * not; the engine alone makes a task cancelled or timed_out.
 *
 * A task is held by who has claimed it, else by its assignee, else by nobody.
 * What is held is the holder's: others claim, complete or fail it only by an
 * override, which is recorded with whom it passed over. What nobody holds is
 * for its candidates, all the world when there are none. Escalating what an
 * assignee has not claimed makes it its candidates' too, until it is handed to
 * somebody again. */
#include <inttypes.h>
#include <stdio.h>

#include "../../value/json.h"
#include "../common/task.h"
#include "../engine.h"

#define TRIES 6         /* against others, and a store that is busy */
#define LOG_ENTRIES 100 /* kept of a task's log: the newest */

/* ---- what is asked for ---- */

/* Kinds of change: the word in JSON; whether it needs `to`. */
#define CHANGES(X)        \
  X(CLAIM, "claim")       \
  X(UNCLAIM, "unclaim")   \
  X(COMPLETE, "complete") \
  X(FAIL, "fail")         \
  X(RETRY, "retry")       \
  X(REASSIGN, "reassign") X(DELEGATE, "delegate") X(ESCALATE, "escalate")

typedef enum change_kind {
#define CHANGE_ENUM(name, text) CHANGE_##name,
  CHANGES(CHANGE_ENUM)
#undef CHANGE_ENUM
      NCHANGES
} change_kind;

static const char *const change_names[] = {
#define CHANGE_NAME(name, text) text,
    CHANGES(CHANGE_NAME)
#undef CHANGE_NAME
};

typedef struct change {
  change_kind kind;
  pawl_buf by, to, take, priority, reason;
  pawl_buf error;  /* JSON */
  pawl_str output; /* JSON, the caller's; at NULL: none */
  pawl_who who;    /* what `by` is in; or whom the task is to be for */
  pawl_id request; /* of this change, however often it is sent */
  int overrides;   /* it is done though another holds the task */
} change;

static const char *const change_keys[] = {
    "kind",   "by",    "user",   "to",       "take",
    "output", "error", "reason", "users",    "role",
    "roles",  "group", "groups", "priority", "override",
};

static pawl_code read_kind(pawl_str value, change *c, pawl_error *err) {
  char text[40];
  const char *near;

  pawl_str_copy(text, sizeof text, value);
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING && value.len >= 2) {
    pawl_str inner = {value.at + 1, value.len - 2};
    for (int i = 0; i < NCHANGES; i++)
      if (pawl_str_eqz(inner, change_names[i])) {
        c->kind = (change_kind)i;
        return PAWL_OK;
      }
    pawl_str_copy(text, sizeof text, inner);
  }
  pawl_fail(err, PAWL_INVALID, "a task cannot be changed by `%s`", text);
  near = pawl_nearest(text, change_names, NCHANGES);
  pawl_error_hint(err,
                  near ? "did you mean `%s`?"
                       : "claim, unclaim, complete, fail, retry, reassign, "
                         "delegate or escalate",
                  near);
  return PAWL_INVALID;
}

/* One that an `on_error` can name, or none. */
static pawl_code check_code(const pawl_alloc *alloc, pawl_str error,
                            pawl_error *err) {
  pawl_buf text = {.alloc = alloc};
  pawl_str code;
  pawl_code rc = PAWL_OK;

  if (!pawl_json_get(error, "code", &code) ||
      pawl_json_kind_of(code) != PAWL_JSON_STRING)
    return PAWL_OK;
  pawl_json_unquote(code, &text);
  TRY(pawl_buf_check(&text, err));
  if (text.len >= sizeof err->reason)
    rc = pawl_fail(err, PAWL_INVALID,
                   "the `code` of `error` has %zu bytes; %zu are the most",
                   text.len, sizeof err->reason - 1);
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* {"code":...,"message":...}; text alone is the message. */
static pawl_code read_error(pawl_str value, change *c, pawl_error *err) {
  pawl_json_kind kind = pawl_json_kind_of(value);
  if (kind == PAWL_JSON_STRING) {
    pawl_buf_addz(&c->error, "{\"message\":");
    pawl_buf_adds(&c->error, value);
    pawl_buf_addc(&c->error, '}');
  } else if (kind == PAWL_JSON_OBJECT) {
    pawl_buf_adds(&c->error, value);
    return check_code(c->error.alloc, value, err);
  } else {
    return pawl_fail(err, PAWL_INVALID,
                     "`error` is text, or has a code and a message");
  }
  return pawl_buf_check(&c->error, err);
}

static pawl_code read_reason(pawl_str value, change *c, pawl_error *err) {
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING || value.len > 4000)
    return pawl_fail(err, PAWL_INVALID,
                     "`reason` must be text of less than 4,000 bytes");
  pawl_buf_adds(&c->reason, value); /* stays JSON: for the log */
  return pawl_buf_check(&c->reason, err);
}

static pawl_code read_override(pawl_str value, change *c, pawl_error *err) {
  pawl_json_kind kind = pawl_json_kind_of(value);
  if (kind != PAWL_JSON_TRUE && kind != PAWL_JSON_FALSE)
    return pawl_fail(err, PAWL_INVALID, "`override` must be true or false");
  c->overrides = kind == PAWL_JSON_TRUE;
  return PAWL_OK;
}

static pawl_code read_member(pawl_str key, pawl_str value, change *c,
                             pawl_error *err) {
  char name[40];
  const char *near;

  if (pawl_str_eqz(key, "output")) {
    c->output = value;
    return PAWL_OK;
  }
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_str_eqz(key, "kind")) return read_kind(value, c, err);
  if (pawl_str_eqz(key, "by") || pawl_str_eqz(key, "user")) {
    pawl_buf_clear(&c->by);
    return pawl_task_word("user", value, &c->by, err);
  }
  if (pawl_str_eqz(key, "to")) return pawl_task_word("to", value, &c->to, err);
  if (pawl_str_eqz(key, "take"))
    return pawl_task_word("take", value, &c->take, err);
  if (pawl_str_eqz(key, "priority"))
    return pawl_task_priority(value, &c->priority, err);
  if (pawl_str_eqz(key, "error")) return read_error(value, c, err);
  if (pawl_str_eqz(key, "reason")) return read_reason(value, c, err);
  if (pawl_str_eqz(key, "override")) return read_override(value, c, err);
  if (pawl_str_eqz(key, "users"))
    return pawl_who_add(&c->who, "user", "users", value, err);
  if (pawl_str_eqz(key, "role") || pawl_str_eqz(key, "roles"))
    return pawl_who_add(&c->who, "role", "roles", value, err);
  if (pawl_str_eqz(key, "group") || pawl_str_eqz(key, "groups"))
    return pawl_who_add(&c->who, "group", "groups", value, err);
  pawl_str_copy(name, sizeof name, key);
  pawl_fail(err, PAWL_INVALID, "a change of a task has no `%s`", name);
  near = pawl_nearest(name, change_keys,
                      (int)(sizeof change_keys / sizeof *change_keys));
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

/* What each kind cannot do without. */
static pawl_code check_change(const pawl_engine *e, const change *c,
                              pawl_error *err) {
  const char *name = change_names[c->kind];
  if (!c->by.len) {
    pawl_fail(err, PAWL_INVALID, "%s: nobody is named who does it", name);
    pawl_error_hint(err, "say which user: it stands in the task's log");
    return PAWL_INVALID;
  }
  if (c->overrides && c->kind != CHANGE_CLAIM && c->kind != CHANGE_COMPLETE &&
      c->kind != CHANGE_FAIL)
    return pawl_fail(err, PAWL_INVALID, "%s: there is nothing to `override`",
                     name);
  if (c->kind == CHANGE_DELEGATE && !c->to.len)
    return pawl_fail(err, PAWL_INVALID, "delegate: `to` is missing");
  if (c->kind == CHANGE_REASSIGN && !c->to.len && !c->who.n)
    return pawl_fail(err, PAWL_INVALID,
                     "reassign: `to`, or users, roles or groups are missing");
  if (c->output.at && (int64_t)c->output.len > e->config.max_bytes)
    return pawl_fail(err, PAWL_LIMIT,
                     "output has %zu bytes; the limit is %" PRId64,
                     c->output.len, e->config.max_bytes);
  if ((int64_t)c->error.len > 16000)
    return pawl_fail(err, PAWL_LIMIT, "`error` has more than 16,000 bytes");
  return PAWL_OK;
}

static pawl_code read_change(const pawl_engine *e, pawl_str text, change *c,
                             pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  c->kind = NCHANGES;
  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "a change of a task is an object");
  while (pawl_json_each(text, &it, &key, &value))
    TRY(read_member(key, value, c, err));
  if (c->kind == NCHANGES)
    return pawl_fail(err, PAWL_INVALID,
                     "`kind` is missing: what is to be "
                     "done with the task?");
  TRY(check_change(e, c, err));
out:
  return rc;
}

/* ---- the task as it was read ---- */

typedef struct task {
  pawl_id id, instance, request;
  char text[37]; /* its id */
  int has_request;
  int64_t version, workflow_version, token, visit;
  int64_t claimed_us, completed_us, started_us, escalated_us; /* 0: null */
  pawl_task_status status, was;
  int waits;         /* its token still stands there */
  int heard;         /* no letter of its is on its way */
  int64_t raised_us; /* when it was escalated last */
  int nowners, is_candidate;
  pawl_buf for_whom;    /* its owners, for messages */
  pawl_buf passed_over; /* whose it was, by an override */
  pawl_buf workflow, node;
  /* empty: null */
  pawl_buf assignee, delegated_by, claimed_by, completed_by, transition,
      output, error, metadata;
} task;

/* All the buffers of a task. */
#define TASK_BUFS(X) \
  X(for_whom)        \
  X(passed_over)     \
  X(workflow)        \
  X(node)            \
  X(assignee)        \
  X(delegated_by)    \
  X(claimed_by) X(completed_by) X(transition) X(output) X(error) X(metadata)

static void task_init(task *t, const pawl_alloc *alloc) {
  memset(t, 0, sizeof *t);
#define INIT(field) t->field.alloc = alloc;
  TASK_BUFS(INIT)
#undef INIT
}

static void task_deinit(task *t) {
#define DEINIT(field) pawl_buf_deinit(&t->field);
  TASK_BUFS(DEINIT)
#undef DEINIT
}

static pawl_code task_check(const task *t, pawl_error *err) {
  pawl_code rc = PAWL_OK;
#define CHECK_BUF(field) TRY(pawl_buf_check(&t->field, err));
  TASK_BUFS(CHECK_BUF)
#undef CHECK_BUF
out:
  return rc;
}

static void set(pawl_buf *b, pawl_str value) {
  pawl_buf_clear(b);
  if (value.at) pawl_buf_adds(b, value);
}

static void read_row(const pawl_rows *r, task *t) {
#define TEXT(field, col) \
  set(&t->field, pawl_row_str(r, 0, PAWL_TASK_GET_R_##col))
#define INT(col) pawl_row_int(r, 0, PAWL_TASK_GET_R_##col)
  pawl_str status = pawl_row_str(r, 0, PAWL_TASK_GET_R_STATUS);
  pawl_row_id(r, 0, PAWL_TASK_GET_R_INSTANCE, &t->instance);
  t->has_request = !pawl_row_null(r, 0, PAWL_TASK_GET_R_REQUEST);
  if (t->has_request) pawl_row_id(r, 0, PAWL_TASK_GET_R_REQUEST, &t->request);
  t->version = INT(VERSION);
  t->workflow_version = INT(WORKFLOW_VERSION);
  t->token = INT(TOKEN);
  t->visit = INT(VISIT);
  t->claimed_us = INT(CLAIMED_AT);
  t->completed_us = INT(COMPLETED_AT);
  t->started_us = INT(STARTED_AT);
  t->raised_us = INT(ESCALATED_AT);
  t->escalated_us = 0; /* stays as it is, unless this change sets it */
  t->waits = INT(WAITS) != 0;
  t->heard = INT(HEARD) != 0;
  t->status = PAWL_TASK_CANCELLED;
  for (int i = 0; i < PAWL_NTASK_STATUSES; i++)
    if (pawl_str_eqz(status, pawl_task_status_names[i]))
      t->status = (pawl_task_status)i;
  t->was = t->status;
  TEXT(workflow, WORKFLOW);
  TEXT(node, NODE);
  TEXT(assignee, ASSIGNEE);
  TEXT(delegated_by, DELEGATED_BY);
  TEXT(claimed_by, CLAIMED_BY);
  TEXT(completed_by, COMPLETED_BY);
  TEXT(transition, TRANSITION);
  TEXT(output, OUTPUT);
  TEXT(error, ERROR);
  TEXT(metadata, METADATA);
#undef TEXT
#undef INT
}

/* Is `by`, or a role or group that `by` is said to be in, among the owners?
 * For a change that names new owners instead, only the user counts. */
static void read_owners(const pawl_rows *r, const change *c, task *t) {
  int member = c->kind != CHANGE_REASSIGN && c->kind != CHANGE_ESCALATE;
  t->nowners = r->nrows;
  t->is_candidate = 0;
  pawl_buf_clear(&t->for_whom);
  if (t->assignee.len) {
    pawl_buf_addz(&t->for_whom, "user ");
    pawl_buf_adds(&t->for_whom, pawl_buf_str(&t->assignee));
  }
  for (int i = 0; i < r->nrows; i++) {
    pawl_str kind = pawl_row_str(r, i, PAWL_OWNER_GET_R_KIND);
    pawl_str id = pawl_row_str(r, i, PAWL_OWNER_GET_R_ID);
    if (pawl_str_eqz(kind, "user") && pawl_str_eq(id, pawl_buf_str(&c->by)))
      t->is_candidate = 1;
    if (member && pawl_who_has(&c->who, kind, id)) t->is_candidate = 1;
    if (t->for_whom.len > 160) continue;
    if (t->for_whom.len) pawl_buf_addz(&t->for_whom, ", ");
    pawl_buf_adds(&t->for_whom, kind);
    pawl_buf_addc(&t->for_whom, ' ');
    pawl_buf_adds(&t->for_whom, id);
  }
}

static pawl_code read_task(pawl_engine *e, const change *c, task *t,
                           pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(pawl_task_send(e, &t->id, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) return pawl_task_missing(&t->id, err);
  read_row(&rows, t);
  pawl_store_rows(e->store, 1, &rows);
  read_owners(&rows, c, t);
  return task_check(t, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- who may ---- */

#define WORDS(b) (int)((b)->len < 200 ? (b)->len : 200), (b)->at

static int is(const pawl_buf *a, const pawl_buf *b) {
  return a->len && pawl_str_eq(pawl_buf_str(a), pawl_buf_str(b));
}

static pawl_code is_over(const task *t, pawl_error *err) {
  switch (t->status) {
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s %s by %.*s", t->text,
                t->status == PAWL_TASK_FAILED ? "was given up as failed"
                                              : "has been completed",
                WORDS(&t->completed_by));
      if (t->status == PAWL_TASK_FAILED && t->waits)
        pawl_error_hint(err, "`pawl task retry` opens it again");
      break;
    case PAWL_TASK_TIMED_OUT:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s has timed out", t->text);
      break;
    default:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s is %s", t->text,
                pawl_task_status_names[t->status]);
  }
  return PAWL_ALREADY_FINISHED;
}

static int is_open(const task *t) {
  return t->status == PAWL_TASK_PENDING || t->status == PAWL_TASK_RUNNING;
}

static pawl_code is_taken(const task *t, pawl_error *err) {
  pawl_fail(err, PAWL_TAKEN, "task %s is taken: %.*s has it", t->text,
            WORDS(&t->claimed_by));
  pawl_error_hint(err,
                  "the one who has it can give it back (unclaim) or hand "
                  "it on (delegate); `reassign` takes it away");
  return PAWL_TAKEN;
}

static pawl_code is_assigned(const task *t, pawl_error *err) {
  pawl_fail(err, PAWL_TAKEN, "task %s is assigned to %.*s", t->text,
            WORDS(&t->assignee));
  pawl_error_hint(err,
                  "`reassign` gives it to another, or to all whom it is for; "
                  "an override acts in spite of it, on the record");
  return PAWL_TAKEN;
}

/* Has it been escalated since it was given to its assignee? */
static int is_raised(const task *t) {
  pawl_str value;
  int64_t given = 0;

  if (t->metadata.len &&
      pawl_json_get(pawl_buf_str(&t->metadata), "given_us", &value))
    (void)pawl_json_int(value, &given);
  return t->raised_us > given;
}

/* An open task that `by` holds, or that nobody holds and it is for. */
static pawl_code may_hold(const task *t, const change *c, pawl_error *err) {
  if (is(&t->claimed_by, &c->by)) return PAWL_OK;
  if (t->claimed_by.len) return is_taken(t, err);
  if (is(&t->assignee, &c->by)) return PAWL_OK;
  if (t->is_candidate && (!t->assignee.len || is_raised(t))) return PAWL_OK;
  if (!t->assignee.len && !t->nowners) return PAWL_OK; /* it is anybody's */
  if (t->assignee.len && (t->is_candidate || !t->nowners))
    return is_assigned(t, err);
  pawl_fail(err, PAWL_TAKEN, "task %s is not for %.*s: it is for %.*s",
            t->text, WORDS(&c->by), WORDS(&t->for_whom));
  pawl_error_hint(err,
                  "name the roles and groups that the user is in, or "
                  "reassign the task");
  return PAWL_TAKEN;
}

static pawl_code may_act(task *t, const change *c, pawl_error *err) {
  pawl_code rc;

  pawl_buf_clear(&t->passed_over);
  if (!is_open(t)) return is_over(t, err);
  rc = may_hold(t, c, err);
  if (rc != PAWL_TAKEN || !c->overrides) return rc;
  pawl_buf_adds(&t->passed_over,
                pawl_buf_str(t->claimed_by.len ? &t->claimed_by
                             : t->assignee.len ? &t->assignee
                                               : &t->for_whom));
  return PAWL_OK;
}

/* ---- which way on ---- */

/* The engine takes these by itself. */
static int is_outcome(const pawl_edge *edge) {
  return strcmp(edge->name, "overdue") != 0 &&
         strcmp(edge->name, "timeout") != 0 &&
         strcmp(edge->name, "failed") != 0;
}

static void list_outcomes(const pawl_node *node, char *out, size_t size) {
  size_t n = 0;
  out[0] = 0;
  for (int i = 0; i < node->nnext; i++) {
    if (!is_outcome(&node->next[i])) continue;
    int len =
        snprintf(out + n, size - n, "%s%s", n ? ", " : "", node->next[i].name);
    if (len < 0 || (size_t)len >= size - n) break;
    n += (size_t)len;
  }
}

/* What was not said aloud: the only outcome there is, or the one that the
 * output names, itself ("approved") or as its member `take`. */
static pawl_code implied(pawl_engine *e, const pawl_node *node,
                         pawl_str output, const pawl_edge **way,
                         pawl_error *err) {
  const pawl_edge *only = NULL;
  pawl_buf name = {.alloc = &e->alloc};
  pawl_str value = output;
  int count = 0;
  pawl_code rc = PAWL_OK;

  if (output.at && pawl_json_kind_of(output) == PAWL_JSON_OBJECT &&
      !pawl_json_get(output, "take", &value))
    value.at = NULL;
  if (value.at && pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, &name);
  TRY(pawl_buf_check(&name, err));
  *way = NULL;
  for (int i = 0; i < node->nnext && !*way; i++) {
    const pawl_edge *edge = &node->next[i];
    if (!is_outcome(edge)) continue;
    if (name.len && pawl_str_eqz(pawl_buf_str(&name), edge->name)) *way = edge;
    count++;
    only = edge;
  }
  if (!*way && count == 1) *way = only;
out:
  pawl_buf_deinit(&name);
  return rc;
}

static pawl_code wrong_way(const task *t, const change *c,
                           const pawl_node *node, pawl_error *err) {
  char names[160], given[100];
  const char *list[16];
  const char *near = NULL;
  int n = 0;

  list_outcomes(node, names, sizeof names);
  if (!c->take.len) {
    pawl_fail(err, PAWL_INVALID,
              "task %s has several ways on: say which one to take", t->text);
    pawl_error_hint(err, "take one of %s", names);
    return PAWL_INVALID;
  }
  pawl_copy_text(given, sizeof given, c->take.at);
  pawl_fail(err, PAWL_INVALID, "task %s has no way on called \"%s\"", t->text,
            given);
  for (int i = 0; i < node->nnext && n < 16; i++)
    if (is_outcome(&node->next[i]) && node->next[i].name[0])
      list[n++] = node->next[i].name;
  if (n) near = pawl_nearest(given, list, n);
  if (near)
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  else if (n)
    pawl_error_hint(err, "take one of %s", names);
  else
    pawl_error_hint(err, "it has a single one: leave `take` out");
  return PAWL_INVALID;
}

static pawl_code choose_way(pawl_engine *e, const pawl_node *node, task *t,
                            const change *c, pawl_error *err) {
  const pawl_edge *way = NULL;
  pawl_code rc = PAWL_OK;

  pawl_buf_clear(&t->transition);
  if (node->nnext == 1 && !node->next[0].name[0])
    return c->take.len ? wrong_way(t, c, node, err) : PAWL_OK;
  if (!c->take.len) {
    TRY(implied(e, node, c->output, &way, err));
  } else {
    for (int i = 0; i < node->nnext; i++)
      if (is_outcome(&node->next[i]) &&
          pawl_str_eqz(pawl_buf_str(&c->take), node->next[i].name))
        way = &node->next[i];
  }
  if (!way) return wrong_way(t, c, node, err);
  pawl_buf_addz(&t->transition, way->name);
out:
  return rc;
}

/* By the graph of the version that runs: ours, or the stored one, of which no
 * code is run. A node that is not in it (the instance was moved) is left to
 * the holder. */
static pawl_code choose_transition(pawl_engine *e, task *t, const change *c,
                                   pawl_error *err) {
  pawl_buf graph = {.alloc = &e->alloc};
  pawl_str none = {NULL, 0};
  pawl_def *own = NULL;
  const pawl_def *def = pawl_registry_find(
      e->registry, t->workflow.at, t->workflow.len, t->workflow_version, NULL);
  pawl_code rc = PAWL_OK;
  int i;

  if (!def) {
    TRY(pawl_engine_graph(e, t->workflow.at, t->workflow_version, &graph,
                          err));
    TRY(pawl_def_new(t->workflow.at, pawl_buf_str(&graph), none,
                     pawl_strz("{}"), &e->alloc, &own, err));
    def = own;
  }
  i = pawl_def_node(def, t->node.at, t->node.len);
  if (i >= 0 && def->nodes[i].kind == PAWL_KIND_TASK)
    rc = choose_way(e, &def->nodes[i], t, c, err);
  else
    set(&t->transition, pawl_buf_str(&c->take));
out:
  pawl_def_free(own);
  pawl_buf_deinit(&graph);
  return rc;
}

/* ---- what follows ---- */

static void release(task *t) {
  pawl_buf_clear(&t->claimed_by);
  t->claimed_us = 0;
  t->status = PAWL_TASK_PENDING;
}

static void hold(task *t, pawl_str who, int64_t now) {
  set(&t->claimed_by, who);
  t->claimed_us = now;
  t->status = PAWL_TASK_RUNNING;
  if (!t->started_us) t->started_us = now;
}

static pawl_code claim(task *t, const change *c, int64_t now, int *write,
                       pawl_error *err) {
  pawl_code rc = may_act(t, c, err);
  if (rc != PAWL_OK) return rc;
  *write = !is(&t->claimed_by, &c->by); /* else it is theirs already */
  if (*write) hold(t, pawl_buf_str(&c->by), now);
  return PAWL_OK;
}

static pawl_code unclaim(task *t, const change *c, pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (!t->claimed_by.len)
    return pawl_fail(err, PAWL_CONFLICT, "task %s: nobody has claimed it",
                     t->text);
  if (!is(&t->claimed_by, &c->by)) return is_taken(t, err);
  release(t);
  return PAWL_OK;
}

/* completed or failed */
static pawl_code finish(pawl_engine *e, task *t, const change *c, int64_t now,
                        pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(may_act(t, c, err));
  if (c->kind == CHANGE_COMPLETE) {
    TRY(choose_transition(e, t, c, err));
    t->status = PAWL_TASK_COMPLETED;
    set(&t->output, c->output);
  } else {
    t->status = PAWL_TASK_FAILED;
    if (c->error.len)
      set(&t->error, pawl_buf_str(&c->error));
    else
      set(&t->error, pawl_strz("{\"message\":\"the task failed\"}"));
  }
  set(&t->completed_by, pawl_buf_str(&c->by));
  t->completed_us = now;
  if (!t->started_us) t->started_us = now;
out:
  return rc;
}

static pawl_code retry(task *t, pawl_error *err) {
  if (is_open(t))
    return pawl_fail(err, PAWL_CONFLICT,
                     "task %s is %s: only a failed one can be tried again",
                     t->text, pawl_task_status_names[t->status]);
  if (t->status != PAWL_TASK_FAILED) return is_over(t, err);
  if (!t->waits) {
    pawl_fail(err, PAWL_ALREADY_FINISHED,
              "task %s failed, and its instance has gone on or ended since",
              t->text);
    pawl_error_hint(err, "`pawl retry` and `pawl restart` act on instances");
    return PAWL_ALREADY_FINISHED;
  }
  if (!t->heard) {
    pawl_fail(err, PAWL_BUSY,
              "task %s: its instance has not yet heard that it failed",
              t->text);
    pawl_error_hint(err, "try again when a worker has dealt with that");
    return PAWL_BUSY;
  }
  release(t);
  pawl_buf_clear(&t->completed_by);
  pawl_buf_clear(&t->error);
  t->completed_us = 0;
  return PAWL_OK;
}

static pawl_code reassign(task *t, const change *c, pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  release(t);
  pawl_buf_clear(&t->delegated_by);
  set(&t->assignee, pawl_buf_str(&c->to));
  return PAWL_OK;
}

/* Whoever holds it hands it on as it is: claimed or not. */
static pawl_code delegate(task *t, const change *c, int64_t now,
                          pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (t->claimed_by.len && !is(&t->claimed_by, &c->by))
    return is_taken(t, err);
  if (!t->claimed_by.len && !is(&t->assignee, &c->by)) {
    pawl_fail(err, PAWL_TAKEN, "task %s is not %.*s's to delegate", t->text,
              WORDS(&c->by));
    pawl_error_hint(err, "claim it first; or `reassign` it");
    return PAWL_TAKEN;
  }
  if (t->claimed_by.len) hold(t, pawl_buf_str(&c->to), now);
  set(&t->assignee, pawl_buf_str(&c->to));
  set(&t->delegated_by, pawl_buf_str(&c->by));
  return PAWL_OK;
}

static pawl_code escalate(task *t, const change *c, int64_t now,
                          pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (!c->who.n && !c->priority.len) {
    pawl_fail(err, PAWL_INVALID,
              "escalate: neither a priority nor anybody to add is given");
    pawl_error_hint(err, "priority, users, roles or groups");
    return PAWL_INVALID;
  }
  t->escalated_us = now;
  return PAWL_OK;
}

/* Turns the task as it was read into the one it becomes. *write 0: it is
 * what was asked for already. */
static pawl_code decide(pawl_engine *e, task *t, const change *c, int64_t now,
                        int *write, pawl_error *err) {
  *write = 1;
  switch (c->kind) {
    case CHANGE_CLAIM:
      return claim(t, c, now, write, err);
    case CHANGE_UNCLAIM:
      return unclaim(t, c, err);
    case CHANGE_COMPLETE:
    case CHANGE_FAIL:
      return finish(e, t, c, now, err);
    case CHANGE_RETRY:
      return retry(t, err);
    case CHANGE_REASSIGN:
      return reassign(t, c, err);
    case CHANGE_DELEGATE:
      return delegate(t, c, now, err);
    default:
      return escalate(t, c, now, err);
  }
}

/* ---- the log ---- */

static void add_text(pawl_buf *out, const char *name, const pawl_buf *value) {
  if (!value->len) return;
  pawl_buf_addf(out, ",\"%s\":", name);
  pawl_json_add_string(out, pawl_buf_str(value));
}

static void add_entry(pawl_buf *out, const task *t, const change *c,
                      int64_t now) {
  char time[28];
  pawl_time_format(now, time);
  pawl_buf_addf(out, "{\"at\":\"%s\",\"what\":\"%s\"", time,
                change_names[c->kind]);
  add_text(out, "by", &c->by);
  add_text(out, "instead_of", &t->passed_over);
  add_text(out, "to", &c->to);
  add_text(out, "take", &c->take);
  add_text(out, "priority", &c->priority);
  if (c->reason.len) {
    pawl_buf_addz(out, ",\"reason\":");
    pawl_buf_adds(out, pawl_buf_str(&c->reason));
  }
  pawl_buf_addc(out, '}');
}

/* The old log's newest entries, then this change's. */
static void log_change(task *t, const change *c, int64_t now) {
  pawl_buf out = {.alloc = t->metadata.alloc};
  pawl_json_iter it = {0};
  pawl_str log = {NULL, 0}, key, value;
  int n = 0, i = 0;

  if (t->metadata.len)
    (void)pawl_json_get(pawl_buf_str(&t->metadata), "log", &log);
  while (log.at && pawl_json_each(log, &it, &key, &value)) n++;
  it = (pawl_json_iter){0};
  pawl_buf_addz(&out, "{\"log\":[");
  while (log.at && pawl_json_each(log, &it, &key, &value)) {
    if (i++ <= n - LOG_ENTRIES) continue;
    pawl_buf_adds(&out, value);
    pawl_buf_addc(&out, ',');
  }
  add_entry(&out, t, c, now);
  pawl_buf_addc(&out, ']');
  if (c->kind == CHANGE_REASSIGN || c->kind == CHANGE_DELEGATE)
    pawl_buf_addf(&out, ",\"given_us\":%" PRId64, now);
  else if (t->metadata.len &&
           pawl_json_get(pawl_buf_str(&t->metadata), "given_us", &value))
    pawl_buf_addz(&out, ",\"given_us\":"), pawl_buf_adds(&out, value);
  pawl_buf_addc(&out, '}');
  set(&t->metadata, pawl_buf_str(&out));
  if (out.failed) t->metadata.failed = 1;
  pawl_buf_deinit(&out);
}

/* ---- writing ---- */

static void arg_text(pawl_args *a, int arg, const pawl_buf *b) {
  if (b->len) pawl_arg_str(a, arg, pawl_buf_str(b));
}

static void arg_time(pawl_args *a, int arg, int64_t us) {
  if (us) pawl_arg_time(a, arg, us);
}

static int shard_of(const pawl_engine *e, const task *t) {
  return pawl_id_route(&t->id) % e->nshards;
}

static pawl_code send_write(pawl_engine *e, const task *t, const change *c,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_TASK_WRITE);
  pawl_arg_int(a, PAWL_TASK_WRITE_SHARD, shard_of(e, t));
  pawl_arg_id(a, PAWL_TASK_WRITE_ID, &t->id);
  pawl_arg_int(a, PAWL_TASK_WRITE_VERSION, t->version);
  pawl_arg_textz(a, PAWL_TASK_WRITE_WAS, pawl_task_status_names[t->was]);
  pawl_arg_id(a, PAWL_TASK_WRITE_REQUEST, &c->request);
  pawl_arg_textz(a, PAWL_TASK_WRITE_STATUS, pawl_task_status_names[t->status]);
  if (c->kind == CHANGE_ESCALATE)
    arg_text(a, PAWL_TASK_WRITE_PRIORITY, &c->priority);
  arg_text(a, PAWL_TASK_WRITE_ASSIGNEE, &t->assignee);
  arg_text(a, PAWL_TASK_WRITE_DELEGATED_BY, &t->delegated_by);
  arg_text(a, PAWL_TASK_WRITE_CLAIMED_BY, &t->claimed_by);
  arg_time(a, PAWL_TASK_WRITE_CLAIMED_AT, t->claimed_us);
  arg_text(a, PAWL_TASK_WRITE_COMPLETED_BY, &t->completed_by);
  arg_time(a, PAWL_TASK_WRITE_COMPLETED_AT, t->completed_us);
  arg_time(a, PAWL_TASK_WRITE_STARTED_AT, t->started_us);
  arg_time(a, PAWL_TASK_WRITE_ESCALATED_AT, t->escalated_us);
  arg_text(a, PAWL_TASK_WRITE_TRANSITION, &t->transition);
  arg_text(a, PAWL_TASK_WRITE_OUTPUT, &t->output);
  arg_text(a, PAWL_TASK_WRITE_ERROR, &t->error);
  arg_text(a, PAWL_TASK_WRITE_METADATA, &t->metadata);
  pawl_store_arg_now(e->store, a, PAWL_TASK_WRITE_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_wake(pawl_engine *e, const task *t, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_AGENDA_WAKE);
  pawl_arg_int(&e->args, PAWL_AGENDA_WAKE_SHARD, shard_of(e, t));
  pawl_arg_id(&e->args, PAWL_AGENDA_WAKE_ID, &t->instance);
  pawl_store_arg_now(e->store, &e->args, PAWL_AGENDA_WAKE_NOW);
  return pawl_store_send(e->store, &e->args, err);
}

static void write_letter(const task *t, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "task", t->text);
  pawl_member_str(&o, "node", pawl_buf_str(&t->node));
  pawl_member_int(&o, "token", t->token);
  pawl_member_int(&o, "visit", t->visit);
  pawl_member_textz(&o, "status", pawl_task_status_names[t->status]);
  if (t->output.len) pawl_member_json(&o, "output", pawl_buf_str(&t->output));
  if (t->transition.len)
    pawl_member_str(&o, "transition", pawl_buf_str(&t->transition));
  if (t->error.len) pawl_member_json(&o, "error", pawl_buf_str(&t->error));
  if (t->passed_over.len)
    pawl_member_str(&o, "instead_of", pawl_buf_str(&t->passed_over));
  pawl_object_end(&o);
}

static pawl_code send_letter(pawl_engine *e, const task *t, const change *c,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_buf data = {.alloc = &e->alloc};
  char event_id[64];
  pawl_code rc = PAWL_OK;

  write_letter(t, &data);
  TRY(pawl_buf_check(&data, err));
  snprintf(event_id, sizeof event_id, "%s:%" PRId64, t->text, t->version + 1);
  pawl_args_begin(a, PAWL_STMT_TASK_LETTER);
  pawl_arg_int(a, PAWL_TASK_LETTER_SHARD, shard_of(e, t));
  pawl_arg_id(a, PAWL_TASK_LETTER_ID, &t->id);
  pawl_arg_id(a, PAWL_TASK_LETTER_REQUEST, &c->request);
  pawl_arg_id(a, PAWL_TASK_LETTER_INSTANCE, &t->instance);
  pawl_arg_textz(a, PAWL_TASK_LETTER_EVENT_ID, event_id);
  pawl_arg_str(a, PAWL_TASK_LETTER_CALLER, pawl_buf_str(&c->by));
  pawl_arg_str(a, PAWL_TASK_LETTER_DATA, pawl_buf_str(&data));
  pawl_store_arg_now(e->store, a, PAWL_TASK_LETTER_NOW);
  TRY(pawl_store_send(e->store, a, err));
out:
  pawl_buf_deinit(&data);
  return rc;
}

static pawl_code send_owners(pawl_engine *e, const task *t, const change *c,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  if (c->kind == CHANGE_REASSIGN) { /* these instead of the present ones */
    pawl_args_begin(a, PAWL_STMT_OWNER_CLEAR);
    pawl_arg_int(a, PAWL_OWNER_CLEAR_SHARD, shard_of(e, t));
    pawl_arg_id(a, PAWL_OWNER_CLEAR_TASK, &t->id);
    pawl_arg_id(a, PAWL_OWNER_CLEAR_REQUEST, &c->request);
    TRY(pawl_store_send(e->store, a, err));
  }
  pawl_args_begin(a, PAWL_STMT_OWNER_ADD);
  pawl_arg_int(a, PAWL_OWNER_ADD_SHARD, shard_of(e, t));
  pawl_arg_id(a, PAWL_OWNER_ADD_TASK, &t->id);
  pawl_arg_id(a, PAWL_OWNER_ADD_REQUEST, &c->request);
  for (int i = 0; i < c->who.n; i++) {
    pawl_arg_textz(a, PAWL_OWNER_ADD_KIND, c->who.list[i].kind);
    pawl_arg_str(a, PAWL_OWNER_ADD_ID, pawl_who_name(&c->who, i));
  }
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

static int tells_instance(const change *c) {
  return c->kind == CHANGE_COMPLETE || c->kind == CHANGE_FAIL;
}

static int names_owners(const change *c) {
  return c->who.n &&
         (c->kind == CHANGE_REASSIGN || c->kind == CHANGE_ESCALATE);
}

/* One trip. *done 0: somebody else was first, and nothing has happened. */
static pawl_code write_unit(pawl_engine *e, const task *t, const change *c,
                            int *done, pawl_error *err) {
  pawl_rows rows;
  int tells = tells_instance(c);
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  if (tells) TRY(send_wake(e, t, err)); /* T2: the agenda row first */
  TRY(send_write(e, t, c, err));
  if (tells) TRY(send_letter(e, t, c, err));
  if (names_owners(c)) TRY(send_owners(e, t, c, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, tells, &rows);
  *done = rows.changed > 0;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* Reads, decides and writes, until it is done or refused. */
static pawl_code apply(pawl_engine *e, task *t, const change *c,
                       pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int done = 0, write = 1;

  for (int tries = 0; tries < TRIES && !done; tries++) {
    int64_t now = pawl_engine_now(e);
    rc = read_task(e, c, t, err);
    if (rc == PAWL_OK && t->has_request &&
        pawl_id_eq(&t->request, &c->request))
      return PAWL_OK; /* its answer was lost, but it was done */
    if (rc == PAWL_OK) rc = decide(e, t, c, now, &write, err);
    if (rc == PAWL_OK && !write) return PAWL_OK;
    if (rc == PAWL_OK) log_change(t, c, now);
    if (rc == PAWL_OK) rc = task_check(t, err);
    if (rc == PAWL_OK) rc = write_unit(e, t, c, &done, err);
    if (rc != PAWL_OK && rc != PAWL_BUSY && rc != PAWL_UNREACHABLE) return rc;
  }
  if (rc != PAWL_OK || done) return rc;
  return pawl_fail(err, PAWL_BUSY, "task %s is changed by others all the time",
                   t->text);
}

/* ---- the whole change ---- */

static void deinit_change(change *c) {
  pawl_buf_deinit(&c->by);
  pawl_buf_deinit(&c->to);
  pawl_buf_deinit(&c->take);
  pawl_buf_deinit(&c->priority);
  pawl_buf_deinit(&c->reason);
  pawl_buf_deinit(&c->error);
  pawl_buf_deinit(&c->who.text);
}

pawl_code pawl_engine_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                           pawl_buf *out, pawl_error *err) {
  change c = {.by = {.alloc = &e->alloc},
              .to = {.alloc = &e->alloc},
              .take = {.alloc = &e->alloc},
              .priority = {.alloc = &e->alloc},
              .reason = {.alloc = &e->alloc},
              .error = {.alloc = &e->alloc},
              .who = {.text = {.alloc = &e->alloc}}};
  task t;
  pawl_code rc = PAWL_OK;

  task_init(&t, &e->alloc);
  t.id = *id;
  pawl_id_format(id, t.text);
  TRY(read_change(e, action, &c, err));
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &c.request, err));
  TRY(apply(e, &t, &c, err));
  /* where the token goes may be a handler's to say: that is for workers */
  if (tells_instance(&c)) pawl_start_wake(e);
  if (out) TRY(pawl_engine_task_get(e, id, out, err));
out:
  task_deinit(&t);
  deinit_change(&c);
  return rc;
}
