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

#endif
