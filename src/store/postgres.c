/* The PostgreSQL driver. Only what steers the session itself (begin, commit,
 * settings) is spelled here; every other statement is in sql/postgres.
 *
 * Units    The connection is in pipeline mode all the time. A BATCH is one
 *          implicit transaction: everything up to one sync, in one round trip;
 *          the next may be sent before its answers are read, which is done in
 *          order, by whoever reads first.
 *          An OPEN unit sends BEGIN with its first statement and a sync behind
 *          every one. (BEGIN ... COMMIT in one batch would leave the session
 *          in a failed transaction after an error.)
 * Poolers  In transaction mode one hands us another session when it has passed
 *          on the answer to a sync, whatever we have sent behind that sync.
 *          C5 So nothing is sent there before the answers to all units that
 *          were submitted have been read; they are, when the next one begins.
 *          One that nobody told of is found out before anything is asked of a
 *          session that others share. */
#define _POSIX_C_SOURCE 200809L /* poll */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/fault.h"
#include "drivers.h"
#include "failure.h"
#include "pgconn.h"
#include "pgguard.h"
#include "pgschema.h"
#include "pgsession.h"
#include "pgurl.h"
#include "pgwire.h"

#define pq pawl_pq
#define LOOK_LIMIT (50000) /* between looks at *stop */

/* ---- the connection ---- */

typedef enum op_kind {
  OP_BEGIN,
  OP_PREPARE,
  OP_EXEC,
  OP_PLAIN,
  OP_QUERY,
  OP_COMMIT,
  OP_SYNC
} op_kind;

/* One thing that an answer is expected for, in order. */
typedef struct op {
  op_kind kind;
  pawl_stmt stmt; /* of PREPARE, EXEC, SKIP */
  int counted;    /* of EXEC: as the arguments' */
} op;

enum { UNPREPARED, PREPARING, PREPARED };

/* A unit of work, and what came of it. */
typedef struct unit {
  int kind; /* PAWL_UNIT_... */
  int did_anything;
  int is_told;   /* what a unit is told behind a pooler: pgsession.h */
  int has_query; /* a user's own statement ran in it */
  op *ops;       /* not answered yet */
  int nops, ops_cap;
  pawl_results results;
  PGresult **kept; /* what results' cells point into */
  int nkept, kept_cap;
  int is_answered; /* of a submitted one: rc and err are its end */
  pawl_code rc;
  pawl_error err;
} unit;

enum { NUNITS = PAWL_MAX_SUBMITTED + 1 };

/* Under a name of its own: the other driver's may be compiled along. */
typedef struct client {
  const pawl_alloc *alloc;
  const pawl_log *log;
  const char *schema; /* NULL: the one that statements are written for */
  pawl_buf texts[PAWL_NSTMTS]; /* of another one, as they are asked for */
  PGconn *pg;
  int relaxed; /* commits need not be on disk; not behind a pooler */
  pawl_unsaved *unsaved;
  int pooler;
  int is_lost;
  int is_listening;
  int is_deaf; /* a replica takes no LISTEN */
  int is_due;  /* somebody has told so while an end was awaited */
  pawl_driver_options *options;
  unit units[NUNITS];
  unit *open;    /* between begin and commit; NULL: none */
  unit *reading; /* whose answers come in */
  unit *shown;   /* whose rows can be asked for */
  unit *submitted[PAWL_MAX_SUBMITTED]; /* oldest first */
  int nsubmitted;
  int begin_due; /* OPEN, SNAPSHOT: BEGIN goes out with the first statement */
  int in_transaction;     /* it has */
  int nqueued;            /* sent without a sync behind */
  int forget_prepared;    /* what was prepared must be thrown away first */
  int64_t replan_mono_us; /* plans are made anew then */
  unsigned char prepared[PAWL_NSTMTS];
  unsigned char checked[PAWL_NSTMTS]; /* its columns were as declared */
  pawl_buf bytes;                     /* encoded arguments */
  pawl_counts *counts;
  PGresult *query; /* of the user's own statement */
  pawl_answer answer;
} client;

static client *of(pawl_conn *conn) {
  return (client *)conn;
}

/* The first failure of a batch; what follows it is only its echo. */
typedef struct verdict {
  pawl_code rc;
  int is_ours; /* the server was content; we could not read its answer */
  pawl_error *err;
} verdict;

/* For the one reason or the other, which it is for whatever is asked of it
 * later, too. */
static void lose(client *c, int is_short) {
  if (!c->is_lost) c->options->is_short = is_short;
  c->is_lost = 1;
}

static pawl_code fail_lost(client *c, const char *why, pawl_error *err) {
  lose(c, pawl_pgconn_is_short(c->pg));
  return c->options->is_short ? pawl_failure_short(err)
                              : pawl_pgconn_fail_lost(why, err);
}

/* Servers without limits of their own get ours, so that a worker that hangs
 * lets go of its rows. The last one makes a server notice that its client is
 * dead; only Linux ones are able to. */
static const char settings[] =
    "select set_config(name, value, false) from (values"
    " ('statement_timeout', '60s'),"
    " ('idle_in_transaction_session_timeout', '30s'),"
    " ('client_connection_check_interval', '5s')) as s (name, value)"
    " where current_setting(name) = '0' and"
    " (name not like 'client%' or version() like '%linux%')";

#define REPLAN_EVERY_US (2 * PAWL_SECOND)

/* ---- the wire ---- */

