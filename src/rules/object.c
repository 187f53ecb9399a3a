/* JSON objects, changed member by member. */
#include "../value/json.h"
#include "decide.h"

/* The members of `object` save one, open for more. *any: are there some? */
static void without(const pawl_buf *object, pawl_str raw_key, pawl_buf *out,
                    int *any) {
  *any = 0;
  pawl_buf_addc(out, '{');
  for (pawl_json_iter it = {0};
       object->len && pawl_json_walk(pawl_buf_str(object), &it);) {
    if (pawl_str_eq(it.key, raw_key)) continue;
    pawl_buf_addz(out, (*any)++ ? ",\"" : "\"");
    pawl_buf_adds(out, it.key);
    pawl_buf_addz(out, "\":");
    pawl_buf_adds(out, it.value);
  }
}

/* `raw_key` as it stands between quotes. */
static void set_raw(pawl_buf *object, pawl_str raw_key, pawl_str value) {
  pawl_buf out = {.alloc = object->alloc};
  int any;

  without(object, raw_key, &out, &any);
  if (value.at) {
    pawl_buf_addz(&out, any++ ? ",\"" : "\"");
    pawl_buf_adds(&out, raw_key);
    pawl_buf_addz(&out, "\":");
    pawl_buf_adds(&out, value);
  }
  pawl_buf_addc(&out, '}');
  pawl_buf_clear(object);
  if (any) pawl_buf_adds(object, pawl_buf_str(&out));
  if (out.failed) object->failed = 1;
  pawl_buf_deinit(&out);
}

void pawl_object_set(pawl_buf *object, const char *name, pawl_str value) {
  pawl_buf quoted = {.alloc = object->alloc};
  pawl_str raw;
  pawl_json_add_string(&quoted, pawl_strz(name));
  raw.at = quoted.at + 1;
  raw.len = quoted.len - 2;
  if (quoted.failed)
    object->failed = 1;
  else
    set_raw(object, raw, value);
  pawl_buf_deinit(&quoted);
}

void pawl_object_set_text(pawl_buf *object, const char *name, pawl_str text) {
  pawl_buf quoted = {.alloc = object->alloc};

  pawl_json_add_string(&quoted, text);
  pawl_object_set(object, name, pawl_buf_str(&quoted));
  object->failed |= quoted.failed;
  pawl_buf_deinit(&quoted);
}

void pawl_object_merge(pawl_buf *object, pawl_str other) {
  for (pawl_json_iter it = {0}; pawl_json_walk(other, &it);)
    set_raw(object, it.key, it.value);
}
