/* Messages: what one instance's commit asks of others, handed over after it.
 *
 * Each is harmless when it comes twice, since whoever dies in between leaves
 * it to the next: a child is inserted under an id that its parent has drawn, a
 * letter lies in an inbox under a name of its own. One instance's messages go
 * out in order. What another is told waits in its inbox for the lease's
 * holder, behind the latch, like everything that comes from outside.
 *
 * Neighbours of a kind go out together: the children that a commit has started,
 * and what many have to tell, are one transaction for each shard they go to.
 * Nothing else follows from that: what fails for one is done again for each by
 * itself, and messages are deleted once their page is through. */
#include "deliver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/fault.h"
#include "../../rules/stored.h"
#include "../../value/json.h"
#include "../../value/object.h"
#include "../common/chore.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "../enter/enter.h"
#include "births.h"
#include "budget.h"
#include "claim.h"

#define PAGE 64
#define CHILDREN 200 /* told to end in one transaction */
#define DELIVER_EVERY_US PAWL_SECOND

typedef pawl_message_row message;

static pawl_str member(const message *m, const char *name) {
  return pawl_message_member(m, name);
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
  pawl_str event_id, by, data;
} letter;

/* Into the unit that is open, a wake-up before its letters. Nobody there, or
 * nobody alive: nothing. */
static pawl_code wake(pawl_engine *e, const pawl_id *to, pawl_error *err) {
  return PAWL_SEND(e->store, agenda_wake, NULL, err,
                   .shard = pawl_shard_of(e, to), .id = to,
                   .now = pawl_store_now(e->store));
}

static pawl_code put_letter(pawl_engine *e, const letter *l, pawl_error *err) {
  return PAWL_SEND(e->store, inbox_insert, NULL, err,
                   .shard = pawl_shard_of(e, l->to), .id = l->to, .no = &l->no,
                   .kind = pawl_strz(l->kind), .event_id = l->event_id,
                   .source = pawl_strz("system"),
                   .by = l->by.len ? l->by : (pawl_str){NULL, 0},
                   .data = l->data, .now = pawl_store_now(e->store));
}

/* Whoever is asked to end may be one that nobody serves: reach.h. */
static pawl_code note_ending(pawl_engine *e, int shard, const pawl_id *ids,
                             int n, pawl_error *err) {
  pawl_args *a = &e->args;

  const int64_t now = pawl_store_now(e->store);
  pawl_str group = pawl_buf_str(&e->group);

  /* where no tick will follow, ours are not served either */
  if (e->holding) group.at = NULL;
  pawl_args_begin(a, PAWL_STMT_ending_insert);
  for (int i = 0; i < n; i++)
    PAWL_PUT(a, ending_insert, .shard = shard, .id = &ids[i],
             .executor_group = group, .grace_us = PAWL_ENDING_GRACE_US,
             .now = now);
  e->reach_look_us = -1;
  return pawl_store_send(e->store, a, NULL, err);
}

static void posted(pawl_engine *e) {
  e->fresh_ready = 1;
  e->look_mono_us = 0; /* perhaps of a workflow not seen to be ready yet */
  pawl_wake(e);
}

/* The same letter to n instances of one shard, in the order of their ids; when
 * it asks them to end, that is noted with it. */
static pawl_code post(pawl_engine *e, const pawl_id *ids, int n,
                      const letter *like, int ending, pawl_error *err) {
  letter l = *like;
  pawl_code rc = PAWL_OK;

  assert(n > 0 && n <= CHILDREN &&
         l.event_id.len); /* known when it comes again */
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++) {
    l.to = &ids[i];
    assert(i == 0 || pawl_id_cmp(&ids[i - 1], &ids[i]) < 0);     /* S2 */
    assert(pawl_shard_of(e, l.to) == pawl_shard_of(e, &ids[0])); /* S3 */
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &l.no, err));
    TRY(wake(e, l.to, err));
    TRY(put_letter(e, &l, err));
  }
  if (ending) TRY(note_ending(e, pawl_shard_of(e, &ids[0]), ids, n, err));
  TRY(pawl_store_commit(e->store, err));
  posted(e);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

/* "child:0190...": by which a letter is known when it comes again. */
static pawl_str name_letter(char name[48], const char *what,
                            const pawl_id *id) {
  char text[37];
  pawl_id_format(id, text);
  (void)snprintf(name, 48, "%s:%s", what, text);
  return pawl_strz(name);
}

