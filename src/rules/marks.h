/* rules/marks.h: short lists of what is remembered of an instance by a name
 * and a number: the joins that have fired, the rules that are subscribed to.
 *
 * Layer    rules: base only.
 * Owns     its slots and their keys, which stay when n falls, so that nothing
 *          is allocated in steady state. Names are borrowed: they live as long
 *          as the engine.
 * Errors   without memory a list is marked as `failed` (N7). */
#ifndef PAWL_RULES_MARKS_H
#define PAWL_RULES_MARKS_H

#include "../base/buf.h"

typedef struct pawl_mark {
  const char *name; /* a join; the event of a rule */
  int64_t no;       /* the token that forked; the rule's */
  int has_key;
  pawl_buf key; /* of a rule */
} pawl_mark;

typedef struct pawl_marks {
  pawl_mark *at;
  int n, cap, failed;
} pawl_marks;

/* One more, at the end; key.at NULL: it has none. (A name at NULL: there was no
 * memory for it.) */
void pawl_marks_add(pawl_marks *m, const pawl_alloc *alloc, const char *name,
                    int64_t no, pawl_str key);
void pawl_marks_clear(pawl_marks *m);
void pawl_marks_copy(pawl_marks *to, const pawl_marks *from,
                     const pawl_alloc *alloc);
int pawl_marks_same(const pawl_marks *a, const pawl_marks *b);
void pawl_marks_deinit(pawl_marks *m, const pawl_alloc *alloc);

#endif
