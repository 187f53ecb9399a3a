/* Reading, token by token. */
#include <assert.h>

#include "json_parts.h"

/* What may come next, white space aside:
 *
 *   state       a value   a key   , or close   close   the end
 *   VALUE         yes                                            after : or ,
 *   FIRST_ITEM    yes                            ]               after [
 *   FIRST_KEY               yes                  }               after {
 *   KEY                     yes                                  after , in {
 *   COMMA                          yes                           after a value
 *   NOTHING                                              yes     at the end */
enum { VALUE, FIRST_ITEM, FIRST_KEY, KEY, COMMA, NOTHING };

void pawl_json_reader_init(pawl_json_reader *r, pawl_str text,
                           const pawl_alloc *alloc) {
  memset(r, 0, sizeof *r);
  r->text = text;
  r->most = PAWL_JSON_DEPTH;
  r->scratch.alloc = alloc;
  r->state = VALUE;
}

void pawl_json_reader_deinit(pawl_json_reader *r) {
  pawl_buf_deinit(&r->scratch);
}

static pawl_code bad_text(const pawl_json_reader *r, size_t at,
                          const char *problem, pawl_error *err) {
  pawl_fail(err, PAWL_VALUE, "%s", problem);
  pawl_json_locate(r->text, at, err);
  return PAWL_VALUE;
}

static pawl_code unexpected(const pawl_json_reader *r, const char *wanted,
                            pawl_error *err) {
  unsigned char c;
  if (!err) return PAWL_VALUE;
  if (r->at >= r->text.len) {
    pawl_fail(err, PAWL_VALUE, "%s expected, but the text ends", wanted);
  } else {
    c = (unsigned char)r->text.at[r->at];
    if (c > 0x20 && c < 0x7f)
      pawl_fail(err, PAWL_VALUE, "%s expected, not '%c'", wanted, c);
    else
      pawl_fail(err, PAWL_VALUE, "%s expected, not the byte 0x%02x", wanted,
                c);
  }
  pawl_json_locate(r->text, r->at, err);
  return PAWL_VALUE;
}

/* Of a reader inside some container. */
static inline int is_in_object(const pawl_json_reader *r) {
  return r->stack[r->depth - 1] == PAWL_JSON_OBJECT;
}

static inline void after_value(pawl_json_reader *r) {
  r->state = r->depth > 0 ? COMMA : NOTHING;
}

static const char *string_problem(unsigned char c) {
  if (c >= 0x80) return "the text is not UTF-8";
  if (c < 0x20) return "a control character in a string must be escaped";
  return "no such escape: \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX, "
         "surrogates in pairs";
}

/* Reads the string at r->at, where its quote stands, into r->str. Without
 * escapes that borrows from the text, else from the scratch buffer. */
static pawl_code read_string(pawl_json_reader *r, pawl_error *err) {
  const char *begin = r->text.at + r->at + 1;
  const char *end = r->text.at + r->text.len, *at = begin, *run = begin;
  char c[4];
  int copied = 0;
  size_t n;

  pawl_buf_clear(&r->scratch);
  while ((at = skip_plain(at, end)) < end && *at != '"') {
    const char *after = NULL;
    if ((unsigned char)*at >= 0x80) {
      int len = pawl_utf8_length(at, (size_t)(end - at));
      if (len > 0) after = at + len;
    } else if (*at == '\\' &&
               (after = pawl_json_unescape(at, end, c, &n)) != NULL) {
      pawl_buf_add(&r->scratch, run, (size_t)(at - run));
      pawl_buf_add(&r->scratch, c, n);
      run = after;
      copied = 1;
    }
    if (!after)
      return bad_text(r, (size_t)(at - r->text.at),
                      string_problem((unsigned char)*at), err);
    at = after;
  }
  if (at == end) return bad_text(r, r->at, "a string without an end", err);
  r->str.at = run;
  r->str.len = (size_t)(at - run);
  r->at = (size_t)(at - r->text.at) + 1;
  if (!copied) return PAWL_OK;
  pawl_buf_adds(&r->scratch, r->str);
  r->str = pawl_buf_str(&r->scratch);
  return pawl_buf_check(&r->scratch, err);
}

static inline pawl_code next_number(pawl_json_reader *r, pawl_error *err) {
  pawl_json_num num;
  const char *problem = pawl_json_read_number(&num, r->text.at + r->at,
                                              r->text.at + r->text.len);
  if (problem) {
    bad_text(r, (size_t)(num.end - r->text.at), problem, err);
    if (num.hint) pawl_error_hint(err, "%s", num.hint);
    return PAWL_VALUE;
  }
  r->at = (size_t)(num.end - r->text.at);
  r->kind = num.is_float ? PAWL_JSON_FLOAT : PAWL_JSON_INT;
  if (num.is_float)
    r->d = num.d;
  else
    r->i = num.i;
  return PAWL_OK;
}

