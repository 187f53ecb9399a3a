/* Messages: what one instance's commit asks of others, handed over after it.
 *
 * Each is harmless when it comes twice, since whoever dies in between leaves
 * it to the next: a child is inserted under an id that its parent has drawn, a
 * letter lies in an inbox under a name of its own. One instance's messages go
 * out in order. What another is told waits in its inbox for the lease's
 * holder, behind the latch, like everything that comes from outside. */
#include <inttypes.h>

#include "../../value/json.h"
#include "../internal.h"
#include "reach.h"

#define PAGE 64
#define CHILDREN 200 /* told to end in one transaction */
#define DELIVER_EVERY_US PAWL_SECOND

typedef struct message {
  pawl_id from, target;
  int64_t seq;
  pawl_buf kind, data;
} message;

static int shard_of(const pawl_engine *e, const pawl_id *id) {
  return pawl_id_route(id) % e->nshards;
}

static pawl_str member(const message *m, const char *name) {
  pawl_str value = {NULL, 0};
  if (m->data.len) (void)pawl_json_get(pawl_buf_str(&m->data), name, &value);
  return value;
}

static int64_t member_int(const message *m, const char *name, int64_t none) {
  pawl_str value = member(m, name);
  int64_t n;
  return value.at && pawl_json_int(value, &n) ? n : none;
}

/* ---- letters ---- */

typedef struct letter {
  const pawl_id *to;
  pawl_id no;
  const char *kind;
  pawl_str event_id, caller, data;
} letter;

/* Into the unit that is open. Nobody there, or nobody alive: nothing. */
static pawl_code send_letter(pawl_engine *e, const letter *l,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_AGENDA_WAKE);
  pawl_arg_int(a, PAWL_AGENDA_WAKE_SHARD, shard_of(e, l->to));
  pawl_arg_id(a, PAWL_AGENDA_WAKE_ID, l->to);
  pawl_store_arg_now(e->store, a, PAWL_AGENDA_WAKE_NOW);
  TRY(pawl_store_send(e->store, a, err));
  pawl_args_begin(a, PAWL_STMT_INBOX_INSERT);
  pawl_arg_int(a, PAWL_INBOX_INSERT_SHARD, shard_of(e, l->to));
  pawl_arg_id(a, PAWL_INBOX_INSERT_ID, l->to);
  pawl_arg_id(a, PAWL_INBOX_INSERT_NO, &l->no);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_KIND, l->kind);
  pawl_arg_str(a, PAWL_INBOX_INSERT_EVENT_ID, l->event_id);
  pawl_arg_textz(a, PAWL_INBOX_INSERT_SOURCE, "system");
  if (l->caller.len) pawl_arg_str(a, PAWL_INBOX_INSERT_CALLER, l->caller);
  pawl_arg_str(a, PAWL_INBOX_INSERT_DATA, l->data);
  pawl_store_arg_now(e->store, a, PAWL_INBOX_INSERT_NOW);
  TRY(pawl_store_send(e->store, a, err));
out:
  return rc;
}

/* The same letter to n instances of one shard, in the order of their ids; when
 * it asks them to end, that is noted with it. */
static pawl_code post(pawl_engine *e, const pawl_id *ids, int n,
                      const letter *like, int ending, pawl_error *err) {
  letter l = *like;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    l.to = &ids[i];
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &l.no, err));
    TRY(send_letter(e, &l, err));
  }
  if (ending) TRY(pawl_reach_note(e, shard_of(e, &ids[0]), ids, n, err));
  TRY(pawl_store_commit(e->store, err));
  e->fresh_ready = 1;
  e->look_mono_us = 0; /* perhaps of a workflow not seen to be ready yet */
  pawl_start_wake(e);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* "child:0190...": by which a letter is known when it comes again. */
static void name_letter(pawl_buf *out, const char *what, const pawl_id *id) {
  char text[37];
  pawl_id_format(id, text);
  pawl_buf_clear(out);
  pawl_buf_addf(out, "%s:%s", what, text);
}

