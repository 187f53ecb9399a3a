#define _POSIX_C_SOURCE 200809L /* _exit */
#include "isolate.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/handed.h"
#include "fence.h"
#include "host_internal.h"
#include "wire.h"

enum {
  LOGS_AT_ONCE = 32 << 10, /* bytes that are kept back at most */
  WORST = 3,               /* exit code of one that cannot go on */
  ROOM = 256 << 20         /* of address space, besides the state's */
};

/* A handler that waits. */
typedef struct standing {
  int64_t serial;
  pawl_run *run;
} standing;

typedef struct warden {
  pawl_channel ch;
  pawl_buf held; /* the message that is being answered */
  pawl_host *root;
  int ref;
  pawl_limits limits;
  pawl_granted granted; /* of the limits */
  size_t max_bytes;
  const pawl_options *start_options;
  pawl_said result;
  pawl_error err;
  int64_t serial; /* of the handler that runs */
  standing *standing;
  int nstanding, standing_cap;
} warden;

/* ---- the channel ---- */

/* There is nobody left to tell. */
static _Noreturn void give_up(int code) {
  _exit(code);
}

static void flush(warden *w) {
  if (w->ch.out.failed) give_up(WORST);
  while (w->ch.out.len)
    if (pawl_channel_flush(&w->ch) != 1 && errno != EINTR) give_up(0);
}

/* Waits for the next message, and keeps its bytes where the ones that answer
 * its questions do not move them. */
static void receive(warden *w, pawl_wire *out, pawl_buf *held) {
  enum { GB = 1 << 30 }; /* the host is trusted */
  static const size_t most[PAWL_WIRE_NKINDS] = {
      [PAWL_WIRE_SETUP] = GB,  [PAWL_WIRE_LEND] = GB,
      [PAWL_WIRE_LOAD] = GB,   [PAWL_WIRE_RUN] = GB,
      [PAWL_WIRE_RESUME] = GB, [PAWL_WIRE_ABANDON] = GB,
      [PAWL_WIRE_REPLY] = GB};
  int there;
  while ((there = pawl_channel_next(&w->ch, most, out)) == 0) {
    const long n = pawl_channel_fill(&w->ch);
    if (n == 0) give_up(0);
    if (n < 0 && errno != EINTR) give_up(WORST);
  }
  if (there < 0) give_up(WORST);
  if (out->kind == PAWL_WIRE_LEND) return; /* it asks nothing: others follow */
  /* it speaks when it was spoken to: nothing follows */
  if (w->ch.taken != w->ch.in.len) give_up(WORST);
  w->ch.taken = 0;
  pawl_buf_swap(&w->ch.in, held);
  pawl_buf_clear(&w->ch.in);
}

static void end(warden *w, size_t from) {
  pawl_wire_end(&w->ch.out, from);
  flush(w);
}

/* ---- questions ---- */

static int64_t serial_of(const pawl_call *call) {
  return (int64_t)(intptr_t)call->owner;
}

static size_t begin_ask(warden *w, pawl_wire_ask what, int64_t serial) {
  const size_t from = pawl_wire_begin(&w->ch.out, PAWL_WIRE_ASK);
  pawl_wire_add_int(&w->ch.out, what);
  pawl_wire_add_int(&w->ch.out, serial);
  return from;
}

/* A question that the host would not read is not sent. */
static pawl_code check_length(warden *w, size_t from, pawl_error *err) {
  const size_t len = w->ch.out.len - from;
  const size_t most = pawl_wire_most(PAWL_WIRE_ASK, w->max_bytes);
  if (w->ch.out.failed || len <= most) return PAWL_OK;
  w->ch.out.len = from;
  return pawl_fail(err, PAWL_LIMIT, "what is asked has %zu bytes: %zu is most",
                   len, most);
}

/* Sends it, and waits for what is said: a number, and a text that goes behind
 * what is in *text (NULL: none is wanted). */
static pawl_code ask(warden *w, size_t from, int64_t *n, pawl_buf *text,
                     pawl_error *err) {
  pawl_wire m;
  pawl_buf held = {0};
  pawl_error why;
  MUST(check_length(w, from, err));
  end(w, from);
  receive(w, &m, &held);
  if (m.kind != PAWL_WIRE_REPLY) give_up(WORST);
  const pawl_code rc = (pawl_code)pawl_wire_take_int(&m);
  if (rc != PAWL_OK) {
    pawl_wire_take_error(&m, &why);
    if (err) *err = why;
  } else {
    const int64_t number = pawl_wire_take_int(&m);
    const pawl_str said = pawl_wire_take_str(&m);
    if (n) *n = number;
    if (text) pawl_buf_adds(text, said);
  }
  if (!pawl_wire_is_whole(&m)) give_up(WORST);
  pawl_buf_swap(&held, &w->ch.in); /* its room is used again */
  pawl_buf_clear(&w->ch.in);
  pawl_buf_deinit(&held);
  return rc;
}

