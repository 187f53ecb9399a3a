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
 * Network  The socket is non-blocking, and results are read while a batch is
 *          still being sent: with megabytes on the way, both sides would wait
 *          for each other otherwise.
 * Values   go and come in binary, except numeric, which goes as text.
 * Poolers  In transaction mode one hands us another session when it has passed
 *          on the answer to a sync, whatever we have sent behind that sync.
 *          P1 So nothing is sent there before the answers to all units that
 *          were submitted have been read; they are, when the next one begins.
 *          One that nobody told of is found out before anything is asked of a
 *          session that others share.
 * Loading  libpq is loaded when the first postgres: URL is opened: it brings
 *          some twenty libraries along that a SQLite program has no use for.
 * Secrets  libpq's messages may quote the connection string, a mistyped
 *          password included. Of what they quote, hosts and names are left in
 *          where no password can be, and whatever the server said. */
#define _POSIX_C_SOURCE 200809L /* poll, dlopen, pthread_once */

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <libpq-fe.h>

#include "../base/fault.h"
#include "../value/json.h"
#include "driver.h"
#include "pgguard.h"
#include "pgsession.h"
#include "results.h"
#include "url.h"

#define OLDEST_SERVER 140000
#define STALL_LIMIT (90 * PAWL_SECOND) /* the server's own limit is 60 s */
#define LOOK_LIMIT (50000)             /* between looks at *stop */
#define EPOCH INT64_C(946684800000000) /* 2000-01-01, from 1970 */

/* ---- libpq ---- */

/* clang-format off */
#define LIBPQ(X)                                                          \
  X(backendPID) X(clear) X(cmdStatus) X(cmdTuples) X(connectdbParams)     \
  X(conninfoFree) X(conninfoParse) X(connectionNeedsPassword)             \
  X(consumeInput) X(enterPipelineMode) X(errorMessage)                    \
  X(exitPipelineMode) X(finish) X(flush) X(fname) X(freemem) X(ftype)     \
  X(getResult) X(getisnull) X(getlength) X(getvalue) X(isBusy) X(nfields) \
  X(notifies) X(ntuples) X(pipelineSync) X(reset) X(resultErrorField)     \
  X(resultStatus) X(sendPrepare) X(sendQuery) X(sendQueryParams)          \
  X(sendQueryPrepared) X(serverVersion) X(setErrorVerbosity)              \
  X(setNoticeReceiver) X(setnonblocking) X(socket) X(status)              \
  X(transactionStatus)
/* clang-format on */

#define MEMBER(name) __typeof__(PQ##name) *name;
static struct { LIBPQ(MEMBER) } pq;

#if defined(__APPLE__)
static const char libpq_name[] = "libpq.5.dylib";
#else
static const char libpq_name[] = "libpq.so.5";
#endif
static pthread_once_t libpq_once = PTHREAD_ONCE_INIT;
static const char *libpq_missing; /* NULL: all is there */

static void *find(void *library, const char *symbol) {
  void *at = dlsym(library, symbol);
  if (!at) libpq_missing = "libpq is older than version 14";
  return at;
}

static void load_libpq(void) {
  void *library = dlopen(libpq_name, RTLD_NOW | RTLD_LOCAL), *at;
  if (!library) {
    libpq_missing = "libpq was not found on this system";
    return;
  }
  /* ISO C has no cast from void * to a function. */
#define FIND(name)                \
  at = find(library, "PQ" #name); \
  memcpy(&pq.name, &at, sizeof at);
  LIBPQ(FIND)
}

/* ---- the connection ---- */

typedef enum op_kind {
  OP_BEGIN,
  OP_PREPARE,
  OP_EXEC,
  OP_SKIP,
  OP_PLAIN,
  OP_QUERY,
  OP_COMMIT,
  OP_SYNC
} op_kind;

/* One thing that an answer is expected for, in order. */
typedef struct op {
  op_kind kind;
  pawl_stmt stmt; /* of PREPARE, EXEC, SKIP */
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

struct pawl_conn {
  const pawl_alloc *alloc;
  const pawl_log *log;
  PGconn *pg;
  int pooler;
  int is_lost;
  int is_listening;
  unit units[NUNITS];
  unit *open;    /* between begin and commit; NULL: none */
  unit *reading; /* whose answers come in */
  unit *shown;   /* whose rows can be asked for */
  unit *submitted[PAWL_MAX_SUBMITTED]; /* oldest first */
  int nsubmitted;
  int begin_due;          /* OPEN: BEGIN goes out with the first statement */
  int in_transaction;     /* OPEN: it has */
  int nqueued;            /* sent without a sync behind */
  int forget_prepared;    /* what was prepared must be thrown away first */
  int64_t replan_mono_us; /* plans are made anew then */
  unsigned char prepared[PAWL_NSTMTS];
  unsigned char checked[PAWL_NSTMTS]; /* its columns were as declared */
  pawl_buf bytes;                     /* encoded arguments */
  pawl_counts counts;
  PGresult *query; /* of the user's own statement */
  pawl_results query_rows;
  pawl_buf query_names, query_types;
};

/* The first failure of a batch; what follows it is only its echo. */
typedef struct verdict {
  pawl_code rc;
  int is_ours; /* the server was content; we could not read its answer */
  pawl_error *err;
} verdict;

static pawl_code fail_memory(pawl_error *err) {
  pawl_code rc = pawl_fail(err, PAWL_NOMEM, "no memory for the store");
  pawl_error_sqlstate(err, "53200");
  return rc;
}

/* ---- errors ---- */

/* A SQLSTATE or its class; the first that fits wins. */
static const struct {
  const char *state;
  pawl_code code;
  const char *hint;
} failures[] = {
    {"08P01", PAWL_STORE, ""},
    {"08", PAWL_UNREACHABLE, "is the server up?"},
    {"57P01", PAWL_UNREACHABLE, "the server is being stopped; try again"},
    {"57P02", PAWL_UNREACHABLE, "the server crashed; try again"},
    {"57P03", PAWL_UNREACHABLE, "the server is starting; try again"},
    {"57P05", PAWL_UNREACHABLE, ""}, /* idle for too long */
    {"25P03", PAWL_UNREACHABLE, ""}, /* idle in a transaction */
    {"28", PAWL_AUTH, "check user, password and pg_hba.conf"},
    {"42501", PAWL_AUTH, "grant this user the rights on schema pawl"},
    {"3D000", PAWL_NOTFOUND, "make the database first: createdb"},
    {"40001", PAWL_BUSY, ""},
    {"40P01", PAWL_BUSY, ""},
    {"55P03", PAWL_BUSY, ""},
    {"57014", PAWL_BUSY, "the statement took too long and was cancelled"},
    {"53300", PAWL_BUSY, "the server has no connection left"},
    {"25006", PAWL_READONLY,
     "connect to the primary: target_session_attrs=read-write"},
    {"53100", PAWL_FULL, "make room on the server's disk"},
    {"42P01", PAWL_NOT_A_STORE, "was the schema pawl dropped? `pawl migrate`"},
    {"3F000", PAWL_NOT_A_STORE, "was the schema pawl dropped? `pawl migrate`"},
    {"XX001", PAWL_CORRUPT, "stop all workers and restore a backup"},
    {"XX002", PAWL_CORRUPT, "stop all workers and REINDEX"},
    {"22021", PAWL_VALUE, ""},
    {"22P05", PAWL_VALUE, ""},
    {"54", PAWL_LIMIT, ""},
    /* the statement is prepared again when the unit is repeated */
    {"0A000", PAWL_BUSY, "another program has changed the schema; try again"},
    {"26000", PAWL_BUSY, "behind a pooler? set pooler, or PAWL_POOLER=1"},
    {"42P05", PAWL_BUSY, "behind a pooler? set pooler, or PAWL_POOLER=1"},
};

/* The code of a SQLSTATE; *hint may become "". */
static pawl_code code_of(const char *state, const char **hint) {
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    if (strncmp(state, failures[i].state, strlen(failures[i].state)) != 0)
      continue;
    *hint = failures[i].hint;
    return failures[i].code;
  }
  *hint = "";
  return PAWL_STORE;
}

static pawl_code fail_state(const char *state, const char *what,
                            const char *message, pawl_error *err) {
  const char *hint;
  pawl_code rc = code_of(state, &hint);
  (void)pawl_fail(err, rc, "%s: %s", what, message);
  pawl_error_sqlstate(err, state);
  if (hint[0]) pawl_error_hint(err, "%s", hint);
  return rc;
}

/* Whatever its SQLSTATE: PgBouncer gives 08P01 for a server that has died. It
 * has no severity that is not translated, and translates none. */
static int ends_session(const PGresult *res) {
  const char *how = pq.resultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (!how) how = pq.resultErrorField(res, PG_DIAG_SEVERITY);
  return how && (strcmp(how, "FATAL") == 0 || strcmp(how, "PANIC") == 0);
}

static pawl_code fail_result(const char *what, const PGresult *res,
                             pawl_error *err) {
  const char *state = pq.resultErrorField(res, PG_DIAG_SQLSTATE);
  const char *text = pq.resultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
  const char *hint = pq.resultErrorField(res, PG_DIAG_MESSAGE_HINT);
  pawl_code rc = fail_state(state ? state : "08006", what,
                            text ? text : "the connection was lost", err);
  if (ends_session(res)) {
    rc = PAWL_UNREACHABLE;
    if (err) err->code = rc;
  }
  if (err && !err->hint[0] && hint) pawl_error_hint(err, "%s", hint);
  return rc;
}

static pawl_code fail_lost(pawl_conn *c, const char *why, pawl_error *err) {
  c->is_lost = 1;
  pawl_code rc = pawl_fail(err, PAWL_UNREACHABLE, "PostgreSQL: %s", why);
  pawl_error_sqlstate(err, "08006");
  pawl_error_hint(err, "is the server up? The next call connects again");
  return rc;
}

/* ---- opening ---- */

/* Where a URL's password may be. It goes on to the last @: libpq takes what is
 * behind an @ or / in it, that were not written as %40 and %2F, for the host
 * or the port. */
static pawl_str url_password(const char *target) {
  const char *at =
      pawl_url_is_postgres(target) ? strchr(strstr(target, "//"), ':') : NULL;
  const char *end = strrchr(target, '@');
  if (!at || !end || at > end) return (pawl_str){NULL, 0};
  return (pawl_str){at + 1, (size_t)(end - at) - 1};
}

/* Was its password written in a way that libpq misunderstands? */
static int is_mistyped(const char *target) {
  pawl_str s = url_password(target);
  return s.len && (memchr(s.at, '@', s.len) || memchr(s.at, '/', s.len));
}

/* Does a copy of the text in `target` overlap that part of it? */
static int touches(const char *target, pawl_str part, pawl_str text) {
  for (const char *at = target; part.len && *at; at++)
    if (strncmp(at, text.at, text.len) == 0 && at < part.at + part.len &&
        at + text.len > part.at)
      return 1;
  return 0;
}

/* May a message quote the text? Not what may be of a password, and of the
 * options' values only some, as they were written. */
static int is_harmless(const char *target, const PQconninfoOption *o,
                       pawl_str text) {
  static const char SHOWN[] = " host hostaddr port dbname user ";
  if (touches(target, url_password(target), text)) return 0;
  for (; o && o->keyword; o++) {
    char word[40];
    if (!o->val || !pawl_str_eqz(text, o->val)) continue;
    snprintf(word, sizeof word, " %s ", o->keyword);
    if (!strstr(SHOWN, word) || !strstr(target, o->val)) return 0;
  }
  return 1;
}

/* libpq's text up to the line's end; "..." for what it should not quote. */
static void clean_text(const char *target, const char *from, pawl_buf *to) {
  char *ignored = NULL;
  PQconninfoOption *options = pq.conninfoParse(target, &ignored);
  const char *end = from + strcspn(from, "\n"), *quote;
  pq.freemem(ignored);
  while ((quote = memchr(from, '"', (size_t)(end - from)))) {
    pawl_str text = {quote + 1, (size_t)(end - quote) - 1};
    /* Nobody knows where a text ends that has a quote in it. */
    const char *close =
        strchr(target, '"') ? NULL : memchr(text.at, '"', text.len);
    if (close) text.len = (size_t)(close - text.at);
    pawl_buf_add(to, from, (size_t)(text.at - from));
    if (close && is_harmless(target, options, text))
      pawl_buf_adds(to, text);
    else
      pawl_buf_addz(to, "...");
    pawl_buf_addc(to, '"');
    from = close ? close + 1 : end;
  }
  pawl_buf_add(to, from, (size_t)(end - from));
  pq.conninfoFree(options);
}

/* What is of interest in libpq's text: the last attempt, as there may be
 * several hosts. */
static const char *last_attempt(const char *target, const char *message) {
  const char *mark =
      is_mistyped(target) ? "failed: " : "connection to server ";
  size_t skip = is_mistyped(target) ? strlen(mark) : 0;
  for (const char *at = message; (at = strstr(at, mark)); at++)
    message = at + skip;
  return message;
}

#define ESCAPES "write @ : / in a password as %40 %3A %2F"

static int is_sqlstate(const char *at) {
  for (int i = 0; i < 5; i++)
    if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'A' && at[i] <= 'Z')))
      return 0;
  return at[5] == ':' && at[6] == ' ';
}

