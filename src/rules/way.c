/* Which nodes a path names: see way.h. */
#define _GNU_SOURCE /* memmem */
#include "way.h"

#include <string.h>

int pawl_way_tells(const pawl_node *node) {
  const pawl_kind_shape *shape = &pawl_kind_shapes[node->kind];

  return shape->routes || shape->ways == PAWL_WAYS_NONE || node->has_condition;
}

int pawl_way_tells_of(const pawl_def *def, pawl_str name) {
  const int at = pawl_def_node(def, name.at, name.len);
  return at >= 0 && pawl_way_tells(&def->nodes[at]);
}

/* What stands between two nodes, and around those behind a fork. A name may
 * have any of it, too: so it is looked for as a whole. */
static const char *const gaps[] = {" > ", " (", ", ", "; "};
static const char *const ends[] = {" > ", " (", ", ", "; ", ")", "="};

static int begins(pawl_str path, size_t at) {
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    const size_t len = strlen(gaps[i]);
    if (at >= len && !memcmp(path.at + at - len, gaps[i], len)) return 1;
  }
  return at == 0;
}

static int stops(pawl_str path, size_t at) {
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    const size_t len = strlen(ends[i]);
    if (path.len - at >= len && !memcmp(path.at + at, ends[i], len)) return 1;
  }
  return at == path.len;
}

int64_t pawl_way_count(pawl_str path, pawl_str node) {
  int64_t n = 0;
  size_t at = 0;

  while (path.at && node.len && path.len - at >= node.len) {
    const char *found = memmem(path.at + at, path.len - at, node.at, node.len);
    if (!found) break;
    const size_t from = (size_t)(found - path.at);
    const int is_whole = begins(path, from) && stops(path, from + node.len);
    n += is_whole;
    at = from + (is_whole ? node.len : 1);
  }
  return n;
}
