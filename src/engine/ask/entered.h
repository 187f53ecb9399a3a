/* engine/ask/entered.h: by which transition a visit was entered, as rows of
 * history tell it (`transition_in`).
 *
 * No row has it: it is what the row before has by which the token went on, the
 * `transition` of that, or what its `path` tells. That is mostly in the same
 * page. What is not is asked for, for all rows of a page together: three
 * statements at most, which look no further back than ENTERED_FAR rows.
 *
 *   null      by a transition without name; or nothing led there: the
 *             instance began, a person put it there, it stands beside a node
 *   left out  that is not told: rows are gone, lie too far back, or an item
 *             of an each has begun, whose first ways are in no row, nor are
 *             others in it that one row of another token leads to; or it is of
 *             no token, and tells of the instance where it stood
 *
 * The same row says the same, whatever else is asked for; but for what is too
 * far back for another page.
 *
 * Layer    engine/ask.
 * Owns     what it notes of a page, until that is told. */
#ifndef PAWL_ENGINE_ASK_ENTERED_H
#define PAWL_ENGINE_ASK_ENTERED_H

#include "../../base/id.h"
#include "../../store/stmt.h"
#include "../common/engine_struct.h"

#define ENTERED_FAR 1000

typedef struct pawl_entry {
  size_t at;          /* where in the answer it is to be told */
  int64_t seq, token; /* of its row */
  int64_t led;        /* the row that led there; 0: its token's */
  size_t node, name;  /* where in `text`, and how long */
  size_t node_len, name_len;
  int alone;    /* that row is the only one which led there */
  int is_visit; /* its own row, or an attempt's: what led there is told of it
                   by then */
  int how;      /* entered.c */
} pawl_entry;

typedef struct pawl_entered {
  pawl_engine *e;
  const pawl_id *id;
  int whole;     /* its pages have all rows, from `after` on */
  int64_t upto;  /* rows up to that one may be gone */
  pawl_buf text; /* names of the page */
  pawl_entry *list;
  int n, cap, failed;
} pawl_entered;

void pawl_entered_init(pawl_entered *w, pawl_engine *e, const pawl_id *id);
void pawl_entered_deinit(pawl_entered *w);
/* Row k of the page; it is told at that place of the answer. */
void pawl_entered_note(pawl_entered *w, const pawl_rows *rows, int k,
                       size_t at);
/* Asks for what the page has not, and writes it into the answer. Its rows are
 * gone then. */
pawl_code pawl_entered_tell(pawl_entered *w, pawl_buf *out, pawl_error *err);

#endif
