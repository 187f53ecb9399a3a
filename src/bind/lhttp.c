#include "lhttp.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

/* ---- libcurl, as far as it is used ----
 * Its numbers are part of its binary interface, which libcurl.so.4 keeps. */

typedef void CURL;
typedef void CURLM;
struct curl_slist;
enum {
  CURLOPT_POSTFIELDSIZE = 60,
  CURLOPT_FOLLOWLOCATION = 52,
  CURLOPT_NOSIGNAL = 99,
  CURLOPT_TIMEOUT_MS = 155,
  CURLOPT_URL = 10002,
  CURLOPT_ERRORBUFFER = 10010,
  CURLOPT_USERAGENT = 10018,
  CURLOPT_HTTPHEADER = 10023,
  CURLOPT_PRIVATE = 10103,
  CURLOPT_COPYPOSTFIELDS = 10165,
  CURLOPT_PROTOCOLS_STR = 10318,
  CURLOPT_PROTOCOLS = 181,
  CURLOPT_WRITEFUNCTION = 20011,
  CURLINFO_PRIVATE = 0x100000 + 21,
  CURLINFO_RESPONSE_CODE = 0x200000 + 2,
  CURLMSG_DONE = 1,
  HTTP_AND_HTTPS = 1 | 2
};

typedef struct CURLMsg {
  int msg;
  CURL *easy_handle;
  union {
    void *whatever;
    int result;
  } data;
} CURLMsg;

#define FUNCTIONS(X)                                                        \
  X(int, global_init, (long))                                               \
  X(CURL *, easy_init, (void))                                              \
  X(void, easy_cleanup, (CURL *))                                           \
  X(int, easy_setopt, (CURL *, int, ...))                                   \
  X(int, easy_getinfo, (CURL *, int, ...))                                  \
  X(const char *, easy_strerror, (int))                                     \
  X(struct curl_slist *, slist_append, (struct curl_slist *, const char *)) \
  X(void, slist_free_all, (struct curl_slist *))                            \
  X(CURLM *, multi_init, (void))                                            \
  X(int, multi_cleanup, (CURLM *))                                          \
  X(int, multi_add_handle, (CURLM *, CURL *))                               \
  X(int, multi_remove_handle, (CURLM *, CURL *))                            \
  X(int, multi_perform, (CURLM *, int *))                                   \
  X(int, multi_poll, (CURLM *, void *, unsigned, int, int *))               \
  X(CURLMsg *, multi_info_read, (CURLM *, int *))

static struct {
#define MEMBER(type, name, args) type(*name) args;
  FUNCTIONS(MEMBER)
} curl;

/* 0: it is not there. */
static int load_curl(void) {
  static int loaded;
  void *lib;

  if (loaded) return 1;
  lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!lib) lib = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return 0;
#define FIND(type, name, args)                      \
  *(void **)&curl.name = dlsym(lib, "curl_" #name); \
  if (!curl.name) return 0;
  FUNCTIONS(FIND)
  loaded = curl.global_init(3) == 0; /* CURL_GLOBAL_ALL */
  return loaded;
}

/* ---- a client ---- */

#define CLIENT_MT "pawl.http"
enum { MOST = 1024 };

typedef enum progress { FREE, UNDER_WAY, DONE } progress;

typedef struct transfer {
  CURL *easy;
  progress progress;
  int result;
  char error[256]; /* CURL_ERROR_SIZE */
} transfer;

typedef struct client {
  CURLM *multi;
  struct curl_slist *headers;
  transfer transfers[MOST];
} client;

static client *check_client(lua_State *L) {
  client *c = luaL_checkudata(L, 1, CLIENT_MT);
  luaL_argcheck(L, c->multi, 1, "the client is closed");
  return c;
}

static size_t ignore(char *bytes, size_t size, size_t n, void *ud) {
  (void)bytes;
  (void)ud;
  return size * n;
}

static int client_close(lua_State *L) {
  client *c = luaL_checkudata(L, 1, CLIENT_MT);
  for (int i = 0; i < MOST; i++) {
    if (!c->transfers[i].easy) continue;
    if (c->multi && c->transfers[i].progress != FREE)
      curl.multi_remove_handle(c->multi, c->transfers[i].easy);
    curl.easy_cleanup(c->transfers[i].easy);
    c->transfers[i].easy = NULL;
  }
  if (c->multi) curl.multi_cleanup(c->multi);
  if (c->headers) curl.slist_free_all(c->headers);
  c->multi = NULL;
  c->headers = NULL;
  return 0;
}

