/* A program in the place of `pawl isolate`, which is between an engine's host
 * and that one, and at some point does what no process of ours would do.
 *
 *   liar PAWL WHEN WHAT [NUMBER]
 *
 * WHEN: the message of the host at which it begins, "setup", "load", "run".
 * "always" "changes what is said": whatever it passes on to the host, by lot,
 * whose seed is NUMBER. What else is said there is passed on. It ends by itself after ENDS seconds,
 * so that a host which waits for it fails a spec in place of hanging there. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../src/host/wire.h"

enum { HOST = 0, ENDS = 8, ENDS_AT_START = 20, MB = 1 << 20 };

static int child; /* the true one */
static const char *number;

/* ---- messages ---- */

typedef struct message {
  uint32_t len;
  char *at; /* its kind leads */
} message;

static void put(int fd, const void *bytes, size_t n) {
  const char *at = bytes;
  while (n > 0) {
    const ssize_t sent = write(fd, at, n);
    if (sent <= 0) _exit(0);
    at += sent;
    n -= (size_t)sent;
  }
}

static void get(int fd, void *to, size_t n) {
  char *at = to;
  while (n > 0) {
    const ssize_t got = read(fd, at, n);
    if (got <= 0) _exit(0);
    at += got;
    n -= (size_t)got;
  }
}

static message take(int fd) {
  message m;
  get(fd, &m.len, sizeof m.len);
  m.at = malloc(m.len + 100);
  get(fd, m.at, m.len);
  return m;
}

/* Length and bytes in one call: they come together. */
static void send_all(int fd, const message *list, int n) {
  static char both[8 * MB];
  size_t len = 0;
  for (int i = 0; i < n; i++) {
    memcpy(both + len, &list[i].len, sizeof list[i].len);
    memcpy(both + len + sizeof list[i].len, list[i].at, list[i].len);
    len += sizeof list[i].len + list[i].len;
  }
  put(fd, both, len);
}

static void pass(int fd, message m) {
  send_all(fd, &m, 1);
}

static message begin(pawl_wire_kind kind) {
  message m = {1, malloc(MB)};
  m.at[0] = (char)kind;
  return m;
}

static void add_int(message *m, int64_t n) {
  memcpy(m->at + m->len, &n, sizeof n);
  m->len += sizeof n;
}

static void add_text(message *m, const char *text) {
  const int32_t len = (int32_t)strlen(text);
  memcpy(m->at + m->len, &len, sizeof len);
  memcpy(m->at + m->len + sizeof len, text, (size_t)len + 1);
  m->len += (uint32_t)sizeof len + (uint32_t)len + 1;
}

static message line(int64_t serial) {
  message m = begin(PAWL_WIRE_LOG);
  add_int(&m, serial);
  add_int(&m, 1);
  add_text(&m, "it is said");
  add_text(&m, "{}");
  return m;
}

/* The kind of what answers the message. */
static pawl_wire_kind answer_of(message m) {
  return m.at[0] == PAWL_WIRE_SETUP  ? PAWL_WIRE_READY
         : m.at[0] == PAWL_WIRE_LOAD ? PAWL_WIRE_LOADED
                                     : PAWL_WIRE_DONE;
}

static int64_t serial_of(message m) {
  int64_t serial = 0;
  memcpy(&serial, m.at + 1, sizeof serial);
  return serial;
}

static void nap(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  (void)nanosleep(&t, NULL);
}

/* ---- by lot ---- */

static uint64_t state; /* 0: nothing is changed */

/* splitmix64: 0 to n - 1 */
static uint32_t upto(uint32_t n) {
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ (z >> 31)) % n);
}

static void insert(message *m, uint32_t at, const void *bytes, uint32_t n) {
  char *room = malloc(m->len + n + 100);
  memcpy(room, m->at, at);
  memcpy(room + at, bytes, n);
  memcpy(room + at + n, m->at + at, m->len - at);
  m->at = room;
  m->len += n;
}

static void cut(message *m, uint32_t at, uint32_t n) {
  if (n > m->len - at) n = m->len - at;
  memmove(m->at + at, m->at + at + n, m->len - at - n);
  m->len -= n;
}

/* One byte, some bytes less, some twice, a word of JSON, or what may be a
 * length. */
