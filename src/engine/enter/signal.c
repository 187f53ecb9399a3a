/* Events from outside: stored first, then handed to whoever waits (rule 5).
 *
 *   to everybody   a row of `event`, committed as not posted; then, shard by
 *                  shard and in batches, into the inboxes of all that wait for
 *                  it, or of those of which one takes it into one's
 *                  (assign.h); then it is marked as posted. A wait that begins
 *                  meanwhile looks among the events after its own commit, so
 *                  one of the two sides sees the other. Workflows that it
 *                  triggers are started on the way.
 *   to one         straight into the inbox of the instance that is named, or
 *                  that `start` starts, in one transaction.
 *
 * All of it may be repeated: an inbox takes an event id once, and a triggered
 * instance is keyed by the event's. */
#include <assert.h>

#include "../../rules/state.h"
#include "../../rules/stored.h"
#include "../../value/options.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/names.h"
#include "../common/tenant.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "assign.h"
#include "enter.h"
#include "event.h"

#define BATCH 500                       /* receivers in one transaction */
#define LEFT_AFTER_US (5 * PAWL_SECOND) /* nobody posts that long */
#define LEFT_MAX 32                     /* of a shard, at once */
#define POSTED 8 /* as many are forgotten in the time that one takes */

/* ---- reading ---- */

/* null is none: a handler sees no difference. */
static pawl_code check_data(const pawl_engine *e, pawl_event *v,
                            pawl_error *err) {
  if (pawl_json_kind_of(v->data) == PAWL_JSON_NULL) v->data.at = NULL;
  if (!v->data.at) return PAWL_OK;
  return pawl_check_bytes(e, "a signal's data has", v->data.len, err);
}

/* What goes along with the start must not put it off: the event is there
 * now. */
static pawl_code read_start(pawl_event *v, pawl_error *err) {
  static const char *const later[] = {"delay_us", "at_us"};
  pawl_str value;

  v->has_start = v->start_json.at != NULL;
  if (!v->has_start) return PAWL_OK;
  MUST(pawl_options_take(&pawl_options_of_signal_start, v->start_json,
                         &v->start, err));
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (v->start.options.at &&
        pawl_json_get(v->start.options, later[i], &value) &&
        pawl_json_kind_of(value) != PAWL_JSON_NULL) {
      return pawl_fail_hint(
          err, PAWL_INVALID, "start it first, then signal its id",
          "a signal cannot start an instance later: option `%s`", later[i]);
    }
  return PAWL_OK;
}

static pawl_code check_name(const pawl_event *v, pawl_error *err) {
  char text[101];
  if (pawl_def_is_code(v->name.at)) return PAWL_OK;
  pawl_str_copy(text, sizeof text, pawl_buf_str(&v->name));
  return pawl_fail_hint(
      err, PAWL_INVALID,
      "dotted words of letters, digits, '_' and '-', at most 200 "
      "bytes: \"payment.received\"; patterns are for waits",
      "\"%s\" cannot be an event's name", text);
}

/* What an instance sends is for those of its own tenant, whichever it is. */
static pawl_code take_tenant(const pawl_engine *e, const pawl_str *from,
                             pawl_event *v, pawl_error *err) {
  if (!from) return pawl_tenant_take(e, &v->tenant, err);
  pawl_buf_clear(&v->tenant);
  pawl_buf_adds(&v->tenant, *from);
  return pawl_buf_check(&v->tenant, err);
}

static pawl_code read_signal(pawl_engine *e, pawl_str text,
                             const pawl_str *from, pawl_event *v,
                             pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_signal, text, v, err));
  MUST(take_tenant(e, from, v, err));
  v->has_id = v->id.at != NULL;
  MUST(check_data(e, v, err));
  MUST(read_start(v, err));
  MUST(check_name(v, err));
  if (v->instance.len && v->has_start)
    return pawl_fail(err, PAWL_INVALID,
                     "a signal's `instance` and `start` exclude each other");
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &v->came, err));
  if (!v->has_id)
    pawl_buf_set(&v->id, pawl_strz(pawl_id_text_of(&v->came).at));
  MUST(pawl_buf_check(&v->id, err));
  return pawl_event_complete(v, err);
}

