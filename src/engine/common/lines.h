/* engine/common/lines.h: rows of the store as lines of JSON, and back.
 *
 *   {"is":"token","no":2,"node":"ask","state":"waiting",...}
 *
 * A line is an object: which table's row it is, and the columns by their names,
 * in the order in which the statement export_TABLE has them. A column that is
 * null is left out. Numbers, decimals apart, are JSON's, JSON stands as it is
 * in the store, but that line breaks and blanks around it are blanks or gone;
 * everything else is a string: ids, times ("2026-11-21T07:38:00.000000Z"; a
 * number of microseconds where that has no year of 4 digits), decimals, bytes
 * as base64.
 *
 * Layer    engine/common.
 * Keeps    L8 a line that is read gives the row that it was written from.
 *          L9 what is read is checked: its names, shapes and ranges. */
#ifndef PAWL_ENGINE_COMMON_LINES_H
#define PAWL_ENGINE_COMMON_LINES_H

#include "../../store/store.h"

/* The tables whose rows an instance has, in the order in which they are
 * written: what refers to another stands behind it. */
#define PAWL_CARRIED(X) \
  X(instance)           \
  X(agenda)             \
  X(variable)           \
  X(token)              \
  X(item)               \
  X(history)            \
  X(inbox)              \
  X(subscription)       \
  X(message)            \
  X(ending)             \
  X(failure) X(outbox) X(published) X(task) X(owner) X(attribute) X(audit)

typedef enum pawl_carried {
#define PAWL_CARRIED_ENUM(table) PAWL_CARRIED_##table,
  PAWL_CARRIED(PAWL_CARRIED_ENUM)
#undef PAWL_CARRIED_ENUM
      PAWL_NCARRIED
} pawl_carried;

/* What of the data is not for others' eyes. Members at one of `paths`, of
 * objects however deep they are in data of the workflow, are "***". */
typedef struct pawl_mask {
  const pawl_str *paths; /* "customer.name" */
  int npaths;            /* at most 32 */
  uint32_t *met; /* bits of those that masked something; NULL: not asked */
} pawl_mask;

#define PAWL_MASKED "***"

/* Appends the k-th row as a line, as one of `table`. mask NULL: all is told. */
void pawl_line_write(const pawl_rows *rows, int k, const char *table,
                     const pawl_mask *mask, pawl_buf *out);

/* Which table's row it is, of JSON that was checked; at NULL: of none. */
pawl_str pawl_line_is(pawl_str line);

/* Sets the arguments of `stmt` that have a name of the line's members, one row
 * more of its columns: those before `first` are the caller's. What they borrow
 * is the line, or `keep`, which is to have room for twice the line beforehand,
 * as it must not move. PAWL_INVALID, with the member as `where`: it is unknown,
 * or is not what the column holds. */
pawl_code pawl_line_read(pawl_str line, pawl_args *args, int first,
                         pawl_buf *keep, pawl_error *err);

#endif