static pawl_code tell_parent(pawl_engine *e, const pawl_id *parent,
                             const pawl_id *child, pawl_str data,
                             pawl_error *err) {
  pawl_buf event_id = {.alloc = &e->alloc};
  letter l = {.kind = "child"};
  pawl_code rc = PAWL_OK;

  name_letter(&event_id, "child", child);
  TRY(pawl_buf_check(&event_id, err));
  l.event_id = pawl_buf_str(&event_id);
  l.data = data;
  TRY(post(e, parent, 1, &l, 0, err));
out:
  pawl_buf_deinit(&event_id);
  return rc;
}

/* ---- a child ---- */

/* What a child has of its parent; `root` and the words stay as they are when
 * the parent is gone. */
typedef struct kin {
  pawl_id root;
  pawl_buf tenant, group;
} kin;

static pawl_code read_kin(pawl_engine *e, const pawl_id *parent, kin *k,
                          pawl_error *err) {
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  k->root = *parent;
  pawl_args_begin(&e->args, PAWL_STMT_INSTANCE_KIN);
  pawl_arg_int(&e->args, PAWL_INSTANCE_KIN_SHARD, shard_of(e, parent));
  pawl_arg_id(&e->args, PAWL_INSTANCE_KIN_ID, parent);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  if (!pawl_row_null(&rows, 0, PAWL_INSTANCE_KIN_R_ROOT))
    pawl_row_id(&rows, 0, PAWL_INSTANCE_KIN_R_ROOT, &k->root);
  pawl_buf_adds(&k->tenant,
                pawl_row_str(&rows, 0, PAWL_INSTANCE_KIN_R_TENANT));
  pawl_buf_adds(&k->group,
                pawl_row_str(&rows, 0, PAWL_INSTANCE_KIN_R_EXECUTOR_GROUP));
out:
  return rc;
}

static void add_option(pawl_buf *b, pawl_str given, const char *name,
                       const pawl_buf *word) {
  pawl_str value;
  if (!word->len || (given.at && pawl_json_get(given, name, &value) &&
                     pawl_json_kind_of(value) != PAWL_JSON_NULL))
    return;
  pawl_buf_addf(b, ",\"%s\":", name);
  pawl_json_add_string(b, pawl_buf_str(word));
}

/* The options of pawl_start: those given, and what the parent decides. */
static void child_options(const message *m, const kin *k, pawl_buf *b) {
  pawl_str given = member(m, "options"), key, value;
  int64_t version = member_int(m, "version", 0);
  pawl_json_iter it = {0};
  char id[37];

  pawl_id_format(&m->target, id);
  pawl_buf_addf(b, "{\"id\":\"%s\"", id);
  if (version) pawl_buf_addf(b, ",\"version\":%" PRId64, version);
  add_option(b, given, "tenant", &k->tenant);
  add_option(b, given, "group", &k->group);
  while (given.at && pawl_json_each(given, &it, &key, &value)) {
    if (pawl_json_kind_of(value) == PAWL_JSON_NULL ||
        pawl_str_eqz(key, "id") || (version && pawl_str_eqz(key, "version")))
      continue;
    pawl_buf_addz(b, ",\"");
    pawl_buf_adds(b, key);
    pawl_buf_addz(b, "\":");
    pawl_buf_adds(b, value);
  }
  pawl_buf_addc(b, '}');
}

/* It will never start, or its result can never come: its parent hears of it as
 * of one that has failed. */
static pawl_code tell_refused(pawl_engine *e, const message *m,
                              const pawl_id *parent, const pawl_id *child,
                              const pawl_error *why, pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc}, error = {.alloc = &e->alloc};
  int64_t index = member_int(m, "index", -1);
  pawl_str node = member(m, "node");
  char id[37];
  pawl_code rc = PAWL_OK;

  pawl_id_format(child, id);
  pawl_plan_error(&error, why, pawl_strz(NULL));
  pawl_buf_addf(&data,
                "{\"child\":\"%s\",\"status\":\"failed\",\"token\":%" PRId64
                ",\"visit\":%" PRId64 ",\"node\":",
                id, member_int(m, "token", 0), member_int(m, "visit", 0));
  pawl_buf_adds(&data, node.at ? node : pawl_strz("null"));
  if (index >= 0) pawl_buf_addf(&data, ",\"index\":%" PRId64, index);
  pawl_buf_addz(&data, ",\"output\":null,\"error\":");
  pawl_buf_adds(&data, pawl_buf_str(&error));
  pawl_buf_addc(&data, '}');
  TRY(pawl_buf_check(&error, err));
  TRY(pawl_buf_check(&data, err));
  TRY(tell_parent(e, parent, child, pawl_buf_str(&data), err));
