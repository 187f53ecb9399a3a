/* defs/kinds.h: the kinds of nodes, and what tells one from another.
 *
 * Which kinds there are, and what may be said of each, stands in Lua, once:
 * lua/pawl/kinds. src/defs/kinds.lua makes of it, when this is built,
 *
 *   pawl_kinds.h   PAWL_KINDS(X): X(STEP, step) X(CHOICE, choice) ...
 *   pawl_kinds.c   pawl_kind_shapes
 *
 * so that reading and checking a graph need no line for a new kind. What a
 * kind does is in src/rules/kinds.
 *
 * Layer    defs: above base. */
#ifndef PAWL_DEFS_KINDS_H
#define PAWL_DEFS_KINDS_H

#include "pawl_kinds.h"

typedef enum pawl_kind {
#define PAWL_KIND_ENUM(name, text) PAWL_KIND_##name,
  PAWL_KINDS(PAWL_KIND_ENUM)
#undef PAWL_KIND_ENUM
      PAWL_NKINDS
} pawl_kind;

/* What `next` may be. */
typedef enum pawl_ways {
  PAWL_WAYS_NONE,
  PAWL_WAYS_SINGLE,  /* one node */
  PAWL_WAYS_ANY,     /* one node, or transitions by name */
  PAWL_WAYS_NAMED,   /* two transitions or more */
  PAWL_WAYS_BRANCHES /* two or more, and all are taken */
} pawl_ways;

/* A field that must be there, and how it is written: the hint. */
typedef struct pawl_need {
  const char *field, *how;
} pawl_need;

typedef struct pawl_kind_shape {
  const char *name;
  pawl_ways ways;
  int routes;   /* nothing is written at it, and no token rests there but one
                   that waits for others of its fork */
  int receives; /* what it waits for is sent to it: its `timeout` says how long
                   it waits, and it is not tried again unless it says so */
  const char *waits_for;   /* "event" and the like; NULL: nobody waits there */
  const pawl_need *needs;  /* up to a field of NULL */
  const pawl_need *either; /* one of these two; NULL: of none. The first one's
                              `how` tells of both, the second one's what to do
                              where both are said */
  const char *const *transitions; /* all that it knows, up to NULL; the first
                                     must be there. NULL: any names */
  const char *const *others;      /* the same of one that says the second of
                                     `either`; NULL: those, too */
} pawl_kind_shape;

extern const pawl_kind_shape pawl_kind_shapes[PAWL_NKINDS];

/* "step" and so on. */
static inline const char *pawl_kind_name(pawl_kind kind) {
  return (unsigned)kind < PAWL_NKINDS ? pawl_kind_shapes[kind].name : "?";
}

#endif
