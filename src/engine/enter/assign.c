#include "assign.h"

#include <assert.h>
#include <string.h>

#include "../../base/fault.h"
#include "../common/names.h"
#include "../common/time.h"

#define MANY 64  /* at once: when one did not take it, or who stands still */
#define KNOWN 16 /* by their names */
#define PAGE 32  /* events of a shard at once */
#define AGAIN_US (2 * PAWL_SECOND)
#define SELDOM_US (16 * PAWL_SECOND) /* no interval is longer */

/* ---- who is free ---- */

static pawl_code ask_for(pawl_engine *e, const pawl_event *v, int shard,
                         const pawl_buf *pattern, const pawl_free_one *last,
                         int *at, pawl_error *err) {
  return PAWL_SEND(
      e->store, subscription_free, at, err, .shard = shard,
      .tenant = pawl_buf_str(&v->tenant), .pattern = pawl_buf_str(pattern),
      .key = pawl_buf_str(&v->key), .since = last->since_us,
      .after = &last->instance, .now = pawl_store_now(e->store), .max = 1);
}

pawl_code pawl_assign_ask(pawl_engine *e, const pawl_event *v, int shard,
                          const pawl_free_one *last, pawl_free_asked *at,
                          pawl_error *err) {
  static const pawl_free_one before_all = {.there = 0};

  if (!last) last = &before_all;
  MUST(ask_for(e, v, shard, &v->name, last, &at->named, err));
  return ask_for(e, v, shard, &v->wide, last, &at->wide, err);
}

static int is_earlier(const pawl_subscription_free_row *row,
                      const pawl_free_one *than) {
  if (row->since != than->since_us) return row->since < than->since_us;
  return pawl_id_cmp(row->instance, &than->instance) < 0;
}

static void hear_of(pawl_engine *e, int shard, const pawl_buf *pattern, int at,
                    pawl_free_one *first) {
  pawl_rows rows;

  pawl_store_rows(e->store, at, &rows);
  if (!rows.nrows) return;
  const pawl_subscription_free_row row = pawl_read_subscription_free(&rows, 0);
  if (first->there && !is_earlier(&row, first)) return;
  *first = (pawl_free_one){.instance = *row.instance,
                           .pattern = pattern,
                           .since_us = row.since,
                           .token = (int32_t)row.token,
                           .shard = shard,
                           .stands_still = (int)row.stands_still,
                           .there = 1};
}

void pawl_assign_hear(pawl_engine *e, const pawl_event *v, int shard,
                      const pawl_free_asked *at, pawl_free_one *first) {
  hear_of(e, shard, &v->name, at->named, first);
  hear_of(e, shard, &v->wide, at->wide, first);
}

