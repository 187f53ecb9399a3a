/* Messages between a host and an isolated process: whole, or not used. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../src/host/answer_check.h"
#include "../../src/host/host_internal.h"
#include "../../src/host/wire.h"
#include "test.h"

static const pawl_call CALL = {.handler = PAWL_HANDLER_UNDO,
                               .version = 3,
                               .attempt = 2,
                               .visit = 5,
                               .token = 7,
                               .transactional = 1,
                               .node = "a",
                               .workflow = "t.one",
                               .id = "an-id",
                               .vars = {"{\"n\":1}", 7},
                               .input = {"{}", 2},
                               .output = {"", 0}};

static pawl_wire wire_of(const char *at, size_t len) {
  return (pawl_wire){.at = at, .end = at + len};
}

/* ---- members ---- */

static void a_call_comes_as_it_went(void) {
  pawl_buf out = {0};
  pawl_call got;
  pawl_wire_add_call(&out, &CALL);
  pawl_wire w = wire_of(out.at, out.len);
  pawl_wire_take_call(&w, &got);
  CHECK(pawl_wire_is_whole(&w));
  CHECK_INT(got.handler, PAWL_HANDLER_UNDO);
  CHECK_INT(got.visit, 5);
  CHECK_INT(got.transactional, 1);
  CHECK_TEXT(got.workflow, "t.one");
  CHECK_STR(got.vars, "{\"n\":1}");
  CHECK(!got.branch && !got.event.at && got.output.at && !got.output.len);
  pawl_buf_deinit(&out);
}

static void an_error_comes_as_it_went(void) {
  pawl_buf out = {0};
  pawl_error err, got;
  pawl_fail_hint(&err, PAWL_SCRIPT, "do it", "it is %d", 7);
  snprintf(err.raised, sizeof err.raised, "seven");
  pawl_wire_add_error(&out, &err);
  pawl_wire w = wire_of(out.at, out.len);
  pawl_wire_take_error(&w, &got);
  CHECK(pawl_wire_is_whole(&w));
  CHECK_INT(got.code, PAWL_SCRIPT);
  CHECK_TEXT(got.message, err.message);
  CHECK_TEXT(got.hint, "do it");
  CHECK_TEXT(got.raised, "seven");
  memset(out.at, 0x7f, sizeof(int64_t)); /* no code */
  w = wire_of(out.at, out.len);
  pawl_wire_take_error(&w, &got);
  CHECK(!pawl_wire_is_whole(&w));
  CHECK_INT(got.code, PAWL_INTERNAL);
  pawl_buf_deinit(&out);
}

static void fill(pawl_said *r) {
  pawl_said_init(r, NULL);
  r->has_output = r->vars_changed = 1;
  pawl_buf_addz(&r->output, "{\"a\":1}");
  pawl_buf_addz(&r->vars, "{}");
  pawl_buf_addz(&r->emits, "[{\"payload\":1,\"type\":\"x\"}]");
  r->at_us = 8;
}

static void a_result_comes_as_it_went(void) {
  pawl_buf out = {0};
  pawl_said r, got;
  fill(&r);
  pawl_said_init(&got, NULL);
  pawl_wire_add_result(&out, &r);
  pawl_wire w = wire_of(out.at, out.len);
  pawl_wire_take_result(&w, &got);
  CHECK(pawl_wire_is_whole(&w));
  CHECK_STR(pawl_buf_str(&got.output), "{\"a\":1}");
  CHECK_STR(pawl_buf_str(&got.emits), r.emits.at);
  CHECK_INT(got.at_us, 8);
  CHECK_INT(got.vars_changed, 1);
  pawl_said_deinit(&r);
  pawl_said_deinit(&got);
  pawl_buf_deinit(&out);
}

/* Each beginning of a message lacks something, and what it lacks is not looked
 * for behind it: the block ends there. */
static void what_is_cut_is_not_whole(void) {
  pawl_buf out = {0};
  pawl_wire_add_call(&out, &CALL);
  for (size_t len = 0; len < out.len; len++) {
    pawl_call got;
    char *cut = malloc(len ? len : 1);
    memcpy(cut, out.at, len);
    pawl_wire w = wire_of(cut, len);
    pawl_wire_take_call(&w, &got);
    CHECK(!pawl_wire_is_whole(&w));
    free(cut);
  }
  pawl_wire_add_int(&out, 1); /* more than there is */
  pawl_call got;
  pawl_wire w = wire_of(out.at, out.len);
  pawl_wire_take_call(&w, &got);
  CHECK(!pawl_wire_is_whole(&w) && !w.is_bad);
  pawl_buf_deinit(&out);
}

