/* Names that live as long as the engine, and the shard of a key's events.
 *
 * Tokens and plans point at names of nodes and branches, while definitions come
 * and go: a copy that never moves spares both sides from asking whose it is. */
#include "names.h"

#include <assert.h>

#include "../../base/sha256.h"
#include "engine_struct.h"

/* Open addressing; cap is a power of two, at most half full. */
typedef struct pawl_names {
  char **at;
  size_t n, cap;
} pawl_names;

static size_t hash(pawl_str name) {
  uint64_t h = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < name.len; i++)
    h = (h ^ (unsigned char)name.at[i]) * 1099511628211u;
  return (size_t)(h ^ h >> 32);
}

/* The place of a name: where it stands, or an empty one. */
static char **place(const pawl_names *names, pawl_str name) {
  size_t at = hash(name) & (names->cap - 1);
  assert(names->cap && 2 * names->n <= names->cap); /* it ends at a hole */
  while (names->at[at] && !pawl_str_eqz(name, names->at[at]))
    at = (at + 1) & (names->cap - 1);
  return &names->at[at];
}

/* Names are pointed at by tokens: they stay where they are, only the table
 * moves. */
static int rehash(pawl_engine *e, pawl_names *names) {
  pawl_names grown = {.n = names->n, .cap = names->cap ? 2 * names->cap : 64};

  grown.at = pawl_calloc(&e->alloc, sizeof *grown.at * grown.cap);
  if (!grown.at) return 0;
  for (size_t i = 0; i < names->cap; i++)
    if (names->at[i]) *place(&grown, pawl_strz(names->at[i])) = names->at[i];
  pawl_release(&e->alloc, names->at, sizeof *names->at * names->cap);
  *names = grown;
  return 1;
}

/* Kept until the engine is closed, so that whoever points at one needs no
 * care. */
const char *pawl_engine_intern(pawl_engine *e, pawl_str name) {
  pawl_names *names = e->names;

  if (!names) names = e->names = pawl_calloc(&e->alloc, sizeof *names);
  if (!names) return NULL;
  const char *known = names->cap ? *place(names, name) : NULL;
  if (known) return known;
  if (2 * names->n >= names->cap && !rehash(e, names)) return NULL;
  char **at = place(names, name);
  *at = pawl_realloc(&e->alloc, NULL, 0, name.len + 1);
  if (!*at) return NULL;
  memcpy(*at, name.at, name.len);
  (*at)[name.len] = 0;
  names->n++;
  return *at;
}

void pawl_engine_forget_names(pawl_engine *e) {
  pawl_names *names = e->names;

  if (!names) return;
  for (size_t i = 0; i < names->cap; i++)
    if (names->at[i])
      pawl_release(&e->alloc, names->at[i], strlen(names->at[i]) + 1);
  pawl_release(&e->alloc, names->at, sizeof *names->at * names->cap);
  pawl_release(&e->alloc, names, sizeof *names);
  e->names = NULL;
}

/* By all bytes of the key: keys that people choose are alike in their first
 * ones. */
int pawl_event_shard(const pawl_engine *e, pawl_str key) {
  unsigned char digest[32];
  pawl_sha256 sha;
  uint64_t n = 0;

  pawl_sha256_init(&sha);
  pawl_sha256_add(&sha, key.at, key.len);
  pawl_sha256_end(&sha, digest);
  assert(e->nshards > 0);
  for (int i = 0; i < 8; i++) n = n << 8 | digest[i];
  return (int)(n % (uint64_t)e->nshards);
}