/* sys.http(headers) -> client | nil, why */
static int sys_http(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!load_curl()) {
    lua_pushnil(L);
    lua_pushliteral(L, "libcurl is not there; Debian's package is libcurl4");
    return 2;
  }
  client *c = lua_newuserdatauv(L, sizeof *c, 0);
  memset(c, 0, sizeof *c);
  luaL_setmetatable(L, CLIENT_MT);
  c->multi = curl.multi_init();
  for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
    struct curl_slist *longer =
        curl.slist_append(c->headers, luaL_checkstring(L, -1));
    if (!longer) return luaL_error(L, "out of memory");
    c->headers = longer;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (!c->multi) return luaL_error(L, "out of memory");
  return 1;
}

static transfer *free_transfer(client *c) {
  for (int i = 0; i < MOST; i++) {
    transfer *t = &c->transfers[i];
    if (t->progress != FREE) continue;
    if (!t->easy) t->easy = curl.easy_init();
    return t->easy ? t : NULL;
  }
  return NULL;
}

/* client:post(url, body, seconds) -> number | nil, why. Redirects are not
 * followed, and nothing but HTTP is spoken. */
static int client_post(lua_State *L) {
  client *c = check_client(L);
  const char *url = luaL_checkstring(L, 2);
  size_t len;
  const char *body = luaL_checklstring(L, 3, &len);
  long limit_ms = (long)(luaL_checknumber(L, 4) * 1000);
  transfer *t = free_transfer(c);

  if (!t) return luaL_error(L, "too many requests at one time");
  t->error[0] = '\0';
  curl.easy_setopt(t->easy, CURLOPT_URL, url);
  if (curl.easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https") != 0)
    curl.easy_setopt(t->easy, CURLOPT_PROTOCOLS, (long)HTTP_AND_HTTPS);
  curl.easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl.easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, limit_ms > 0 ? limit_ms : 1);
  curl.easy_setopt(t->easy, CURLOPT_USERAGENT, "pawl");
  curl.easy_setopt(t->easy, CURLOPT_HTTPHEADER, c->headers);
  curl.easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE, (long)len);
  curl.easy_setopt(t->easy, CURLOPT_COPYPOSTFIELDS, body);
  curl.easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
  curl.easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, ignore);
  curl.easy_setopt(t->easy, CURLOPT_PRIVATE, t);
  int rc = curl.multi_add_handle(c->multi, t->easy);
  if (rc != 0) {
    lua_pushnil(L);
    lua_pushfstring(L, "libcurl: error %d", rc);
    return 2;
  }
  t->progress = UNDER_WAY;
  lua_pushinteger(L, (lua_Integer)(t - c->transfers) + 1);
  return 1;
}

/* client:wait(seconds): until one is done, at the latest so long; a signal
 * ends it. Not by multi_wait, which waits for nothing while there is no
 * descriptor yet, as where a name is looked up: who goes round by it would not
 * rest. */
static int client_wait(lua_State *L) {
  client *c = check_client(L);
  int limit_ms = (int)(luaL_checknumber(L, 2) * 1000), running, left;
  CURLMsg *message;

  curl.multi_perform(c->multi, &running);
  if (running && limit_ms > 0) {
    curl.multi_poll(c->multi, NULL, 0, limit_ms, NULL);
    curl.multi_perform(c->multi, &running);
  }
  while ((message = curl.multi_info_read(c->multi, &left)) != NULL) {
    transfer *t = NULL;
    if (message->msg != CURLMSG_DONE) continue;
    int result = message->data.result;
    curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
    curl.multi_remove_handle(c->multi, t->easy);
    t->progress = DONE;
    t->result = result;
  }
  return 0;
}

/* client:answer(number) -> status | nil: none yet | false, why */
static int client_answer(lua_State *L) {
  client *c = check_client(L);
  lua_Integer i = luaL_checkinteger(L, 2);
  long status = 0;

  luaL_argcheck(L, i >= 1 && i <= MOST, 2, "no such request");
  transfer *t = &c->transfers[i - 1];
  luaL_argcheck(L, t->progress != FREE, 2, "no such request");
  if (t->progress == UNDER_WAY) return 0;
  t->progress = FREE;
  if (t->result == 0) {
    curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    lua_pushinteger(L, status);
    return 1;
  }
  lua_pushboolean(L, 0);
  lua_pushstring(L, t->error[0] ? t->error : curl.easy_strerror(t->result));
  return 2;
}

void pawl_http_open(lua_State *L) {
  static const luaL_Reg methods[] = {{"post", client_post},
                                     {"wait", client_wait},
                                     {"answer", client_answer},
                                     {"__gc", client_close},
                                     {NULL, NULL}};
  luaL_newmetatable(L, CLIENT_MT);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_pushcfunction(L, sys_http);
  lua_setfield(L, -2, "http");
}
