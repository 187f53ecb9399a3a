/* value/object.h: JSON text, written member by member.
 *
 * Layer    value: above base.
 * Owns     nothing: it writes into the caller's buffer, which remembers when
 *          memory ran out. */
#ifndef PAWL_VALUE_OBJECT_H
#define PAWL_VALUE_OBJECT_H

#include "../base/buf.h"
#include "../base/id.h"

/* A number that is null, where 0 is a value of it. */
#define PAWL_NULL INT64_MIN

/* An object under way, or a list. Members are added in the order they are to
 * have; a nested one is begun after pawl_member or pawl_list_next, and ended
 * before the next. */
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
void pawl_member_bool(pawl_object *o, const char *name, int64_t yes);
/* Null stays null: a number that is PAWL_NULL, a time that is 0, text at NULL,
 * no id, JSON that is empty. */
void pawl_member_int(pawl_object *o, const char *name, int64_t n);
void pawl_member_str(pawl_object *o, const char *name, pawl_str text);
void pawl_member_textz(pawl_object *o, const char *name, const char *text);
void pawl_member_time(pawl_object *o, const char *name, int64_t us);
void pawl_member_id(pawl_object *o, const char *name, const pawl_id *id);
/* JSON text as it is. */
void pawl_member_json(pawl_object *o, const char *name, pawl_str json);

void pawl_list_begin(pawl_object *list, pawl_buf *out);
void pawl_list_end(pawl_object *list);
/* Begins a list as a member. */
void pawl_member_list(pawl_object *o, const char *name, pawl_object *list);
/* The next value is the caller's to write; or it is an object. */
void pawl_list_next(pawl_object *list);
void pawl_list_object(pawl_object *list, pawl_object *inner);

/* ---- values alone, null as above ---- */

void pawl_member_named(pawl_object *o, pawl_str name);
void pawl_add_bool(pawl_buf *out, int64_t yes);
void pawl_add_int(pawl_buf *out, int64_t n);
void pawl_add_text(pawl_buf *out, pawl_str text);
void pawl_add_time(pawl_buf *out, int64_t us);
void pawl_add_id(pawl_buf *out, const pawl_id *id);
void pawl_add_json(pawl_buf *out, pawl_str json);

#endif
