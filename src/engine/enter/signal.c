/* Events from outside: stored first, then handed to whoever waits (rule 5).
 *
 *   to everybody   a row of `event`, committed as not routed; then, shard by
 *                  shard and in batches, into the inboxes of all that wait for
 *                  it; then it is marked as routed. A wait that begins
 *                  meanwhile looks among the events after its own commit, so
 *                  one of the two sides sees the other. Workflows that it
 *                  triggers are started on the way.
 *   to one         straight into the inbox of the instance that is named, or
 *                  that `start` starts, in one transaction.
 *
 * All of it may be repeated: an inbox takes an event id once, and a triggered
 * instance is keyed by the event's. */
#include <inttypes.h>
#include <stdio.h>

#include "../../value/json.h"
#include "../internal.h"

#define BATCH 500             /* receivers in one transaction */
#define MAX_WORD PAWL_MAX_KEY /* key, id, source, by: bytes */
#define MAX_TRIES 3
#define DEFAULT_TTL_US (86400 * PAWL_SECOND)
#define LEFT_AFTER_US (5 * PAWL_SECOND) /* nobody routes that long */
#define LEFT_MAX 32                     /* of a shard, at once */
#define PRUNE_MAX 500

typedef struct event {
  pawl_buf name, key, id, source, by;
  pawl_buf wide;   /* the pattern that means it too: "payment.*" */
  pawl_buf global; /* source ':' id: what inboxes know it by */
  pawl_buf instance, workflow;
  pawl_str data, input, options; /* slices of JSON text */
  pawl_id came; /* drawn for it: orders what came in one instant */
  int has_key, has_id, has_instance, has_start, has_by, has_source;
  int64_t ttl_us;
  int64_t received_us; /* by the store's time; 0: now */
  int64_t expires_us;
  /* what came of it */
  int64_t reached;
  pawl_id target; /* of one that goes to a single instance */
  int repeated, created;
} event;

static void event_init(event *v, const pawl_alloc *alloc) {
  memset(v, 0, sizeof *v);
  v->name.alloc = v->key.alloc = v->id.alloc = v->source.alloc = v->by.alloc =
      v->wide.alloc = v->global.alloc = v->instance.alloc = v->workflow.alloc =
          alloc;
  v->ttl_us = DEFAULT_TTL_US;
}

static void event_deinit(event *v) {
  pawl_buf_deinit(&v->name);
  pawl_buf_deinit(&v->key);
  pawl_buf_deinit(&v->id);
  pawl_buf_deinit(&v->source);
  pawl_buf_deinit(&v->by);
  pawl_buf_deinit(&v->wide);
  pawl_buf_deinit(&v->global);
  pawl_buf_deinit(&v->instance);
  pawl_buf_deinit(&v->workflow);
}

/* ---- reading ---- */

static const char *const field_names[] = {
    "name", "key", "instance", "data", "id", "source", "ttl", "start", "by"};
static const char *const start_names[] = {"workflow", "input", "options"};

static pawl_code unknown(pawl_str key, const char *what,
                         const char *const *names, size_t n, pawl_error *err) {
  char name[64];
  pawl_str_copy(name, sizeof name, key);
  pawl_fail(err, PAWL_INVALID, "%s has no field `%s`", what, name);
  const char *near = pawl_nearest(name, names, (int)n);
  if (near) pawl_error_hint(err, "did you mean `%s`?", near);
  return PAWL_INVALID;
}

/* A text of `least` to MAX_WORD bytes; null is none. */
static pawl_code read_word(pawl_str value, const char *name, size_t least,
                           pawl_buf *out, int *has, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_fail(err, PAWL_INVALID, "a signal's `%s` must be a string",
                     name);
  pawl_buf_clear(out);
  pawl_json_unquote(value, out);
  *has = 1;
  if (out->failed) return pawl_buf_check(out, err);
  if (out->len < least || out->len > MAX_WORD ||
      (out->len && memchr(out->at, 0, out->len)))
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `%s` must have %zu to %d bytes, none of them "
                     "zero",
                     name, least, MAX_WORD);
  return PAWL_OK;
}

static pawl_code read_data(pawl_engine *e, pawl_str value, event *v,
                           pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if ((int64_t)value.len > e->config.max_bytes)
    return pawl_fail(err, PAWL_LIMIT,
                     "a signal's data has %zu bytes; the limit is %" PRId64,
                     value.len, e->config.max_bytes);
  v->data = value;
  return PAWL_OK;
}

static pawl_code read_ttl(pawl_str value, event *v, pawl_error *err) {
  if (pawl_json_kind_of(value) == PAWL_JSON_NULL) return PAWL_OK;
  if (!pawl_json_int(value, &v->ttl_us) || v->ttl_us < 1 ||
      v->ttl_us > PAWL_MAX_DURATION_US)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `ttl` must be an integer above 0: "
                     "microseconds, 1,000 years at most");
  return PAWL_OK;
}

/* What goes along with the start must not put it off: the event is there
 * now. */
