/* One change of all instances that a list would have.
 *
 * Each is changed as if it had been called for by itself: looked at, asked by
 * a letter of its own, refused by itself. Nothing is locked over several, and
 * what a crash leaves is a smaller task: asked again with the same request,
 * what was done is known by the history of each (decision 0044). */
#include "../value/object.h"
#include "act/act.h"
#include "ask/ask.h"
#include "common/engine_struct.h"
#include "common/time.h"
#include "engine.h"

#define PAGE 200       /* ids that are read at once */
#define TELL_EVERY 100 /* instances */

/* Those that were refused with one code. */
typedef struct refusals {
  int64_t n;
  pawl_id first;
  pawl_error why; /* of the first */
} refusals;

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
  refusals refused[PAWL_NCODES];
} bulk;

/* ---- one instance ---- */

/* Is it about this instance alone? What is about the store ends it all. A
 * purge is busy while a worker holds the instance. */
static int is_refusal(pawl_code rc, const pawl_error *why) {
  return pawl_code_is_final(rc, why) || rc == PAWL_NO_HANDLER ||
         (rc == PAWL_BUSY && !why->sqlstate[0]);
}

static void note_refused(bulk *b, const pawl_id *id, const pawl_error *why) {
  refusals *r = &b->refused[why->code];
  b->so_far.refused++;
  if (r->n++) return;
  r->first = *id;
  r->why = *why;
}

static pawl_code change_one(bulk *b, const pawl_id *id, pawl_error *err) {
  int done = 0;
  pawl_code rc = pawl_engine_change_checked(b->e, id, pawl_buf_str(&b->change),
                                            &done, NULL, err);

  if (rc != PAWL_OK && !is_refusal(rc, err)) return rc;
  b->so_far.matched++;
  if (rc != PAWL_OK)
    note_refused(b, id, err);
  else if (done || b->plan.dry_run)
    b->so_far.done++;
  else
    b->so_far.asked++;
  return PAWL_OK;
}

/* ---- all of them ---- */

static void tell(bulk *b) {
  if (b->tell && b->tell(b->ud, &b->so_far)) b->stopped = 1;
}

static pawl_code change_page(bulk *b, const pawl_id *ids, int n,
                             pawl_error *err) {
  for (int k = 0; k < n && !b->stopped; k++) {
    MUST(change_one(b, &ids[k], err));
    if (b->so_far.matched % TELL_EVERY == 0) tell(b);
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

/* ---- the report ---- */

static void add_refusals(const bulk *b, pawl_object *o) {
  pawl_object list, one;

  pawl_member_list(o, "refusals", &list);
  for (int code = 0; code < PAWL_NCODES; code++) {
    const refusals *r = &b->refused[code];
    if (!r->n) continue;
    pawl_list_object(&list, &one);
    pawl_member_textz(&one, "code", pawl_code_name((pawl_code)code));
    pawl_member_int(&one, "count", r->n);
    pawl_member_id(&one, "id", &r->first);
    pawl_member_textz(&one, "message", r->why.message);
    if (r->why.hint[0]) pawl_member_textz(&one, "hint", r->why.hint);
    pawl_object_end(&one);
  }
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
  add_refusals(b, &o);
  pawl_member_bool(&o, "stopped", b->stopped);
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
  if (!b->so_far.matched || b->plan.dry_run) return;
  pawl_error_hint(err,
                  "%" PRId64
                  " instances were seen to; with the request %s "
                  "it goes on where it ended",
                  b->so_far.matched, pawl_id_text_of(&b->plan.request).at);
}

pawl_code pawl_engine_bulk(pawl_engine *e, pawl_str query, pawl_str change,
                           pawl_progress_fn progress, void *ud, pawl_buf *out,
                           pawl_error *err) {
  bulk *b = pawl_realloc(&e->alloc, NULL, 0, sizeof *b);
  pawl_walk *walk = NULL;
  pawl_code rc = PAWL_OK;

  if (!b) return pawl_fail_memory(err);
  memset(b, 0, sizeof *b);
  b->e = e;
  b->change.alloc = &e->alloc;
  b->tell = progress;
  b->ud = ud;
  TRY(read_change(b, change, err));
  TRY(pawl_walk_open(e, query, b->plan.statuses, b->plan.deleted, &walk, err));
  rc = change_all(b, walk, err);
  if (rc != PAWL_OK) tell_resumed(b, err);
  if (rc == PAWL_OK) report(b, out);
out:
  pawl_walk_close(e, walk);
  pawl_buf_deinit(&b->change);
  pawl_release(&e->alloc, b, sizeof *b);
  return rc;
}
