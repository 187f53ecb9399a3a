#define _POSIX_C_SOURCE 200809L /* poll, dlopen, pthread_once */
#include "pgconn.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/clock.h"
#include "failure.h"
#include "pgurl.h"

#define OLDEST_SERVER 140000
#define STALL_LIMIT (90 * PAWL_SECOND) /* the server's own limit is 60 s */

/* ---- libpq ---- */

#define pq pawl_pq
pawl_libpq pawl_pq;

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
  PAWL_LIBPQ(FIND)
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
    {"53200", PAWL_STORE, "the server has no memory left"},
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
  assert(strlen(state) == 5);
  return pawl_fail_as(err, rc, state, hint, "%s: %s", what, message);
}

/* libpq says it in words alone, which are translated only in a program that
 * calls setlocale. */
static int tells_of_memory(const char *text) {
  return strstr(text, "out of memory") ||
         strstr(text, "cannot allocate memory for");
}

/* A server's answer has a SQLSTATE. */
int pawl_pgconn_is_short_answer(const PGresult *res) {
  return !pq.resultErrorField(res, PG_DIAG_SQLSTATE) &&
         tells_of_memory(pq.resultErrorMessage(res));
}

/* A server's own words are among them, too, and it may be gone behind these;
 * but of the buffer for what it sends libpq alone speaks. */
int pawl_pgconn_is_short(const PGconn *pg) {
  const char *text = pq.errorMessage(pg);
  return strstr(text, "cannot allocate memory for") ||
         (pq.status(pg) == CONNECTION_OK && tells_of_memory(text));
}

/* Whatever its SQLSTATE: PgBouncer gives 08P01 for a server that has died. It
 * has no severity that is not translated, and translates none. */
static int ends_session(const PGresult *res) {
  const char *how = pq.resultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (!how) how = pq.resultErrorField(res, PG_DIAG_SEVERITY);
  return how && (strcmp(how, "FATAL") == 0 || strcmp(how, "PANIC") == 0);
}

