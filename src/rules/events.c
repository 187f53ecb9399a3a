/* Names of events, patterns and keys. */
#include <string.h>

#include "../value/json.h"
#include "machine.h"

int pawl_event_matches(const char *pattern, pawl_str name) {
  size_t len = strlen(pattern);

  if (!len || pattern[len - 1] != '*') return pawl_str_eqz(name, pattern);
  len--; /* "payment." or nothing: then one more segment */
  if (name.len <= len || memcmp(name.at, pattern, len)) return 0;
  const char *dot = memchr(name.at + len, '.', name.len - len);
  return dot == NULL;
}

int pawl_event_key_text(pawl_str value, pawl_buf *out) {
  switch (pawl_json_kind_of(value)) {
    case PAWL_JSON_STRING:
      pawl_json_unquote(value, out);
      return 1;
    case PAWL_JSON_NULL:
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
      return 0;
    default:
      pawl_buf_adds(out, value);
      return 1;
  }
}

int pawl_event_key(const pawl_decision *d, pawl_str vars, const char *name,
                   pawl_buf *out) {
  pawl_str value;
  if (!pawl_json_get(vars, name, &value) &&
      !pawl_json_get(pawl_buf_str(&d->input), name, &value))
    return 0;
  return pawl_event_key_text(value, out);
}

int pawl_event_key_is_sound(pawl_str key) {
  return key.len > 0 && key.len <= PAWL_MAX_KEY && !memchr(key.at, 0, key.len);
}

pawl_str pawl_event_id(const pawl_letter *l) {
  pawl_str id = pawl_buf_str(&l->event_id);
  size_t skip = l->source.len + 1; /* both may hold colons */

  if (id.len > skip) {
    id.at += skip;
    id.len -= skip;
  }
  return id;
}

int pawl_event_fits(const pawl_letter *l, pawl_str key) {
  if (!key.at || !l->has_key) return l->addressed || (!key.at && !l->has_key);
  return pawl_str_eq(key, pawl_buf_str(&l->key));
}
