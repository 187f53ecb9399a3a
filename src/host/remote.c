#define _POSIX_C_SOURCE 200809L
#include "remote.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../value/json.h"
#include "answer_check.h"
#include "child.h"
#include "fence.h"
#include "wire.h"

enum {
  GRACE_US = 100 * 1000,       /* for what its own limits are to end */
  START_US = 10 * 1000 * 1000, /* on a machine that is busy */
  LOOK_US = 5 * 1000,          /* between two looks whether to stop */
  OLD_US = 40 * 1000 * 1000    /* of its life: fence.c gives it more */
};

struct pawl_remote {
  pawl_host *host;
  const pawl_limits *limits;
  const char *folder; /* while it loads a file */
  pawl_child child;
  pawl_channel ch;
  int is_loading;
  int is_loaded, nlent; /* what it was told of */
  pawl_run *runs;       /* all that there are */
  pawl_run *now;        /* the handler that runs there */
  int64_t serial;       /* the last that was given */
  int64_t used_us;
  size_t most[PAWL_WIRE_NKINDS]; /* bytes of what it may say now */
  int64_t ends_us;   /* nothing more is done for what it does now; */
  int64_t until_us;  /* by then it has said so, or it is killed */
  int nlogs;         /* while it loads */
  int is_heard;      /* it has said something since it was spoken to */
  int is_unsent;     /* nobody was there to be spoken to */
  unsigned refused;  /* codes that services gave it, as bits */
  pawl_code lost_rc; /* why its last process has ended */
  pawl_error lost;
};

/* ---- its end ---- */

static void lose_runs(pawl_remote *r) {
  for (pawl_run *run = r->runs; run; run = run->next) {
    if (!run->waits && run != r->now) continue;
    run->is_lost = 1;
    pawl_host_forget_asked(run);
  }
}

/* Whoever it was: from now on there is none. */
static void end_process(pawl_remote *r, pawl_code rc, const pawl_error *err) {
  r->lost_rc = rc;
  r->lost = *err;
  pawl_child_end(&r->child);
  pawl_channel_deinit(&r->ch);
  r->is_loaded = 0;
  lose_runs(r);
}

static pawl_code fail_died(pawl_remote *r, pawl_error *err) {
  char how[80];
  pawl_child_how(&r->child, how, sizeof how);
  pawl_fail_hint(err, PAWL_SCRIPT, "another attempt begins in a new one",
                 "the process that it runs in has died: %s", how);
  end_process(r, PAWL_SCRIPT, err);
  return PAWL_SCRIPT;
}

static pawl_code fail_wrong(pawl_remote *r, const char *what,
                            pawl_error *err) {
  pawl_fail_hint(err, PAWL_SCRIPT,
                 "do not run that workflow: what does so is "
                 "no script",
                 "the process that it runs in was ended: %s", what);
  end_process(r, PAWL_SCRIPT, err);
  return PAWL_SCRIPT;
}

static pawl_code fail_late(pawl_remote *r, pawl_error *err) {
  const pawl_meter meter = {.limits = r->limits, .met = PAWL_LIMIT_TIME};
  (void)pawl_meter_fail(&meter, err);
  end_process(r, PAWL_LIMIT, err);
  return PAWL_LIMIT;
}

static pawl_code fail_stopped(pawl_remote *r, pawl_error *err) {
  if (!r->now)
    pawl_bound_fail_interrupted(err);
  else
    pawl_fail_hint(err, PAWL_INTERRUPTED, "it is tried again later",
                   "the handler was stopped: its engine was interrupted");
  end_process(r, PAWL_INTERRUPTED, err);
  return PAWL_INTERRUPTED;
}

static pawl_code fail_memory(pawl_remote *r, pawl_error *err) {
  (void)pawl_fail_memory(err);
  end_process(r, PAWL_NOMEM, err);
  return PAWL_NOMEM;
}

/* ---- talking ---- */

/* A handler is stopped by what was said before it began, too. */
static int is_interrupted(const pawl_remote *r) {
  const pawl_host *host = r->host;
  if (!r->now) return r->is_loading && pawl_bound_is_interrupted(host);
  return host->interrupted && *host->interrupted;
}

