/* store/pgguard.h: what a user's statement may not do on PostgreSQL.
 *
 * PostgreSQL has no hook that would tell us what a statement touches, as
 * SQLite has, so its text is looked at: strings, comments and dollar quotes
 * are skipped, words are compared. This keeps accidents out, not attackers:
 * a function may do what the text of its call does not show. What it sets for
 * the session ends with the unit all the same (pgsession.h); what it writes is
 * bounded by the rights of the role (docs/security.md). */
#ifndef PAWL_STORE_PGGUARD_H
#define PAWL_STORE_PGGUARD_H

#include "../base/buf.h"

/* Why the statement is refused, or NULL. Refused is what ends or divides the
 * transaction, what changes the session, and what mentions the schema `pawl`,
 * or the store's own (`schema`; NULL: that is `pawl`), without being a plain
 * read. */
const char *pawl_pgguard_objection(pawl_str sql, const char *schema);
/* Of a statement that PostgreSQL could not read: is it more than one? Not of
 * one that creates: the body of a function is several within one. */
int pawl_pgguard_is_several(pawl_str sql);

#endif
