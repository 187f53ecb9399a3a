/* Plans, and the tokens in them: buffers are kept, copies are whole. */
#include "rules/plan.h"

#include "test.h"

static void set(pawl_buf *b, const char *text) {
  pawl_buf_clear(b);
  pawl_buf_addz(b, text);
}

static pawl_token *add(pawl_token_list *t, const pawl_alloc *alloc, int no,
                       pawl_token_state state, const char *scope) {
  pawl_token *one = pawl_tokens_add(t, alloc);
  CHECK(one != NULL);
  one->no = no;
  one->state = state;
  CHECK(pawl_scope_parse(one, pawl_strz(scope)));
  return one;
}

/* ---- scopes ---- */

static void scope_is(const char *text, int depth) {
  pawl_token t = {0};
  char out[80];
  CHECK(pawl_scope_parse(&t, pawl_strz(text)));
  CHECK_INT(t.depth, depth);
  pawl_scope_format(&t, out);
  CHECK_TEXT(out, text);
}

static void scope_refused(const char *text) {
  pawl_token t = {0};
  CHECK(!pawl_scope_parse(&t, pawl_strz(text)));
}

static void test_scopes(void) {
  pawl_token t = {0};

  scope_is("", 0);
  scope_is("1", 1);
  scope_is("1.4", 2);
  scope_is("2147483647.2147483646.2147483645.2147483644.2147483643.2147483642",
           PAWL_MAX_DEPTH);
  scope_refused(".");
  scope_refused("1.");
  scope_refused(".1");
  scope_refused("1..2");
  scope_refused("0");
  scope_refused("-1");
  scope_refused("1 ");
  scope_refused("x");
  scope_refused("2147483648");
  scope_refused("99999999999999999999999999");
  scope_refused("1.2.3.4.5.6.7");

  CHECK(pawl_scope_parse(&t, pawl_strz("1.4")));
  CHECK(pawl_token_is_in(&t, 1));
  CHECK(pawl_token_is_in(&t, 4));
  CHECK(!pawl_token_is_in(&t, 14));
  CHECK(!pawl_token_is_in(&t, 0));
}

/* ---- tokens ---- */

static void test_states(void) {
  CHECK_TEXT(pawl_token_state_name(PAWL_TOKEN_ACTIVE), "active");
  CHECK_TEXT(pawl_token_state_name(PAWL_TOKEN_WAITING), "waiting");
  CHECK_TEXT(pawl_token_state_name(PAWL_TOKEN_CONSUMED), "consumed");
  CHECK_TEXT(pawl_token_state_name(PAWL_TOKEN_DROPPED), "dropped");
  CHECK(pawl_token_is_live(PAWL_TOKEN_ACTIVE));
  CHECK(pawl_token_is_live(PAWL_TOKEN_WAITING));
  CHECK(!pawl_token_is_live(PAWL_TOKEN_CONSUMED));
  CHECK(!pawl_token_is_live(PAWL_TOKEN_DROPPED));
}

static void test_lone(const pawl_alloc *alloc) {
  pawl_token_list t = {0};

  CHECK(pawl_tokens_lone(&t) == NULL);
  CHECK_INT(pawl_tokens_live(&t), 0);
  add(&t, alloc, 1, PAWL_TOKEN_CONSUMED, "");
  CHECK(pawl_tokens_lone(&t) == NULL);
  add(&t, alloc, 2, PAWL_TOKEN_WAITING, "");
  CHECK(pawl_tokens_lone(&t) == &t.at[1]);
  add(&t, alloc, 3, PAWL_TOKEN_ACTIVE, "1");
  CHECK(pawl_tokens_lone(&t) == NULL); /* there are two */
  CHECK_INT(pawl_tokens_live(&t), 2);
  t.at[1].state = PAWL_TOKEN_DROPPED;
  CHECK(pawl_tokens_lone(&t) == NULL); /* alone, but inside a fork */
  CHECK(pawl_tokens_find(&t, 3) == &t.at[2]);
  CHECK(pawl_tokens_find(&t, 4) == NULL);
  pawl_tokens_deinit(&t, alloc);
  CHECK(t.at == NULL && !t.n && !t.cap);
}

