/* What of a long history may go, by rows and tokens alone. */
#include "rules/trim.h"
#include "kit.h"

static pawl_str quoted(const char *text, char *out) {
  size_t n = strlen(text);
  for (size_t i = 0; i < n; i++) out[i] = text[i] == '\'' ? '"' : text[i];
  return (pawl_str){out, n};
}

/* "3,5": rows that go, in order. */
static int by_seq(const void *a, const void *b) {
  return (int)(*(const int64_t *)a - *(const int64_t *)b);
}
static void check_drops(pawl_trim *t, const char *want, int line) {
  char got[256] = "", *at = got;
  if (t->ndrop) qsort(t->drop, (size_t)t->ndrop, sizeof *t->drop, by_seq);
  for (int i = 0; i < t->ndrop; i++)
    at += sprintf(at, "%s%d", i ? "," : "", (int)t->drop[i]);
  test_text(pawl_strz(got), want, "rows that go", __FILE__, line);
}
#define CHECK_DROPS(t, want) check_drops(t, want, __LINE__)

/* a step and a choice */
static pawl_node nodes[] = {{.kind = PAWL_KIND_STEP, .name = "a"},
                            {.kind = PAWL_KIND_CHOICE, .name = "c"}};
static int by_name[] = {0, 1};
static const pawl_def graph = {
    .by_name = by_name, .nodes = nodes, .nnodes = 2, .on_cancel = -1};

static pawl_old_row row(int64_t seq, int64_t visit, const char *changes,
                        char *room) {
  return (pawl_old_row){
      .seq = seq,
      .token = 1,
      .visit = visit,
      .node = pawl_strz("a"),
      .path = pawl_strz("c=again > a"),
      .changes = changes ? quoted(changes, room) : (pawl_str){NULL, 0}};
}

static void the_latest_values_stay(void) {
  char a[64], b[64], c[64], d[64];
  pawl_old_row rows[] = {row(1, 1, "{'set':{'x':1,'y':1}}", a),
                         row(2, 2, "{'set':{'x':2}}", b),
                         row(3, 3, "{'set':{'x':3}}", c), row(4, 4, NULL, d)};
  pawl_token_list none = {0};
  pawl_trim t = {0};
  pawl_str nothing = {NULL, 0};
  pawl_buf was = {0}, held = {0};

  pawl_trim_decide(&t, nothing, 100, &graph, &none, rows, 4);
  CHECK(!t.failed);
  CHECK_DROPS(&t, "2,4");
  CHECK_BUF(t.record,
            "{'upto':4,'rows':2,'newest':4,'keep':100,"
            "'variables':{'x':3,'y':1},'attributes':{},'open':[],'stays':[],"
            "'visits':{'a':4,'c':4}}");
  /* y goes, and with it the row that held it; x is another's */
  pawl_buf_adds(&was, pawl_buf_str(&t.record));
  pawl_old_row more[] = {row(5, 5, "{'set':{'x':5},'unset':['y']}", a)};
  pawl_trim_decide(&t, pawl_buf_str(&was), 100, &graph, &none, more, 1);
  CHECK_DROPS(&t, "1,3");
  CHECK_BUF(t.record,
            "{'upto':5,'rows':4,'newest':4,'keep':100,"
            "'variables':{'x':5},'attributes':{},'open':[],'stays':[],"
            "'visits':{'a':5,'c':5}}");
  /* of a row that stays, what held then is a part */
  pawl_trimmed_changes(pawl_buf_str(&was), 1,
                       quoted("{'set':{'x':1,'y':1}}", a), &held);
  CHECK_BUF(held, "{'set':{'y':1}}");
  CHECK_INT(pawl_trimmed_upto(pawl_buf_str(&was)), 4);
  CHECK_INT(pawl_trimmed_upto(nothing), 0);
  CHECK_INT(pawl_trimmed_visits(pawl_buf_str(&was), pawl_strz("a"), NULL), 4);
  CHECK_INT(pawl_trimmed_visits(pawl_buf_str(&was), pawl_strz("b"), NULL), -1);
  pawl_buf_deinit(&was);
  pawl_buf_deinit(&held);
  pawl_trim_deinit(&t);
}

static void what_stays_for_ever_is_never_dropped(void) {
  char a[64], b[64];
  pawl_old_row rows[] = {row(1, 1, "{'set':{'x':1}}", a), row(2, 2, NULL, b)};
  pawl_token_list none = {0};
  pawl_trim t = {0};
  pawl_str nothing = {NULL, 0};
  pawl_buf was = {0};

  rows[0].stays = rows[1].stays = rows[1].told = 1;
  pawl_trim_decide(&t, nothing, 100, &graph, &none, rows, 2);
  CHECK_DROPS(&t, "");
  CHECK_INT(t.ntell, 0);
  pawl_buf_adds(&was, pawl_buf_str(&t.record));
  pawl_old_row more[] = {row(3, 3, "{'set':{'x':3}}", a)};
  pawl_trim_decide(&t, pawl_buf_str(&was), 100, &graph, &none, more, 1);
  CHECK_DROPS(&t, "");
  CHECK_INT(pawl_trimmed_newest(pawl_buf_str(&t.record)), 0);
  pawl_buf_deinit(&was);
  pawl_trim_deinit(&t);
}