/* Is it time to give up? Asked between any two calls of the system, and before
 * each message that is not the last: however its bytes flow. */
static pawl_code look(pawl_remote *r, pawl_error *err) {
  if (is_interrupted(r)) return fail_stopped(r, err);
  return pawl_clock_mono() < r->until_us ? PAWL_OK : fail_late(r, err);
}

/* Behind a service that was begun before its end: what that took is its time,
 * as within limits, and it has still GRACE_US to say so. There is one at most
 * that comes to lie across the end. */
static void extend(pawl_remote *r) {
  const int64_t least_us = pawl_clock_mono() + GRACE_US;
  if (r->until_us < least_us) r->until_us = least_us;
}

/* Nothing was done for LOOK_US, or a signal came. */
static int is_pause(int number) {
  return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

static pawl_code flush(pawl_remote *r, pawl_error *err) {
  if (r->ch.out.failed) return fail_memory(r, err);
  while (r->ch.out.len) {
    const int sent = pawl_channel_flush(&r->ch);
    if (sent == 0) {
      r->is_unsent = !r->is_heard;
      return fail_died(r, err);
    }
    if (sent < 0 && !is_pause(errno))
      return fail_wrong(r, strerror(errno), err);
    if (r->ch.out.len) MUST(look(r, err));
  }
  return PAWL_OK;
}

static pawl_code fill(pawl_remote *r, pawl_error *err) {
  const long n = pawl_channel_fill(&r->ch);
  if (n > 0 || (n < 0 && is_pause(errno))) return PAWL_OK;
  if (n < 0 && errno == ENOMEM) return fail_memory(r, err);
  return fail_died(r, err);
}

/* It speaks when it was spoken to, and waits behind an answer or a question:
 * what else there is would answer the next handler. */
static pawl_code check_silence(pawl_remote *r, pawl_error *err) {
  if (!pawl_channel_has_more(&r->ch)) return PAWL_OK;
  return fail_wrong(r, "it spoke out of turn", err);
}

/* The socket itself waits, and comes back each LOOK_US: one call of the system
 * for a message, and no other. One that is whole then is taken, although we
 * may have been late ourselves. */
static pawl_code receive(pawl_remote *r, pawl_wire *m, pawl_error *err) {
  int there = pawl_channel_next(&r->ch, r->most, m);
  while (there == 0) {
    MUST(fill(r, err));
    there = pawl_channel_next(&r->ch, r->most, m);
    if (there == 0) MUST(look(r, err));
  }
  r->is_heard = 1;
  return there > 0 ? PAWL_OK
                   : fail_wrong(
                         r, "it said too much, or what nobody asked for", err);
}

/* ---- what it asks ---- */

static pawl_run *find(pawl_remote *r, int64_t serial) {
  for (pawl_run *run = r->runs; run; run = run->next)
    if (run->serial == serial && (run == r->now || run->waits)) return run;
  return NULL;
}

static pawl_code check_json(pawl_str text, pawl_error *err) {
  pawl_json_kind kind;
  return pawl_json_check_depth(text, PAWL_VALUE_DEPTH, &kind, err);
}

static pawl_code serve_heartbeat(const pawl_call *call, pawl_wire *m,
                                 int64_t *n, pawl_error *err) {
  const pawl_str progress = pawl_wire_take_str(m);
  int cancelled = 0;
  if (progress.at) MUST(check_json(progress, err));
  MUST(call->services->heartbeat(call, progress, &cancelled, err));
  *n = cancelled;
  return PAWL_OK;
}

static pawl_code serve_cancelled(const pawl_call *call, int64_t *n,
                                 pawl_error *err) {
  int cancelled = 0;
  MUST(call->services->cancelled(call, &cancelled, err));
  *n = cancelled;
  return PAWL_OK;
}

static pawl_code serve_id(const pawl_call *call, pawl_buf *text,
                          pawl_error *err) {
  char id[37];
  MUST(call->services->new_id(call, id, err));
  pawl_buf_addz(text, id);
  return PAWL_OK;
}

static pawl_code serve_query(const pawl_remote *r, const pawl_call *call,
                             pawl_wire *m, int64_t *n, pawl_buf *text,
                             pawl_error *err) {
  const pawl_str sql = pawl_wire_take_str(m);
  const pawl_str params = pawl_wire_take_str(m);
  if (!r->limits->db || !call->transactional || !call->services->query ||
      !r->now || call != r->now->call)
    return pawl_fail(err, PAWL_LIMIT, "ctx.db is not granted");
  MUST(check_json(params, err));
  if (pawl_json_kind_of(params) != PAWL_JSON_ARRAY)
    return pawl_fail(err, PAWL_VALUE, "the parameters are no list");
  return call->services->query(call, sql, params, text, n, err);
}

/* *n: was anything given? */
static pawl_code serve_host(const pawl_remote *r, pawl_run *run, pawl_wire *m,
                            int64_t *n, pawl_buf *text, pawl_error *err) {
  const char *name = pawl_wire_take_text(m);
  const pawl_str input = pawl_wire_take_str(m);
  const int number = (int)pawl_wire_take_int(m);
  const int again = pawl_wire_take_int(m) != 0;
  const int gone = pawl_wire_take_int(m) != 0;
  const int waits = pawl_wire_take_int(m) != 0 && run->may_wait;
  char *out = NULL;
  if (gone) {
    pawl_host_forget_asked(run);
    return PAWL_OK;
  }
  if (!name || !pawl_names_match(r->limits->host, name))
    return pawl_fail(err, PAWL_LIMIT, "that function is not granted");
  MUST(check_json(input, err));
  pawl_code rc =
      pawl_host_ask_lent(run, name, input, number, again, waits, &out, err);
  *n = out != NULL;
  if (rc == PAWL_OK && out) pawl_buf_addz(text, out);
  pawl_free(NULL, out);
  return rc;
}

static pawl_code serve_module(const pawl_remote *r, pawl_wire *m,
                              pawl_buf *text, pawl_error *err) {
  const char *name = pawl_wire_take_text(m);
  if (!r->folder || !name)
    return pawl_fail(err, PAWL_NOTFOUND, "there is no such module");
  return pawl_source_read_module(r->folder, name, text, err);
}

static pawl_code serve(pawl_remote *r, pawl_wire_ask what, pawl_run *run,
                       pawl_wire *m, int64_t *n, pawl_buf *text,
                       pawl_error *err) {
  const pawl_call *call = run ? run->call : NULL;
  if (what == PAWL_ASK_MODULE) return serve_module(r, m, text, err);
  switch (what) {
    case PAWL_ASK_NOW:
      *n = call->services->now(call);
      return PAWL_OK;
    case PAWL_ASK_HEARTBEAT:
      return serve_heartbeat(call, m, n, err);
    case PAWL_ASK_CANCELLED:
      return serve_cancelled(call, n, err);
    case PAWL_ASK_ATTRS:
      return call->services->attrs(call, text, err);
    case PAWL_ASK_VISITS:
      return call->services->visits(call, n, err);
    case PAWL_ASK_PROGRESS:
      return call->services->progress(call, text, err);
    case PAWL_ASK_OUTPUT:
      return call->services->output(call, pawl_wire_take_str(m), text, err);
    case PAWL_ASK_CALLBACK:
      return call->services->callback(call, pawl_wire_take_str(m), text, err);
    case PAWL_ASK_NEW_ID:
      return serve_id(call, text, err);
    case PAWL_ASK_QUERY:
      return serve_query(r, call, m, n, text, err);
    default:
      return serve_host(r, run, m, n, text, err);
  }
}

/* ASK: says what came of it. */
static pawl_code reply(pawl_remote *r, pawl_wire *m, pawl_error *err) {
  const int64_t what = pawl_wire_take_int(m);
  pawl_run *run = find(r, pawl_wire_take_int(m));
  pawl_buf text = {.alloc = &r->host->alloc};
  pawl_error why;
  int64_t n = 0;
  pawl_code rc;
  if (what < 0 || what >= PAWL_NASKS || (!run && what != PAWL_ASK_MODULE))
    return fail_wrong(r, "it asked what nobody may ask", err);
  memset(&why, 0, sizeof why);
  rc = serve(r, (pawl_wire_ask)what, run, m, &n, &text, &why);
  extend(r);
  if (rc == PAWL_OK) rc = pawl_buf_check(&text, &why);
  if (!pawl_wire_is_whole(m)) {
    pawl_buf_deinit(&text);
    return fail_wrong(r, "its question was not whole", err);
  }
  if (rc != PAWL_OK) r->refused |= 1u << rc;
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_REPLY);
  pawl_wire_add_int(&r->ch.out, rc);
  if (rc != PAWL_OK) {
    why.code = rc;
    pawl_wire_add_error(&r->ch.out, &why);
  } else {
    pawl_wire_add_int(&r->ch.out, n);
    pawl_wire_add_str(&r->ch.out, pawl_buf_str(&text));
  }
  pawl_wire_end(&r->ch.out, from);
  pawl_buf_deinit(&text);
  return flush(r, err);
}

