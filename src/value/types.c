/* Declared types: read word by word, and compared with values. */
#include "types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/nearest.h"
#include "object.h"

/* ---- where ---- */

typedef struct path {
  char text[128];
  size_t len;
  pawl_error *err;
} path;

static void path_begin(path *p, const char *root, pawl_error *err) {
  pawl_copy_text(p->text, sizeof p->text, root);
  p->len = strlen(p->text);
  p->err = err;
}

/* Deeper by a member's name, or (at NULL) its number; path_back returns to
 * `len`. A path that is too long ends there. */
static void path_add(path *p, pawl_str name, int index) {
  char number[16];
  snprintf(number, sizeof number, "[%d]", index);
  const pawl_str part = name.at ? name : pawl_strz(number);
  if (p->len + part.len + 2 > sizeof p->text) return;
  if (name.at) p->text[p->len++] = '.';
  memcpy(p->text + p->len, part.at, part.len);
  p->len += part.len;
  p->text[p->len] = 0;
}

static void path_back(path *p, size_t len) {
  p->len = len;
  p->text[len] = 0;
}

/* ---- words ---- */

typedef enum what {
  OF_STRING,
  OF_NUMBER,
  OF_INTEGER,
  OF_BOOLEAN,
  OF_OBJECT,
  OF_ARRAY,
  OF_TABLE,
  OF_ANY,
  NWHATS,
  OF_SET /* "one of" */
} what;
static const char *const names[NWHATS] = {"string",  "number", "integer",
                                          "boolean", "object", "array",
                                          "table",   "any"};

enum { MOST_BOUNDS = 4 };

typedef struct bound {
  int way; /* -1: from there on, 1: up to there */
  int is_open;
  pawl_str number;
} bound;

/* One of those that '|' parts. */
typedef struct piece {
  what what;
  int is_list;
  bound bounds[MOST_BOUNDS];
  int nbounds;
  pawl_str words; /* of a set */
} piece;

static pawl_str trimmed(pawl_str s) {
  while (s.len && s.at[0] == ' ') s.at++, s.len--;
  while (s.len && s.at[s.len - 1] == ' ') s.len--;
  return s;
}

/* Cuts what stands before the next `sep` off *rest. 0: there was nothing
 * left. */
static int cut(pawl_str *rest, char sep, pawl_str *part) {
  if (!rest->at) return 0;
  const char *at = memchr(rest->at, sep, rest->len);
  part->at = rest->at;
  part->len = at ? (size_t)(at - rest->at) : rest->len;
  rest->len -= part->len + (at ? 1 : 0);
  rest->at = at ? at + 1 : NULL;
  *part = trimmed(*part);
  return 1;
}

static int starts(pawl_str s, const char *with) {
  return s.len >= strlen(with) && !memcmp(s.at, with, strlen(with));
}

static pawl_str from(pawl_str s, size_t at) {
  return trimmed((pawl_str){s.at + at, s.len - at});
}

static int is_number(pawl_str s) {
  double ignored;
  pawl_json_kind kind = PAWL_JSON_NULL;
  return s.len && pawl_json_check(s, &kind, NULL) == PAWL_OK &&
         pawl_json_number(s, &ignored);
}

static int add_bound(piece *p, int way, int is_open, pawl_str number) {
  if (!is_number(number) || p->nbounds == MOST_BOUNDS) return 0;
  p->bounds[p->nbounds++] = (bound){way, is_open, number};
  return 1;
}

/* "1..10", "1..", "..10" */
static int add_range(piece *p, pawl_str word) {
  size_t at = 0;
  while (at + 1 < word.len && memcmp(word.at + at, "..", 2) != 0) at++;
  if (at + 1 >= word.len || word.len == 2) return 0;
  const pawl_str low = {word.at, at},
                 high = {word.at + at + 2, word.len - at - 2};
  return (!low.len || add_bound(p, -1, 0, low)) &&
         (!high.len || add_bound(p, 1, 0, high));
}

/* The bounds that a type's word is followed by. */
static int read_bounds(piece *p, pawl_str s) {
  while (s.len) {
    const int way = s.at[0] == '>' ? -1 : s.at[0] == '<' ? 1 : 0;
    const int is_open = !(s.len > 1 && s.at[1] == '=');
    if (way) s = from(s, is_open ? 1 : 2);
    pawl_str word = {s.at, 0};
    while (word.len < s.len && !strchr(" <>", s.at[word.len])) word.len++;
    if (!(way ? add_bound(p, way, is_open, word) : add_range(p, word)))
      return 0;
    s = from(s, word.len);
  }
  return 1;
}

