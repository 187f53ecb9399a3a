/* engine/versions/crossing.h: what can go from one version of a workflow to
 * another.
 *
 * A crossing is two graphs and a map of nodes' names. Whoever asks for a
 * transfer looks whether each token can cross, to tell before anything happens;
 * whoever holds the instance then looks again, at where the tokens stand by
 * now.
 *
 * Layer    engine/versions; no code of either version runs.
 * Owns     graphs that were made of stored ones; the map is borrowed. */
#ifndef PAWL_ENGINE_VERSIONS_CROSSING_H
#define PAWL_ENGINE_VERSIONS_CROSSING_H

#include "../../rules/crossing.h"
#include "../common/engine_struct.h"

/* Live tokens of instances of one shard; added. */
pawl_code pawl_places_load(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_places *p, pawl_error *err);

/* What instances were moved by so far, oldest first. */
typedef struct pawl_rename {
  pawl_id instance;
  int64_t seq;  /* the row of history that tells */
  pawl_buf map; /* JSON object; empty: none */
} pawl_rename;

typedef struct pawl_renames {
  pawl_rename *at;
  int n, cap;
} pawl_renames;

pawl_code pawl_renames_load(pawl_engine *e, int shard, const pawl_id *ids,
                            int n, pawl_renames *r, pawl_error *err);
/* The same of one instance, by a JSON list of those rows. */
pawl_code pawl_renames_pick(pawl_engine *e, int shard, const pawl_id *id,
                            pawl_str rows, pawl_renames *r, pawl_error *err);
void pawl_renames_deinit(pawl_engine *e, pawl_renames *r);
/* What a node of the row `seq` of history is called now. */
void pawl_renames_follow(const pawl_renames *r, const pawl_id *instance,
                         int64_t seq, pawl_str node, pawl_buf *out);

/* ---- crossing ---- */

/* `c` is empty, but for its map. PAWL_NOTFOUND: no such version; PAWL_INVALID:
 * a name in the map that neither has. */
pawl_code pawl_crossing_open(pawl_engine *e, const char *code, int64_t from,
                             int64_t to, pawl_crossing *c, pawl_error *err);
void pawl_crossing_close(pawl_crossing *c);
/* Steps of these instances that were done, can be undone, and have no
 * counterpart on the other side: added. Their undo would be lost. Where the
 * other side undoes anything, those whose history was trimmed, too: without a
 * node. */
pawl_code pawl_crossing_lost(pawl_engine *e, const pawl_crossing *c, int shard,
                             const pawl_id *ids, int n, pawl_places *lost,
                             pawl_error *err);
#endif
