/* Embedding in C: the program owns the loop, pawl gets two milliseconds of
 * each turn. Build: cc main.c $(pkg-config --cflags --libs pawl)
 * Run: ./a.out ../01_hello.lua */
#include <stdio.h>

#include <pawl.h>

static int fail(pawl_engine *engine, const pawl_error *err) {
  fprintf(stderr, "%s: %s\n", pawl_code_name(err->code), err->message);
  pawl_close(engine);
  return 1;
}

int main(int argc, char **argv) {
  static const char input[] = "{\"name\":\"C\"}";
  pawl_engine *engine = NULL;
  pawl_error err;
  char id[37], *instance;
  int64_t due = 0;

  if (argc != 2 || pawl_open(":memory:", NULL, &engine, &err) != PAWL_OK ||
      pawl_load(engine, argv[1], NULL, &err) != PAWL_OK ||
      pawl_start(engine, "example.hello", input, NULL, id, NULL, &err) !=
          PAWL_OK)
    return argc == 2 ? fail(engine, &err) : 2;

  while (due != INT64_MAX) { /* the program's own loop */
    if (pawl_tick(engine, 2000, NULL, &err) != PAWL_OK ||
        pawl_next_due(engine, &due, &err) != PAWL_OK)
      return fail(engine, &err);
  }
  if (pawl_get(engine, id, &instance, &err) != PAWL_OK)
    return fail(engine, &err);
  puts(instance);
  pawl_free(engine, instance);
  pawl_close(engine);
  return 0;
}
