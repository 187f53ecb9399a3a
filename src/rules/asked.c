#define _GNU_SOURCE /* memmem */
#include "asked.h"

#include <stdlib.h>

#include "../value/json.h"

#define MEMBER "\"asked\":["

static int list_of(const pawl_token *t, pawl_str *list) {
  return t->detail.len && pawl_detail_get(t, "asked", list);
}

/* An id in its quotes is found nowhere but where it stands: a quote within
 * another one is escaped, and between two of them is a comma alone, which is
 * no event's id ("source:id"). */
int pawl_asked_has(const pawl_token *t, pawl_str event_id) {
  pawl_buf quoted = {.alloc = t->detail.alloc};
  pawl_str list;
  int found = 0;

  if (!list_of(t, &list)) return 0;
  pawl_json_add_string(&quoted, event_id);
  if (!quoted.failed)
    found = memmem(list.at, list.len, quoted.at, quoted.len) != NULL;
  pawl_buf_deinit(&quoted);
  return found;
}

int pawl_asked_count(const pawl_token *t) {
  pawl_json_iter it = {0};
  pawl_str list, key, one;
  int n = 0;

  if (!list_of(t, &list)) return 0;
  while (pawl_json_each(list, &it, &key, &one)) n++;
  return n;
}

/* In front of the others, where the list begins: its end would have to be
 * looked for, and copying it for each of very many takes the longer the more
 * there are. Nothing else in a detail has such a member. */
static int insert(pawl_buf *b, pawl_str text) {
  char *list = b->len ? memmem(b->at, b->len, MEMBER, strlen(MEMBER)) : NULL;
  size_t at;

  if (!list || list[strlen(MEMBER)] == ']') return 0;
  at = (size_t)(list - b->at) + strlen(MEMBER);
  if (!pawl_buf_room(b, text.len)) return 1;
  memmove(b->at + at + text.len, b->at + at, b->len - at);
  memcpy(b->at + at, text.at, text.len);
  pawl_buf_grew(b, text.len);
  return 1;
}

void pawl_asked_add(pawl_token *t, pawl_str event_id) {
  pawl_buf one = {.alloc = t->detail.alloc}, list = {.alloc = t->detail.alloc};

  pawl_json_add_string(&one, event_id);
  pawl_buf_addc(&list, '[');
  pawl_buf_adds(&list, pawl_buf_str(&one));
  pawl_buf_addc(&list, ']');
  pawl_buf_addc(&one, ',');
  if (one.failed || list.failed)
    t->detail.failed = 1;
  else if (!insert(&t->detail, pawl_buf_str(&one)))
    pawl_detail_set(t, "asked", pawl_buf_str(&list));
  t->changed = 1;
  pawl_buf_deinit(&one);
  pawl_buf_deinit(&list);
}

void pawl_asked_clear(pawl_token *t) {
  pawl_detail_set(t, "asked", (pawl_str){NULL, 0});
}

static int by_text(const void *a, const void *b) {
  return pawl_str_cmp(*(const pawl_str *)a, *(const pawl_str *)b);
}

pawl_code pawl_asked_read(pawl_engine *e, const pawl_token *t, pawl_asked *out,
                          pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str list, key, one;

  out->n = pawl_asked_count(t);
  out->at = NULL;
  if (!out->n || !list_of(t, &list)) return PAWL_OK;
  out->at = pawl_realloc(&e->alloc, NULL, 0, sizeof one * (size_t)out->n);
  if (!out->at) {
    out->n = 0;
    return pawl_fail(err, PAWL_NOMEM, "out of memory");
  }
  out->n = 0;
  while (pawl_json_each(list, &it, &key, &one)) out->at[out->n++] = one;
  qsort(out->at, (size_t)out->n, sizeof one, by_text);
  return PAWL_OK;
}

int pawl_asked_in(const pawl_asked *asked, const pawl_token *t,
                  pawl_str event_id) {
  pawl_buf quoted = {.alloc = t->detail.alloc};
  pawl_str one;
  int found;

  if (!asked->n) return 0;
  pawl_json_add_string(&quoted, event_id);
  one = pawl_buf_str(&quoted);
  found = !quoted.failed && bsearch(&one, asked->at, (size_t)asked->n,
                                    sizeof one, by_text) != NULL;
  pawl_buf_deinit(&quoted);
  return found;
}

void pawl_asked_free(pawl_engine *e, pawl_asked *asked) {
  pawl_release(&e->alloc, asked->at, sizeof *asked->at * (size_t)asked->n);
  asked->at = NULL;
  asked->n = 0;
}