static pawl_code tell_parent(pawl_engine *e, const pawl_id *parent,
                             const pawl_id *child, pawl_str data,
                             pawl_error *err) {
  char name[48];
  const letter l = {.kind = "child",
                    .event_id = name_letter(name, "child", child),
                    .data = data};
  return post(e, parent, 1, &l, 0, err);
}

/* What a child escalates, to the token of its parent that waits for it; known
 * by who said it, on whose way it may be passed on by others. */
static pawl_code tell_escalation(pawl_engine *e, const message *m,
                                 pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  pawl_buf_addz(&name, "escalation:");
  pawl_json_unquote(member(m, "source"), &name);
  pawl_buf_addc(&name, ':');
  pawl_json_unquote(member(m, "id"), &name);
  TRY(pawl_buf_check(&name, err));
  const letter l = {
      .kind = "child", .event_id = pawl_buf_str(&name), .data = m->data};
  TRY(post(e, m->target, 1, &l, 0, err));
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* ---- a child ---- */

/* It will never start, or its result can never come: its parent hears of it as
 * of one that has failed. */
static pawl_code tell_refused(pawl_engine *e, const message *m,
                              const pawl_id *parent, const pawl_id *child,
                              const pawl_error *why, pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc}, error = {.alloc = &e->alloc};
  pawl_str place = member(m, "place"); /* a result has that as its own */
  pawl_object o;
  pawl_code rc = PAWL_OK;

  pawl_plan_error(&error, why, NULL);
  pawl_object_begin(&o, &data);
  pawl_member_id(&o, "child", child);
  pawl_member_textz(&o, "status", "failed");
  pawl_place_tell(place.at ? place : m->data, &o);
  pawl_member_null(&o, "output");
  pawl_member_json(&o, "error", pawl_buf_str(&error));
  pawl_object_end(&o);
  TRY(pawl_buf_check(&error, err));
  TRY(pawl_buf_check(&data, err));
  TRY(tell_parent(e, parent, child, pawl_buf_str(&data), err));
out:
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&error);
  return rc;
}

/* Nobody waits for what a failure starts: that it did not is written into the
 * history of the one that failed, once, however often it is tried: the note's
 * number is the id that it would have had. */
static pawl_code note_refused(pawl_engine *e, const message *m,
                              const pawl_error *why, pawl_error *err) {
  const int shard = pawl_shard_of(e, m->instance);
  const int64_t now = pawl_store_now(e->store);
  pawl_buf text = {.alloc = &e->alloc}, data = {.alloc = &e->alloc};
  pawl_object o;
  pawl_code rc = PAWL_OK;

  pawl_buf_addf(&text, "on_failure started nothing: %s", why->message);
  pawl_object_begin(&o, &data);
  pawl_member_str(&o, "text", pawl_buf_str(&text));
  pawl_object_end(&o);
  TRY(pawl_buf_check(&text, err));
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, agenda_revive, NULL, err, .shard = shard,
                .id = m->instance, .now = now, .completed = 1,
                .cancelled = 1));
  TRY(PAWL_SEND(e->store, inbox_insert_again, NULL, err, .shard = shard,
                .id = m->instance, .no = m->target, .kind = pawl_strz("note"),
                .source = pawl_strz("system"), .by = pawl_strz("on_failure"),
                .data = pawl_buf_str(&data), .now = now));
  TRY(pawl_store_commit(e->store, err));
  e->fresh_ready = 1;
  e->look_mono_us = 0;
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  pawl_buf_deinit(&text);
  pawl_buf_deinit(&data);
  return rc;
}

static int is_for_failure(const message *m) {
  return pawl_json_kind_of(member(m, "on_failure")) == PAWL_JSON_TRUE;
}

static pawl_code start_child(pawl_engine *e, const message *m,
                             pawl_error *err) {
  pawl_error why;
  pawl_code rc = pawl_birth(e, m, &why);

  if (rc == PAWL_OK) return rc;
  if (!pawl_code_is_final(rc, &why)) {
    *err = why;
    return rc;
  }
  pawl_log_error(&e->log, PAWL_WARN, "a child was not started", &why);
  return pawl_birth_is_tracked(m)
             ? tell_refused(e, m, m->instance, m->target, &why, err)
         : is_for_failure(m) ? note_refused(e, m, &why, err)
                             : PAWL_OK;
}

/* ---- ending children ---- */

/* Asks some instances to end, because m's sender wants it so: what it says of
 * why and how goes with it. */