/* The next result, or NULL behind a statement's last one. */
static pawl_code next_result(client *c, PGresult **res, pawl_error *err) {
  *res = NULL;
  /* When the server said why it hangs up, its words are still to be read. */
  if (!pawl_pgconn_pump(c->pg, PAWL_PG_ANSWERED) && pq.isBusy(c->pg))
    return fail_lost(c, "the connection was lost", err);
  *res = pq.getResult(c->pg);
  if (!*res && pq.status(c->pg) == CONNECTION_BAD)
    return fail_lost(c, "the connection was lost", err);
  return PAWL_OK;
}

static int add_op(client *c, op_kind kind, pawl_stmt stmt) {
  unit *u = c->open;
  if (!PAWL_ROOM(c->alloc, u->ops, u->nops, u->ops_cap)) return 0;
  u->ops[u->nops++] = (op){.kind = kind, .stmt = stmt};
  return 1;
}

/* C5: may anything be sent now? */
static int may_send(const client *c) {
  for (int i = 0; c->pooler && i < c->nsubmitted; i++)
    if (!c->submitted[i]->is_answered) return 0;
  return 1;
}

/* libpq refuses to queue more when it has no memory or no connection. */
static pawl_code queued(client *c, int sent, pawl_error *err) {
  assert(may_send(c)); /* C5 */
  if (!sent) return fail_lost(c, "the connection was lost", err);
  c->nqueued++;
  c->open->did_anything = 1;
  return PAWL_OK;
}

static pawl_code queue_plain(client *c, op_kind kind, const char *sql,
                             pawl_error *err) {
  if (!add_op(c, kind, (pawl_stmt)0)) return pawl_failure_memory(err);
  return queued(
      c, pq.sendQueryParams(c->pg, sql, 0, NULL, NULL, NULL, NULL, 0), err);
}

/* What a session of our own has, the path first: what follows it calls
 * functions. */
static pawl_code queue_session(client *c, pawl_error *err) {
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_PATH, err));
  MUST(queue_plain(c, OP_PLAIN, settings, err));
  if (c->relaxed)
    MUST(queue_plain(c, OP_PLAIN, "set synchronous_commit to off", err));
  return queue_plain(c, OP_PLAIN, PAWL_PG_SETTINGS, err);
}

/* What must go out before the unit's first statement. */
static pawl_code queue_begin(client *c, pawl_error *err) {
  if (c->begin_due && c->open->kind == PAWL_UNIT_SNAPSHOT) {
    /* the first of all: what a transaction is to be is not said later */
    MUST(queue_plain(c, OP_BEGIN,
                     "begin isolation level repeatable read read only", err));
    c->begin_due = 0;
    c->in_transaction = 1;
  }
  if (c->forget_prepared) {
    MUST(queue_plain(c, OP_PLAIN, "deallocate all", err));
    c->forget_prepared = 0;
  }
  if (!c->pooler && !c->in_transaction &&
      pawl_clock_mono() >= c->replan_mono_us) {
    c->replan_mono_us = pawl_clock_mono() + REPLAN_EVERY_US;
    MUST(queue_plain(c, OP_PLAIN, "discard plans", err));
  }
  if (c->begin_due) {
    MUST(queue_plain(c, OP_BEGIN, "begin", err));
    c->begin_due = 0;
    c->in_transaction = 1;
  }
  if (c->pooler && !c->open->is_told) {
    MUST(queue_plain(c, OP_PLAIN, PAWL_PG_UNIT, err));
    c->open->is_told = 1;
  }
  return PAWL_OK;
}

/* Keeps a result as long as its unit: cells point into it. */
static int keep(client *c, PGresult *res) {
  unit *u = c->reading;
  if (!PAWL_ROOM(c->alloc, u->kept, u->nkept, u->kept_cap)) return 0;
  u->kept[u->nkept++] = res;
  return 1;
}

/* ---- answers ---- */

static void fail_op(client *c, const op *o, const PGresult *res, verdict *v) {
  const char *what = o->kind == OP_PREPARE || o->kind == OP_EXEC
                         ? pawl_stmts[o->stmt].name
                     : o->kind == OP_QUERY ? "query"
                                           : "transaction";
  const char *state = pq.resultErrorField(res, PG_DIAG_SQLSTATE);
  if (v->rc != PAWL_OK && !v->is_ours) return;
  v->is_ours = 0;
  if (pawl_pgconn_is_short_answer(res)) {
    lose(c, 1);
    v->rc = pawl_failure_short(v->err);
    return;
  }
  v->rc = pawl_pgconn_fail_result(what, res, v->err);
  if (o->kind == OP_EXEC && pawl_stmts[o->stmt].every && state &&
      strcmp(state, "22012") == 0)
    v->rc = pawl_failure_every(o->stmt, v->err);
  /* A migration has changed a table under a cached plan ("must not change
   * result type"), or somebody threw our statements away. */
  if (state && (strcmp(state, "0A000") == 0 || strcmp(state, "26000") == 0 ||
                strcmp(state, "42P05") == 0))
    c->forget_prepared = !c->pooler;
}

static pawl_code add_rows(client *c, const op *o, PGresult *res,
                          pawl_error *err) {
  if (!c->checked[o->stmt]) MUST(pawl_pgwire_check(o->stmt, res, err));
  c->checked[o->stmt] = 1;
  return pawl_pgwire_add_rows(&c->bytes, o->stmt, o->counted, res,
                              &c->reading->results, err);
}