/* Each counts, whoever it is said to be of: what has no serial is of the
 * handler that runs. */
static int may_log(pawl_remote *r) {
  int *n = r->now ? &r->now->nlogs : &r->nlogs;
  return ++*n <= r->limits->effects + 100; /* some are Lua's own */
}

/* LOG */
static pawl_code take_log(pawl_remote *r, pawl_wire *m, pawl_error *err) {
  const int64_t serial = pawl_wire_take_int(m);
  const pawl_run *run = serial ? find(r, serial) : r->now;
  const int64_t level = pawl_wire_take_int(m);
  const char *message = pawl_wire_take_text(m);
  const char *fields = pawl_wire_take_text(m);
  pawl_error spare;
  if (!pawl_wire_is_whole(m) || !message || !fields || level < PAWL_DEBUG ||
      level > PAWL_ERROR || check_json(pawl_strz(fields), &spare) != PAWL_OK ||
      fields[0] != '{' || (serial && !run) || !may_log(r))
    return fail_wrong(r, "it logged what cannot be", err);
  if (run)
    run->call->services->log(run->call, (int)level, message, fields);
  else
    pawl_log_write(&r->host->log, (int)level, message, fields);
  return PAWL_OK;
}

/* What it says before it answers. */
static pawl_code attend(pawl_remote *r, pawl_wire *m, pawl_error *err) {
  const int is_over = pawl_clock_mono() > r->ends_us;
  MUST(look(r, err));
  if (m->kind == PAWL_WIRE_ASK) {
    if (is_over) return fail_late(r, err);
    MUST(check_silence(r, err));
    return reply(r, m, err);
  }
  assert(m->kind == PAWL_WIRE_LOG); /* as `expect` says */
  MUST(take_log(r, m, err));
  if (!is_over) extend(r);
  return PAWL_OK;
}