/* ---- into inboxes ---- */

/* Agenda rows first: inbox numbers are given under their locks (rule 3). */
static pawl_code reach_unit(pawl_engine *e, const pawl_event *v, int shard,
                            const pawl_id *ids, const pawl_id *nos, int n,
                            int64_t *reached, pawl_error *err) {
  pawl_rows rows;
  int at;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_event_wake(e, shard, ids, n, err));
  TRY(pawl_event_write(e, v, shard, ids, nos, n, &at, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, at, &rows);
  *reached += rows.changed;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

static pawl_code reach(pawl_engine *e, const pawl_event *v, int shard,
                       const pawl_id *ids, int n, int64_t *reached,
                       pawl_error *err) {
  pawl_id nos[BATCH];
  int64_t before = *reached;
  int lost = 0, tries = 0;
  pawl_code rc;

  assert(n > 0 && n <= BATCH);
  for (int i = 0; i < n; i++)
    MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &nos[i], err));
  do {
    rc = reach_unit(e, v, shard, ids, nos, n, reached, err);
    lost |= rc == PAWL_UNREACHABLE;
  } while (pawl_store_may_repeat(rc, &tries));
  /* after a lost answer nobody can say whose rows are there already: ours */
  if (rc == PAWL_OK && lost) *reached = before + n;
  return rc;
}

/* What else is read along with the first page: who is free of those of which
 * one is told, of an event with a key, in all shards that were looked at; and,
 * once, what it starts. */
typedef struct beside {
  pawl_free_one free;
  pawl_buf triggers; /* kept */
  int ntriggers;     /* -1: they are to be read */
  int fired;         /* of them */
} beside;

/* ---- to workflows that it starts ---- */

typedef pawl_trigger_match_row trigger;

/* In the transaction that starts it; an inbox that lacks the event takes
 * it no more. */
static pawl_code mark_triggered(pawl_engine *e, void *ud, int shard,
                                const pawl_id *id, int created,
                                pawl_error *err) {
  const pawl_event *v = ud;
  if (!created) return PAWL_OK;
  return PAWL_SEND(e->store, instance_triggered, NULL, err, .shard = shard,
                   .id = id, .trigger_event = pawl_buf_str(&v->id),
                   .trigger_source = pawl_buf_some(&v->source));
}

