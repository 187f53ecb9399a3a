/* A block has its size in front, which is what SQLite asks for (xSize), and
 * what an allocator like Lua's wants to be told. */
#include "sqmemory.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "../base/ration.h"

enum { HEAD = 8 }; /* as far as SQLite wants its blocks aligned */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pawl_ration ration; /* under the lock, as all that it has given */
static int is_set;

static size_t size_of(const void *p) {
  size_t size = 0;
  if (p) memcpy(&size, (const char *)p - HEAD, sizeof size);
  return size;
}

/* Grows or shrinks; `size` 0 frees. */
static void *change(void *p, size_t size) {
  const size_t was = p ? size_of(p) + HEAD : 0;
  pthread_mutex_lock(&lock);
  const pawl_alloc a = pawl_ration_alloc(&ration);
  char *head = pawl_realloc(&a, p ? (char *)p - HEAD : NULL, was,
                            size ? size + HEAD : 0);
  pthread_mutex_unlock(&lock);
  if (!head) return NULL;
  memcpy(head, &size, sizeof size);
  return head + HEAD;
}

static void *take(int n) {
  return change(NULL, (size_t)n);
}
static void give_back(void *p) {
  (void)change(p, 0);
}
static void *resize(void *p, int n) {
  return change(p, (size_t)n);
}
static int tell_size(void *p) {
  return (int)size_of(p);
}
static int round_up(int n) {
  return (n + HEAD - 1) / HEAD * HEAD;
}
static int begin(void *unused) {
  return (void)unused, SQLITE_OK;
}
static void end(void *unused) {
  (void)unused;
}

pawl_code pawl_sqmemory_set(const pawl_alloc *alloc, int64_t limit,
                            pawl_error *err) {
  static const sqlite3_mem_methods METHODS = {.xMalloc = take,
                                              .xFree = give_back,
                                              .xRealloc = resize,
                                              .xSize = tell_size,
                                              .xRoundup = round_up,
                                              .xInit = begin,
                                              .xShutdown = end};

  if (limit < 0)
    return pawl_fail(err, PAWL_INVALID, "SQLite's memory: a limit below 0");
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &METHODS) != SQLITE_OK)
    return pawl_fail_hint(err, PAWL_MISUSE,
                          "it is set before anything opens a store or a file "
                          "of SQLite's in this process",
                          "SQLite's memory: it is in use already");
  pthread_mutex_lock(&lock);
  ration = (pawl_ration){.of = *alloc, .limit = limit};
  is_set = 1;
  pthread_mutex_unlock(&lock);
  return PAWL_OK;
}

void pawl_sqmemory_use(pawl_memory_use *out) {
  *out = (pawl_memory_use){0};
  pthread_mutex_lock(&lock);
  if (is_set)
    *out = (pawl_memory_use){.used = ration.used,
                             .peak = ration.peak,
                             .limit = ration.limit,
                             .refused = ration.refused};
  pthread_mutex_unlock(&lock);
}
