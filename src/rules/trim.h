/* rules/trim.h: what of a long history may go (`keep_history`).
 *
 * Old rows go in batches, oldest first. What went is told by the record, which
 * is stored as row 0 of the history (type "trimmed"):
 *
 *   {"upto":812,            rows up to that one were looked at: what is left
 *                           of them is told here, all behind them is there
 *    "rows":790,            so many of them went,
 *    "newest":811,          the last of them
 *    "keep":1000,           by that `keep_history`
 *    "variables":{"total":640},  the row that has the value which a variable
 *                           had behind row `upto`; it stays
 *    "attributes":{"tier":12},   the same of attributes
 *    "open":[[810,1,406]],  rows that stay while a token needs them: row,
 *                           token, visit
 *    "stays":[12],          those of the first two that stay for ever
 *    "visits":{"poll":388}} how often it came to nodes and went on, up to there;
 *                           0: it was there, and did not go on. To those that
 *                           have no rows of their own: how often it came
 *
 * What answers a request, and transfers, stay for ever: each is named by
 * something else (a request that is sent again, names of nodes in older rows).
 * What else somebody did - an event that was sent, a task that was completed -
 * a loop makes as often as it likes: it goes, and the audit has it from then
 * on.
 *
 * Layer    rules: pure; who reads the rows, and takes them away, is
 *          engine/work/trim.c.
 * Keeps    E2 variables behind `upto` are the members of rows that the record
 *             names, and of no others.
 *          E3 a row that the record names is there. */
#ifndef PAWL_RULES_TRIM_H
#define PAWL_RULES_TRIM_H

#include "token.h"

/* A row of history, as far as it matters. Text is borrowed. */
typedef struct pawl_old_row {
  int64_t seq, token, visit;
  pawl_str node, changes; /* at NULL: none */
  pawl_str path;          /* by which its token went on; at NULL: it did not */
  int stays;              /* for ever */
  int told;               /* by the audit: somebody did it */
  int leads;              /* to its node, whose visit has a row of its own */
} pawl_old_row;

typedef struct pawl_trim {
  const pawl_alloc *alloc;
  int64_t *drop; /* rows that go, in no order */
  int ndrop, drop_cap;
  int64_t *tell; /* those of them that the audit may have to tell of */
  int ntell, tell_cap;
  pawl_buf record; /* as it is then */
  int failed;      /* for want of memory */
} pawl_trim;

/* `was`: the record so far; at NULL: none. `rows`: the next ones behind its
 * `upto`, in order; n > 0. `tokens`: where the instance stands, in that
 * definition. */
void pawl_trim_decide(pawl_trim *t, pawl_str was, int64_t keep,
                      const pawl_def *def, const pawl_token_list *tokens,
                      const pawl_old_row *rows, int n);
void pawl_trim_deinit(pawl_trim *t);

/* When is it worth while? So many rows beyond those that stay. */
int64_t pawl_trim_slack(int64_t keep);

/* ---- a record, read ---- */

int64_t pawl_trimmed_upto(pawl_str record);   /* at NULL: 0 */
int64_t pawl_trimmed_newest(pawl_str record); /* 0: none went */
/* How often it came to a node and went on from there; -1: it never was there.
 */
int64_t pawl_trimmed_visits(pawl_str record, pawl_str node,
                            const pawl_alloc *alloc);
/* Of what a row up to `upto` has changed, that which held then, as such
 * changes: appended. */
void pawl_trimmed_changes(pawl_str record, int64_t seq, pawl_str changes,
                          pawl_buf *out);

#endif
