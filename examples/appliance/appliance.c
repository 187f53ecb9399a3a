/* appliance.c: a coffee machine whose plug may be pulled at any moment. It
 * brews cups and updates its firmware, both as workflows; tells systemd, or any
 * other watchdog, that it lives; and says what it has written to its flash.
 *
 * Usage: appliance FOLDER [--cups N] [--update VERSION [--broken]]
 *                  [--until-done] [--grouped] [--flash-budget BYTES]
 *
 * FOLDER is the flash: the store, two slots for firmware, and the journal of
 * what the machine has been told to do. It ends with 0 on SIGTERM, or when all
 * is done and --until-done was given; with 3 when it is to be started again, as
 * its supervisor does; else with 1. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <pawl.h>

enum { CHUNK = 4096, IMAGE = 400000, RESTART = 3, JOBS = 33 };

typedef struct machine {
  pawl_engine *engine;
  const char *folder;
  int64_t slot;       /* that runs: 0 or 1 */
  char version[20];   /* of what runs */
  int restart, calls; /* calls: of the server, which loses some */
  int64_t steps, budget;
  int64_t watchdog_us; /* a sign of life is due so often; 0: nobody waits */
  int njobs;
  char jobs[JOBS][37];
} machine;

static volatile sig_atomic_t stopping;

static void stop(int number) {
  (void)number;
  stopping = 1;
}

static int64_t real_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void path_of(const machine *m, const char *name, char out[300]) {
  snprintf(out, 300, "%s/%s", m->folder, name);
}

/* What is stored as `text` in a JSON value, or "". */
static const char *word(const char *json, const char *path, char *out,
                        size_t size) {
  if (pawl_text(json, path, out, size, NULL, NULL) != PAWL_OK) *out = 0;
  return out;
}

static int64_t number(const char *json, const char *path) {
  int64_t n = 0;
  return pawl_int(json, path, &n, NULL) == PAWL_OK ? n : 0;
}

static pawl_code failed(pawl_error *err, pawl_code code, const char *what) {
  snprintf(err->message, sizeof err->message, "%s: %s", what, strerror(errno));
  return err->code = code;
}

/* ---- the watchdog --------------------------------------------------------- */

/* One datagram to whoever started us, as systemd's sd_notify sends it. */
static void notify(const char *state) {
  const char *name = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int fd;
  if (!name || strlen(name) >= sizeof to.sun_path) return;
  memcpy(to.sun_path, name, strlen(name));
  if (*name == '@') to.sun_path[0] = 0; /* an abstract one */
  fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return;
  sendto(fd, state, strlen(state), 0, (struct sockaddr *)&to,
         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
  close(fd);
}

/* How often it must be told that we live: half of what it waits, as one sign
 * may be late. */
static int64_t watchdog_us(void) {
  const char *text = getenv("WATCHDOG_USEC");
  return text ? strtoll(text, NULL, 10) / 2 : 0;
}

/* ---- flash ---------------------------------------------------------------- */

/* What this process has handed to the system to be written, or -1. */
static int64_t written(void) {
  char line[80];
  long long n = -1;
  FILE *file = fopen("/proc/self/io", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "wchar: %lld", &n) == 1) break;
  if (file) fclose(file);
  return n;
}

static void show_flash(const machine *m, int64_t before) {
  int64_t bytes = written() - before;
  if (before < 0 || m->steps == 0) return;
  bytes /= m->steps;
  printf("flash: %lld bytes a step in %lld steps; budget %lld: %s\n",
         (long long)bytes, (long long)m->steps, (long long)m->budget,
         bytes <= m->budget ? "kept" : "BROKEN");
}

/* ---- the machine, as workflows see it ------------------------------------- */

/* Was this call obeyed before? If not it is written down first: a stroke of the
 * pump that a power cut swallows is better than one too many. -1: the flash
 * has failed. */
