/* engine/versions/undo_walk.h: what an instance has done that can be undone,
 * read from its history, newest first, by the names of the version of today.
 *
 * Layer    engine/versions. */
#ifndef PAWL_ENGINE_VERSIONS_UNDO_WALK_H
#define PAWL_ENGINE_VERSIONS_UNDO_WALK_H

#include "crossing.h"

/* Down an instance's history, past what was undone already. */
typedef struct pawl_undo_walk {
  const pawl_def *def;
  const pawl_renames *renames; /* a row's node may go by another name now */
  int shard;
  pawl_id id;
  pawl_str by;    /* the undo node that says which; at NULL: all are meant */
  int64_t below;  /* what comes next is older than this row */
  int64_t from;   /* steps from that row on were seen to */
  int64_t n, max; /* steps found; no more than these are put into `list` */
  pawl_buf *list; /* as pawl_held has it, without the brackets */
  int over;       /* there are none older */
  int64_t again;  /* the newest row that tells of one that was undone; 0 */
  /* a bit for each row that was undone; a byte for each node that is meant */
  pawl_buf undone, meant;
} pawl_undo_walk;
void pawl_undo_walk_deinit(pawl_undo_walk *w);
/* It begins at that row, as `below` and `again` of a compensation say. */
void pawl_undo_walk_below(pawl_undo_walk *w, int64_t below, int64_t again);
/* Goes on until `n` is `upto`, or it is over. */
pawl_code pawl_undo_walk_on(pawl_engine *e, pawl_undo_walk *w, int64_t upto,
                            pawl_error *err);

#endif
