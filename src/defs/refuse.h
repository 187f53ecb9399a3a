/* defs/refuse.h: what is wrong with a definition: of which node, in which
 * line, and what to write instead.
 *
 * Layer    defs; private to it.
 * Errors   PAWL_DEFINITION, to be returned. err may be NULL. */
#ifndef PAWL_DEFS_REFUSE_H
#define PAWL_DEFS_REFUSE_H

#include "def.h"

/* Of a node it may be said: kind "name". */
#define PAWL_NODE_FMT "%s \"%s\""
#define PAWL_NODE_ARGS(node) pawl_kind_name((node)->kind), (node)->name

/* Adds file and line (0: unknown) to the error that was just made. */
pawl_code pawl_refuse_at(const pawl_def *def, int line, pawl_error *err);
/* kind "name", and what of it: fmt goes on behind that. `hint` as it stands;
 * NULL: there is none, or the caller adds it. */
pawl_code pawl_refuse_node(const pawl_def *def, const pawl_node *node,
                           pawl_error *err, const char *hint, const char *fmt,
                           ...) PAWL_PRINTF(5, 6);

#endif
