/* One change of all instances that a list would have.
 *
 * Each is changed as if it had been called for by itself: looked at, asked by
 * a letter of its own, refused by itself. But it is changed as one of that
 * list: what is not there any more, as another was faster, is left. Letters,
 * claims and commits are those of up to PAWL_ASKED_MAX together (decision
 * 0055). What a crash leaves is a smaller task: asked again with the same
 * request, what was done is known by the history of each (decision 0044).
 *
 * In a transaction that is held it is a level of that, over HELD_MOST at most,
 * in the order of their ids: all their locks stay until its end. */
#include <stdlib.h>

#include "../value/object.h"
#include "act/act.h"
#include "ask/ask.h"
#include "common/answer.h"
#include "common/engine_struct.h"
#include "common/time.h"
#include "engine.h"

#define PAGE 200       /* ids that are read at once */
#define TELL_EVERY 100 /* instances */
#define HELD_MOST 1000 /* in one call in a transaction */

/* Those that were refused in the same words, or, of one code, in any others. */
typedef struct refusals {
  int64_t n;
  pawl_id first;
  pawl_error why; /* of the first */
} refusals;

enum { REASONS = 20 }; /* that have a group of their own */

/* On the heap, for its errors. */
typedef struct bulk {
  pawl_engine *e;
  pawl_str kind;
  pawl_buf change; /* with the request in it */
  pawl_act_plan plan;
  pawl_progress so_far;
  pawl_progress_fn tell; /* NULL: nobody wants to know */
  void *ud;
  int stopped;
  int held, more;            /* in a transaction, and not all */
  pawl_id last;              /* of those that it took, as the list has them */
  refusals refused[REASONS]; /* in the order in which they came */
  int nreasons;
  refusals others[PAWL_NCODES];
  pawl_buf by, reason, deletion;        /* of a purge */
  pawl_one_asked asked[PAWL_ASKED_MAX]; /* those that are asked together */
} bulk;

/* ---- one instance ---- */

/* Behind the id that stands there; else the place itself. */
static const char *skip_id(const char *at) {
  enum { LENGTH = sizeof(pawl_id_text) - 1 };
  pawl_id id;

  if (!memchr(at, '\0', LENGTH) && pawl_id_parse(at, LENGTH, &id))
    return at + LENGTH;
  return at;
}

/* Do they say the same, whichever instances they name? */
static int say_same(const char *a, const char *b) {
  for (;; a++, b++) {
    a = skip_id(a);
    b = skip_id(b);
    if (*a != *b) return 0;
    if (!*a) return 1;
  }
}

static refusals *refusals_of(bulk *b, const pawl_error *why) {
  for (int i = 0; i < b->nreasons; i++)
    if (b->refused[i].why.code == why->code &&
        say_same(b->refused[i].why.message, why->message))
      return &b->refused[i];
  return b->nreasons < REASONS ? &b->refused[b->nreasons++]
                               : &b->others[why->code];
}

static void note_refused(bulk *b, const pawl_id *id, const pawl_error *why) {
  refusals *r = refusals_of(b, why);
  b->so_far.refused++;
  if (r->n++) return;
  r->first = *id;
  r->why = *why;
}

static void tell(bulk *b) {
  if (b->tell && b->tell(b->ud, &b->so_far)) b->stopped = 1;
}

/* Who was refused may not be in the list any more: another has done the same,
 * or it has gone. */
static pawl_code find_listed(bulk *b, const pawl_id *id, pawl_code rc,
                             int *listed, pawl_error *why) {
  pawl_error err;

  *listed = 0;
  if (rc == PAWL_NOTFOUND) return PAWL_OK;
  rc = pawl_act_is_listed(b->e, &b->plan.of, id, listed, &err);
  if (rc != PAWL_OK) *why = err;
  return rc;
}