/* *one: the next behind it. */
static pawl_code next_free(pawl_engine *e, const pawl_event *v,
                           pawl_free_one *one, pawl_error *err) {
  const pawl_free_one last = *one;
  pawl_free_asked at;
  pawl_code rc = PAWL_OK;

  one->there = 0;
  for (int s = 0; s < e->nshards; s++) {
    TRY(pawl_store_begin(e->store, PAWL_UNIT_READ, err));
    TRY(pawl_assign_ask(e, v, s, &last, &at, err));
    TRY(pawl_store_commit(e->store, err));
    pawl_assign_hear(e, v, s, &at, one);
  }
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* ---- to one ---- */

/* *given 0: it was not free any more, waits for something else, or has had the
 * event. */
static pawl_code give_unit(pawl_engine *e, const pawl_event *v,
                           const pawl_free_one *one, const pawl_id *no,
                           int *given, pawl_error *err) {
  pawl_rows rows;
  int letter, marked;
  pawl_code rc = PAWL_OK;

  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  TRY(pawl_event_wake(e, one->shard, &one->instance, 1, err));
  TRY(pawl_event_write(e, v, one->shard, &one->instance, no, 1, &letter, err));
  TRY(PAWL_SEND(e->store, subscription_assign, &marked, err,
                .shard = one->shard, .id = &one->instance, .token = one->token,
                .pattern = pawl_buf_str(one->pattern),
                .key = pawl_buf_str(&v->key), .no = no));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, marked, &rows);
  *given = rows.changed > 0;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

static pawl_code give(pawl_engine *e, pawl_event *v, const pawl_free_one *one,
                      int *given, pawl_error *err) {
  pawl_id no;
  int tries = 0;
  pawl_code rc;

  MUST(pawl_id_make(&e->ids, pawl_engine_now(e), &no, err));
  do rc = give_unit(e, v, one, &no, given, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc == PAWL_OK) v->reached += *given;
  return rc;
}

/* ---- its row ---- */

typedef enum noted {
  UNDER_WAY, /* it is to be assigned now */
  ANEW,      /* and it counts as the first time */
  OVER       /* nobody is free */
} noted;

static pawl_code note(pawl_engine *e, const pawl_event *v, noted what,
                      pawl_error *err) {
  return PAWL_WRITE(e->store, event_assign, NULL, err,
                    .shard = pawl_event_shard(e, pawl_buf_str(&v->key)),
                    .tenant = pawl_buf_str(&v->tenant),
                    .source = pawl_buf_str(&v->source),
                    .id = pawl_buf_str(&v->id), .over = what == OVER,
                    .anew = what == ANEW, .now = pawl_store_now(e->store));
}

/* ---- which are under way ---- */

static void look_at(pawl_assigned *a, int64_t us) {
  if (!a->again_us || us < a->again_us) a->again_us = us;
}

static void remember(pawl_engine *e, const pawl_event *v) {
  pawl_assigned *a = &e->assigned;
  const size_t len = a->names.len;

  look_at(a, pawl_engine_now(e) + AGAIN_US);
  if (a->n < KNOWN) {
    pawl_event_add_text(&a->names, pawl_buf_str(&v->tenant));
    pawl_event_add_text(&a->names, pawl_buf_str(&v->global));
  }
  if (a->n == KNOWN || a->names.failed) {
    a->names.len = len;
    a->names.failed = 0;
    a->others = 1;
  } else {
    a->n++;
  }
}

static void forget_all(pawl_assigned *a) {
  pawl_buf_clear(&a->names);
  a->again_us = 0;
  a->n = a->others = a->look = 0;
}

static void cut_out(pawl_buf *b, size_t from, size_t upto) {
  memmove(b->at + from, b->at + upto, b->len - upto);
  b->len -= upto - from;
}

void pawl_assign_taken(pawl_engine *e, pawl_str tenant, pawl_str name) {
  pawl_assigned *a = &e->assigned;

  for (size_t at = 0; at < a->names.len;) {
    const size_t from = at;
    const pawl_str whose = pawl_event_next_text(&a->names, &at);
    const pawl_str known = pawl_event_next_text(&a->names, &at);
    if (!pawl_str_eq(whose, tenant) || !pawl_str_eq(known, name)) continue;
    cut_out(&a->names, from, at);
    if (!--a->n && !a->others) forget_all(a);
    return;
  }
}

int64_t pawl_assign_next(const pawl_engine *e) {
  return e->assigned.again_us ? e->assigned.again_us : PAWL_NEVER;
}

/* ---- to those that are free ---- */

/* One event, as it is told. */
typedef struct telling {
  pawl_event *v;
  pawl_free_one one; /* the last that was told, or the first that is to be */
  int most;          /* are to be that do not stand still */
  int tries;         /* are left */
  int still;         /* were told that stand still */
  int is_first;      /* `one` */
  int goes_on;       /* with what was begun in another tick */
} telling;

/* As long as *left, of which each takes one, is above 0. K6: first it is
 * written that it is under way. *any 0: nobody is free. */
static pawl_code tell(pawl_engine *e, telling *t, int *left, int *any,
                      pawl_error *err) {
  pawl_free_one *one = &t->one;

  if (!t->is_first) MUST(next_free(e, t->v, one, err));
  *any = one->there;
  if (one->there && !t->goes_on) {
    MUST(note(e, t->v, UNDER_WAY, err));
    remember(e, t->v);
    (void)PAWL_FAULT("engine.assign.noted");
  }
  while (one->there && t->most > 0 && t->tries > 0 && *left > 0) {
    int given = 0;
    MUST(give(e, t->v, one, &given, err));
    --*left;
    --t->tries;
    t->most -= given && !one->stands_still;
    t->still += given && one->stands_still;
    if (t->most > 0 && t->tries > 0 && *left > 0)
      MUST(next_free(e, t->v, one, err));
  }
  if (!one->there || t->most < 1) t->tries = 0;
  return PAWL_OK;
}

pawl_code pawl_assign(pawl_engine *e, pawl_event *v,
                      const pawl_free_one *first, pawl_error *err) {
  telling t = {.v = v, .one = *first, .is_first = 1, .most = 1, .tries = MANY};
  int left = MANY, any;
  return tell(e, &t, &left, &any, err);
}

/* ---- again ---- */

/* The rest of it comes with the next tick. Where that cannot be kept, with the
 * next time. */
static void keep_rest(pawl_engine *e, const pawl_event_place *place,
                      const telling *t) {
  pawl_assigned *a = &e->assigned;

  pawl_buf_clear(&a->rest);
  if (!t->tries) return;
  pawl_event_add_place(&a->rest, place);
  if (a->rest.failed) pawl_buf_clear(&a->rest);
  a->shard = place->shard;
  a->tries = t->tries;
  a->since_us = t->one.since_us;
  a->after = t->one.instance;
}

/* *left is less by one at least. */
static pawl_code assign_more(pawl_engine *e, const pawl_event_place *place,
                             telling *t, int *left, pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  const int had = *left;
  pawl_event v;
  int there, posted, any;
  pawl_code rc = PAWL_OK;

  pawl_event_init(&v, &e->alloc);
  t->v = &v;
  TRY(pawl_event_load(e, place, &v, &keep, &there, &posted, err));
  if (!there || !v.key.len) goto out;
  TRY(tell(e, t, left, &any, err));
  if (!any && !t->goes_on) TRY(note(e, &v, OVER, err));
  /* those are told once: soon it comes to the others */
  if (t->still && t->still == v.reached) TRY(note(e, &v, ANEW, err));
  keep_rest(e, place, t);
  if (v.reached) e->look_mono_us = 0;
out:
  *left -= *left == had; /* to look at it was something */
  t->v = NULL;
  pawl_event_deinit(&v);
  pawl_buf_deinit(&keep);
  return rc;
}

/* With one of which only some were told, though it may have a taker by now. */
static pawl_code go_on(pawl_engine *e, int *left, pawl_error *err) {
  const pawl_assigned *a = &e->assigned;
  telling t = {.one = {.since_us = a->since_us, .instance = a->after},
               .most = a->tries,
               .tries = a->tries,
               .goes_on = 1};
  pawl_buf rest = {.alloc = &e->alloc};
  pawl_event_place place = {.shard = a->shard};
  size_t at = 0;
  pawl_code rc = PAWL_OK;

  if (!a->rest.len) return PAWL_OK;
  pawl_buf_swap(&rest, &e->assigned.rest);
  pawl_event_next_place(&rest, &at, &place);
  rc = assign_more(e, &place, &t, left, err);
  pawl_buf_deinit(&rest);
  return rc;
}

static pawl_code again_in(pawl_engine *e, int shard, int *left,
                          pawl_error *err) {
  pawl_buf keep = {.alloc = &e->alloc};
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  TRY(PAWL_READ(e->store, event_assigned, &rows, err, .shard = shard,
                .age_us = AGAIN_US, .most_us = SELDOM_US,
                .now = pawl_store_now(e->store), .max = PAGE));
  TRY(PAWL_KEEP(event_assigned, &rows, &keep, err));
  for (int i = 0, n = rows.nrows; i < n; i++) {
    if (*left < 1) break;
    const pawl_event_assigned_row *row = &PAWL_KEPT(event_assigned, &keep)[i];
    const pawl_event_place place = {shard, row->tenant, row->source, row->id};
    telling t = {.most = MANY, .tries = MANY};
    rc = assign_more(e, &place, &t, left, err);
    if (rc == PAWL_UNREACHABLE) goto out;
    if (rc != PAWL_OK) /* the next one may do better */
      pawl_log_error(&e->log, PAWL_ERROR, "an event cannot be assigned", err);
  }
  rc = PAWL_OK;
out:
  pawl_buf_deinit(&keep);
  return rc;
}

/* The first that is under way, whoever has assigned it, by whichever clock. */
static pawl_code look_ahead(pawl_engine *e, int shard, pawl_error *err) {
  const int64_t now = pawl_engine_now(e);
  pawl_rows rows;

  MUST(PAWL_READ(e->store, event_assigned_first, &rows, err, .shard = shard));
  assert(rows.nrows == 1); /* min */
  const int64_t at = pawl_read_event_assigned_first(&rows, 0).assigned_at;
  if (!at) return PAWL_OK;
  const int is_recent = at <= now && at + AGAIN_US > now;
  look_at(&e->assigned, (is_recent ? at : now) + AGAIN_US);
  e->assigned.others = 1;
  return PAWL_OK;
}

void pawl_assign_look(pawl_engine *e) {
  e->assigned.look = 1;
}

int pawl_assign_is_due(pawl_engine *e) {
  const pawl_assigned *a = &e->assigned;

  /* an idle tick need not ask for the time */
  return a->look || (a->again_us && pawl_engine_now(e) >= a->again_us);
}

pawl_code pawl_assign_again(pawl_engine *e, int max, int *did,
                            pawl_error *err) {
  int left = max;

  forget_all(&e->assigned);
  MUST(go_on(e, &left, err));
  for (int s = 0; left > 0 && s < e->nshards; s++)
    MUST(again_in(e, s, &left, err));
  for (int s = 0; s < e->nshards; s++) MUST(look_ahead(e, s, err));
  if (left < 1) look_at(&e->assigned, pawl_engine_now(e));
  *did = max - left;
  return PAWL_OK;
}