static int is_new(const machine *m, const pawl_wanted *wanted) {
  char path[300], line[300], want[300];
  FILE *file;
  int found = 0;
  snprintf(want, sizeof want, "%s %s %.*s\n", wanted->key, wanted->name,
           (int)(wanted->length < 60 ? wanted->length : 60), wanted->input);
  path_of(m, "journal", path);
  file = fopen(path, "a+");
  if (!file) return -1;
  rewind(file);
  while (!found && fgets(line, sizeof line, file)) found = !strcmp(line, want);
  if (!found && (fseek(file, 0, SEEK_END) != 0 || fputs(want, file) < 0 ||
                 fflush(file) != 0 || fdatasync(fileno(file)) != 0))
    found = -1;
  fclose(file);
  return found < 0 ? -1 : !found;
}

/* heater, grinder, pump: here they would set a pin. */
static pawl_code actuator(void *ud, const pawl_wanted *wanted, char **out,
                          pawl_error *err) {
  int fresh = is_new((const machine *)ud, wanted);
  (void)out;
  if (fresh < 0) return failed(err, PAWL_STORE, "the journal");
  if (fresh) printf("%s %s\n", wanted->name, wanted->input);
  return PAWL_OK;
}

/* What a server would have: bytes that depend on the version and the place. */
static char byte_at(const char *version, int64_t at) {
  return (char)('a' + (at * 7 + at / 26 + (unsigned char)version[0]) % 26);
}

static int64_t add_to_sum(int64_t sum, char byte) {
  return (sum * 31 + (unsigned char)byte) % 1000000007;
}

static pawl_code fetch(void *ud, const pawl_wanted *wanted, char **out,
                       pawl_error *err) {
  machine *m = (machine *)ud;
  char version[20], bytes[CHUNK + 1];
  int64_t at = number(wanted->input, "at"),
          length = number(wanted->input, "length");
  word(wanted->input, "version", version, sizeof version);
  if (length < 0 || length > CHUNK) return PAWL_INVALID;
  if (m->calls++ % 7 == 3) {
    strcpy(err->message, "the server does not answer");
    return PAWL_UNREACHABLE; /* the step is tried again */
  }
  for (int64_t i = 0; i < length; i++) bytes[i] = byte_at(version, at + i);
  return pawl_format(NULL, out, err, "%.*Q", (int)length, bytes);
}

/* The slot that does not run. */
static int open_slot(const machine *m, int flags) {
  char path[300];
  path_of(m, m->slot == 0 ? "slot1.img" : "slot0.img", path);
  return open(path, flags, 0644);
}

static pawl_code write_slot(void *ud, const pawl_wanted *wanted, char **out,
                            pawl_error *err) {
  char bytes[CHUNK + 1];
  size_t length = 0;
  pawl_code rc =
      pawl_text(wanted->input, "bytes", bytes, sizeof bytes, &length, err);
  int fd;
  (void)out;
  if (rc != PAWL_OK) return rc;
  fd = open_slot((const machine *)ud, O_WRONLY | O_CREAT);
  if (fd < 0) return failed(err, PAWL_STORE, "slot");
  if (pwrite(fd, bytes, length, (off_t)number(wanted->input, "at")) !=
          (ssize_t)length ||
      fdatasync(fd) != 0)
    rc = failed(err, PAWL_STORE, "slot");
  close(fd);
  return rc;
}

static pawl_code slot_sum(void *ud, const pawl_wanted *wanted, char **out,
                          pawl_error *err) {
  int64_t left = number(wanted->input, "size"), sum = 0;
  char bytes[CHUNK];
  ssize_t n = 1;
  int fd = open_slot((const machine *)ud, O_RDONLY);
  if (fd < 0) return failed(err, PAWL_STORE, "slot");
  while (left > 0 && (n = read(fd, bytes, sizeof bytes)) > 0)
    for (ssize_t i = 0; i < n && left > 0; i++, left--)
      sum = add_to_sum(sum, bytes[i]);
  close(fd);
  return pawl_format(NULL, out, err, "%lld", (long long)sum);
}

/* Waits until what runs is what was asked for, which takes a restart. */
static pawl_code boot(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  machine *m = (machine *)ud;
  char version[20];
  (void)out;
  (void)err;
  word(wanted->input, "version", version, sizeof version);
  if (!strcmp(version, m->version)) return PAWL_OK;
  if (!wanted->gone) m->restart = 1;
  return PAWL_BUSY;
}

/* ---- starting ------------------------------------------------------------- */

