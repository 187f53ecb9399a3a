/* See reader.h. */
#include "reader.h"

#include <assert.h>

#include "refuse.h"

/* ---- memory ---- */

/* A definition is read once and freed as a whole: blocks in a chain. */
typedef struct block {
  struct block *next;
  size_t size; /* of the whole block, this header included */
} block;

struct pawl_def_arena {
  block *blocks;
  char *at, *end; /* what is free in the newest block */
};

enum { ALIGN = 16, BLOCK = 4096 };

/* Never zeroed twice: blocks come zeroed. */
void *pawl_arena_get(pawl_def *d, size_t size) {
  struct pawl_def_arena *a = d->arena;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (size > (size_t)(a->end - a->at)) {
    size_t head = (sizeof(block) + ALIGN - 1) / ALIGN * ALIGN;
    size_t whole = head + (size > BLOCK ? size : BLOCK);
    block *b = pawl_calloc(d->alloc, whole);
    if (!b) return NULL;
    b->size = whole;
    b->next = a->blocks;
    a->blocks = b;
    a->at = (char *)b + head;
    a->end = (char *)b + whole;
  }
  assert(size <= (size_t)(a->end - a->at));
  a->at += size;
  return a->at - size;
}

pawl_code pawl_arena_new(pawl_reader *r) {
  pawl_def *d = r->def;
  d->arena = pawl_calloc(d->alloc, sizeof *d->arena);
  return d->arena ? PAWL_OK : pawl_reader_nomem(r);
}

void pawl_def_free(pawl_def *def) {
  const pawl_alloc *alloc;
  if (!def) return;
  alloc = def->alloc;
  if (def->arena) {
    block *b = def->arena->blocks;
    while (b) {
      block *next = b->next;
      pawl_release(alloc, b, b->size);
      b = next;
    }
    pawl_release(alloc, def->arena, sizeof *def->arena);
  }
  pawl_release(alloc, def, sizeof *def);
}

/* ---- members ---- */

pawl_code pawl_reader_nomem(pawl_reader *r) {
  return pawl_fail(r->err, PAWL_NOMEM, "not enough memory for a definition");
}

pawl_code pawl_reader_at(pawl_reader *r) {
  return pawl_refuse_at(r->def, r->line, r->err);
}

pawl_code pawl_reader_wrong(pawl_reader *r, const char *field,
                            const char *want) {
  pawl_fail(r->err, PAWL_DEFINITION, "%s: `%s` must be %s", r->what, field,
            want);
  return pawl_reader_at(r);
}

pawl_code pawl_reader_copy(pawl_reader *r, pawl_str s, const char **out) {
  char *text = pawl_arena_get(r->def, s.len + 1);
  if (!text) return pawl_reader_nomem(r);
  if (s.len) memcpy(text, s.at, s.len);
  *out = text;
  return PAWL_OK;
}

pawl_code pawl_reader_str(pawl_reader *r, pawl_str s, pawl_str *out) {
  MUST(pawl_reader_copy(r, s, &out->at));
  out->len = s.len;
  return PAWL_OK;
}

pawl_code pawl_reader_unquote(pawl_reader *r, pawl_str quoted,
                              const char *field, const char **out) {
  pawl_buf_clear(&r->text);
  pawl_json_unquote(quoted, &r->text);
  MUST(pawl_buf_check(&r->text, r->err));
  if (r->text.len && memchr(r->text.at, 0, r->text.len))
    return pawl_reader_wrong(r, field, "text without a zero byte");
  return pawl_reader_copy(r, pawl_buf_str(&r->text), out);
}

pawl_code pawl_reader_text(pawl_reader *r, pawl_str object, const char *field,
                           const char **out) {
  pawl_str value;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return pawl_reader_wrong(r, field, "a string");
  return pawl_reader_unquote(r, value, field, out);
}

pawl_code pawl_reader_flag(pawl_reader *r, pawl_str object, const char *field,
                           int *out) {
  pawl_str value;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  pawl_json_kind kind = pawl_json_kind_of(value);
  if (kind != PAWL_JSON_TRUE && kind != PAWL_JSON_FALSE)
    return pawl_reader_wrong(r, field, "true or false");
  *out = kind == PAWL_JSON_TRUE;
  return PAWL_OK;
}