static int64_t ask_now(const pawl_call *call) {
  warden *w = call->services_ud;
  int64_t n = 0;
  (void)ask(w, begin_ask(w, PAWL_ASK_NOW, serial_of(call)), &n, NULL, NULL);
  return n;
}

static pawl_code ask_heartbeat(const pawl_call *call, pawl_str progress,
                               int *cancelled, pawl_error *err) {
  warden *w = call->services_ud;
  int64_t n;
  const size_t from = begin_ask(w, PAWL_ASK_HEARTBEAT, serial_of(call));
  pawl_wire_add_str(&w->ch.out, progress);
  MUST(ask(w, from, &n, NULL, err));
  *cancelled = n != 0;
  return PAWL_OK;
}

static pawl_code ask_cancelled(const pawl_call *call, int *out,
                               pawl_error *err) {
  warden *w = call->services_ud;
  int64_t n;
  MUST(ask(w, begin_ask(w, PAWL_ASK_CANCELLED, serial_of(call)), &n, NULL,
           err));
  *out = n != 0;
  return PAWL_OK;
}

static pawl_code ask_attrs(const pawl_call *call, pawl_buf *out,
                           pawl_error *err) {
  warden *w = call->services_ud;
  return ask(w, begin_ask(w, PAWL_ASK_ATTRS, serial_of(call)), NULL, out, err);
}

static pawl_code ask_visits(const pawl_call *call, int64_t *out,
                            pawl_error *err) {
  warden *w = call->services_ud;
  return ask(w, begin_ask(w, PAWL_ASK_VISITS, serial_of(call)), out, NULL,
             err);
}

static pawl_code ask_progress(const pawl_call *call, pawl_buf *out,
                              pawl_error *err) {
  warden *w = call->services_ud;
  return ask(w, begin_ask(w, PAWL_ASK_PROGRESS, serial_of(call)), NULL, out,
             err);
}

static pawl_code ask_named(const pawl_call *call, pawl_wire_ask what,
                           pawl_str name, pawl_buf *out, pawl_error *err) {
  warden *w = call->services_ud;
  const size_t from = begin_ask(w, what, serial_of(call));
  pawl_wire_add_str(&w->ch.out, name);
  return ask(w, from, NULL, out, err);
}

static pawl_code ask_output(const pawl_call *call, pawl_str node,
                            pawl_buf *out, pawl_error *err) {
  return ask_named(call, PAWL_ASK_OUTPUT, node, out, err);
}

static pawl_code ask_callback(const pawl_call *call, pawl_str event,
                              pawl_buf *out, pawl_error *err) {
  return ask_named(call, PAWL_ASK_CALLBACK, event, out, err);
}

static pawl_code ask_new_id(const pawl_call *call, char id[37],
                            pawl_error *err) {
  warden *w = call->services_ud;
  pawl_buf text = {0};
  pawl_code rc =
      ask(w, begin_ask(w, PAWL_ASK_NEW_ID, serial_of(call)), NULL, &text, err);
  if (rc == PAWL_OK) rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK) pawl_str_copy(id, 37, pawl_buf_str(&text));
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code ask_query(const pawl_call *call, pawl_str sql,
                           pawl_str params, pawl_buf *out, int64_t *changed,
                           pawl_error *err) {
  warden *w = call->services_ud;
  const size_t from = begin_ask(w, PAWL_ASK_QUERY, serial_of(call));
  pawl_wire_add_str(&w->ch.out, sql);
  pawl_wire_add_str(&w->ch.out, params);
  return ask(w, from, changed, out, err);
}

/* Nothing is said to it: it goes with what is. */
static void tell_log(const pawl_call *call, int level, const char *message,
                     const char *fields) {
  warden *w = call->services_ud;
  const size_t from = pawl_wire_begin(&w->ch.out, PAWL_WIRE_LOG);
  pawl_wire_add_int(&w->ch.out, serial_of(call));
  pawl_wire_add_int(&w->ch.out, level);
  pawl_wire_add_str(&w->ch.out, pawl_strz(message));
  pawl_wire_add_str(&w->ch.out, pawl_strz(fields ? fields : "{}"));
  pawl_wire_end(&w->ch.out, from);
  if (w->ch.out.failed || w->ch.out.len > LOGS_AT_ONCE) flush(w);
}

#define SERVICES                                                            \
  .now = ask_now, .log = tell_log, .heartbeat = ask_heartbeat,              \
  .cancelled = ask_cancelled, .attrs = ask_attrs, .visits = ask_visits,     \
  .progress = ask_progress, .output = ask_output, .callback = ask_callback, \
  .new_id = ask_new_id
