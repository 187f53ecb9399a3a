/* Definitions of limited trust: each in a host of its own, with a state and a
 * meter, that hangs on the engine's host; or, of isolated trust, in a process
 * (remote.h), where it is a cell again.
 *
 *   loaded -> runs -> a limit is met -> spoilt: its source is loaded anew for
 *                                       the next handler
 *
 * What a script has hoarded or broken goes with the spoilt state, in which
 * nothing runs any more (H15): handlers that wait in it fail, and the next
 * attempt begins in a new one. */
#include <assert.h>
#include <string.h>

#include "host_internal.h"
#include "remote.h"

enum { FIRST_REF = 1 << 30 }; /* above those of the host's own definitions */

struct pawl_lua_cell {
  pawl_host *now; /* where handlers begin; NULL: to be made */
  pawl_host *old; /* spoilt, without their states: some handler that waited in
                     each has not been told */
  pawl_remote *remote; /* of isolated trust: a process in place of these */
  pawl_limits limits;
  pawl_granted granted;
  pawl_buf name, source, bundle, helper;
};

static int is_cell(int ref) {
  return ref >= FIRST_REF;
}

int pawl_host_is_limited(int ref) {
  return is_cell(ref);
}

static pawl_lua_cell *cell_of(const pawl_host *host, int ref) {
  int at = ref - FIRST_REF;
  return at >= 0 && at < host->ncells ? host->cells[at] : NULL;
}

int pawl_host_is_isolated(const pawl_host *host, int ref) {
  const pawl_lua_cell *c = is_cell(ref) ? cell_of(host, ref) : NULL;
  return c && c->remote;
}

/* ---- a cell's life ---- */

static void free_cell(pawl_host *host, pawl_lua_cell *c) {
  if (!c) return;
  pawl_remote_free(c->remote);
  pawl_host_unmake(c->now);
  while (c->old) {
    pawl_host *next = c->old->next_old;
    pawl_host_unmake(c->old);
    c->old = next;
  }
  pawl_buf_deinit(&c->name);
  pawl_buf_deinit(&c->source);
  pawl_buf_deinit(&c->bundle);
  pawl_granted_deinit(&c->granted);
  pawl_buf_deinit(&c->helper);
  pawl_release(&host->alloc, c, sizeof *c);
}

static pawl_lua_cell *new_cell(pawl_host *host, const pawl_limits *limits) {
  pawl_lua_cell *c = pawl_calloc(&host->alloc, sizeof *c);
  if (!c) return NULL;
  c->name.alloc = c->source.alloc = &host->alloc;
  c->bundle.alloc = c->helper.alloc = &host->alloc;
  c->limits = *limits;
  pawl_granted_init(&c->granted, &host->alloc);
  if (!pawl_granted_keep(&c->granted, &c->limits)) {
    free_cell(host, c);
    return NULL;
  }
  if (!limits->is_isolated) return c;
  pawl_buf_addz(&c->helper, limits->helper ? limits->helper : "");
  c->limits.helper = c->helper.at;
  c->remote = pawl_remote_new(host, &c->limits);
  if (c->remote) return c;
  free_cell(host, c);
  return NULL;
}

/* What it is made of again. */
static pawl_code keep_source(pawl_lua_cell *c, const pawl_loaded *l,
                             const char *name, pawl_error *err) {
  pawl_buf_addz(&c->name, name);
  pawl_buf_adds(&c->source, pawl_buf_str(&l->source));
  pawl_buf_adds(&c->bundle, pawl_buf_str(&l->bundle));
  MUST(pawl_buf_check(&c->name, err));
  MUST(pawl_buf_check(&c->source, err));
  MUST(pawl_buf_check(&c->bundle, err));
  return pawl_buf_check(&c->helper, err);
}

/* What was only needed to load it. */
static void tidy(pawl_host *cell_host) {
  lua_gc(cell_host->main, LUA_GCCOLLECT);
}

/* The text of a file, with what lies beside it; or a text that has all. */
static pawl_code load_remote(pawl_host *host, pawl_lua_cell *c,
                             const char *path, const char *name, pawl_str text,
                             pawl_str bundle, pawl_loaded *out,
                             pawl_error *err) {
  pawl_buf source = {.alloc = &host->alloc};
  pawl_buf folder = {.alloc = &host->alloc};
  const char *slash = path ? strrchr(path, '/') : NULL;
  pawl_code rc = PAWL_OK;
  if (path) {
    TRY(pawl_source_read(path, &source, err));
    pawl_buf_add(&folder, slash ? path : ".",
                 slash && slash != path ? (size_t)(slash - path) : 1);
    TRY(pawl_buf_check(&folder, err));
    text = pawl_buf_str(&source);
    name = path;
  }
  name = pawl_host_short_path(name);
  TRY(pawl_source_check(name, text, err));
  TRY(pawl_remote_load(c->remote, name, text, bundle, path ? folder.at : NULL,
                       out, err));
  pawl_copy_file(out, name);
  pawl_buf_adds(&out->source, text);
  rc = pawl_buf_check(&out->source, err);
out:
  pawl_buf_deinit(&source);
  pawl_buf_deinit(&folder);
  return rc;
}

