/* kit.h: one instance that is decided on by hand, for the tests of src/rules.
 * Handlers say what the test has put down; letters and times come when it says
 * so. What each plan writes is collected as text, to be read at one glance:
 *
 *   kit_open(&k, "'start':'a','nodes':[{'name':'a',...},...]");
 *   kit_says(&k, "a", PAWL_HANDLER_RUN, "!card_declined");
 *   kit_run(&k);
 *   CHECK_STR(pawl_buf_str(&k.history), "failed a, "); */
#ifndef PAWL_SPEC_RULES_KIT_H
#define PAWL_SPEC_RULES_KIT_H

#define PAWL_TEST_PART
#include "../test.h"
#include "rules/decide.h"
#include "rules/kinds.h"
#include "rules/machine.h"
#include "value/json.h"

/* A part is a function of its file's name: kinds_timer_test. */
#define TEST_PART(name) \
  void name(void);      \
  void name(void)

#define KIT_FINISH "{'name':'z','kind':'finish'}"
#define KIT_STEP(name, next) \
  "{'name':'" name "','kind':'step','run':true,'next':'" next "'}"

typedef struct kit_answer {
  const char *node, *text;
  pawl_handler handler;
} kit_answer;

typedef struct kit {
  pawl_world face;
  pawl_alloc alloc;
  pawl_idgen ids;
  pawl_said result;
  int64_t now, refusals;
  int64_t slow_us; /* that each handler takes */
  int late;        /* it has had its turn */
  int elsewhere;   /* events are another's; -1: nobody can tell */
  kit_answer answers[16];
  int nanswers;
  int32_t aloft[8]; /* tokens whose handlers wait */
  char *names[256];
  int nnames;
  pawl_def *def;
  pawl_decision d;
  pawl_buf history; /* "step a, timer t, ": of all that was stored */
  pawl_buf asked;   /* "a.run, ": the handlers that were asked */
  pawl_buf trace;   /* "a done, ": what was told */
} kit;

/* ---- the world ---- */

static inline int64_t kit_now(void *ud) {
  return ((kit *)ud)->now;
}
static inline double kit_random(void *ud) {
  (void)ud;
  return 0;
}
static inline int kit_is_late(void *ud, const pawl_decision *d) {
  (void)d;
  return ((kit *)ud)->late;
}
static inline void kit_stepped(void *ud, const pawl_decision *d, int32_t token,
                               pawl_node *node) {
  (void)ud, (void)d, (void)token, (void)node;
}
static inline void kit_trace(void *ud, const pawl_decision *d,
                             const char *node, const char *kind,
                             int64_t elapsed_us, const char *outcome,
                             const char *detail, int64_t due_us) {
  (void)d, (void)kind, (void)elapsed_us, (void)detail, (void)due_us;
  if (outcome) pawl_buf_addf(&((kit *)ud)->trace, "%s %s, ", node, outcome);
}

static inline pawl_code kit_claim(void *ud, pawl_decision *d,
                                  const pawl_letter *l, pawl_str id,
                                  int *taken, pawl_error *err) {
  const kit *k = ud;
  (void)d, (void)l, (void)id;
  *taken = !k->elsewhere;
  return k->elsewhere < 0 ? pawl_fail(err, PAWL_UNREACHABLE, "no store")
                          : PAWL_OK;
}

static inline const char *kit_name(void *ud, pawl_str text) {
  kit *k = ud;
  for (int i = 0; i < k->nnames; i++)
    if (pawl_str_eqz(text, k->names[i])) return k->names[i];
  if (k->nnames == 256) abort();
  k->names[k->nnames] = calloc(1, text.len + 1);
  memcpy(k->names[k->nnames], text.at, text.len);
  return k->names[k->nnames++];
}

/* ">way" is a transition, "!code" a failure ("!code." one that is not tried
 * again), "@seconds" a time from now, "+seconds" a duration, "?" the answer yes,
 * "..." that it waits, "~" that there was no memory; all else is an output. */
