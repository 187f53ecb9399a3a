#include "handed.h"

typedef struct block {
  pawl_alloc alloc;
  size_t size;
} block;

char *pawl_hand_room(const pawl_alloc *alloc, size_t len) {
  const size_t size = sizeof(block) + len + 1;
  block *made = pawl_realloc(alloc, NULL, 0, size);

  if (!made) return NULL;
  made->alloc = *alloc;
  made->size = size;
  char *text = (char *)(made + 1);
  text[0] = text[len] = '\0';
  return text;
}

char *pawl_hand_put(char *to, const char *text) {
  const size_t n = strlen(text);
  memcpy(to, text, n + 1);
  return to + n;
}

pawl_code pawl_hand_out(const pawl_alloc *alloc, const pawl_buf *b, char **out,
                        pawl_error *err) {
  char *text = pawl_hand_room(alloc, b->len);

  if (!text) return pawl_fail(err, PAWL_NOMEM, "out of memory");
  if (b->len) memcpy(text, b->at, b->len);
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
