/* Any bytes as a graph: reading and checking it must end, leak nothing, and
 * leave a definition that can be asked. Built with -DPAWL_FUZZ_MAIN it is a
 * program that does so with the files named. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/defs/def.h"

static void must(int claim, const char *what) {
  if (claim) return;
  fprintf(stderr, "def_fuzz: %s\n", what);
  abort();
}

static void ask_node(const pawl_def *d, int i) {
  const pawl_node *n = &d->nodes[i];
  int found = pawl_def_node(d, n->name, strlen(n->name));
  must(found >= 0 && strcmp(d->nodes[found].name, n->name) == 0,
       "a node is not found by its name");
  for (int k = 0; k < n->nnext; k++) {
    const char *name = n->next[k].name;
    must(n->next[k].to < d->nnodes, "a transition leads out of the graph");
    must(pawl_node_next(n, name, strlen(name)) == n->next[k].to,
         "a transition is not found by its name");
  }
  for (int k = 0; k < n->non_error; k++)
    must(n->on_error[k].to < 0 ||
             pawl_node_on_error(n, n->on_error[k].name) == n->on_error[k].to,
         "an error code is not found");
}

static void ask_join(const pawl_def *d, int join) {
  const pawl_node *n = &d->nodes[join];
  must(n->join_depth >= 0 && n->join_depth < PAWL_MAX_DEPTH,
       "a join ends a fork that cannot be");
  must(!pawl_def_meets(d, join, join), "a join waits for itself");
  for (int i = 0; i < d->nnodes; i++)
    must(d->nodes[i].kind != PAWL_KIND_FINISH || !pawl_def_meets(d, i, join),
         "what has ended can come to a join");
}

/* What passes the check can be run: everything leads to a node. */
static void ask_checked(const pawl_def *d) {
  must(d->start >= 0 && d->start < d->nnodes, "the start is no node");
  for (int i = 0; i < d->nnodes; i++)
    if (d->nodes[i].kind == PAWL_KIND_JOIN) ask_join(d, i);
  for (int i = 0; i < d->nnodes; i++)
    for (int k = 0; k < d->nodes[i].nnext; k++)
      must(d->nodes[i].next[k].to >= 0, "a transition leads nowhere");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  pawl_str graph = {(const char *)bytes, size}, none = {NULL, 0};
  pawl_def *d = NULL;
  pawl_error err;
  if (size == 0) return 0;
  if (pawl_def_new("fuzz.lua", graph, none, none, NULL, &d, &err) != PAWL_OK)
    return 0;
  for (int i = 0; i < d->nnodes; i++) ask_node(d, i);
  if (pawl_def_check(d, &err) == PAWL_OK) ask_checked(d);
  pawl_def_free(d);
  return 0;
}

#ifdef PAWL_FUZZ_MAIN
static int try_file(const char *path) {
  static uint8_t bytes[1 << 20];
  size_t size;
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    return 0;
  }
  size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  LLVMFuzzerTestOneInput(bytes, size);
  return 1;
}

int main(int argc, char **argv) {
  int good = 0;
  for (int i = 1; i < argc; i++) good += try_file(argv[i]);
  printf("%d passed, %d failed\n", good, argc - 1 - good);
  return good != argc - 1;
}
#endif