static inline pawl_code kit_say(kit *k, const char *text, int *waits,
                                pawl_error *err) {
  pawl_said *r = &k->result;
  size_t len = strlen(text);

  switch (text[0]) {
    case '>':
      r->has_transition = 1;
      pawl_buf_addz(&r->transition, text + 1);
      return PAWL_OK;
    case '!':
      pawl_fail(err, PAWL_SCRIPT, "it went wrong");
      pawl_copy_text(err->raised, sizeof err->raised, text + 1);
      r->no_retry = text[len - 1] == '.';
      if (r->no_retry) err->raised[len - 2] = 0;
      return PAWL_SCRIPT;
    case '~':
      return pawl_fail_memory(err);
    case '@':
      r->at_us = k->now + atoll(text + 1) * PAWL_SECOND;
      return PAWL_OK;
    case '+':
      r->has_lasts = 1;
      r->lasts_us = atoll(text + 1) * PAWL_SECOND;
      return PAWL_OK;
    case '?':
      r->truth = 1;
      return PAWL_OK;
    case '.':
      *waits = 1;
      return PAWL_OK;
    default:
      r->has_output = 1;
      pawl_buf_addz(&r->output, text);
      return PAWL_OK;
  }
}

static inline int kit_is_aloft(void *ud, const pawl_decision *d,
                               const pawl_token *t) {
  for (int i = 0; i < d->naloft; i++)
    if (((kit *)ud)->aloft[i] == t->no) return 1;
  return 0;
}

/* The handler of that token ends; what it said is in k->result. */
static inline void kit_returned(kit *k, int32_t token, pawl_str base,
                                pawl_code rc, pawl_error *err) {
  int i = 0;
  while (i < k->d.naloft && k->aloft[i] != token) i++;
  CHECK(i < k->d.naloft);
  k->aloft[i] = k->aloft[--k->d.naloft];
  pawl_decide_returned(&k->d, PAWL_HANDLER_RUN, token, base, rc, err);
}

/* The same of the one that began last, with the variables as they are. */
static inline void kit_goes_on(kit *k) {
  pawl_error err = {0};
  const int last = k->d.naloft - 1;
  kit_returned(k, k->aloft[last], (pawl_str){NULL, 0}, PAWL_OK, &err);
}

static inline pawl_code kit_ask(void *ud, pawl_decision *d,
                                const pawl_question *q, int *waits,
                                pawl_error *err) {
  kit *k = ud;
  d->began_us = k->now;
  d->took_us = 1;
  d->passed_us = k->slow_us;
  pawl_buf_addf(&k->asked, "%s.%s, ", q->node->name,
                pawl_handler_name(q->handler));
  k->now += k->slow_us;
  for (int i = 0; i < k->nanswers; i++)
    if (!strcmp(k->answers[i].node, q->node->name) &&
        k->answers[i].handler == q->handler) {
      pawl_code rc = kit_say(k, k->answers[i].text, waits, err);
      if (*waits) k->aloft[d->naloft++] = q->token->no;
      return rc;
    }
  return PAWL_OK;
}

/* From now on the node's handler says that. */
static inline void kit_says(kit *k, const char *node, pawl_handler handler,
                            const char *text) {
  int i = 0;
  while (i < k->nanswers && (strcmp(k->answers[i].node, node) != 0 ||
                             k->answers[i].handler != handler))
    i++;
  if (i == 16) abort();
  if (i == k->nanswers) k->nanswers++;
  k->answers[i] = (kit_answer){.node = node, .text = text, .handler = handler};
}

/* ---- one instance ---- */

/* A workflow, all of it but its code and version; ' stands for ". */
static inline pawl_def *kit_def(const char *text, int version) {
  pawl_str none = {0};
  pawl_buf whole = {0};
  pawl_def *def = NULL;
  pawl_error err;

  pawl_buf_addf(&whole, "{'code':'t.x','version':%d,'line':1,%s}", version,
                text);
  for (size_t i = 0; i < whole.len; i++)
    if (whole.at[i] == '\'') whole.at[i] = '"';
  if (pawl_def_new("t.lua", pawl_buf_str(&whole), none, none, NULL, &def,
                   &err) != PAWL_OK ||
      pawl_def_check(def, &err) != PAWL_OK) {
    printf("%s\n%s\n", err.message, whole.at);
    abort();
  }
  pawl_buf_deinit(&whole);
  def->host_ref = 1;
  return def;
}