/* How one has ended; what is about the store ends it all. */
static pawl_code count(bulk *b, const pawl_id *id, pawl_code rc, int done,
                       pawl_error *why) {
  int listed = 1;

  if (rc != PAWL_OK && !pawl_act_is_refusal(rc, why)) return rc;
  if (rc != PAWL_OK) MUST(find_listed(b, id, rc, &listed, why));
  b->so_far.matched++;
  if (!listed)
    b->so_far.skipped++;
  else if (rc != PAWL_OK)
    note_refused(b, id, why);
  else if (done || b->plan.dry_run)
    b->so_far.done++;
  else
    b->so_far.asked++;
  if (b->so_far.matched % TELL_EVERY == 0) tell(b);
  return PAWL_OK;
}

static pawl_code change_one(bulk *b, const pawl_id *id, pawl_error *err) {
  int done = 0;
  pawl_code rc = pawl_engine_change_listed(
      b->e, &b->plan.of, id, pawl_buf_str(&b->change), &done, err);
  return count(b, id, rc, done, err);
}

/* ---- several together ---- */

/* Agenda rows are locked in the order of ids (S2); a walk may be from the
 * newest to the oldest. */
static int goes_down(const pawl_id *ids, int n) {
  return pawl_id_cmp(&ids[0], &ids[n - 1]) > 0;
}

static pawl_code count_asked(bulk *b, pawl_one_asked *a, pawl_error *err) {
  pawl_code rc = count(b, &a->id, a->rc, a->done, &a->why);
  if (rc != PAWL_OK && err) *err = a->why;
  return rc;
}

/* What failed as a whole is done again, each by itself: so that one is
 * refused for what it did, and the others are not. */
static pawl_code change_few(bulk *b, const pawl_id *ids, int n,
                            pawl_error *err) {
  const int down = goes_down(ids, n);
  pawl_one_asked *list = b->asked;

  for (int k = 0; k < n; k++) list[k].id = ids[down ? n - 1 - k : k];
  (void)pawl_engine_change_many(b->e, &b->plan.of, pawl_buf_str(&b->change),
                                list, n, err);
  for (int i = 0; i < n; i++) {
    pawl_one_asked *a = &list[down ? n - 1 - i : i];
    if (a->ready)
      MUST(change_one(b, &a->id, err));
    else
      MUST(count_asked(b, a, err));
  }
  return PAWL_OK;
}

/* ---- purged together ---- */

static void read_words(bulk *b) {
  const pawl_str change = pawl_buf_str(&b->change);
  pawl_str by = {0}, reason = {0};

  if (pawl_json_get(change, "by", &by)) pawl_json_unquote(by, &b->by);
  if (pawl_json_get(change, "reason", &reason))
    pawl_json_unquote(reason, &b->reason);
  pawl_write_who(pawl_buf_str(&b->by), pawl_buf_str(&b->reason), &b->deletion);
}

/* One that went with others, or is to go by itself. What is not there any more,
 * though the answer to that was lost, went by us: none of them did, or all. */
static pawl_code purge_one(bulk *b, const pawl_id *id, pawl_went went,
                           pawl_error *err) {
  int done = 1;
  pawl_code rc = PAWL_OK;

  if (went == PAWL_WENT_HERE) return count(b, id, rc, done, err);
  rc = pawl_engine_change_listed(b->e, &b->plan.of, id,
                                 pawl_buf_str(&b->change), &done, err);
  if (rc == PAWL_NOTFOUND && went == PAWL_WENT_MAYBE) rc = PAWL_OK, done = 1;
  return count(b, id, rc, done, err);
}

/* Who was not seen to before a signal came is seen to when asked again. */
static pawl_code purge_few(bulk *b, const pawl_id *ids, int n,
                           pawl_error *err) {
  const pawl_purge_why why = {.by = pawl_buf_str(&b->by),
                              .reason = pawl_buf_str(&b->reason),
                              .deletion = pawl_buf_str(&b->deletion),
                              .statuses = b->plan.of.statuses,
                              .force = b->plan.force,
                              .keep_attributes = b->plan.keep_attributes};
  pawl_went went[PAWL_ASKED_MAX];

  MUST(pawl_purge_some(b->e, &why, ids, n, went, err));
  for (int k = 0; k < n; k++)
    if (went[k] || !b->e->interrupted)
      MUST(purge_one(b, &ids[k], went[k], err));
  return PAWL_OK;
}

/* ---- all of them ---- */