static pawl_code post_cancel(pawl_engine *e, const message *m,
                             const pawl_id *ids, int n, pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc}, by = {.alloc = &e->alloc};
  pawl_str reason = member(m, "reason"), event = member(m, "event_id");
  pawl_str compensate = member(m, "compensate");
  int killed = pawl_json_kind_of(member(m, "killed")) == PAWL_JSON_TRUE;
  char name[48];
  letter l = {.kind = killed ? "kill" : "cancel",
              .event_id = name_letter(name, "parent", m->instance)};
  pawl_code rc = PAWL_OK;

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
  TRY(pawl_buf_check(&data, err));
  TRY(pawl_buf_check(&by, err));
  l.by = pawl_buf_str(&by);
  l.data = pawl_buf_str(&data);
  TRY(post(e, ids, n, &l, 1, err));
out:
  pawl_buf_deinit(&data);
  pawl_buf_deinit(&by);
  return rc;
}

static pawl_code end_children_of(pawl_engine *e, const message *m, int shard,
                                 pawl_error *err) {
  pawl_id ids[CHILDREN], after = {{0}};
  int64_t token = member_int(m, "token", 0);
  pawl_rows rows;
  int n = CHILDREN;

  while (n == CHILDREN) {
    MUST(PAWL_READ(e->store, instance_children, &rows, err, .shard = shard,
                   .parent = m->instance, .token = token, .after = &after,
                   .max = CHILDREN));
    n = rows.nrows;
    for (int i = 0; i < n; i++)
      ids[i] = *pawl_read_instance_children(&rows, i).id;
    if (!n) break;
    MUST(post_cancel(e, m, ids, n, err));
    after = ids[n - 1];
  }
  return PAWL_OK;
}

/* ---- delivering ---- */

/* A child's result that nobody can store: why not is told in its place, or its
 * parent would wait for ever. */
static pawl_code tell_result(pawl_engine *e, const message *m,
                             pawl_error *err) {
  pawl_error why;
  pawl_code rc = tell_parent(e, m->target, m->instance, m->data, &why);

  if (rc == PAWL_OK) return rc;
  if (!pawl_code_is_final(rc, &why)) {
    *err = why;
    return rc;
  }
  pawl_log_error(&e->log, PAWL_ERROR, "a child's result cannot be delivered",
                 &why);
  return tell_refused(e, m, m->target, m->instance, &why, err);
}

/* Of its sender's tenant. */
static pawl_code hand_signal(pawl_engine *e, const message *m,
                             pawl_error *err) {
  pawl_kin k;
  pawl_str tenant;
  int64_t reached;
  pawl_code rc = PAWL_OK;

  pawl_kin_init(e, &k);
  TRY(pawl_kin_read(e, m->instance, &k, err));
  tenant = pawl_buf_str(&k.tenant);
  rc = pawl_engine_signal(e, m->data, &tenant, &reached, NULL, err);
out:
  pawl_kin_deinit(&k);
  return rc;
}

static pawl_code hand_over(pawl_engine *e, const message *m, pawl_error *err) {
  pawl_str kind = m->kind;

  if (pawl_str_eqz(kind, "start")) return start_child(e, m, err);
  if (pawl_str_eqz(kind, "result")) return tell_result(e, m, err);
  if (pawl_str_eqz(kind, "cancel"))
    return post_cancel(e, m, m->target, 1, err);
  if (pawl_str_eqz(kind, "signal")) return hand_signal(e, m, err);
  if (pawl_str_eqz(kind, "escalation")) return tell_escalation(e, m, err);
  if (pawl_str_eqz(kind, "end_children")) {
    for (int s = 0; s < e->nshards; s++) MUST(end_children_of(e, m, s, err));
    return PAWL_OK;
  }
  return pawl_fail(err, PAWL_CORRUPT, "a message of the kind \"%.*s\"",
                   (int)kind.len, kind.at);
}

/* The page behind `last`, which may be a row of the one before. */
static pawl_code list_page(pawl_engine *e, int shard, const message *last,
                           pawl_buf *page, int *n, pawl_error *err) {
  static const pawl_id first;
  pawl_rows rows;

  MUST(PAWL_READ(e->store, message_list, &rows, err, .shard = shard,
                 .after = last ? last->instance : &first,
                 .after_seq = last ? last->seq : 0, .max = PAGE));
  *n = rows.nrows;
  assert(*n <= PAGE);
  return PAWL_KEEP(message_list, &rows, page, err);
}

static pawl_code delete_messages(pawl_engine *e, int shard,
                                 const message *page, int n, pawl_error *err) {
  pawl_args_begin(&e->args, PAWL_STMT_message_delete);
  for (int k = 0; k < n; k++) {
    PAWL_PUT(&e->args, message_delete, .shard = shard, .id = page[k].instance,
             .seq = page[k].seq);
  }
  if (!n) return PAWL_OK;
  return pawl_store_once(e->store, PAWL_UNIT_BATCH, &e->args, NULL, err);
}

