/* store/results.h: the rows of one unit's statements, for the drivers.
 *
 * A driver begins a result, adds its rows cell by cell and ends it; cells and
 * bytes then stay where they are until the results are cleared. Memory is
 * kept from unit to unit: in a steady state nothing is allocated. Not where
 * more of it was refused: others are to find room behind that.
 *
 * Layer    store: between the drivers and stmt.h.
 * Owns     everything it hands out, until clear or deinit. */
#ifndef PAWL_STORE_RESULTS_H
#define PAWL_STORE_RESULTS_H

#include "stmt.h"

/* Blocks of memory that are handed out in order and taken back together. */
typedef struct pawl_arena_block pawl_arena_block;
typedef struct pawl_arena {
  const pawl_alloc *alloc;
  pawl_arena_block *first, *at;
  int is_short; /* a block was refused: none is kept */
} pawl_arena;

typedef struct pawl_results {
  pawl_arena arena;
  pawl_rows *rows; /* one a statement; cells of the last one may be open */
  int n, cap;
  pawl_cell *open; /* cells of the result that has not been ended */
  size_t nopen, open_cap;
} pawl_results;

void pawl_results_init(pawl_results *r, const pawl_alloc *alloc);
void pawl_results_deinit(pawl_results *r);
void pawl_results_clear(pawl_results *r);

/* Begins the result of one statement with `ncols` columns. */
pawl_code pawl_results_begin(pawl_results *r, pawl_stmt stmt, int ncols,
                             pawl_error *err);
/* The columns of the one that was begun last. */
int pawl_results_ncols(const pawl_results *r);
/* The next row's cells, all null; NULL: no memory. Valid until the next. */
pawl_cell *pawl_results_row(pawl_results *r);
/* Copies bytes, with a zero behind them; at is NULL when there is no memory.
 * The copy is aligned for any type. */
pawl_str pawl_results_copy(pawl_results *r, const void *bytes, size_t len);
pawl_code pawl_results_end(pawl_results *r, int64_t changed, pawl_error *err);
/* The k-th result since clear. */
void pawl_results_get(const pawl_results *r, int k, pawl_rows *out);

/* What a user's own statement gave: its rows, and what their columns are. */
typedef struct pawl_answer {
  pawl_results results;
  pawl_buf names, types; /* const char *, pawl_type: one a column */
} pawl_answer;

void pawl_answer_init(pawl_answer *a, const pawl_alloc *alloc);
void pawl_answer_deinit(pawl_answer *a);
void pawl_answer_clear(pawl_answer *a);
/* The next column; `name` is borrowed. */
pawl_code pawl_answer_column(pawl_answer *a, const char *name, pawl_type type,
                             pawl_error *err);
void pawl_answer_get(const pawl_answer *a, pawl_query *out);

#endif
