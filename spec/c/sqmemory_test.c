/* SQLite's memory from the program's allocator, and a limit of it. In a
 * process of its own, as SQLite takes one once. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#define LIMIT ((int64_t)4 << 20)
#define LARGE 20000 /* bytes of an input */

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local w = pawl.workflow { code = 'm', start = 'a' }\n"
    "w:step('a', { next = 'z', run = function(ctx)\n"
    "  ctx.vars.copy = ctx.input.text\n"
    "end })\n"
    "w:finish('z')\n"
    "return w\n";

static test_alloc asked; /* of SQLite's requests */
static pawl_error err;
static char input[LARGE + 20];

static pawl_engine *open_it(const char *url) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;
  CHECK_INT(pawl_open(url, &config, &e, &err), PAWL_OK);
  CHECK_INT(pawl_load_text(e, "m.lua", FLOW, NULL, &err), PAWL_OK);
  return e;
}

static pawl_memory_use used(void) {
  pawl_memory_use m;
  pawl_sqlite_memory_used(&m);
  CHECK_INT(m.used <= m.peak, 1);
  CHECK_INT(!m.limit || m.peak <= m.limit, 1);
  CHECK_INT(m.store, 0);
  return m;
}

static int64_t completed(pawl_engine *e) {
  char *out = NULL;
  int64_t n = 0;
  if (CHECK_INT(pawl_stats(e, NULL, &out, &err), PAWL_OK))
    CHECK_INT(pawl_int(out, "workflows[0].statuses.completed", &n, &err),
              PAWL_OK);
  pawl_free(e, out);
  return n;
}

/* All is in SQLite's memory, which ends: what was acknowledged is there. */
static void fill_memory(void) {
  pawl_engine *e = open_it(":memory:");
  char id[37], last[37] = "";
  const char *status = NULL;
  int n = 0;
  pawl_code rc;
  const int64_t refused = used().refused;
  while ((rc = pawl_start(e, "m", input, NULL, id, NULL, &err)) == PAWL_OK)
    n++, memcpy(last, id, sizeof last);
  CHECK_INT(rc, PAWL_NOMEM);
  CHECK(n > 10);
  CHECK(used().refused > refused);
  CHECK_INT(asked.live_bytes, used().used);
  CHECK_INT(pawl_status(e, last, &status, &err), PAWL_OK);
  CHECK(status && strcmp(status, "created") == 0);
  CHECK_INT(pawl_close(e), PAWL_OK);
}

/* A file is larger than that, and so is what a tick would do at once: all of
 * it ends. */
static void fill_file(const char *path) {
  pawl_engine *e = open_it(path);
  struct stat st;
  char id[37];
  for (int i = 0; i < 400; i++)
    if (!CHECK_INT(pawl_start(e, "m", input, NULL, id, NULL, &err), PAWL_OK))
      break;
  pawl_tick_stats stats = {0};
  for (int i = 0; i < 1000 && !stats.next_due_us; i++)
    CHECK_INT(pawl_tick(e, 1000000, &stats, &err), PAWL_OK);
  CHECK_INT(completed(e), 400);
  CHECK_INT(pawl_close(e), PAWL_OK);
  CHECK(stat(path, &st) == 0 && st.st_size > LIMIT);
}

/* Behind the first page, where it is told of changes to the file. */
static pawl_code copy_it(const char *path, int64_t fail_at, char **out,
                         size_t *size) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *e = NULL;

  CHECK_INT(pawl_open(path, &config, &e, &err), PAWL_OK);
  asked.requests = 0;
  asked.fail_at = fail_at;
  const pawl_code rc = pawl_backup_bytes(e, out, size, &err);
  asked.fail_at = 0;
  CHECK_INT(pawl_close(e), PAWL_OK);
  return rc;
}

/* A copy is the program's own memory, so that it may be larger than SQLite's.
 * Whatever was refused, it has all pages, or there is none. */
static void copy_file(const char *path) {
  enum { PAGE = 4096, STEP = 41 };
  char *whole = NULL, *copy = NULL;
  size_t size = 0, copied;
  int64_t n = 0;
  int refused = 0;

  if (!CHECK_INT(copy_it(path, 0, &whole, &size), PAWL_OK)) return;
  CHECK((int64_t)size > LIMIT);
  asked.for_ever = 1;
  for (int64_t at = 1; at == 1 || n >= at - STEP; at += STEP) {
    const pawl_code rc = copy_it(path, at, &copy, &copied);
    n = asked.requests;
    if (rc == PAWL_OK) {
      CHECK(copied == size && !memcmp(copy + PAGE, whole + PAGE, size - PAGE));
      pawl_free(NULL, copy);
    } else {
      refused++;
      CHECK_INT(rc, PAWL_NOMEM);
      CHECK(!strstr(err.message, " -"));
    }
  }
  asked.for_ever = 0;
  CHECK(refused > 10);
  pawl_free(NULL, whole);
}

int main(void) {
  char folder[] = "/tmp/pawl-memory.XXXXXX", path[64];
  pawl_memory_use m = {.used = 1};

  pawl_sqlite_memory_used(NULL);
  pawl_sqlite_memory_used(&m);
  CHECK_INT(m.used + m.peak + m.limit + m.refused, 0);
  CHECK_INT(pawl_sqlite_memory(test_alloc_fn, &asked, -1, &err), PAWL_INVALID);
  CHECK_INT(pawl_sqlite_memory(test_alloc_fn, &asked, LIMIT, &err), PAWL_OK);
  CHECK_INT(used().used, 0);
  CHECK_INT(used().limit, LIMIT);

  snprintf(input, sizeof input, "{\"text\":\"%0*d\"}", LARGE, 7);
  fill_memory();
  CHECK_INT(pawl_sqlite_memory(NULL, NULL, 0, &err), PAWL_MISUSE);
  CHECK(strstr(err.message, "in use") != NULL);
  CHECK(*err.hint);
  CHECK_INT(used().limit, LIMIT);
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/m.db", folder);
  fill_file(path);
  copy_file(path);
  unlink(path);
  snprintf(path, sizeof path, "%s/m.db-pawl-lock", folder);
  unlink(path);
  rmdir(folder);
  CHECK_INT(asked.live_bytes, used().used);
  return TEST_END;
}
