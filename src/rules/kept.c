/* Places among kept events, in a token's detail (K1 to K4). */
#include "kept.h"

#include <assert.h>
#include <inttypes.h>

#include "../value/json.h"

#define MOST 4 /* K4 */

int pawl_kept_cmp(int64_t at_us, const pawl_id *came, const pawl_kept *place) {
  if (at_us != place->at_us) return at_us < place->at_us ? -1 : 1;
  return pawl_id_cmp(came, &place->came);
}

static int is_text(const pawl_token *t, pawl_str object, const char *name,
                   pawl_str text) {
  pawl_buf own = {.alloc = t->data.alloc};
  int same = pawl_json_get_text(object, name, &own) && !own.failed &&
             pawl_str_eq(pawl_buf_str(&own), text);

  pawl_buf_deinit(&own);
  return same;
}

/* Without memory to tell it is not, and it is read again from the first. */
static int is_of(const pawl_token *t, pawl_str one, const char *event,
                 pawl_str key) {
  return is_text(t, one, "event", pawl_strz(event)) &&
         is_text(t, one, "key", key);
}

/* One that cannot be read is none. */
static int read_place(pawl_str one, pawl_kept *out) {
  pawl_str at, came, since;

  return pawl_json_get(one, "at", &at) && pawl_json_int(at, &out->at_us) &&
         pawl_json_get(one, "since", &since) &&
         pawl_json_int(since, &out->since) &&
         pawl_json_get(one, "came", &came) && came.len == 38 &&
         pawl_id_parse(came.at + 1, 36, &out->came);
}

int pawl_kept_get(const pawl_token *t, const char *event, pawl_str key,
                  pawl_kept *out) {
  pawl_str list = pawl_buf_str(&pawl_detail_of(t)->kept);

  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);)
    if (is_of(t, it.value, event, key)) return read_place(it.value, out);
  return 0;
}

static void add_place(pawl_buf *b, const char *event, pawl_str key,
                      const pawl_kept *place) {
  char came[37];

  pawl_id_format(&place->came, came);
  pawl_buf_addz(b, "{\"event\":");
  pawl_json_add_string(b, pawl_strz(event));
  pawl_buf_addz(b, ",\"key\":");
  pawl_json_add_string(b, key);
  pawl_buf_addf(b,
                ",\"at\":%" PRId64 ",\"came\":\"%s\",\"since\":%" PRId64 "}",
                place->at_us, came, place->since);
}

void pawl_kept_set(pawl_token *t, const char *event, pawl_str key,
                   const pawl_kept *place) {
  pawl_buf b = {.alloc = t->data.alloc};
  pawl_detail *own = pawl_detail_with(t, PAWL_DETAIL_kept);
  int n = 1;

  assert(place->since > 0);
  if (!own) return;
  pawl_buf_addc(&b, '[');
  add_place(&b, event, key, place); /* the newest first */
  for (pawl_json_iter it = {0};
       n < MOST && pawl_json_walk(pawl_buf_str(&own->kept), &it);) {
    if (is_of(t, it.value, event, key)) continue;
    pawl_buf_addc(&b, ',');
    pawl_buf_adds(&b, it.value);
    n++;
  }
  pawl_buf_addc(&b, ']');
  pawl_buf_swap(&own->kept, &b);
  t->failed |= own->kept.failed;
  pawl_buf_deinit(&b);
}