static int compare(pawl_str a, pawl_str b) {
  int64_t i, k;
  double x = 0, y = 0;
  if (pawl_json_int(a, &i) && pawl_json_int(b, &k)) return (i > k) - (i < k);
  (void)pawl_json_number(a, &x);
  (void)pawl_json_number(b, &y);
  return (x > y) - (x < y);
}

/* Is there nothing from `low` up to `high`? */
static int excludes(const bound *low, const bound *high, int is_whole) {
  const int is = compare(low->number, high->number);
  int64_t from, to;
  if (is >= 0) return is > 0 || low->is_open || high->is_open;
  return is_whole && low->is_open && high->is_open &&
         pawl_json_int(low->number, &from) &&
         pawl_json_int(high->number, &to) && from + 1 == to;
}

/* Is there anything within all bounds? Less than none there cannot be. */
static int can_be_met(const piece *p) {
  const bound none = {-1, 0, pawl_strz("0")};
  const int is_number = p->what == OF_NUMBER && !p->is_list;
  const int is_size = !is_number && (p->what != OF_INTEGER || p->is_list);
  for (int i = 0; i < p->nbounds; i++) {
    const bound *high = &p->bounds[i];
    if (high->way < 0) continue;
    if (is_size && excludes(&none, high, 1)) return 0;
    for (int k = 0; k < p->nbounds; k++)
      if (p->bounds[k].way < 0 && excludes(&p->bounds[k], high, !is_number))
        return 0;
  }
  return 1;
}

static size_t word_length(pawl_str s) {
  size_t n = 0;
  while (n < s.len && ((s.at[n] >= 'a' && s.at[n] <= 'z') ||
                       (s.at[n] >= 'A' && s.at[n] <= 'Z')))
    n++;
  return n;
}

static int has_word(pawl_str list, pawl_str word) {
  pawl_str other;

  while (cut(&list, ',', &other))
    if (pawl_str_eq(other, word)) return 1;
  return 0;
}

/* NULL: it is read; else what is wrong with it. */
static const char *read_piece(pawl_str s, piece *p) {
  pawl_str word, rest;
  memset(p, 0, sizeof *p);
  if (starts(s, "one of ")) {
    p->what = OF_SET;
    p->words = rest = from(s, 7);
    while (cut(&rest, ',', &word)) {
      if (!word.len) return "has an empty word in its list";
      if (has_word(rest, word)) return "has a word twice in its list";
    }
    return NULL;
  }
  word = (pawl_str){s.at, word_length(s)};
  while (p->what < NWHATS && !pawl_str_eqz(word, names[p->what])) p->what++;
  if (p->what == NWHATS) return "is no type";
  s = from(s, word.len);
  p->is_list = starts(s, "[]");
  if (p->is_list) s = from(s, 2);
  if (starts(s, "[]")) return "is a list of lists: say array";
  if (starts(s, "?")) return "has its ? within: it stands at the end";
  if (s.len && !p->is_list && (p->what == OF_ANY || p->what == OF_BOOLEAN))
    return "has no bounds";
  if (!read_bounds(p, s))
    return "has bounds like > 0, >= 0, < 10, <= 10 or 1..10";
  return can_be_met(p) ? NULL : "has bounds that leave nothing between them";
}

/* Without the quotes and the sign that it may be left out. */
static pawl_str body_of(pawl_str text, int *is_optional) {
  pawl_str s = trimmed((pawl_str){text.at + 1, text.len - 2});
  *is_optional = s.len && s.at[s.len - 1] == '?';
  if (*is_optional) s.len--;
  return trimmed(s);
}

/* ---- checked ---- */

static pawl_code wrong(const path *p, const char *hint, const char *why,
                       pawl_str text) {
  pawl_fail(p->err, PAWL_DEFINITION, "%s: \"%.*s\" %s", p->text,
            (int)(text.len < 60 ? text.len : 60), text.at ? text.at : "", why);
  if (hint)
    pawl_error_hint(p->err, "did you mean \"%s\"?", hint);
  else
    pawl_error_hint(p->err,
                    "\"string\", \"integer > 0\", \"number?\", \"one "
                    "of a, b\", \"string[]\", { name = \"string\" }");
  pawl_error_where(p->err, "%s", p->text);
  return PAWL_DEFINITION;
}

