/* engine/act/sweep.h: what the stages of a sweep share, see prune.c.
 *
 *   prune.c         who sweeps, and instances
 *   prune_parts.c   what else goes: outbox, tasks, attributes, audit, events,
 *                   revisions, executors, the space of a file
 *
 * Layer    engine/act; for these two files. */
#ifndef PAWL_ENGINE_ACT_SWEEP_H
#define PAWL_ENGINE_ACT_SWEEP_H

#include <assert.h>

#include "../../defs/def.h"
#include "act.h"
#include "pace.h"

enum { PAWL_SWEEP_PAGE = 200 }; /* rows that are looked at together */

/* ---- what is asked for ---- */

#define PAWL_SWEPT(X) \
  X(retain)           \
  PAWL_RETAINED(X)    \
  X(published) X(tasks) X(attributes) X(audit) X(revisions) X(executors)

typedef struct pawl_sweep_request {
  uint64_t is_given;
#define PAWL_SWEPT_MEMBER(name) int64_t name;
  PAWL_SWEPT(PAWL_SWEPT_MEMBER) /* -1: not said */
  int archive, keep_attributes; /* -1: not said */
  int64_t limit, share;         /* share: of a hundred; 0: not said */
  int dry_run;
  pawl_buf by;
} pawl_sweep_request;

/* ---- where it is, and what went ---- */

typedef struct pawl_sweep_place {
  int stage, shard, status; /* status: of instances and tasks, by number */
  pawl_id after;
  int64_t after_seq;
  char workflow[256];
} pawl_sweep_place;

enum {
  PAWL_KEPT_LEASED = PAWL_NHOLDS,
  PAWL_KEPT_TASK,
  PAWL_KEPT_REFUSED,
  PAWL_NKEPT
};

typedef struct pawl_sweep_count {
  int64_t removed, archived, kept[PAWL_NKEPT];
} pawl_sweep_count;

typedef struct pawl_sweep {
  pawl_engine *e;
  pawl_taker *take;
  pawl_filer *file;
  pawl_sweep_request asked, ours; /* ours: of the engine */
  int64_t now_us, until_mono, left;
  int64_t again_us; /* then the house is taken anew */
  struct pawl_pace pace;
  pawl_sweep_place at;
  pawl_buf versions;        /* of prune.c's struct version */
  pawl_sweep_count *counts; /* of each stage */
  int64_t freed_bytes;
  int64_t looked; /* rows that the step under way has looked at */
} pawl_sweep;

/* So many rows a step reads together: what a piece has time for. */
static inline int pawl_sweep_page(const pawl_sweep *w) {
  const int rows = w->e->piece_rows;
  return rows && rows < PAWL_SWEEP_PAGE ? rows : PAWL_SWEEP_PAGE;
}

/* Of the stage that it is at. */
static inline pawl_sweep_count *pawl_sweep_count_of(pawl_sweep *w) {
  return &w->counts[w->at.stage];
}

static inline void pawl_sweep_removed(pawl_sweep *w, int64_t n) {
  assert(n >= 0);
  pawl_sweep_count_of(w)->removed += n;
  w->left -= n < w->left ? n : w->left;
}

/* At most so many are to go, of what a unit takes. */
static inline int pawl_sweep_at_most(const pawl_sweep *w, int64_t n) {
  return (int)(n < w->left ? n : w->left);
}

/* The least id that nothing has which was made by then. */
static inline pawl_id pawl_sweep_id_behind(int64_t us) {
  int64_t ms = us < 0 ? 0 : us / 1000 + 1;
  pawl_id id = {{0}};

  for (int i = 5; i >= 0; i--, ms /= 256) id.bytes[i] = (unsigned char)ms;
  return id;
}

/* How long what no workflow tells of is kept. */
static inline int64_t pawl_sweep_kept(int64_t asked, int64_t ours,
                                      int64_t otherwise) {
  return asked >= 0 ? asked : ours >= 0 ? ours : otherwise;
}

/* ---- prune_parts.c ---- */

/* Statuses of tasks that are over. */
enum { PAWL_NTASK_ENDS = 4 };

/* Steps of stages: as much as one unit takes. *done: no more in this shard. */
#define PAWL_SWEEP_STEP(part) \
  pawl_code pawl_sweep_##part(pawl_sweep *w, int *done, pawl_error *err);
PAWL_SWEEP_STEP(outbox)
PAWL_SWEEP_STEP(tasks)
PAWL_SWEEP_STEP(attributes)
PAWL_SWEEP_STEP(audit)
PAWL_SWEEP_STEP(events)
PAWL_SWEEP_STEP(revisions)
PAWL_SWEEP_STEP(executors)
PAWL_SWEEP_STEP(space)

#endif