pawl_code pawl_pgconn_fail_result(const char *what, const PGresult *res,
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

pawl_code pawl_pgconn_fail_lost(const char *why, pawl_error *err) {
  return pawl_fail_as(err, PAWL_UNREACHABLE, "08006",
                      "is the server up? The next call connects again",
                      "PostgreSQL: %s", why);
}

/* ---- what a URL may show ---- */

/* Where a URL's password may be. It goes on to the last @: libpq takes what is
 * behind an @ or / in it, that were not written as %40 and %2F, for the host
 * or the port. */
static pawl_str url_password(const char *target) {
  const char *at =
      pawl_pgurl_is_whole(target) ? strchr(strstr(target, "//"), ':') : NULL;
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
static pawl_code fail_unreachable(const pawl_alloc *alloc, PGconn *pg,
                                  const char *target, const char *first,
                                  pawl_error *err) {
  pawl_buf text = {.alloc = alloc};
  const char *message = pq.errorMessage(pg);
  int is_refused = !message[0] || strncmp(message, "invalid ", 8) == 0;
  pawl_code rc;
  message = last_attempt(target, message[0] ? message : first);
  clean_text(target, message, &text);
  if (pawl_buf_check(&text, NULL) != PAWL_OK ||
      (tells_of_memory(message) && !strstr(message, "FATAL"))) {
    rc = pawl_failure_memory(err);
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

static pawl_code fail_connect(const pawl_alloc *alloc, PGconn *pg,
                              const char *target, const char *first,
                              pawl_error *err) {
  const char *message = pq.errorMessage(pg);
  const char *at = find_sqlstate(message);
  char state[6] = "", text[300];
  if (at) {
    memcpy(state, at, 5);
    pawl_copy_text(text, sizeof text, at + 7);
    text[strcspn(text, "\n")] = 0;
    return fail_state(state, "PostgreSQL", text, err);
  }
  if (pq.connectionNeedsPassword(pg))
    return fail_state("28P01", "PostgreSQL", "it asks for a password", err);
  return fail_unreachable(alloc, pg, target, first, err);
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
  if (pawl_pgurl_is_whole(target))
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
  if (!pawl_pgurl_is_whole(target) && !strchr(target, '='))
    return PAWL_OK; /* a database's name */
  options = pq.conninfoParse(target, &message);
  if (!options)
    rc = message ? fail_conninfo(target, message, err)
                 : pawl_failure_memory(err);
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
void pawl_pgconn_describe(const char *target, pawl_buf *out) {
  PQconninfoOption *options = NULL;
  char separator = ':';

  pawl_buf_addz(out, "postgres");
  pthread_once(&libpq_once, load_libpq);
  if (!pawl_pgurl_is_whole(target) && !strchr(target, '=')) {
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

static pawl_code check_server(PGconn *pg, pawl_error *err) {
  int version = pq.serverVersion(pg);
  if (version >= OLDEST_SERVER) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_UNSUPPORTED, "pawl needs PostgreSQL 14 or newer",
      "PostgreSQL %d.%d is too old", version / 10000, version % 10000);
}

pawl_code pawl_pgconn_load(pawl_error *err) {
  pthread_once(&libpq_once, load_libpq);
  if (!libpq_missing) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_UNSUPPORTED,
                        "install libpq 14 or newer (Debian: libpq5)", "%s",
                        libpq_missing);
}

pawl_code pawl_pgconn_open(const pawl_alloc *alloc, const char *target,
                           PGconn **out, pawl_error *err) {
  int64_t began = pawl_clock_mono();
  char first[1000] = "";
  PGconn *pg;
  MUST(check_conninfo(target, err));
  assert(!libpq_missing && pq.status); /* pawl_pgconn_load came first */
  if (!(pg = *out = connect_to(target))) return pawl_failure_memory(err);
  if (pq.status(pg) != CONNECTION_OK &&
      pawl_clock_mono() - began < 2 * PAWL_SECOND) {
    /* libpq keeps the SQLSTATE to itself, unless asked to be verbose; and
     * that can be asked only now. */
    pawl_copy_text(first, sizeof first, pq.errorMessage(pg));
    pq.setErrorVerbosity(pg, PQERRORS_VERBOSE);
    pq.reset(pg);
  }
  if (pq.status(pg) != CONNECTION_OK)
    return fail_connect(alloc, pg, target, first, err);
  pq.setNoticeReceiver(pg, ignore_notice, NULL);
  MUST(check_server(pg, err));
  if (pq.setnonblocking(pg, 1) != 0 || !pq.enterPipelineMode(pg))
    return pawl_pgconn_fail_lost("pipeline mode was refused", err);
  return PAWL_OK;
}

int pawl_pgconn_pump(PGconn *pg, pawl_pgconn_goal until) {
  struct pollfd p = {.fd = pq.socket(pg)};
  int64_t deadline = pawl_clock_mono() + STALL_LIMIT;
  for (;;) {
    int unsent = pq.flush(pg);
    if (until == PAWL_PG_SENT ? unsent == 0 : !pq.isBusy(pg)) return 1;
    if (unsent < 0 || p.fd < 0) return 0;
    p.events = (short)(POLLIN | (unsent ? POLLOUT : 0));
    int n = poll(&p, 1, 1000);
    if (n < 0 && errno != EINTR) return 0;
    if (n > 0) deadline = pawl_clock_mono() + STALL_LIMIT;
    if (n > 0 && (p.revents & ~POLLOUT) && !pq.consumeInput(pg)) return 0;
    if (pawl_clock_mono() > deadline) return 0;
  }
}

void pawl_pgconn_cut(PGconn *pg) {
  char gone[512];
  int fd = pq.socket(pg);
  (void)shutdown(fd, SHUT_RDWR);
  while (recv(fd, gone, sizeof gone, MSG_DONTWAIT) > 0) continue;
}
