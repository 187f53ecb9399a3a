/* store/sqltext.h: the SQL inside the program, as it is; or packed, in programs
 * that are to be small (PAWL_SMALL; "pawl_sql.h" says so).
 *
 * Shapes   A packed text is numbers that end with 0. One up to `nwords` is a
 *          word, any other a pair of lower numbers; sql/pack.lua makes them.
 * Errors   out of memory alone: NULL. */
#ifndef PAWL_STORE_SQLTEXT_H
#define PAWL_STORE_SQLTEXT_H

#include <stdint.h>

#include "../base/buf.h"

#ifdef PAWL_SQL_PACKED
typedef struct pawl_packing {
  const char *words; /* one behind the other, each with the space before it */
  const uint16_t *ends; /* where each word ends; the first is word 1 */
  int nwords;
  const uint16_t (*pairs)[2];
} pawl_packing;

typedef struct pawl_sqltext {
  const uint16_t *numbers;
  const pawl_packing *by;
} pawl_sqltext;
#else
typedef struct pawl_sqltext {
  const char *at;
} pawl_sqltext;
#endif

/* The text with a zero behind it: the program's own, or unpacked into `room`,
 * which is empty before. */
const char *pawl_sqltext_read(pawl_sqltext text, pawl_buf *room);

#endif
