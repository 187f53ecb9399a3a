/* What hosts without a JSON library read answers by: pawl_at and its like, of
 * pawl.h. They see a text that ends with a zero byte, of which nothing is
 * known: what is read is checked, what is passed over is only looked at for
 * where it ends, and nothing behind the zero is touched or allocated. */
#include <string.h>

#include "../pawl.h"
#include "json_parts.h"

/* ---- where a value ends ----
 * NULL: nowhere, the text is damaged. */

static const char *skip_space(const char *at) {
  while (is_space(*at)) at++; /* the zero is none */
  return at;
}

/* `at`: a quote. */
static const char *string_end(const char *at) {
  for (at++;; at++) {
    at += strcspn(at, "\"\\");
    if (*at == '"') return at + 1;
    if (!*at || !*++at) return NULL;
  }
}

static const char *container_end(const char *at) {
  char open[PAWL_JSON_DEPTH];
  int depth = 0;

  for (;; at++) {
    at += strcspn(at, "\"[]{}");
    switch (*at) {
      case '"':
        at = string_end(at);
        if (!at) return NULL;
        at--;
        break;
      case '[':
      case '{':
        if (depth == PAWL_JSON_DEPTH) return NULL;
        open[depth++] = *at;
        break;
      case ']':
      case '}': /* the sign two behind its bracket in ASCII */
        if (!depth || open[--depth] != *at - 2) return NULL;
        if (depth == 0) return at + 1;
        break;
      default:
        return NULL;
    }
  }
}

/* What a word or a number is made of, and ends with. */
static const char *scalar_end(const char *at) {
  const char *end = at;
  while (is_digit(*end) || (*end >= 'a' && *end <= 'z') || *end == '-' ||
         *end == '+' || *end == '.' || *end == 'E')
    end++;
  return end > at ? end : NULL;
}

static const char *value_end(const char *at) {
  if (*at == '"') return string_end(at);
  return *at == '[' || *at == '{' ? container_end(at) : scalar_end(at);
}

/* ---- what it is ---- */

/* A number, whole, in *num. */
static int is_number(pawl_str raw, pawl_json_num *num) {
  const char *end = raw.at + raw.len;
  if (*raw.at != '-' && !is_digit(*raw.at)) return 0;
  return !pawl_json_read_number(num, raw.at, end) && num->end == end;
}

/* NULL: damaged, or a number that no integer or float can be. */
static const char *type_of(const char *at) {
  pawl_json_num num;
  const char *end = value_end(at);

  if (!end) return NULL;
  const pawl_str raw = {at, (size_t)(end - at)};
  if (*at == '"') return "text";
  if (*at == '[') return "list";
  if (*at == '{') return "object";
  if (pawl_str_eqz(raw, "null")) return "null";
  if (pawl_str_eqz(raw, "true") || pawl_str_eqz(raw, "false")) return "bool";
  if (!is_number(raw, &num)) return NULL;
  return num.is_float ? "num" : "int";
}

/* ---- members ---- */

static int ended(pawl_cursor *c, int is_broken) {
  c->next = NULL;
  c->broken = is_broken;
  c->key = c->value = NULL;
  return 0;
}

/* The next one behind c->next, which is behind the bracket or a value. */
static int walk(pawl_cursor *c) {
  const char close = (char)(c->opened + 2); /* in ASCII */
  const int is_first = c->index < 0;
  const char *at = skip_space(c->next), *end;

  if (*at == close) return ended(c, 0);
  if (!is_first) {
    if (*at != ',') return ended(c, 1);
    at = skip_space(at + 1);
  }
  c->key = NULL;
  if (c->opened == '{') {
    end = *at == '"' ? string_end(at) : NULL;
    if (!end) return ended(c, 1);
    c->key = at;
    at = skip_space(end);
    if (*at != ':') return ended(c, 1);
    at = skip_space(at + 1);
  }
  end = value_end(at);
  if (!end) return ended(c, 1);
  c->value = at;
  c->next = end;
  c->index++;
  return 1;
}

/* 0: it is neither list nor object, or has nothing in it. */
static int first(const char *at, pawl_cursor *c) {
  memset(c, 0, sizeof *c);
  c->index = -1;
  c->opened = (unsigned char)*at;
  c->next = at + 1;
  if (*at != '[' && *at != '{') return ended(c, 1);
  return walk(c);
}

static pawl_str key_of(const pawl_cursor *c) {
  const char *end = string_end(c->key);
  const pawl_str raw = {c->key + 1, (size_t)(end - c->key) - 2};
  return raw;
}

/* ---- paths ---- */

/* A piece of one: a name, or a place in a list. */
typedef struct piece {
  pawl_str name; /* at NULL: `index` counts */
  int64_t index; /* from 0; below: from the end */
} piece;

