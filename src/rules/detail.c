/* A token's detail: its members, one by one and as text. */
#include "detail.h"

#include <assert.h>
#include <stddef.h>

#include "../value/json.h"
#include "decision.h"

typedef enum kind { IS_NUMBER, IS_FLAG, IS_TEXT, IS_JSON, IS_LEVELS } kind;

static const struct {
  pawl_str name;
  kind kind;
  size_t offset;
} members[] = {
#define MEMBER(kind, name, stays, passed) \
  {{#name, sizeof #name - 1}, IS_##kind, offsetof(pawl_detail, name)},
    PAWL_DETAILS(MEMBER)
#undef MEMBER
};

_Static_assert(PAWL_NDETAILS <= 64, "a set of members is 64 bits");

const pawl_detail pawl_detail_none;

static void *value_of(pawl_detail *d, size_t i) {
  return (char *)d + members[i].offset;
}
static int64_t *number_of(pawl_detail *d, size_t i) {
  return value_of(d, i);
}
static pawl_buf *text_of(pawl_detail *d, size_t i) {
  return value_of(d, i);
}
static int is_number(size_t i) {
  return members[i].kind == IS_NUMBER || members[i].kind == IS_FLAG;
}
static int is_text(size_t i) {
  return members[i].kind == IS_TEXT || members[i].kind == IS_JSON;
}

/* Those of a set, in order. */
#define EACH_OF(i, set)                                            \
  for (pawl_details i = 0, left_ = (set); left_; i++, left_ >>= 1) \
    if (left_ & 1)

/* ---- one member ---- */

static pawl_detail *detail_new(pawl_token *t) {
  t->detail = pawl_calloc(t->data.alloc, sizeof *t->detail);
  if (!t->detail) {
    t->failed = 1;
    return NULL;
  }
  for (size_t i = 0; i < PAWL_NDETAILS; i++)
    if (is_text(i)) text_of(t->detail, i)->alloc = t->data.alloc;
  t->detail->text.alloc = t->data.alloc;
  return t->detail;
}

pawl_detail *pawl_detail_with(pawl_token *t, pawl_detail_name m) {
  pawl_detail *own = t->detail ? t->detail : detail_new(t);
  if (own) own->has |= (pawl_details)1 << m;
  return own;
}

void pawl_detail_set(pawl_token *t, pawl_detail_name m, int64_t n) {
  pawl_detail *own = pawl_detail_with(t, m);
  assert(is_number(m));
  if (own) *number_of(own, m) = n;
  t->changed = 1;
}

static void put(pawl_token *t, size_t i, pawl_str text) {
  pawl_detail *own = pawl_detail_with(t, (pawl_detail_name)i);
  assert(is_text(i));
  if (!own) return;
  pawl_buf_set(text_of(own, i), text);
  t->failed |= text_of(own, i)->failed;
}

void pawl_detail_put(pawl_token *t, pawl_detail_name m, pawl_str text) {
  put(t, m, text);
  t->changed = 1;
}

static void drop(pawl_detail *d, size_t i) {
  d->has &= ~((pawl_details)1 << i);
  if (is_number(i))
    *number_of(d, i) = 0; /* Z1 */
  else if (is_text(i))
    pawl_buf_clear(text_of(d, i));
  else
    d->up.n = 0;
}

void pawl_detail_drop(pawl_token *t, pawl_detail_name m) {
  if (!pawl_detail_has(t, m)) return;
  drop(t->detail, m);
  t->changed = 1;
}

/* ---- levels ---- */

void pawl_detail_level(pawl_token *t, const char *fork, const char *branch,
                       pawl_str data) {
  pawl_detail *own = pawl_detail_with(t, PAWL_DETAIL_up);
  pawl_levels *up;

  if (!own) return;
  up = &own->up;
  if (!PAWL_ROOM(t->data.alloc, up->at, up->n, up->cap)) {
    t->failed = 1;
    return;
  }
  pawl_level *one = &up->at[up->n++];
  one->fork = fork;
  one->branch = branch;
  one->data.alloc = t->data.alloc;
  pawl_buf_set(&one->data, data);
  t->failed |= one->data.failed;
}

static void copy_levels(pawl_token *t, const pawl_levels *from) {
  pawl_detail *own = pawl_detail_with(t, PAWL_DETAIL_up);
  if (own) own->up.n = 0;
  for (int i = 0; i < from->n; i++)
    pawl_detail_level(t, from->at[i].fork, from->at[i].branch,
                      pawl_buf_str(&from->at[i].data));
}

/* ---- as a whole ---- */

void pawl_detail_keep(pawl_token *t, pawl_details set) {
  if (!t->detail) return;
  EACH_OF(i, t->detail->has & ~set) drop(t->detail, i);
}

void pawl_detail_copy(pawl_token *t, const pawl_token *from,
                      pawl_details set) {
  pawl_detail *own;

  if (!from->detail) return;
  EACH_OF(i, from->detail->has & set) {
    if (is_text(i)) {
      put(t, i, pawl_buf_str(text_of(from->detail, i)));
    } else if (members[i].kind == IS_LEVELS) {
      copy_levels(t, &from->detail->up);
    } else {
      own = pawl_detail_with(t, (pawl_detail_name)i);
      if (own) *number_of(own, i) = *number_of(from->detail, i);
    }
  }
}

int pawl_detail_same(const pawl_token *a, const pawl_token *b) {
  const pawl_details has = pawl_detail_of(a)->has;
  if (has != pawl_detail_of(b)->has) return 0;
  return !has || pawl_str_eq(pawl_buf_str(pawl_detail_text(a)),
                             pawl_buf_str(pawl_detail_text(b)));
}

void pawl_detail_free(pawl_token *t) {
  pawl_detail *d = t->detail;

  if (!d) return;
  for (size_t i = 0; i < PAWL_NDETAILS; i++)
    if (is_text(i)) pawl_buf_deinit(text_of(d, i));
  for (int i = 0; i < d->up.cap; i++) pawl_buf_deinit(&d->up.at[i].data);
  pawl_release(t->data.alloc, d->up.at, sizeof *d->up.at * (size_t)d->up.cap);
  pawl_buf_deinit(&d->text);
  pawl_release(t->data.alloc, d, sizeof *d);
  t->detail = NULL;
}

/* ---- as it is stored ---- */

static void read_levels(const pawl_world *w, pawl_str list, pawl_token *t) {
  (void)pawl_detail_with(t, PAWL_DETAIL_up);
  for (pawl_json_iter it = {0}; !t->failed && pawl_json_walk(list, &it);) {
    const char *fork = pawl_world_name(w, it.value, "fork", &t->failed);
    const char *branch = pawl_world_name(w, it.value, "branch", &t->failed);
    pawl_str data = {NULL, 0};
    (void)pawl_json_get(it.value, "data", &data);
    pawl_detail_level(t, fork, branch, data);
  }
}

static void read_member(const pawl_world *w, size_t i, pawl_str value,
                        pawl_token *t) {
  pawl_detail *own = pawl_detail_with(t, (pawl_detail_name)i);

  if (!own) return;
  switch (members[i].kind) {
    case IS_NUMBER:
      (void)pawl_json_int(value, number_of(own, i));
      break;
    case IS_FLAG:
      *number_of(own, i) = 1;
      break;
    case IS_JSON:
      put(t, i, value);
      break;
    case IS_LEVELS:
      read_levels(w, value, t);
      break;
    case IS_TEXT:
      if (pawl_json_kind_of(value) == PAWL_JSON_STRING)
        pawl_json_unquote(value, text_of(own, i));
      t->failed |= text_of(own, i)->failed;
  }
}

int pawl_detail_read(const pawl_world *w, pawl_str json, pawl_token *t) {
  assert(!pawl_detail_of(t)->has);
  for (pawl_json_iter it = {0}; json.len && pawl_json_walk(json, &it);)
    for (size_t i = 0; i < PAWL_NDETAILS; i++)
      if (pawl_str_eq(it.key, members[i].name)) read_member(w, i, it.value, t);
  return !t->failed;
}

static void write_level(const pawl_level *level, pawl_buf *b) {
  pawl_buf_addc(b, '{');
  if (level->fork) {
    pawl_buf_addz(b, "\"fork\":");
    pawl_json_add_string(b, pawl_strz(level->fork));
    pawl_buf_addz(b, ",\"branch\":");
    pawl_json_add_string(b, pawl_strz(level->branch));
  }
  if (level->data.len) {
    pawl_buf_addz(b, level->fork ? ",\"data\":" : "\"data\":");
    pawl_buf_adds(b, pawl_buf_str(&level->data));
  }
  pawl_buf_addc(b, '}');
}

static void write_member(pawl_detail *d, size_t i, pawl_buf *b) {
  switch (members[i].kind) {
    case IS_NUMBER:
      pawl_buf_addi(b, *number_of(d, i));
      break;
    case IS_FLAG:
      pawl_buf_addz(b, "true");
      break;
    case IS_JSON:
      pawl_buf_adds(b, pawl_buf_str(text_of(d, i)));
      break;
    case IS_TEXT:
      if (text_of(d, i)->len)
        pawl_json_add_string(b, pawl_buf_str(text_of(d, i)));
      else
        pawl_buf_addz(b, "null");
      break;
    case IS_LEVELS:
      pawl_buf_addc(b, '[');
      for (int k = 0; k < d->up.n; k++) {
        if (k) pawl_buf_addc(b, ',');
        write_level(&d->up.at[k], b);
      }
      pawl_buf_addc(b, ']');
  }
}

const pawl_buf *pawl_detail_text(const pawl_token *t) {
  if (!t->detail) return &pawl_detail_none.text;
  pawl_buf *b = &t->detail->text;
  pawl_buf_clear(b);
  EACH_OF(i, t->detail->has) {
    pawl_buf_addc(b, b->len ? ',' : '{');
    pawl_buf_addc(b, '"');
    pawl_buf_adds(b, members[i].name);
    pawl_buf_addz(b, "\":");
    write_member(t->detail, i, b);
  }
  if (b->len) pawl_buf_addc(b, '}');
  return b;
}