static inline void kit_open(kit *k, const char *text) {
  memset(k, 0, sizeof *k);
  k->now = INT64_C(1700000000) * PAWL_SECOND;
  pawl_said_init(&k->result, &k->alloc);
  k->face = (pawl_world){.ud = k,
                         .kinds = pawl_kinds,
                         .alloc = &k->alloc,
                         .refusals = &k->refusals,
                         .ids = &k->ids,
                         .result = &k->result,
                         .max_bytes = 1000,
                         .recoveries = 5,
                         .now = kit_now,
                         .random = kit_random,
                         .name = kit_name,
                         .ask = kit_ask,
                         .is_aloft = kit_is_aloft,
                         .stepped = kit_stepped,
                         .is_late = kit_is_late,
                         .claim = kit_claim,
                         .trace = kit_trace};
  pawl_decision_init(&k->d, &k->face);
  CHECK_INT(pawl_id_make(&k->ids, k->now, &k->d.id, NULL), PAWL_OK);
  pawl_id_format(&k->d.id, k->d.id_text);
  pawl_buf_addz(&k->d.workflow, "t.x");
  k->d.version = 1;
  k->d.def = k->def = kit_def(text, 1);
  k->d.may_wait = 1;
  k->d.created_us = k->now;
  k->d.read_us = PAWL_NEVER;
  k->d.undo_last = 1;
}

static inline void kit_close(kit *k) {
  pawl_decision_deinit(&k->d);
  pawl_def_free(k->def);
  pawl_said_deinit(&k->result);
  pawl_buf_deinit(&k->history);
  pawl_buf_deinit(&k->asked);
  pawl_buf_deinit(&k->trace);
  for (int i = 0; i < k->nnames; i++) free(k->names[i]);
}

/* ---- decided, and stored ---- */

/* 1: it leaves a plan. */
static inline int kit_decide(kit *k) {
  pawl_error err;
  int planned = pawl_decide(&k->d);
  if (!CHECK(pawl_plan_check(&k->d.plan, &err) == PAWL_OK))
    printf("%s\n", err.message);
  return planned;
}

static inline void kit_store(kit *k) {
  pawl_plan *p = &k->d.plan;
  if (p->after == PAWL_AFTER_BACK || p->after == PAWL_AFTER_FORGET) return;
  pawl_plan_last_words(p);
  for (int i = 0; i < p->nrecords; i++)
    pawl_buf_addf(&k->history, "%s %s, ", p->records[i].type,
                  p->records[i].node ? p->records[i].node : "-");
  pawl_decision_accept(&k->d);
}

/* One decision. Its records and effects can be looked at in k->d.plan. */
static inline void kit_step(kit *k) {
  kit_decide(k);
  kit_store(k);
}

/* Until nothing is left to do at once. */
static inline void kit_run(kit *k) {
  k->d.rounds = 0;
  for (int i = 0; i < 50; i++) {
    kit_step(k);
    if (k->d.plan.after != PAWL_AFTER_GO_ON) return;
  }
  CHECK(!"it goes on for ever");
}

/* `data` is JSON, with ' for ". */
static inline pawl_letter *kit_letter(kit *k, const char *kind,
                                      const char *data) {
  pawl_decision *d = &k->d;
  pawl_letter *l;

  if (!PAWL_ROOM(NULL, d->letters, d->nletters, d->letters_cap)) abort();
  l = &d->letters[d->nletters++];
  pawl_buf *texts[] = {&l->kind,   &l->name, &l->key, &l->event_id,
                       &l->source, &l->by,   &l->data};
  for (int i = 0; i < 7; i++) pawl_buf_clear(texts[i]);
  l->has_key = l->addressed = l->kept = l->news_for = 0;
  (void)pawl_id_make(&k->ids, k->now, &l->no, NULL);
  l->came = l->no;
  l->received_us = k->now;
  pawl_buf_addz(&l->kind, kind);
  pawl_buf_addf(&l->event_id, ":e%d", d->nletters);
  for (; *data; data++) pawl_buf_addc(&l->data, *data == '\'' ? '"' : *data);
  return l;
}