/* Takes one good answer; `res` is consumed. */
static pawl_code take(client *c, const op *o, PGresult *res, pawl_error *err) {
  if (o->kind == OP_EXEC) {
    if (!keep(c, res)) {
      pq.clear(res);
      return pawl_failure_memory(err);
    }
    return add_rows(c, o, res, err);
  }
  if (o->kind == OP_QUERY) {
    if (c->query) pq.clear(c->query);
    c->query = res;
    return PAWL_OK;
  }
  if (o->kind == OP_PREPARE) c->prepared[o->stmt] = PREPARED;
  pq.clear(res);
  return PAWL_OK;
}

static void take_good(client *c, const op *o, PGresult *res, verdict *v) {
  pawl_code rc = PAWL_OK;
  if (o->kind == OP_COMMIT && strcmp(pq.cmdStatus(res), "COMMIT") != 0)
    rc = pawl_fail_as(v->err, PAWL_STORE, "25P02", "",
                      "COMMIT was answered with %s: nothing was stored",
                      pq.cmdStatus(res));
  if (v->rc == PAWL_OK) v->rc = rc;
  rc = take(c, o, res, v->rc == PAWL_OK ? v->err : NULL);
  if (v->rc != PAWL_OK || rc == PAWL_OK) return;
  v->rc = rc;
  v->is_ours = 1;
}

/* Reads one operation's answers, up to the NULL behind them. */
static pawl_code read_op(client *c, const op *o, verdict *v) {
  PGresult *res;
  for (;;) {
    MUST(next_result(c, &res, v->rc == PAWL_OK ? v->err : NULL));
    if (!res) return PAWL_OK;
    ExecStatusType status = pq.resultStatus(res);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      take_good(c, o, res, v);
      continue;
    }
    if (status != PGRES_PIPELINE_ABORTED) fail_op(c, o, res, v);
    pq.clear(res);
    if (c->is_lost) return PAWL_UNREACHABLE; /* what follows may not fit */
  }
}

/* A commit can still fail here: deferred constraints, serialisation. */
static pawl_code read_sync(client *c, const op *o, verdict *v) {
  PGresult *res;
  for (int nulls = 0; nulls < 3;) { /* one stands before, one may behind */
    MUST(next_result(c, &res, v->rc == PAWL_OK ? v->err : NULL));
    if (!res) {
      nulls++;
      continue;
    }
    ExecStatusType status = pq.resultStatus(res);
    if (status == PGRES_FATAL_ERROR) fail_op(c, o, res, v);
    pq.clear(res);
    if (status == PGRES_PIPELINE_SYNC) return PAWL_OK;
  }
  return fail_lost(c, "the answers do not match the questions",
                   v->rc == PAWL_OK ? v->err : NULL);
}

/* A batch that the server stored although we cannot tell its results must not
 * look like one that failed. */
static pawl_code fail_unread(client *c, const verdict *v) {
  if (!v->is_ours || c->reading->kind != PAWL_UNIT_BATCH) return v->rc;
  lose(c, v->rc == PAWL_NOMEM);
  if (c->options->is_short) return pawl_failure_short(v->err);
  if (v->err) v->err->code = PAWL_UNREACHABLE;
  return PAWL_UNREACHABLE;
}

/* Reads a unit's answers. What was being prepared and was not answered is not
 * prepared: an aborted pipeline does not prepare, either. */
static pawl_code read_unit(client *c, unit *u, pawl_error *err) {
  verdict v = {PAWL_OK, 0, err};
  pawl_code rc = PAWL_OK;
  c->reading = u;
  for (int i = 0; i < u->nops && rc == PAWL_OK; i++) {
    if (u->ops[i].kind == OP_SYNC)
      rc = read_sync(c, &u->ops[i], &v);
    else
      rc = read_op(c, &u->ops[i], &v);
  }
  for (int i = 0; i < u->nops; i++)
    if (u->ops[i].kind == OP_PREPARE &&
        c->prepared[u->ops[i].stmt] == PREPARING)
      c->prepared[u->ops[i].stmt] = UNPREPARED;
  u->nops = 0;
  /* What the server said before it went away is more than that it is gone:
   * a statement that failed has undone the whole. */
  if (rc != PAWL_OK && (v.rc == PAWL_OK || v.is_ours)) return rc;
  if (v.rc == PAWL_UNREACHABLE) lose(c, 0);
  return fail_unread(c, &v);
}

/* The answer to a submitted unit, for `finish` to tell. */
static void answer(client *c, unit *u) {
  if (u->is_answered) return;
  u->rc = c->is_lost ? fail_lost(c, "the connection was lost", &u->err)
                     : read_unit(c, u, &u->err);
  u->is_answered = 1;
}

static void answer_submitted(client *c) {
  for (int i = 0; i < c->nsubmitted; i++) answer(c, c->submitted[i]);
}

/* Reads the answers to everything sent, in order. */
static pawl_code read_all(client *c, pawl_error *err) {
  answer_submitted(c);
  c->nqueued = 0;
  if (c->is_lost) return fail_lost(c, "the connection was lost", err);
  return read_unit(c, c->open, err);
}

/* A sync behind what is queued, and all the answers. */
static pawl_code sync(client *c, pawl_error *err) {
  if (c->nqueued > 0) {
    c->counts->trips++;
    if (!add_op(c, OP_SYNC, (pawl_stmt)0)) return pawl_failure_memory(err);
    if (!pq.pipelineSync(c->pg))
      return fail_lost(c, "the connection was lost", err);
  }
  return read_all(c, err);
}

static pawl_code run_plain(client *c, const char *sql, pawl_error *err) {
  MUST(queue_plain(c, OP_PLAIN, sql, err));
  return sync(c, err);
}

/* The server's process as a statement sees it, and as the handshake told: a
 * pooler hands out numbers of its own, so that it knows whom to cancel. What
 * cannot be told from one in transaction mode is taken for one: all is right
 * then, if slower. */