static pawl_code check_text(const path *p, pawl_str text) {
  char word[33] = "";
  int is_optional;
  pawl_str rest = body_of(text, &is_optional), one;
  piece read;
  while (cut(&rest, '|', &one)) {
    const char *problem = read_piece(one, &read);
    if (!problem) continue;
    pawl_str_copy(word, sizeof word, (pawl_str){one.at, word_length(one)});
    return wrong(
        p, read.what == NWHATS ? pawl_nearest(word, names, NWHATS) : NULL,
        problem, one);
  }
  return PAWL_OK;
}

static pawl_str named(pawl_str key, int *is_optional) {
  *is_optional = key.len && key.at[key.len - 1] == '?';
  if (*is_optional) key.len--;
  return key;
}

/* "a" and "a?" are two types of one member. `key` has the sign. */
static pawl_code check_once(const path *p, pawl_str object, pawl_str key) {
  int ignored;
  const pawl_str name = named(key, &ignored);
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);) {
    if (!pawl_str_eq(it.key, name)) continue;
    pawl_fail_hint(p->err, PAWL_DEFINITION,
                   "keep one of them: what has a ? may be left out",
                   "%s is declared twice, by \"%.*s\" and \"%.*s\"", p->text,
                   (int)name.len, name.at, (int)key.len, key.at);
    pawl_error_where(p->err, "%s", p->text);
    return PAWL_DEFINITION;
  }
  return PAWL_OK;
}

static pawl_code check(path *p, pawl_str type) {
  const size_t len = p->len;
  int is_optional;
  switch (pawl_json_kind_of(type)) {
    case PAWL_JSON_STRING:
      return check_text(p, type);
    case PAWL_JSON_OBJECT:
      for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);) {
        path_add(p, named(it.key, &is_optional), 0);
        if (is_optional) MUST(check_once(p, type, it.key));
        MUST(check(p, it.value));
        path_back(p, len);
      }
      return PAWL_OK;
    case PAWL_JSON_ARRAY:
      if (pawl_json_count(type) != 1)
        return wrong(p, NULL, "says what each member is, once", type);
      for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);)
        MUST(check(p, it.value));
      return PAWL_OK;
    default:
      return wrong(p, NULL, "is no type", type);
  }
}

pawl_code pawl_types_check(pawl_str type, const char *root, pawl_error *err) {
  path p;
  path_begin(&p, root, err);
  return check(&p, type);
}

/* ---- compared ---- */

static size_t characters(pawl_str s) {
  size_t n = 0;
  for (size_t i = 0; i < s.len; i++)
    n += ((unsigned char)s.at[i] & 0xC0) != 0x80;
  return n;
}

static void show_members(const char *as, pawl_str value, char *out,
                         size_t size) {
  const int n = pawl_json_count(value);
  if (n)
    snprintf(out, size, "an %s of %d", as, n);
  else
    snprintf(out, size, "an empty %s", as);
}

/* May it be a list, with enough in it? */
static int takes_lists(pawl_str type) {
  int ignored;
  pawl_str rest, one;
  piece read;
  if (pawl_json_kind_of(type) != PAWL_JSON_STRING) return 0;
  rest = body_of(type, &ignored);
  while (cut(&rest, '|', &one))
    if (!read_piece(one, &read) && (read.is_list || read.what == OF_ARRAY))
      return 1;
  return 0;
}

/* A value as it is shown: what is long by how long it is. {} is an empty array
 * to what takes arrays, and there it lacks members. */
static void show_found(pawl_str type, pawl_str value, char *out, size_t size) {
  switch (value.at ? pawl_json_kind_of(value) : PAWL_JSON_NULL) {
    case PAWL_JSON_OBJECT:
      show_members(
          !pawl_json_count(value) && takes_lists(type) ? "array" : "object",
          value, out, size);
      return;
    case PAWL_JSON_ARRAY:
      show_members("array", value, out, size);
      return;
    case PAWL_JSON_STRING:
      if (value.len < size) break;
      snprintf(out, size, "a string of %zu bytes", value.len - 2);
      return;
    default:
      break;
  }
  pawl_str_copy(out, size, value.at ? value : pawl_strz("nothing"));
}