/* What a person has said of the task at a node, or a child that it calls;
 * `more`: JSON members, with ' for ". */
static inline pawl_letter *kit_answer_to(kit *k, const char *kind,
                                         const pawl_token *t,
                                         const char *more) {
  char data[400];
  snprintf(data, sizeof data, "{'token':%d,'visit':%" PRId64 ",%s}",
           (int)t->no, t->visit, more);
  return kit_letter(k, kind, data);
}

/* An event; `key` NULL: it has none. */
static inline pawl_letter *kit_event(kit *k, const char *name,
                                     const char *key) {
  pawl_letter *l = kit_letter(k, "event", "{'v':1}");
  pawl_buf_addz(&l->name, name);
  l->has_key = key != NULL;
  if (key) pawl_buf_addz(&l->key, key);
  return l;
}

/* ---- looked at ---- */

/* Of the last plan: how many there are of a type, or kind. */
static inline int kit_records(const kit *k, const char *type) {
  int n = 0;
  for (int i = 0; i < k->d.plan.nrecords; i++)
    n += !strcmp(k->d.plan.records[i].type, type);
  return n;
}

static inline int kit_effects(const kit *k, pawl_effect_kind kind) {
  int n = 0;
  for (int i = 0; i < k->d.plan.neffects; i++)
    n += k->d.plan.effects[i].kind == kind && !k->d.plan.effects[i].old;
  return n;
}

/* The last of them; a blank one, and a check that fails, when there is none. */
static inline const pawl_record *kit_record(const kit *k, const char *type) {
  static const pawl_record none;
  for (int i = k->d.plan.nrecords - 1; i >= 0; i--)
    if (!strcmp(k->d.plan.records[i].type, type)) return &k->d.plan.records[i];
  CHECK(!"no such record");
  return &none;
}

static inline const pawl_effect *kit_effect(const kit *k,
                                            pawl_effect_kind kind) {
  static const pawl_effect none;
  for (int i = k->d.plan.neffects - 1; i >= 0; i--)
    if (k->d.plan.effects[i].kind == kind && !k->d.plan.effects[i].old)
      return &k->d.plan.effects[i];
  CHECK(!"no such effect");
  return &none;
}

/* The token that stands at a node, as stored; NULL: none. */
static inline pawl_token *kit_find(kit *k, const char *node) {
  for (int i = 0; i < k->d.state.tokens.n; i++)
    if (!strcmp(k->d.state.tokens.at[i].node, node))
      return &k->d.state.tokens.at[i];
  return NULL;
}

/* The same, where one has to stand. */
static inline pawl_token *kit_at(kit *k, const char *node) {
  static pawl_token none;
  pawl_token *t = kit_find(k, node);
  if (!CHECK(t != NULL)) printf("  nothing stands at %s\n", node);
  return t ? t : &none;
}

/* Does the text hold this? ' stands for ". */
static inline int kit_says_so(const pawl_buf *text, const char *part) {
  pawl_buf wanted = {0};
  int found;
  for (; *part; part++) pawl_buf_addc(&wanted, *part == '\'' ? '"' : *part);
  found = text->at && strstr(text->at, wanted.at) != NULL;
  if (!found) printf("  \"%s\" is not in: %s\n", wanted.at, text->at);
  pawl_buf_deinit(&wanted);
  return found;
}
#define CHECK_HAS(text, part) CHECK(kit_says_so(&(text), part))

#define CHECK_BUF(got, want) \
  test_json(pawl_buf_str(&(got)), want, #got, __FILE__, __LINE__)
/* JSON with ' for ". */
static inline int test_json(pawl_str got, const char *want, const char *what,
                            const char *file, int line) {
  pawl_buf text = {0};
  int same;
  for (; *want; want++) pawl_buf_addc(&text, *want == '\'' ? '"' : *want);
  same = test_text(got, text.at ? text.at : "", what, file, line);
  pawl_buf_deinit(&text);
  return same;
}

#define CHECK_STATUS(k, want) \
  CHECK_TEXT(pawl_status_name((k)->d.state.status), want)

#endif
