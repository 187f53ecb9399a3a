/* engine/common/answer.h: what was asked for, as JSON text made of a store's
 * rows.
 *
 * Layer    engine/common: for whoever answers with records.
 * Owns     nothing: it writes into the caller's buffer, which remembers when
 *          memory ran out. */
#ifndef PAWL_ENGINE_COMMON_ANSWER_H
#define PAWL_ENGINE_COMMON_ANSWER_H

#include "../../store/stmt.h"
#include "../../value/object.h"

/* A column of integers of the k-th row. */
int64_t pawl_column_int(const pawl_rows *rows, int k, const char *name);
/* Columns of the k-th row, each by its type: "no node due=due_at" is three
 * members, the last one under a name of its own. */
void pawl_member_columns(pawl_object *o, const pawl_rows *rows, int k,
                         const char *names);

/* A list of all rows, an object of such columns each. */
void pawl_add_rows(pawl_buf *out, const pawl_rows *rows, const char *names);

/* {"by","reason"}, each where it is given: as the letters of changes have them,
 * and what is stored of who has thrown an instance away. */
void pawl_write_who(pawl_str by, pawl_str reason, pawl_buf *out);
/* "lease": who holds an instance, since when and until when, from the rows of
 * agenda_get; null when nobody does. A lease's id tells when it was drawn. */
void pawl_member_lease(pawl_object *o, const pawl_rows *agenda);
/* "deleted": {at, by, reason, purge_at}, as far as there are any; without `at`
 * it is deleted when it has ended. null: it is not. */
void pawl_member_away(pawl_object *o, pawl_str away);
void pawl_member_deleted(pawl_object *o, pawl_str deletion, int64_t at_us,
                         int64_t purge_us);
/* "archived": {at, by, reason}; or, of one that was purged but for its
 * attributes, "purged". */
void pawl_member_archived(pawl_object *o, pawl_str who, int64_t at_us,
                          int64_t purged_us);

/* Is the text, an answer, JSON? It is not when what the store holds and was
 * copied is not: PAWL_CORRUPT, with the id that stands before it, if any.
 * PAWL_INTERNAL: members were asked for that no column gives. */
pawl_code pawl_answer_check(const pawl_buf *answer, pawl_error *err);

#endif
