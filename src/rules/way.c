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

/* The next place from `at` on where the path names the node; the path's length:
 * there is none. */
static size_t next_named(pawl_str path, size_t at, pawl_str node) {
  while (path.at && node.len && at < path.len && path.len - at >= node.len) {
    const char *found = memmem(path.at + at, path.len - at, node.at, node.len);
    if (!found) break;
    const size_t from = (size_t)(found - path.at);
    if (begins(path, from) && stops(path, from + node.len)) return from;
    at = from + 1;
  }
  return path.len;
}

int64_t pawl_way_count(pawl_str path, pawl_str node) {
  int64_t n = 0;

  for (size_t at = 0; (at = next_named(path, at, node)) < path.len;
       at += node.len)
    n++;
  return n;
}

/* ---- by which transition ---- */

static int is_behind(pawl_str path, size_t at, const char *gap) {
  const size_t len = strlen(gap);
  return at >= len && !memcmp(path.at + at - len, gap, len);
}

/* Behind " > " stands what was passed before: a choice with what it has chosen,
 * or an each without items. */
static pawl_way_in passed(pawl_str path, size_t end, pawl_str *name) {
  size_t at = end;

  while (at && !is_behind(path, at, " > ")) at--;
  const char *is = memchr(path.at + at, '=', end - at);
  if (!is) return PAWL_WAY_PLAIN;
  name->at = is + 1;
  name->len = (size_t)(path.at + end - name->at);
  return PAWL_WAY_CHOSEN;
}

static pawl_way_in into_at(pawl_str path, size_t at, pawl_str *name) {
  if (!at) return PAWL_WAY_FIRST;
  if (is_behind(path, at, " > ")) return passed(path, at - 3, name);
  return is_behind(path, at, "; ") ? PAWL_WAY_PLAIN : PAWL_WAY_BRANCH;
}

pawl_way_in pawl_way_into(pawl_str path, pawl_way_part part, pawl_str node,
                          pawl_str *name) {
  pawl_way_in how = PAWL_WAY_NOT, other;
  pawl_str chosen = {NULL, 0};
  const char *cut = path.len ? memmem(path.at, path.len, "; ", 2) : NULL;
  const size_t own = cut ? (size_t)(cut - path.at) : path.len;
  size_t at = part == PAWL_WAY_LATER ? own : 0;

  if (part == PAWL_WAY_OWN) path.len = own;
  for (; (at = next_named(path, at, node)) < path.len; at += node.len) {
    other = into_at(path, at, &chosen);
    if (how == PAWL_WAY_NOT) *name = chosen;
    if (how != PAWL_WAY_NOT && (other != how || (how == PAWL_WAY_CHOSEN &&
                                                 !pawl_str_eq(chosen, *name))))
      return PAWL_WAY_SEVERAL;
    how = other;
  }
  return how;
}