static pawl_code check_start(const event *v, pawl_error *err) {
  static const char *const later[] = {"delay", "at"};
  pawl_str value;
  if (!v->workflow.len)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `start` must name a workflow");
  if (!v->options.at) return PAWL_OK;
  if (pawl_json_kind_of(v->options) != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `start.options` must be an object");
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (pawl_json_get(v->options, later[i], &value) &&
        pawl_json_kind_of(value) != PAWL_JSON_NULL) {
      pawl_fail(err, PAWL_INVALID,
                "a signal cannot start an instance later: option `%s`",
                later[i]);
      pawl_error_hint(err, "start it first, then signal its id");
      return PAWL_INVALID;
    }
  return PAWL_OK;
}

static pawl_code read_start(pawl_str object, event *v, pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;
  int has;

  if (pawl_json_kind_of(object) == PAWL_JSON_NULL) return PAWL_OK;
  if (pawl_json_kind_of(object) != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `start` must be an object");
  v->has_start = 1;
  while (pawl_json_each(object, &it, &key, &value)) {
    if (pawl_str_eqz(key, "workflow"))
      TRY(read_word(value, "start.workflow", 1, &v->workflow, &has, err));
    else if (pawl_str_eqz(key, "input"))
      v->input = value;
    else if (pawl_str_eqz(key, "options"))
      v->options = value;
    else
      TRY(unknown(key, "a signal's `start`", start_names,
                  sizeof start_names / sizeof *start_names, err));
  }
  return check_start(v, err);
out:
  return rc;
}

static pawl_code read_field(pawl_engine *e, pawl_str key, pawl_str value,
                            event *v, pawl_error *err) {
  int has;
  if (pawl_str_eqz(key, "name"))
    return read_word(value, "name", 1, &v->name, &has, err);
  if (pawl_str_eqz(key, "key"))
    return read_word(value, "key", 1, &v->key, &v->has_key, err);
  if (pawl_str_eqz(key, "instance"))
    return read_word(value, "instance", 1, &v->instance, &v->has_instance,
                     err);
  if (pawl_str_eqz(key, "id"))
    return read_word(value, "id", 1, &v->id, &v->has_id, err);
  if (pawl_str_eqz(key, "source"))
    return read_word(value, "source", 0, &v->source, &v->has_source, err);
  if (pawl_str_eqz(key, "by"))
    return read_word(value, "by", 0, &v->by, &v->has_by, err);
  if (pawl_str_eqz(key, "data")) return read_data(e, value, v, err);
  if (pawl_str_eqz(key, "ttl")) return read_ttl(value, v, err);
  if (pawl_str_eqz(key, "start")) return read_start(value, v, err);
  return unknown(key, "a signal", field_names,
                 sizeof field_names / sizeof *field_names, err);
}

static pawl_code check_name(const event *v, pawl_error *err) {
  char text[101];
  if (!v->name.len)
    return pawl_fail(err, PAWL_INVALID, "a signal must have a name");
  if (pawl_def_is_code(v->name.at)) return PAWL_OK;
  pawl_str_copy(text, sizeof text, pawl_buf_str(&v->name));
  pawl_fail(err, PAWL_INVALID, "\"%s\" cannot be an event's name", text);
  pawl_error_hint(err,
                  "dotted words of letters, digits, '_' and '-', at most 200 "
                  "bytes: \"payment.received\"; patterns are for waits");
  return PAWL_INVALID;
}

/* The names that are worked out of others: "payment.*", "shop:17". */
static pawl_code complete(event *v, pawl_error *err) {
  const char *dot = strrchr(v->name.at, '.');
  pawl_code rc = PAWL_OK;

  pawl_buf_clear(&v->wide);
  pawl_buf_clear(&v->global);
  if (dot) pawl_buf_add(&v->wide, v->name.at, (size_t)(dot - v->name.at) + 1);
  pawl_buf_addc(&v->wide, '*');
  pawl_buf_adds(&v->global, pawl_buf_str(&v->source));
  pawl_buf_addc(&v->global, ':');
  pawl_buf_adds(&v->global, pawl_buf_str(&v->id));
  TRY(pawl_buf_check(&v->wide, err));
  TRY(pawl_buf_check(&v->global, err));
out:
  return rc;
}

static pawl_code draw_id(pawl_engine *e, event *v, pawl_error *err) {
  char text[37];
  pawl_code rc = PAWL_OK;

  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &v->came, err));
  pawl_id_format(&v->came, text);
  pawl_buf_clear(&v->id);
  pawl_buf_addz(&v->id, text);
  TRY(pawl_buf_check(&v->id, err));
out:
  return rc;
}

static pawl_code read_signal(pawl_engine *e, pawl_str text, event *v,
                             pawl_error *err) {
  pawl_json_kind kind;
  pawl_json_iter it = {0};
  pawl_str key, value;
  pawl_code rc = PAWL_OK;

  if (!text.at)
    return pawl_fail(err, PAWL_INVALID, "a signal must have a name");
  TRY(pawl_json_check(text, &kind, err));
  if (kind != PAWL_JSON_OBJECT)
    return pawl_fail(err, PAWL_INVALID, "a signal must be an object");
  while (pawl_json_each(text, &it, &key, &value))
    TRY(read_field(e, key, value, v, err));
  TRY(check_name(v, err));
  if (v->has_instance && v->has_start)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `instance` and `start` exclude each other");
  if (!v->has_id)
    TRY(draw_id(e, v, err));
  else
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &v->came, err));
  TRY(complete(v, err));