/* The last "FATAL:  28P01: text" of a verbose message: where 28P01 stands.
 * NULL: the server did not say anything. */
static const char *find_sqlstate(const char *message) {
  const char *found = NULL;
  for (const char *at = message; (at = strstr(at, ":  ")); at += 3)
    if (is_sqlstate(at + 3)) found = at + 3;
  return found;
}

/* `first` is what libpq said before it was asked once more: of settings that
 * make no sense it speaks only once. */
static pawl_code fail_unreachable(pawl_conn *c, const char *target,
                                  const char *first, pawl_error *err) {
  pawl_buf text = {.alloc = c->alloc};
  const char *message = pq.errorMessage(c->pg);
  int is_refused = !message[0] || strncmp(message, "invalid ", 8) == 0;
  pawl_code rc;
  message = last_attempt(target, message[0] ? message : first);
  clean_text(target, message, &text);
  if (pawl_buf_check(&text, NULL) != PAWL_OK) {
    rc = fail_memory(err);
  } else if (is_refused) {
    rc = pawl_fail(err, PAWL_INVALID, "the PostgreSQL URL: %s",
                   text.at ? text.at : "it has settings libpq refuses");
  } else {
    rc = fail_state("08001", "PostgreSQL cannot be reached",
                    text.at ? text.at : "", err);
    if (strstr(message, "could not translate host name"))
      pawl_error_hint(err, "check the host in the URL, and the network");
  }
  if (is_mistyped(target)) pawl_error_hint(err, "%s", ESCAPES);
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code fail_connect(pawl_conn *c, const char *target,
                              const char *first, pawl_error *err) {
  const char *message = pq.errorMessage(c->pg);
  const char *at = find_sqlstate(message);
  char state[6] = "", text[300];
  if (at) {
    memcpy(state, at, 5);
    pawl_copy_text(text, sizeof text, at + 7);
    text[strcspn(text, "\n")] = 0;
    return fail_state(state, "PostgreSQL", text, err);
  }
  if (pq.connectionNeedsPassword(c->pg))
    return fail_state("28P01", "PostgreSQL", "it asks for a password", err);
  return fail_unreachable(c, target, first, err);
}

/* The option that libpq does not know, from its text; empty when it may be of
 * a password, which has not ended where libpq thinks, or in front of a host. */
static pawl_str unknown_option(const char *target, const char *message) {
  const pawl_str none = {NULL, 0};
  const char *from = strchr(message, '"'), *to = strrchr(message, '"');
  const char *password = strstr(target, "password");
  pawl_str name, rest = none;
  if (strncmp(message, "invalid connection option ", 26) != 0 &&
      strncmp(message, "invalid URI query parameter: ", 29) != 0)
    return none;
  if (!from || to == from) return none;
  name = (pawl_str){from + 1, (size_t)(to - from) - 1};
  if (password) rest = pawl_strz(password + strcspn(password, "="));
  if (touches(target, url_password(target), name) ||
      touches(target, rest, name) || memchr(name.at, '@', name.len) ||
      memchr(name.at, ':', name.len))
    return none;
  return name;
}

static pawl_code fail_conninfo(const char *target, const char *message,
                               pawl_error *err) {
  pawl_str option = unknown_option(target, message);
  if (option.len)
    (void)pawl_fail(err, PAWL_INVALID,
                    "the PostgreSQL URL: there is no option \"%.*s\"",
                    (int)(option.len < 60 ? option.len : 60), option.at);
  else
    (void)pawl_fail(err, PAWL_INVALID, "the PostgreSQL URL cannot be read");
  if (pawl_url_is_postgres(target))
    pawl_error_hint(err, "postgres://user:password@host:5432/database; %s",
                    ESCAPES);
  else
    pawl_error_hint(err, "postgres:host=... dbname=... user=...");
  return PAWL_INVALID;
}

static const char *option_of(const PQconninfoOption *o, const char *keyword) {
  for (; o && o->keyword; o++)
    if (strcmp(o->keyword, keyword) == 0)
      return o->val && o->val[0] ? o->val : NULL;
  return NULL;
}

/* What names a store, and may be shown. */
static const char *const shown[] = {"service", "host",   "hostaddr",
                                    "port",    "dbname", "user"};
enum { NSHOWN = sizeof shown / sizeof *shown };

/* Not what is read as one, because something before it was mistyped. */
static int may_be_shown(const char *keyword, const char *value) {
  return !pawl_url_is_nested(value) &&
         (strcmp(keyword, "port") != 0 || pawl_url_is_port(value));
}

/* The one that is a connection string where a name should be, or a port that
 * is no number: libpq, or the server, would quote it, with what is in it. */
static const char *find_strange(const PQconninfoOption *options) {
  for (int i = 0; i < NSHOWN; i++) {
    const char *value = option_of(options, shown[i]);
    if (value && !may_be_shown(shown[i], value)) return shown[i];
  }
  return NULL;
}

/* Is the text a connection string that libpq can read? */
static pawl_code check_conninfo(const char *target, pawl_error *err) {
  char *message = NULL;
  pawl_code rc = PAWL_OK;
  PQconninfoOption *options;
  const char *strange;
  if (!pawl_url_is_postgres(target) && !strchr(target, '='))
    return PAWL_OK; /* a database's name */
  options = pq.conninfoParse(target, &message);
  if (!options) rc = fail_conninfo(target, message ? message : "", err);
  if (options && (strange = find_strange(options))) {
    rc = pawl_fail(err, PAWL_INVALID,
                   pawl_url_is_nested(option_of(options, strange))
                       ? "the PostgreSQL URL: %s is a connection string itself"
                       : "the PostgreSQL URL: what stands for the %s is no "
                         "number",
                   strange);
    pawl_error_hint(err,
                    "postgres://user:password@host:5432/database, with "
                    "nothing before or behind it; %s",
                    ESCAPES);
  }
  pq.freemem(message);
  pq.conninfoFree(options);
  return rc;
}

/* A value as conninfo has it. */
static void add_value(pawl_buf *b, const char *value) {
  int plain = value[strcspn(value, " \t\n'\\")] == 0;
  if (!plain) pawl_buf_addc(b, '\'');
  for (; *value; value++) {
    if (*value == '\'' || *value == '\\') pawl_buf_addc(b, '\\');
    pawl_buf_addc(b, *value);
  }
  if (!plain) pawl_buf_addc(b, '\'');
}

/* What may be shown of it, built from what libpq reads in it; nothing is taken
 * out of the text, since there are many ways to write a password. Where a URL
 * was written so that libpq takes a part of the password for something else,
 * nothing of it is shown. */
static void postgres_name(const char *target, pawl_buf *out) {
  PQconninfoOption *options = NULL;
  char separator = ':';

  pawl_buf_addz(out, "postgres");
  pthread_once(&libpq_once, load_libpq);
  if (!pawl_url_is_postgres(target) && !strchr(target, '=')) {
    pawl_buf_addf(out, ":%s", target); /* a database's name */
    return;
  }
  if (!libpq_missing && !is_mistyped(target))
    options = pq.conninfoParse(target, NULL);
  for (int i = 0; i < NSHOWN; i++) {
    const char *value = option_of(options, shown[i]);
    if (!value || !may_be_shown(shown[i], value)) continue;
    pawl_buf_addf(out, "%c%s=", separator, shown[i]);
    add_value(out, value);
    separator = ' ';
  }
  if (separator == ':') pawl_buf_addz(out, ":...");
  if (options) pq.conninfoFree(options);
}

/* What stands before dbname gives way to the connection string. */
static PGconn *connect_to(const char *target) {
  static const char *const names[] = {"fallback_application_name",
                                      "connect_timeout",
                                      "keepalives_idle",
                                      "keepalives_interval",
                                      "keepalives_count",
                                      "tcp_user_timeout",
                                      "dbname",
                                      "client_encoding",
                                      NULL};
  const char *const values[] = {"pawl",  "10",   "30",   "10", "3",
                                "10000", target, "UTF8", NULL};
  return pq.connectdbParams(names, values, 1);
}

static void ignore_notice(void *ud, const PGresult *res) {
  (void)ud;
  (void)res;
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

static pawl_code find_pooler(pawl_conn *c, int *pooler, pawl_error *err);
static pawl_code queue_session(pawl_conn *c, pawl_error *err);
static pawl_code sync(pawl_conn *c, pawl_error *err);

static pawl_code check_server(pawl_conn *c, pawl_error *err) {
  int version = pq.serverVersion(c->pg);
  if (version >= OLDEST_SERVER) return PAWL_OK;
  pawl_code rc =
      pawl_fail(err, PAWL_UNSUPPORTED, "PostgreSQL %d.%d is too old",
                version / 10000, version % 10000);
  pawl_error_hint(err, "pawl needs PostgreSQL 14 or newer");
  return rc;
}

static pawl_code dial(pawl_conn *c, const char *target, int *pooler,
                      pawl_error *err) {
  int64_t began = pawl_clock_mono();
  char first[1000] = "";
  pawl_code rc;
  if (!(c->pg = connect_to(target))) return fail_memory(err);
  if (pq.status(c->pg) != CONNECTION_OK &&
      pawl_clock_mono() - began < 2 * PAWL_SECOND) {
    /* libpq keeps the SQLSTATE to itself, unless asked to be verbose; and
     * that can be asked only now. */
    pawl_copy_text(first, sizeof first, pq.errorMessage(c->pg));
    pq.setErrorVerbosity(c->pg, PQERRORS_VERBOSE);
    pq.reset(c->pg);
  }
  if (pq.status(c->pg) != CONNECTION_OK)
    return fail_connect(c, target, first, err);
  pq.setNoticeReceiver(c->pg, ignore_notice, NULL);
  TRY(check_server(c, err));
  if (pq.setnonblocking(c->pg, 1) != 0 || !pq.enterPipelineMode(c->pg))
    return fail_lost(c, "pipeline mode was refused", err);
  if (*pooler == PAWL_POOLER_UNKNOWN) TRY(find_pooler(c, pooler, err));
  c->pooler = *pooler == PAWL_POOLER_SHARED;
  if (c->pooler) return PAWL_OK;
  TRY(queue_session(c, err));
  rc = sync(c, err);
out:
  return rc;
}

static void clear_unit(unit *u) {
  for (int i = 0; i < u->nkept; i++) pq.clear(u->kept[i]);
  u->nkept = u->nops = 0;
  u->did_anything = u->is_answered = u->is_told = u->has_query = 0;
  pawl_results_clear(&u->results);
}

static void deinit_unit(pawl_conn *c, unit *u) {
  clear_unit(u);
  pawl_results_deinit(&u->results);
  pawl_release(c->alloc, u->ops, (size_t)u->ops_cap * sizeof *u->ops);
  pawl_release(c->alloc, u->kept, (size_t)u->kept_cap * sizeof *u->kept);
}

static void postgres_close(pawl_conn *c) {
  if (!c) return;
  for (int i = 0; i < NUNITS; i++) deinit_unit(c, &c->units[i]);
  if (c->query) pq.clear(c->query);
  if (c->pg) pq.finish(c->pg);
  pawl_results_deinit(&c->query_rows);
  pawl_buf_deinit(&c->bytes);
  pawl_buf_deinit(&c->query_names);
  pawl_buf_deinit(&c->query_types);
  pawl_release(c->alloc, c, sizeof *c);
}

static pawl_code postgres_open(const char *target,
                               pawl_driver_options *options, pawl_conn **out,
                               pawl_error *err) {
  pawl_code rc;
  pawl_conn *c = NULL;
  pthread_once(&libpq_once, load_libpq);
  if (libpq_missing) {
    rc = pawl_fail(err, PAWL_UNSUPPORTED, "%s", libpq_missing);
    pawl_error_hint(err, "install libpq 14 or newer (Debian: libpq5)");
    return rc;
  }
  TRY(check_conninfo(target, err));
  if (!(c = pawl_calloc(options->alloc, sizeof *c))) return fail_memory(err);
  c->alloc = options->alloc;
  c->log = options->log;
  for (int i = 0; i < NUNITS; i++)
    pawl_results_init(&c->units[i].results, c->alloc);
  c->open = c->reading = c->shown = &c->units[0]; /* for what dial sends */
  pawl_results_init(&c->query_rows, c->alloc);
  c->bytes.alloc = c->query_names.alloc = c->query_types.alloc = c->alloc;
  TRY(dial(c, target, &options->pooler, err));
  c->open = NULL;
  c->counts = (pawl_counts){0};
  *out = c;
  return PAWL_OK;
out:
  postgres_close(c);
  return rc;
}

/* ---- the wire ---- */

typedef enum goal { SENT, ANSWERED } goal;

/* Sends what is buffered and reads what comes, until all is sent, or a result
 * can be had without blocking. False: the connection is lost. */
static int pump(pawl_conn *c, goal until) {
  struct pollfd p = {.fd = pq.socket(c->pg)};
  int64_t deadline = pawl_clock_mono() + STALL_LIMIT;
  for (;;) {
    int unsent = pq.flush(c->pg);
    if (until == SENT ? unsent == 0 : !pq.isBusy(c->pg)) return 1;
    if (unsent < 0 || p.fd < 0) return 0;
    p.events = (short)(POLLIN | (unsent ? POLLOUT : 0));
    int n = poll(&p, 1, 1000);
    if (n < 0 && errno != EINTR) return 0;
    if (n > 0) deadline = pawl_clock_mono() + STALL_LIMIT;
    if (n > 0 && (p.revents & ~POLLOUT) && !pq.consumeInput(c->pg)) return 0;
    if (pawl_clock_mono() > deadline) return 0;
  }
}

/* The next result, or NULL behind a statement's last one. */
static pawl_code next_result(pawl_conn *c, PGresult **res, pawl_error *err) {
  *res = NULL;
  /* When the server said why it hangs up, its words are still to be read. */
  if (!pump(c, ANSWERED) && pq.isBusy(c->pg))
    return fail_lost(c, "the connection was lost", err);
  *res = pq.getResult(c->pg);
  if (!*res && pq.status(c->pg) == CONNECTION_BAD)
    return fail_lost(c, "the connection was lost", err);
  return PAWL_OK;
}

static int add_op(pawl_conn *c, op_kind kind, pawl_stmt stmt) {
  unit *u = c->open;
  if (u->nops == u->ops_cap) {
    int cap = u->ops_cap ? u->ops_cap * 2 : 32;
    void *ops =
        pawl_realloc(c->alloc, u->ops, (size_t)u->ops_cap * sizeof *u->ops,
                     (size_t)cap * sizeof *u->ops);
    if (!ops) return 0;
    u->ops = ops;
    u->ops_cap = cap;
  }
  u->ops[u->nops++] = (op){kind, stmt};
  return 1;
}

/* P1: may anything be sent now? */
static int may_send(const pawl_conn *c) {
  for (int i = 0; c->pooler && i < c->nsubmitted; i++)
    if (!c->submitted[i]->is_answered) return 0;
  return 1;
}

/* libpq refuses to queue more when it has no memory or no connection. */
static pawl_code queued(pawl_conn *c, int sent, pawl_error *err) {
  assert(may_send(c));
  if (!sent) return fail_lost(c, "the connection was lost", err);
  c->nqueued++;
  c->open->did_anything = 1;
  return PAWL_OK;
}

static pawl_code queue_plain(pawl_conn *c, op_kind kind, const char *sql,
                             pawl_error *err) {
  if (!add_op(c, kind, (pawl_stmt)0)) return fail_memory(err);
  return queued(
      c, pq.sendQueryParams(c->pg, sql, 0, NULL, NULL, NULL, NULL, 0), err);
}

/* What a session of our own has, the path first: what follows it calls
 * functions. */
static pawl_code queue_session(pawl_conn *c, pawl_error *err) {
  pawl_code rc;
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_PATH, err));
  TRY(queue_plain(c, OP_PLAIN, settings, err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_PLANNER, err));
out:
  return rc;
}

