/* engine/versions/hotfix.h: replacing the source of a version that instances
 * run.
 *
 * Only what handlers do may change: the graph must be the same, or tokens
 * would stand where nothing is. Every source stays in the store as a revision,
 * with who made it and why.
 *
 * Layer    engine/versions; register.c includes it. */
#ifndef PAWL_ENGINE_VERSIONS_HOTFIX_H
#define PAWL_ENGINE_VERSIONS_HOTFIX_H

#include "../../defs/def.h"
#include "../../value/options.h"

typedef struct pawl_fix {
  uint64_t given;
  pawl_buf by, reason;
} pawl_fix;
extern const pawl_options pawl_options_of_workflow_hotfix;

/* PAWL_EXISTS when the new definition's graph differs from the stored one in
 * more than line numbers and texts for people: says in what. */
pawl_code pawl_hotfix_check(const pawl_def *def, pawl_str stored,
                            pawl_error *err);

#endif
