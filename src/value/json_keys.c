/* Keys of objects: their order, and lists of them. */
#include <assert.h>

#include "json_parts.h"

static int key_order(const pawl_json_key *a, const pawl_json_key *b) {
  int order = pawl_str_cmp(a->text, b->text);
  return order ? order : (a->tag > b->tag) - (a->tag < b->tag);
}

/* Puts keys[i] where it belongs in the heap of n keys below it. */
static void sift(pawl_json_key *keys, size_t i, size_t n) {
  pawl_json_key key = keys[i];
  size_t child;
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && key_order(&keys[child], &keys[child + 1]) < 0)
      child++;
    if (key_order(&key, &keys[child]) >= 0) break;
    keys[i] = keys[child];
    i = child;
  }
  keys[i] = key;
}

/* Not qsort: that may ask malloc for memory, and may be quadratic. */
void pawl_json_sort_keys(pawl_json_key *keys, size_t n) {
  size_t i, j;
  if (n <= 24) {
    for (i = 1; i < n; i++) {
      pawl_json_key key = keys[i];
      for (j = i; j > 0 && key_order(&keys[j - 1], &key) > 0; j--)
        keys[j] = keys[j - 1];
      keys[j] = key;
    }
    return;
  }
  for (i = n / 2; i-- > 0;) sift(keys, i, n);
  for (i = n; i-- > 1;) {
    pawl_json_key last = keys[i];
    keys[i] = keys[0];
    keys[0] = last;
    sift(keys, 0, i);
  }
}

void pawl_keys_init(pawl_keys *k, const pawl_alloc *alloc) {
  k->alloc = alloc;
  k->at = k->few;
  k->n = 0;
  k->cap = PAWL_FEW_KEYS;
}

void pawl_keys_deinit(pawl_keys *k) {
  if (k->at != k->few) pawl_release(k->alloc, k->at, k->cap * sizeof *k->at);
}

int pawl_keys_grow(const pawl_alloc *alloc, void **list, const void *few,
                   size_t *cap, size_t size) {
  int heap = *list != few;
  size_t old = *cap * size;
  void *grown =
      pawl_realloc(alloc, heap ? *list : NULL, heap ? old : 0, 2 * old);
  if (!grown) return 0;
  if (!heap) memcpy(grown, few, old);
  *list = grown;
  *cap *= 2;
  return 1;
}

int pawl_keys_add(pawl_keys *k, pawl_str text, size_t tag) {
  if (k->n == k->cap) {
    void *list = k->at;
    if (!pawl_keys_grow(k->alloc, &list, k->few, &k->cap, sizeof *k->at))
      return 0;
    k->at = list;
  }
  k->at[k->n].text = text;
  k->at[k->n++].tag = tag;
  return 1;
}

/* The room is made first: keys point into `arena`, it must not move. */
int pawl_keys_unescape(pawl_json_key *keys, size_t n, pawl_buf *arena) {
  size_t i, total = 0;
  for (i = 0; i < n; i++)
    if (has_escape(keys[i].text)) total += keys[i].text.len;
  if (total == 0) return 1;
  pawl_buf_clear(arena);
  if (!pawl_buf_room(arena, total)) return 0;
  for (i = 0; i < n; i++) {
    size_t begin = arena->len;
    if (!has_escape(keys[i].text)) continue;
    pawl_json_add_unescaped(arena, keys[i].text);
    keys[i].text.at = arena->at + begin;
    keys[i].text.len = arena->len - begin;
  }
  assert(arena->len <= total); /* so it has not moved */
  return 1;
}