/* What must go out before the unit's first statement. */
static pawl_code queue_begin(pawl_conn *c, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (c->forget_prepared) {
    TRY(queue_plain(c, OP_PLAIN, "deallocate all", err));
    c->forget_prepared = 0;
  }
  if (!c->pooler && !c->in_transaction &&
      pawl_clock_mono() >= c->replan_mono_us) {
    c->replan_mono_us = pawl_clock_mono() + REPLAN_EVERY_US;
    TRY(queue_plain(c, OP_PLAIN, "discard plans", err));
  }
  if (c->begin_due) {
    TRY(queue_plain(c, OP_BEGIN, "begin", err));
    c->begin_due = 0;
    c->in_transaction = 1;
  }
  if (c->pooler && !c->open->is_told) {
    TRY(queue_plain(c, OP_PLAIN, PAWL_PG_UNIT, err));
    c->open->is_told = 1;
  }
out:
  return rc;
}

/* ---- arguments ---- */

static const struct {
  Oid oid, array;
} oids[] = {
    [PAWL_T_BOOL] = {16, 1000},      [PAWL_T_INT] = {20, 1016},
    [PAWL_T_FLOAT] = {701, 1022},    [PAWL_T_TEXT] = {25, 1009},
    [PAWL_T_JSON] = {114, 199},      [PAWL_T_UUID] = {2950, 2951},
    [PAWL_T_TIME] = {1184, 1185},    [PAWL_T_BYTES] = {17, 1001},
    [PAWL_T_NUMERIC] = {1700, 1231},
};

