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
  int is_on;        /* while the user's statement is prepared and runs */
  pawl_lent lent;   /* in whose hands the connection is (sqlend.h) */
  int was_lent;     /* ever */
  int64_t names;    /* that are ours, as it was lent */
  int alters;       /* it alters a table: what names come of it? */
  char refused[96]; /* what the guard said no to */
} pawl_sqguard_state;

/* SQLite's authorizer; `ud` is a pawl_sqguard_state. */
int pawl_sqguard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger);

#endif
