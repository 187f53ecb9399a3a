/* A small host, to be measured: opens a store, runs one step, says what that
 * took of the processor since it was executed, and waits for its input to end.
 *
 * Usage: size_host STORE */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include <pawl.h>

static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local flow = pawl.workflow { code = 'size.one', start = 'first' }\n"
    "flow:step('first', { run = function(ctx) ctx.vars.n = 1 return 'z' end,\n"
    "  next = { z = 'z' } })\n"
    "flow:finish 'z'\n"
    "return flow\n";

int main(int argc, char **argv) {
  pawl_config config = PAWL_CONFIG_INIT;
  pawl_engine *engine = NULL;
  pawl_error err;
  struct timespec spent;
  char id[37];
  const char *status = NULL;

  pawl_code rc =
      pawl_open(argc > 1 ? argv[1] : ":memory:", &config, &engine, &err);
  if (rc == PAWL_OK) rc = pawl_load_text(engine, "one.lua", FLOW, NULL, &err);
  if (rc == PAWL_OK)
    rc = pawl_start(engine, "size.one", NULL, NULL, id, NULL, &err);
  if (rc == PAWL_OK) rc = pawl_tick(engine, 1000000, NULL, &err);
  if (rc == PAWL_OK) rc = pawl_status(engine, id, &status, &err);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  if (rc == PAWL_OK)
    printf("%s %ld\n", status,
           (long)(spent.tv_sec * 1000000 + spent.tv_nsec / 1000));
  else
    printf("%s %s\n", pawl_code_name(rc), err.message);
  fflush(stdout);
  while (getchar() != EOF) continue;
  return pawl_close(engine) != PAWL_OK || rc != PAWL_OK;
}
