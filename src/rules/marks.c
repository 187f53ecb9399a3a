/* Lists of names, numbers and keys. */
#include "marks.h"

void pawl_marks_add(pawl_marks *m, const pawl_alloc *alloc, const char *name,
                    int64_t no, pawl_str key) {
  if (!name || !PAWL_ROOM(alloc, m->at, m->n, m->cap)) {
    m->failed = 1;
    return;
  }
  pawl_mark *one = &m->at[m->n++];
  one->name = name;
  one->no = no;
  one->has_key = key.at != NULL;
  one->key.alloc = alloc;
  pawl_buf_set(&one->key, key);
  m->failed |= one->key.failed;
}

void pawl_marks_clear(pawl_marks *m) {
  m->n = m->failed = 0;
}

void pawl_marks_copy(pawl_marks *to, const pawl_marks *from,
                     const pawl_alloc *alloc) {
  pawl_marks_clear(to);
  for (int i = 0; i < from->n; i++)
    pawl_marks_add(to, alloc, from->at[i].name, from->at[i].no,
                   pawl_buf_given(&from->at[i].key, from->at[i].has_key));
}

int pawl_marks_same(const pawl_marks *a, const pawl_marks *b) {
  for (int i = 0; i < a->n && i < b->n; i++) {
    const pawl_mark *x = &a->at[i], *y = &b->at[i];
    if (x->no != y->no || x->has_key != y->has_key ||
        strcmp(x->name, y->name) ||
        !pawl_str_eq(pawl_buf_str(&x->key), pawl_buf_str(&y->key)))
      return 0;
  }
  return a->n == b->n;
}

void pawl_marks_deinit(pawl_marks *m, const pawl_alloc *alloc) {
  for (int i = 0; i < m->cap; i++) pawl_buf_deinit(&m->at[i].key);
  pawl_release(alloc, m->at, sizeof *m->at * (size_t)m->cap);
  memset(m, 0, sizeof *m);
}
