/* rules/crossing.h: can a token go from one version of a workflow to another?
 *
 * A crossing is two graphs and a map of nodes' names. Whoever asks for a
 * transfer looks whether each token can cross, to tell before anything happens;
 * whoever holds the instance then looks again, at where the tokens stand by
 * now.
 *
 * Layer    rules: base, value and defs only; no code of either version runs. */
#ifndef PAWL_RULES_CROSSING_H
#define PAWL_RULES_CROSSING_H

#include "../base/buf.h"
#include "../base/id.h"
#include "../defs/def.h"
#include "marks.h"
#include "token.h"

/* Where a token stands: names are interned. */
typedef struct pawl_place {
  pawl_id instance;
  int32_t no;
  int waiting;
  int stands;       /* its node was entered, or tried */
  int guarded;      /* what was on that has begun */
  int halted;       /* at a breakpoint */
  int steps;        /* it halts before its next node */
  int64_t due_us;   /* of one in the store: when it is looked at; 0: never */
  int32_t host;     /* at a boundary: the token that it is beside; else 0 */
  const char *node; /* NULL: nowhere yet */
  const char *forks[PAWL_MAX_DEPTH]; /* around it, outermost first */
  int32_t scope[PAWL_MAX_DEPTH];     /* the tokens that forked there */
  int depth;
} pawl_place;

typedef struct pawl_places {
  pawl_place *at;
  int n, cap;
} pawl_places;

void pawl_places_deinit(const pawl_world *w, pawl_places *p);
/* One more, emptied; NULL: out of memory. */
pawl_place *pawl_places_add(const pawl_world *w, pawl_places *p);
/* Fills in the forks that the token is in, what is beside what, and what its
 * detail says of breakpoints. */
void pawl_place_around(pawl_place *place, const pawl_token *t);
/* The same of a stored one: its fork (NULL: none), scope ("1.4") and detail. 0:
 * out of memory. */
int pawl_place_read(const pawl_world *w, pawl_place *place, const char *fork,
                    pawl_str scope, pawl_str detail);
/* Where one that has failed stood, as its row tells; added. */
pawl_code pawl_places_stopped(const pawl_world *w, const pawl_id *instance,
                              pawl_str stopped, pawl_places *p,
                              pawl_error *err);

/* ---- names ---- */

/* The node's name in the other version; `map`: a JSON object, at NULL: none.
 * What is on a node has a new name with it, unless the map names it itself. */
void pawl_map_name(pawl_str map, const char *name, pawl_buf *out);

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

/* A node's index on the other side, by its name on this one; -1. The name
 * there stays in `name`. */
int pawl_crossing_across(const pawl_crossing *c, const char *node,
                         pawl_buf *name);
/* Why a token cannot cross, appended to `why`; nothing: it can. */
pawl_code pawl_crossing_check(const pawl_crossing *c, const pawl_place *place,
                              pawl_buf *why, pawl_error *err);
/* Is the boundary of that name one there too: of its kind, on the same node?
 * Its index there; -1: it ends. */
int pawl_crossing_boundary(const pawl_crossing *c, const char *boundary,
                           pawl_buf *name);
/* A boundary of the other version, by its index there, that is to begin: on
 * where `place` is, or (level 0 and above) on the fork around it. */
typedef void pawl_begins(void *ud, const pawl_place *place, int level, int at);
/* All that one instance is to have beside it there and has not yet; it has
 * `all` live tokens, and `joined` has fired (NULL: nobody knows). One that has
 * come to pass is to again only if it is later there, or `every` so often. */
void pawl_crossing_begins(const pawl_crossing *c, const pawl_place *all, int n,
                          const pawl_marks *joined, pawl_begins *begins,
                          void *ud, pawl_buf *name);
/* That a step was done whose undo would be lost, appended; of a place without a
 * node, that nobody knows what was done. */
void pawl_crossing_tell_lost(const pawl_crossing *c, const pawl_place *lost,
                             pawl_buf *why);

#endif