/* What was expected, and what there is; `value` at NULL: nothing. */
static pawl_code misfit(const path *p, pawl_str type, pawl_str value) {
  char found[48];
  const pawl_json_kind wants = pawl_json_kind_of(type);
  int ignored;
  const pawl_str want = wants == PAWL_JSON_STRING  ? body_of(type, &ignored)
                        : wants == PAWL_JSON_ARRAY ? pawl_strz("an array")
                                                   : pawl_strz("an object");
  show_found(type, value, found, sizeof found);
  pawl_fail(p->err, PAWL_VALUE, "%s: expected %.*s, found %s", p->text,
            (int)want.len, want.at, found);
  pawl_error_where(p->err, "%s", p->text);
  return PAWL_VALUE;
}

static int is_within(const piece *p, pawl_str number) {
  for (int i = 0; i < p->nbounds; i++) {
    const bound *b = &p->bounds[i];
    const int is = compare(number, b->number) * b->way;
    if (b->is_open ? is >= 0 : is > 0) return 0;
  }
  return 1;
}

static int count_is_within(const piece *p, size_t n) {
  char text[24];
  snprintf(text, sizeof text, "%zu", n);
  return is_within(p, pawl_strz(text));
}

/* Of a text, as it reads; `scratch` holds one that was written with escapes. */
static pawl_str plain(pawl_str quoted, pawl_buf *scratch) {
  if (!memchr(quoted.at, '\\', quoted.len))
    return (pawl_str){quoted.at + 1, quoted.len - 2};
  pawl_buf_clear(scratch);
  pawl_json_unquote(quoted, scratch);
  return pawl_buf_str(scratch);
}

/* A word that is a number is that number, as the schema has it, and no text. */
static int is_listed(const piece *p, pawl_str text) {
  pawl_str rest = p->words, word;
  while (cut(&rest, ',', &word))
    if (pawl_str_eq(word, text)) return !is_number(word);
  return 0;
}

/* 2.0 is 2 here too: a schema's numbers are compared by what they are. */
static int is_listed_number(const piece *p, pawl_str number) {
  pawl_str rest = p->words, word;
  while (cut(&rest, ',', &word))
    if (is_number(word) && compare(word, number) == 0) return 1;
  return 0;
}

/* The words stand in the declaration's JSON, with its escapes; a value may
 * have been written with others. */
static int is_listed_text(const piece *p, pawl_str quoted, pawl_buf *scratch) {
  if (!memchr(quoted.at, '\\', quoted.len))
    return is_listed(p, (pawl_str){quoted.at + 1, quoted.len - 2});
  pawl_buf text = {.alloc = scratch->alloc};
  pawl_buf_adds(&text, plain(quoted, scratch));
  pawl_buf_clear(scratch);
  pawl_json_add_string(scratch, pawl_buf_str(&text));
  scratch->failed |= text.failed;
  pawl_buf_deinit(&text);
  return scratch->len >= 2 &&
         is_listed(p, (pawl_str){scratch->at + 1, scratch->len - 2});
}

static int is_empty(pawl_str container) {
  return pawl_json_count(container) == 0;
}

/* A value by itself, whatever a list holds. */
static int fits_what(const piece *p, pawl_str value, pawl_buf *scratch) {
  const pawl_json_kind kind = pawl_json_kind_of(value);
  const int is_num = kind == PAWL_JSON_INT || kind == PAWL_JSON_FLOAT;
  const int is_array =
      kind == PAWL_JSON_ARRAY || (kind == PAWL_JSON_OBJECT && is_empty(value));
  switch (p->what) {
    case OF_STRING:
      return kind == PAWL_JSON_STRING;
    case OF_NUMBER:
      return is_num;
    case OF_INTEGER:
      return kind == PAWL_JSON_INT;
    case OF_BOOLEAN:
      return kind == PAWL_JSON_TRUE || kind == PAWL_JSON_FALSE;
    case OF_OBJECT:
      return kind == PAWL_JSON_OBJECT;
    case OF_ARRAY:
      return is_array;
    case OF_TABLE:
      return kind == PAWL_JSON_OBJECT || kind == PAWL_JSON_ARRAY;
    case OF_SET:
      return kind == PAWL_JSON_STRING ? is_listed_text(p, value, scratch)
                                      : is_num && is_listed_number(p, value);
    default:
      return 1;
  }
}

static int fits_bounds(const piece *p, pawl_str value, pawl_buf *scratch) {
  if (!p->nbounds) return 1;
  switch (pawl_json_kind_of(value)) {
    case PAWL_JSON_STRING:
      return count_is_within(p, characters(plain(value, scratch)));
    case PAWL_JSON_ARRAY:
    case PAWL_JSON_OBJECT:
      return count_is_within(p, (size_t)pawl_json_count(value));
    default:
      return is_within(p, value);
  }
}