static pawl_code find_pooler(client *c, int *pooler, pawl_error *err) {
  static const char ask[] = "select pg_catalog.pg_backend_pid()";
  pawl_error why;

  if (!add_op(c, OP_QUERY, (pawl_stmt)0)) return pawl_failure_memory(err);
  MUST(queued(c, pq.sendQueryParams(c->pg, ask, 0, NULL, NULL, NULL, NULL, 0),
              err));
  MUST(sync(c, err));
  int pid = atoi(pq.getvalue(c->query, 0, 0));
  *pooler = PAWL_POOLER_NONE;
  if (pid == pq.backendPID(c->pg)) return PAWL_OK;
  *pooler = PAWL_POOLER_SHARED;
  (void)pawl_fail(&why, PAWL_UNSUPPORTED, "sessions may be shared");
  pawl_error_hint(&why,
                  "say so with pooler = true (--pooler, PAWL_POOLER=1); or "
                  "with false (PAWL_POOLER=0) that each client keeps its "
                  "session: then workers are woken by others");
  pawl_log_error(c->log, PAWL_WARN, "a pooler stands before the store", &why);
  return PAWL_OK;
}

/* ---- open and close ---- */

static pawl_code begin_session(client *c, int *pooler, pawl_error *err) {
  if (*pooler == PAWL_POOLER_UNKNOWN) MUST(find_pooler(c, pooler, err));
  c->pooler = *pooler == PAWL_POOLER_SHARED;
  if (c->pooler) return PAWL_OK;
  MUST(queue_session(c, err));
  return sync(c, err);
}

static void clear_results(unit *u) {
  for (int i = 0; i < u->nkept; i++) pq.clear(u->kept[i]);
  u->nkept = 0;
  pawl_results_clear(&u->results);
}

static void clear_unit(unit *u) {
  clear_results(u);
  u->nops = 0;
  u->did_anything = u->is_answered = u->is_told = u->has_query = 0;
}

static void deinit_unit(client *c, unit *u) {
  clear_unit(u);
  pawl_results_deinit(&u->results);
  pawl_release(c->alloc, u->ops, (size_t)u->ops_cap * sizeof *u->ops);
  pawl_release(c->alloc, u->kept, (size_t)u->kept_cap * sizeof *u->kept);
}

static void postgres_close(pawl_conn *conn) {
  client *c = of(conn);
  if (!c) return;
  for (int i = 0; i < NUNITS; i++) deinit_unit(c, &c->units[i]);
  if (c->query) pq.clear(c->query);
  if (c->pg) pq.finish(c->pg);
  pawl_answer_deinit(&c->answer);
  pawl_buf_deinit(&c->bytes);
  for (int i = 0; i < PAWL_NSTMTS; i++) pawl_buf_deinit(&c->texts[i]);
  pawl_release(c->alloc, c, sizeof *c);
}

static pawl_code postgres_open(const char *target,
                               pawl_driver_options *options, pawl_conn **out,
                               pawl_error *err) {
  pawl_counts unseen = {0}; /* opening does not count */
  pawl_code rc;
  client *c = NULL;
  if (options->schema) MUST(pawl_pgschema_check(options->schema, err));
  TRY(pawl_pgconn_load(err));
  if (!(c = pawl_calloc(options->alloc, sizeof *c)))
    return pawl_failure_memory(err);
  c->alloc = options->alloc;
  c->log = options->log;
  c->options = options;
  options->is_short = 0;
  if (options->schema && strcmp(options->schema, PAWL_PG_SCHEMA) != 0)
    c->schema = options->schema;
  c->relaxed = options->relaxed;
  c->unsaved = options->unsaved;
  c->counts = &unseen;
  for (int i = 0; i < NUNITS; i++)
    pawl_results_init(&c->units[i].results, c->alloc);
  c->open = c->reading = c->shown = &c->units[0]; /* for begin_session */
  pawl_answer_init(&c->answer, c->alloc);
  c->bytes.alloc = c->alloc;
  TRY(pawl_pgconn_open(c->alloc, target, &c->pg, err));
  TRY(begin_session(c, &options->pooler, err));
  c->open = NULL;
  c->counts = options->counts;
  *out = (pawl_conn *)c;
  return PAWL_OK;
out:
  postgres_close((pawl_conn *)c);
  return rc;
}

/* ---- units ---- */

/* Reads what has come unasked: notifications, or the server's farewell and
 * then the end of the stream. False: the connection is lost. */
static int drain(client *c) {
  struct pollfd p = {.fd = pq.socket(c->pg), .events = POLLIN};
  while (!c->is_lost && poll(&p, 1, 0) > 0) {
    if (!pq.consumeInput(c->pg)) return 0;
    (void)pq.isBusy(c->pg); /* takes the messages apart */
    p.fd = pq.socket(c->pg);
  }
  return !c->is_lost && pq.status(c->pg) == CONNECTION_OK;
}

static int is_submitted(const client *c, const unit *u) {
  for (int i = 0; i < c->nsubmitted; i++)
    if (c->submitted[i] == u) return 1;
  return 0;
}

/* Takes one that is not submitted (there is one more than can be): its rows
 * are given up. */
static void open_unit(client *c, int kind) {
  c->open = c->units;
  while (is_submitted(c, c->open)) c->open++;
  assert(c->open < c->units + NUNITS); /* D4 */
  clear_unit(c->open);
  c->open->kind = kind;
  c->shown = c->open;
}