out:
  return rc;
}

/* ---- into inboxes ---- */

static void arg_text(pawl_args *a, int arg, const pawl_buf *b, int has) {
  if (has)
    pawl_arg_str(a, arg, pawl_buf_str(b));
  else
    pawl_arg_null(a, arg);
}

static pawl_code send_wake(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_AGENDA_WAKE_MANY);
  pawl_arg_int(a, PAWL_AGENDA_WAKE_MANY_SHARD, shard);
  for (int i = 0; i < n; i++)
    pawl_arg_id(a, PAWL_AGENDA_WAKE_MANY_ID, &ids[i]);
  pawl_store_arg_now(e->store, a, PAWL_AGENDA_WAKE_MANY_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_inbox(pawl_engine *e, const event *v, int shard,
                            const pawl_id *ids, const pawl_id *nos, int n,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_INBOX_INSERT_MANY);
  pawl_arg_int(a, PAWL_INBOX_INSERT_MANY_SHARD, shard);
  for (int i = 0; i < n; i++) {
    pawl_arg_id(a, PAWL_INBOX_INSERT_MANY_ID, &ids[i]);
    pawl_arg_id(a, PAWL_INBOX_INSERT_MANY_NO, &nos[i]);
  }
  pawl_arg_str(a, PAWL_INBOX_INSERT_MANY_NAME, pawl_buf_str(&v->name));
  arg_text(a, PAWL_INBOX_INSERT_MANY_KEY, &v->key, v->has_key);
  pawl_arg_str(a, PAWL_INBOX_INSERT_MANY_EVENT_ID, pawl_buf_str(&v->global));
  pawl_arg_str(a, PAWL_INBOX_INSERT_MANY_SOURCE, pawl_buf_str(&v->source));
  arg_text(a, PAWL_INBOX_INSERT_MANY_CALLER, &v->by, v->has_by);
  pawl_arg_str(a, PAWL_INBOX_INSERT_MANY_DATA, v->data);
  pawl_arg_int(a, PAWL_INBOX_INSERT_MANY_ADDRESSED,
               v->has_instance || v->has_start);
  if (v->received_us)
    pawl_arg_time(a, PAWL_INBOX_INSERT_MANY_RECEIVED_AT, v->received_us);
  else
    pawl_arg_null(a, PAWL_INBOX_INSERT_MANY_RECEIVED_AT);
  pawl_store_arg_now(e->store, a, PAWL_INBOX_INSERT_MANY_NOW);
  return pawl_store_send(e->store, a, err);
}

static int may_repeat(pawl_code rc, int tries) {
  return (rc == PAWL_UNREACHABLE || rc == PAWL_BUSY) && tries < MAX_TRIES - 1;
}

/* Agenda rows first: inbox numbers are given under their locks (rule 3). */
static pawl_code reach_unit(pawl_engine *e, const event *v, int shard,
                            const pawl_id *ids, const pawl_id *nos, int n,
                            int64_t *reached, pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_wake(e, shard, ids, n, err));
  TRY(send_inbox(e, v, shard, ids, nos, n, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 1, &rows);
  *reached += rows.changed;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

static pawl_code reach(pawl_engine *e, const event *v, int shard,
                       const pawl_id *ids, int n, int64_t *reached,
                       pawl_error *err) {
  pawl_id nos[BATCH];
  int64_t before = *reached;
  int lost = 0;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < n; i++)
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &nos[i], err));
  for (int tries = 0;; tries++) {
    rc = reach_unit(e, v, shard, ids, nos, n, reached, err);
    if (!may_repeat(rc, tries)) break;
    lost |= rc == PAWL_UNREACHABLE;
  }
  /* after a lost answer nobody can say whose rows are there already: ours */
  if (rc == PAWL_OK && lost) *reached = before + n;
out:
  return rc;
}

/* ---- to all that wait ---- */

static void args_match(pawl_engine *e, const event *v, int shard,
                       const pawl_buf *pattern, const pawl_id *after) {
  pawl_args *a = &e->args;
  if (v->has_key) {
    pawl_args_begin(a, PAWL_STMT_SUBSCRIPTION_MATCH);
    pawl_arg_int(a, PAWL_SUBSCRIPTION_MATCH_SHARD, shard);
    pawl_arg_str(a, PAWL_SUBSCRIPTION_MATCH_PATTERN, pawl_buf_str(pattern));
    pawl_arg_str(a, PAWL_SUBSCRIPTION_MATCH_KEY, pawl_buf_str(&v->key));
    pawl_arg_id(a, PAWL_SUBSCRIPTION_MATCH_AFTER, after);
    pawl_arg_int(a, PAWL_SUBSCRIPTION_MATCH_MAX, BATCH);
    return;
  }
  pawl_args_begin(a, PAWL_STMT_SUBSCRIPTION_MATCH_OPEN);
  pawl_arg_int(a, PAWL_SUBSCRIPTION_MATCH_OPEN_SHARD, shard);
  pawl_arg_str(a, PAWL_SUBSCRIPTION_MATCH_OPEN_PATTERN, pawl_buf_str(pattern));
  pawl_arg_id(a, PAWL_SUBSCRIPTION_MATCH_OPEN_AFTER, after);
  pawl_arg_int(a, PAWL_SUBSCRIPTION_MATCH_OPEN_MAX, BATCH);
}