static void trigger_input(const pawl_event *v, pawl_buf *out) {
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

static void trigger_options(const pawl_event *v, const trigger *t,
                            pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_int(&o, "version", t->version);
  if (t->executor_group.len) pawl_member_str(&o, "group", t->executor_group);
  if (v->key.len) pawl_member_str(&o, "correlation", pawl_buf_str(&v->key));
  if (v->tenant.len) pawl_member_str(&o, "tenant", pawl_buf_str(&v->tenant));
  pawl_object_end(&o);
}

/* The idempotency key of what an event starts. */
static void start_key(const pawl_event *v, pawl_buf *out) {
  pawl_buf_addz(out, "event:");
  pawl_buf_adds(out, pawl_buf_str(&v->global));
}

/* What an instance has sent comes from there: how many have led to what that
 * starts is known by its row, whoever posts the event, and when. */
static pawl_code read_ancestors(pawl_engine *e, const pawl_event *v,
                                pawl_buf *place, pawl_error *err) {
  pawl_rows rows;
  pawl_id id;

  if (!pawl_id_parse(v->source.at, v->source.len, &id)) return PAWL_OK;
  MUST(PAWL_READ(e->store, instance_ancestors, &rows, err,
                 .shard = pawl_shard_of(e, &id), .id = &id));
  if (!rows.nrows) return PAWL_OK;
  const pawl_instance_ancestors_row row =
      pawl_read_instance_ancestors(&rows, 0);
  const int is_limited =
      row.trust.at && pawl_trust_stored(row.trust) != PAWL_TRUST_TRUSTED;
  pawl_place_of_ancestors(pawl_ancestors_next(row.ancestors, is_limited),
                          place);
  return pawl_buf_check(place, err);
}

static pawl_code trigger_one(pawl_engine *e, pawl_event *v, const trigger *t,
                             pawl_str place, pawl_error *err) {
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
  pawl_origin origin = {.key = pawl_buf_str(&key),
                        .inside = 1,
                        .parent_place = place,
                        .by = pawl_buf_some(&v->by),
                        .also = mark_triggered,
                        .ud = v};
  TRY(pawl_engine_start(e, t->workflow.at, pawl_buf_str(&input),
                        pawl_buf_str(&options), &origin, &id, &created, err));
  v->reached += created;
out:
  pawl_buf_deinit(&input);
  pawl_buf_deinit(&options);
  pawl_buf_deinit(&key);
  return rc;
}

/* One that is refused for good holds up neither the others nor the event. */
static pawl_code fire_triggers(pawl_engine *e, pawl_event *v, beside *b,
                               pawl_error *err) {
  pawl_buf place = {.alloc = &e->alloc};
  pawl_error why;
  pawl_code rc = PAWL_OK;

  if (b->fired < b->ntriggers) TRY(read_ancestors(e, v, &place, err));
  for (; b->fired < b->ntriggers; b->fired++) {
    const trigger *t = &PAWL_KEPT(trigger_match, &b->triggers)[b->fired];
    rc = trigger_one(e, v, t, pawl_buf_some(&place), &why);
    if (rc != PAWL_OK && !pawl_code_is_final(rc, &why)) {
      *err = why;
      goto out;
    }
    if (rc != PAWL_OK)
      pawl_log_error(&e->log, PAWL_ERROR,
                     "an event could not start a workflow", &why);
    rc = PAWL_OK;
  }
out:
  pawl_buf_deinit(&place);
  return rc;
}

/* ---- to all that are told of each event ---- */

/* Those of a shard that wait for a pattern, page by page, in the order of their
 * ids. */
typedef struct page {
  const pawl_buf *pattern;
  pawl_id after;
  int more; /* there may be others */
  int at;   /* where the answer will be */
  int n;
  pawl_buf rows; /* kept: what is done with them uses the connection */
} page;

static pawl_code ask_match(pawl_engine *e, const pawl_event *v, int shard,
                           page *p, pawl_error *err) {
  if (v->key.len)
    return PAWL_SEND(e->store, subscription_match, &p->at, err, .shard = shard,
                     .tenant = pawl_buf_str(&v->tenant),
                     .pattern = pawl_buf_str(p->pattern),
                     .key = pawl_buf_str(&v->key), .after = &p->after,
                     .max = BATCH);
  return PAWL_SEND(e->store, subscription_match_open, &p->at, err,
                   .shard = shard, .tenant = pawl_buf_str(&v->tenant),
                   .pattern = pawl_buf_str(p->pattern), .after = &p->after,
                   .max = BATCH);
}

static pawl_code hear_match(pawl_engine *e, page *p, pawl_error *err) {
  pawl_rows rows;

  pawl_store_rows(e->store, p->at, &rows);
  MUST(PAWL_KEEP(subscription_match, &rows, &p->rows, err));
  assert(rows.nrows <= BATCH); /* as many as were asked for: ids has room */
  p->n = rows.nrows;
  p->more = rows.nrows == BATCH;
  return PAWL_OK;
}

static pawl_code ask_beside(pawl_engine *e, const pawl_event *v, int shard,
                            const beside *b, pawl_free_asked *free,
                            int *triggers, pawl_error *err) {
  if (v->key.len) MUST(pawl_assign_ask(e, v, shard, NULL, free, err));
  if (b->ntriggers >= 0) return PAWL_OK;
  return PAWL_SEND(e->store, trigger_match, triggers, err,
                   .exact = pawl_buf_str(&v->name),
                   .wide = pawl_buf_str(&v->wide));
}

static pawl_code hear_beside(pawl_engine *e, const pawl_event *v, int shard,
                             beside *b, const pawl_free_asked *free,
                             int triggers, pawl_error *err) {
  pawl_rows rows;

  if (v->key.len) pawl_assign_hear(e, v, shard, free, &b->free);
  if (b->ntriggers >= 0) return PAWL_OK;
  pawl_store_rows(e->store, triggers, &rows);
  MUST(PAWL_KEEP(trigger_match, &rows, &b->triggers, err));
  b->ntriggers = rows.nrows;
  return PAWL_OK;
}

/* The next page of each pattern, in one round trip with what is beside it. */
static pawl_code look(pawl_engine *e, const pawl_event *v, int shard,
                      page pages[2], beside *b, pawl_error *err) {
  pawl_free_asked free = {0, 0};
  int triggers = -1;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
  for (int i = 0; i < 2; i++)
    if (pages[i].more) TRY(ask_match(e, v, shard, &pages[i], err));
  if (b) TRY(ask_beside(e, v, shard, b, &free, &triggers, err));
  TRY(pawl_store_commit(e->store, err));
  for (int i = 0; i < 2; i++) {
    pages[i].n = 0;
    if (pages[i].more) MUST(hear_match(e, &pages[i], err));
  }
  return b ? hear_beside(e, v, shard, b, &free, triggers, err) : PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* Each once, though several of its tokens may wait; those apart that were
 * carried to another store. */
static pawl_code post_page(pawl_engine *e, pawl_event *v, int shard, page *p,
                           pawl_error *err) {
  struct {
    pawl_id ids[BATCH];
    int n;
  } here = {.n = 0}, away = {.n = 0}, *r;
  int64_t uncounted = 0; /* it is read only if they are reclaimed */

  for (int i = 0; i < p->n; i++) {
    const pawl_subscription_match_row *row =
        &PAWL_KEPT(subscription_match, &p->rows)[i];
    r = row->away ? &away : &here;
    p->after = *row->instance;
    if (!r->n || !pawl_id_eq(&p->after, &r->ids[r->n - 1]))
      r->ids[r->n++] = p->after;
  }
  if (here.n) MUST(reach(e, v, shard, here.ids, here.n, &v->reached, err));
  if (away.n) MUST(reach(e, v, shard, away.ids, away.n, &uncounted, err));
  return PAWL_OK;
}

static pawl_code post_shard(pawl_engine *e, pawl_event *v, int shard,
                            beside *b, pawl_error *err) {
  page pages[2] = {{.pattern = &v->name, .more = 1},
                   {.pattern = &v->wide, .more = 1}};
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < 2; i++) pages[i].rows.alloc = &e->alloc;
  for (; pages[0].more || pages[1].more; b = NULL) {
    TRY(look(e, v, shard, pages, b, err));
    if (b) TRY(fire_triggers(e, v, b, err));
    for (int i = 0; i < 2; i++) TRY(post_page(e, v, shard, &pages[i], err));
  }
out:
  for (int i = 0; i < 2; i++) pawl_buf_deinit(&pages[i].rows);
  return rc;
}

/* ---- posting ---- */

/* An id is known in the shard that follows from it, whatever its key. Where
 * waits look for the key is another shard, as a rule: a copy goes there. */
static int shard_of(pawl_engine *e, const pawl_event *v) {
  return pawl_event_shard(e, pawl_buf_str(&v->id));
}

static int has_copy(pawl_engine *e, const pawl_event *v) {
  return v->key.len &&
         pawl_event_shard(e, pawl_buf_str(&v->key)) != shard_of(e, v);
}

/* Where waits look for its key. It is there before anybody is looked for: a
 * wait that begins now finds it. */
static pawl_code copy_event(pawl_engine *e, const pawl_event *v,
                            pawl_error *err) {
  return PAWL_WRITE(
      e->store, event_copy, NULL, err,
      .shard = pawl_event_shard(e, pawl_buf_str(&v->key)),
      .tenant = pawl_buf_str(&v->tenant), .source = pawl_buf_str(&v->source),
      .id = pawl_buf_str(&v->id), .name = pawl_buf_str(&v->name),
      .key = pawl_buf_str(&v->key), .data = v->data,
      .by = pawl_buf_some(&v->by), .came = &v->came,
      .received_at = v->received_us, .expires_at = v->expires_us);
}

/* The last thing: until then the housekeeping would take it for left behind,
 * and do all of it again, without harm. */
static pawl_code mark_posted(pawl_engine *e, const pawl_event *v,
                             pawl_error *err) {
  return PAWL_WRITE(
      e->store, event_posted, NULL, err, .shard = shard_of(e, v),
      .tenant = pawl_buf_str(&v->tenant), .source = pawl_buf_str(&v->source),
      .id = pawl_buf_str(&v->id), .forget = !v->key.len || has_copy(e, v));
}

static pawl_code post(pawl_engine *e, pawl_event *v, pawl_error *err) {
  beside b = {.triggers = {.alloc = &e->alloc}, .ntriggers = -1};
  pawl_code rc = PAWL_OK;

  if (has_copy(e, v))
    TRY(copy_event(e, v, err)); /* before who waits is read */
  for (int s = 0; s < e->nshards; s++) TRY(post_shard(e, v, s, &b, err));
  if (b.free.there) TRY(pawl_assign(e, v, &b.free, err));
  rc = mark_posted(e, v, err);
out:
  pawl_buf_deinit(&b.triggers);
  return rc;
}

/* *is_new: it was not known. *posted: as its row says. */
static pawl_code keep_event(pawl_engine *e, pawl_event *v, int *is_new,
                            int *posted, pawl_error *err) {
  int shard = shard_of(e, v), inserted, found;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(PAWL_SEND(e->store, event_insert, &inserted, err, .shard = shard,
                .tenant = pawl_buf_str(&v->tenant),
                .source = pawl_buf_str(&v->source), .id = pawl_buf_str(&v->id),
                .name = pawl_buf_str(&v->name), .key = pawl_buf_some(&v->key),
                .data = v->data, .by = pawl_buf_some(&v->by), .came = &v->came,
                .ttl_us = v->ttl_us, .now = pawl_store_now(e->store)));
  TRY(PAWL_SEND(e->store, event_get, &found, err, .shard = shard,
                .tenant = pawl_buf_str(&v->tenant),
                .source = pawl_buf_str(&v->source),
                .id = pawl_buf_str(&v->id)));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, inserted, &rows);
  *is_new = rows.changed > 0;
  pawl_store_rows(e->store, found, &rows);
  *posted = 0;
  if (!rows.nrows) return PAWL_OK;
  const pawl_event_get_row row = pawl_read_event_get(&rows, 0);
  *posted = (int)row.posted;
  pawl_event_times(v, &row);
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

static pawl_code post_later(pawl_engine *e, const pawl_event *v,
                            pawl_error *err) {
  const pawl_event_place place = {.tenant = pawl_buf_str(&v->tenant),
                                  .source = pawl_buf_str(&v->source),
                                  .id = pawl_buf_str(&v->id)};

  pawl_event_add_place(&e->after_held.events, &place);
  return pawl_buf_check(&e->after_held.events, err);
}

/* Once its row is there the event is accepted: what then keeps it from being
 * posted is the housekeeping's to overcome, and no failure of the call. */
static pawl_code send_to_all(pawl_engine *e, pawl_event *v, pawl_error *err) {
  int is_new = 0, posted = 0, tries = 0, posts = 0;
  pawl_error why;
  pawl_code rc;

  do rc = keep_event(e, v, &is_new, &posted, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc != PAWL_OK) return rc;
  /* after a lost answer, one that nobody has posted yet is ours */
  v->repeated = !is_new && (posted || !tries);
  if (v->repeated) return PAWL_OK;
  if (pawl_store_held(e->store)) return post_later(e, v, err);
  do rc = post(e, v, &why); /* what was reached is counted once */
  while (pawl_store_may_repeat(rc, &posts));
  if (rc != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN,
                   "an event is stored and will be posted later", &why);
  return PAWL_OK;
}

/* ---- to one ---- */

/* What came of the two statements: the letter and a look at the instance. */
typedef struct letter {
  int inbox, instance; /* where the results are */
} letter;

static pawl_code send_letter(pawl_engine *e, const pawl_event *v, int shard,
                             const pawl_id *id, const pawl_id *no, letter *l,
                             pawl_error *err) {
  MUST(pawl_event_wake(e, shard, id, 1, err));
  MUST(pawl_event_write(e, v, shard, id, no, 1, &l->inbox, err));
  return PAWL_SEND(e->store, instance_get, &l->instance, err, .shard = shard,
                   .id = id);
}

/* The look at the instance came along with the letter: one that has ended will
 * not read it. */
static pawl_code take_answer(pawl_engine *e, pawl_event *v, const pawl_id *id,
                             const letter *l, pawl_error *err) {
  pawl_rows rows;
  pawl_standing status;

  pawl_store_rows(e->store, l->inbox, &rows);
  /* an id of ours can only be there already because an earlier try landed */
  v->reached = rows.changed > 0 || !v->has_id;
  v->repeated = !v->reached;
  v->target = *id;
  pawl_store_rows(e->store, l->instance, &rows);
  v->is_missing = !rows.nrows;
  if (v->is_missing) return pawl_instance_missing(id, err);
  pawl_str name = pawl_read_instance_get(&rows, 0).status;
  if (!pawl_status_parse(name, &status) || !pawl_status_has_ended(status))
    return PAWL_OK;
  pawl_fail(err, PAWL_ALREADY_FINISHED, "instance %s has ended already: %.*s",
            pawl_id_text_of(id).at, (int)name.len, name.at);
  if (v->has_start)
    pawl_error_hint(err, "the key of `start` names it: give another one");
  return PAWL_ALREADY_FINISHED;
}

static pawl_code one_unit(pawl_engine *e, pawl_event *v, const pawl_id *id,
                          const pawl_id *no, pawl_error *err) {
  int shard = pawl_shard_of(e, id);
  letter sent;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(send_letter(e, v, shard, id, no, &sent, err));
  TRY(pawl_store_commit(e->store, err));
  return take_answer(e, v, id, &sent, err);
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* The instance has ended. When this very event was sent to it while it lived,
 * that is a repetition, or our own first try whose answer was lost; else the
 * failure stands. Its inbox has kept the ids (inbox_keep). */
static pawl_code known_to_ended(pawl_engine *e, pawl_event *v,
                                pawl_error *err) {
  pawl_buf id = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_error why;
  pawl_code rc;

  pawl_buf_addz(&id, "to:");
  for (int i = 0; i < 16; i++) pawl_buf_addf(&id, "%02x", v->target.bytes[i]);
  pawl_buf_addc(&id, ':');
  pawl_buf_adds(&id, pawl_buf_str(&v->global));
  TRY(pawl_buf_check(&id, &why));
  TRY(PAWL_READ(e->store, event_get, &rows, &why,
                .shard = pawl_shard_of(e, &v->target), .tenant = pawl_strz(""),
                .source = pawl_strz(""), .id = pawl_buf_str(&id)));
  if (!rows.nrows) rc = PAWL_ALREADY_FINISHED;
  v->reached = rows.nrows > 0 && !v->has_id;
  v->repeated = rows.nrows > 0 && v->has_id;
out:
  if (rc != PAWL_OK && rc != PAWL_ALREADY_FINISHED && err) *err = why;
  pawl_buf_deinit(&id);
  return rc;
}

/* The same of one that the archive has, which has ended, too. */
static pawl_code settle(pawl_engine *e, pawl_event *v, pawl_code rc,
                        pawl_error *err) {
  pawl_code known;

  if (rc != PAWL_ALREADY_FINISHED && !(rc == PAWL_NOTFOUND && v->is_missing))
    return rc;
  v->created = 0;
  known = known_to_ended(e, v, err);
  if (known != PAWL_ALREADY_FINISHED) return known;
  rc = pawl_instance_absent(e, &v->target, rc, err);
  if (rc != PAWL_CONFLICT || !v->has_start) return rc;
  return pawl_fail_hint(err, PAWL_ALREADY_FINISHED,
                        "the key of `start` names it: give another one",
                        "instance %s has ended already, and is archived",
                        pawl_id_text_of(&v->target).at);
}

static pawl_code send_to_instance(pawl_engine *e, pawl_event *v,
                                  pawl_error *err) {
  pawl_id id, no;
  int tries = 0;
  pawl_code rc;

  MUST(pawl_engine_find_of(e, pawl_buf_str(&v->tenant), v->instance.at, &id,
                           err));
  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  do rc = one_unit(e, v, &id, &no, err);
  while (pawl_store_may_repeat(rc, &tries));
  return settle(e, v, rc, err);
}

/* In the transaction of the start: no wait of it can miss the event. */
static pawl_code with_start(pawl_engine *e, void *ud, int shard,
                            const pawl_id *id, int created, pawl_error *err) {
  pawl_event *v = ud;
  letter sent;
  pawl_id no;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  MUST(send_letter(e, v, shard, id, &no, &sent, err));
  MUST(mark_triggered(e, v, shard, id, created, err));
  return take_answer(e, v, id, &sent, err);
}

/* An event with an id starts one instance, however often it is sent, also
 * when the start has no key of its own. */
static pawl_code send_with_start(pawl_engine *e, pawl_event *v,
                                 pawl_error *err) {
  pawl_buf key = {.alloc = &e->alloc};
  pawl_str own;
  pawl_id id;
  pawl_origin origin = {.tenant = pawl_buf_some(&v->tenant),
                        .by = pawl_buf_some(&v->by),
                        .also = with_start,
                        .ud = v};
  pawl_code rc = PAWL_OK;

  int keyed = v->start.options.at &&
              pawl_json_get(v->start.options, "key", &own) &&
              pawl_json_kind_of(own) != PAWL_JSON_NULL;
  if (v->has_id) {
    start_key(v, &key);
    TRY(pawl_buf_check(&key, err));
    if (!keyed) origin.key = pawl_buf_str(&key);
    origin.event = pawl_buf_str(&v->global);
    origin.event_expires_us = pawl_engine_now(e) + v->ttl_us;
  }
  rc = pawl_engine_start(e, v->start.workflow.at, v->start.input,
                         v->start.options, &origin, &id, &v->created, err);
  rc = settle(e, v, rc, err);
out:
  pawl_buf_deinit(&key);
  return rc;
}

/* ---- the call ---- */

static pawl_code describe(const pawl_event *v, pawl_buf *out,
                          pawl_error *err) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_int(&o, "reached", v->reached);
  pawl_member_str(&o, "id", pawl_buf_str(&v->id));
  if (v->instance.len || v->has_start)
    pawl_member_id(&o, "instance", &v->target);
  if (v->has_start) pawl_member_bool(&o, "created", v->created);
  pawl_member_bool(&o, "repeated", v->repeated);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

pawl_code pawl_engine_signal(pawl_engine *e, pawl_str signal,
                             const pawl_str *from, int64_t *reached,
                             pawl_buf *out, pawl_error *err) {
  pawl_event v;
  pawl_code rc = PAWL_OK;

  pawl_event_init(&v, &e->alloc);
  TRY(read_signal(e, signal, from, &v, err));
  if (v.has_start)
    TRY(send_with_start(e, &v, err));
  else if (v.instance.len)
    TRY(send_to_instance(e, &v, err));
  else
    TRY(send_to_all(e, &v, err));
  if (v.reached) {
    e->look_mono_us = 0; /* some of them may be ours to run */
    pawl_wake(e);
  }
  if (reached) *reached = v.reached;
  if (out) TRY(describe(&v, out, err));
out:
  pawl_event_deinit(&v);
  return rc;
}

/* ---- what was left behind ---- */

static pawl_code post_left(pawl_engine *e, const pawl_event_place *left,
                           pawl_error *err) {
  pawl_event v;
  pawl_buf keep = {.alloc = &e->alloc};
  int there, posted;
  pawl_code rc = PAWL_OK;

  pawl_event_init(&v, &e->alloc);
  TRY(pawl_event_load(e, left, &v, &keep, &there, &posted, err));
  /* or somebody has posted or forgotten it meanwhile */
  if (there && !posted) TRY(post(e, &v, err));
  if (v.reached) e->look_mono_us = 0;
out:
  pawl_event_deinit(&v);
  pawl_buf_deinit(&keep);
  return rc;
}

/* Those of a level that was rolled back are not there. */
void pawl_signal_post_held(pawl_engine *e) {
  const pawl_buf *b = &e->after_held.events;
  pawl_event_place one;
  pawl_error err;

  for (size_t at = 0; at < b->len;) {
    pawl_event_next_place(b, &at, &one);
    one.shard = pawl_event_shard(e, one.id);
    if (post_left(e, &one, &err) != PAWL_OK)
      pawl_log_error(&e->log, PAWL_WARN,
                     "an event is stored and will be posted later", &err);
  }
  pawl_wake(e);
}

/* A process that died between storing an event and posting it has left it to
 * us. *did: `max`, when there may be more that can be posted. */
static pawl_code post_all_left(pawl_engine *e, int shard, int max, int *did,
                               pawl_error *err) {
  const int most = max / POSTED < LEFT_MAX ? max / POSTED + 1 : LEFT_MAX;
  pawl_buf keep = {.alloc = &e->alloc};
  pawl_rows rows;
  int n = 0;
  pawl_code rc = PAWL_OK;

  TRY(PAWL_READ(e->store, event_unposted, &rows, err, .shard = shard,
                .age_us = LEFT_AFTER_US, .now = pawl_store_now(e->store),
                .max = most));
  TRY(PAWL_KEEP(event_unposted, &rows, &keep, err));
  for (int i = 0, all = rows.nrows; i < all; i++) {
    const pawl_event_unposted_row *row = &PAWL_KEPT(event_unposted, &keep)[i];
    const pawl_event_place place = {shard, row->tenant, row->source, row->id};
    rc = post_left(e, &place, err);
    if (rc == PAWL_UNREACHABLE) goto out;
    if (rc != PAWL_OK) /* the next one may do better */
      pawl_log_error(&e->log, PAWL_ERROR, "an event cannot be posted", err);
    n += rc == PAWL_OK;
  }
  *did = n == most ? max : n * POSTED;
  rc = PAWL_OK;
out:
  pawl_buf_deinit(&keep);
  return rc;
}

pawl_code pawl_signal_tidy(pawl_engine *e, int shard, int max, int *did,
                           pawl_error *err) {
  pawl_rows rows;

  MUST(post_all_left(e, shard, max, did, err));
  if (!shard) pawl_assign_look(e);
  MUST(PAWL_WRITE(e->store, event_prune, &rows, err, .shard = shard,
                  .now = pawl_store_now(e->store), .max = max));
  if (*did < rows.changed) *did = (int)rows.changed;
  return PAWL_OK;
}