static void what_somebody_did_is_told_as_it_goes(void) {
  char a[64], b[64];
  pawl_old_row rows[] = {row(1, 1, "{'set':{'x':1}}", a), row(2, 2, NULL, b),
                         row(3, 3, NULL, b)};
  pawl_token_list none = {0};
  pawl_trim t = {0};
  pawl_buf was = {0};

  rows[0].told = rows[2].told = 1;
  pawl_trim_decide(&t, (pawl_str){NULL, 0}, 100, &graph, &none, rows, 3);
  CHECK_DROPS(&t, "2,3");
  CHECK_INT(t.ntell, 1);
  CHECK_INT(t.tell[0], 3);
  pawl_buf_adds(&was, pawl_buf_str(&t.record));
  /* what was kept for its value; who did it is looked up */
  pawl_old_row more[] = {row(4, 4, "{'set':{'x':4}}", a)};
  pawl_trim_decide(&t, pawl_buf_str(&was), 100, &graph, &none, more, 1);
  CHECK_DROPS(&t, "1");
  CHECK_INT(t.ntell, 1);
  CHECK_INT(t.tell[0], 1);
  pawl_buf_deinit(&was);
  pawl_trim_deinit(&t);
}

static void where_it_was_without_going_on_is_known(void) {
  char a[64];
  pawl_old_row rows[] = {row(1, 1, NULL, a), row(2, 2, NULL, a)};
  pawl_token_list none = {0};
  pawl_trim t = {0};
  pawl_buf was = {0};

  rows[1].node = pawl_strz("cut off");
  rows[1].path.at = NULL;
  pawl_trim_decide(&t, (pawl_str){NULL, 0}, 100, &graph, &none, rows, 2);
  pawl_buf_adds(&was, pawl_buf_str(&t.record));
  CHECK_INT(
      pawl_trimmed_visits(pawl_buf_str(&was), pawl_strz("cut off"), NULL), 0);
  pawl_old_row more[] = {row(3, 3, NULL, a)};
  more[0].node = pawl_strz("cut off");
  pawl_trim_decide(&t, pawl_buf_str(&was), 100, &graph, &none, more, 1);
  CHECK_INT(
      pawl_trimmed_visits(pawl_buf_str(&t.record), pawl_strz("cut off"), NULL),
      1);
  pawl_buf_deinit(&was);
  pawl_trim_deinit(&t);
}

static void what_a_token_needs_stays_while_it_does(void) {
  char a[64];
  pawl_old_row rows[] = {row(1, 1, NULL, a), row(2, 2, NULL, a),
                         row(3, 9, NULL, a), row(4, 9, NULL, a),
                         row(5, 5, NULL, a)};
  pawl_token here[] = {{.no = 1, .state = PAWL_TOKEN_WAITING, .visit = 9},
                       {.no = 2, .state = PAWL_TOKEN_WAITING, .visit = 7}};
  pawl_token_list tokens = {here, 2, 2};
  pawl_trim t = {0};
  pawl_str nothing = {NULL, 0};
  pawl_buf was = {0};

  /* of the visit it is in, and the newest it left behind */
  rows[1].token = 2;
  pawl_trim_decide(&t, nothing, 100, &graph, &tokens, rows, 5);
  CHECK_DROPS(&t, "1");
  pawl_buf_adds(&was, pawl_buf_str(&t.record));
  /* it has gone on: rows 3, 4 and 5 are for none any more */
  here[0].visit = 11;
  pawl_old_row more[] = {row(6, 10, NULL, a)};
  pawl_trim_decide(&t, pawl_buf_str(&was), 100, &graph, &tokens, more, 1);
  CHECK_DROPS(&t, "3,4,5");
  pawl_buf_deinit(&was);
  pawl_trim_deinit(&t);
}

static void without_memory_nothing_is_decided(void) {
  char a[64];
  pawl_old_row rows[] = {row(1, 1, "{'set':{'x':1,'y':1}}", a)};
  pawl_token_list none = {0};
  pawl_str nothing = {NULL, 0};

  for (int at = 1; at < 100; at++) {
    test_alloc counted = {.fail_at = at};
    pawl_alloc alloc = {test_alloc_fn, &counted};
    pawl_trim t = {.alloc = &alloc};
    pawl_trim_decide(&t, nothing, 100, &graph, &none, rows, 1);
    int failed = t.failed;
    pawl_trim_deinit(&t);
    if (!failed) {
      CHECK(at > 3);
      return;
    }
  }
  CHECK(!"it fails for ever");
}

TEST_PART(trim_test) {
  the_latest_values_stay();
  what_stays_for_ever_is_never_dropped();
  what_somebody_did_is_told_as_it_goes();
  where_it_was_without_going_on_is_known();
  what_a_token_needs_stays_while_it_does();
  without_memory_nothing_is_decided();
}
