/* engine/common/query.h: a user's own SQL, in the transaction that is open: of
 * a transactional step (ctx.db), or one that is held (tx:query).
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_QUERY_H
#define PAWL_ENGINE_COMMON_QUERY_H

#include "../../base/buf.h"
#include "../../store/store.h"

/* params: a JSON array of at most 100 values, none of them nested for the
 * database: arrays and objects go as text. out: the rows, an array of objects.
 * PAWL_LIMIT, PAWL_VALUE for what JSON cannot hold. *failed (may be NULL) says
 * why the store refused the statement: the transaction cannot go on then. */
typedef struct pawl_query_bounds {
  int64_t us;                /* that one statement may take */
  size_t bytes;              /* of its rows, as JSON as well; 0: any */
  const pawl_tables *tables; /* that it may touch; NULL: any */
} pawl_query_bounds;
pawl_code pawl_query_run(pawl_engine *e, const pawl_query_bounds *bounds,
                         pawl_str sql, pawl_str params, pawl_buf *out,
                         int64_t *changed, pawl_error *failed,
                         pawl_error *err);

#endif