static pawl_code postgres_begin(pawl_conn *conn, int kind, pawl_error *err) {
  client *c = of(conn);
  assert(!c->open);                   /* D1 */
  if (c->pooler) answer_submitted(c); /* C5 */
  if (!drain(c)) return fail_lost(c, "the connection was lost", err);
  open_unit(c, kind);
  if (c->forget_prepared) {
    memset(c->prepared, UNPREPARED, sizeof c->prepared);
    memset(c->checked, 0, sizeof c->checked);
  }
  c->begin_due = kind == PAWL_UNIT_OPEN || kind == PAWL_UNIT_SNAPSHOT;
  c->in_transaction = 0;
  return PAWL_OK;
}

/* NULL: there is no memory for it. */
static const char *text_of(client *c, pawl_stmt which) {
  pawl_buf *own = &c->texts[which], room = {.alloc = c->alloc};
  if (own->len) return own->at;
  *own = room;
  const char *text = pawl_sqltext_read(pawl_sql_postgres[which].text,
                                       c->schema ? &room : own);
  if (text && c->schema) {
    pawl_pgschema_put(own, text, c->schema);
    text = pawl_buf_check(own, NULL) == PAWL_OK ? own->at : NULL;
  }
  if (!text) pawl_buf_deinit(own);
  pawl_buf_deinit(&room);
  return text;
}

static pawl_code queue_prepare(client *c, pawl_stmt which,
                               const pawl_pgparams *p, pawl_error *err) {
  const char *text;
  if (c->prepared[which] != UNPREPARED) return PAWL_OK;
  if (!(text = text_of(c, which))) return pawl_failure_memory(err);
  if (!add_op(c, OP_PREPARE, which)) return pawl_failure_memory(err);
  c->prepared[which] = PREPARING;
  return queued(
      c, pq.sendPrepare(c->pg, pawl_stmts[which].name, text, p->n, p->types),
      err);
}

static pawl_code queue_exec(client *c, pawl_stmt which, const pawl_pgparams *p,
                            pawl_error *err) {
  const char *text = c->pooler ? text_of(c, which) : "";
  if (!text || !add_op(c, OP_EXEC, which)) return pawl_failure_memory(err);
  c->counts->statements++;
  return queued(
      c,
      c->pooler ? pq.sendQueryParams(c->pg, text, p->n, p->types, p->values,
                                     p->lengths, p->formats, 1)
                : pq.sendQueryPrepared(c->pg, pawl_stmts[which].name, p->n,
                                       p->values, p->lengths, p->formats, 1),
      err);
}

static pawl_code postgres_send(pawl_conn *conn, const pawl_args *args,
                               pawl_error *err) {
  client *c = of(conn);
  pawl_pgparams p;
  assert(c->open); /* D1 */
  MUST(pawl_pgwire_encode(&c->bytes, args, &p, err));
  MUST(queue_begin(c, err));
  if (!c->pooler) MUST(queue_prepare(c, args->stmt, &p, err));
  MUST(queue_exec(c, args->stmt, &p, err));
  c->open->ops[c->open->nops - 1].counted = args->counted;
  if (c->open->kind == PAWL_UNIT_OPEN) return sync(c, err);
  return PAWL_OK;
}

static void postgres_rows(pawl_conn *conn, int k, pawl_rows *out) {
  client *c = of(conn);
  assert(c->shown->nops == 0); /* D3 */
  pawl_results_get(&c->shown->results, k, out);
}

static void postgres_forget(pawl_conn *conn) {
  client *c = of(conn);
  assert(c->open && c->open->nops == 0); /* each statement was answered */
  clear_results(c->open);
}

static void postgres_slim(pawl_conn *conn) {
  client *c = of(conn);
  if (c->open || c->nsubmitted) return; /* those have answers to come */
  for (int i = 0; i < NUNITS; i++) {
    clear_results(&c->units[i]);
    pawl_results_deinit(&c->units[i].results);
  }
  pawl_answer_deinit(&c->answer);
  pawl_buf_deinit(&c->bytes);
}

static pawl_code undo(client *c) {
  MUST(queue_plain(c, OP_PLAIN, "rollback", NULL));
  if (c->open->has_query) MUST(queue_plain(c, OP_PLAIN, PAWL_PG_UNLOCK, NULL));
  return sync(c, NULL);
}

/* Ends what was sent without a sync, or the open transaction. An implicit
 * transaction, too, is undone by a ROLLBACK (with a warning). */
static int postgres_rollback(pawl_conn *conn) {
  client *c = of(conn);
  if (!c->open) return 1;
  c->begin_due = 0;
  if (!c->is_lost && (c->in_transaction || c->nqueued > 0)) {
    const pawl_code rc =
        PAWL_FAULT("store.rollback") == PAWL_FAULT_FAIL ? PAWL_STORE : undo(c);
    if (!c->is_lost && pq.transactionStatus(c->pg) != PQTRANS_IDLE)
      lose(c, rc == PAWL_NOMEM);
  }
  c->open->nops = 0;
  c->open = NULL;
  c->nqueued = 0;
  c->in_transaction = 0;
  return !c->is_lost;
}

/* Behind a user's statements: the session as it was, and the user's path for
 * the triggers that the commit fires. */
static pawl_code queue_resets(client *c, pawl_error *err) {
  size_t n = sizeof pawl_pg_resets / sizeof *pawl_pg_resets;
  for (size_t i = 0; i < n; i++)
    MUST(queue_plain(c, OP_PLAIN, pawl_pg_resets[i], err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_UNLOCK, err));
  if (!c->pooler) MUST(queue_session(c, err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_USER_SETTINGS, err));
  return queue_plain(c, OP_PLAIN, PAWL_PG_USER_PATH, err);
}