static const pawl_services services = {SERVICES};
static const pawl_services with_query = {SERVICES, .query = ask_query};

/* What a file logs while it is loaded, and Lua's warnings. */
static void log_loading(void *ud, int level, const char *message,
                        const char *fields) {
  const pawl_call none = {.services_ud = ud};
  tell_log(&none, level, message, fields);
}

/* A function of the program's: the one there that has this name. */
static pawl_code ask_host(void *ud, const pawl_wanted *asked, char **out,
                          pawl_error *err) {
  warden *w = ud;
  pawl_buf text = {0};
  int64_t is_given;
  const char *number = strrchr(asked->key, '/');
  const size_t from = begin_ask(w, PAWL_ASK_HOST, w->serial);
  assert(number);
  pawl_wire_add_str(&w->ch.out, pawl_strz(asked->name));
  pawl_wire_add_str(&w->ch.out, (pawl_str){asked->input, asked->length});
  pawl_wire_add_int(&w->ch.out, strtoll(number + 1, NULL, 10));
  pawl_wire_add_int(&w->ch.out, asked->again);
  pawl_wire_add_int(&w->ch.out, asked->gone);
  pawl_wire_add_int(&w->ch.out, asked->may_wait);
  pawl_code rc = ask(w, from, &is_given, &text, err);
  if (rc == PAWL_OK) rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK && is_given)
    rc = pawl_hand_out(&(pawl_alloc){0}, &text, out, err);
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code fetch_module(void *ud, const char *module, pawl_buf *out,
                              pawl_error *err) {
  warden *w = ud;
  const size_t from = begin_ask(w, PAWL_ASK_MODULE, 0);
  pawl_wire_add_str(&w->ch.out, pawl_strz(module));
  return ask(w, from, NULL, out, err);
}

/* ---- orders ---- */

static void keep_limits(warden *w, pawl_wire *m) {
  pawl_wire_take_limits(m, &w->limits);
  if (!pawl_granted_keep(&w->granted, &w->limits)) give_up(WORST);
}

/* What Lua may hold three times over, and the texts of a result. */
static size_t address_space(const warden *w) {
  const uint64_t most =
      sizeof(size_t) > 4 ? UINT64_C(1) << 40 : UINT64_C(3) << 30;
  if (w->limits.memory > most / 8 || w->max_bytes > most / 128)
    return (size_t)most;
  return ROOM + 8 * w->limits.memory + 64 * w->max_bytes;
}

static void set_up(warden *w, pawl_wire *m) {
  pawl_log log = {.fn = log_loading, .ud = w};
  pawl_host_options options = {.log = &log, .start = w->start_options};
  const char *version = pawl_wire_take_text(m);
  size_t from;
  int held = 0;
  w->max_bytes = (size_t)pawl_wire_take_int(m);
  keep_limits(w, m);
  if (version && strcmp(version, PAWL_WIRE_VERSION) == 0) {
    if (!pawl_wire_is_whole(m)) give_up(WORST);
    options.max_bytes = w->max_bytes;
    if (pawl_host_open_bare(&options, &w->root, &w->err) != PAWL_OK)
      give_up(WORST);
    held = pawl_fence_raise(address_space(w));
  }
  from = pawl_wire_begin(&w->ch.out, PAWL_WIRE_READY);
  pawl_wire_add_str(&w->ch.out, pawl_strz(PAWL_WIRE_VERSION));
  pawl_wire_add_int(&w->ch.out, held);
  end(w, from);
  if (!w->root)
    give_up(0); /* of another version: nothing else is understood */
}

static void lend(warden *w, pawl_wire *m) {
  const char *name = pawl_wire_take_text(m);
  if (!pawl_wire_is_whole(m) || !name ||
      pawl_host_lend(w->root, name, ask_host, w, NULL, &w->err) != PAWL_OK)
    give_up(WORST);
}

static void add_failure(warden *w, pawl_code rc) {
  pawl_wire_add_int(&w->ch.out, rc);
  if (rc != PAWL_OK) pawl_wire_add_error(&w->ch.out, &w->err);
}

static void load(warden *w, pawl_wire *m) {
  pawl_loaded l;
  const char *name = pawl_wire_take_text(m);
  const pawl_str source = pawl_wire_take_str(m);
  const pawl_str bundle = pawl_wire_take_str(m);
  const int is_file = (int)pawl_wire_take_int(m);
  if (!pawl_wire_is_whole(m) || !name || w->ref >= 0) give_up(WORST);
  w->root->fetch = is_file ? fetch_module : NULL;
  w->root->fetch_ud = w;
  pawl_code rc = pawl_host_load_text(w->root, name, source, bundle, &w->limits,
                                     &l, &w->err);
  w->root->fetch = NULL;
  w->ref = l.ref;
  const size_t from = pawl_wire_begin(&w->ch.out, PAWL_WIRE_LOADED);
  add_failure(w, rc);
  if (rc == PAWL_OK) {
    pawl_wire_add_str(&w->ch.out, pawl_buf_str(&l.graph));
    pawl_wire_add_str(&w->ch.out, pawl_buf_str(&l.bundle));
    pawl_wire_add_str(&w->ch.out, pawl_buf_str(&l.others));
    pawl_loaded_deinit(&l);
  }
  end(w, from);
}

