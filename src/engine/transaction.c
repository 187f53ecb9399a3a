/* A transaction of the user's own, and what follows it.
 *
 * The store holds it (decision 0043). What this process knows and the store
 * does not is kept here: what is to be done once it is committed, and what was
 * loaded in it. Each level notes how far that was as it began, and who is
 * rolled back leaves nothing of it behind. */
#include <stdlib.h>

#include "../value/json.h"
#include "act/act.h"
#include "common/engine_struct.h"
#include "common/query.h"
#include "common/wake.h"
#include "engine.h"
#include "enter/enter.h"
#include "work/apply.h"
#include "work/aside.h"
#include "work/reach.h"

/* How far all was as it began. */
typedef struct level {
  size_t events, asked, filed;
  int64_t rows;
  int wake, give_back, defs;
} level;

/* ---- levels ---- */

static void cut(pawl_buf *b, size_t len) {
  b->len = len;
  b->failed = 0;
}

static pawl_code push_level(pawl_engine *e, pawl_error *err) {
  const level now = {.events = e->after_held.events.len,
                     .asked = e->after_held.asked.len,
                     .filed = e->after_held.filed.len,
                     .rows = e->after_held.rows,
                     .wake = e->after_held.wake,
                     .give_back = e->after_held.give_back,
                     .defs = pawl_registry_mark(e->registry)};

  pawl_buf *levels = &e->after_held.levels;
  const size_t was = levels->len;

  pawl_buf_add(levels, &now, sizeof now);
  const pawl_code rc = pawl_buf_check(levels, err);
  if (rc != PAWL_OK) cut(levels, was); /* the next may find room */
  return rc;
}

static level pop_level(pawl_engine *e) {
  pawl_buf *levels = &e->after_held.levels;
  level was;

  levels->len -= sizeof was;
  memcpy(&was, levels->at + levels->len, sizeof was);
  return was;
}

/* The innermost has not happened. */
static void undo_level(pawl_engine *e) {
  const level was = pop_level(e);
  pawl_def *def;

  cut(&e->after_held.events, was.events);
  cut(&e->after_held.asked, was.asked);
  cut(&e->after_held.filed, was.filed);
  e->after_held.rows = was.rows;
  e->after_held.wake = was.wake;
  e->after_held.give_back = was.give_back;
  /* no instance runs by them: there was no tick since they were loaded */
  while ((def = pawl_registry_undo(e->registry, was.defs))) {
    pawl_host_unload(e->host, def->host_ref);
    pawl_def_free(def);
  }
  if (!e->after_held.levels.len) pawl_registry_settle(e->registry);
}

static void forget(pawl_engine *e) {
  pawl_buf_clear(&e->after_held.events);
  pawl_buf_clear(&e->after_held.asked);
  pawl_buf_clear(&e->after_held.filed);
  pawl_buf_clear(&e->after_held.levels);
  e->after_held.rows = 0;
  e->after_held.wake = e->after_held.give_back = 0;
}

pawl_code pawl_engine_hold(pawl_engine *e, pawl_error *err) {
  int tries = 0;
  pawl_code rc;

  if (!pawl_store_held(e->store)) forget(e);
  TRY(push_level(e, err));
  do rc = pawl_store_hold(e->store, err);
  while (pawl_store_may_repeat(rc, &tries));
  if (rc != PAWL_OK) undo_level(e);
out:
  return rc;
}

/* ---- behind the commit ---- */

/* A kill's first: it takes what others only ask for. */
static int by_id(const void *a, const void *b) {
  const pawl_asked_held *x = a, *y = b;
  const int order = pawl_id_cmp(&x->id, &y->id);
  return order ? order : y->seize - x->seize;
}

static void leave(pawl_engine *e, const pawl_error *err) {
  pawl_log_error(&e->log, PAWL_DEBUG, "a letter is left to a worker", err);
}

static pawl_code take_one(pawl_engine *e, const pawl_asked_held *a) {
  pawl_error err;
  int got;
  const pawl_code rc = pawl_apply(e, &a->id, a->seize, &got, &err);

  if (rc != PAWL_OK) leave(e, &err);
  return rc;
}

/* Those that nobody holds, in units that they share; the others by themselves:
 * that somebody else will take a letter is no failure. */
static pawl_code take_few(pawl_engine *e, const pawl_asked_held *list, int n) {
  pawl_id ids[PAWL_ASKED_MAX];
  int got[PAWL_ASKED_MAX], m = 0;
  pawl_error err;
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < n; i++)
    if (!list[i].seize) ids[m++] = list[i].id;
  if (m && pawl_apply_many(e, ids, m, got, &err) != PAWL_OK)
    memset(got, 0, sizeof got);
  for (int i = n; i-- > 0;) {
    if (!list[i].seize && got[--m]) continue;
    rc = take_one(e, &list[i]);
    if (rc == PAWL_UNREACHABLE) break;
  }
  return rc;
}