/* Lengths that lead out of it, texts that do not end, zeros within. */
static void what_lies_is_not_whole(void) {
  static const struct {
    int32_t len;
    const char *bytes;
    size_t n;
    int is_text, is_whole;
  } cases[] = {{3, "abc", 4, 1, 1},         {-1, "", 0, 1, 1},
               {4, "abc", 4, 1, 0},         {-2, "abc", 4, 1, 0},
               {INT32_MAX, "abc", 4, 1, 0}, {2, "abc", 4, 1, 0},
               {3, "a\0c", 4, 1, 0},        {3, "a\0c", 4, 0, 1},
               {INT32_MIN, "abc", 4, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char bytes[16];
    memcpy(bytes, &cases[i].len, 4);
    memcpy(bytes + 4, cases[i].bytes, cases[i].n);
    pawl_wire w = wire_of(bytes, 4 + cases[i].n);
    if (cases[i].is_text)
      (void)pawl_wire_take_text(&w);
    else
      (void)pawl_wire_take_str(&w);
    if (!CHECK_INT(pawl_wire_is_whole(&w), cases[i].is_whole))
      printf("  case %zu\n", i);
  }
}

/* ---- the channel ---- */

/* Bytes of each kind that these may have. */
static const size_t MOST[PAWL_WIRE_NKINDS] = {
    [PAWL_WIRE_LOG] = 100, [PAWL_WIRE_DONE] = 1 << 20};

static void messages_come_one_by_one(void) {
  pawl_channel a, b;
  pawl_wire w = {0};
  int fds[2];
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  pawl_channel_init(&a, fds[0], NULL);
  pawl_channel_init(&b, fds[1], NULL);
  for (int i = 0; i < 3; i++) {
    const size_t from = pawl_wire_begin(&a.out, PAWL_WIRE_LOG);
    pawl_wire_add_int(&a.out, i);
    pawl_wire_end(&a.out, from);
  }
  CHECK(pawl_channel_is_silent(&b));
  CHECK_INT(pawl_channel_flush(&a), 1);
  CHECK_INT(pawl_channel_next(&b, MOST, &w), 0);
  CHECK(!pawl_channel_is_silent(&b)); /* and nothing of it is taken */
  CHECK(pawl_channel_fill(&b) > 0);
  for (int i = 0; i < 3; i++) {
    CHECK(pawl_channel_has_more(&b));
    CHECK(!pawl_channel_is_silent(&b));
    CHECK_INT(pawl_channel_next(&b, MOST, &w), 1);
    CHECK_INT(w.kind, PAWL_WIRE_LOG);
    CHECK_INT(pawl_wire_take_int(&w), i);
    CHECK(pawl_wire_is_whole(&w));
  }
  CHECK(!pawl_channel_has_more(&b));
  CHECK(pawl_channel_is_silent(&b));
  /* too long, by its own word: nothing is kept for it */
  CHECK_INT(send(fds[0], "\xff\xff\xff\x7f\x0a", 5, 0), 5);
  CHECK_INT(pawl_channel_fill(&b), 5);
  CHECK_INT(pawl_channel_next(&b, MOST, &w), -1);
  CHECK(b.in.cap < 1 << 20);
  pawl_channel_deinit(&a);
  CHECK_INT(pawl_channel_fill(&b), 0);
  pawl_buf_addz(&b.out, "x");
  CHECK_INT(pawl_channel_flush(&b), 0);
  pawl_channel_deinit(&b);
}

/* What pawl_channel_next makes of a message that is announced. */
static int announced(uint32_t len, unsigned char kind) {
  pawl_channel b;
  pawl_wire w = {0};
  char head[5];
  int fds[2];
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  pawl_channel_init(&b, fds[1], NULL);
  memcpy(head, &len, 4);
  head[4] = (char)kind;
  CHECK_INT(send(fds[0], head, 4, 0), 4);
  CHECK_INT(pawl_channel_fill(&b), 4);
  CHECK_INT(pawl_channel_next(&b, MOST, &w), 0); /* of which kind? */
  CHECK_INT(send(fds[0], head + 4, 1, 0), 1);
  CHECK_INT(pawl_channel_fill(&b), 1);
  const int there = pawl_channel_next(&b, MOST, &w);
  close(fds[0]);
  pawl_channel_deinit(&b);
  return there;
}

static void each_kind_has_its_own_bound(void) {
  CHECK_INT(announced(100, PAWL_WIRE_LOG), 0);
  CHECK_INT(announced(101, PAWL_WIRE_LOG), -1);
  CHECK_INT(announced(101, PAWL_WIRE_DONE), 0);
  CHECK_INT(announced((1 << 20) + 1, PAWL_WIRE_DONE), -1);
  CHECK_INT(announced(1, PAWL_WIRE_DONE), 1);
  CHECK_INT(announced(1, PAWL_WIRE_READY), -1); /* none is to come */
  CHECK_INT(announced(1, 0), -1);
  CHECK_INT(announced(1, PAWL_WIRE_NKINDS), -1);
  CHECK_INT(announced(1, 255), -1);
}

static void what_the_host_says_does_not_come_from_there(void) {
  for (int kind = 0; kind < PAWL_WIRE_NKINDS; kind++)
    for (size_t most = 1000; most > 0;
         most = most < SIZE_MAX / 9 ? 8 * most : 0)
      CHECK_INT(pawl_wire_most((pawl_wire_kind)kind, most) > 0,
                kind >= PAWL_WIRE_READY);
  CHECK(pawl_wire_most(PAWL_WIRE_LOG, 1000000) < 1100000);
  CHECK(pawl_wire_most(PAWL_WIRE_DONE, 1000000) > 32000000);
}

static void an_empty_message_is_none(void) {
  pawl_channel b;
  pawl_wire w = {0};
  int fds[2];
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  pawl_channel_init(&b, fds[1], NULL);
  CHECK_INT(send(fds[0], "\0\0\0\0", 4, 0), 4);
  CHECK_INT(pawl_channel_fill(&b), 4);
  CHECK_INT(pawl_channel_next(&b, MOST, &w), -1);
  close(fds[0]);
  pawl_channel_deinit(&b);
}

/* Who reads slowly, or not at all, is not waited for within one call. */
static void a_piece_is_sent_at_once(void) {
  enum { PIECE = 1 << 16 };
  static char bytes[2 * PIECE];
  pawl_channel a;
  int fds[2];
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  pawl_channel_init(&a, fds[0], NULL);
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i % 251);
  pawl_buf_add(&a.out, bytes, sizeof bytes);
  for (size_t at = 0; at < sizeof bytes; at += PIECE) {
    static char got[2 * PIECE];
    CHECK_INT(a.out.len > 0, 1);
    CHECK_INT(pawl_channel_flush(&a), 1);
    CHECK_INT(recv(fds[1], got, sizeof got, 0), PIECE);
    CHECK(memcmp(got, bytes + at, PIECE) == 0);
  }
  CHECK_INT(a.out.len, 0);
  CHECK_INT(a.sent, 0);
  close(fds[1]);
  pawl_channel_deinit(&a);
}