static standing *find(warden *w, int64_t serial) {
  for (int i = 0; i < w->nstanding; i++)
    if (w->standing[i].serial == serial) return &w->standing[i];
  return NULL;
}

static void note(warden *w, pawl_run *run) {
  standing *s = find(w, w->serial);
  if (!run) {
    if (s) *s = w->standing[--w->nstanding];
    return;
  }
  if (!s) {
    if (!PAWL_ROOM(NULL, w->standing, w->nstanding, w->standing_cap))
      give_up(WORST);
    s = &w->standing[w->nstanding++];
  }
  *s = (standing){w->serial, run};
}

/* The handler has ended, or waits. */
static void tell_done(warden *w, pawl_code rc, pawl_run *waiting) {
  pawl_buf *out = &w->ch.out;
  const size_t from = pawl_wire_begin(out, PAWL_WIRE_DONE);
  note(w, waiting);
  add_failure(w, rc);
  pawl_wire_add_int(out, waiting != NULL);
  if (waiting) {
    const pawl_await *await = pawl_run_await(waiting);
    pawl_wire_add_int(out, await->kind);
    pawl_wire_add_int(out, await->timeout_us);
  } else {
    pawl_wire_add_result(out, &w->result);
  }
  end(w, from);
}

static void run(warden *w, pawl_wire *m) {
  pawl_call call;
  pawl_run *waiting = NULL;
  int may_wait;
  pawl_code rc;
  w->serial = pawl_wire_take_int(m);
  may_wait = (int)pawl_wire_take_int(m);
  pawl_wire_take_call(m, &call);
  if (!pawl_wire_is_whole(m) || w->ref < 0) give_up(WORST);
  call.ref = w->ref;
  call.services = call.transactional ? &with_query : &services;
  call.services_ud = w;
  call.owner = (void *)(intptr_t)w->serial;
  rc = may_wait
           ? pawl_host_begin(w->root, &call, &w->result, &waiting, &w->err)
           : pawl_host_run(w->root, &call, &w->result, &w->err);
  tell_done(w, rc, waiting);
}

/* The one that an order is about, once all of that is read. */
static pawl_run *run_of(warden *w, const pawl_wire *m) {
  const standing *s = find(w, w->serial);
  if (pawl_wire_is_whole(m) && s) return s->run;
  give_up(WORST);
  return NULL;
}

static void resume(warden *w, pawl_wire *m) {
  pawl_error why;
  w->serial = pawl_wire_take_int(m);
  const int events = (int)pawl_wire_take_int(m);
  const int has_why = (int)pawl_wire_take_int(m);
  if (has_why) pawl_wire_take_error(m, &why);
  pawl_run *waiting = run_of(w, m);
  pawl_code rc = pawl_host_resume(&waiting, events, has_why ? &why : NULL,
                                  &w->result, &w->err);
  tell_done(w, rc, waiting);
}

static void abandon(warden *w, pawl_wire *m) {
  w->serial = pawl_wire_take_int(m);
  pawl_host_abandon(run_of(w, m));
  pawl_said_clear(&w->result);
  tell_done(w, PAWL_OK, NULL);
}

static void obey(warden *w, pawl_wire *m) {
  switch (m->kind) {
    case PAWL_WIRE_LEND:
      lend(w, m);
      break;
    case PAWL_WIRE_LOAD:
      load(w, m);
      break;
    case PAWL_WIRE_RUN:
      run(w, m);
      break;
    case PAWL_WIRE_RESUME:
      resume(w, m);
      break;
    case PAWL_WIRE_ABANDON:
      abandon(w, m);
      break;
    default:
      give_up(WORST);
  }
}

void pawl_isolate_serve(int fd, long parent, const pawl_options *start) {
  warden w;
  pawl_wire m;
  if (!pawl_fence_strip(fd, parent)) give_up(0);
  memset(&w, 0, sizeof w);
  w.ref = -1;
  w.start_options = start;
  pawl_channel_init(&w.ch, fd, NULL);
  pawl_said_init(&w.result, NULL);
  receive(&w, &m, &w.held);
  if (m.kind != PAWL_WIRE_SETUP) give_up(WORST);
  set_up(&w, &m);
  for (;;) {
    receive(&w, &m, &w.held);
    obey(&w, &m);
  }
}
