/* Reading text known to be valid, by slices. */
#include <assert.h>

#include "json_parts.h"

static inline size_t skip_space_at(pawl_str s, size_t at) {
  while (at < s.len && is_space(s.at[at])) at++;
  return at;
}

/* `at` stands behind the opening quote; returns the place of the closing one,
 * or s.len. It is the first with an even number of backslashes before it. */
static size_t string_end(pawl_str s, size_t at) {
  size_t begin = at;
  while (at < s.len) {
    const char *quote = memchr(s.at + at, '"', s.len - at);
    size_t place, slash;
    if (!quote) break;
    place = slash = (size_t)(quote - s.at);
    while (slash > begin && s.at[slash - 1] == '\\') slash--;
    if ((place - slash) % 2 == 0) return place;
    at = place + 1;
  }
  return s.len;
}

static size_t container_end(pawl_str s, size_t at) {
  size_t depth = 0;
  for (; at < s.len; at++) {
    switch (s.at[at]) {
      case '"':
        at = string_end(s, at + 1);
        break;
      case '[':
      case '{':
        depth++;
        break;
      case ']':
      case '}':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
  }
  return s.len;
}

/* What may follow a number or a word. */
static const unsigned char ends_scalar[256] = {
    [' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1,
    [','] = 1, [']'] = 1,  ['}'] = 1,
};

size_t pawl_json_value_end(pawl_str s, size_t at) {
  if (at >= s.len) return s.len;
  if (s.at[at] == '{' || s.at[at] == '[') return container_end(s, at);
  if (s.at[at] == '"') {
    at = string_end(s, at + 1);
    return at < s.len ? at + 1 : at;
  }
  while (at < s.len && !ends_scalar[(unsigned char)s.at[at]]) at++;
  return at;
}

int pawl_json_each(pawl_str container, pawl_json_iter *it, pawl_str *key,
                   pawl_str *value) {
  pawl_str s = container;
  size_t begin = skip_space_at(s, 0), at, end;

  if (begin >= s.len || (s.at[begin] != '{' && s.at[begin] != '[')) return 0;
  at = skip_space_at(s, it->at > begin ? it->at : begin + 1);
  if (at < s.len && s.at[at] == ',') at = skip_space_at(s, at + 1);
  if (at >= s.len || s.at[at] == ']' || s.at[at] == '}') return 0;
  key->at = "";
  key->len = 0;
  if (s.at[begin] == '{') {
    if (s.at[at] != '"') return 0;
    end = string_end(s, at + 1);
    key->at = s.at + at + 1;
    key->len = end - at - 1;
    at = skip_space_at(s, end + 1);
    if (at >= s.len || s.at[at] != ':') return 0;
    at = skip_space_at(s, at + 1);
  }
  end = pawl_json_value_end(s, at);
  if (end == at) return 0;
  assert(end <= s.len); /* J2 */
  value->at = s.at + at;
  value->len = end - at;
  it->at = end;
  return 1;
}

int pawl_json_count(pawl_str container) {
  int n = 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(container, &it);) n++;
  return n;
}

int pawl_json_is_deeper(pawl_str value, int most) {
  int depth = 0;
  if (value.len <= 2 * (size_t)most) return 0; /* a level takes two brackets */
  for (size_t at = 0; at < value.len; at++) {
    const char c = value.at[at];
    if (c == '"')
      at = string_end(value, at + 1);
    else if (c == '{' || c == '[')
      depth++;
    else if (c == '}' || c == ']')
      depth--;
    if (depth > most) return 1;
  }
  return 0;
}

pawl_json_kind pawl_json_kind_of(pawl_str value) {
  size_t at = skip_space_at(value, 0), i;
  if (at >= value.len) return PAWL_JSON_NULL;
  switch (value.at[at]) {
    case '{':
      return PAWL_JSON_OBJECT;
    case '[':
      return PAWL_JSON_ARRAY;
    case '"':
      return PAWL_JSON_STRING;
    case 't':
      return PAWL_JSON_TRUE;
    case 'f':
      return PAWL_JSON_FALSE;
    case 'n':
      return PAWL_JSON_NULL;
    default:
      break;
  }
  for (i = at; i < value.len; i++)
    if (value.at[i] == '.' || value.at[i] == 'e' || value.at[i] == 'E')
      return PAWL_JSON_FLOAT;
  return PAWL_JSON_INT;
}

int pawl_json_raw_is(pawl_str raw, pawl_str key) {
  const char *at = raw.at, *end = raw.at + raw.len;
  size_t done = 0;
  if (!has_escape(raw)) return pawl_str_eq(raw, key);
  while (at < end) {
    char c[4] = {*at};
    size_t n = 1;
    at = *at == '\\' ? pawl_json_unescape(at, end, c, &n) : at + 1;
    if (!at || key.len - done < n || memcmp(key.at + done, c, n) != 0)
      return 0;
    done += n;
  }
  return done == key.len;
}

int pawl_json_get(pawl_str object, const char *key, pawl_str *value) {
  pawl_json_iter it = {0};
  pawl_str wanted = pawl_strz(key), raw, found;
  size_t begin = skip_space_at(object, 0);

  if (begin >= object.len || object.at[begin] != '{') return 0;
  while (pawl_json_each(object, &it, &raw, &found)) {
    if (!pawl_json_raw_is(raw, wanted)) continue;
    *value = found;
    return 1;
  }
  return 0;
}

pawl_str pawl_json_between_quotes(pawl_str value) {
  size_t at = skip_space_at(value, 0);
  pawl_str raw = {"", 0};
  if (at >= value.len || value.at[at] != '"') return raw;
  raw.at = value.at + at + 1;
  raw.len = string_end(value, at + 1) - at - 1;
  return raw;
}

void pawl_json_unquote(pawl_str value, pawl_buf *out) {
  pawl_json_add_unescaped(out, pawl_json_between_quotes(value));
}

int pawl_json_lists(pawl_str list, pawl_str text, pawl_buf *scratch) {
  pawl_json_iter it = {0};
  int found = 0;

  while (!found && !scratch->failed && pawl_json_walk(list, &it)) {
    pawl_buf_clear(scratch);
    pawl_json_unquote(it.value, scratch);
    found = !scratch->failed && pawl_str_eq(pawl_buf_str(scratch), text);
  }
  return found;
}

int pawl_json_get_text(pawl_str object, const char *key, pawl_buf *out) {
  pawl_str value;
  if (!pawl_json_get(object, key, &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return 0;
  pawl_json_unquote(value, out);
  return 1;
}

static int whole_number(pawl_str value, pawl_json_num *num) {
  size_t at = skip_space_at(value, 0);
  if (at >= value.len) return 0;
  if (pawl_json_read_number(num, value.at + at, value.at + value.len))
    return 0;
  return skip_space_at(value, (size_t)(num->end - value.at)) == value.len;
}

int pawl_json_int(pawl_str value, int64_t *out) {
  pawl_json_num num;
  if (!whole_number(value, &num) || num.is_float) return 0;
  *out = num.i;
  return 1;
}

int64_t pawl_json_get_int(pawl_str object, const char *key, int64_t other) {
  pawl_str value;
  int64_t n = other;
  if (pawl_json_get(object, key, &value)) (void)pawl_json_int(value, &n);
  return n;
}

int pawl_json_number(pawl_str value, double *out) {
  pawl_json_num num;
  if (!whole_number(value, &num)) return 0;
  *out = num.is_float ? num.d : (double)num.i;
  return 1;
}