static int fits_piece(const piece *p, pawl_str value, pawl_buf *scratch) {
  static const piece array = {.what = OF_ARRAY};
  const piece each = {.what = p->what};
  if (!p->is_list)
    return fits_what(p, value, scratch) && fits_bounds(p, value, scratch);
  if (!fits_what(&array, value, scratch) || !fits_bounds(p, value, scratch))
    return 0;
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);)
    if (!fits_what(&each, it.value, scratch)) return 0;
  return 1;
}

static pawl_code fit_text(const path *p, pawl_str type, pawl_str value) {
  pawl_buf scratch = {.alloc = NULL};
  int is_optional, fits = 0;
  pawl_str rest = body_of(type, &is_optional), one;
  piece read;
  if (is_optional && pawl_json_kind_of(value) == PAWL_JSON_NULL)
    return PAWL_OK;
  while (!fits && cut(&rest, '|', &one))
    fits = !read_piece(one, &read) && fits_piece(&read, value, &scratch);
  const pawl_code rc = pawl_buf_check(&scratch, p->err);
  pawl_buf_deinit(&scratch);
  if (rc != PAWL_OK) return rc;
  return fits ? PAWL_OK : misfit(p, type, value);
}

static int is_named(pawl_str key, pawl_str name, pawl_buf *scratch) {
  const pawl_str quoted = {key.at - 1, key.len + 2};
  return pawl_str_eq(
      memchr(key.at, '\\', key.len) ? plain(quoted, scratch) : key, name);
}

/* A member of an object, by a name as it is declared; at NULL: none. */
static pawl_str member(pawl_str object, pawl_str name, pawl_buf *scratch) {
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);)
    if (is_named(it.key, name, scratch)) return it.value;
  return (pawl_str){NULL, 0};
}

/* What a member is to be: by its name, or as all others; at NULL: there may
 * be none. */
typedef struct declared {
  pawl_str type;
  int is_other, is_optional;
} declared;

static declared find_declared(pawl_str type, pawl_str key, pawl_buf *scratch) {
  declared d = {.is_other = 1};
  int is_optional;
  for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);) {
    const pawl_str name = named(it.key, &is_optional);
    if (pawl_str_eqz(name, "*"))
      d.type = it.value;
    else if (is_named(key, name, scratch))
      return (declared){.type = it.value, .is_optional = is_optional};
  }
  return d;
}

/* The declared name that may have been meant; "": none is near. */
static void find_near(pawl_str type, const char *asked,
                      char near[PAWL_TYPES_NAME]) {
  char words[32][PAWL_TYPES_NAME];
  const char *list[32], *found;
  int n = 0, ignored;
  for (pawl_json_iter it = {0}; n < 32 && pawl_json_walk(type, &it); n++) {
    pawl_str_copy(words[n], sizeof words[n], named(it.key, &ignored));
    list[n] = words[n];
  }
  found = pawl_nearest(asked, list, n);
  pawl_copy_text(near, PAWL_TYPES_NAME, found ? found : "");
}

static pawl_code unknown(const path *p, pawl_str type, pawl_str key) {
  char asked[PAWL_TYPES_NAME], near[PAWL_TYPES_NAME];
  pawl_str_copy(asked, sizeof asked, key);
  pawl_fail(p->err, PAWL_VALUE, "%s has no \"%s\"", p->text, asked);
  pawl_error_where(p->err, "%s", p->text);
  find_near(type, asked, near);
  if (near[0])
    pawl_error_hint(p->err, "did you mean \"%s\"?", near);
  else
    pawl_error_hint(p->err, "nothing of that name is declared");
  return PAWL_VALUE;
}

static pawl_code fit(path *p, pawl_str type, pawl_str value);

/* What is declared is there. */
static pawl_code fit_declared(path *p, pawl_str type, pawl_str value,
                              pawl_buf *scratch) {
  const size_t len = p->len;
  for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);) {
    int by_name, by_type = 0;
    const pawl_str name = named(it.key, &by_name);
    if (pawl_str_eqz(name, "*")) continue;
    const pawl_str has = member(value, name, scratch);
    if (pawl_json_kind_of(it.value) == PAWL_JSON_STRING)
      (void)body_of(it.value, &by_type);
    path_add(p, name, 0);
    if (!has.at && !by_name && !by_type) return misfit(p, it.value, has);
    if (has.at && !(by_name && pawl_json_kind_of(has) == PAWL_JSON_NULL))
      MUST(fit(p, it.value, has));
    path_back(p, len);
  }
  return PAWL_OK;
}

