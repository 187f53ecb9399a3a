/* base/id.h: instance, lease and executor ids: UUIDv7.
 *
 * Keeps    I1 ids made by one process sort in the order they were made.
 *          I2 the last 16 bits are its home: an instance's shard
 *             is that number modulo the store's shards. */
#ifndef PAWL_BASE_ID_H
#define PAWL_BASE_ID_H

#include <stdint.h>

#include "buf.h"

typedef struct pawl_id {
  unsigned char bytes[16];
} pawl_id;

/* Makes ids for one engine: 48 bits of now_us / 1000, a counter that keeps
 * ids of one millisecond in order, then random bits from the system, which is
 * asked for those of many ids at once. Belongs to one process: a copy that a
 * fork made would give the same ids. */
typedef struct pawl_idgen {
  int64_t last_ms;
  uint32_t counter;
  unsigned char pool[240]; /* random bytes, the last `left` not used yet */
  size_t left;
  uint64_t seed; /* not 0: what follows from it, instead of the system's */
} pawl_idgen;

pawl_code pawl_id_make(pawl_idgen *g, int64_t now_us, pawl_id *out,
                       pawl_error *err);
/* The same with the home given instead of drawn. */
pawl_code pawl_id_make_at_home(pawl_idgen *g, int64_t now_us, uint16_t home,
                               pawl_id *out, pawl_error *err);
uint16_t pawl_id_home(const pawl_id *id);
/* When it was made, to the millisecond; not before ids made earlier. */
int64_t pawl_id_time_us(const pawl_id *id);
void pawl_id_format(const pawl_id *id, char out[37]);
/* The same where it is needed once, as in a message: pawl_id_text_of(id).at
 * lives until the expression around it has ended. */
typedef struct pawl_id_text {
  char at[37];
} pawl_id_text;
pawl_id_text pawl_id_text_of(const pawl_id *id);
/* Exactly 36 characters of UUID text, either case. 0: not an id. */
int pawl_id_parse(const char *text, size_t len, pawl_id *out);
/* The ids between which all lie that begin with `prefix`, as people shorten
 * them: hexadecimal digits, with or without hyphens. How many digits there
 * are; -1: it is something else. */
int pawl_id_range(const char *prefix, pawl_id *low, pawl_id *high);
static inline int pawl_id_cmp(const pawl_id *a, const pawl_id *b) {
  return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}
static inline int pawl_id_eq(const pawl_id *a, const pawl_id *b) {
  return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

#endif