/* Sends what is queued; its answers are still to come. */
static pawl_code send_queued(client *c, pawl_error *err) {
  if (PAWL_FAULT("commit.before_send") == PAWL_FAULT_DROP)
    pawl_pgconn_cut(c->pg);
  if (c->open->has_query) MUST(queue_resets(c, err));
  if (c->in_transaction) MUST(queue_plain(c, OP_COMMIT, "commit", err));
  if (!add_op(c, OP_SYNC, (pawl_stmt)0)) return pawl_failure_memory(err);
  c->counts->trips++;
  if (!pq.pipelineSync(c->pg))
    return fail_lost(c, "the connection was lost", err);
  c->nqueued = 0;
  if (PAWL_FAULT("commit.sent") == PAWL_FAULT_DROP) {
    (void)pawl_pgconn_pump(c->pg, PAWL_PG_SENT);
    pawl_pgconn_cut(c->pg);
  }
  return PAWL_OK;
}

static void note_commit(client *c, const unit *u) {
  if (c->relaxed && !c->pooler && u->did_anything &&
      u->kind != PAWL_UNIT_READ && u->kind != PAWL_UNIT_SNAPSHOT)
    pawl_unsaved_add(c->unsaved);
}

static pawl_code postgres_commit(pawl_conn *conn, pawl_error *err) {
  client *c = of(conn);
  assert(c->open);
  if (c->nqueued > 0 || c->in_transaction) MUST(send_queued(c, err));
  MUST(read_all(c, err)); /* or statements that were skipped */
  if (PAWL_FAULT("commit.after") == PAWL_FAULT_DROP) {
    pawl_pgconn_cut(c->pg);
    return fail_lost(c, "the connection was lost", err);
  }
  if (c->open->did_anything) c->counts->transactions++;
  note_commit(c, c->open);
  assert(c->nqueued == 0 && c->open->nops == 0); /* D1 */
  c->in_transaction = 0;
  c->open = NULL;
  return PAWL_OK;
}

/* Does a statement in it have to be prepared first? What is sent behind it
 * could not rely on that. */
static int prepares(const unit *u) {
  for (int i = 0; i < u->nops; i++)
    if (u->ops[i].kind == OP_PREPARE) return 1;
  return 0;
}

static pawl_code postgres_submit(pawl_conn *conn, pawl_error *err) {
  client *c = of(conn);
  unit *u = c->open;
  assert(u && u->kind == PAWL_UNIT_BATCH); /* D4 */
  assert(c->nsubmitted < PAWL_MAX_SUBMITTED);
  if (c->nqueued > 0) MUST(send_queued(c, err));
  /* whole: in part it would keep its locks until the rest follows */
  if (!pawl_pgconn_pump(c->pg, PAWL_PG_SENT))
    return fail_lost(c, "the connection was lost", err);
  if (u->did_anything) c->counts->transactions++; /* as its trip */
  c->submitted[c->nsubmitted++] = u;
  c->open = NULL;
  if (prepares(u)) answer_submitted(c);
  return PAWL_OK;
}

static pawl_code postgres_finish(pawl_conn *conn, pawl_error *err) {
  client *c = of(conn);
  unit *u = c->submitted[0];
  assert(!c->open && c->nsubmitted > 0); /* D1, D4 */
  answer(c, u);
  c->nsubmitted--;
  memmove(c->submitted, c->submitted + 1,
          sizeof *c->submitted * (size_t)c->nsubmitted);
  c->shown = u;
  if (u->rc != PAWL_OK && err) *err = u->err;
  if (u->rc == PAWL_OK) note_commit(c, u);
  return u->rc;
}

static void postgres_await(pawl_conn *conn, int64_t deadline_mono_us,
                           struct pollfd *fds, int nfds, int *answered) {
  client *c = of(conn);
  int n = 0;
  if (!c->is_lost && !c->submitted[0]->is_answered) (void)drain(c);
  for (;;) {
    int unsent = c->is_lost ? 0 : pq.flush(c->pg);
    *answered = c->is_lost || unsent < 0 || c->submitted[0]->is_answered ||
                !pq.isBusy(c->pg);
    int64_t left = deadline_mono_us - pawl_clock_mono();
    if (*answered || left <= 0 || n > (n > 0 && fds[0].revents)) return;
    if (left > LOOK_LIMIT) left = LOOK_LIMIT;
    fds[0].fd = pq.socket(c->pg);
    fds[0].events = (short)(POLLIN | (unsent ? POLLOUT : 0));
    n = poll(fds, (nfds_t)nfds, (int)((left + 999) / 1000));
    if (n > 0 && (fds[0].revents & ~POLLOUT) && !pq.consumeInput(c->pg))
      lose(c, pawl_pgconn_is_short(c->pg));
  }
}

/* ---- the schema ---- */

/* Several statements in one string: the simple protocol's own. */
static pawl_code run_script(client *c, const char *sql, pawl_error *err) {
  op o = {.kind = OP_PLAIN};
  verdict v = {PAWL_OK, 0, err};
  assert(c->open && c->open->kind == PAWL_UNIT_OPEN); /* D2 */
  MUST(queue_begin(c, err));
  MUST(sync(c, err));
  c->counts->trips++;
  c->open->did_anything = 1;
  if (!pq.exitPipelineMode(c->pg) || !pq.sendQuery(c->pg, sql))
    return fail_lost(c, "the connection was lost", err);
  MUST(read_op(c, &o, &v));
  if (!pq.enterPipelineMode(c->pg))
    return fail_lost(c, "pipeline mode was refused", err);
  return v.rc;
}