/* What the archive has, and what was deleted, goes one by one. */
static int purges_together(const bulk *b) {
  return b->plan.purges && !b->plan.of.deleted && !b->plan.of.archived;
}

/* Between instances: each is changed as a whole, or not looked at. */
static int is_to_stop(bulk *b) {
  if (b->e->interrupted) b->stopped = 1;
  return b->stopped;
}

static pawl_code change_page(bulk *b, const pawl_id *ids, int n,
                             pawl_error *err) {
  const int together = purges_together(b);
  const int alone = (b->plan.alone && !together) || b->plan.dry_run;
  const int step = alone ? 1 : PAWL_ASKED_MAX;

  for (int k = 0; k < n && !is_to_stop(b); k += step) {
    const int few = n - k < step ? n - k : step;
    pawl_store_call(b->e->store);
    MUST(alone      ? change_one(b, &ids[k], err)
         : together ? purge_few(b, &ids[k], few, err)
                    : change_few(b, &ids[k], few, err));
  }
  return PAWL_OK;
}

static pawl_code change_all(bulk *b, pawl_walk *walk, pawl_error *err) {
  pawl_id ids[PAGE];
  int n;

  do {
    MUST(pawl_walk_next(b->e, walk, ids, PAGE, &n, err));
    MUST(change_page(b, ids, n, err));
  } while (n && !b->stopped);
  if (!b->stopped && b->so_far.matched % TELL_EVERY) tell(b);
  return PAWL_OK;
}

static int by_id(const void *a, const void *b) {
  return pawl_id_cmp(a, b);
}

/* All that are to be changed are read first: two transactions that lock the
 * same ones do so in one order (S2), whatever that of their lists is. */
static pawl_code find_held(bulk *b, pawl_walk *walk, pawl_id *ids, int *n,
                           pawl_error *err) {
  pawl_id next;
  int got;

  *n = 0;
  do {
    MUST(pawl_walk_next(b->e, walk, ids + *n, PAGE, &got, err));
    *n += got;
  } while (got && *n < HELD_MOST);
  if (*n) b->last = ids[*n - 1];
  if (got) MUST(pawl_walk_next(b->e, walk, &next, 1, &b->more, err));
  qsort(ids, (size_t)*n, sizeof *ids, by_id);
  return PAWL_OK;
}

static pawl_code change_held(bulk *b, pawl_walk *walk, pawl_error *err) {
  const size_t size = HELD_MOST * sizeof(pawl_id);
  pawl_id *ids = pawl_realloc(&b->e->alloc, NULL, 0, size);
  int n;
  pawl_code rc = PAWL_OK;

  _Static_assert(HELD_MOST % PAGE == 0, "pages end where it does");
  if (!ids) return pawl_fail_memory(err);
  TRY(find_held(b, walk, ids, &n, err));
  TRY(change_page(b, ids, n, err));
  if (b->stopped) b->more = 0; /* nobody knows where it would go on */
  if (!b->stopped && b->so_far.matched % TELL_EVERY) tell(b);
out:
  pawl_release(&b->e->alloc, ids, size);
  return rc;
}

/* ---- the report ---- */

static void add_refusal(const refusals *r, int others, pawl_object *list) {
  pawl_object one;

  if (!r->n) return;
  pawl_list_object(list, &one);
  pawl_member_textz(&one, "code", pawl_code_name(r->why.code));
  pawl_member_int(&one, "count", r->n);
  if (others) pawl_member_bool(&one, "others", 1);
  pawl_member_id(&one, "id", &r->first);
  pawl_member_textz(&one, "message", r->why.message);
  if (r->why.hint[0]) pawl_member_textz(&one, "hint", r->why.hint);
  pawl_object_end(&one);
}

static void add_refusals(const bulk *b, pawl_object *o) {
  pawl_object list;

  pawl_member_list(o, "refusals", &list);
  for (int i = 0; i < b->nreasons; i++) add_refusal(&b->refused[i], 0, &list);
  for (int i = 0; i < PAWL_NCODES; i++) add_refusal(&b->others[i], 1, &list);
  pawl_list_end(&list);
}