/* What the boot loader reads: a table of the machine's own in the same file, so
 * that the switch of the slots is one transaction with the step that did it. */
static pawl_code see_boot(machine *m, pawl_error *err) {
  static const char *const SQL[] = {
      "create table if not exists boot (slot integer, version text, "
      "trial integer, switched integer)",
      "insert into boot select 0, '1.0', 0, 0 "
      "where not exists (select 1 from boot)"};
  char *rows = NULL;
  pawl_code rc = pawl_transaction_begin(m->engine, err);
  if (rc != PAWL_OK) return rc;
  for (int i = 0; i < 2 && rc == PAWL_OK; i++)
    rc = pawl_transaction_query(m->engine, SQL[i], NULL, NULL, NULL, err);
  if (rc == PAWL_OK)
    rc = pawl_transaction_query(m->engine, "select slot, version from boot",
                                NULL, NULL, &rows, err);
  if (rc == PAWL_OK) rc = pawl_transaction_commit(m->engine, err);
  if (rc != PAWL_OK) (void)pawl_transaction_abort(m->engine, NULL);
  if (rc == PAWL_OK) {
    m->slot = number(rows, "[0].slot");
    word(rows, "[0].version", m->version, sizeof m->version);
    printf("running %s from slot %d\n", m->version, (int)m->slot);
  }
  pawl_free(m->engine, rows);
  return rc;
}

static pawl_code lend(machine *m, pawl_error *err) {
  static const struct {
    const char *name;
    pawl_function_fn fn;
  } LENT[] = {
      {"heater", actuator}, {"grinder", actuator},      {"pump", actuator},
      {"fetch", fetch},     {"write_slot", write_slot}, {"slot_sum", slot_sum},
      {"boot", boot}};
  pawl_code rc = PAWL_OK;
  for (size_t i = 0; i < sizeof LENT / sizeof *LENT && rc == PAWL_OK; i++)
    rc = pawl_register(m->engine, LENT[i].name, LENT[i].fn, m, NULL, err);
  return rc;
}

typedef struct wish {
  const char *folder, *update;
  int64_t cups, budget;
  int broken, until_done, grouped;
} wish;

static pawl_code begin(machine *m, const wish *w, pawl_error *err) {
  pawl_config config = PAWL_CONFIG_INIT;
  char path[300];
  /* A store of this machine alone: after a power cut it need not wait long for
   * itself. What is over goes after an hour, so that the file stays small. */
  config.lease_us = 300000;
  config.heartbeat_us = 100000;
  config.retain = "{\"retain_us\":3600000000}";
  if (w->grouped) config.durability = PAWL_DURABLE_GROUPED;
  path_of(m, "appliance.db", path);
  pawl_code rc = pawl_open(path, &config, &m->engine, err);
  if (rc == PAWL_OK) rc = see_boot(m, err);
  if (rc == PAWL_OK) rc = lend(m, err);
  if (rc == PAWL_OK) rc = pawl_load(m->engine, "brew.lua", NULL, err);
  if (rc == PAWL_OK) rc = pawl_load(m->engine, "firmware.lua", NULL, err);
  return rc;
}

/* The key makes it one job, however often the machine is started. */
static pawl_code ask(machine *m, const char *code, const char *input,
                     const char *key, pawl_error *err) {
  char options[80];
  pawl_code rc =
      pawl_format_into(options, sizeof options, err, "{\"key\":%Q}", key);
  if (rc != PAWL_OK || m->njobs == JOBS) return rc;
  return pawl_start(m->engine, code, input, options, m->jobs[m->njobs++], NULL,
                    err);
}

static pawl_code ask_all(machine *m, const wish *w, pawl_error *err) {
  char key[40], input[160];
  pawl_code rc = PAWL_OK;
  int64_t sum = 0;
  for (int64_t i = 1; i <= w->cups && rc == PAWL_OK; i++) {
    snprintf(key, sizeof key, "cup-%d", (int)i);
    rc = ask(m, "coffee.brew", "{\"grams\":8,\"ml\":120}", key, err);
  }
  if (rc != PAWL_OK || !w->update) return rc;
  for (int64_t at = 0; at < IMAGE; at++) /* which the server tells */
    sum = add_to_sum(sum, byte_at(w->update, at));
  rc = pawl_format_into(
      input, sizeof input, err,
      "{\"version\":%Q,\"size\":%d,\"sum\":%lld,\"broken\":%b}", w->update,
      IMAGE, (long long)sum, w->broken);
  snprintf(key, sizeof key, "firmware-%.20s", w->update);
  if (rc == PAWL_OK) rc = ask(m, "appliance.firmware", input, key, err);
  return rc;
}