static pawl_code postgres_script(pawl_conn *conn, const char *sql,
                                 pawl_error *err) {
  client *c = of(conn);
  pawl_buf text = {.alloc = c->alloc};
  if (!c->schema) return run_script(c, sql, err);
  pawl_pgschema_put(&text, sql, c->schema);
  pawl_code rc = pawl_buf_check(&text, err);
  if (rc == PAWL_OK) rc = run_script(c, text.at, err);
  pawl_buf_deinit(&text);
  return rc;
}

/* ---- what is not on disk ---- */

/* A commit that waits for the disk takes all before it along; one that has
 * written nothing would not wait, hence the number. */
static pawl_code postgres_save(pawl_conn *conn, int how, pawl_error *err) {
  client *c = of(conn);
  pawl_code rc = PAWL_OK;

  if (how != PAWL_SAVE_ALL)
    return PAWL_OK; /* the server's own writer does it */
  if (PAWL_FAULT("store.save") == PAWL_FAULT_FAIL)
    return pawl_fail_as(err, PAWL_STORE, "58030", "", "the disk failed");
  MUST(postgres_begin(conn, PAWL_UNIT_OPEN, err));
  TRY(run_script(c,
                 "set local synchronous_commit to on;"
                 "select pg_catalog.pg_current_xact_id()",
                 err));
  TRY(postgres_commit(conn, err));
  pawl_unsaved_clear(c->unsaved);
  return PAWL_OK;
out:
  (void)postgres_rollback(conn);
  return rc;
}

/* ---- the user's own statement ---- */

/* The session's own limit is put aside for this statement: the values travel
 * in a setting of our own, so that no answer need be waited for. */
static pawl_code queue_limit(client *c, int64_t limit_us, pawl_error *err) {
  char sql[160];
  int64_t ms = limit_us / 1000 > 0 ? limit_us / 1000 : 1;
  MUST(queue_plain(c, OP_PLAIN,
                   "select set_config('pawl.limit',"
                   " current_setting('statement_timeout'), true)",
                   err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_USER_SETTINGS, err));
  snprintf(sql, sizeof sql, "set local statement_timeout = %lld",
           (long long)ms);
  return queue_plain(c, OP_PLAIN, sql, err);
}

static pawl_code send_query(client *c, const char *sql, const pawl_pgparams *p,
                            int64_t limit_us, pawl_error *err) {
  MUST(queue_begin(c, err));
  if (limit_us > 0) MUST(queue_limit(c, limit_us, err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_USER_PATH, err));
  c->open->has_query = 1;
  if (!add_op(c, OP_QUERY, (pawl_stmt)0)) return pawl_failure_memory(err);
  c->counts->statements++;
  MUST(queued(c,
              pq.sendQueryParams(c->pg, sql, p->n, p->types, p->values,
                                 p->lengths, p->formats, 0),
              err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_OWN_ROLE, err));
  MUST(queue_plain(c, OP_PLAIN, PAWL_PG_UNIT, err));
  if (limit_us > 0)
    MUST(queue_plain(c, OP_PLAIN,
                     "select set_config('statement_timeout',"
                     " current_setting('pawl.limit'), true)",
                     err));
  return sync(c, err);
}

/* What a failed query means to its writer rather than to us. */
static pawl_code explain_query(pawl_code rc, const pawl_query *q,
                               pawl_error *err) {
  const int64_t limit_us = q->limit_us;

  if (rc == PAWL_STORE && strcmp(err->sqlstate, "42601") == 0 &&
      pawl_pgguard_is_several(q->sql)) {
    (void)pawl_fail(err, PAWL_MISUSE, "query: one statement at a time");
  } else if (rc == PAWL_BUSY && strcmp(err->sqlstate, "57014") == 0) {
    (void)pawl_fail_as(err, PAWL_TIMEOUT, "57014",
                       "others wait for its locks: make it shorter",
                       "query: took longer than %g s",
                       (double)limit_us / (double)PAWL_SECOND);
  } else if (rc == PAWL_STORE && strcmp(err->sqlstate, "08P01") == 0) {
    err->code = PAWL_INVALID; /* more or fewer parameters than it has */
  } else if (rc == PAWL_NOT_A_STORE || rc == PAWL_AUTH) {
    err->code = PAWL_STORE; /* the user's tables, the user's grants */
    err->hint[0] = 0;
  }
  return err->code;
}