static volatile sig_atomic_t nticks;

static void tick(int number) {
  static const struct itimerval none;
  (void)number;
  if (++nticks == 100) (void)setitimer(ITIMER_REAL, &none, NULL);
}

/* Signals that come more often than it is looked at the clock. */
static void a_signal_ends_a_wait(void) {
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  const struct timeval most = {0, 50 * 1000};
  struct sigaction act = {.sa_handler = tick};
  pawl_channel a;
  int fds[2];
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  CHECK_INT(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most),
            0);
  pawl_channel_init(&a, fds[0], NULL);
  CHECK_INT(sigaction(SIGALRM, &act, NULL), 0);
  CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
  CHECK_INT(pawl_channel_fill(&a), -1);
  CHECK_INT(errno, EINTR);
  CHECK(nticks < 100);
  nticks = 99; /* the next is the last */
  while (nticks < 100) (void)usleep(1000);
  close(fds[1]);
  pawl_channel_deinit(&a);
}

/* ---- what is believed ---- */

static pawl_limits limits = {
    .effects = 3, .start = "mod.*", .signal = "mod.*", .host = ""};

/* One member of a result that is otherwise right. */
#define SAYS(handler, member, text, want) \
  says(handler, offsetof(pawl_said, member), #member, text, want)

static void says(pawl_handler handler, size_t at, const char *member,
                 const char *text, int want) {
  pawl_host *host = NULL;
  pawl_host_options options = {.max_bytes = 1000};
  pawl_call call = {.handler = handler, .tenant = {"one", 3}};
  pawl_error err;
  pawl_said r;
  CHECK_INT(pawl_host_open_bare(&options, &host, &err), PAWL_OK);
  pawl_said_init(&r, NULL);
  pawl_buf *buf = (pawl_buf *)(void *)((char *)&r + at);
  pawl_buf_addz(buf, text);
  r.has_output = buf == &r.output;
  r.has_transition = buf == &r.transition;
  r.vars_changed = buf == &r.vars;
  r.data_changed = buf == &r.data;
  r.attrs_changed = buf == &r.attrs;
  if (!CHECK_INT(pawl_answer_judge(host, &limits, &call, &r),
                 want ? PAWL_OK : PAWL_SCRIPT))
    printf("  %s of %s: %s\n", member, pawl_handler_name(handler), text);
  pawl_said_deinit(&r);
  pawl_host_close(host);
}

static int is_short;

static void *scarce(void *ud, void *ptr, size_t osize, size_t nsize) {
  (void)ud;
  (void)osize;
  if (nsize) return is_short ? NULL : realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

static void without_memory_nothing_is_said_of_it(void) {
  pawl_host *host = NULL;
  static const pawl_alloc alloc = {scarce, NULL};
  pawl_host_options options = {.max_bytes = 1000, .alloc = &alloc};
  pawl_call call = {.handler = PAWL_HANDLER_RUN};
  pawl_error err;
  pawl_said r;
  CHECK_INT(pawl_host_open_bare(&options, &host, &err), PAWL_OK);
  pawl_said_init(&r, NULL);
  pawl_buf_addz(&r.emits, "[{\"payload\":1,\"type\":\"x\"}]");
  is_short = 1;
  CHECK_INT(pawl_answer_judge(host, &limits, &call, &r), PAWL_NOMEM);
  is_short = 0;
  CHECK_INT(pawl_answer_judge(host, &limits, &call, &r), PAWL_OK);
  r.emits.failed = 1; /* it was not taken whole */
  CHECK_INT(pawl_answer_judge(host, &limits, &call, &r), PAWL_NOMEM);
  pawl_said_deinit(&r);
  pawl_host_close(host);
}

#define ID "\"0190c5a4-1111-7222-8333-944455556666\""
#define START(workflow, options)                      \
  "[{\"input\":{},\"options\":" options ",\"id\":" ID \
  ",\"workflow\":\"" workflow "\"}]"

#define SIGNAL(name, more) "[{\"data\":1,\"name\":\"" name "\"" more "}]"

static void only_what_a_handler_leaves_is_believed(void) {
  char large[2000];
  memset(large, '1', sizeof large);
  large[sizeof large - 1] = '\0';
  SAYS(PAWL_HANDLER_RUN, vars, "{\"a\":[1,2]}", 1);
  SAYS(PAWL_HANDLER_RUN, vars, "{\"a\":[1,2}", 0);
  SAYS(PAWL_HANDLER_RUN, vars, "[]", 0);
  SAYS(PAWL_HANDLER_RUN, vars, "{\"a\":1,\"a\":2}", 0);
  SAYS(PAWL_HANDLER_CHOOSE, vars, "{}", 0);
  SAYS(PAWL_HANDLER_RUN, data, "{}", 1);
  SAYS(PAWL_HANDLER_RUN, data, "7", 0);
  SAYS(PAWL_HANDLER_RUN, output, "7", 1);
  SAYS(PAWL_HANDLER_RUN, output, large, 0);
  SAYS(PAWL_HANDLER_RUN, output, "\"\xff\"", 0);
  SAYS(PAWL_HANDLER_MATCH, output, "7", 0);
  SAYS(PAWL_HANDLER_ENOUGH, output, "7", 1);
  SAYS(PAWL_HANDLER_ENOUGH, output, large, 0);
  SAYS(PAWL_HANDLER_GROUP, output, "\"g\"", 1);
  SAYS(PAWL_HANDLER_ITEMS, output, "[1,2,3]", 1);
  SAYS(PAWL_HANDLER_ITEMS, output, "[1,2,3,4]", 0);
  SAYS(PAWL_HANDLER_ITEMS, output, "{}", 0);
  SAYS(PAWL_HANDLER_PREPARE, output, "{}", 1);
  SAYS(PAWL_HANDLER_PREPARE, output, "[]", 0);
  SAYS(PAWL_HANDLER_CHOOSE, transition, "yes", 1);
  SAYS(PAWL_HANDLER_KEY, transition, "yes", 0);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"a\":null,\"b\":{\"type\":\"integer\","
       "\"value\":3}}",
       1);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"integer\","
       "\"value\":\"3\"}}",
       0);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"thing\","
       "\"value\":\"3\"}}",
       0);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"string\","
       "\"value\":\"a\\u0000\"}}",
       0);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"decimal\","
       "\"value\":\"1.50\"}}",
       1);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"decimal\","
       "\"value\":\"1.5x\"}}",
       0);
  SAYS(PAWL_HANDLER_RUN, attrs,
       "{\"b\":{\"type\":\"binary\","
       "\"value\":\"***\"}}",
       0);
  SAYS(PAWL_HANDLER_RUN, attrs, "{\"\\u0062\":null}", 0);
  SAYS(PAWL_HANDLER_RUN, attrs, "{\"b\":7}", 0);
  SAYS(PAWL_HANDLER_RUN, emits, "[{\"payload\":1,\"type\":\"x\"}]", 1);
  SAYS(PAWL_HANDLER_RUN, emits, "[{\"payload\":1,\"type\":\"\"}]", 0);
  SAYS(PAWL_HANDLER_RUN, emits, "[{\"type\":\"x\"}]", 0);
  SAYS(PAWL_HANDLER_RUN, emits, "{\"type\":\"x\"}", 0);
  SAYS(PAWL_HANDLER_RUN, notes,
       "[{\"text\":\"x\"},{\"text\":\"x\"},"
       "{\"text\":\"x\"}]",
       1);
  SAYS(PAWL_HANDLER_RUN, notes,
       "[{\"text\":\"x\"},{\"text\":\"x\"},"
       "{\"text\":\"x\"},{\"text\":\"x\"}]",
       0);
  SAYS(PAWL_HANDLER_RUN, notes, "[{\"text\":\"x\",\"by\":\"you\"}]", 0);
  SAYS(PAWL_HANDLER_RUN, starts, START("mod.one", "{}"), 1);
  SAYS(PAWL_HANDLER_AT, starts, START("mod.one", "{}"), 0);
  SAYS(PAWL_HANDLER_RUN, starts, START("own.one", "{}"), 0);
  SAYS(PAWL_HANDLER_RUN, starts, START("mod.one", "[]"), 0);
  SAYS(PAWL_HANDLER_RUN, starts, START("mod.one", "{\"tenant\":\"one\"}"), 1);
  SAYS(PAWL_HANDLER_RUN, starts, START("mod.one", "{\"tenant\":\"two\"}"), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ""), 1);
  SAYS(PAWL_HANDLER_AT, signals, SIGNAL("mod.one", ""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("own.one", ""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.*", ""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ",\"key\":\"k\""), 1);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ",\"key\":\"\""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ",\"key\":7"), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ",\"instance\":\"x\""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, SIGNAL("mod.one", ",\"tenant\":\"two\""), 0);
  SAYS(PAWL_HANDLER_RUN, signals, "[{\"name\":\"mod.one\"}]", 0);
}