static pawl_code load_into(pawl_host *host, pawl_lua_cell *c, const char *path,
                           const char *name, pawl_str text, pawl_str bundle,
                           pawl_loaded *out, pawl_error *err) {
  if (c->remote)
    return load_remote(host, c, path, name, text, bundle, out, err);
  MUST(pawl_host_open_limited(host, &c->limits, &c->now, err));
  pawl_code rc =
      path ? pawl_load_own_file(c->now, path, out, err)
           : pawl_load_own_text(c->now, name, text, bundle, out, err);
  if (rc != PAWL_OK) return rc;
  assert(out->ref == 0); /* the only one there */
  tidy(c->now);
  return PAWL_OK;
}

/* Its place in the list; -1: no memory. Places are used again. */
static int place(pawl_host *host, pawl_lua_cell *c) {
  int i = 0;
  while (i < host->ncells && host->cells[i]) i++;
  if (i == host->ncells &&
      !PAWL_ROOM(&host->alloc, host->cells, host->ncells, host->cells_cap))
    return -1;
  if (i == host->ncells) host->ncells++;
  host->cells[i] = c;
  return i;
}

static pawl_code load_cell(pawl_host *host, const char *path, const char *name,
                           pawl_str text, pawl_str bundle,
                           const pawl_limits *limits, pawl_loaded *out,
                           pawl_error *err) {
  pawl_code rc;
  int at;
  pawl_lua_cell *c = new_cell(host, limits);
  memset(out, 0, sizeof *out);
  out->ref = -1;
  assert(path || name);
  if (!c) return pawl_fail_memory(err);
  rc = load_into(host, c, path, name, text, bundle, out, err);
  if (rc == PAWL_OK) {
    rc = keep_source(c, out, path ? path : name, err);
    if (rc == PAWL_OK && (at = place(host, c)) < 0) rc = pawl_fail_memory(err);
    /* its buffers outlive the cell: they are of the engine's memory */
    out->graph.alloc = out->source.alloc = &host->alloc;
    out->bundle.alloc = out->others.alloc = &host->alloc;
    out->ref = -1;
  }
  if (rc != PAWL_OK) {
    pawl_loaded_deinit(out);
    free_cell(host, c);
    return rc;
  }
  out->ref = FIRST_REF + at;
  return PAWL_OK;
}

pawl_code pawl_host_load_file(pawl_host *host, const char *path,
                              const pawl_limits *limits, pawl_loaded *out,
                              pawl_error *err) {
  if (!limits) return pawl_load_own_file(host, path, out, err);
  return load_cell(host, path, NULL, pawl_strz(NULL), pawl_strz(NULL), limits,
                   out, err);
}

pawl_code pawl_host_load_text(pawl_host *host, const char *name, pawl_str text,
                              pawl_str bundle, const pawl_limits *limits,
                              pawl_loaded *out, pawl_error *err) {
  if (!limits) return pawl_load_own_text(host, name, text, bundle, out, err);
  return load_cell(host, NULL, name, text, bundle, limits, out, err);
}

void pawl_host_unload(pawl_host *host, int ref) {
  pawl_lua_cell *c = cell_of(host, ref);
  if (!is_cell(ref)) pawl_load_forget(host, ref);
  if (!c) return;
  host->cells[ref - FIRST_REF] = NULL;
  free_cell(host, c);
}

static void close_all(pawl_host *host) {
  for (int i = 0; i < host->ncells; i++)
    if (host->cells[i] && host->cells[i]->remote)
      pawl_remote_kill(host->cells[i]->remote);
  for (int i = 0; i < host->ncells; i++) free_cell(host, host->cells[i]);
  pawl_release(&host->alloc, host->cells,
               sizeof *host->cells * (size_t)host->cells_cap);
  host->cells = NULL;
  host->ncells = host->cells_cap = 0;
}

void pawl_host_tidy(pawl_host *host) {
  if (host->running) return;
  if (host->is_private) lua_gc(host->main, LUA_GCCOLLECT);
  for (int i = 0; i < host->ncells; i++)
    if (host->cells[i] && host->cells[i]->now) tidy(host->cells[i]->now);
}

void pawl_host_close(pawl_host *host) {
  if (host) close_all(host);
  pawl_host_unmake(host);
}

/* ---- running ---- */

static pawl_code host_of(pawl_host *host, int ref, pawl_host **out,
                         pawl_error *err) {
  pawl_loaded again;
  pawl_lua_cell *c;
  pawl_code rc;
  if (!is_cell(ref)) return PAWL_OK;
  c = cell_of(host, ref);
  assert(c);
  if (!c->now) {
    rc = load_into(host, c, NULL, c->name.at, pawl_buf_str(&c->source),
                   pawl_buf_str(&c->bundle), &again, err);
    if (rc == PAWL_OK) {
      again.ref = -1;
      pawl_loaded_deinit(&again);
    } else {
      pawl_host_unmake(c->now);
      c->now = NULL;
      return rc;
    }
  }
  *out = c->now;
  return PAWL_OK;
}