/* What may come before that is said, and that: each within its bounds, so that
 * room is made for nothing else. */
static void expect(pawl_remote *r, pawl_wire_kind wanted) {
  const pawl_wire_kind kinds[] = {PAWL_WIRE_LOG, PAWL_WIRE_ASK, wanted};
  memset(r->most, 0, sizeof r->most);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    r->most[kinds[i]] = pawl_wire_most(kinds[i], r->host->max_bytes);
}

/* Sends what is written, and serves until `wanted` is said, which it has `us`
 * for; less than none: of what it has then, to say that it is over. */
static pawl_code converse(pawl_remote *r, pawl_wire_kind wanted, int64_t us,
                          pawl_wire *m, pawl_error *err) {
  const int64_t began_us = pawl_clock_mono();
  int64_t served_us = 0;
  expect(r, wanted);
  r->ends_us = began_us + us;
  r->until_us = r->ends_us + GRACE_US;
  r->is_heard = r->is_unsent = 0;
  r->refused = 0;
  if (!pawl_channel_is_silent(&r->ch))
    return fail_wrong(r, "it spoke out of turn", err);
  MUST(flush(r, err));
  for (;;) {
    MUST(receive(r, m, err));
    if (m->kind == wanted) break;
    const int64_t before_us = pawl_clock_mono();
    MUST(attend(r, m, err));
    served_us += pawl_clock_mono() - before_us;
  }
  r->used_us += pawl_clock_mono() - began_us - served_us;
  return check_silence(r, err);
}

