#include "limits.h"

#include <string.h>

const char *pawl_quota_name(pawl_quota quota) {
#define QUOTA_NAME(name, text) text,
  static const char *const names[] = {PAWL_QUOTAS(QUOTA_NAME)};
  return names[quota];
}

int pawl_codes_match(const char *list, const char *code) {
  size_t len = strlen(code);
  while (list && *list) {
    size_t n = strcspn(list, ",");
    int is_prefix = n > 0 && list[n - 1] == '*';
    if (is_prefix ? len >= n - 1 && memcmp(list, code, n - 1) == 0
                  : len == n && memcmp(list, code, n) == 0)
      return 1;
    list += n + (list[n] == ',');
  }
  return 0;
}