/* ---- running -------------------------------------------------------------- */

static int all_done(machine *m, pawl_code *rc, pawl_error *err) {
  const char *status = "";
  for (int i = 0; i < m->njobs && *rc == PAWL_OK; i++) {
    *rc = pawl_status(m->engine, m->jobs[i], &status, err);
    if (strcmp(status, "completed") && strcmp(status, "failed")) return 0;
  }
  return *rc == PAWL_OK;
}

static void rest(const machine *m, const pawl_tick_stats *stats) {
  int64_t us = stats->next_due_us - pawl_now(m->engine);
  if (us > 20000) us = 20000; /* buttons are looked at so often */
  if (us <= 0) return;
  struct timespec t = {0, (long)us * 1000};
  nanosleep(&t, NULL);
}

/* A sign of life is one that the store gives: a tick that worked. */
static pawl_code run(machine *m, const wish *w, pawl_error *err) {
  int64_t told_us = 0;
  pawl_code rc = PAWL_OK;
  while (rc == PAWL_OK && !m->restart && !stopping) {
    pawl_tick_stats stats;
    rc = pawl_tick(m->engine, 50000, &stats, err);
    if (rc == PAWL_BUSY) { /* somebody looks into the file */
      rc = PAWL_OK;
      continue;
    }
    if (rc != PAWL_OK) break;
    m->steps += stats.steps;
    if (m->watchdog_us && real_us() - told_us >= m->watchdog_us) {
      notify("WATCHDOG=1");
      told_us = real_us();
    }
    if (w->until_done && stats.claimed == 0 && all_done(m, &rc, err)) break;
    if (!m->restart) rest(m, &stats);
  }
  return rc;
}

static int read_wish(int argc, char **argv, wish *w) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    int more = i + 1 < argc;
    if (!strcmp(option, "--broken"))
      w->broken = 1;
    else if (!strcmp(option, "--until-done"))
      w->until_done = 1;
    else if (!strcmp(option, "--grouped"))
      w->grouped = 1;
    else if (!strcmp(option, "--cups") && more)
      w->cups = strtoll(argv[++i], NULL, 10);
    else if (!strcmp(option, "--update") && more)
      w->update = argv[++i];
    else if (!strcmp(option, "--flash-budget") && more)
      w->budget = strtoll(argv[++i], NULL, 10);
    else if (option[0] != '-' && !w->folder)
      w->folder = option;
    else
      return 0;
  }
  return w->folder && w->cups >= 0 && w->cups < JOBS;
}

int main(int argc, char **argv) {
  wish w = {NULL, NULL, 0, 40960, 0, 0, 0};
  struct sigaction action;
  static machine m;
  pawl_error err;
  int64_t before;

  if (!read_wish(argc, argv, &w)) {
    fputs(
        "usage: appliance FOLDER [--cups N] [--update VERSION [--broken]] "
        "[--until-done] [--grouped] [--flash-budget BYTES]\n",
        stderr);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  memset(&action, 0, sizeof action);
  action.sa_handler = stop;
  sigaction(SIGTERM, &action, NULL);
  m.folder = w.folder;
  m.budget = w.budget;
  m.watchdog_us = watchdog_us();
  pawl_code rc = begin(&m, &w, &err);
  if (rc == PAWL_OK) rc = ask_all(&m, &w, &err);
  before = written();
  if (rc == PAWL_OK) {
    notify("READY=1");
    rc = run(&m, &w, &err);
  }
  notify("STOPPING=1");
  if (rc != PAWL_OK)
    fprintf(stderr, "appliance: %s: %s\n", pawl_code_name(err.code),
            err.message);
  show_flash(&m, before);
  if (m.restart) puts("restarting");
  pawl_close(m.engine);
  return rc != PAWL_OK ? 1 : m.restart ? RESTART : 0;
}