/* ---- its beginning ---- */

pawl_remote *pawl_remote_new(pawl_host *host, const pawl_limits *limits) {
  pawl_remote *r = pawl_calloc(&host->alloc, sizeof *r);
  if (!r) return NULL;
  r->host = host;
  r->limits = limits;
  pawl_channel_init(&r->ch, -1, &host->alloc);
  return r;
}

static void free_run(pawl_run *run) {
  pawl_buf_deinit(&run->text);
  pawl_buf_deinit(&run->before);
  pawl_release(&run->host->alloc, run, sizeof *run);
}

void pawl_remote_kill(pawl_remote *r) {
  if (r->host->pid == getpid()) pawl_child_kill(&r->child);
}

void pawl_remote_free(pawl_remote *r) {
  pawl_error err;
  if (!r) return;
  const pawl_alloc *alloc = &r->host->alloc;
  pawl_fail(&err, PAWL_SCRIPT, "its workflow is no longer loaded");
  if (r->host->pid == getpid())
    end_process(r, PAWL_SCRIPT, &err);
  else /* a copy of who made it: the process is the other's */
    pawl_channel_deinit(&r->ch);
  while (r->runs) {
    pawl_run *run = r->runs;
    r->runs = run->next;
    free_run(run);
  }
  pawl_release(alloc, r, sizeof *r);
}

int pawl_remote_is_up(const pawl_remote *r) {
  return r->is_loaded;
}

/* Its first words: is it one of ours, and behind which fence? */
static pawl_code take_ready(pawl_remote *r, pawl_wire *m, pawl_error *err) {
  char lacks[80], line[200];
  const char *version = pawl_wire_take_text(m);
  const int held = (int)pawl_wire_take_int(m);
  if (!pawl_wire_is_whole(m) || !version ||
      strcmp(version, PAWL_WIRE_VERSION) != 0) {
    pawl_fail_hint(
        err, PAWL_UNSUPPORTED,
        "trust, helper = the `pawl` of this very version",
        "isolated trust: %s is of another version than this program",
        pawl_child_program(r->limits->helper));
    end_process(r, PAWL_UNSUPPORTED, err);
    return PAWL_UNSUPPORTED;
  }
  if (*pawl_fence_lacks(held, lacks, sizeof lacks)) {
    snprintf(line, sizeof line, "isolated trust: this system has no %s",
             lacks);
    pawl_log_write(&r->host->log, PAWL_DEBUG, line, NULL);
  }
  return PAWL_OK;
}

static pawl_code start(pawl_remote *r, pawl_error *err) {
  pawl_wire m;
  int fd;
  assert(r->ch.fd < 0);
  r->used_us = 0;
  r->nlent = r->nlogs = 0;
  MUST(pawl_child_start(&r->child, r->limits->helper, LOOK_US, &fd, err));
  pawl_channel_init(&r->ch, fd, &r->host->alloc);
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_SETUP);
  pawl_wire_add_str(&r->ch.out, pawl_strz(PAWL_WIRE_VERSION));
  pawl_wire_add_int(&r->ch.out, (int64_t)r->host->max_bytes);
  pawl_wire_add_limits(&r->ch.out, r->limits);
  pawl_wire_end(&r->ch.out, from);
  pawl_code rc = converse(r, PAWL_WIRE_READY, START_US, &m, err);
  if (rc == PAWL_OK) return take_ready(r, &m, err);
  if (rc != PAWL_SCRIPT) return rc;
  return pawl_fail_hint(
      err, PAWL_UNSUPPORTED,
      "trust, helper = the `pawl` of this very version: that is what it runs",
      "isolated trust: %s does not do for it",
      pawl_child_program(r->limits->helper));
}

/* ---- loading ---- */

static void begin_texts(pawl_remote *r, pawl_loaded *out) {
  memset(out, 0, sizeof *out);
  out->ref = -1;
  out->graph.alloc = out->source.alloc = &r->host->alloc;
  out->bundle.alloc = out->others.alloc = &r->host->alloc;
}

