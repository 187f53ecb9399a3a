#include "handed.h"

typedef struct block {
  pawl_alloc alloc;
  size_t size;
} block;

pawl_code pawl_hand_out(const pawl_alloc *alloc, const pawl_buf *b, char **out,
                        pawl_error *err) {
  size_t size = sizeof(block) + b->len + 1;
  block *made = pawl_realloc(alloc, NULL, 0, size);

  if (!made) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  made->alloc = *alloc;
  made->size = size;
  char *text = (char *)(made + 1);
  if (b->len) memcpy(text, b->at, b->len);
  text[b->len] = '\0';
  *out = text;
  return PAWL_OK;
}

void pawl_free(pawl_engine *engine, char *text) {
  pawl_alloc alloc;
  (void)engine;
  if (!text) return;
  block *made = (block *)(void *)text - 1;
  alloc = made->alloc;
  pawl_release(&alloc, made, made->size);
}
