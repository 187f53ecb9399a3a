#include "sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"

void pawl_sorted_init(pawl_sorted *s, const pawl_alloc *alloc) {
  memset(s, 0, sizeof *s);
  s->alloc = alloc;
  s->to.at_us = PAWL_TIME_MAX;
  memset(&s->to.id, 0xff, sizeof s->to.id);
}

void pawl_sorted_deinit(pawl_sorted *s) {
  pawl_release(s->alloc, s->list, sizeof *s->list * (size_t)s->room);
  s->list = NULL;
  s->n = s->room = 0;
}

static int by_time(const void *a, const void *b) {
  const pawl_moment *x = a, *y = b;
  if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
  return pawl_id_cmp(&x->id, &y->id);
}

static pawl_code make_room(pawl_sorted *s, pawl_error *err) {
  const int room = s->room ? 2 * s->room : 128;
  pawl_moment *list =
      pawl_realloc(s->alloc, s->list, sizeof *list * (size_t)s->room,
                   sizeof *list * (size_t)room);

  if (!list) return pawl_fail_memory(err);
  s->list = list;
  s->room = room;
  return PAWL_OK;
}

pawl_code pawl_sorted_add(pawl_sorted *s, int64_t at_us, const pawl_id *id,
                          pawl_error *err) {
  const pawl_moment m = {at_us, *id};

  if (by_time(&m, &s->from) <= 0 || by_time(&m, &s->to) >= 0) return PAWL_OK;
  if (s->n == s->room) MUST(make_room(s, err));
  s->list[s->n++] = m;
  return PAWL_OK;
}

void pawl_sorted_cut(pawl_sorted *s, int up, int64_t max) {
  if (s->n) qsort(s->list, (size_t)s->n, sizeof *s->list, by_time);
  if (s->n <= max) return;
  if (!up)
    memmove(s->list, s->list + (s->n - max), sizeof *s->list * (size_t)max);
  s->n = (int)max;
}

pawl_cursor_text pawl_cursor_text_of(const pawl_moment *m) {
  pawl_cursor_text text;

  (void)snprintf(text.at, sizeof text.at, "%" PRId64 ".%s", m->at_us,
                 pawl_id_text_of(&m->id).at);
  return text;
}

int pawl_cursor_parse(pawl_str text, pawl_moment *out) {
  const char *dot = memchr(text.at, '.', text.len);
  int64_t at = 0;

  if (!dot || dot == text.at || dot - text.at > 18) return 0;
  for (const char *c = text.at; c < dot; c++) {
    if (*c < '0' || *c > '9') return 0;
    at = at * 10 + (*c - '0');
  }
  if (at > PAWL_TIME_MAX) return 0;
  out->at_us = at;
  return pawl_id_parse(dot + 1, text.len - (size_t)(dot + 1 - text.at),
                       &out->id);
}