static pawl_code take_loaded(pawl_remote *r, pawl_wire *m, pawl_loaded *out,
                             pawl_error *err) {
  pawl_error why, spare;
  const int64_t rc = pawl_wire_take_int(m);
  if (rc != PAWL_OK) {
    pawl_wire_take_error(m, &why);
    if (!pawl_wire_is_whole(m) || rc != why.code)
      return fail_wrong(r, "its answer was not whole", err);
    pawl_answer_mend_error(&why);
    if (err) *err = why;
    return why.code == PAWL_NOMEM || why.code == PAWL_INTERRUPTED
               ? PAWL_DEFINITION
               : why.code;
  }
  const pawl_str graph = pawl_wire_take_str(m);
  const pawl_str bundle = pawl_wire_take_str(m);
  const pawl_str others = pawl_wire_take_str(m);
  if (!pawl_wire_is_whole(m) || check_json(graph, &spare) != PAWL_OK ||
      check_json(bundle, &spare) != PAWL_OK ||
      check_json(others, &spare) != PAWL_OK || bundle.at[0] != '{' ||
      others.at[0] != '{' || graph.at[0] != '{')
    return fail_wrong(r, "its definition was not whole", err);
  pawl_buf_adds(&out->graph, graph);
  pawl_buf_adds(&out->bundle, bundle);
  pawl_buf_adds(&out->others, others);
  MUST(pawl_buf_check(&out->graph, err));
  MUST(pawl_buf_check(&out->bundle, err));
  return pawl_buf_check(&out->others, err);
}

pawl_code pawl_remote_load(pawl_remote *r, const char *name, pawl_str source,
                           pawl_str bundle, const char *folder,
                           pawl_loaded *out, pawl_error *err) {
  pawl_error spare;
  pawl_wire m;
  if (!err) err = &spare;
  begin_texts(r, out);
  MUST(start(r, err));
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_LOAD);
  pawl_wire_add_str(&r->ch.out, pawl_strz(name));
  pawl_wire_add_str(&r->ch.out, source);
  pawl_wire_add_str(&r->ch.out, bundle);
  pawl_wire_add_int(&r->ch.out, folder != NULL);
  pawl_wire_end(&r->ch.out, from);
  r->folder = folder;
  /* our own modules are loaded besides, before its time begins */
  pawl_bound_begin(r->host);
  r->is_loading = 1;
  pawl_code rc = converse(r, PAWL_WIRE_LOADED,
                          r->limits->time_us + START_US / 5, &m, err);
  r->is_loading = 0;
  rc = pawl_bound_end(r->host, rc, err);
  r->folder = NULL;
  if (rc == PAWL_OK) rc = take_loaded(r, &m, out, err);
  r->is_loaded = rc == PAWL_OK;
  if (rc == PAWL_OK) return PAWL_OK;
  if (r->ch.fd >= 0) end_process(r, rc, err);
  pawl_loaded_deinit(out);
  return rc;
}

/* ---- running ---- */

static void tell_lent(pawl_remote *r) {
  const char *name;
  while ((name = pawl_host_lent_name(r->host, r->nlent)) != NULL) {
    const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_LEND);
    pawl_wire_add_str(&r->ch.out, pawl_strz(name));
    pawl_wire_end(&r->ch.out, from);
    r->nlent++;
  }
}

static pawl_run *take_run(pawl_remote *r) {
  pawl_run *run = r->runs;
  while (run && run->serial) run = run->next;
  if (!run) {
    run = pawl_calloc(&r->host->alloc, sizeof *run);
    if (!run) return NULL;
    run->host = r->host;
    run->remote = r;
    run->text.alloc = run->before.alloc = &r->host->alloc;
    run->next = r->runs;
    r->runs = run;
  }
  run->serial = ++r->serial;
  run->waits = run->is_lost = run->asking = run->nasked = run->nlogs = 0;
  run->asked = NULL;
  run->told = 0;
  return run;
}

static void give_back(pawl_run *run) {
  run->serial = 0;
  run->waits = 0;
  run->call = NULL;
}

