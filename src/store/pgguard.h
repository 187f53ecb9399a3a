/* store/pgguard.h: what a user's statement may not do on PostgreSQL.
 *
 * PostgreSQL has no hook that would tell us what a statement touches, as
 * SQLite has, so its text is looked at: strings, comments and dollar quotes
 * are skipped, words are compared. This keeps accidents out, not attackers:
 * a user's own function may still do what its text does not show. */
#ifndef PAWL_STORE_PGGUARD_H
#define PAWL_STORE_PGGUARD_H

#include "../base/buf.h"

/* Why the statement is refused, or NULL. Refused is what ends or divides the
 * transaction, what changes the session, and what mentions the schema `pawl`
 * without being a plain read. */
const char *pawl_pgguard_objection(pawl_str sql);

#endif