/* The next instances behind *after, each once, though several of its tokens
 * may wait. *more: there may be others. Both statements give one column. */
static pawl_code next_receivers(pawl_engine *e, const event *v, int shard,
                                const pawl_buf *pattern, pawl_id *after,
                                pawl_id ids[BATCH], int *n, int *more,
                                pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  *n = 0;
  args_match(e, v, shard, pattern, after);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int i = 0; i < rows.nrows; i++) {
    pawl_row_id(&rows, i, PAWL_SUBSCRIPTION_MATCH_R_INSTANCE, after);
    if (!*n || !pawl_id_eq(after, &ids[*n - 1])) ids[(*n)++] = *after;
  }
  *more = rows.nrows == BATCH;
out:
  return rc;
}

static pawl_code route_pattern(pawl_engine *e, event *v, int shard,
                               const pawl_buf *pattern, pawl_error *err) {
  pawl_id ids[BATCH], after = {{0}};
  int n, more = 1;
  pawl_code rc = PAWL_OK;

  while (more) {
    TRY(next_receivers(e, v, shard, pattern, &after, ids, &n, &more, err));
    if (n) TRY(reach(e, v, shard, ids, n, &v->reached, err));
  }
out:
  return rc;
}

/* ---- to workflows that it starts ---- */

typedef struct trigger {
  pawl_buf workflow, group;
  int64_t version;
} trigger;

static void triggers_free(pawl_engine *e, trigger *list, int n) {
  for (int i = 0; i < n; i++) {
    pawl_buf_deinit(&list[i].workflow);
    pawl_buf_deinit(&list[i].group);
  }
  pawl_release(&e->alloc, list, sizeof *list * (size_t)n);
}

/* Copied, because the starts that follow use the connection. */
static pawl_code triggers_find(pawl_engine *e, const event *v, trigger **out,
                               int *n, pawl_error *err) {
  pawl_rows rows;
  trigger *list;
  pawl_code rc = PAWL_OK;

  *n = 0;
  pawl_args_begin(&e->args, PAWL_STMT_TRIGGER_MATCH);
  pawl_arg_str(&e->args, PAWL_TRIGGER_MATCH_EXACT, pawl_buf_str(&v->name));
  pawl_arg_str(&e->args, PAWL_TRIGGER_MATCH_WIDE, pawl_buf_str(&v->wide));
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  list = pawl_realloc(&e->alloc, NULL, 0, sizeof *list * (size_t)rows.nrows);
  if (!list) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  memset(list, 0, sizeof *list * (size_t)rows.nrows);
  for (int i = 0; i < rows.nrows; i++) {
    list[i].workflow.alloc = list[i].group.alloc = &e->alloc;
    pawl_buf_adds(&list[i].workflow,
                  pawl_row_str(&rows, i, PAWL_TRIGGER_MATCH_R_WORKFLOW));
    pawl_buf_adds(&list[i].group,
                  pawl_row_str(&rows, i, PAWL_TRIGGER_MATCH_R_EXECUTOR_GROUP));
    list[i].version = pawl_row_int(&rows, i, PAWL_TRIGGER_MATCH_R_VERSION);
    if (list[i].workflow.failed || list[i].group.failed) rc = PAWL_NOMEM;
  }
  *out = list;
  *n = rows.nrows;
  if (rc != PAWL_OK) pawl_fail(err, PAWL_NOMEM, "out of memory");
out:
  return rc;
}

/* In the transaction that starts it. */
static pawl_code mark_triggered(pawl_engine *e, void *ud, int shard,
                                const pawl_id *id, int created, int nsent,
                                pawl_error *err) {
  const event *v = ud;
  (void)nsent;
  if (!created) return PAWL_OK;
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_TRIGGERED);
  pawl_arg_int(&e->args, PAWL_INSTANCE_TRIGGERED_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_TRIGGERED_ID, id);
  pawl_arg_str(&e->args, PAWL_INSTANCE_TRIGGERED_TRIGGER_EVENT,
               pawl_buf_str(&v->id));
  return pawl_store_send(e->store, &e->args, err);
}

static void trigger_input(const event *v, pawl_buf *out) {
  if (!v->data.at) {
    pawl_buf_addz(out, "{}");
  } else if (pawl_json_kind_of(v->data) == PAWL_JSON_OBJECT) {
    pawl_buf_adds(out, v->data);
  } else {
    pawl_buf_addz(out, "{\"data\":");
    pawl_buf_adds(out, v->data);
    pawl_buf_addc(out, '}');
  }
}

static void trigger_options(const event *v, const trigger *t, pawl_buf *out) {
  pawl_buf_addf(out, "{\"version\":%" PRId64, t->version);
  if (t->group.len) {
    pawl_buf_addz(out, ",\"group\":");
    pawl_json_add_string(out, pawl_buf_str(&t->group));
  }
  if (v->has_key) {
    pawl_buf_addz(out, ",\"correlation\":");
    pawl_json_add_string(out, pawl_buf_str(&v->key));
  }
  pawl_buf_addc(out, '}');
}