static void change(message *m) {
  static const char *const words[] = {
      "null",  "-1",  "1e99",    "99999999999999999999",
      "{}",    "[]",  "\"\"",    "true",
      "\"a\"", "\",", "\\u0000", "\xff"};
  static const uint32_t lengths[] = {0,          1,          16,
                                     0x7fffffff, 0x80000000, 0xffffffff};
  const uint32_t at = upto(m->len), most = m->len - at;
  const char *word = words[upto(sizeof words / sizeof *words)];
  const uint32_t length = lengths[upto(sizeof lengths / sizeof *lengths)];
  const uint32_t n = 1 + upto(40);
  switch (upto(5)) {
    case 0:
      m->at[at] = (char)upto(256);
      break;
    case 1:
      cut(m, at, 1 + upto(9));
      break;
    case 2:
      insert(m, at, m->at + at, n < most ? n : most);
      break;
    case 3:
      insert(m, at, word, (uint32_t)strlen(word));
      break;
    default:
      memcpy(m->at + at, &length, most < 4 ? most : 4);
  }
}

/* ---- the true one ---- */

/* What it says, as it is passed on: by lot changed, or said twice. */
static message hear(void) {
  message said = take(child);
  if (!state || upto(4)) return said;
  for (uint32_t n = 1 + upto(4); n > 0 && said.len > 0; n--) change(&said);
  if (upto(7) == 0) pass(HOST, said);
  return said;
}

static int is_of(message m, pawl_wire_kind kind) {
  return m.len > 0 && m.at[0] == (char)kind;
}

/* What the true one answers; its questions are passed on. */
static message answer(message m) {
  pass(child, m);
  for (;;) {
    const message said = hear();
    if (!is_of(said, PAWL_WIRE_LOG) && !is_of(said, PAWL_WIRE_ASK))
      return said;
    pass(HOST, said);
    if (is_of(said, PAWL_WIRE_ASK)) pass(child, take(HOST));
  }
}

/* ---- what it does, in place of answering ---- */

/* It announces a message, and never comes to its end. */
static void drip(pawl_wire_kind kind) {
  const uint32_t len = 60000;
  const char head = (char)kind;
  put(HOST, &len, sizeof len);
  put(HOST, &head, 1);
  for (;;) {
    nap(2);
    put(HOST, "x", 1);
  }
}

static void drip_line(message m) {
  (void)m;
  drip(PAWL_WIRE_LOG);
}

static void drip_answer(message m) {
  drip(answer_of(m));
}

static void say_nothing(message m) {
  (void)m;
  for (;;) pause();
}

static void close_its_end(message m) {
  (void)shutdown(HOST, SHUT_RDWR);
  say_nothing(m);
}

static void end(message m) {
  (void)m;
  _exit(0);
}

/* Questions without an end, each of which is answered. */
static void ask(message m) {
  for (;;) {
    message asked = begin(PAWL_WIRE_ASK);
    add_int(&asked, PAWL_ASK_NOW);
    add_int(&asked, serial_of(m));
    pass(HOST, asked);
    free(take(HOST).at);
    free(asked.at);
  }
}

/* Lines without an end, each in good time behind the last. */
static void say_lines(message m) {
  for (;;) {
    pass(HOST, line(serial_of(m)));
    nap(50);
  }
}

/* `number` lines that are nobody's, and what the true one answers. */
static void say_nobodys(message m) {
  for (int i = 0; i < atoi(number); i++) pass(HOST, line(0));
  pass(HOST, answer(m));
}

static void say_anothers(message m) {
  pass(HOST, line(serial_of(m) + 1000));
  say_nothing(m);
}

/* Begins a message, and goes on with it for as long as it is read. */
static void announce(uint32_t len, int kind) {
  static const char bytes[MB];
  const char head = (char)kind;
  put(HOST, &len, sizeof len);
  if (len) put(HOST, &head, 1);
  for (uint32_t left = len; left > 0; left -= left < MB ? left : MB)
    put(HOST, bytes, left < MB ? left : MB);
  for (;;) pause();
}

static void say_a_long_line(message m) {
  (void)m;
  announce(38 * MB, PAWL_WIRE_LOG);
}

static void ask_much(message m) {
  (void)m;
  announce(38 * MB, PAWL_WIRE_ASK);
}

