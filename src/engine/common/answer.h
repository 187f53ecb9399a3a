/* engine/common/answer.h: what was asked for, as JSON text made of a store's cells.
 *
 * Layer    engine: above value and store, for query.c, explain.c and whoever
 *          else answers with records.
 * Owns     nothing: it writes into the caller's buffer, which remembers when
 *          memory ran out. */
#ifndef PAWL_ENGINE_COMMON_ANSWER_H
#define PAWL_ENGINE_COMMON_ANSWER_H

#include "../../store/stmt.h"

/* An object under way. Members are added in the order they are to have; a
 * nested one is begun after pawl_member, and ended before the next. */
typedef struct pawl_object {
  pawl_buf *out;
  int n;
} pawl_object;

void pawl_object_begin(pawl_object *o, pawl_buf *out);
void pawl_object_end(pawl_object *o);
/* "name": - the value is the caller's to write, to o->out. */
void pawl_member(pawl_object *o, const char *name);
/* Begins an object as a member. */
void pawl_member_object(pawl_object *o, const char *name, pawl_object *inner);
void pawl_member_null(pawl_object *o, const char *name);
void pawl_member_bool(pawl_object *o, const char *name, int yes);
void pawl_member_int(pawl_object *o, const char *name, int64_t n);
void pawl_member_str(pawl_object *o, const char *name, pawl_str text);
void pawl_member_textz(pawl_object *o, const char *name, const char *text);
void pawl_member_time(pawl_object *o, const char *name, int64_t us);
/* JSON text as it is; at NULL or empty: null. */
void pawl_member_json(pawl_object *o, const char *name, pawl_str json);

/* The same of a cell; null stays null. */
void pawl_cell_text(pawl_object *o, const char *name, const pawl_cell *c);
void pawl_cell_json(pawl_object *o, const char *name, const pawl_cell *c);
void pawl_cell_int(pawl_object *o, const char *name, const pawl_cell *c);
void pawl_cell_bool(pawl_object *o, const char *name, const pawl_cell *c);
void pawl_cell_time(pawl_object *o, const char *name, const pawl_cell *c);
void pawl_cell_id(pawl_object *o, const char *name, const pawl_cell *c);

/* "lease": who holds an instance, since when and until when, from the rows of
 * agenda_get; null when nobody does. A lease's id tells when it was drawn. */
void pawl_member_lease(pawl_object *o, const pawl_rows *agenda);

/* Is the text, an answer, JSON? It is not when what the store holds and was
 * copied is not: PAWL_CORRUPT, with the id that stands before it, if any. */
pawl_code pawl_answer_check(const pawl_buf *answer, pawl_error *err);

#endif