/* And what is there is declared. */
static pawl_code fit_others(path *p, pawl_str type, pawl_str value,
                            pawl_buf *scratch) {
  const size_t len = p->len;
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);) {
    const declared as = find_declared(type, it.key, scratch);
    if (!as.is_other) continue;
    if (!as.type.at) return unknown(p, type, it.key);
    path_add(p, it.key, 0);
    MUST(fit(p, as.type, it.value));
    path_back(p, len);
  }
  return PAWL_OK;
}

static pawl_code fit_object(path *p, pawl_str type, pawl_str value) {
  pawl_buf scratch = {.alloc = NULL};
  pawl_code rc = PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_OBJECT)
    return misfit(p, type, value);
  TRY(fit_declared(p, type, value, &scratch));
  TRY(fit_others(p, type, value, &scratch));
  rc = pawl_buf_check(&scratch, p->err);
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

static pawl_code fit_list(path *p, pawl_str type, pawl_str value) {
  static const piece array = {.what = OF_ARRAY};
  const size_t len = p->len;
  pawl_json_iter of = {0};
  int n = 0;
  (void)pawl_json_walk(type, &of);
  if (!fits_what(&array, value, NULL)) return misfit(p, type, value);
  for (pawl_json_iter it = {0}; pawl_json_walk(value, &it);) {
    path_add(p, (pawl_str){NULL, 0}, ++n);
    MUST(fit(p, of.value, it.value));
    path_back(p, len);
  }
  return PAWL_OK;
}

static pawl_code fit(path *p, pawl_str type, pawl_str value) {
  switch (pawl_json_kind_of(type)) {
    case PAWL_JSON_STRING:
      return fit_text(p, type, value);
    case PAWL_JSON_OBJECT:
      return fit_object(p, type, value);
    default:
      return fit_list(p, type, value);
  }
}

static pawl_code fit_present(path *p, pawl_str type, pawl_str key,
                             pawl_str value, pawl_buf *scratch) {
  const size_t len = p->len;
  const declared as = find_declared(type, key, scratch);
  if (!as.type.at) return unknown(p, type, key);
  if (as.is_optional && pawl_json_kind_of(value) == PAWL_JSON_NULL)
    return PAWL_OK;
  path_add(p, key, 0);
  MUST(fit(p, as.type, value));
  path_back(p, len);
  return PAWL_OK;
}

/* Members that nobody has touched stand in the same order: *it is the place
 * behind the last that was found. */
static int was_there(pawl_str before, pawl_json_iter *it, pawl_str key,
                     pawl_str value) {
  pawl_json_iter all = {0};

  if (!before.at) return 0;
  if (pawl_json_walk(before, it) && pawl_str_eq(it->key, key))
    return pawl_str_eq(it->value, value);
  while (pawl_json_walk(before, &all))
    if (pawl_str_eq(all.key, key)) {
      *it = all;
      return pawl_str_eq(all.value, value);
    }
  return 0;
}