static pawl_code postgres_query(pawl_conn *conn, pawl_query *q,
                                pawl_error *err) {
  client *c = of(conn);
  pawl_pgparams p;
  pawl_error mine = {0};
  pawl_buf text = {.alloc = c->alloc};
  const char *why = pawl_pgguard_objection(q->sql, c->schema);
  pawl_code rc;
  assert(c->open && c->open->kind == PAWL_UNIT_OPEN); /* D2 */
  if (q->tables) /* no text shows what a function does */
    return pawl_fail(err, PAWL_UNSUPPORTED,
                     "query: PostgreSQL cannot hold it to some tables");
  if (why || memchr(q->sql.at, 0, q->sql.len))
    return pawl_fail_as(err, PAWL_MISUSE, "42501", "", "query: %s",
                        why ? why : "a zero byte");
  pawl_buf_adds(&text, q->sql);
  TRY(pawl_buf_check(&text, err));
  TRY(pawl_pgwire_encode_query(&c->bytes, q, &p, err));
  rc = send_query(c, text.at, &p, q->limit_us, &mine);
  if (rc != PAWL_OK) {
    rc = explain_query(rc, q, &mine);
    if (err) *err = mine;
    goto out;
  }
  if (pq.transactionStatus(c->pg) != PQTRANS_INTRANS) {
    rc = pawl_fail(err, PAWL_MISUSE, "query: it ended the transaction");
    goto out;
  }
  TRY(pawl_pgwire_decode_query(c->query, &c->answer, err));
  pawl_answer_get(&c->answer, q);
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* ---- waiting for work ---- */

static pawl_code listen_once(client *c, pawl_error *err) {
  char listen[PAWL_PG_SCHEMA_MAX + sizeof "listen _wake"];
  pawl_error why;
  if (c->pooler || c->is_listening || c->is_deaf) return PAWL_OK;
  snprintf(listen, sizeof listen, "listen %s_wake",
           c->schema ? c->schema : PAWL_PG_SCHEMA);
  open_unit(c, PAWL_UNIT_READ);
  const pawl_code rc = run_plain(c, listen, &why);
  c->open = NULL;
  c->is_listening = rc == PAWL_OK;
  c->is_deaf = rc == PAWL_READONLY;
  if (rc == PAWL_OK || c->is_deaf) return PAWL_OK;
  return pawl_fail_so(err, &why);
}

/* Has anybody else notified us of what we wait for? Without a payload: that
 * something is due; else the id of an instance that has ended. */
static int has_news(client *c) {
  const char *awaited = c->options->awaited;
  int ended = 0;
  PGnotify *n;

  while ((n = pq.notifies(c->pg)) != NULL) {
    if (n->extra[0])
      ended |= awaited && !strcmp(n->extra, awaited);
    else
      c->is_due |= n->be_pid != pq.backendPID(c->pg);
    pq.freemem(n);
  }
  if (awaited) return ended;
  const int due = c->is_due;
  c->is_due = 0;
  return due;
}

static pawl_code postgres_wait(pawl_conn *conn, int64_t deadline_mono_us,
                               const volatile int *stop, struct pollfd *fds,
                               int nfds, int *woken, pawl_error *err) {
  client *c = of(conn);
  int listened = c->is_listening;
  MUST(listen_once(c, err));
  *woken = c->is_listening != listened; /* look once more */
  if (*woken) return PAWL_OK;
  fds[0].fd = pq.socket(c->pg);
  fds[0].events = POLLIN;
  while (!(stop && *stop)) {
    if (!drain(c)) return fail_lost(c, "the connection was lost", err);
    int64_t left = deadline_mono_us - pawl_clock_mono();
    *woken = has_news(c);
    if (*woken || left <= 0) break;
    if (left > LOOK_LIMIT) left = LOOK_LIMIT;
    int n = poll(fds, (nfds_t)nfds, (int)((left + 999) / 1000)); /* <= 50 */
    if (n > (n > 0 && fds[0].revents)) break; /* one of the caller's */
  }
  return PAWL_OK;
}

/* Its number may be another one after a reconnect. */
static pawl_code postgres_fd(pawl_conn *conn, int *out, pawl_error *err) {
  client *c = of(conn);
  MUST(listen_once(c, err));
  *out = c->pooler || c->is_deaf ? -1 : pq.socket(c->pg);
  return PAWL_OK;
}

/* Its own tools copy it as it is at one moment, faster than we could. */
static pawl_code postgres_backup(pawl_conn *conn, pawl_copy *copy,
                                 const volatile int *stop, pawl_error *err) {
  (void)conn, (void)copy, (void)stop;
  return pawl_fail_hint(
      err, PAWL_UNSUPPORTED,
      "pg_dump --format=custom --schema=pawl (or what the store's is called) "
      "--file=FILE DATABASE copies the "
      "store alone, while it is in use; pg_restore puts it back",
      "a store in PostgreSQL is backed up with pg_dump");
}

static pawl_code postgres_restore(pawl_conn *conn, pawl_conn *from,
                                  const volatile int *stop, int64_t *bytes,
                                  pawl_error *err) {
  (void)conn, (void)from, (void)stop, (void)bytes;
  return pawl_fail_hint(
      err, PAWL_UNSUPPORTED,
      "stop all workers; pg_restore --clean --dbname=DATABASE FILE puts back "
      "what pg_dump has copied",
      "a store in PostgreSQL is restored with pg_restore");
}

static int64_t postgres_library(void) {
  return pawl_pgconn_load(NULL) == PAWL_OK ? pawl_pq.libVersion() : 0;
}

const pawl_driver pawl_driver_postgres = {
    .name = "postgres",
    .url = &pawl_pgurl,
    .describe = pawl_pgconn_describe,
    .library = "libpq",
    .library_version = postgres_library,
    .caps = PAWL_CAN_OWN_CLOCK | PAWL_CAN_SUBMIT | PAWL_CAN_SNAPSHOT,
    .open_limit_us = 10 * PAWL_SECOND,
    .sql = pawl_sql_postgres,
    .migrations = pawl_migrations_postgres,
    .put_schema = pawl_pgschema_put,
    .open = postgres_open,
    .close = postgres_close,
    .begin = postgres_begin,
    .send = postgres_send,
    .commit = postgres_commit,
    .submit = postgres_submit,
    .finish = postgres_finish,
    .await = postgres_await,
    .rollback = postgres_rollback,
    .rows = postgres_rows,
    .forget = postgres_forget,
    .script = postgres_script,
    .query = postgres_query,
    .wait = postgres_wait,
    .save = postgres_save,
    .fd = postgres_fd,
    .backup = postgres_backup,
    .restore = postgres_restore,
    .slim = postgres_slim,
};