static int is_waited_in(const pawl_remote *r) {
  for (const pawl_run *run = r->runs; run; run = run->next)
    if (run->waits) return 1;
  return 0;
}

/* One that has run for long is followed by another, before its limits end
 * it. */
static void retire(pawl_remote *r) {
  pawl_error err;
  if (!r->is_loaded || r->used_us < OLD_US || is_waited_in(r)) return;
  pawl_fail(&err, PAWL_SCRIPT, "its process has run for long");
  end_process(r, PAWL_SCRIPT, &err);
}

/* What a failure may be: the script's, or what somebody told it. */
static pawl_code code_of(const pawl_run *run, pawl_code rc, pawl_error *err) {
  const pawl_remote *r = run->remote;
  static const unsigned own = 1u << PAWL_SCRIPT | 1u << PAWL_VALUE |
                              1u << PAWL_LIMIT | 1u << PAWL_NO_HANDLER |
                              1u << PAWL_MISUSE | 1u << PAWL_INVALID |
                              1u << PAWL_CORRUPT;
  const pawl_meter meter = {.limits = r->limits, .met = PAWL_LIMIT_MEMORY};
  if ((own | r->refused | run->told) & 1u << rc) return rc;
  if (rc == PAWL_NOMEM) return pawl_meter_fail(&meter, err);
  return err->code = PAWL_SCRIPT;
}

static pawl_code take_waits(pawl_remote *r, pawl_run *run, pawl_wire *m,
                            pawl_error *err) {
  const int64_t kind = pawl_wire_take_int(m);
  const int64_t timeout_us = pawl_wire_take_int(m);
  if (!pawl_wire_is_whole(m) || !run->may_wait || timeout_us < -1 ||
      (kind != PAWL_AWAIT_TIME && kind != PAWL_AWAIT_PREDICATE) ||
      (!r->limits->await && !run->asking))
    return fail_wrong(r, "it waits for what it may not", err);
  run->await =
      (pawl_await){.kind = (pawl_await_kind)kind, .timeout_us = timeout_us};
  run->waits = 1;
  return PAWL_OK;
}

/* DONE */
static pawl_code take_done(pawl_remote *r, pawl_run *run, pawl_wire *m,
                           pawl_said *result, pawl_error *err) {
  pawl_error why;
  const int64_t said = pawl_wire_take_int(m);
  pawl_code rc = PAWL_OK;
  if (said != PAWL_OK) {
    pawl_wire_take_error(m, &why);
    if (!m->is_bad) rc = why.code;
  }
  if (pawl_wire_take_int(m)) {
    if (rc != PAWL_OK) return fail_wrong(r, "it failed, and waits", err);
    return take_waits(r, run, m, err);
  }
  pawl_wire_take_result(m, result);
  if (!pawl_wire_is_whole(m) || rc != (pawl_code)said)
    return fail_wrong(r, "its answer was not whole", err);
  if (rc != PAWL_OK) {
    pawl_answer_mend_error(&why);
    pawl_answer_mend_failure(result);
    rc = code_of(run, rc, &why);
    *err = why;
    return rc;
  }
  rc = pawl_answer_judge(r->host, r->limits, run->call, result);
  if (rc == PAWL_NOMEM) return pawl_fail_memory(err);
  return rc == PAWL_OK ? PAWL_OK
                       : fail_wrong(r, "its answer was no answer", err);
}

/* Of its time, once it has waited; of its grace too, if it has used that: all
 * its calls have one. */
static int64_t left_us(const pawl_remote *r) {
  return r->until_us - GRACE_US - pawl_clock_mono();
}

