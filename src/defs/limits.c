#include "limits.h"

#include <string.h>

const char *pawl_quota_name(pawl_quota quota) {
#define QUOTA_NAME(name, text) text,
  static const char *const names[] = {PAWL_QUOTAS(QUOTA_NAME)};
  return names[quota];
}

int pawl_names_match(const char *list, const char *name) {
  size_t len = strlen(name);
  while (list && *list) {
    size_t n = strcspn(list, ",");
    int is_prefix = n > 0 && list[n - 1] == '*';
    if (is_prefix ? len >= n - 1 && memcmp(list, name, n - 1) == 0
                  : len == n && memcmp(list, name, n) == 0)
      return 1;
    list += n + (list[n] == ',');
  }
  return 0;
}

const char *pawl_bound_name(pawl_bound bound) {
#define BOUND_NAME(name, text) text,
  static const char *const names[] = {PAWL_BOUNDS(BOUND_NAME)};
  return names[bound];
}

/* ---- the texts of lists ---- */

void pawl_granted_init(pawl_granted *g, const pawl_alloc *alloc) {
  memset(g, 0, sizeof *g);
#define SET_ALLOC(name) g->name.alloc = alloc;
  PAWL_GRANTS(SET_ALLOC)
}

void pawl_granted_lend(const pawl_granted *g, pawl_limits *l) {
#define LEND(name) l->name = g->name.at ? g->name.at : "";
  PAWL_GRANTS(LEND)
}

int pawl_granted_keep(pawl_granted *g, pawl_limits *l) {
  int failed = 0;
#define KEEP(name)                                 \
  pawl_buf_addz(&g->name, l->name ? l->name : ""); \
  failed |= g->name.failed;
  PAWL_GRANTS(KEEP)
  pawl_granted_lend(g, l);
  return !failed;
}

void pawl_granted_deinit(pawl_granted *g) {
#define DEINIT(name) pawl_buf_deinit(&g->name);
  PAWL_GRANTS(DEINIT)
}