pawl_code pawl_types_fit_present(pawl_str type, pawl_str before,
                                 pawl_str object, const char *root,
                                 pawl_error *err) {
  pawl_json_iter last = {0};
  pawl_buf scratch = {.alloc = NULL};
  pawl_code rc = PAWL_OK;
  path p;
  path_begin(&p, root, err);
  for (pawl_json_iter it = {0}; pawl_json_walk(object, &it);)
    if (!was_there(before, &last, it.key, it.value))
      TRY(fit_present(&p, type, it.key, it.value, &scratch));
  rc = pawl_buf_check(&scratch, err);
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

pawl_code pawl_types_fit_member(pawl_str type, const char *name,
                                pawl_str value, const char *root,
                                pawl_error *err) {
  pawl_buf key = {.alloc = NULL}, scratch = {.alloc = NULL};
  pawl_code rc;
  path p;
  path_begin(&p, root, err);
  pawl_json_add_string(&key, pawl_strz(name)); /* a backslash may be in it */
  TRY(pawl_buf_check(&key, err));
  TRY(fit_present(&p, type, (pawl_str){key.at + 1, key.len - 2}, value,
                  &scratch));
  rc = pawl_buf_check(&scratch, err);
out:
  pawl_buf_deinit(&scratch);
  pawl_buf_deinit(&key);
  return rc;
}

pawl_code pawl_types_fit(pawl_str type, pawl_str value, const char *root,
                         pawl_error *err) {
  path p;
  path_begin(&p, root, err);
  return fit(&p, type, value);
}

int pawl_types_may_have(pawl_str type, const char *name,
                        char near[PAWL_TYPES_NAME]) {
  char optional[PAWL_TYPES_NAME + 1];
  pawl_str ignored;
  near[0] = 0;
  (void)snprintf(optional, sizeof optional, "%s?", name);
  if (pawl_json_kind_of(type) != PAWL_JSON_OBJECT ||
      pawl_json_get(type, name, &ignored) ||
      pawl_json_get(type, optional, &ignored) ||
      pawl_json_get(type, "*", &ignored))
    return 1;
  find_near(type, name, near);
  return 0;
}

/* ---- as JSON Schema ---- */

/* The tightest of its bounds that are such; NULL: there is none. */
static const bound *tightest(const piece *p, int way, int is_open) {
  const bound *best = NULL;
  for (int i = 0; i < p->nbounds; i++) {
    const bound *b = &p->bounds[i];
    if (b->way != way || b->is_open != is_open) continue;
    if (!best || compare(b->number, best->number) * way < 0) best = b;
  }
  return best;
}

static void schema_limit(pawl_object *o, const char *name, const piece *p,
                         int way, int is_open) {
  const bound *b = tightest(p, way, is_open);
  if (b) pawl_member_json(o, name, b->number);
}

/* The least, or the most, that a bound leaves of what is counted. */
static double count_at(const bound *b) {
  double n = 0;
  (void)pawl_json_number(b->number, &n);
  if (b->way < 0) return b->is_open ? floor(n) + 1 : ceil(n);
  return b->is_open ? ceil(n) - 1 : floor(n);
}

static void schema_count(pawl_object *o, const char *name, const piece *p,
                         int way) {
  double best = 0; /* less there cannot be */
  int found = 0;
  for (int i = 0; i < p->nbounds; i++) {
    const bound *b = &p->bounds[i];
    if (b->way != way) continue;
    const double n = count_at(b);
    if (!found || (n - best) * way < 0) best = n;
    found = 1;
  }
  if (!found || (way < 0 && best <= 0)) return;
  pawl_member(o, name);
  pawl_buf_addf(o->out, "%.0f", best);
}

static void schema_counts(pawl_object *o, const char *least, const char *most,
                          const piece *p) {
  schema_count(o, least, p, -1);
  schema_count(o, most, p, 1);
}

/* What a piece is by itself is said by `type`; in a list each member is. */
static void schema_type(pawl_object *o, const piece *p, int or_null) {
  const char *type = p->is_list ? "array" : names[p->what];
  if (!p->is_list && p->what == OF_TABLE) {
    pawl_member_json(o, "type",
                     pawl_strz(or_null ? "[\"object\",\"array\",\"null\"]"
                                       : "[\"object\",\"array\"]"));
    return;
  }
  if (!or_null) {
    pawl_member_textz(o, "type", type);
    return;
  }
  pawl_member(o, "type");
  pawl_buf_addf(o->out, "[\"%s\",\"null\"]", type);
}

static void schema_bounds(pawl_object *o, const piece *p) {
  if (p->is_list) {
    schema_counts(o, "minItems", "maxItems", p);
    return;
  }
  if (p->what == OF_STRING) {
    schema_counts(o, "minLength", "maxLength", p);
  } else if (p->what == OF_NUMBER || p->what == OF_INTEGER) {
    schema_limit(o, "minimum", p, -1, 0);
    schema_limit(o, "exclusiveMinimum", p, -1, 1);
    schema_limit(o, "maximum", p, 1, 0);
    schema_limit(o, "exclusiveMaximum", p, 1, 1);
  } else {
    if (p->what != OF_ARRAY)
      schema_counts(o, "minProperties", "maxProperties", p);
    if (p->what != OF_OBJECT) schema_counts(o, "minItems", "maxItems", p);
  }
}

static void schema_set(pawl_object *o, const piece *p, int or_null) {
  pawl_object list;
  pawl_str rest = p->words, word;
  pawl_member_list(o, "enum", &list);
  while (cut(&rest, ',', &word)) {
    pawl_list_next(&list);
    if (is_number(word))
      pawl_buf_adds(o->out, word);
    else
      pawl_buf_addf(o->out, "\"%.*s\"", (int)word.len, word.at);
  }
  if (or_null) {
    pawl_list_next(&list);
    pawl_buf_addz(o->out, "null");
  }
  pawl_list_end(&list);
}

static void schema_piece(pawl_object *o, const piece *p, int or_null) {
  if (p->what == OF_SET) {
    schema_set(o, p, or_null);
    return;
  }
  if (p->what == OF_ANY && !p->is_list) return;
  schema_type(o, p, or_null);
  if (p->is_list && p->what != OF_ANY) {
    const piece each = {.what = p->what};
    pawl_object items;
    pawl_member_object(o, "items", &items);
    schema_type(&items, &each, 0);
    pawl_object_end(&items);
  }
  schema_bounds(o, p);
}

static void schema_text(pawl_object *o, pawl_str type, int or_null) {
  int is_optional;
  pawl_str rest = body_of(type, &is_optional), one;
  pawl_object any, inner;
  piece read;
  or_null |= is_optional;
  if (!memchr(rest.at, '|', rest.len)) {
    if (!read_piece(rest, &read)) schema_piece(o, &read, or_null);
    return;
  }
  pawl_member_list(o, "anyOf", &any);
  while (cut(&rest, '|', &one)) {
    pawl_list_object(&any, &inner);
    if (!read_piece(one, &read)) schema_piece(&inner, &read, or_null);
    pawl_object_end(&inner);
    or_null = 0; /* one of them is enough */
  }
  pawl_list_end(&any);
}

static void schema(pawl_object *o, pawl_str type, int or_null);

/* Is it missed where it is not there? */
static int is_required(pawl_str key, pawl_str type) {
  int by_name, by_type = 0;
  const pawl_str name = named(key, &by_name);
  if (pawl_json_kind_of(type) == PAWL_JSON_STRING)
    (void)body_of(type, &by_type);
  return !by_name && !by_type && !pawl_str_eqz(name, "*");
}

static void schema_required(pawl_object *o, pawl_str type) {
  pawl_object list = {.out = NULL};
  for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);) {
    if (!is_required(it.key, it.value)) continue;
    if (!list.out) pawl_member_list(o, "required", &list);
    pawl_list_next(&list);
    pawl_buf_addf(o->out, "\"%.*s\"", (int)it.key.len, it.key.at);
  }
  if (list.out) pawl_list_end(&list);
}