static pawl_code next_word(pawl_json_reader *r, const char *word,
                           pawl_json_kind kind, pawl_error *err) {
  size_t len = strlen(word);
  if (r->text.len - r->at < len || memcmp(r->text.at + r->at, word, len) != 0)
    return unexpected(r, "a value", err);
  r->at += len;
  r->kind = kind;
  return PAWL_OK;
}

static pawl_code next_begin(pawl_json_reader *r, pawl_json_kind kind,
                            pawl_error *err) {
  if (r->depth == r->most) {
    pawl_fail(err, PAWL_LIMIT, "nested deeper than %d levels",
              pawl_json_depth_told(r->most));
    pawl_json_locate(r->text, r->at, err);
    return PAWL_LIMIT;
  }
  r->stack[r->depth++] = (unsigned char)kind;
  r->at++;
  r->event = PAWL_JSON_BEGIN;
  r->kind = kind;
  r->state = kind == PAWL_JSON_OBJECT ? FIRST_KEY : FIRST_ITEM;
  return PAWL_OK;
}

static pawl_code next_value(pawl_json_reader *r, pawl_error *err) {
  pawl_code rc;
  char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

  if (c == '{') return next_begin(r, PAWL_JSON_OBJECT, err);
  if (c == '[') return next_begin(r, PAWL_JSON_ARRAY, err);
  switch (c) {
    case '"':
      rc = read_string(r, err);
      r->kind = PAWL_JSON_STRING;
      break;
    case 't':
      rc = next_word(r, "true", PAWL_JSON_TRUE, err);
      break;
    case 'f':
      rc = next_word(r, "false", PAWL_JSON_FALSE, err);
      break;
    case 'n':
      rc = next_word(r, "null", PAWL_JSON_NULL, err);
      break;
    default:
      if (c != '-' && !is_digit(c)) return unexpected(r, "a value", err);
      rc = next_number(r, err);
  }
  if (rc != PAWL_OK) return rc;
  r->event = PAWL_JSON_VALUE;
  after_value(r);
  return PAWL_OK;
}

static inline void skip_space(pawl_json_reader *r) {
  while (r->at < r->text.len && is_space(r->text.at[r->at])) r->at++;
}

static pawl_code next_key(pawl_json_reader *r, const char *wanted,
                          pawl_error *err) {
  if (r->at >= r->text.len || r->text.at[r->at] != '"')
    return unexpected(r, wanted, err);
  MUST(read_string(r, err));
  r->end = r->at;
  skip_space(r);
  if (r->at >= r->text.len || r->text.at[r->at] != ':')
    return unexpected(r, "':' behind the key", err);
  r->at++;
  r->event = PAWL_JSON_KEY;
  r->kind = PAWL_JSON_STRING;
  r->state = VALUE;
  return PAWL_OK;
}

static inline pawl_code next_end(pawl_json_reader *r) {
  assert(r->depth > 0 && r->depth <= r->most); /* J3 */
  r->kind = (pawl_json_kind)r->stack[--r->depth];
  r->at++;
  r->event = PAWL_JSON_END;
  after_value(r);
  return PAWL_OK;
}

/* Is this the bracket that closes the container the reader is in? */
static int closes(const pawl_json_reader *r, char c) {
  return c == (is_in_object(r) ? '}' : ']');
}

/* One token; r->begin is set, r->end by next_key alone. */
static inline pawl_code next_token(pawl_json_reader *r, pawl_error *err) {
  char c = r->at < r->text.len ? r->text.at[r->at] : '\0';

  switch (r->state) {
    case FIRST_ITEM:
      if (c == ']') return next_end(r);
      return next_value(r, err);
    case FIRST_KEY:
      if (c == '}') return next_end(r);
      return next_key(r, "a key in double quotes or '}'", err);
    case KEY:
      return next_key(r, "a key in double quotes", err);
    case NOTHING:
      if (r->at < r->text.len)
        return unexpected(r, "the end of the text", err);
      r->event = PAWL_JSON_DONE;
      return PAWL_OK;
    default:
      return next_value(r, err);
  }
}

pawl_code pawl_json_next(pawl_json_reader *r, pawl_error *err) {
  size_t before = r->at;
  int state = r->state;
  pawl_code rc;

  skip_space(r);
  if (r->state == COMMA) {
    char c = r->at < r->text.len ? r->text.at[r->at] : '\0';
    if (closes(r, c)) {
      r->begin = r->at;
      next_end(r);
      r->end = r->at;
      return PAWL_OK;
    }
    if (c != ',') {
      rc = unexpected(r, is_in_object(r) ? "',' or '}'" : "',' or ']'", err);
      r->at = before;
      return rc;
    }
    r->at++;
    skip_space(r);
    r->state = is_in_object(r) ? KEY : VALUE;
  }
  r->begin = r->at;
  rc = next_token(r, err);
  if (rc != PAWL_OK) { /* so that the next call says the same */
    r->at = before;
    r->state = state;
  } else if (r->event != PAWL_JSON_KEY) {
    r->end = r->at;
  }
  return rc;
}