out:
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&error);
  return rc;
}

static pawl_code start_child(pawl_engine *e, const message *m,
                             pawl_error *err) {
  kin k = {.tenant = {.alloc = &e->alloc}, .group = {.alloc = &e->alloc}};
  pawl_buf code = {.alloc = &e->alloc}, node = {.alloc = &e->alloc};
  pawl_buf options = {.alloc = &e->alloc};
  pawl_origin origin = {.parent = &m->from,
                        .root = &k.root,
                        .parent_token = member_int(m, "token", 0),
                        .parent_visit = member_int(m, "visit", 0),
                        .parent_index = member_int(m, "index", -1)};
  int tracked = pawl_json_kind_of(member(m, "track")) != PAWL_JSON_FALSE;
  int created;
  pawl_error why;
  pawl_id id;
  pawl_code rc = PAWL_OK;

  TRY(read_kin(e, &m->from, &k, err));
  pawl_json_unquote(member(m, "workflow"), &code);
  if (member(m, "node").at) pawl_json_unquote(member(m, "node"), &node);
  origin.parent_node = node.len ? node.at : NULL;
  origin.parent_end =
      pawl_str_eqz(member(m, "parent_end"), "\"leave\"") ? "leave" : "cancel";
  child_options(m, &k, &options);
  TRY(pawl_buf_check(&code, err));
  TRY(pawl_buf_check(&node, err));
  TRY(pawl_buf_check(&options, err));
  rc = pawl_start_from(e, code.at ? code.at : "", member(m, "input"),
                       pawl_buf_str(&options), tracked ? &origin : NULL, &id,
                       &created, &why);
  if (rc == PAWL_OK) {
    e->fresh_ready = 1;
    e->look_mono_us = 0;
  } else if (!pawl_code_is_final(rc, &why)) {
    if (err) *err = why;
  } else {
    pawl_log_error(&e->log, PAWL_WARN, "a child was not started", &why);
    rc = tracked ? tell_refused(e, m, &m->from, &m->target, &why, err)
                 : PAWL_OK;
  }
out:
  pawl_buf_deinit(&k.tenant);
  pawl_buf_deinit(&k.group);
  pawl_buf_deinit(&code);
  pawl_buf_deinit(&node);
  pawl_buf_deinit(&options);
  return rc;
}

/* ---- ending children ---- */

/* Asks some instances to end, because m's sender wants it so: what it says of
 * why and how goes with it. */
static pawl_code post_cancel(pawl_engine *e, const message *m,
                             const pawl_id *ids, int n, pawl_error *err) {
  pawl_buf event_id = {.alloc = &e->alloc}, data = {.alloc = &e->alloc};
  pawl_buf by = {.alloc = &e->alloc};
  pawl_str reason = member(m, "reason"), event = member(m, "event_id");
  pawl_str compensate = member(m, "compensate");
  int killed = pawl_json_kind_of(member(m, "killed")) == PAWL_JSON_TRUE;
  letter l = {.kind = killed ? "kill" : "cancel"};
  pawl_code rc = PAWL_OK;

  name_letter(&event_id, "parent", &m->from);
  pawl_buf_addz(&data, "{\"reason\":");
  pawl_buf_adds(&data, reason.at ? reason : pawl_strz("null"));
  if (event.at) {
    pawl_buf_addz(&data, ",\"event_id\":");
    pawl_buf_adds(&data, event);
  }
  if (compensate.at && !killed) {
    pawl_buf_addz(&data, ",\"compensate\":");
    pawl_buf_adds(&data, compensate);
  }
  pawl_buf_addc(&data, '}');
  if (member(m, "by").at) pawl_json_unquote(member(m, "by"), &by);
  TRY(pawl_buf_check(&event_id, err));
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_buf_check(&by, err));
  l.event_id = pawl_buf_str(&event_id);
  l.caller = pawl_buf_str(&by);
  l.data = pawl_buf_str(&data);
  TRY(post(e, ids, n, &l, 1, err));
out:
  pawl_buf_deinit(&event_id);
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&by);
  return rc;
}