static void report(const bulk *b, pawl_buf *out) {
  pawl_object o;

  pawl_object_begin(&o, out);
  pawl_member_json(&o, "kind", b->kind);
  pawl_member_id(&o, "request", &b->plan.request);
  pawl_member_bool(&o, "dry_run", b->plan.dry_run);
  pawl_member_int(&o, "matched", b->so_far.matched);
  pawl_member_int(&o, "done", b->so_far.done);
  pawl_member_int(&o, "asked", b->so_far.asked);
  pawl_member_int(&o, "refused", b->so_far.refused);
  pawl_member_int(&o, "skipped", b->so_far.skipped);
  add_refusals(b, &o);
  pawl_member_bool(&o, "stopped", b->stopped);
  if (b->held) pawl_member_bool(&o, "more", b->more);
  if (b->more) pawl_member_id(&o, "last", &b->last);
  pawl_object_end(&o);
}

/* ---- the verb ---- */

/* The change of each carries the request's id: drawn here, unless it was given.
 */
static pawl_code read_change(bulk *b, pawl_str change, pawl_error *err) {
  pawl_act_plan *p = &b->plan;

  MUST(pawl_act_plan_of(b->e, change, p, err));
  (void)pawl_json_get(change, "kind", &b->kind);
  if (p->has_request) {
    pawl_buf_adds(&b->change, change);
    return pawl_buf_check(&b->change, err);
  }
  MUST(pawl_id_make(&b->e->ids, pawl_engine_now(b->e), &p->request, err));
  const char *rest = memchr(change.at, '{', change.len);
  pawl_buf_addf(&b->change, "{\"request\":\"%s\",",
                pawl_id_text_of(&p->request).at);
  pawl_buf_adds(
      &b->change,
      (pawl_str){rest + 1, change.len - (size_t)(rest + 1 - change.at)});
  return pawl_buf_check(&b->change, err);
}

/* What was done stays done, and is known by the request. */
static void tell_resumed(const bulk *b, pawl_error *err) {
  if (!b->so_far.matched || b->plan.dry_run || b->held) return;
  pawl_error_hint(err,
                  "%" PRId64
                  " %s seen to; with the request %s it goes on where it ended",
                  b->so_far.matched,
                  b->so_far.matched == 1 ? "instance was" : "instances were",
                  pawl_id_text_of(&b->plan.request).at);
}

pawl_code pawl_engine_bulk(pawl_engine *e, pawl_str query, pawl_str change,
                           pawl_progress_fn progress, void *ud, pawl_buf *out,
                           pawl_error *err) {
  bulk *b = pawl_realloc(&e->alloc, NULL, 0, sizeof *b);
  pawl_act_list *of;
  pawl_walk *walk = NULL;
  pawl_code rc = PAWL_OK;

  if (!b) return pawl_fail_memory(err);
  memset(b, 0, sizeof *b);
  of = &b->plan.of;
  b->e = e;
  b->held = pawl_store_held(e->store) > 0;
  b->change.alloc = b->by.alloc = b->reason.alloc = b->deletion.alloc =
      &e->alloc;
  for (int k = 0; k < PAWL_ASKED_MAX; k++)
    b->asked[k].letter.alloc = &e->alloc;
  b->tell = progress;
  b->ud = ud;
  TRY(read_change(b, change, err));
  read_words(b);
  TRY(pawl_buf_check(&b->deletion, err));
  TRY(pawl_walk_open(e, query, of->statuses, of->deleted, of->archived,
                     of->purged, &walk, err));
  pawl_walk_meant(walk, &of->statuses, &of->deleted, &of->archived);
  rc = b->held ? change_held(b, walk, err) : change_all(b, walk, err);
  if (rc != PAWL_OK) tell_resumed(b, err);
  if (rc == PAWL_OK) report(b, out);
out:
  e->interrupted = 0;
  pawl_walk_close(e, walk);
  pawl_buf_deinit(&b->change);
  pawl_buf_deinit(&b->by);
  pawl_buf_deinit(&b->reason);
  pawl_buf_deinit(&b->deletion);
  for (int k = 0; k < PAWL_ASKED_MAX; k++)
    pawl_buf_deinit(&b->asked[k].letter);
  pawl_release(&e->alloc, b, sizeof *b);
  return rc;
}