static void answer_much(message m) {
  announce(1000 * MB, answer_of(m));
}

static void lie_about_length(message m) {
  announce(UINT32_MAX, answer_of(m));
}

static void say_an_empty_one(message m) {
  (void)m;
  announce(0, 0);
}

static void say_what_is_none(message m) {
  (void)m;
  announce(10, 77);
}

static void be_out_of_turn(message m) {
  (void)m;
  announce(10, PAWL_WIRE_READY);
}

static void answer_twice(message m) {
  const message said = answer(m);
  const message both[] = {said, said};
  send_all(HOST, both, 2);
}

/* The second, when the host has turned to something else. */
static void answer_once_more(message m) {
  const message said = answer(m);
  pass(HOST, said);
  nap(20);
  pass(HOST, said);
}

static void ask_and_go_on(message m) {
  message asked = begin(PAWL_WIRE_ASK);
  add_int(&asked, PAWL_ASK_NOW);
  add_int(&asked, serial_of(m));
  const message both[] = {asked, asked};
  send_all(HOST, both, 2);
  say_nothing(m);
}

/* It waits for no time at all, again and again. */
static void await(message m) {
  for (;;) {
    message done = begin(PAWL_WIRE_DONE);
    add_int(&done, PAWL_OK);
    add_int(&done, 1);
    add_int(&done, PAWL_AWAIT_TIME);
    add_int(&done, 0);
    nap(5); /* so that its time is over after a few */
    pass(HOST, done);
    m = take(HOST);
    if (m.at[0] == PAWL_WIRE_ABANDON) _exit(0);
  }
}

static const struct {
  const char *name;
  void (*act)(message m);
} acts[] = {{"says a long line", say_a_long_line},
            {"asks much", ask_much},
            {"answers much", answer_much},
            {"lies about a length", lie_about_length},
            {"says an empty message", say_an_empty_one},
            {"says what is no message", say_what_is_none},
            {"speaks out of turn", be_out_of_turn},
            {"changes what is said", say_nothing},
            {"answers twice", answer_twice},
            {"answers once more", answer_once_more},
            {"asks and goes on", ask_and_go_on},
            {"drips a line", drip_line},
            {"drips its answer", drip_answer},
            {"says nothing", say_nothing},
            {"closes its end", close_its_end},
            {"ends", end},
            {"asks without an end", ask},
            {"logs without an end", say_lines},
            {"logs for nobody", say_nobodys},
            {"logs for another", say_anothers},
            {"waits without an end", await}};

static void (*find(const char *name))(message m) {
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
    if (strcmp(acts[i].name, name) == 0) return acts[i].act;
  return NULL;
}

/* ---- between the two ---- */

static void start_true_one(const char *program) {
  char own[24];
  int fds[2];
  snprintf(own, sizeof own, "%ld", (long)getpid());
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) _exit(9);
  if (fork() == 0) {
    dup2(fds[1], STDIN_FILENO);
    execl(program, "pawl", "isolate", own, (char *)NULL);
    _exit(9);
  }
  close(fds[1]);
  child = fds[0];
}

int main(int argc, char **argv) {
  static const char *const whens[] = {[PAWL_WIRE_SETUP] = "setup",
                                      [PAWL_WIRE_LEND] = "",
                                      [PAWL_WIRE_LOAD] = "load",
                                      [PAWL_WIRE_RUN] = "run"};
  if (argc < 4 || !find(argv[3])) return 9;
  const char *program = argv[1], *when = argv[2];
  void (*act)(message m) = find(argv[3]);
  number = argc > 4 ? argv[4] : "0";
  (void)signal(SIGPIPE, SIG_IGN);
  if (strcmp(when, "always") == 0) state = strtoull(number, NULL, 10);
  alarm(strcmp(when, "setup") == 0 ? ENDS_AT_START : ENDS);
  start_true_one(program);
  for (;;) {
    const message m = take(HOST);
    if ((size_t)m.at[0] < sizeof whens / sizeof *whens &&
        strcmp(whens[(int)m.at[0]], when) == 0)
      act(m);
    else if (m.at[0] == PAWL_WIRE_LEND)
      pass(child, m);
    else
      pass(HOST, answer(m));
  }
}
