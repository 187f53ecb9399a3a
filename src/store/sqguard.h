/* store/sqguard.h: what a user's statement may not do on SQLite. */
#ifndef PAWL_STORE_SQGUARD_H
#define PAWL_STORE_SQGUARD_H

#include <stdint.h>

#include "driver.h"

/* Of names that are ours, tables' and others': SQLite does not say what a table
 * is renamed to. */
#define PAWL_SQ_COUNT_NAMES                                   \
  "select count(*) from (select name from main.sqlite_master" \
  " union all select name from temp.sqlite_master)"           \
  " where name like 'pawl\\_%' escape '\\'"

typedef struct pawl_sqguard_state {
  int is_on;      /* while the user's statement is prepared and runs */
  pawl_lent lent; /* in whose hands the connection is (sqlend.h) */
  int was_lent;   /* ever */
  int64_t names;  /* that are ours, as it was lent */
  int alters;     /* it alters a table: what names come of it? */
  const pawl_tables
      *tables;          /* that the user's statement may touch; NULL: any */
  int inserts, selects; /* of that, as it is prepared */
  int is_ungranted;     /* it was refused for one of these */
  char refused[120];    /* what the guard said no to */
} pawl_sqguard_state;

/* For the next statement of a user's. */
void pawl_sqguard_begin(pawl_sqguard_state *state, const pawl_tables *tables);
/* It has been prepared, and is held to tables. `insert into a select * from b`
 * is one step to SQLite where both are alike, of which it asks for a alone: 1,
 * it may be that. */
int pawl_sqguard_copies(pawl_sqguard_state *state, pawl_str sql);

/* SQLite's authorizer; `ud` is a pawl_sqguard_state. */
int pawl_sqguard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger);

#endif
