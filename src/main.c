/* main.c: the command's shell.
 *
 * One lua_State with the standard libraries; the Lua sources of lua/pawl are
 * in the program, so that one file is the whole installation. Everything the
 * command does is in lua/pawl/cli. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "bind/lcore.h"
#include "bind/lprocess.h"
#include "bind/lsys.h"
#include "host/child.h"
#include "host/embedded.h"
#include "host/isolate.h"
#include "pawl_lua.h"

static void preload(lua_State *L) {
  pawl_embedded_preload(L);
  pawl_embedded_add(L, pawl_cli_sources, pawl_cli_nsources);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_pawl_core);
  lua_setfield(L, -2, "pawl.core");
  lua_pushcfunction(L, pawl_sys_open);
  lua_setfield(L, -2, "pawl.sys");
  lua_pop(L, 1);
}

/* (argc, argv, is_mute) -> exit code, from pawl.cli.main */
static int shell(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  int is_mute = lua_toboolean(L, 3);
  luaL_checkversion(L);
  luaL_openlibs(L);
  preload(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "pawl.cli.main");
  lua_call(L, 1, 1);
  lua_createtable(L, argc, 0);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
  lua_pushboolean(L, is_mute);
  lua_call(L, 2, 1);
  return 1;
}

static int traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

/* A stream that was closed (`>&-`) is a number that the next file or connection
 * gets, and what we say would go there: it leads nowhere from now on. 1: so
 * did standard output; -1: there is nothing to put in its place. */
static int fill_streams(void) {
  int is_mute = 0;
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd) return -1;
    if (fd == 1) is_mute = 1;
  }
  return is_mute;
}

/* `pawl isolate PID`: not for people. The process of that number has made this
 * one to run what it does not trust, and is at the other end of our input. */
static void serve_isolated(int argc, char **argv) {
  const pawl_verb *verb = pawl_verbs;
  if (argc != 3 || strcmp(argv[1], "isolate") != 0) return;
  while (verb->name && strcmp(verb->name, "start") != 0) verb++;
  pawl_isolate_serve(STDIN_FILENO, strtol(argv[2], NULL, 10), verb->options);
}

int main(int argc, char **argv) {
  serve_isolated(argc, argv);
  pawl_child_is_command();
  int is_mute = fill_streams();
  if (is_mute < 0) {
    fputs("pawl: output: a stream is closed, and there is no /dev/null\n",
          stderr);
    return EXIT_FAILURE;
  }
  lua_State *L = luaL_newstate();
  int code = EXIT_FAILURE;
  if (!L) {
    fputs("pawl: nomem: not enough memory to start\n", stderr);
    return EXIT_FAILURE;
  }
  /* A reader that goes away must show up as a failed write, not as death in
   * the middle of a commit; so must a file that may not get larger. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  pawl_process_take_arguments(argv);
  lua_pushcfunction(L, traceback);
  lua_pushcfunction(L, shell);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  lua_pushboolean(L, is_mute);
  if (lua_pcall(L, 3, 1, 1) == LUA_OK)
    code = (int)lua_tointeger(L, -1);
  else /* only a bug gets here: cli.main catches what users can cause */
    fprintf(stderr, "pawl: internal: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return code;
}
