/* rules/way.h: the `path` of a row of history, "c=again > poll": which nodes a
 * token came to as it went on from there.
 *
 * Some have rows of their own, once they are passed. Others are passed at once,
 * or end the way: that somebody came to them is told by paths alone, each time
 * by one.
 *
 * Layer    rules: pure. */
#ifndef PAWL_RULES_WAY_H
#define PAWL_RULES_WAY_H

#include "../defs/def.h"

/* Is it told by paths alone that somebody came to this node? */
int pawl_way_tells(const pawl_node *node);
/* Of the node of that name; 0: there is none. */
int pawl_way_tells_of(const pawl_def *def, pawl_str name);
/* How often the path names it. One that a row begins with ("=again > poll") was
 * named by the row before. */
int64_t pawl_way_count(pawl_str path, pawl_str node);

/* How a way came to a node that its path names. */
typedef enum pawl_way_in {
  PAWL_WAY_NOT,    /* it did not: the path does not name it */
  PAWL_WAY_FIRST,  /* at once: by the transition of the path's row */
  PAWL_WAY_CHOSEN, /* by a transition of a choice, *name */
  PAWL_WAY_BRANCH, /* by that of a fork, called as the branch is */
  PAWL_WAY_PLAIN, /* behind a join, or an each, by a transition without name */
  PAWL_WAY_SEVERAL /* more than once, and not in one way */
} pawl_way_in;

/* Which part of a path: all of it, what the row's own token went, or what
 * followed from that, as a join went on ("j; e"). */
typedef enum pawl_way_part {
  PAWL_WAY_ALL,
  PAWL_WAY_OWN,
  PAWL_WAY_LATER
} pawl_way_part;

/* By which transition did a way come to the node? *name, borrowed of the path,
 * is written for PAWL_WAY_CHOSEN. Names of nodes that have " > ", "; " or "="
 * in them may be read wrongly. */
pawl_way_in pawl_way_into(pawl_str path, pawl_way_part part, pawl_str node,
                          pawl_str *name);

#endif
