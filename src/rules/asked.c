#define _GNU_SOURCE /* memmem */
#include "asked.h"

#include <stdlib.h>

#include "../value/json.h"

static pawl_str list_of(const pawl_token *t) {
  return pawl_buf_str(&pawl_detail_of(t)->asked);
}

/* An id in its quotes is found nowhere but where it stands: a quote within
 * another one is escaped, and between two of them is a comma alone, which is
 * no event's id ("source:id"). */
int pawl_asked_has(const pawl_token *t, pawl_str event_id) {
  pawl_buf quoted = {.alloc = t->data.alloc};
  pawl_str list = list_of(t);
  int found = 0;

  if (!list.len) return 0;
  pawl_json_add_string(&quoted, event_id);
  if (!quoted.failed)
    found = memmem(list.at, list.len, quoted.at, quoted.len) != NULL;
  pawl_buf_deinit(&quoted);
  return found;
}

int pawl_asked_count(const pawl_token *t) {
  return pawl_json_count(list_of(t));
}

void pawl_asked_add(pawl_token *t, pawl_str event_id) {
  pawl_detail *own = pawl_detail_with(t, PAWL_DETAIL_asked);

  if (!own) return;
  if (own->asked.len)
    own->asked.at[own->asked.len - 1] = ','; /* instead of what closed it */
  else
    pawl_buf_addc(&own->asked, '[');
  pawl_json_add_string(&own->asked, event_id);
  pawl_buf_addc(&own->asked, ']');
  t->failed |= own->asked.failed;
  t->changed = 1;
}

void pawl_asked_clear(pawl_token *t) {
  pawl_detail_drop(t, PAWL_DETAIL_asked);
}

static int by_text(const void *a, const void *b) {
  return pawl_str_cmp(*(const pawl_str *)a, *(const pawl_str *)b);
}

pawl_code pawl_asked_read(const pawl_token *t, pawl_asked *out,
                          pawl_error *err) {
  pawl_json_iter it = {0};
  pawl_str list = list_of(t), key, one;

  out->n = pawl_asked_count(t);
  out->alloc = t->data.alloc;
  out->at = NULL;
  if (!out->n) return PAWL_OK;
  out->at = pawl_realloc(t->data.alloc, NULL, 0, sizeof one * (size_t)out->n);
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
  pawl_buf quoted = {.alloc = t->data.alloc};

  if (!asked->n) return 0;
  pawl_json_add_string(&quoted, event_id);
  pawl_str one = pawl_buf_str(&quoted);
  int found = !quoted.failed && bsearch(&one, asked->at, (size_t)asked->n,
                                        sizeof one, by_text) != NULL;
  pawl_buf_deinit(&quoted);
  return found;
}

void pawl_asked_free(pawl_asked *asked) {
  pawl_release(asked->alloc, asked->at, sizeof *asked->at * (size_t)asked->n);
  asked->at = NULL;
  asked->n = 0;
}