/* The idempotency key of what an event starts. */
static void start_key(const event *v, pawl_buf *out) {
  pawl_buf_addz(out, "event:");
  pawl_buf_adds(out, pawl_buf_str(&v->global));
}

static pawl_code trigger_one(pawl_engine *e, event *v, const trigger *t,
                             pawl_error *err) {
  pawl_buf input = {.alloc = &e->alloc}, options = {.alloc = &e->alloc},
           key = {.alloc = &e->alloc};
  pawl_id id;
  int created = 0;
  pawl_code rc = PAWL_OK;

  trigger_input(v, &input);
  trigger_options(v, t, &options);
  start_key(v, &key);
  TRY(pawl_buf_check(&input, err));
  TRY(pawl_buf_check(&options, err));
  TRY(pawl_buf_check(&key, err));
  pawl_origin origin = {
      .key = pawl_buf_str(&key), .also = mark_triggered, .ud = v};
  TRY(pawl_start_from(e, t->workflow.at, pawl_buf_str(&input),
                      pawl_buf_str(&options), &origin, &id, &created, err));
  v->reached += created;
out:
  pawl_buf_deinit(&input);
  pawl_buf_deinit(&options);
  pawl_buf_deinit(&key);
  return rc;
}

/* One that is refused for good holds up neither the others nor the event. */
static pawl_code route_triggers(pawl_engine *e, event *v, pawl_error *err) {
  trigger *list = NULL;
  int n = 0;
  pawl_error why;
  pawl_code rc = PAWL_OK;

  TRY(triggers_find(e, v, &list, &n, err));
  for (int i = 0; i < n; i++) {
    rc = trigger_one(e, v, &list[i], &why);
    if (rc != PAWL_OK && !pawl_code_is_final(rc, &why)) {
      if (err) *err = why;
      goto out;
    }
    if (rc != PAWL_OK)
      pawl_log_error(&e->log, PAWL_ERROR,
                     "an event could not start a workflow", &why);
    rc = PAWL_OK;
  }
out:
  triggers_free(e, list, n);
  return rc;
}

/* ---- routing ---- */

/* An id is known in the shard that follows from it, whatever its key. Where
 * waits look for the key is another shard, as a rule: a copy goes there. */
static int shard_of(pawl_engine *e, const event *v) {
  return pawl_event_shard(e, pawl_buf_str(&v->id));
}

static int has_copy(pawl_engine *e, const event *v) {
  return v->has_key &&
         pawl_event_shard(e, pawl_buf_str(&v->key)) != shard_of(e, v);
}

static pawl_code copy_event(pawl_engine *e, const event *v, pawl_error *err) {
  pawl_rows rows;
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EVENT_COPY);
  pawl_arg_int(a, PAWL_EVENT_COPY_SHARD,
               pawl_event_shard(e, pawl_buf_str(&v->key)));
  pawl_arg_str(a, PAWL_EVENT_COPY_SOURCE, pawl_buf_str(&v->source));
  pawl_arg_str(a, PAWL_EVENT_COPY_ID, pawl_buf_str(&v->id));
  pawl_arg_str(a, PAWL_EVENT_COPY_NAME, pawl_buf_str(&v->name));
  pawl_arg_str(a, PAWL_EVENT_COPY_KEY, pawl_buf_str(&v->key));
  pawl_arg_str(a, PAWL_EVENT_COPY_DATA, v->data);
  pawl_arg_id(a, PAWL_EVENT_COPY_CAME, &v->came);
  pawl_arg_time(a, PAWL_EVENT_COPY_RECEIVED_AT, v->received_us);
  pawl_arg_time(a, PAWL_EVENT_COPY_EXPIRES_AT, v->expires_us);
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, a, &rows, err);
}

static pawl_code mark_routed(pawl_engine *e, const event *v, pawl_error *err) {
  pawl_rows rows;
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EVENT_ROUTED);
  pawl_arg_int(a, PAWL_EVENT_ROUTED_SHARD, shard_of(e, v));
  pawl_arg_str(a, PAWL_EVENT_ROUTED_SOURCE, pawl_buf_str(&v->source));
  pawl_arg_str(a, PAWL_EVENT_ROUTED_ID, pawl_buf_str(&v->id));
  pawl_arg_int(a, PAWL_EVENT_ROUTED_FORGET, !v->has_key || has_copy(e, v));
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, a, &rows, err);
}

static pawl_code route(pawl_engine *e, event *v, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  if (has_copy(e, v))
    TRY(copy_event(e, v, err)); /* before who waits is read */
  TRY(route_triggers(e, v, err));
  for (int s = 0; s < e->nshards; s++) {
    TRY(route_pattern(e, v, s, &v->name, err));
    TRY(route_pattern(e, v, s, &v->wide, err));
  }
  TRY(mark_routed(e, v, err));
out:
  return rc;
}