static Oid oid_of(const pawl_param *p, int is_array) {
  if (p->type == PAWL_T_INT && p->bits == 16) return is_array ? 1005 : 21;
  if (p->type == PAWL_T_INT && p->bits == 32) return is_array ? 1007 : 23;
  return is_array ? oids[p->type].array : oids[p->type].oid;
}

/* A statement's arguments in libpq's form. What is encoded is in c->bytes,
 * which moves while it grows: `at` is where, until all is there. */
typedef struct params {
  int n;
  Oid types[PAWL_MAX_ARGS];
  const char *values[PAWL_MAX_ARGS];
  size_t at[PAWL_MAX_ARGS];
  int is_encoded[PAWL_MAX_ARGS];
  int lengths[PAWL_MAX_ARGS];
  int formats[PAWL_MAX_ARGS];
} params;

/* Each of these writes at `to`, where there is room, and returns what comes
 * behind. */
static char *put16(char *to, uint64_t v) {
  to[0] = (char)(v >> 8);
  to[1] = (char)v;
  return to + 2;
}

static char *put32(char *to, uint64_t v) {
  return put16(put16(to, v >> 16), v);
}

static char *put64(char *to, uint64_t v) {
  return put32(put32(to, v >> 32), v);
}

static int is_bytes(pawl_type type) {
  return type == PAWL_T_TEXT || type == PAWL_T_JSON || type == PAWL_T_UUID ||
         type == PAWL_T_BYTES || type == PAWL_T_NUMERIC;
}

/* Of a type whose values all have the same size. */
static int width_of(const pawl_param *p) {
  if (p->type == PAWL_T_BOOL) return 1;
  return p->type == PAWL_T_INT ? p->bits / 8 : 8;
}

static char *put_int(char *to, int bits, uint64_t v) {
  return bits == 64 ? put64(to, v) : bits == 32 ? put32(to, v) : put16(to, v);
}

static char *put_number(char *to, const pawl_param *p, const pawl_cell *cell) {
  uint64_t bits;
  switch (p->type) {
    case PAWL_T_BOOL:
      *to = (char)(cell->i != 0);
      return to + 1;
    case PAWL_T_INT:
      return put_int(to, p->bits, (uint64_t)cell->i);
    case PAWL_T_TIME: /* pawl_args_check keeps it from overflowing */
      return put64(to, (uint64_t)(cell->i - EPOCH));
    default:
      memcpy(&bits, &cell->d, sizeof bits);
      return put64(to, bits);
  }
}

static char *put_numbers(char *to, const pawl_param *p,
                         const pawl_column *col) {
  uint64_t width = (uint64_t)width_of(p);
  for (int i = 0; i < col->n; i++) {
    const pawl_cell *cell = &col->cells[i];
    to = put32(to, cell->is_null ? UINT32_MAX : width);
    if (!cell->is_null) to = put_number(to, p, cell);
  }
  return to;
}

static char *put_texts(char *to, const pawl_column *col) {
  for (int i = 0; i < col->n; i++) {
    const pawl_cell *cell = &col->cells[i];
    to = put32(to, cell->is_null ? UINT32_MAX : cell->s.len);
    if (cell->is_null || cell->s.len == 0) continue;
    memcpy(to, cell->s.at, cell->s.len);
    to += cell->s.len;
  }
  return to;
}

/* One dimension, counted from 1. */
static void put_array(pawl_buf *b, const pawl_param *p,
                      const pawl_column *col) {
  int text = is_bytes(p->type), has_null = 0;
  size_t size = 20 + (4 + (text ? 0 : 8)) * (size_t)col->n; /* at most */
  char *to;

  for (int i = 0; i < col->n; i++) {
    has_null |= col->cells[i].is_null;
    if (text) size += col->cells[i].s.len; /* 0 of a null */
  }
  if (!(to = pawl_buf_room(b, size))) return;
  to = put32(to, 1);
  to = put32(to, (uint64_t)has_null);
  to = put32(to, oid_of(p, 0));
  to = put32(to, (uint64_t)col->n);
  to = put32(to, 1);
  to = text ? put_texts(to, col) : put_numbers(to, p, col);
  pawl_buf_grew(b, (size_t)(to - (b->at + b->len)));
}

/* numeric has no binary form worth writing: {-12.50,NULL} */
static void put_decimals(pawl_buf *b, const pawl_param *p,
                         const pawl_column *col) {
  if (p->is_array) pawl_buf_addc(b, '{');
  for (int i = 0; i < col->n; i++) {
    if (i > 0) pawl_buf_addc(b, ',');
    if (col->cells[i].is_null)
      pawl_buf_addz(b, "NULL");
    else
      pawl_buf_adds(b, col->cells[i].s);
  }
  if (p->is_array) pawl_buf_addc(b, '}');
  pawl_buf_addc(b, 0);
}

static pawl_code encode_arg(pawl_conn *c, const pawl_param *p,
                            const pawl_column *col, int i, params *out,
                            pawl_error *err) {
  const pawl_cell *cell = col->cells;
  pawl_buf *b = &c->bytes;
  size_t at = b->len, len;
  out->types[i] = oid_of(p, p->is_array);
  out->formats[i] = p->type != PAWL_T_NUMERIC;
  out->is_encoded[i] = 0;
  out->values[i] = NULL;
  out->lengths[i] = 0;
  if (!p->is_array && cell->is_null) return PAWL_OK;
  out->is_encoded[i] = 1;
  out->at[i] = at;
  if (p->type == PAWL_T_NUMERIC) {
    put_decimals(b, p, col);
  } else if (p->is_array) {
    put_array(b, p, col);
  } else if (is_bytes(p->type)) { /* borrowed: libpq copies it */
    out->is_encoded[i] = 0;
    out->values[i] = cell->s.at ? cell->s.at : "";
  } else {
    char number[8];
    pawl_buf_add(b, number, (size_t)(put_number(number, p, cell) - number));
  }
  len = out->is_encoded[i] ? b->len - at : cell->s.len;
  if (len > INT32_MAX / 2)
    return pawl_fail(err, PAWL_LIMIT, "@%s is too large", p->name);
  out->lengths[i] = (int)len;
  return PAWL_OK;
}

