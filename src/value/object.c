#include "object.h"

#include "../base/clock.h"
#include "json.h"

/* Objects and lists keep a count, and no more: a buffer that fails says so at
 * the end. */
void pawl_object_begin(pawl_object *o, pawl_buf *out) {
  o->out = out;
  o->n = 0;
  pawl_buf_addc(out, '{');
}

void pawl_object_end(pawl_object *o) {
  pawl_buf_addc(o->out, '}');
}

/* One name of a text of them. */
void pawl_member_named(pawl_object *o, pawl_str name) {
  pawl_list_next(o);
  pawl_buf_addc(o->out, '"');
  pawl_buf_adds(o->out, name);
  pawl_buf_addz(o->out, "\":");
}

void pawl_member(pawl_object *o, const char *name) {
  pawl_member_named(o, pawl_strz(name));
}

void pawl_member_object(pawl_object *o, const char *name, pawl_object *inner) {
  pawl_member(o, name);
  pawl_object_begin(inner, o->out);
}

void pawl_member_null(pawl_object *o, const char *name) {
  pawl_member(o, name);
  pawl_buf_addz(o->out, "null");
}

void pawl_add_bool(pawl_buf *out, int64_t yes) {
  pawl_buf_addz(out, yes ? "true" : "false");
}

void pawl_member_bool(pawl_object *o, const char *name, int64_t yes) {
  pawl_member(o, name);
  pawl_add_bool(o->out, yes);
}

void pawl_add_int(pawl_buf *out, int64_t n) {
  if (n == PAWL_NULL)
    pawl_buf_addz(out, "null");
  else
    pawl_buf_addi(out, n);
}

void pawl_member_int(pawl_object *o, const char *name, int64_t n) {
  pawl_member(o, name);
  pawl_add_int(o->out, n);
}

void pawl_add_text(pawl_buf *out, pawl_str text) {
  if (text.at)
    pawl_json_add_string(out, text);
  else
    pawl_buf_addz(out, "null");
}

void pawl_member_str(pawl_object *o, const char *name, pawl_str text) {
  pawl_member(o, name);
  pawl_add_text(o->out, text);
}

void pawl_member_textz(pawl_object *o, const char *name, const char *text) {
  pawl_member_str(o, name, pawl_strz(text));
}

void pawl_add_time(pawl_buf *out, int64_t us) {
  char text[28];
  if (us) pawl_time_format(us, text);
  pawl_add_text(out, pawl_strz(us ? text : NULL));
}

void pawl_member_time(pawl_object *o, const char *name, int64_t us) {
  pawl_member(o, name);
  pawl_add_time(o->out, us);
}

void pawl_add_id(pawl_buf *out, const pawl_id *id) {
  char text[37];
  if (id) pawl_id_format(id, text);
  pawl_add_text(out, pawl_strz(id ? text : NULL));
}

void pawl_member_id(pawl_object *o, const char *name, const pawl_id *id) {
  pawl_member(o, name);
  pawl_add_id(o->out, id);
}

void pawl_add_json(pawl_buf *out, pawl_str json) {
  pawl_buf_adds(out, json.len ? json : pawl_strz("null"));
}

void pawl_member_json(pawl_object *o, const char *name, pawl_str json) {
  pawl_member(o, name);
  pawl_add_json(o->out, json);
}

/* ---- lists ----
 * A list is an object without names: the same count says where a comma goes. */

void pawl_list_begin(pawl_object *list, pawl_buf *out) {
  list->out = out;
  list->n = 0;
  pawl_buf_addc(out, '[');
}

void pawl_list_end(pawl_object *list) {
  pawl_buf_addc(list->out, ']');
}

void pawl_member_list(pawl_object *o, const char *name, pawl_object *list) {
  pawl_member(o, name);
  pawl_list_begin(list, o->out);
}

void pawl_list_next(pawl_object *list) {
  if (list->n++) pawl_buf_addc(list->out, ',');
}

void pawl_list_object(pawl_object *list, pawl_object *inner) {
  pawl_list_next(list);
  pawl_object_begin(inner, list->out);
}
