/* Which known word was meant: edit distance, with its limits. */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 64 }; /* of words compared; longer ones are nobody's slip */

static int lower(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

/* Insert, delete, replace, swap of two neighbours; case does not count. Both
 * at most 2 * LONGEST long. */
static int distance(const char *a, int na, const char *b, int nb) {
  int rows[3][2 * LONGEST + 1];
  int *before = rows[0], *last = rows[1], *row = rows[2];
  for (int j = 0; j <= nb; j++) last[j] = j;
  for (int i = 1; i <= na; i++) {
    int *spare = before;
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + !same);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = least(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
    row = spare;
  }
  return last[nb];
}

const char *pawl_nearest(const char *name, const char *const *names, int n) {
  const char *best = NULL;
  size_t len = strlen(name);
  int limit, best_distance = 0;
  if (len > LONGEST) return NULL;
  limit = len / 3 > 1 ? (int)(len / 3) : 1;
  for (int i = 0; i < n; i++) {
    size_t other = strlen(names[i]);
    if (other + (size_t)limit < len || other > len + (size_t)limit) continue;
    int d = distance(name, (int)len, names[i], (int)other);
    if (d <= limit && (!best || d < best_distance)) {
      best = names[i];
      best_distance = d;
    }
  }
  return best;
}