static pawl_code encode(pawl_conn *c, const pawl_args *args, params *out,
                        pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[args->stmt];
  pawl_code rc = PAWL_OK;
  pawl_buf_clear(&c->bytes);
  out->n = info->nargs;
  for (int i = 0; i < info->nargs; i++)
    TRY(encode_arg(c, &info->args[i], &args->cols[i], i, out, err));
  if (pawl_buf_check(&c->bytes, NULL) != PAWL_OK) return fail_memory(err);
  for (int i = 0; i < info->nargs; i++)
    if (out->is_encoded[i]) out->values[i] = c->bytes.at + out->at[i];
out:
  return rc;
}

/* ---- results ---- */

static uint64_t get(const char *at, int nbytes) {
  uint64_t v = 0;
  for (int i = 0; i < nbytes; i++) v = v << 8 | (unsigned char)at[i];
  return v;
}

static int64_t get_int(const char *at, int nbytes) {
  uint64_t v = get(at, nbytes);
  if (nbytes == 2) return (int16_t)v;
  if (nbytes == 4) return (int32_t)v;
  return (int64_t)v;
}

/* +-infinity are the ends of their range and ours. */
static int64_t get_time(const char *at) {
  int64_t us = get_int(at, 8);
  if (us == INT64_MIN) return INT64_MIN;
  return us > INT64_MAX - EPOCH ? PAWL_NEVER : us + EPOCH;
}

