/* rules/stored.h: parts of the state as the store has them, in JSON. In memory
 * they are structs: they are read when an instance is loaded, and written with
 * its commit.
 *
 *   joined        [{"join":"close","scope":4},...]
 *   compensation  {"status":"planning","end":"failed","error":{...},
 *                  "output":...,"node":"pay","started_at":"..."}
 *                 {"status":"running",...,"since":12,"below":8,"planned":7,
 *                  "undone":2,"undo_failed":1,"transfers":[5]}
 *                 {"status":"completed",...,"completed_at":"..."}
 *                 {"status":"running","by":1,"token":4,"node":"give_back",...}:
 *                 token 1, at that node, has it undone and goes on
 *
 *   parent_place  {"node":"pay","token":3,"visit":7,"index":0,"end":"cancel"}
 *                 the token that waits for it; the index of an each's item;
 *                 `end`: what becomes of it when its parent ends
 *                 {...,"ancestors":3}: how many have begun each other, from
 *                 the first that is not trusted; where there are some, also
 *                 alone, of one that has no parent
 *
 * Layer    rules: for engine/work, engine/act and stopped.c.
 * Errors   what memory was missing for is marked as failed where it is read
 *          into, or written to. */
#ifndef PAWL_RULES_STORED_H
#define PAWL_RULES_STORED_H

#include "../value/object.h"
#include "decision.h"

/* Appended; nothing for none. */
void pawl_joined_write(const pawl_marks *joined, pawl_buf *out);
void pawl_compensation_write(const pawl_compensation *u, pawl_buf *out);
/* Instead of what is there; empty: none. */
void pawl_joined_read(const pawl_world *w, pawl_str json, pawl_marks *joined);
void pawl_compensation_read(pawl_str json, pawl_state *s);

/* What the parent knows its place by, as members of what it is told. */
void pawl_place_tell(pawl_str place, pawl_object *o);
/* How many are above what an instance starts that has `above` of them itself. */
int64_t pawl_ancestors_next(int64_t above, int is_limited);
int64_t pawl_ancestors_below(const pawl_decision *d);
/* Of one that has no parent; nothing for none. */
void pawl_place_of_ancestors(int64_t ancestors, pawl_buf *out);

/* Is what was done being undone, or will be with the next decision? */
int pawl_compensation_is_under_way(pawl_str json);

#endif
