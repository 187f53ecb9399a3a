/* bench/allocs.c: counts what a program allocates, for bench/counts.lua.
 *
 *   LD_PRELOAD=pawl_bench_allocs.so PAWL_BENCH_ALLOCS=FILE lua5.4 ...
 *
 * writes "lua N" and "c N" to FILE when the program ends: calls of malloc,
 * calloc and realloc that ask for memory, by who asked. "lua" is the module
 * that holds the Lua interpreter, "c" all others. glibc only: it has its
 * functions under second names. */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);

static atomic_llong nlua, nc;
static const void *lua_base;
static bool is_ready;

static const void *base_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : NULL;
}

__attribute__((constructor)) static void set_up(void) {
  void *lua = dlsym(RTLD_DEFAULT, "lua_newstate");
  if (lua) lua_base = base_of(lua);
  is_ready = true;
}

static void count(const void *caller) {
  if (!is_ready) return;
  if (lua_base && base_of(caller) == lua_base)
    atomic_fetch_add(&nlua, 1);
  else
    atomic_fetch_add(&nc, 1);
}

void *malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(n, size);
}

void *realloc(void *at, size_t size) {
  if (size > 0) count(__builtin_return_address(0));
  return __libc_realloc(at, size);
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("PAWL_BENCH_ALLOCS");
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return;
  fprintf(f, "lua %lld\nc %lld\n", (long long)nlua, (long long)nc);
  fclose(f);
}