/* ---- together ---- */

#define TOGETHER_BYTES (1024 * 1024) /* of what goes out at once */

/* May the two go out in one transaction? */
static int may_join(const message *m, const message *other) {
  if (!pawl_str_eq(m->kind, other->kind)) return 0;
  return pawl_str_eqz(m->kind, "result") ||
         (pawl_str_eqz(m->kind, "start") && pawl_birth_may_join(m) &&
          pawl_birth_may_join(other));
}

/* How many there may be of a tick's budget: what they take is measured, from
 * one on. */
static int most_together(pawl_engine *e) {
  const pawl_budget *b = &e->budget;

  if (!b->is_on || b->until_mono_us == PAWL_NEVER) return PAGE;
  if (!e->deliver_cost.seen) return 1;
  const int n = pawl_cost_fits(&e->deliver_cost,
                               b->until_mono_us - pawl_clock_mono(), PAGE);
  return n > 1 ? n : 1;
}

/* How many of the first ones go out together. */
static int count_together(pawl_engine *e, const message *page, int n) {
  const int most = most_together(e);
  size_t bytes = page->data.len;
  int k = 1;

  while (k < n && k < most && may_join(page, &page[k]) &&
         (bytes += page[k].data.len) <= TOGETHER_BYTES)
    k++;
  return k;
}

static int by_target(const void *a, const void *b) {
  const message *x = *(const message *const *)a;
  const message *y = *(const message *const *)b;
  const int order = pawl_id_cmp(x->target, y->target);
  return order ? order : (x > y) - (x < y); /* of one page */
}

/* Results of children, into their parents' inboxes: each parent is waked once,
 * in the order of their ids (S2). */
static pawl_code post_results(pawl_engine *e, const message **list, int n,
                              pawl_error *err) {
  char names[PAGE][48];
  pawl_code rc = PAWL_OK;

  assert(n > 0 && n <= PAGE);
  qsort(list, (size_t)n, sizeof *list, by_target);
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  for (int i = 0; i < n; i++)
    if (!i || !pawl_id_eq(list[i]->target, list[i - 1]->target))
      TRY(wake(e, list[i]->target, err));
  for (int i = 0; i < n; i++) {
    letter l = {.to = list[i]->target,
                .kind = "child",
                .event_id = name_letter(names[i], "child", list[i]->instance),
                .data = list[i]->data};
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &l.no, err));
    TRY(put_letter(e, &l, err));
  }
  TRY(pawl_store_commit(e->store, err));
  posted(e);
out:
  if (rc != PAWL_OK) pawl_store_rollback(e->store);
  return rc;
}

static pawl_code start_children(pawl_engine *e, const message **list, int n,
                                pawl_error *err) {
  unsigned char born[PAGE];

  MUST(pawl_births(e, list, n, born, err));
  for (int i = 0; i < n; i++)
    if (!born[i]) MUST(start_child(e, list[i], err)); /* it tells why not */
  return PAWL_OK;
}

/* What can never be delivered is told, and dropped. */
static pawl_code hand_over_one(pawl_engine *e, const message *m,
                               pawl_error *err) {
  pawl_code rc = hand_over(e, m, err);

  if (rc == PAWL_OK || !pawl_code_is_final(rc, err)) return rc;
  pawl_log_error(&e->log, PAWL_ERROR, "a message cannot be delivered", err);
  return PAWL_OK;
}

/* Of one kind, to one shard (S3). */
static pawl_code hand_over_some(pawl_engine *e, const message **list, int n,
                                pawl_error *err) {
  if (n == 1) return hand_over_one(e, list[0], err);
  return pawl_str_eqz(list[0]->kind, "start") ? start_children(e, list, n, err)
                                              : post_results(e, list, n, err);
}

static pawl_code hand_over_together(pawl_engine *e, const message *run, int n,
                                    pawl_error *err) {
  const message *some[PAGE];
  unsigned char done[PAGE] = {0};

  for (int i = 0; i < n; i++) {
    int k = 0;
    for (int j = i; j < n; j++) {
      if (done[j] ||
          pawl_shard_of(e, run[j].target) != pawl_shard_of(e, run[i].target))
        continue;
      done[j] = 1;
      some[k++] = &run[j];
    }
    if (k) MUST(hand_over_some(e, some, k, err));
  }
  return PAWL_OK;
}

