#include "stmt.h"

#ifdef PAWL_SQL_PACKED
#include <assert.h>

static void add(pawl_buf *out, const pawl_packing *by, int number) {
  assert(number > 0);
  if (number > by->nwords) {
    const uint16_t *pair = by->pairs[number - by->nwords - 1];
    assert(pair[0] < number && pair[1] < number); /* so that this ends */
    add(out, by, pair[0]);
    add(out, by, pair[1]);
  } else {
    const int from = number > 1 ? by->ends[number - 2] : 0;
    pawl_buf_add(out, by->words + from, by->ends[number - 1] - from);
  }
}

const char *pawl_sqltext_read(pawl_sqltext text, pawl_buf *room) {
  assert(room->len == 0);
  for (const uint16_t *at = text.numbers; *at; at++) add(room, text.by, *at);
  return room->failed ? NULL : pawl_buf_str(room).at;
}
#else
const char *pawl_sqltext_read(pawl_sqltext text, pawl_buf *room) {
  (void)room;
  return text.at;
}
#endif