static pawl_code end_children_of(pawl_engine *e, const message *m, int shard,
                                 pawl_error *err) {
  pawl_id ids[CHILDREN], after = {{0}};
  int64_t token = member_int(m, "token", 0);
  pawl_rows rows;
  pawl_code rc = PAWL_OK;
  int n = CHILDREN;

  while (n == CHILDREN) {
    pawl_args *a = &e->args;
    pawl_args_begin(a, PAWL_STMT_INSTANCE_CHILDREN);
    pawl_arg_int(a, PAWL_INSTANCE_CHILDREN_SHARD, shard);
    pawl_arg_id(a, PAWL_INSTANCE_CHILDREN_PARENT, &m->from);
    if (token) pawl_arg_int(a, PAWL_INSTANCE_CHILDREN_TOKEN, token);
    pawl_arg_id(a, PAWL_INSTANCE_CHILDREN_AFTER, &after);
    pawl_arg_int(a, PAWL_INSTANCE_CHILDREN_MAX, CHILDREN);
    TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
    n = rows.nrows;
    for (int i = 0; i < n; i++)
      pawl_row_id(&rows, i, PAWL_INSTANCE_CHILDREN_R_ID, &ids[i]);
    if (!n) break;
    TRY(post_cancel(e, m, ids, n, err));
    after = ids[n - 1];
  }
out:
  return rc;
}

/* ---- delivering ---- */

/* A child's result that nobody can store: why not is told in its place, or its
 * parent would wait for ever. */
static pawl_code tell_result(pawl_engine *e, const message *m,
                             pawl_error *err) {
  pawl_error why;
  pawl_code rc =
      tell_parent(e, &m->target, &m->from, pawl_buf_str(&m->data), &why);

  if (rc == PAWL_OK) return rc;
  if (!pawl_code_is_final(rc, &why)) {
    *err = why;
    return rc;
  }
  pawl_log_error(&e->log, PAWL_ERROR, "a child's result cannot be delivered",
                 &why);
  return tell_refused(e, m, &m->target, &m->from, &why, err);
}

static pawl_code hand_over(pawl_engine *e, const message *m, pawl_error *err) {
  pawl_str kind = pawl_buf_str(&m->kind);
  int64_t reached;
  pawl_code rc = PAWL_OK;

  if (pawl_str_eqz(kind, "start")) return start_child(e, m, err);
  if (pawl_str_eqz(kind, "result")) return tell_result(e, m, err);
  if (pawl_str_eqz(kind, "cancel"))
    return post_cancel(e, m, &m->target, 1, err);
  if (pawl_str_eqz(kind, "signal"))
    return pawl_signal_send(e, pawl_buf_str(&m->data), &reached, err);
  if (pawl_str_eqz(kind, "end_children")) {
    for (int s = 0; s < e->nshards; s++) TRY(end_children_of(e, m, s, err));
    return PAWL_OK;
  }
  return pawl_fail(err, PAWL_CORRUPT, "a message of the kind \"%.*s\"",
                   (int)kind.len, kind.at);
out:
  return rc;
}

static pawl_code list_page(pawl_engine *e, int shard, const message *last,
                           message *page, int *n, pawl_error *err) {
  static const pawl_id first;
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_MESSAGE_LIST);
  pawl_arg_int(a, PAWL_MESSAGE_LIST_SHARD, shard);
  pawl_arg_id(a, PAWL_MESSAGE_LIST_AFTER, last ? &last->from : &first);
  pawl_arg_int(a, PAWL_MESSAGE_LIST_AFTER_SEQ, last ? last->seq : 0);
  pawl_arg_int(a, PAWL_MESSAGE_LIST_MAX, PAGE);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  *n = rows.nrows;
  for (int k = 0; k < *n; k++) {
    message *m = &page[k];
    pawl_row_id(&rows, k, PAWL_MESSAGE_LIST_R_INSTANCE, &m->from);
    pawl_row_id(&rows, k, PAWL_MESSAGE_LIST_R_TARGET, &m->target);
    m->seq = pawl_row_int(&rows, k, PAWL_MESSAGE_LIST_R_SEQ);
    pawl_buf_clear(&m->kind);
    pawl_buf_clear(&m->data);
    pawl_buf_adds(&m->kind, pawl_row_str(&rows, k, PAWL_MESSAGE_LIST_R_KIND));
    pawl_buf_adds(&m->data, pawl_row_str(&rows, k, PAWL_MESSAGE_LIST_R_DATA));
    TRY(pawl_buf_check(&m->kind, err));
    TRY(pawl_buf_check(&m->data, err));
  }