static void what_is_no_text_is_not_shown(void) {
  pawl_error err;
  pawl_said r;
  pawl_fail(&err, PAWL_SCRIPT, "a\xff\x1b[2Jb\xc3\xa9");
  pawl_answer_mend_error(&err);
  CHECK_TEXT(err.message, "a??[2Jb\xc3\xa9");
  pawl_said_init(&r, NULL);
  r.no_retry = 77;
  r.retry_after_us = -9;
  r.vars_changed = 1;
  pawl_buf_addz(&r.vars, "{}");
  pawl_buf_addz(&r.details, "{");
  pawl_buf_addz(&r.message, "a\xff");
  pawl_answer_mend_failure(&r);
  CHECK(r.no_retry == 1 && r.retry_after_us == -1 && !r.vars_changed);
  CHECK(!r.vars.len && !r.details.len && !r.message.len);
  pawl_said_deinit(&r);
}

int main(void) {
  a_call_comes_as_it_went();
  an_error_comes_as_it_went();
  a_result_comes_as_it_went();
  what_is_cut_is_not_whole();
  what_lies_is_not_whole();
  messages_come_one_by_one();
  each_kind_has_its_own_bound();
  what_the_host_says_does_not_come_from_there();
  an_empty_message_is_none();
  a_piece_is_sent_at_once();
  a_signal_ends_a_wait();
  only_what_a_handler_leaves_is_believed();
  without_memory_nothing_is_said_of_it();
  what_is_no_text_is_not_shown();
  return TEST_END;
}