static pawl_code send_event(pawl_engine *e, const event *v, int shard,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EVENT_INSERT);
  pawl_arg_int(a, PAWL_EVENT_INSERT_SHARD, shard);
  pawl_arg_str(a, PAWL_EVENT_INSERT_SOURCE, pawl_buf_str(&v->source));
  pawl_arg_str(a, PAWL_EVENT_INSERT_ID, pawl_buf_str(&v->id));
  pawl_arg_str(a, PAWL_EVENT_INSERT_NAME, pawl_buf_str(&v->name));
  arg_text(a, PAWL_EVENT_INSERT_KEY, &v->key, v->has_key);
  pawl_arg_str(a, PAWL_EVENT_INSERT_DATA, v->data);
  pawl_arg_id(a, PAWL_EVENT_INSERT_CAME, &v->came);
  pawl_arg_int(a, PAWL_EVENT_INSERT_TTL_US, v->ttl_us);
  pawl_store_arg_now(e->store, a, PAWL_EVENT_INSERT_NOW);
  return pawl_store_send(e->store, a, err);
}

static pawl_code send_event_get(pawl_engine *e, int shard, pawl_str source,
                                pawl_str id, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EVENT_GET);
  pawl_arg_int(a, PAWL_EVENT_GET_SHARD, shard);
  pawl_arg_str(a, PAWL_EVENT_GET_SOURCE, source);
  pawl_arg_str(a, PAWL_EVENT_GET_ID, id);
  return pawl_store_send(e->store, a, err);
}

/* *is_new: it was not known. *routed: as its row says. */
static pawl_code keep_event(pawl_engine *e, event *v, int *is_new, int *routed,
                            pawl_error *err) {
  int shard = shard_of(e, v);
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_event(e, v, shard, err));
  TRY(send_event_get(e, shard, pawl_buf_str(&v->source), pawl_buf_str(&v->id),
                     err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  *is_new = rows.changed > 0;
  pawl_store_rows(e->store, 1, &rows);
  *routed = 0;
  if (!rows.nrows) return PAWL_OK;
  *routed = (int)pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_ROUTED);
  pawl_row_id(&rows, 0, PAWL_EVENT_GET_R_CAME, &v->came);
  v->received_us = pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_RECEIVED_AT);
  v->expires_us = pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_EXPIRES_AT);
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* Once its row is there the event is accepted: what then keeps it from being
 * routed is the housekeeping's to overcome, and no failure of the call. */
static pawl_code send_to_all(pawl_engine *e, event *v, pawl_error *err) {
  int is_new = 0, routed = 0, tries;
  pawl_error why;
  pawl_code rc;

  for (tries = 0;; tries++) {
    rc = keep_event(e, v, &is_new, &routed, err);
    if (!may_repeat(rc, tries)) break;
  }
  if (rc != PAWL_OK) return rc;
  /* after a lost answer, one that nobody has routed yet is ours */
  v->repeated = !is_new && (routed || !tries);
  if (v->repeated) return PAWL_OK;
  for (tries = 0;; tries++) { /* what was reached is counted once */
    rc = route(e, v, &why);
    if (!may_repeat(rc, tries)) break;
  }
  if (rc != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN,
                   "an event is stored and will be routed later", &why);
  return PAWL_OK;
}

/* ---- to one ---- */

static pawl_code send_get(pawl_engine *e, int shard, const pawl_id *id,
                          pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_GET);
  pawl_arg_int(&e->args, PAWL_INSTANCE_GET_SHARD, shard);
  pawl_arg_id(&e->args, PAWL_INSTANCE_GET_ID, id);
  return pawl_store_send(e->store, &e->args, err);
}

/* What the statements from `first` on - inbox, instance - came to. */
static pawl_code take_answer(pawl_engine *e, event *v, const pawl_id *id,
                             int first, pawl_error *err) {
  pawl_rows rows;
  pawl_status status;
  char text[37];

  pawl_id_format(id, text);
  pawl_store_rows(e->store, first, &rows);
  /* an id of ours can only be there already because an earlier try landed */
  v->reached = rows.changed > 0 || !v->has_id;
  v->repeated = !v->reached;
  v->target = *id;
  pawl_store_rows(e->store, first + 1, &rows);
  if (!rows.nrows) {
    pawl_fail(err, PAWL_NOTFOUND, "there is no instance %s", text);
    pawl_error_hint(err, "`pawl list` shows what there is");
    return PAWL_NOTFOUND;
  }
  pawl_str name = pawl_row_str(&rows, 0, PAWL_INSTANCE_GET_R_STATUS);
  if (!pawl_status_parse(name, &status) || !pawl_status_has_ended(status))
    return PAWL_OK;
  pawl_fail(err, PAWL_ALREADY_FINISHED, "instance %s has ended already: %.*s",
            text, (int)name.len, name.at);
  if (v->has_start)
    pawl_error_hint(err, "the key of `start` names it: give another one");
  return PAWL_ALREADY_FINISHED;
}

