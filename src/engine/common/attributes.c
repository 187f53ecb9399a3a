/* Attributes: rows become JSON, JSON becomes columns.
 *
 * Each has a type that people chose, and is indexed by it: so there is a column
 * for each kind of comparison, and one of them holds the value. */
#include "attributes.h"

#include <math.h>

#include "../../base/base64.h"
#include "../../value/json.h"
#include "engine_struct.h"

/* A float and an integer that look alike stay what they were. */
void pawl_attribute_tell(const pawl_attribute *v, pawl_buf *out) {
  char time[28];

  pawl_buf_addz(out, "{\"type\":");
  pawl_json_add_string(out, v->type);
  pawl_buf_addz(out, ",\"value\":");
  if (v->boolean_value != PAWL_NULL) {
    pawl_buf_addz(out, v->boolean_value ? "true" : "false");
  } else if (!isnan(v->float_value)) {
    pawl_json_add_float(out, v->float_value);
  } else if (v->number_value.at) {
    if (pawl_str_eqz(v->type, "integer"))
      pawl_buf_adds(out, v->number_value);
    else
      pawl_json_add_string(out, v->number_value);
  } else if (v->date_value != PAWL_NULL) {
    pawl_time_format(v->date_value, time);
    pawl_json_add_string(out, pawl_strz(time));
  } else if (v->bytes_value.at) {
    pawl_buf_addc(out, '"');
    pawl_base64_encode(v->bytes_value, out);
    pawl_buf_addc(out, '"');
  } else {
    pawl_json_add_string(out, v->text_value);
  }
  pawl_buf_addc(out, '}');
}

/* Asked and added apart: a handler's question goes another way than `get`. */
void pawl_attributes_ask(pawl_engine *e, int shard, const pawl_id *id) {
  pawl_args_begin(&e->args, PAWL_STMT_attribute_list);
  PAWL_PUT(&e->args, attribute_list, .shard = shard, .id = id);
}

pawl_code pawl_attributes_add(const pawl_rows *rows, pawl_buf *out,
                              pawl_error *err) {
  pawl_buf_addc(out, '{');
  for (int k = 0; k < rows->nrows; k++) {
    const pawl_attribute v = pawl_read_attribute_list(rows, k);
    if (k) pawl_buf_addc(out, ',');
    pawl_json_add_string(out, v.name);
    pawl_buf_addc(out, ':');
    pawl_attribute_tell(&v, out);
  }
  pawl_buf_addc(out, '}');
  return pawl_buf_check(out, err);
}

#define MAX_ATTRIBUTE 2000 /* bytes of text: it is indexed */

/* Names what is meant, as values come from people's code. */
static pawl_code bad_attribute(pawl_str name, const char *why,
                               pawl_error *err) {
  return pawl_fail_hint(err, PAWL_VALUE,
                        "an attribute is a string, integer, float, boolean, "
                        "pawl.decimal, pawl.date or pawl.binary",
                        "attribute \"%.*s\" %s", (int)name.len, name.at, why);
}

/* What is refused here would be refused by one of the databases, if not by
 * both. */
pawl_code pawl_attribute_read(pawl_str name, pawl_str typed,
                              pawl_attribute *out, pawl_buf *scratch,
                              pawl_error *err) {
  pawl_str type = {0}, value = {0}, text;
  double d = 0;
  int64_t us = 0;
  size_t at = scratch->len;

  if (!name.len || name.len > 255 || memchr(name.at, '\\', name.len))
    return bad_attribute(name,
                         "has a name that is empty, longer than 255 "
                         "bytes, or needs escaping",
                         err);
  if (pawl_json_kind_of(typed) != PAWL_JSON_OBJECT ||
      !pawl_json_get(typed, "type", &type) ||
      !pawl_json_get(typed, "value", &value) || type.len < 2)
    return bad_attribute(name, "has no type and value", err);
  type.at++, type.len -= 2; /* plain words: nothing is escaped */
  *out = (pawl_attribute){.name = name,
                          .type = type,
                          .date_value = PAWL_NULL,
                          .float_value = (double)NAN,
                          .boolean_value = PAWL_NULL};
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, scratch);
  if (pawl_json_kind_of(value) == PAWL_JSON_STRING && value.len > 2)
    (void)pawl_buf_room(scratch,
                        value.len); /* so that decoding moves nothing */
  text.at = scratch->at ? scratch->at + at : "";
  text.len = scratch->len - at;
  if (pawl_str_eqz(type, "string")) {
    if (text.len > MAX_ATTRIBUTE)
      return bad_attribute(name, "is longer than 2000 bytes", err);
    if (text.len && memchr(text.at, 0, text.len))
      return bad_attribute(name, "has a zero byte", err);
    out->text_value = text;
  } else if (pawl_str_eqz(type, "integer") &&
             pawl_json_kind_of(value) == PAWL_JSON_INT) {
    out->number_value = value;
  } else if (pawl_str_eqz(type, "decimal") && pawl_json_is_decimal(text)) {
    out->number_value = text;
  } else if (pawl_str_eqz(type, "float") && pawl_json_number(value, &d)) {
    out->float_value = d;
  } else if (pawl_str_eqz(type, "boolean")) {
    out->boolean_value = pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  } else if (pawl_str_eqz(type, "date") &&
             (pawl_json_int(value, &us) ||
              pawl_time_parse(text.at, text.len, &us)) &&
             pawl_date_is_valid(us)) {
    out->date_value = us;
  } else if (pawl_str_eqz(type, "binary") &&
             pawl_base64_decode(text, scratch)) {
    text.at = scratch->at + at + text.len;
    text.len = scratch->len - at - text.len;
    out->bytes_value = text;
  } else {
    return bad_attribute(name, "has an impossible value for its type", err);
  }
  return PAWL_OK;
}