/* The process that a definition runs in, which has it. */
static pawl_code remote_of(pawl_host *host, int ref, pawl_remote **out,
                           pawl_error *err) {
  pawl_lua_cell *c = is_cell(ref) ? cell_of(host, ref) : NULL;
  pawl_loaded again;
  *out = c ? c->remote : NULL;
  if (!*out || pawl_remote_is_up(*out)) return PAWL_OK;
  MUST(load_remote(host, c, NULL, c->name.at, pawl_buf_str(&c->source),
                   pawl_buf_str(&c->bundle), &again, err));
  pawl_loaded_deinit(&again);
  return PAWL_OK;
}

static int has_waiting(const pawl_host *cell_host) {
  for (const pawl_run *r = cell_host->runs; r; r = r->next)
    if (r->waits) return 1;
  return 0;
}

static pawl_lua_cell *owner_of(const pawl_host *cell_host) {
  const pawl_host *host = cell_host->parent;
  for (int i = 0; i < host->ncells; i++) {
    pawl_lua_cell *c = host->cells[i];
    if (c && &c->limits == cell_host->meter->limits) return c;
  }
  return NULL;
}

static void drop_old(pawl_lua_cell *c, pawl_host *cell_host) {
  pawl_host **at = &c->old;
  while (*at != cell_host) at = &(*at)->next_old;
  *at = cell_host->next_old;
  pawl_host_unmake(cell_host);
}

/* Behind each handler. A coroutine that the hook has stopped runs with no hook
 * from then on, where it closes its variables: Lua 5.4.4 does not put that
 * right. So the state goes at once, before it is missed (H15). */
static void settle(pawl_host *cell_host) {
  pawl_lua_cell *c;
  if (!cell_host->meter || (c = owner_of(cell_host)) == NULL) return;
  if (c->now == cell_host) {
    if (cell_host->meter->met == PAWL_WITHIN) return;
    pawl_run_lose_all(cell_host);
    pawl_host_close_state(cell_host);
    c->now = NULL;
    cell_host->next_old = c->old;
    c->old = cell_host;
  }
  if (!has_waiting(cell_host)) drop_old(c, cell_host);
}

static pawl_code start_there(pawl_host *host, pawl_remote *remote,
                             const pawl_call *call, int may_wait,
                             pawl_said *result, pawl_run **waiting,
                             pawl_error *err) {
  int is_stale;
  pawl_code rc = pawl_remote_begin(remote, call, may_wait, result, waiting,
                                   &is_stale, err);
  if (!is_stale) return rc;
  pawl_said_clear(result);
  MUST(remote_of(host, call->ref, &remote, err));
  return pawl_remote_begin(remote, call, may_wait, result, waiting, &is_stale,
                           err);
}

static pawl_code start(pawl_host *host, const pawl_call *call, int may_wait,
                       pawl_said *result, pawl_run **waiting,
                       pawl_error *err) {
  pawl_remote *remote;
  pawl_code rc;
  *waiting = NULL;
  pawl_said_clear(result);
  if (host->running)
    return pawl_fail(err, PAWL_MISUSE,
                     "a handler of this engine is running already");
  MUST(remote_of(host, call->ref, &remote, err));
  if (remote)
    return start_there(host, remote, call, may_wait, result, waiting, err);
  MUST(host_of(host, call->ref, &host, err));
  rc = pawl_run_begin(host, call, may_wait, result, waiting, err);
  settle(host);
  return rc;
}

pawl_code pawl_host_run(pawl_host *host, const pawl_call *call,
                        pawl_said *result, pawl_error *err) {
  pawl_run *waiting;
  return start(host, call, 0, result, &waiting, err);
}

pawl_code pawl_host_begin(pawl_host *host, const pawl_call *call,
                          pawl_said *result, pawl_run **waiting,
                          pawl_error *err) {
  return start(host, call, 1, result, waiting, err);
}

pawl_code pawl_host_resume(pawl_run **waiting, int events,
                           const pawl_error *why, pawl_said *result,
                           pawl_error *err) {
  pawl_host *host = (*waiting)->host;
  if ((*waiting)->remote)
    return pawl_remote_resume(waiting, events, why, result, err);
  pawl_code rc = (*waiting)->is_lost
                     ? pawl_run_tell_lost(waiting, result, err)
                     : pawl_run_resume(waiting, events, why, result, err);
  settle(host);
  return rc;
}

void pawl_host_abandon(pawl_run *waiting) {
  if (!waiting) return;
  pawl_host *host = waiting->host;
  if (waiting->remote) {
    pawl_remote_abandon(waiting);
    return;
  }
  pawl_run_abandon(waiting);
  settle(host);
}
