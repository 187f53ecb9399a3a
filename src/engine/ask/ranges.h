/* engine/ask/ranges.h: what a list is asked for as ranges of text, by its
 * bytes: from the first up to, and without, the second.
 *
 * A word is one that stands for itself, or with a star at its end for all that
 * begin so. Conditions on attributes are read from
 *
 *   {"region":"eu","amount":[">=",100,"<",200],"tag":["in","a","b"],
 *    "name":["prefix","a"]}
 *
 * where a value is a string, a number, a boolean or {"type","value"}, as a
 * start takes it; what it is compared with is its sortable text
 * (common/sortable.h), which begins with its type.
 *
 * Layer    engine/ask. */
#ifndef PAWL_ENGINE_ASK_RANGES_H
#define PAWL_ENGINE_ASK_RANGES_H

#include "../../base/buf.h"
#include "../../base/id.h"

/* Has it a star at its end? */
int pawl_word_is_prefix(pawl_str word);
/* Appends the range of all that a word stands for; to->len is never 0. */
void pawl_word_range(pawl_str word, pawl_buf *from, pawl_buf *to);

/* The first id that could be drawn at that time. */
pawl_id pawl_range_id(int64_t us);

/* Conditions as the statements of lists take them. */
typedef struct pawl_conditions {
  /* by which instances are found, if one was to be: an attribute's name, and
   * what it equals or, if that is empty, the ranges [["from","to"],...] */
  pawl_buf name, equals, ranges;
  pawl_buf others; /* [{"name":"...","ranges":[...]},...]; empty: none */
} pawl_conditions;

void pawl_conditions_init(pawl_conditions *c, const pawl_alloc *alloc);
void pawl_conditions_deinit(pawl_conditions *c);
/* `attributes` is JSON that was checked. `find`: instances are to be found by
 * one of them; by one that says what its attribute equals, if there is one.
 * PAWL_INVALID, PAWL_VALUE with where = "attributes". */
pawl_code pawl_conditions_read(pawl_conditions *c, pawl_str attributes,
                               int find, pawl_error *err);

#endif
