/* store/sqguard.h: what a user's statement may not do on SQLite. */
#ifndef PAWL_STORE_SQGUARD_H
#define PAWL_STORE_SQGUARD_H

typedef struct pawl_sqguard_state {
  int is_on;        /* while the user's statement is prepared and runs */
  int alters;       /* it alters a table: what names come of it? */
  char refused[96]; /* what the guard said no to */
} pawl_sqguard_state;

/* SQLite's authorizer; `ud` is a pawl_sqguard_state. */
int pawl_sqguard(void *ud, int action, const char *a, const char *b,
                 const char *schema, const char *trigger);

#endif