pawl_code pawl_reader_int(pawl_reader *r, pawl_str object, const char *field,
                          int64_t min, int64_t max, const char *want,
                          int64_t *out) {
  pawl_str value;
  int64_t n;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (!pawl_json_int(value, &n) || n < min || n > max)
    return pawl_reader_wrong(r, field, want);
  *out = n;
  return PAWL_OK;
}

pawl_code pawl_reader_count(pawl_reader *r, pawl_str object, const char *field,
                            int64_t max, int64_t *out) {
  return pawl_reader_int(r, object, field, 1, max, "an integer of at least 1",
                         out);
}

pawl_code pawl_reader_duration(pawl_reader *r, pawl_str object,
                               const char *field, int64_t min, int64_t *out) {
  return pawl_reader_int(
      r, object, field, min, PAWL_MAX_DURATION_US,
      min ? "a duration in microseconds, longer than nothing"
          : "a duration in microseconds",
      out);
}

pawl_code pawl_reader_asked(pawl_reader *r, pawl_str object, const char *field,
                            int64_t min, int64_t *out, int *asked) {
  pawl_str value;
  *asked = pawl_json_get(object, field, &value) &&
           pawl_json_kind_of(value) == PAWL_JSON_TRUE;
  return *asked ? PAWL_OK : pawl_reader_duration(r, object, field, min, out);
}

pawl_code pawl_reader_number(pawl_reader *r, pawl_str object,
                             const char *field, double min, double max,
                             const char *want, double *out) {
  pawl_str value;
  double d;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  if (!pawl_json_number(value, &d) || !(d >= min && d <= max))
    return pawl_reader_wrong(r, field, want);
  *out = d;
  return PAWL_OK;
}

pawl_code pawl_reader_choice(pawl_reader *r, pawl_str object,
                             const char *field, const char *no,
                             const char *yes, int *out) {
  const char *text = NULL;
  pawl_code rc = pawl_reader_text(r, object, field, &text);
  if (rc != PAWL_OK || !text) return rc;
  *out = strcmp(text, yes) == 0;
  if (*out || strcmp(text, no) == 0) return PAWL_OK;
  pawl_fail(r->err, PAWL_DEFINITION, "%s: `%s` cannot be \"%s\"", r->what,
            field, text);
  pawl_error_hint(r->err, "\"%s\" or \"%s\"", no, yes);
  return pawl_reader_at(r);
}

pawl_code pawl_reader_durability(pawl_reader *r, pawl_str object, int *out) {
  static const char *const words[] = {"every", "grouped", "save"};
  const char *text = NULL;
  pawl_code rc = pawl_reader_text(r, object, "durability", &text);

  *out = -1;
  if (rc != PAWL_OK || !text) return rc;
  for (int i = 0; i < 3 && *out < 0; i++)
    if (!strcmp(text, words[i])) *out = i;
  if (*out < 0)
    return pawl_reader_wrong(r, "durability", "every, grouped or save");
  r->def->durables = 1;
  return PAWL_OK;
}

pawl_code pawl_reader_introduce(pawl_reader *r, const char *kind,
                                const char *name) {
  size_t size = strlen(kind) + strlen(name) + 4;
  char *text = pawl_arena_get(r->def, size);
  if (!text) return pawl_reader_nomem(r);
  pawl_copy_text(text, size, kind);
  strcat(strcat(strcat(text, " \""), name), "\"");
  r->what = text;
  return PAWL_OK;
}

pawl_code pawl_reader_json(pawl_reader *r, pawl_str object, const char *field,
                           pawl_json_kind kind, pawl_json_kind other,
                           const char *want, pawl_str *out) {
  pawl_str value;
  if (!pawl_json_get(object, field, &value)) return PAWL_OK;
  pawl_json_kind given = pawl_json_kind_of(value);
  if (given != kind && given != other)
    return pawl_reader_wrong(r, field, want);
  return pawl_reader_str(r, value, out);
}

pawl_code pawl_reader_line(pawl_reader *r, pawl_str object, int *out) {
  int64_t line = 0;
  pawl_code rc = pawl_reader_int(r, object, "line", 0, INT32_MAX,
                                 "a line's number", &line);
  *out = (int)line; /* at most INT32_MAX */
  if (rc == PAWL_OK) r->line = *out;
  return rc;
}