/* In the order of their ids, each once: what lies there is taken at once. */
static void take_asked(pawl_engine *e) {
  pawl_buf *b = &e->after_held.asked;
  pawl_asked_held *list = (void *)b->at;
  const int n = (int)(b->len / sizeof *list);
  int m = 0, few;

  if (!n) return;
  qsort(list, (size_t)n, sizeof *list, by_id);
  for (int i = 0; i < n; i++)
    if (!m || !pawl_id_eq(&list[m - 1].id, &list[i].id)) list[m++] = list[i];
  for (int i = 0; i < m; i += few) {
    few = m - i < PAWL_ASKED_MAX ? m - i : PAWL_ASKED_MAX;
    if (take_few(e, &list[i], few) == PAWL_UNREACHABLE) break;
  }
  pawl_reach_all(e);
}

/* What is not reached is gone on with by who prunes, or archives it again. */
static void clear_filed(pawl_engine *e) {
  const pawl_buf *filed = &e->after_held.filed;
  pawl_error err;
  pawl_id id;
  int gone;

  for (size_t at = 0; at < filed->len; at += sizeof id) {
    memcpy(&id, filed->at + at, sizeof id);
    if (pawl_archive_rest(e, &id, PAWL_NEVER, &gone, &err) != PAWL_OK)
      pawl_log_error(&e->log, PAWL_WARN, "rows of what is archived are left",
                     &err);
  }
}

/* What others are to see, and may do, begins only now; what cannot be done
 * here is done by them. */
static void follow(pawl_engine *e) {
  pawl_error err;

  if (e->after_held.give_back && pawl_engine_give_back(e, &err) != PAWL_OK)
    pawl_log_error(&e->log, PAWL_WARN, "what was held is given back later",
                   &err);
  if (e->after_held.wake) pawl_wake(e);
  if (e->after_held.events.len) pawl_signal_post_held(e);
  take_asked(e);
  clear_filed(e);
}

pawl_code pawl_engine_held_commit(pawl_engine *e, pawl_error *err) {
  const int n = pawl_store_held(e->store);
  const pawl_code rc = pawl_store_held_commit(e->store, err);

  if (!n) return rc;
  if (rc != PAWL_OK) { /* or nobody knows: then it can be loaded again */
    undo_level(e);
    return rc;
  }
  (void)pop_level(e);
  if (n > 1) return rc;
  pawl_registry_settle(e->registry);
  follow(e);
  return rc;
}

pawl_code pawl_engine_held_rollback(pawl_engine *e, pawl_error *err) {
  if (!pawl_store_held(e->store))
    return pawl_fail(err, PAWL_MISUSE, "no transaction is open");
  pawl_store_held_rollback(e->store);
  undo_level(e);
  return PAWL_OK;
}

/* ---- one call in it ---- */

pawl_code pawl_engine_part_begin(pawl_engine *e, int *part, pawl_error *err) {
  *part = *part && pawl_store_held(e->store);
  if (!*part) return PAWL_OK;
  const pawl_code rc = pawl_engine_hold(e, err);
  *part = rc == PAWL_OK;
  return rc;
}

pawl_code pawl_engine_part_end(pawl_engine *e, int part, pawl_code rc,
                               pawl_error *err) {
  if (!part) return rc;
  if (rc == PAWL_OK) return pawl_engine_held_commit(e, err);
  (void)pawl_engine_held_rollback(e, NULL);
  return rc;
}

/* ---- the user's own SQL ---- */

pawl_code pawl_engine_held_query(pawl_engine *e, pawl_str sql, pawl_str params,
                                 int64_t *changed, pawl_buf *out,
                                 pawl_error *err) {
  pawl_json_kind kind;

  if (!pawl_store_held(e->store))
    return pawl_fail(err, PAWL_MISUSE, "no transaction is open");
  if (!params.at) params = pawl_strz("[]");
  MUST(pawl_json_check(params, &kind, err));
  if (kind != PAWL_JSON_ARRAY)
    return pawl_fail(err, PAWL_INVALID,
                     "the parameters of a query must be a list");
  const pawl_query_bounds bounds = {.us = e->sql_limit_us};
  return pawl_query_run(e, &bounds, sql, params, out, changed, NULL, err);
}

pawl_code pawl_engine_held_handle(pawl_engine *e, void **out,
                                  pawl_error *err) {
  if (!pawl_store_held(e->store))
    return pawl_fail(err, PAWL_MISUSE, "no transaction is open");
  return pawl_store_lend(e->store, out, err);
}

int pawl_engine_is_held(const pawl_engine *e) {
  /* from inside nobody gets further, and while it closes there is none */
  return e && !e->inside && e->store && pawl_store_held(e->store) > 0;
}
