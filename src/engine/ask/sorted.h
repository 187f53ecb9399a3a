/* engine/ask/sorted.h: a page of instances by a time and, of the same time, by
 * their ids.
 *
 * Where one stands in that order is its cursor: "1767225600000000.019aa1f2-...",
 * behind or before which another page begins.
 *
 * Layer    engine/ask.
 * Owns     the moments that were added, until it is released. */
#ifndef PAWL_ENGINE_ASK_SORTED_H
#define PAWL_ENGINE_ASK_SORTED_H

#include "../../base/buf.h"
#include "../../base/id.h"

typedef struct pawl_moment {
  int64_t at_us;
  pawl_id id;
} pawl_moment;

typedef struct pawl_sorted {
  const pawl_alloc *alloc;
  pawl_moment from, to; /* between those, neither of them */
  pawl_moment *list;
  int n, room;
} pawl_sorted;

/* Nothing in it yet, and no bounds. */
void pawl_sorted_init(pawl_sorted *s, const pawl_alloc *alloc);
void pawl_sorted_deinit(pawl_sorted *s);
/* What lies beyond the bounds is left out. */
pawl_code pawl_sorted_add(pawl_sorted *s, int64_t at_us, const pawl_id *id,
                          pawl_error *err);
/* Earliest first, and of those the `max` nearest to `from` (up), or to `to`. */
void pawl_sorted_cut(pawl_sorted *s, int up, int64_t max);

/* With its zero. */
typedef struct pawl_cursor_text {
  char at[64];
} pawl_cursor_text;
pawl_cursor_text pawl_cursor_text_of(const pawl_moment *m);
/* 0: it is none. */
int pawl_cursor_parse(pawl_str text, pawl_moment *out);

#endif