static void test_copy(const pawl_alloc *alloc) {
  pawl_token_list from = {0}, to = {0};
  pawl_token *t = add(&from, alloc, 7, PAWL_TOKEN_WAITING, "1.4");

  t->node = "ask";
  t->previous = "split";
  t->fork = "split";
  t->branch = "left";
  t->visit = 5;
  t->attempt = 2;
  t->due_us = 99;
  t->stored = 1;
  set(&t->data, "{\"a\":1}");
  set(&t->event, "{\"name\":\"paid\"}");
  pawl_detail_put(t, PAWL_DETAIL_key, pawl_strz(""));
  pawl_detail_set(t, PAWL_DETAIL_live, 0);
  add(&from, alloc, 8, PAWL_TOKEN_ACTIVE, "");
  for (int i = 0; i < 3; i++) add(&to, alloc, i, PAWL_TOKEN_ACTIVE, "");
  set(&to.at[0].data, "something longer than what is to come");

  CHECK(pawl_tokens_copy(&to, &from, alloc));
  CHECK_INT(to.n, 2);
  CHECK_INT(to.at[0].no, 7);
  CHECK_INT(to.at[0].state, PAWL_TOKEN_WAITING);
  CHECK_INT(to.at[0].depth, 2);
  CHECK_INT(to.at[0].scope[1], 4);
  CHECK_TEXT(to.at[0].branch, "left");
  CHECK_INT(to.at[0].stored, 1);
  CHECK_STR(pawl_buf_str(&to.at[0].data), "{\"a\":1}");
  CHECK_STR(pawl_buf_str(&to.at[0].event), "{\"name\":\"paid\"}");
  CHECK_STR(pawl_buf_str(pawl_detail_text(&to.at[0])),
            "{\"key\":null,\"live\":0}");
  CHECK(to.at[0].data.at != from.at[0].data.at);
  CHECK_INT(to.at[1].no, 8);
  CHECK_INT(to.at[1].data.len, 0);
  pawl_tokens_deinit(&from, alloc);
  CHECK_STR(pawl_buf_str(&to.at[0].data), "{\"a\":1}");
  pawl_tokens_deinit(&to, alloc);
}

/* ---- plans ---- */

static void fill(pawl_plan *p, const pawl_alloc *alloc) {
  for (int i = 0; i < 9; i++) {
    pawl_record *r = pawl_plan_record(p, "step", "a");
    CHECK_INT(r->previous.len, 0);
    CHECK_INT(r->token, 0);
    set(&r->previous, "[1,2]");
    set(&r->output, "{}");
    r->token = 3;
    pawl_effect *f = pawl_plan_effect(p, PAWL_EFFECT_TAKE, 4);
    CHECK_INT(f->data.len, 0);
    CHECK_INT(f->has_id, 0);
    CHECK_INT(f->token, 4);
    set(&f->data, "{\"x\":1}");
    set(&f->key, "k");
    f->has_id = f->has_key = 1;
    pawl_token *t = pawl_tokens_add(&p->state.tokens, alloc);
    CHECK(t != NULL);
    set(&t->data, "{\"y\":1}");
  }
  pawl_marks_add(&p->state.joined, alloc, "join", 4, pawl_strz("k"));
  set(&p->state.undo.transfers, "[]");
  p->ran = p->needs_latch = 1;
  CHECK_INT(pawl_plan_check(p, NULL), PAWL_OK);
}

static void test_steady_state(void) {
  test_alloc a = {0};
  pawl_alloc alloc = {test_alloc_fn, &a};
  pawl_plan p;
  int64_t requests;

  pawl_plan_init(&p, &alloc);
  fill(&p, &alloc);
  CHECK_INT(p.nrecords, 9);
  CHECK_INT(p.neffects, 9);
  requests = a.requests;
  for (int i = 0; i < 5; i++) {
    pawl_plan_reset(&p);
    CHECK_INT(p.nrecords + p.neffects + p.state.tokens.n, 0);
    CHECK_INT(p.ran + p.needs_latch, 0);
    CHECK_INT(p.state.joined.n + (int)p.state.undo.transfers.len, 0);
    fill(&p, &alloc);
  }
  CHECK_INT(a.requests, requests); /* nothing is allocated again */
  pawl_plan_deinit(&p);
  CHECK_INT(a.live_bytes, 0);
}

static void without_memory(int64_t fail_at, int for_ever) {
  test_alloc a = {.fail_at = fail_at, .for_ever = for_ever};
  pawl_alloc alloc = {test_alloc_fn, &a};
  pawl_plan p;

  pawl_plan_init(&p, &alloc);
  for (int i = 0; i < 6; i++) {
    pawl_buf_addz(&pawl_plan_record(&p, "step", "a")->output, "{}");
    pawl_buf_addz(&pawl_plan_effect(&p, PAWL_EFFECT_EMIT, 1)->name, "x");
  }
  if (a.requests >= fail_at) {
    CHECK_INT(pawl_plan_check(&p, NULL), PAWL_NOMEM);
    a.fail_at = 0;
    pawl_plan_reset(&p); /* and serves again */
    pawl_buf_addz(&pawl_plan_record(&p, "step", "a")->output, "{}");
    CHECK_INT(pawl_plan_check(&p, NULL), PAWL_OK);
  }
  pawl_plan_deinit(&p);
  CHECK_INT(a.live_bytes, 0);
}