/* ---- pages ---- */

/* It failed for a reason that is not its own. */
static void log_kept(pawl_engine *e, const message *m, const pawl_error *why) {
  pawl_error told = *why;
  char from[37];

  pawl_id_format(m->instance, from);
  pawl_error_prefix(&told, "message %" PRId64 " of %s (%.*s)", m->seq, from,
                    (int)m->kind.len, m->kind.at ? m->kind.at : "");
  pawl_log_error(&e->log, PAWL_ERROR,
                 "a message is kept and will be delivered later", &told);
}

/* One of them is at fault, and not the store as a whole: which, shows when each
 * goes out by itself. */
static int is_of_one(pawl_code rc) {
  return rc != PAWL_OK && rc != PAWL_INTERRUPTED &&
         !pawl_code_is_transient(rc);
}

/* In order, as far as there is time, some at least: *done of them. */
static pawl_code hand_over_page(pawl_engine *e, const message *page, int n,
                                int *done, pawl_error *err) {
  int apart = 0;
  pawl_code rc = PAWL_OK;

  for (*done = 0; *done < n && rc == PAWL_OK;) {
    e->deliver_more = *done && pawl_budget_is_over(e);
    if (e->deliver_more) break;
    const int64_t began = pawl_clock_mono();
    const int k =
        *done < apart ? 1 : count_together(e, page + *done, n - *done);
    *err = (pawl_error){0};
    rc = k > 1 ? hand_over_together(e, page + *done, k, err)
               : hand_over_one(e, page + *done, err);
    (void)PAWL_FAULT("engine.deliver.handed");
    pawl_cost_add(&e->deliver_cost, k, pawl_clock_mono() - began);
    if (rc == PAWL_OK) {
      *done += k;
    } else if (k > 1 && is_of_one(rc)) {
      apart = *done + k;
      rc = PAWL_OK;
    }
  }
  return rc;
}

/* One page. What fails otherwise stays, and what is behind it; *kept when that
 * is no failure of the store as a whole. */
static pawl_code deliver_page(pawl_engine *e, int shard, const message *page,
                              int n, int *kept, pawl_error *err) {
  pawl_error second;
  int done;
  pawl_code rc = hand_over_page(e, page, n, &done, err), last;

  if (is_of_one(rc)) {
    log_kept(e, &page[done], err);
    *kept = 1;
    rc = PAWL_OK;
  }
  assert(done <= n);
  last = delete_messages(e, shard, page, done, rc == PAWL_OK ? err : &second);
  return rc == PAWL_OK ? last : rc;
}

/* A message that is kept holds up what is behind it in its shard, and nobody
 * else. */
static pawl_code deliver_shard(pawl_engine *e, int shard, pawl_buf *page,
                               pawl_error *err) {
  const message *last = NULL;
  int n = PAGE, kept = 0;
  pawl_code rc;

  while (n == PAGE && !kept && !e->deliver_more) {
    MUST(list_page(e, shard, last, page, &n, err));
    const message *list = PAWL_KEPT(message_list, page);
    pawl_store_stay(e->store, 1); /* they are this store's, and no other's */
    rc = deliver_page(e, shard, list, n, &kept, err);
    pawl_store_stay(e->store, 0);
    if (rc != PAWL_OK) return rc;
    MUST(pawl_claim_heartbeat(e, 0, err)); /* children may be many */
    if (n) last = &list[n - 1];
  }
  if (kept) e->deliver_pause = 1;
  return PAWL_OK;
}

pawl_code pawl_deliver(pawl_engine *e, pawl_error *err) {
  pawl_buf page = {.alloc = &e->alloc};
  int at_once = !e->deliver_mono_us;
  pawl_code rc = PAWL_OK;

  assert(!e->deliver_pause || pawl_clock_mono() >= e->deliver_mono_us);
  e->deliver_mono_us = pawl_clock_mono() + DELIVER_EVERY_US;
  e->deliver_pause = e->deliver_more = 0;
  for (int i = 0; i < e->nshards && !e->deliver_more; i++) {
    const int s = (e->deliver_shard + i) % e->nshards;
    TRY(deliver_shard(e, s, &page, err));
    if (e->deliver_more) e->deliver_shard = (s + 1) % e->nshards;
  }
  if (e->deliver_more) e->deliver_mono_us = 0;
out:
  if (rc != PAWL_OK && at_once && !e->deliver_pause) e->deliver_mono_us = 0;
  pawl_buf_deinit(&page);
  return rc == PAWL_BUSY ? PAWL_OK : rc; /* the next round tries again */
}