/* "[3]", "[-1]", "[\"a.b\"]"; returns what is behind it, or NULL. */
static const char *read_bracket(const char *at, piece *out) {
  const char *close;
  int is_negative = at[1] == '-';

  if (at[1] == '"') {
    close = strchr(at + 2, '"');
    if (!close || close[1] != ']') return NULL;
    out->name.at = at + 2;
    out->name.len = (size_t)(close - at) - 2;
    return close + 2;
  }
  at += 1 + is_negative;
  if (!is_digit(*at)) return NULL;
  for (; is_digit(*at) && out->index < INT32_MAX; at++)
    out->index = out->index * 10 + (*at - '0');
  if (is_negative) out->index = -out->index;
  if (*at != ']' || (is_negative && out->index == 0)) return NULL;
  return at + 1;
}

static const char *read_piece(const char *at, int is_first, piece *out) {
  memset(out, 0, sizeof *out);
  if (*at == '[') return read_bracket(at, out);
  if (*at == '.') {
    if (is_first) return NULL;
    at++;
  } else if (!is_first) {
    return NULL;
  }
  out->name.at = at;
  out->name.len = strcspn(at, ".[]");
  return out->name.len ? at + out->name.len : NULL;
}

static int is_meant(const piece *p, const pawl_cursor *c) {
  if (p->name.at) return pawl_json_raw_is(key_of(c), p->name);
  return c->index == p->index;
}

typedef enum found { FOUND, ABSENT, DAMAGED, BAD_PATH } found;

/* Puts the member into *at. */
static found enter(const char **at, piece *p) {
  pawl_cursor c;
  int64_t n = 0;

  if (strncmp(*at, "null", 4) == 0) return ABSENT;
  if (**at != (p->name.at ? '{' : '[')) return type_of(*at) ? ABSENT : DAMAGED;
  if (p->index < 0) {
    for (int more = first(*at, &c); more; more = walk(&c)) n++;
    if (c.broken) return DAMAGED;
    p->index += n;
    if (p->index < 0) return ABSENT;
  }
  for (int more = first(*at, &c); more; more = walk(&c)) {
    if (!is_meant(p, &c)) continue;
    *at = c.value;
    return FOUND;
  }
  return c.broken ? DAMAGED : ABSENT;
}

static found find(const char *json, const char *path, const char **out) {
  const char *at = skip_space(json);
  const char *rest = path ? path : "";
  int is_first = 1;
  found f = FOUND;
  piece p;

  for (; *rest; is_first = 0) {
    rest = read_piece(rest, is_first, &p);
    if (!rest) return BAD_PATH;
    if (f == FOUND) f = enter(&at, &p);
    if (f == DAMAGED) return f;
  }
  *out = at;
  return f;
}

/* ---- pawl.h ---- */

const char *pawl_at(const char *json, const char *path) {
  const char *at;
  if (!json || find(json, path, &at) != FOUND || !value_end(at)) return NULL;
  return at;
}

const char *pawl_value_type(const char *json, const char *path) {
  const char *at = pawl_at(json, path);
  return at ? type_of(at) : NULL;
}

/* How messages begin. */
static const char *shown(const char *path) {
  return path && path[0] ? path : "the text";
}

static pawl_code damaged(const char *path, pawl_error *err) {
  return pawl_fail(err, PAWL_INVALID,
                   "%s cannot be read: this is no JSON, or damaged",
                   shown(path));
}

/* The value that is meant, and what it is. */
static pawl_code look(const char *json, const char *path, const char **at,
                      const char **type, pawl_error *err) {
  found f = json ? find(json, path, at) : ABSENT;

  if (f == BAD_PATH)
    return pawl_fail_hint(err, PAWL_INVALID,
                          "write names and places: output.items[0][\"a.b\"]",
                          "\"%s\" is no path", path);
  if (f == DAMAGED) return damaged(path, err);
  *type = f == FOUND ? type_of(*at) : "null";
  if (!*type) return damaged(path, err);
  if (strcmp(*type, "null") == 0)
    return pawl_fail(err, PAWL_NOTFOUND, "%s is not there, or null",
                     shown(path));
  return PAWL_OK;
}

static pawl_code other_type(const char *path, const char *type,
                            const char *wanted, pawl_error *err) {
  return pawl_fail(err, PAWL_INVALID, "%s is of the type %s, not %s",
                   shown(path), type, wanted);
}

static pawl_code read_number(const char *at, pawl_json_num *num) {
  const pawl_str raw = {at, (size_t)(value_end(at) - at)};
  return is_number(raw, num) ? PAWL_OK : PAWL_INVALID;
}

#define NEEDS_OUT                                                        \
  do {                                                                   \
    if (!out)                                                            \
      return pawl_fail(err, PAWL_MISUSE, "%s: `out` is NULL", __func__); \
  } while (0)

pawl_code pawl_int(const char *json, const char *path, int64_t *out,
                   pawl_error *err) {
  const char *at, *type;
  pawl_json_num num;

  NEEDS_OUT;
  MUST(look(json, path, &at, &type, err));
  if (strcmp(type, "int") != 0) return other_type(path, type, "int", err);
  MUST(read_number(at, &num));
  *out = num.i;
  return PAWL_OK;
}