static void test_no_memory(void) {
  for (int64_t at = 1; at < 25; at++) {
    without_memory(at, 0);
    without_memory(at, 1);
  }
}

static void copy_without_memory(int64_t fail_at) {
  test_alloc a = {.fail_at = fail_at};
  pawl_alloc alloc = {test_alloc_fn, &a};
  pawl_token_list from = {0}, to = {0};

  for (int i = 0; i < 6; i++)
    set(&add(&from, NULL, i + 1, PAWL_TOKEN_ACTIVE, "")->data, "{}");
  int whole = pawl_tokens_copy(&to, &from, &alloc);
  CHECK_INT(whole, a.requests < fail_at);
  pawl_tokens_deinit(&to, &alloc);
  pawl_tokens_deinit(&from, NULL);
  CHECK_INT(a.live_bytes, 0);
}

static void test_error(void) {
  pawl_buf out = {0};
  pawl_error err;
  pawl_said said;

  pawl_said_init(&said, NULL);
  pawl_buf_addz(&said.details, "{\"n\":1}");
  pawl_buf_addz(&said.message, "of another failure");
  pawl_fail(&err, PAWL_SCRIPT, "no \"card\"");
  pawl_plan_error(&out, &err, &said);
  CHECK_STR(pawl_buf_str(&out),
            "{\"code\":\"script\",\"message\":\"no \\\"card\\\"\","
            "\"details\":{\"n\":1}}");
  pawl_copy_text(err.raised, sizeof err.raised, "declined");
  pawl_plan_error(&out, &err, NULL);
  CHECK_STR(pawl_buf_str(&out),
            "{\"code\":\"declined\",\"message\":\"no \\\"card\\\"\"}");
  pawl_said_deinit(&said);
  pawl_buf_deinit(&out);
}

/* ---- delays between attempts ---- */

static const pawl_retry RETRY = {.max = 99,
                                 .base_us = 1000000,
                                 .cap_us = 300000000,
                                 .factor = 2.0,
                                 .jitter = 0.5};

/* Where the delays after an attempt lie, and that all of that is used. */
static void check_spread(const pawl_retry *r, int64_t attempt, double low,
                         double high) {
  int tenths[10] = {0};

  for (int i = 0; i < 1000; i++) {
    double us = (double)pawl_retry_delay(r, attempt, i / 1000.0);
    CHECK(us >= low - 1 && us < high + (high == low));
    if (high > low) tenths[(int)((us - low + 1) / (high - low + 1) * 10)]++;
  }
  for (int i = 0; i < 10 && high > low; i++)
    CHECK(tenths[i] > 90 && tenths[i] < 110);
}

static void test_delays(void) {
  pawl_retry r = RETRY;
  double widest = 0.25 * 300e6;

  check_spread(&r, 1, 1e6, 1.5e6);      /* all of the jitter, added */
  check_spread(&r, 8, 128e6, 192e6);    /* up to where it meets the cap */
  check_spread(&r, 9, 225e6, 300e6);    /* 256 s would be 384: half, below */
  check_spread(&r, 10, 225e6, 300e6);   /* and so for ever */
  check_spread(&r, 5000, 225e6, 300e6); /* also when that is infinite */
  r.jitter = 1;
  check_spread(&r, 9, 150e6, 300e6);
  r.jitter = 0;
  check_spread(&r, 1, 1e6, 1e6);
  check_spread(&r, 20, 300e6, 300e6);
  r = RETRY;
  r.base_us = r.cap_us; /* however it came to that */
  check_spread(&r, 1, 225e6, 300e6);
  r.factor = 1;
  for (double base = 1e6; base <= 300e6; base += 1e6) { /* it never vanishes */
    r.base_us = (int64_t)base;
    double spread = (double)(pawl_retry_delay(&r, 1, 0.999999) -
                             pawl_retry_delay(&r, 1, 0));
    CHECK(spread >= 0.99 * (base / 2 < widest ? base / 2 : widest));
    CHECK(pawl_retry_delay(&r, 1, 0.999999) <= r.cap_us);
  }
}

int main(void) {
  test_delays();
  test_scopes();
  test_states();
  test_lone(NULL);
  test_copy(NULL);
  test_steady_state();
  test_no_memory();
  for (int64_t at = 1; at < 10; at++) copy_without_memory(at);
  test_error();
  return TEST_END;
}