/* Sends what is written for it, and takes what comes of it. */
static pawl_code play(pawl_remote *r, pawl_run *run, pawl_said *result,
                      pawl_run **waiting, pawl_error *err) {
  pawl_host *host = r->host;
  pawl_wire m;
  pawl_code rc;
  *waiting = NULL;
  run->waits = 0;
  r->now = run;
  host->running++;
  rc = converse(r, PAWL_WIRE_DONE, run->left_us, &m, err);
  if (rc == PAWL_OK) rc = take_done(r, run, &m, result, err);
  if (rc == PAWL_OK && run->waits && run->call != &run->own)
    rc = pawl_run_keep_call(run, err);
  host->running--;
  r->now = NULL;
  if (rc == PAWL_OK && run->waits) {
    run->left_us = left_us(r);
    *waiting = run;
    return PAWL_OK;
  }
  if (rc != PAWL_OK) pawl_said_drop_effects(result);
  if (run->waits) { /* without memory for it */
    run->waits = 0;
    end_process(r, rc, err);
  }
  if (rc != PAWL_OK && run->is_lost)
    result->no_retry = 0; /* the next attempt has a process of its own */
  give_back(run);
  retire(r);
  return rc;
}

pawl_code pawl_remote_begin(pawl_remote *r, const pawl_call *call,
                            int may_wait, pawl_said *result,
                            pawl_run **waiting, int *is_stale,
                            pawl_error *err) {
  pawl_error spare;
  pawl_run *run = take_run(r);
  if (!err) err = &spare;
  *is_stale = 0;
  if (!run) return pawl_fail_memory(err);
  run->call = call;
  run->may_wait =
      may_wait && !pawl_handler_is_pure(call->handler) && !call->transactional;
  run->left_us = r->limits->time_us;
  tell_lent(r);
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_RUN);
  pawl_wire_add_int(&r->ch.out, run->serial);
  pawl_wire_add_int(&r->ch.out, may_wait);
  pawl_wire_add_call(&r->ch.out, call);
  pawl_wire_end(&r->ch.out, from);
  pawl_code rc = play(r, run, result, waiting, err);
  /* it was gone before it could have read that */
  *is_stale = rc == PAWL_SCRIPT && !r->is_loaded && r->is_unsent;
  return rc;
}

/* Why one that waited cannot go on. */
static pawl_code tell_lost(pawl_run *run, pawl_run **waiting,
                           pawl_said *result, pawl_error *err) {
  const pawl_remote *r = run->remote;
  pawl_code rc = r->lost_rc == PAWL_INTERRUPTED || r->lost_rc == PAWL_NOMEM
                     ? r->lost_rc
                     : PAWL_SCRIPT;
  *err = r->lost;
  err->code = rc;
  if (r->lost_rc == PAWL_LIMIT)
    pawl_error_prefix(err, "it waited where another handler took too much");
  pawl_said_clear(result);
  give_back(run);
  *waiting = NULL;
  return rc;
}

pawl_code pawl_remote_resume(pawl_run **waiting, int events,
                             const pawl_error *why, pawl_said *result,
                             pawl_error *err) {
  pawl_error spare;
  pawl_run *run = *waiting;
  pawl_remote *r = run->remote;
  if (!err) err = &spare;
  if (r->host->running)
    return pawl_fail(err, PAWL_MISUSE,
                     "a handler of this engine is running already");
  pawl_said_clear(result);
  if (run->is_lost) return tell_lost(run, waiting, result, err);
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_RESUME);
  pawl_wire_add_int(&r->ch.out, run->serial);
  pawl_wire_add_int(&r->ch.out, events);
  pawl_wire_add_int(&r->ch.out, why != NULL);
  if (why) pawl_wire_add_error(&r->ch.out, why);
  pawl_wire_end(&r->ch.out, from);
  if (why) run->told |= 1u << why->code;
  return play(r, run, result, waiting, err);
}

void pawl_remote_abandon(pawl_run *run) {
  pawl_remote *r = run->remote;
  pawl_error err;
  pawl_wire m;
  if (run->is_lost) {
    give_back(run);
    return;
  }
  const size_t from = pawl_wire_begin(&r->ch.out, PAWL_WIRE_ABANDON);
  pawl_wire_add_int(&r->ch.out, run->serial);
  pawl_wire_end(&r->ch.out, from);
  r->now = run;
  r->host->running++;
  (void)converse(r, PAWL_WIRE_DONE, run->left_us > 0 ? run->left_us : 0, &m,
                 &err);
  r->host->running--;
  r->now = NULL;
  pawl_host_forget_asked(run);
  give_back(run);
  retire(r);
}