pawl_code pawl_num(const char *json, const char *path, double *out,
                   pawl_error *err) {
  const char *at, *type;
  pawl_json_num num;

  NEEDS_OUT;
  MUST(look(json, path, &at, &type, err));
  if (strcmp(type, "num") != 0 && strcmp(type, "int") != 0)
    return other_type(path, type, "num", err);
  MUST(read_number(at, &num));
  *out = num.is_float ? num.d : (double)num.i;
  return PAWL_OK;
}

pawl_code pawl_bool(const char *json, const char *path, int *out,
                    pawl_error *err) {
  const char *at, *type;

  NEEDS_OUT;
  MUST(look(json, path, &at, &type, err));
  if (strcmp(type, "bool") != 0) return other_type(path, type, "bool", err);
  *out = *at == 't';
  return PAWL_OK;
}

/* Text on its way into the caller's room. */
typedef struct copy {
  char *out;
  size_t size, length;
  int is_full, has_zero;
} copy;

static void put(copy *to, const char *c, size_t n) {
  if (!to->out || to->length + n >= to->size) to->is_full = 1;
  if (!to->is_full) memcpy(to->out + to->length, c, n);
  if (!to->is_full) to->out[to->length + n] = '\0';
  to->length += n;
  if (!*c) to->has_zero = 1;
}

/* The string at `at`, unescaped. 0: it is no text. */
static int copy_string(const char *at, copy *to) {
  const char *end = string_end(at) - 1;

  for (at++; at < end;) {
    char c[4];
    size_t n = 1;
    if (*at == '\\') {
      at = pawl_json_unescape(at, end, c, &n);
      if (!at) return 0;
    } else {
      n = (size_t)pawl_utf8_length(at, (size_t)(end - at));
      if (!n || (unsigned char)*at < 0x20) return 0;
      memcpy(c, at, n);
      at += n;
    }
    put(to, c, n);
  }
  return 1;
}

pawl_code pawl_text(const char *json, const char *path, char *out, size_t size,
                    size_t *length, pawl_error *err) {
  const char *at, *type;
  copy to = {.out = out, .size = out ? size : 0};

  if (to.size) out[0] = '\0';
  MUST(look(json, path, &at, &type, err));
  if (strcmp(type, "text") != 0) return other_type(path, type, "text", err);
  if (!copy_string(at, &to)) return damaged(path, err);
  if (to.has_zero && !length)
    return pawl_fail_hint(err, PAWL_INVALID, "ask for its length, too",
                          "%s has a zero byte", shown(path));
  if (length) *length = to.length;
  if (out && to.length >= size)
    return pawl_fail(err, PAWL_LIMIT,
                     "%s has %zu bytes, for which %zu were given", shown(path),
                     to.length, size);
  return PAWL_OK;
}

static pawl_code count(const char *at, const char *path, int64_t *out,
                       pawl_error *err) {
  pawl_cursor c;
  int64_t n = 0;

  for (int more = first(at, &c); more; more = walk(&c)) n++;
  if (c.broken) return damaged(path, err);
  *out = n;
  return PAWL_OK;
}

pawl_code pawl_length(const char *json, const char *path, int64_t *out,
                      pawl_error *err) {
  const char *at, *type;
  copy to = {.out = NULL};

  NEEDS_OUT;
  MUST(look(json, path, &at, &type, err));
  if (*at == '[' || *at == '{') return count(at, path, out, err);
  if (*at != '"') return other_type(path, type, "list, object or text", err);
  if (!copy_string(at, &to)) return damaged(path, err);
  *out = (int64_t)to.length;
  return PAWL_OK;
}

/* ---- a whole one ---- */

/* The scalar, or the key, at `at`. */
static int is_sound(const char *at) {
  copy to = {.out = NULL};
  return at && (*at == '"' ? copy_string(at, &to) : type_of(at) != NULL);
}

static int is_container(const char *at) {
  return *at == '[' || *at == '{';
}

const char *pawl_json_sound_end(const char *text) {
  const char *at = skip_space(text), *end = value_end(at);
  pawl_cursor open[PAWL_JSON_DEPTH]; /* value_end has counted them */
  int depth = 0, more;

  if (!end) return NULL;
  if (!is_container(at)) return is_sound(at) ? skip_space(end) : NULL;
  for (more = first(at, &open[0]);;) {
    pawl_cursor *c = &open[depth];
    if (!more && (c->broken || depth == 0))
      return c->broken ? NULL : skip_space(end);
    if (!more) {
      depth--;
      more = walk(&open[depth]);
      continue;
    }
    if (c->key && !is_sound(c->key)) return NULL;
    if (is_container(c->value)) {
      more = first(c->value, &open[++depth]);
      continue;
    }
    if (!is_sound(c->value)) return NULL;
    more = walk(c);
  }
}

int pawl_each(const char *json, const char *path, pawl_cursor *c) {
  const char *at, *type;
  pawl_error why;

  if (!c) return 0;
  if (c->next) return walk(c);
  if (c->opened) return ended(c, c->broken); /* it has been to the end */
  switch (look(json, path, &at, &type, &why)) {
    case PAWL_OK:
      return first(at, c);
    case PAWL_NOTFOUND:
      return ended(c, 0);
    default:
      return ended(c, 1);
  }
}