static pawl_code one_unit(pawl_engine *e, event *v, const pawl_id *id,
                          const pawl_id *no, pawl_error *err) {
  int shard = pawl_id_route(id) % e->nshards;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_wake(e, shard, id, 1, err));
  TRY(send_inbox(e, v, shard, id, no, 1, err));
  TRY(send_get(e, shard, id, err));
  TRY(pawl_store_commit(e->store, err));
  return take_answer(e, v, id, 1, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* The instance has ended. When this very event was sent to it while it lived,
 * that is a repetition, or our own first try whose answer was lost; else the
 * failure stands. Its inbox has kept the ids (inbox_keep). */
static pawl_code known_to_ended(pawl_engine *e, event *v, pawl_error *err) {
  pawl_buf id = {.alloc = &e->alloc};
  int shard = pawl_id_route(&v->target) % e->nshards;
  pawl_rows rows;
  pawl_error why;
  pawl_code rc;

  pawl_buf_addz(&id, "to:");
  for (int i = 0; i < 16; i++) pawl_buf_addf(&id, "%02x", v->target.bytes[i]);
  pawl_buf_addc(&id, ':');
  pawl_buf_adds(&id, pawl_buf_str(&v->global));
  TRY(pawl_buf_check(&id, &why));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, &why));
  TRY(send_event_get(e, shard, pawl_strz(""), pawl_buf_str(&id), &why));
  TRY(pawl_store_commit(e->store, &why));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows) rc = PAWL_ALREADY_FINISHED;
  v->reached = rows.nrows > 0 && !v->has_id;
  v->repeated = rows.nrows > 0 && v->has_id;
out:
  if (rc != PAWL_OK && rc != PAWL_ALREADY_FINISHED) {
    pawl_store_rollback(e->store);
    if (err) *err = why;
  }
  pawl_buf_deinit(&id);
  return rc;
}

static pawl_code send_to_instance(pawl_engine *e, event *v, pawl_error *err) {
  pawl_id id, no;
  pawl_code rc = PAWL_OK;

  TRY(pawl_engine_find(e, v->instance.at, &id, err));
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  for (int tries = 0;; tries++) {
    rc = one_unit(e, v, &id, &no, err);
    if (!may_repeat(rc, tries)) break;
  }
  if (rc == PAWL_ALREADY_FINISHED) rc = known_to_ended(e, v, err);
out:
  return rc;
}

/* In the transaction of the start: no wait of it can miss the event. */
static pawl_code with_start(pawl_engine *e, void *ud, int shard,
                            const pawl_id *id, int created, int nsent,
                            pawl_error *err) {
  event *v = ud;
  pawl_id no;
  pawl_code rc = PAWL_OK;

  (void)created;
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  TRY(send_wake(e, shard, id, 1, err));
  TRY(send_inbox(e, v, shard, id, &no, 1, err));
  TRY(send_get(e, shard, id, err));
  TRY(take_answer(e, v, id, nsent + 1, err));
out:
  return rc;
}

/* An event with an id starts one instance, however often it is sent, also
 * when the start has no key of its own. */
static pawl_code send_with_start(pawl_engine *e, event *v, pawl_error *err) {
  pawl_buf key = {.alloc = &e->alloc};
  pawl_str own;
  pawl_id id;
  pawl_origin origin = {.also = with_start, .ud = v};
  pawl_code rc = PAWL_OK;

  int keyed = v->options.at && pawl_json_get(v->options, "key", &own) &&
              pawl_json_kind_of(own) != PAWL_JSON_NULL;
  if (v->has_id && !keyed) {
    start_key(v, &key);
    TRY(pawl_buf_check(&key, err));
    origin.key = pawl_buf_str(&key);
  }
  rc = pawl_start_from(e, v->workflow.at, v->input, v->options, &origin, &id,
                       &v->created, err);
  if (rc == PAWL_ALREADY_FINISHED) {
    v->created = 0;
    rc = known_to_ended(e, v, err);
  }
out:
  pawl_buf_deinit(&key);
  return rc;
}

/* ---- the call ---- */

static pawl_code describe(const event *v, pawl_buf *out, pawl_error *err) {
  char text[37];

  pawl_buf_addf(out, "{\"reached\":%" PRId64 ",\"id\":", v->reached);
  pawl_json_add_string(out, pawl_buf_str(&v->id));
  if (v->has_instance || v->has_start) {
    pawl_id_format(&v->target, text);
    pawl_buf_addf(out, ",\"instance\":\"%s\"", text);
  }
  if (v->has_start)
    pawl_buf_addf(out, ",\"created\":%s", v->created ? "true" : "false");
  pawl_buf_addf(out, ",\"repeated\":%s}", v->repeated ? "true" : "false");
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_signal(pawl_engine *e, pawl_str signal, int64_t *reached,
                             pawl_buf *out, pawl_error *err) {
  event v;
  pawl_code rc = PAWL_OK;

  event_init(&v, &e->alloc);
  TRY(read_signal(e, signal, &v, err));
  if (v.has_start)
    TRY(send_with_start(e, &v, err));
  else if (v.has_instance)
    TRY(send_to_instance(e, &v, err));
  else
    TRY(send_to_all(e, &v, err));
  if (v.reached) {
    e->look_mono_us = 0; /* some of them may be ours to run */
    pawl_start_wake(e);
  }
  if (reached) *reached = v.reached;
  if (out) TRY(describe(&v, out, err));
out:
  event_deinit(&v);
  return rc;
}

pawl_code pawl_signal_send(pawl_engine *e, pawl_str json, int64_t *reached,
                           pawl_error *err) {
  return pawl_engine_signal(e, json, reached, NULL, err);
}

/* ---- what was left behind ---- */

typedef struct left {
  pawl_buf source, id;
} left;

static pawl_code find_left(pawl_engine *e, int shard, left list[LEFT_MAX],
                           int *n, pawl_error *err) {
  pawl_rows rows;
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_EVENT_UNROUTED);
  pawl_arg_int(a, PAWL_EVENT_UNROUTED_SHARD, shard);
  pawl_arg_int(a, PAWL_EVENT_UNROUTED_AGE_US, LEFT_AFTER_US);
  pawl_store_arg_now(e->store, a, PAWL_EVENT_UNROUTED_NOW);
  pawl_arg_int(a, PAWL_EVENT_UNROUTED_MAX, LEFT_MAX);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (*n = 0; *n < rows.nrows; (*n)++) {
    left *l = &list[*n];
    pawl_buf_adds(&l->source,
                  pawl_row_str(&rows, *n, PAWL_EVENT_UNROUTED_R_SOURCE));
    pawl_buf_adds(&l->id, pawl_row_str(&rows, *n, PAWL_EVENT_UNROUTED_R_ID));
    TRY(pawl_buf_check(&l->source, err));
    TRY(pawl_buf_check(&l->id, err));
  }
out:
  return rc;
}

