/* engine/versions/crossing.h: what can go from one version of a workflow to another.
 *
 * A crossing is two graphs and a map of nodes' names. Whoever asks for a move
 * looks whether each token can cross, to tell before anything happens; whoever
 * holds the instance then looks again, at where the tokens stand by now.
 *
 * Layer    engine; no code of either version runs.
 * Owns     graphs that were made of stored ones; the map is borrowed. */
#ifndef PAWL_ENGINE_VERSIONS_CROSSING_H
#define PAWL_ENGINE_VERSIONS_CROSSING_H

#include "../../base/buf.h"
#include "../../base/id.h"
#include "../../defs/def.h"

struct pawl_engine;

/* Where a token stands: names are interned. */
typedef struct pawl_place {
  pawl_id instance;
  int32_t no;
  int waiting;
  const char *node;                  /* NULL: nowhere yet */
  const char *forks[PAWL_MAX_DEPTH]; /* around it, outermost first */
  int depth;
} pawl_place;

typedef struct pawl_places {
  pawl_place *at;
  int n, cap;
} pawl_places;

void pawl_places_deinit(pawl_engine *e, pawl_places *p);
/* One more, emptied; NULL: out of memory. */
pawl_place *pawl_places_add(pawl_engine *e, pawl_places *p);
/* Fills in the forks, from the token's own (NULL: none) and its detail. 0: out
 * of memory. */
int pawl_place_around(pawl_engine *e, pawl_place *place, const char *fork,
                      pawl_str detail);
/* Live tokens of instances of one shard; added. */
pawl_code pawl_places_load(pawl_engine *e, int shard, const pawl_id *ids,
                           int n, pawl_places *p, pawl_error *err);
/* Where one that has failed stood, as its row tells; added. */
pawl_code pawl_places_stopped(pawl_engine *e, const pawl_id *instance,
                              pawl_str stopped, pawl_places *p,
                              pawl_error *err);

/* ---- names ---- */

/* The node's name in the other version; `map`: a JSON object, at NULL: none. */
void pawl_map_name(pawl_str map, pawl_str name, pawl_buf *out);

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

typedef struct pawl_crossing {
  pawl_def *from, *to; /* NULL: it could not be opened */
  int own_from, own_to;
  pawl_spots *left, *right;
  pawl_str map; /* JSON object; at NULL: none */
  /* of a held instance */
  pawl_id letter; /* that asks for it */
  pawl_buf why;   /* it cannot be, for what was done before */
} pawl_crossing;

/* `c` is empty, but for its map. PAWL_NOTFOUND: no such version; PAWL_INVALID:
 * a name in the map that neither has. */
pawl_code pawl_crossing_open(pawl_engine *e, const char *code, int64_t from,
                             int64_t to, pawl_crossing *c, pawl_error *err);
void pawl_crossing_close(pawl_crossing *c);
/* Why a token cannot cross, appended to `why`; nothing: it can. */
pawl_code pawl_crossing_check(const pawl_crossing *c, const pawl_place *place,
                              pawl_buf *why, pawl_error *err);
/* Steps of these instances that were done, can be undone, and have no
 * counterpart on the other side: added. Their undo would be lost. */
pawl_code pawl_crossing_lost(pawl_engine *e, const pawl_crossing *c, int shard,
                             const pawl_id *ids, int n, pawl_places *lost,
                             pawl_error *err);
void pawl_crossing_tell_lost(const pawl_crossing *c, const pawl_place *lost,
                             pawl_buf *why);

#endif