static void schema_object(pawl_object *o, pawl_str type, int or_null) {
  static const piece object = {.what = OF_OBJECT};
  pawl_object members, inner;
  pawl_str others = {NULL, 0};
  int by_name;
  schema_type(o, &object, or_null);
  pawl_member_object(o, "properties", &members);
  for (pawl_json_iter it = {0}; pawl_json_walk(type, &it);) {
    const pawl_str name = named(it.key, &by_name);
    if (pawl_str_eqz(name, "*")) {
      others = it.value;
      continue;
    }
    pawl_member_named(&members, name);
    pawl_object_begin(&inner, o->out);
    schema(&inner, it.value, by_name);
    pawl_object_end(&inner);
  }
  pawl_object_end(&members);
  schema_required(o, type);
  if (!others.at) {
    pawl_member_bool(o, "additionalProperties", 0);
    return;
  }
  pawl_member_object(o, "additionalProperties", &inner);
  schema(&inner, others, 0);
  pawl_object_end(&inner);
}

static void schema_array(pawl_object *o, pawl_str type, int or_null) {
  static const piece array = {.what = OF_ARRAY};
  pawl_json_iter of = {0};
  pawl_object items;
  schema_type(o, &array, or_null);
  if (!pawl_json_walk(type, &of)) return;
  pawl_member_object(o, "items", &items);
  schema(&items, of.value, 0);
  pawl_object_end(&items);
}

static void schema(pawl_object *o, pawl_str type, int or_null) {
  switch (pawl_json_kind_of(type)) {
    case PAWL_JSON_STRING:
      schema_text(o, type, or_null);
      return;
    case PAWL_JSON_OBJECT:
      schema_object(o, type, or_null);
      return;
    case PAWL_JSON_ARRAY:
      schema_array(o, type, or_null);
      return;
    default: /* who checked it has refused that */
      return;
  }
}

void pawl_types_schema(pawl_str type, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "$schema",
                    "https://json-schema.org/draft/2020-12/schema");
  schema(&o, type, 0);
  pawl_object_end(&o);
}