static double get_float(const char *at, int nbytes) {
  uint64_t bits = get(at, nbytes);
  uint32_t low = (uint32_t)bits;
  double d;
  float f;
  if (nbytes == 4) {
    memcpy(&f, &low, sizeof f);
    return (double)f;
  }
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* A binary numeric is four 16-bit words (digits, weight of the first, sign,
 * decimals shown) and digits of base 10,000. */
static void add_numeric(pawl_buf *b, const char *at) {
  int ndigits = (int)get(at, 2), weight = (int)get_int(at + 2, 2);
  unsigned sign = (unsigned)get(at + 4, 2);
  int scale = (int)get(at + 6, 2);
  char group[8];
  if (sign == 0xC000 || sign == 0xD000 || sign == 0xF000) {
    pawl_buf_addz(b, sign == 0xC000   ? "NaN"
                     : sign == 0xD000 ? "Infinity"
                                      : "-Infinity");
    return;
  }
  if (sign == 0x4000) pawl_buf_addc(b, '-');
  for (int i = 0; i <= weight || i == 0; i++) {
    int digit = i < ndigits && weight >= 0 ? (int)get(at + 8 + 2 * i, 2) : 0;
    pawl_buf_addf(b, i == 0 ? "%d" : "%04d", digit);
  }
  if (scale > 0) pawl_buf_addc(b, '.');
  for (int i = weight + 1; scale > 0; i++, scale -= 4) {
    int digit = i >= 0 && i < ndigits ? (int)get(at + 8 + 2 * i, 2) : 0;
    snprintf(group, sizeof group, "%04d", digit);
    pawl_buf_add(b, group, (size_t)(scale < 4 ? scale : 4));
  }
}

static int decode_numeric(pawl_conn *c, pawl_results *r, const char *at,
                          pawl_cell *cell) {
  pawl_buf_clear(&c->bytes);
  add_numeric(&c->bytes, at);
  if (c->bytes.failed) return 0;
  cell->s = pawl_results_copy(r, c->bytes.at, c->bytes.len);
  return cell->s.at != NULL;
}

/* What PostgreSQL may send for each of our types. */
static const Oid accepted[][5] = {
    [PAWL_T_BOOL] = {16},
    [PAWL_T_INT] = {20, 21, 23},
    [PAWL_T_FLOAT] = {701, 700},
    [PAWL_T_TEXT] = {25, 1043, 1042, 19, 705},
    [PAWL_T_JSON] = {114, 3802, 25},
    [PAWL_T_UUID] = {2950},
    [PAWL_T_TIME] = {1184, 1114},
    [PAWL_T_BYTES] = {17},
    [PAWL_T_NUMERIC] = {1700},
};

static int is_accepted(pawl_type type, Oid oid) {
  for (int i = 0; i < 5 && accepted[type][i]; i++)
    if (accepted[type][i] == oid) return 1;
  return 0;
}

/* Does a statement give the columns it declares? Once a connection. */
static pawl_code check_columns(pawl_conn *c, pawl_stmt which,
                               const PGresult *res, pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  if (info->ncols == 0 || c->checked[which]) return PAWL_OK;
  if (pq.nfields(res) != info->ncols)
    return pawl_fail(err, PAWL_INTERNAL, "%s: gives %d columns, not %d",
                     info->name, pq.nfields(res), info->ncols);
  for (int i = 0; i < info->ncols; i++) {
    if (strcmp(pq.fname(res, i), info->cols[i].name) != 0)
      return pawl_fail(err, PAWL_INTERNAL, "%s: column %d is %s, not %s",
                       info->name, i + 1, pq.fname(res, i),
                       info->cols[i].name);
    if (!is_accepted(info->cols[i].type, pq.ftype(res, i)))
      return pawl_fail(err, PAWL_INTERNAL,
                       "%s: column %s is of another type (oid %u)", info->name,
                       info->cols[i].name, (unsigned)pq.ftype(res, i));
  }
  c->checked[which] = 1;
  return PAWL_OK;
}

static int decode(pawl_conn *c, const PGresult *res, int row, int col,
                  pawl_type type, pawl_cell *cell) {
  int len = pq.getlength(res, row, col); /* 0 also of a null */
  if (len == 0 && pq.getisnull(res, row, col)) return 1;
  const char *at = pq.getvalue(res, row, col);
  cell->is_null = 0;
  switch (type) {
    case PAWL_T_BOOL:
      cell->i = at[0] != 0;
      break;
    case PAWL_T_INT:
      cell->i = get_int(at, len);
      break;
    case PAWL_T_TIME:
      cell->i = get_time(at);
      break;
    case PAWL_T_FLOAT:
      cell->d = get_float(at, len);
      break;
    case PAWL_T_NUMERIC:
      return decode_numeric(c, &c->reading->results, at, cell);
    case PAWL_T_JSON:
      if (pq.ftype(res, col) == 3802) at++, len--; /* jsonb's version */
      cell->s = (pawl_str){at, (size_t)len};
      break;
    case PAWL_T_TEXT:
    case PAWL_T_UUID:
    case PAWL_T_BYTES:
      cell->s = (pawl_str){at, (size_t)len};
      break;
  }
  return 1;
}

/* SELECT's tag counts rows, too: they were not changed. */
static int64_t changed_rows(PGresult *res) {
  const char *tag = pq.cmdStatus(res);
  if (strncmp(tag, "INSERT", 6) != 0 && strncmp(tag, "UPDATE", 6) != 0 &&
      strncmp(tag, "DELETE", 6) != 0 && strncmp(tag, "MERGE", 5) != 0)
    return 0;
  return strtoll(pq.cmdTuples(res), NULL, 10);
}

static pawl_code add_rows(pawl_conn *c, pawl_stmt which, PGresult *res,
                          pawl_error *err) {
  const pawl_stmt_info *info = &pawl_stmts[which];
  pawl_results *to = &c->reading->results;
  int nrows = info->ncols > 0 ? pq.ntuples(res) : 0;
  pawl_code rc;
  TRY(check_columns(c, which, res, err));
  TRY(pawl_results_begin(to, which, info->ncols, err));
  for (int i = 0; i < nrows; i++) {
    pawl_cell *row = pawl_results_row(to);
    if (!row) return fail_memory(err);
    for (int k = 0; k < info->ncols; k++)
      if (!decode(c, res, i, k, info->cols[k].type, &row[k]))
        return fail_memory(err);
  }
  rc = pawl_results_end(to, changed_rows(res), err);
out:
  return rc;
}

/* Keeps a result as long as its unit: cells point into it. */
static int keep(pawl_conn *c, PGresult *res) {
  unit *u = c->reading;
  if (u->nkept == u->kept_cap) {
    int cap = u->kept_cap ? u->kept_cap * 2 : 32;
    void *kept =
        pawl_realloc(c->alloc, u->kept, (size_t)u->kept_cap * sizeof *u->kept,
                     (size_t)cap * sizeof *u->kept);
    if (!kept) return 0;
    u->kept = kept;
    u->kept_cap = cap;
  }
  u->kept[u->nkept++] = res;
  return 1;
}

/* ---- answers ---- */

/* Such a statement divides by zero when a row is missing. */
static pawl_code fail_every(pawl_stmt stmt, pawl_error *err) {
  (void)pawl_fail(err, PAWL_LEASE_LOST, "%s: a row was not as expected",
                  pawl_stmts[stmt].name);
  pawl_error_sqlstate(err, "22012");
  return PAWL_LEASE_LOST;
}

static void fail_op(pawl_conn *c, const op *o, const PGresult *res,
                    verdict *v) {
  const char *what = o->kind == OP_PREPARE || o->kind == OP_EXEC
                         ? pawl_stmts[o->stmt].name
                     : o->kind == OP_QUERY ? "query"
                                           : "transaction";
  const char *state = pq.resultErrorField(res, PG_DIAG_SQLSTATE);
  if (v->rc != PAWL_OK && !v->is_ours) return;
  v->is_ours = 0;
  v->rc = fail_result(what, res, v->err);
  if (o->kind == OP_EXEC && pawl_stmts[o->stmt].every && state &&
      strcmp(state, "22012") == 0)
    v->rc = fail_every(o->stmt, v->err);
  /* A migration has changed a table under a cached plan ("must not change
   * result type"), or somebody threw our statements away. */
  if (state && (strcmp(state, "0A000") == 0 || strcmp(state, "26000") == 0 ||
                strcmp(state, "42P05") == 0))
    c->forget_prepared = !c->pooler;
}

static pawl_code fail_tag(const char *tag, pawl_error *err) {
  pawl_code rc = pawl_fail(
      err, PAWL_STORE, "COMMIT was answered with %s: nothing was stored", tag);
  pawl_error_sqlstate(err, "25P02");
  return rc;
}

/* Takes one good answer; `res` is consumed. */
static pawl_code take(pawl_conn *c, const op *o, PGresult *res,
                      pawl_error *err) {
  if (o->kind == OP_EXEC) {
    if (!keep(c, res)) {
      pq.clear(res);
      return fail_memory(err);
    }
    return add_rows(c, o->stmt, res, err);
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

static void take_good(pawl_conn *c, const op *o, PGresult *res, verdict *v) {
  pawl_code rc = PAWL_OK;
  if (o->kind == OP_COMMIT && strcmp(pq.cmdStatus(res), "COMMIT") != 0)
    rc = fail_tag(pq.cmdStatus(res), v->err);
  if (v->rc == PAWL_OK) v->rc = rc;
  rc = take(c, o, res, v->rc == PAWL_OK ? v->err : NULL);
  if (v->rc != PAWL_OK || rc == PAWL_OK) return;
  v->rc = rc;
  v->is_ours = 1;
}

/* Reads one operation's answers, up to the NULL behind them. */
static pawl_code read_op(pawl_conn *c, const op *o, verdict *v) {
  PGresult *res;
  pawl_code rc;
  for (;;) {
    TRY(next_result(c, &res, v->rc == PAWL_OK ? v->err : NULL));
    if (!res) return PAWL_OK;
    ExecStatusType status = pq.resultStatus(res);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      take_good(c, o, res, v);
      continue;
    }
    if (status != PGRES_PIPELINE_ABORTED) fail_op(c, o, res, v);
    pq.clear(res);
  }
out:
  return rc;
}

/* A commit can still fail here: deferred constraints, serialisation. */
static pawl_code read_sync(pawl_conn *c, const op *o, verdict *v) {
  PGresult *res;
  pawl_code rc;
  for (int nulls = 0; nulls < 3;) { /* one stands before, one may behind */
    TRY(next_result(c, &res, v->rc == PAWL_OK ? v->err : NULL));
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
out:
  return rc;
}

static void add_empty(pawl_conn *c, pawl_stmt which, verdict *v) {
  int ncols = pawl_stmts[which].ncols;
  pawl_code rc = pawl_results_begin(&c->reading->results, which, ncols,
                                    v->rc == PAWL_OK ? v->err : NULL);
  if (v->rc != PAWL_OK || rc == PAWL_OK) return;
  v->rc = rc;
  v->is_ours = 1;
}

/* A batch that the server stored although we cannot tell its results must not
 * look like one that failed. */
static pawl_code fail_unread(pawl_conn *c, const verdict *v) {
  if (!v->is_ours || c->reading->kind != PAWL_UNIT_BATCH) return v->rc;
  if (v->err) v->err->code = PAWL_UNREACHABLE;
  c->is_lost = 1;
  return PAWL_UNREACHABLE;
}

/* Reads a unit's answers. What was being prepared and was not answered is not
 * prepared: an aborted pipeline does not prepare, either. */
static pawl_code read_unit(pawl_conn *c, unit *u, pawl_error *err) {
  verdict v = {PAWL_OK, 0, err};
  pawl_code rc = PAWL_OK;
  c->reading = u;
  for (int i = 0; i < u->nops && rc == PAWL_OK; i++) {
    if (u->ops[i].kind == OP_SKIP)
      add_empty(c, u->ops[i].stmt, &v);
    else if (u->ops[i].kind == OP_SYNC)
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
  if (v.rc == PAWL_UNREACHABLE) c->is_lost = 1;
  return fail_unread(c, &v);
}

/* The answer to a submitted unit, for `finish` to tell. */
static void answer(pawl_conn *c, unit *u) {
  if (u->is_answered) return;
  u->rc = c->is_lost ? fail_lost(c, "the connection was lost", &u->err)
                     : read_unit(c, u, &u->err);
  u->is_answered = 1;
}

static void answer_submitted(pawl_conn *c) {
  for (int i = 0; i < c->nsubmitted; i++) answer(c, c->submitted[i]);
}

/* Reads the answers to everything sent, in order. */
static pawl_code read_all(pawl_conn *c, pawl_error *err) {
  answer_submitted(c);
  c->nqueued = 0;
  if (c->is_lost) return fail_lost(c, "the connection was lost", err);
  return read_unit(c, c->open, err);
}

/* A sync behind what is queued, and all the answers. */
static pawl_code sync(pawl_conn *c, pawl_error *err) {
  if (c->nqueued > 0) {
    c->counts.trips++;
    if (!add_op(c, OP_SYNC, (pawl_stmt)0)) return fail_memory(err);
    if (!pq.pipelineSync(c->pg))
      return fail_lost(c, "the connection was lost", err);
  }
  return read_all(c, err);
}

static pawl_code run_plain(pawl_conn *c, const char *sql, pawl_error *err) {
  pawl_code rc;
  TRY(queue_plain(c, OP_PLAIN, sql, err));
  rc = sync(c, err);
out:
  return rc;
}

/* The server's process as a statement sees it, and as the handshake told: a
 * pooler hands out numbers of its own, so that it knows whom to cancel. What
 * cannot be told from one in transaction mode is taken for one: all is right
 * then, if slower. */
static pawl_code find_pooler(pawl_conn *c, int *pooler, pawl_error *err) {
  static const char ask[] = "select pg_catalog.pg_backend_pid()";
  pawl_error why;
  pawl_code rc;
  int pid;

  if (!add_op(c, OP_QUERY, (pawl_stmt)0)) return fail_memory(err);
  TRY(queued(c, pq.sendQueryParams(c->pg, ask, 0, NULL, NULL, NULL, NULL, 0),
             err));
  TRY(sync(c, err));
  pid = atoi(pq.getvalue(c->query, 0, 0));
  *pooler = PAWL_POOLER_NONE;
  if (pid == pq.backendPID(c->pg)) return PAWL_OK;
  *pooler = PAWL_POOLER_SHARED;
  (void)pawl_fail(&why, PAWL_UNSUPPORTED, "sessions may be shared");
  pawl_error_hint(&why,
                  "say so with pooler = true (--pooler, PAWL_POOLER=1); or "
                  "with false (PAWL_POOLER=0) that each client keeps its "
                  "session: then workers are woken by others");
  pawl_log_error(c->log, PAWL_WARN, "a pooler stands before the store", &why);
out:
  return rc;
}

/* ---- units ---- */

/* Reads what has come unasked: notifications, or the server's farewell and
 * then the end of the stream. False: the connection is lost. */
static int drain(pawl_conn *c) {
  struct pollfd p = {.fd = pq.socket(c->pg), .events = POLLIN};
  while (!c->is_lost && poll(&p, 1, 0) > 0) {
    if (!pq.consumeInput(c->pg)) return 0;
    (void)pq.isBusy(c->pg); /* takes the messages apart */
    p.fd = pq.socket(c->pg);
  }
  return !c->is_lost && pq.status(c->pg) == CONNECTION_OK;
}

static int is_submitted(const pawl_conn *c, const unit *u) {
  for (int i = 0; i < c->nsubmitted; i++)
    if (c->submitted[i] == u) return 1;
  return 0;
}

/* Takes one that is not submitted (there is one more than can be): its rows
 * are given up. */
static void open_unit(pawl_conn *c, int kind) {
  c->open = c->units;
  while (is_submitted(c, c->open)) c->open++;
  clear_unit(c->open);
  c->open->kind = kind;
  c->shown = c->open;
}

static pawl_code postgres_begin(pawl_conn *c, int kind, pawl_error *err) {
  assert(!c->open);
  if (c->pooler) answer_submitted(c); /* P1 */
  if (!drain(c)) return fail_lost(c, "the connection was lost", err);
  open_unit(c, kind);
  if (c->forget_prepared) {
    memset(c->prepared, UNPREPARED, sizeof c->prepared);
    memset(c->checked, 0, sizeof c->checked);
  }
  c->begin_due = kind == PAWL_UNIT_OPEN;
  c->in_transaction = 0;
  return PAWL_OK;
}

static pawl_code queue_prepare(pawl_conn *c, pawl_stmt which, const params *p,
                               pawl_error *err) {
  if (c->prepared[which] != UNPREPARED) return PAWL_OK;
  if (!add_op(c, OP_PREPARE, which)) return fail_memory(err);
  c->prepared[which] = PREPARING;
  return queued(c,
                pq.sendPrepare(c->pg, pawl_stmts[which].name,
                               pawl_sql_postgres[which].text, p->n, p->types),
                err);
}

static pawl_code queue_exec(pawl_conn *c, pawl_stmt which, const params *p,
                            pawl_error *err) {
  if (!add_op(c, OP_EXEC, which)) return fail_memory(err);
  c->counts.statements++;
  return queued(
      c,
      c->pooler
          ? pq.sendQueryParams(c->pg, pawl_sql_postgres[which].text, p->n,
                               p->types, p->values, p->lengths, p->formats, 1)
          : pq.sendQueryPrepared(c->pg, pawl_stmts[which].name, p->n,
                                 p->values, p->lengths, p->formats, 1),
      err);
}

static pawl_code postgres_send(pawl_conn *c, const pawl_args *args,
                               pawl_error *err) {
  params p;
  pawl_code rc;
  if (pawl_args_rows(args) == 0) {
    if (!add_op(c, OP_SKIP, args->stmt)) return fail_memory(err);
  } else {
    TRY(encode(c, args, &p, err));
    TRY(queue_begin(c, err));
    if (!c->pooler) TRY(queue_prepare(c, args->stmt, &p, err));
    TRY(queue_exec(c, args->stmt, &p, err));
  }
  if (c->open->kind == PAWL_UNIT_OPEN) return sync(c, err);
  rc = PAWL_OK;
out:
  return rc;
}

static void postgres_rows(pawl_conn *c, int k, pawl_rows *out) {
  pawl_results_get(&c->shown->results, k, out);
}

/* Ends what was sent without a sync, or the open transaction. An implicit
 * transaction, too, is undone by a ROLLBACK (with a warning). */
static int postgres_rollback(pawl_conn *c) {
  if (!c->open) return 1;
  c->begin_due = 0;
  if (!c->is_lost && (c->in_transaction || c->nqueued > 0)) {
    if (PAWL_FAULT("store.rollback") != PAWL_FAULT_FAIL &&
        queue_plain(c, OP_PLAIN, "rollback", NULL) == PAWL_OK &&
        (!c->open->has_query ||
         queue_plain(c, OP_PLAIN, PAWL_PG_UNLOCK, NULL) == PAWL_OK))
      (void)sync(c, NULL);
    if (!c->is_lost && pq.transactionStatus(c->pg) != PQTRANS_IDLE)
      c->is_lost = 1;
  }
  c->open->nops = 0;
  c->open = NULL;
  c->nqueued = 0;
  c->in_transaction = 0;
  return !c->is_lost;
}

/* What a lost connection looks like from here: for tests. An answer that has
 * come already goes with it. */
static void cut(pawl_conn *c) {
  char gone[512];
  int fd = pq.socket(c->pg);
  (void)shutdown(fd, SHUT_RDWR);
  while (recv(fd, gone, sizeof gone, MSG_DONTWAIT) > 0) continue;
}

/* Behind a user's statements: the session as it was, and the user's path for
 * the triggers that the commit fires. */
static pawl_code queue_resets(pawl_conn *c, pawl_error *err) {
  pawl_code rc;
  size_t n = sizeof pawl_pg_resets / sizeof *pawl_pg_resets;
  for (size_t i = 0; i < n; i++)
    TRY(queue_plain(c, OP_PLAIN, pawl_pg_resets[i], err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_UNLOCK, err));
  if (!c->pooler) TRY(queue_session(c, err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_USER_PATH, err));
out:
  return rc;
}

/* Sends what is queued; its answers are still to come. */
static pawl_code send_queued(pawl_conn *c, pawl_error *err) {
  pawl_code rc = PAWL_OK;
  if (PAWL_FAULT("commit.before_send") == PAWL_FAULT_DROP) cut(c);
  if (c->open->has_query) TRY(queue_resets(c, err));
  if (c->in_transaction) TRY(queue_plain(c, OP_COMMIT, "commit", err));
  if (!add_op(c, OP_SYNC, (pawl_stmt)0)) return fail_memory(err);
  c->counts.trips++;
  if (!pq.pipelineSync(c->pg))
    return fail_lost(c, "the connection was lost", err);
  c->nqueued = 0;
  switch (PAWL_FAULT("commit.sent")) {
    case PAWL_FAULT_DROP:
      (void)pump(c, SENT);
      cut(c);
      break;
    default:
      break;
  }
out:
  return rc;
}

static pawl_code postgres_commit(pawl_conn *c, pawl_error *err) {
  pawl_code rc;
  assert(c->open);
  if (c->nqueued > 0 || c->in_transaction) TRY(send_queued(c, err));
  TRY(read_all(c, err)); /* or statements that were skipped */
  if (PAWL_FAULT("commit.after") == PAWL_FAULT_DROP) {
    cut(c);
    return fail_lost(c, "the connection was lost", err);
  }
  if (c->open->did_anything) c->counts.transactions++;
  c->in_transaction = 0;
  c->open = NULL;
out:
  return rc;
}

/* Does a statement in it have to be prepared first? What is sent behind it
 * could not rely on that. */
static int prepares(const unit *u) {
  for (int i = 0; i < u->nops; i++)
    if (u->ops[i].kind == OP_PREPARE) return 1;
  return 0;
}

static pawl_code postgres_submit(pawl_conn *c, pawl_error *err) {
  unit *u = c->open;
  pawl_code rc = PAWL_OK;
  assert(u && u->kind == PAWL_UNIT_BATCH);
  assert(c->nsubmitted < PAWL_MAX_SUBMITTED);
  if (c->nqueued > 0) TRY(send_queued(c, err));
  /* whole: in part it would keep its locks until the rest follows */
  if (!pump(c, SENT)) return fail_lost(c, "the connection was lost", err);
  if (u->did_anything) c->counts.transactions++; /* as its trip */
  c->submitted[c->nsubmitted++] = u;
  c->open = NULL;
  if (prepares(u)) answer_submitted(c);
out:
  return rc;
}

static pawl_code postgres_finish(pawl_conn *c, pawl_error *err) {
  unit *u = c->submitted[0];
  assert(!c->open && c->nsubmitted > 0);
  answer(c, u);
  c->nsubmitted--;
  memmove(c->submitted, c->submitted + 1,
          sizeof *c->submitted * (size_t)c->nsubmitted);
  c->shown = u;
  if (u->rc != PAWL_OK && err) *err = u->err;
  return u->rc;
}

static void postgres_await(pawl_conn *c, int64_t deadline_mono_us,
                           struct pollfd *fds, int nfds, int *answered) {
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
      c->is_lost = 1;
  }
}

/* ---- the schema ---- */

/* Several statements in one string: the simple protocol's own. */
static pawl_code postgres_script(pawl_conn *c, const char *sql,
                                 pawl_error *err) {
  op o = {OP_PLAIN, (pawl_stmt)0};
  verdict v = {PAWL_OK, 0, err};
  pawl_code rc;
  TRY(queue_begin(c, err));
  TRY(sync(c, err));
  c->counts.trips++;
  c->open->did_anything = 1;
  if (!pq.exitPipelineMode(c->pg) || !pq.sendQuery(c->pg, sql))
    return fail_lost(c, "the connection was lost", err);
  TRY(read_op(c, &o, &v));
  if (!pq.enterPipelineMode(c->pg))
    return fail_lost(c, "pipeline mode was refused", err);
  rc = v.rc;
out:
  return rc;
}

/* ---- the user's own statement ---- */

static pawl_code encode_text(pawl_buf *b, pawl_type type,
                             const pawl_cell *cell) {
  char text[37];
  switch (type) {
    case PAWL_T_BOOL:
      pawl_buf_addz(b, cell->i ? "t" : "f");
      break;
    case PAWL_T_INT:
      pawl_buf_addi(b, cell->i);
      break;
    case PAWL_T_FLOAT:
      if (isfinite(cell->d))
        pawl_json_add_float(b, cell->d);
      else
        pawl_buf_addz(b, isnan(cell->d) ? "NaN"
                         : cell->d < 0  ? "-Infinity"
                                        : "Infinity");
      break;
    case PAWL_T_TIME:
      pawl_time_format(cell->i, text);
      pawl_buf_addz(b, text);
      break;
    case PAWL_T_UUID:
      pawl_id_format((const pawl_id *)(const void *)cell->s.at, text);
      pawl_buf_addz(b, text);
      break;
    default:
      if (cell->s.len > 0 && memchr(cell->s.at, 0, cell->s.len))
        return PAWL_VALUE;
      pawl_buf_adds(b, cell->s);
  }
  pawl_buf_addc(b, 0);
  return PAWL_OK;
}

/* In text, of types the server finds out; bytes alone are binary. */
static pawl_code encode_query(pawl_conn *c, const pawl_cell *cells,
                              const pawl_type *types, int n, params *out,
                              pawl_error *err) {
  if (n > PAWL_MAX_ARGS)
    return pawl_fail(err, PAWL_LIMIT, "query: more than %d parameters",
                     PAWL_MAX_ARGS);
  pawl_buf_clear(&c->bytes);
  out->n = n;
  for (int i = 0; i < n; i++) {
    int is_binary = types[i] == PAWL_T_BYTES;
    out->types[i] = is_binary ? 17 : 0;
    out->formats[i] = is_binary;
    out->at[i] = c->bytes.len;
    out->lengths[i] = is_binary ? (int)cells[i].s.len : 0;
    if (is_binary)
      pawl_buf_adds(&c->bytes, cells[i].s);
    else if (!cells[i].is_null &&
             encode_text(&c->bytes, types[i], &cells[i]) != PAWL_OK)
      return pawl_fail(err, PAWL_VALUE,
                       "query: parameter %d is text with a zero byte", i + 1);
  }
  if (pawl_buf_check(&c->bytes, NULL) != PAWL_OK) return fail_memory(err);
  for (int i = 0; i < n; i++)
    out->values[i] = cells[i].is_null
                         ? NULL
                         : (c->bytes.at ? c->bytes.at : "") + out->at[i];
  return PAWL_OK;
}

/* The session's own limit is put aside for this statement: the values travel
 * in a setting of our own, so that no answer need be waited for. */
static pawl_code queue_limit(pawl_conn *c, int64_t limit_us, pawl_error *err) {
  char sql[160];
  int64_t ms = limit_us / 1000 > 0 ? limit_us / 1000 : 1;
  pawl_code rc;
  TRY(queue_plain(c, OP_PLAIN,
                  "select set_config('pawl.limit',"
                  " current_setting('statement_timeout'), true)",
                  err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_USER_PLANNER, err));
  snprintf(sql, sizeof sql, "set local statement_timeout = %lld",
           (long long)ms);
  TRY(queue_plain(c, OP_PLAIN, sql, err));
out:
  return rc;
}

static pawl_code queue_unlimit(pawl_conn *c, pawl_error *err) {
  return queue_plain(c, OP_PLAIN,
                     "select set_config('statement_timeout',"
                     " current_setting('pawl.limit'), true)",
                     err);
}

static pawl_type type_of(Oid oid) {
  switch (oid) {
    case 16:
      return PAWL_T_BOOL;
    case 20:
    case 21:
    case 23:
      return PAWL_T_INT;
    case 700:
    case 701:
      return PAWL_T_FLOAT;
    default:
      return PAWL_T_TEXT;
  }
}

static void decode_text(const char *at, int len, pawl_type type,
                        pawl_cell *cell) {
  cell->is_null = 0;
  cell->s = (pawl_str){at, (size_t)len};
  if (type == PAWL_T_BOOL)
    cell->i = at[0] == 't';
  else if (type == PAWL_T_INT)
    cell->i = strtoll(at, NULL, 10);
  else if (type == PAWL_T_FLOAT && !pawl_json_number(cell->s, &cell->d))
    cell->d = at[0] == 'N' ? NAN : at[0] == '-' ? -INFINITY : INFINITY;
}

static pawl_code decode_query(pawl_conn *c, pawl_rows *out, pawl_error *err) {
  PGresult *res = c->query;
  int ncols = pq.nfields(res), nrows = pq.ntuples(res);
  pawl_code rc;
  pawl_results_clear(&c->query_rows);
  pawl_buf_clear(&c->query_names);
  pawl_buf_clear(&c->query_types);
  for (int i = 0; i < ncols; i++) {
    const char *name = pq.fname(res, i);
    pawl_type type = type_of(pq.ftype(res, i));
    pawl_buf_add(&c->query_names, &name, sizeof name);
    pawl_buf_add(&c->query_types, &type, sizeof type);
  }
  if (c->query_names.failed || c->query_types.failed) return fail_memory(err);
  TRY(pawl_results_begin(&c->query_rows, (pawl_stmt)0, ncols, err));
  for (int i = 0; i < nrows; i++) {
    pawl_cell *row = pawl_results_row(&c->query_rows);
    if (!row) return fail_memory(err);
    for (int k = 0; k < ncols; k++)
      if (!pq.getisnull(res, i, k))
        decode_text(pq.getvalue(res, i, k), pq.getlength(res, i, k),
                    type_of(pq.ftype(res, k)), &row[k]);
  }
  TRY(pawl_results_end(&c->query_rows, changed_rows(res), err));
  pawl_results_get(&c->query_rows, 0, out);
out:
  return rc;
}

static pawl_code send_query(pawl_conn *c, const char *sql, const params *p,
                            int64_t limit_us, pawl_error *err) {
  pawl_code rc;
  TRY(queue_begin(c, err));
  if (limit_us > 0) TRY(queue_limit(c, limit_us, err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_USER_PATH, err));
  c->open->has_query = 1;
  if (!add_op(c, OP_QUERY, (pawl_stmt)0)) return fail_memory(err);
  c->counts.statements++;
  TRY(queued(c,
             pq.sendQueryParams(c->pg, sql, p->n, p->types, p->values,
                                p->lengths, p->formats, 0),
             err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_OWN_ROLE, err));
  TRY(queue_plain(c, OP_PLAIN, PAWL_PG_UNIT, err));
  if (limit_us > 0) TRY(queue_unlimit(c, err));
  rc = sync(c, err);
out:
  return rc;
}

/* What a failed query means to its writer rather than to us. */
static pawl_code explain_query(pawl_code rc, int64_t limit_us,
                               pawl_error *err) {
  if (rc == PAWL_BUSY && strcmp(err->sqlstate, "57014") == 0) {
    (void)pawl_fail(err, PAWL_TIMEOUT, "query: took longer than %g s",
                    (double)limit_us / (double)PAWL_SECOND);
    pawl_error_sqlstate(err, "57014");
    pawl_error_hint(err, "others wait for its locks: make it shorter");
  } else if (rc == PAWL_STORE && strcmp(err->sqlstate, "08P01") == 0) {
    err->code = PAWL_INVALID; /* more or fewer parameters than it has */
  } else if (rc == PAWL_NOT_A_STORE || rc == PAWL_AUTH) {
    err->code = PAWL_STORE; /* the user's tables, the user's grants */
    err->hint[0] = 0;
  }
  return err->code;
}

static pawl_code postgres_query(pawl_conn *c, const char *sql, size_t len,
                                const pawl_cell *cells, const pawl_type *types,
                                int nparams, int64_t limit_us, pawl_rows *out,
                                const char *const **names,
                                const pawl_type **col_types, pawl_error *err) {
  params p;
  pawl_error mine = {0};
  pawl_buf text = {.alloc = c->alloc};
  const char *why = pawl_pgguard_objection((pawl_str){sql, len});
  pawl_code rc;
  assert(c->open && c->open->kind == PAWL_UNIT_OPEN);
  if (why || memchr(sql, 0, len)) {
    rc = pawl_fail(err, PAWL_MISUSE, "query: %s", why ? why : "a zero byte");
    pawl_error_sqlstate(err, "42501");
    return rc;
  }
  pawl_buf_add(&text, sql, len);
  TRY(pawl_buf_check(&text, err));
  TRY(encode_query(c, cells, types, nparams, &p, err));
  rc = send_query(c, text.at, &p, limit_us, &mine);
  if (rc != PAWL_OK) {
    rc = explain_query(rc, limit_us, &mine);
    if (err) *err = mine;
    goto out;
  }
  if (pq.transactionStatus(c->pg) != PQTRANS_INTRANS) {
    rc = pawl_fail(err, PAWL_MISUSE, "query: it ended the transaction");
    goto out;
  }
  TRY(decode_query(c, out, err));
  *names = (const char *const *)(void *)c->query_names.at;
  *col_types = (const pawl_type *)(void *)c->query_types.at;
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* ---- waiting for work ---- */

static pawl_code listen_once(pawl_conn *c, pawl_error *err) {
  if (c->pooler || c->is_listening) return PAWL_OK;
  open_unit(c, PAWL_UNIT_READ);
  pawl_code rc = run_plain(c, "listen pawl_wake", err);
  c->open = NULL;
  c->is_listening = rc == PAWL_OK;
  return rc;
}

/* Has anybody else notified us? */
static int has_news(pawl_conn *c) {
  int news = 0;
  PGnotify *n;
  while ((n = pq.notifies(c->pg)) != NULL) {
    news |= n->be_pid != pq.backendPID(c->pg);
    pq.freemem(n);
  }
  return news;
}

static pawl_code postgres_wait(pawl_conn *c, int64_t deadline_mono_us,
                               const volatile int *stop, struct pollfd *fds,
                               int nfds, int *woken, pawl_error *err) {
  pawl_code rc;
  int listened = c->is_listening;
  TRY(listen_once(c, err));
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
out:
  return rc;
}

static void postgres_tidy(pawl_conn *c) {
  (void)c;
}

static pawl_counts *postgres_counts(pawl_conn *c) {
  return &c->counts;
}

const pawl_driver pawl_driver_postgres = {
    .name = "postgres",
    .describe = postgres_name,
    .caps = PAWL_CAN_OWN_CLOCK | PAWL_CAN_SHARDS | PAWL_CAN_SUBMIT,
    .sql = pawl_sql_postgres,
    .migrations = pawl_migrations_postgres,
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
    .script = postgres_script,
    .query = postgres_query,
    .wait = postgres_wait,
    .tidy = postgres_tidy,
    .counts = postgres_counts,
};