out:
  return rc;
}

static pawl_code delete_messages(pawl_engine *e, int shard,
                                 const message *page, int n, pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_MESSAGE_DELETE);
  pawl_arg_int(&e->args, PAWL_MESSAGE_DELETE_SHARD, shard);
  for (int k = 0; k < n; k++) {
    pawl_arg_id(&e->args, PAWL_MESSAGE_DELETE_ID, &page[k].from);
    pawl_arg_int(&e->args, PAWL_MESSAGE_DELETE_SEQ, page[k].seq);
  }
  if (!n) return PAWL_OK;
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, &rows, err);
}

/* It failed for a reason that is not its own. */
static void log_kept(pawl_engine *e, const message *m, const pawl_error *why) {
  pawl_error told = *why;
  char from[37];

  pawl_id_format(&m->from, from);
  pawl_error_prefix(&told, "message %" PRId64 " of %s (%.*s)", m->seq, from,
                    (int)m->kind.len, m->kind.at ? m->kind.at : "");
  pawl_log_error(&e->log, PAWL_ERROR,
                 "a message is kept and will be delivered later", &told);
}

/* One page, in order. What can never be delivered is told and dropped: behind
 * it others wait. All else that fails stays, and what is behind it; *kept when
 * that is no failure of the store as a whole. */
static pawl_code deliver_page(pawl_engine *e, int shard, const message *page,
                              int n, int *kept, pawl_error *err) {
  pawl_error second;
  pawl_code rc = PAWL_OK, last;
  int done = 0;

  for (; done < n; done++) {
    *err = (pawl_error){0};
    rc = hand_over(e, &page[done], err);
    if (rc == PAWL_OK) continue;
    if (!pawl_code_is_final(rc, err)) break;
    pawl_log_error(&e->log, PAWL_ERROR, "a message cannot be delivered", err);
    rc = PAWL_OK;
  }
  if (rc != PAWL_OK && rc != PAWL_INTERRUPTED && !pawl_code_is_transient(rc)) {
    log_kept(e, &page[done], err);
    *kept = 1;
    rc = PAWL_OK;
  }
  last = delete_messages(e, shard, page, done, rc == PAWL_OK ? err : &second);
  return rc == PAWL_OK ? last : rc;
}

/* A message that is kept holds up what is behind it in its shard, and nobody
 * else. */
static pawl_code deliver_shard(pawl_engine *e, int shard, message *page,
                               pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int n = PAGE, kept = 0;

  for (const message *last = NULL; n == PAGE && !kept; last = &page[n - 1]) {
    TRY(list_page(e, shard, last, page, &n, err));
    pawl_store_stay(e->store, 1); /* they are this store's, and no other's */
    rc = deliver_page(e, shard, page, n, &kept, err);
    pawl_store_stay(e->store, 0);
    if (rc != PAWL_OK) goto out;
    TRY(pawl_claim_renew(e, 0, err)); /* children may be many */
    if (!n) break;
  }
  if (kept) e->deliver_pause = 1;
out:
  return rc;
}

pawl_code pawl_deliver(pawl_engine *e, pawl_error *err) {
  message page[PAGE];
  pawl_error own;
  pawl_code rc = PAWL_OK;

  if (e->deliver_pause && pawl_clock_mono() < e->deliver_mono_us)
    return PAWL_OK;
  if (!err) err = &own;
  memset(page, 0, sizeof page);
  for (int k = 0; k < PAGE; k++)
    page[k].kind.alloc = page[k].data.alloc = &e->alloc;
  e->deliver_mono_us = pawl_clock_mono() + DELIVER_EVERY_US;
  e->deliver_pause = 0;
  for (int s = 0; s < e->nshards; s++) TRY(deliver_shard(e, s, page, err));
  e->messages = 0;
out:
  for (int k = 0; k < PAGE; k++) {
    pawl_buf_deinit(&page[k].kind);
    pawl_buf_deinit(&page[k].data);
  }
  if (rc == PAWL_BUSY) rc = PAWL_OK; /* the next round tries again */
  return rc;
}