static void take_text(pawl_buf *to, int *has, const pawl_rows *rows, int col) {
  *has = !pawl_row_null(rows, 0, col);
  pawl_buf_clear(to);
  pawl_buf_adds(to, pawl_row_str(rows, 0, col));
}

/* *there 0: somebody has routed or forgotten it meanwhile. `data` keeps what
 * the event's slice borrows. */
static pawl_code load_left(pawl_engine *e, int shard, const left *l, event *v,
                           pawl_buf *data, int *there, pawl_error *err) {
  pawl_rows rows;
  int has;
  pawl_code rc = PAWL_OK;

  *there = 0;
  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  TRY(send_event_get(e, shard, pawl_buf_str(&l->source), pawl_buf_str(&l->id),
                     err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, 0, &rows);
  if (!rows.nrows || pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_ROUTED))
    return PAWL_OK;
  take_text(&v->name, &has, &rows, PAWL_EVENT_GET_R_NAME);
  take_text(&v->key, &v->has_key, &rows, PAWL_EVENT_GET_R_KEY);
  take_text(data, &has, &rows, PAWL_EVENT_GET_R_DATA);
  if (has) v->data = pawl_buf_str(data);
  pawl_row_id(&rows, 0, PAWL_EVENT_GET_R_CAME, &v->came);
  v->received_us = pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_RECEIVED_AT);
  v->expires_us = pawl_row_int(&rows, 0, PAWL_EVENT_GET_R_EXPIRES_AT);
  pawl_buf_adds(&v->source, pawl_buf_str(&l->source));
  pawl_buf_adds(&v->id, pawl_buf_str(&l->id));
  v->has_id = 1;
  *there = 1;
  if (v->name.failed || v->key.failed || data->failed || v->source.failed ||
      v->id.failed)
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  return complete(v, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

static pawl_code route_left(pawl_engine *e, int shard, const left *l,
                            pawl_error *err) {
  event v;
  pawl_buf data = {.alloc = &e->alloc};
  int there;
  pawl_code rc = PAWL_OK;

  event_init(&v, &e->alloc);
  TRY(load_left(e, shard, l, &v, &data, &there, err));
  if (there) TRY(route(e, &v, err));
  if (v.reached) e->look_mono_us = 0;
out:
  event_deinit(&v);
  pawl_buf_deinit(&data);
  return rc;
}

static pawl_code prune(pawl_engine *e, int shard, pawl_error *err) {
  pawl_rows rows;
  pawl_args *a = &e->args;
  pawl_args_begin(a, PAWL_STMT_EVENT_PRUNE);
  pawl_arg_int(a, PAWL_EVENT_PRUNE_SHARD, shard);
  pawl_store_arg_now(e->store, a, PAWL_EVENT_PRUNE_NOW);
  pawl_arg_int(a, PAWL_EVENT_PRUNE_MAX, PRUNE_MAX);
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, a, &rows, err);
}

static pawl_code tidy_shard(pawl_engine *e, int shard, pawl_error *err) {
  pawl_error own;
  left list[LEFT_MAX];
  int n = 0;
  pawl_code rc = PAWL_OK;

  if (!err) err = &own;
  memset(list, 0, sizeof list);
  for (int i = 0; i < LEFT_MAX; i++)
    list[i].source.alloc = list[i].id.alloc = &e->alloc;
  TRY(find_left(e, shard, list, &n, err));
  for (int i = 0; i < n; i++) {
    rc = route_left(e, shard, &list[i], err);
    if (rc == PAWL_UNREACHABLE) goto out;
    if (rc != PAWL_OK) /* the next one may do better */
      pawl_log_error(&e->log, PAWL_ERROR, "an event cannot be routed", err);
  }
  TRY(prune(e, shard, err));
out:
  for (int i = 0; i < LEFT_MAX; i++) {
    pawl_buf_deinit(&list[i].source);
    pawl_buf_deinit(&list[i].id);
  }
  return rc;
}

pawl_code pawl_signal_tidy(pawl_engine *e, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  for (int s = 0; s < e->nshards; s++) TRY(tidy_shard(e, s, err));
out:
  return rc;
}
