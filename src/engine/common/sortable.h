/* engine/common/sortable.h: a typed value as text whose bytes sort as the
 * values of its type do, the same in every database, so that one index finds
 * what is equal, in a range, or begins with something.
 *
 *   boolean   b0  b1
 *   date      d, and its microseconds plus 2 to the 63rd, in 20 digits
 *   number    n, and one of 0 (below zero), 1 (zero), 2; then, of 0.DIGITS
 *             times 10 to the EXPONENT, 50000 + EXPONENT and DIGITS. Below zero each
 *             digit is 9 less it, and a tilde ends it
 *   string    s, and the text itself
 *
 * Integers, decimals and floats are numbers, and equal where their values are;
 * a float is the shortest decimal that reads back as it, or the integer that it
 * is, below 2 to the 63rd. Bytes have none.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_SORTABLE_H
#define PAWL_ENGINE_COMMON_SORTABLE_H

#include "attributes.h"

/* Appends it, no more than the value's own text and 32 bytes; 0: there is none.
 */
int pawl_sortable_add(const pawl_attribute *v, pawl_buf *out);
/* The same, as what stands in `scratch`, which has room for it; at NULL: there
 * is none. */
pawl_str pawl_sortable_of(const pawl_attribute *v, pawl_buf *scratch);

#endif
