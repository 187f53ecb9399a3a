/* engine/act/past.h: an instance's variables as they were, out of its history.
 *
 * Shape    pawl_past: whose history, and the row before which it is; 0: none.
 * Errors   PAWL_INVALID: there is no such row, or it was trimmed; those of a
 *          read. */
#ifndef PAWL_ENGINE_ACT_PAST_H
#define PAWL_ENGINE_ACT_PAST_H

#include "../common/engine_struct.h"

typedef struct pawl_past {
  int shard;
  pawl_id id;
  int64_t rows;   /* of its history */
  int64_t before; /* at 0 to begin with */
} pawl_past;

/* `seq`: a JSON integer. */
pawl_code pawl_past_at(pawl_past *p, pawl_str seq, pawl_error *err);
/* When the instance last came to a node (a JSON string, as it is called now).
 * 0: it never was there. */
pawl_code pawl_past_find(pawl_engine *e, pawl_past *p, pawl_str node,
                         pawl_error *err);
/* `before` > 0. `vars`: appended, a JSON object. */
pawl_code pawl_past_variables(pawl_engine *e, const pawl_past *p,
                              pawl_buf *vars, pawl_error *err);

#endif
