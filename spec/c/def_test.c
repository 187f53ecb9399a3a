#include "../../src/base/nearest.h"
#include "../../src/base/sha256.h"
#include "../../src/defs/registry.h"

#include "test.h"

static pawl_str none(void) {
  pawl_str s = {NULL, 0};
  return s;
}

/* An inline definition; NULL and *err when it cannot be read. */
static pawl_def *read_graph(const char *graph, pawl_error *err) {
  pawl_def *def = NULL;
  if (pawl_def_new("order.lua", pawl_strz(graph), none(), none(), NULL, &def,
                   err) != PAWL_OK)
    return NULL;
  return def;
}

static const char ORDER[] =
    "{\"code\":\"order.fulfil\",\"version\":2,\"name\":\"Order\",\"line\":3,"
    "\"start\":\"reserve\",\"nodes\":["
    "{\"name\":\"reserve\",\"kind\":\"step\",\"line\":5,\"run\":true,"
    "\"undo\":true,\"next\":\"big\",\"transactional\":true,"
    "\"retry\":{\"max\":5,\"base\":2000000,\"cap\":9000000,\"factor\":3.0,"
    "\"jitter\":0.25},\"timeout\":7000000,\"on_exhausted\":\"suspend\","
    "\"on_error\":{\"card_declined\":\"cool\",\"*\":\"refused\"}},"
    "{\"name\":\"big\",\"kind\":\"choice\",\"line\":9,\"choose\":true,"
    "\"next\":{\"yes\":\"cool\",\"no\":\"done\"}},"
    "{\"name\":\"cool\",\"kind\":\"timer\",\"line\":12,\"after\":3600000000,"
    "\"next\":\"done\"},"
    "{\"name\":\"refused\",\"kind\":\"finish\",\"line\":14,"
    "\"status\":\"failed\",\"terminate\":true},"
    "{\"name\":\"done\",\"kind\":\"finish\",\"line\":15,\"output\":true}]}";

static void a_graph_is_read_field_by_field(void) {
  pawl_error err;
  pawl_def *d = read_graph(ORDER, &err);
  const pawl_node *n;
  if (!CHECK(d != NULL)) return;
  CHECK_TEXT(d->code, "order.fulfil");
  CHECK_TEXT(d->name, "Order");
  CHECK_TEXT(d->description, "");
  CHECK_TEXT(d->file, "order.lua");
  CHECK_STR(d->graph, ORDER);
  CHECK_STR(d->bundle, "{}");
  CHECK_INT(d->version, 2);
  CHECK_INT(d->line, 3);
  CHECK_INT(d->start, 0);
  CHECK_INT(d->nnodes, 5);
  CHECK_INT(d->is_inline, 1);
  CHECK_INT(d->host_ref, -1);
  n = &d->nodes[0];
  CHECK_TEXT(n->name, "reserve");
  CHECK_INT(n->kind, PAWL_KIND_STEP);
  CHECK_INT(n->line, 5);
  CHECK(n->has_run && n->has_undo && n->transactional);
  CHECK(!n->has_at && !n->has_choose && !n->has_output);
  CHECK_INT(n->retry.max, 5);
  CHECK_INT(n->retry.base_us, 2000000);
  CHECK_INT(n->retry.cap_us, 9000000);
  CHECK(n->retry.factor == 3.0);
  CHECK(n->retry.jitter == 0.25);
  CHECK_INT(n->timeout_us, 7000000);
  CHECK_INT(n->suspend_exhausted, 1);
  CHECK_INT(n->after_us, -1);
  CHECK_INT(pawl_node_next(n, NULL, 0), 1);
  CHECK_INT(pawl_node_next(n, "", 0), 1);
  CHECK_INT(pawl_node_next(n, "yes", 3), -1);
  CHECK_INT(pawl_node_on_error(n, "card_declined"), 2);
  CHECK_INT(pawl_node_on_error(n, "anything"), 3);
  CHECK_INT(pawl_node_on_error(&d->nodes[1], "anything"), -1);
  CHECK_INT(pawl_node_next(&d->nodes[1], "yes", 3), 2);
  CHECK_INT(pawl_node_next(&d->nodes[1], "no", 2), 4);
  CHECK_INT(pawl_node_next(&d->nodes[1], "ye", 2), -1);
  CHECK_INT(pawl_node_next(&d->nodes[1], NULL, 0), -1);
  CHECK_INT(d->nodes[2].after_us, INT64_C(3600000000));
  CHECK(d->nodes[3].status_failed && d->nodes[3].terminate);
  CHECK(d->nodes[4].has_output && !d->nodes[4].status_failed);
  CHECK_INT(pawl_def_check(d, &err), PAWL_OK);
  pawl_def_free(d);
}

static void what_is_left_out_has_the_design_s_defaults(void) {
  pawl_error err;
  pawl_def *d = read_graph(
      "{\"code\":\"a\",\"start\":\"s\",\"nodes\":[{"
      "\"name\":\"s\",\"kind\":\"step\"}]}",
      &err);
  if (!CHECK(d != NULL)) return;
  CHECK_INT(d->version, 1);
  CHECK_INT(d->nodes[0].retry.max, 3);
  CHECK_INT(d->nodes[0].retry.base_us, 1000000);
  CHECK_INT(d->nodes[0].retry.cap_us, 300000000);
  CHECK(d->nodes[0].retry.factor == 2.0 && d->nodes[0].retry.jitter == 0.5);
  CHECK_INT(d->nodes[0].timeout_us, 600000000);
  CHECK_INT(d->nodes[0].suspend_exhausted, 0);
  pawl_def_free(d);
}

static void nodes_are_found_by_their_whole_name(void) {
  pawl_error err;
  pawl_def *d = read_graph(ORDER, &err);
  if (!CHECK(d != NULL)) return;
  for (int i = 0; i < d->nnodes; i++)
    CHECK_INT(pawl_def_node(d, d->nodes[i].name, strlen(d->nodes[i].name)), i);
  CHECK_INT(pawl_def_node(d, "reserv", 6), -1);
  CHECK_INT(pawl_def_node(d, "reserve2", 8), -1);
  CHECK_INT(pawl_def_node(d, "reserve2", 7), 0);
  CHECK_INT(pawl_def_node(d, "", 0), -1);
  CHECK_INT(pawl_def_node(d, NULL, 0), -1);
  CHECK_INT(pawl_def_node(d, "done\0", 5), -1);
  pawl_def_free(d);
}

typedef struct bad {
  const char *graph, *where, *message, *hint;
} bad;

/* A workflow of one step "a", with `fields` in it, and a finish "z". */
#define STEP(fields)                                                 \
  "{\"code\":\"c\",\"line\":1,\"start\":\"a\",\"nodes\":[{\"name\":" \
  "\"a\",\"kind\":\"step\",\"line\":2," fields                       \
  "},{\"name\":\"z\",\"kind\":\"finish\",\"line\":9}]}"
/* A workflow of these nodes that starts at "a". */
#define NODES(nodes) \
  "{\"code\":\"c\",\"line\":1,\"start\":\"a\",\"nodes\":[" nodes "]}"
#define RUN "\"run\":true,\"next\":\"z\""
#define FINISH "{\"name\":\"z\",\"kind\":\"finish\",\"line\":9}"
#define LONG65 \
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void bad_graphs_are_refused_when_read(void) {
  static const bad BAD[] = {
      {"[]", "order.lua", "the workflow: `graph` must be an object", ""},
      {"{}", "order.lua", "the workflow: `code` must be there", ""},
      {"{\"code\":1}", "order.lua", "the workflow: `code` must be a string",
       ""},
      {"{\"code\":\"c\",\"line\":7}", "order.lua:7",
       "the workflow: `start` must be there", ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"version\":0}", "order.lua",
       "the workflow: `version` must be an integer of at least 1", ""},
      {"{\"code\":\"c\",\"start\":\"a\"}", "order.lua",
       "the workflow: `nodes` must be a list", ""},
      {NODES("1"), "order.lua", "a node: `nodes` must be a list of objects",
       ""},
      {NODES("{\"kind\":\"step\"}"), "order.lua",
       "a node: `name` must be there", ""},
      {NODES("{\"name\":\"a\\u0000b\"}"), "order.lua",
       "a node: `name` must be text without a zero byte", ""},
      {NODES("{\"name\":\"a\"}"), "order.lua",
       "node \"a\": `kind` must be there", ""},
      {NODES("{\"name\":\"a\",\"kind\":\"stp\",\"line\":4}"), "order.lua:4",
       "node \"a\": unknown kind \"stp\"", "did you mean \"step\"?"},
      {NODES("{\"name\":\"a\",\"kind\":\"subprocess\"}"), "order.lua",
       "node \"a\": unknown kind \"subprocess\"",
       "kinds: step, choice, timer, finish, wait, task, fork, join, call, "
       "each, undo, escalate"},
      {STEP("\"next\":1"), "order.lua:2",
       "step \"a\": `next` must be a node, or named transitions", ""},
      {STEP("\"next\":{\"x\":1}"), "order.lua:2",
       "step \"a\": `next` must be names of nodes", ""},
      {STEP("\"on_error\":\"z\""), "order.lua:2",
       "step \"a\": `on_error` must be an object: error code to node", ""},
      {STEP("\"retry\":3"), "order.lua:2",
       "step \"a\": `retry` must be an object", ""},
      {STEP("\"retry\":{\"max\":0}"), "order.lua:2",
       "step \"a\": `max` must be an integer of at least 1", ""},
      {STEP("\"retry\":{\"max\":1.5}"), "order.lua:2",
       "step \"a\": `max` must be an integer of at least 1", ""},
      {STEP("\"retry\":{\"base\":-1}"), "order.lua:2",
       "step \"a\": `base` must be a duration in microseconds", ""},
      {STEP("\"retry\":{\"cap\":9223372036854775807}"), "order.lua:2",
       "step \"a\": `cap` must be a duration in microseconds", ""},
      {STEP("\"retry\":{\"factor\":0.5}"), "order.lua:2",
       "step \"a\": `factor` must be a number of at least 1", ""},
      {STEP("\"retry\":{\"jitter\":2}"), "order.lua:2",
       "step \"a\": `jitter` must be a number between 0 and 1", ""},
      {STEP("\"timeout\":0"), "order.lua:2",
       "step \"a\": `timeout` must be a duration in microseconds, longer than "
       "nothing",
       ""},
      {STEP("\"durability\":\"never\""), "order.lua:2",
       "step \"a\": `durability` must be every, grouped or save", ""},
      {STEP("\"on_exhausted\":\"stop\""), "order.lua:2",
       "step \"a\": `on_exhausted` cannot be \"stop\"",
       "\"fail\" or \"suspend\""},
      {STEP("\"run\":1"), "order.lua:2",
       "step \"a\": `run` must be true or false", ""},
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    pawl_error err;
    pawl_def *d = read_graph(BAD[i].graph, &err);
    if (!CHECK(d == NULL)) {
      printf("  was read: %s\n", BAD[i].graph);
      pawl_def_free(d);
      continue;
    }
    CHECK_INT(err.code, PAWL_DEFINITION);
    CHECK_TEXT(err.where, BAD[i].where);
    CHECK_TEXT(err.message, BAD[i].message);
    CHECK_TEXT(err.hint, BAD[i].hint);
  }
}

static void what_is_no_json_is_refused(void) {
  pawl_error err;
  pawl_def *d = NULL;
  CHECK(read_graph("{\"code\":", &err) == NULL);
  CHECK_INT(err.code, PAWL_VALUE);
  CHECK_INT(pawl_def_new("f", pawl_strz(ORDER), pawl_strz("x"),
                         pawl_strz("[]"), NULL, &d, &err),
            PAWL_DEFINITION);
  CHECK_INT(pawl_def_new("f", pawl_strz(ORDER), pawl_strz("x"),
                         pawl_strz("{\"m\":1}"), NULL, &d, &err),
            PAWL_DEFINITION);
  CHECK_INT(pawl_def_new("f", pawl_strz(ORDER), pawl_strz("x"), pawl_strz("{"),
                         NULL, &d, NULL),
            PAWL_VALUE);
  CHECK(d == NULL);
}

static void graphs_that_make_no_sense_are_refused_by_the_check(void) {
  static const bad BAD[] = {
      {"{\"code\":\"a b\",\"line\":1,\"start\":\"z\",\"nodes\":[" FINISH "]}",
       "order.lua:1", "workflow code \"a b\" is not well formed",
       "dotted words of letters, digits, '_' and '-', at most 200 bytes: "
       "\"order.fulfil\""},
      {"{\"code\":\"a.\",\"line\":1,\"start\":\"z\",\"nodes\":[" FINISH "]}",
       "order.lua:1", "workflow code \"a.\" is not well formed", NULL},
      {"{\"code\":\"c\",\"line\":1,\"start\":\"zz\",\"nodes\":[" FINISH "]}",
       "order.lua:1", "workflow \"c\": `start` names no node \"zz\"",
       "did you mean \"z\"?"},
      {NODES(""), "order.lua:1", "workflow \"c\": `start` names no node \"a\"",
       "add a node of that name, or correct it"},
      {STEP("\"next\":\"z\""), "order.lua:2", "step \"a\": no `run`",
       "run = function(ctx) ... end"},
      {STEP("\"run\":true"), "order.lua:2", "step \"a\": no `next`",
       "next = \"the_next_node\""},
      {STEP("\"run\":true,\"next\":{}"), "order.lua:2",
       "step \"a\": no `next`", "next = \"the_next_node\""},
      {STEP(RUN ",\"retry\":{\"base\":10,\"cap\":9}"), "order.lua:2",
       "step \"a\": `retry`: `cap` is shorter than `base`",
       "cap is the longest delay, base the first; one of them may be the "
       "workflow's"},
      {STEP(RUN ",\"retry\":{\"base\":900000000}"), NULL, NULL, NULL},
      {STEP(RUN ",\"retry\":{\"cap\":10}"), NULL, NULL, NULL},
      {STEP("\"run\":true,\"next\":\"zz\""), "order.lua:2",
       "step \"a\": `next` names no node \"zz\"", "did you mean \"z\"?"},
      {STEP("\"run\":true,\"next\":\"elsewhere\""), "order.lua:2",
       "step \"a\": `next` names no node \"elsewhere\"",
       "add a node of that name, or correct it"},
      {STEP(RUN ",\"on_error\":{\"x\":\"q9q9q9\"}"), "order.lua:2",
       "step \"a\": `on_error` names no node \"q9q9q9\"", NULL},
      {STEP("\"run\":true,\"next\":{\"\":\"z\",\"b\":\"z\"}"), "order.lua:2",
       "step \"a\": a name in `next` is empty", ""},
      {STEP("\"run\":true,\"next\":{\"" LONG65 "\":\"z\"}"), "order.lua:2",
       "step \"a\": a name in `next` is longer than 64 bytes", ""},
      {NODES("{\"name\":\"" LONG65 "\",\"kind\":\"step\",\"line\":4}"),
       "order.lua:4", "the name of a step is longer than 64 bytes", ""},
      {NODES("{\"name\":\"\",\"kind\":\"step\",\"line\":4}"), "order.lua:4",
       "the name of a step is empty", ""},
      {NODES("{\"name\":\"a\\n\",\"kind\":\"step\",\"line\":4}"),
       "order.lua:4",
       "the name of a step has characters that cannot be printed", ""},
      {NODES(FINISH ","
                    "{\"name\":\"z\",\"kind\":\"step\",\"line\":12}"),
       "order.lua:12", "step \"z\" is defined twice",
       "the first is in line 9"},
      {NODES("{\"name\":\"a\",\"kind\":\"choice\",\"line\":2," RUN
             "}," FINISH),
       "order.lua:2", "choice \"a\": no `choose`",
       "choose = function(ctx) return \"yes\" end"},
      {NODES("{\"name\":\"a\",\"kind\":\"choice\",\"line\":2,\"choose\":true,"
             "\"next\":\"z\"}," FINISH),
       "order.lua:2", "choice \"a\": `next` offers nothing to choose from",
       "name at least two: { yes = \"a\", no = \"b\" }"},
      {NODES("{\"name\":\"a\",\"kind\":\"timer\",\"line\":2,\"next\":\"z\"}"
             "," FINISH),
       "order.lua:2", "timer \"a\": no `after`",
       "after = \"1h\", or at = function(ctx) ... end"},
      {NODES("{\"name\":\"a\",\"kind\":\"timer\",\"line\":2,\"next\":\"z\","
             "\"after\":1,\"at\":true}," FINISH),
       "order.lua:2", "timer \"a\": both `after` and `at`",
       "keep one of them"},
      {NODES("{\"name\":\"a\",\"kind\":\"timer\",\"line\":2,\"at\":true,"
             "\"next\":{\"x\":\"z\"}}," FINISH),
       "order.lua:2", "timer \"a\": no `next`",
       "a timer has one: next = \"the_next_node\""},
      {NODES("{\"name\":\"a\",\"kind\":\"finish\",\"line\":2,\"next\":\"z\"}"
             "," FINISH),
       "order.lua:2", "finish \"a\": a finish has no `next`",
       "leave it out, or make the node a step"},
      {NODES("{\"name\":\"a\",\"kind\":\"step\",\"line\":2," RUN "},{\"name\":"
             "\"b\",\"kind\":\"step\",\"line\":3," RUN "}," FINISH),
       "order.lua:3", "step \"b\": nothing leads to it",
       "name it in a `next` or `on_error`, or remove it"},
      {STEP("\"run\":true,\"next\":{\"x\":\"z\",\"y\":\"a\"}") " ", NULL, NULL,
       NULL},
      {NODES("{\"name\":\"a\",\"kind\":\"step\",\"line\":2,\"run\":true,"
             "\"next\":{\"x\":\"z\",\"y\":\"b\"}},{\"name\":\"b\",\"kind\":"
             "\"step\",\"line\":3,\"run\":true,\"next\":\"b\"}," FINISH),
       "order.lua:3", "step \"b\": no way from it to a finish",
       "lead one of its ways to a node made with :finish, or give the "
       "workflow "
       "endless = true"},
      {NODES("{\"name\":\"a\",\"kind\":\"choice\",\"line\":2,\"choose\":true,"
             "\"next\":{\"x\":\"z\",\"y\":\"b\"}},{\"name\":\"b\",\"kind\":"
             "\"choice\",\"line\":3,\"choose\":true,\"next\":{\"x\":\"a\","
             "\"y\":\"z\"}}," FINISH),
       "order.lua:2",
       "choice \"a\": leads round a circle of choices, forks and joins alone",
       "put a step or a timer into the circle"},
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    pawl_error err = {0};
    pawl_def *d = read_graph(BAD[i].graph, &err);
    pawl_code rc;
    if (!CHECK(d != NULL)) {
      printf("  %s\n", err.message);
      continue;
    }
    rc = pawl_def_check(d, &err);
    CHECK_INT(rc, BAD[i].message ? PAWL_DEFINITION : PAWL_OK);
    if (BAD[i].message) {
      CHECK_TEXT(err.where, BAD[i].where);
      CHECK_TEXT(err.message, BAD[i].message);
      if (BAD[i].hint) CHECK_TEXT(err.hint, BAD[i].hint);
    }
    pawl_def_free(d);
  }
}

/* All the other kinds, with all that they can say. */
static const char MACHINE[] =
    "{\"code\":\"m\",\"start\":\"f\",\"deadline\":9000000,\"busy_limit\":50,"
    "\"compensate\":false,\"trigger\":[{\"event\":\"order.placed\"}],"
    "\"on_failure\":{\"emit\":\"m.failed\",\"start\":\"mend\"},"
    "\"cancel_on\":[{\"event\":\"order.*\",\"key\":\"id\"},{\"event\":\"x\"}],"
    "\"nodes\":["
    "{\"name\":\"f\",\"kind\":\"fork\",\"next\":{\"a\":\"w\",\"b\":\"t\","
    "\"c\":\"c\"},\"order\":[\"b\",\"c\",\"a\"]},"
    "{\"name\":\"w\",\"kind\":\"wait\",\"event\":\"payment.*\",\"key\":\"id\","
    "\"match\":true,\"timeout\":7000000,\"into\":\"p\",\"next\":{\"received\":"
    "\"j\",\"timeout\":\"j\"},\"undo\":true,\"retry\":{\"base\":5}},"
    "{\"name\":\"t\",\"kind\":\"task\",\"task\":{\"title\":\"T\",\"due\":5,"
    "\"input\":[1],\"priority\":\"high\",\"users\":[\"ann\"],\"signal\":"
    "\"done\"},\"escalate\":{\"roles\":[\"r\"],\"priority\":\"urgent\"},"
    "\"prepare\":true,\"next\":{\"ok\":\"j\",\"overdue\":\"j\"}},"
    "{\"name\":\"c\",\"kind\":\"call\",\"workflow\":\"a.b\","
    "\"version\":2,\"input\":{\"x\":1},\"parent_end\":\"leave\","
    "\"next\":\"j\"},"
    "{\"name\":\"j\",\"kind\":\"join\",\"expect\":2,\"losers\":\"cancel\","
    "\"next\":\"e\"},"
    "{\"name\":\"e\",\"kind\":\"each\",\"items\":true,\"branch\":\"s\","
    "\"window\":3,\"on_failure\":\"collect\",\"into\":\"r\",\"timeout\":8,"
    "\"next\":\"k\"},"
    "{\"name\":\"s\",\"kind\":\"step\",\"run\":true,\"next\":\"e\"},"
    "{\"name\":\"k\",\"kind\":\"each\",\"items\":true,\"workflow\":\"a\","
    "\"tolerate\":\"2.5%\",\"enough\":true,\"group\":true,"
    "\"priority\":-3,\"next\":\"d\"},"
    "{\"name\":\"d\",\"kind\":\"call\",\"workflow\":\"a\",\"input\":true,"
    "\"group\":\"gpu\",\"priority\":true,"
    "\"next\":{\"completed\":\"v\",\"failed\":\"z\",\"cancelled\":\"z\"}},"
    "{\"name\":\"v\",\"kind\":\"wait\",\"event\":\"*\",\"key\":true,"
    "\"next\":\"z\"}," FINISH "]}";

static void the_other_kinds_are_read_field_by_field(void) {
  pawl_error err = {0};
  pawl_def *d = read_graph(MACHINE, &err);
  const pawl_node *n;
  if (!CHECK(d != NULL)) {
    printf("  %s\n", err.message);
    return;
  }
  CHECK_INT(d->deadline_us, 9000000);
  CHECK_INT(d->busy_limit, 50);
  CHECK_INT(d->compensate, 0);
  CHECK_INT(d->can_receive, 1);
  CHECK_INT(d->ntriggers, 1);
  CHECK_TEXT(d->triggers[0].event, "order.placed");
  CHECK(d->triggers[0].key == NULL);
  CHECK_TEXT(d->failure_emit, "m.failed");
  CHECK_TEXT(d->failure_start, "mend");
  CHECK_INT(d->ncancel_on, 2);
  CHECK_TEXT(d->cancel_on[0].key, "id");
  CHECK_TEXT(d->cancel_on[1].event, "x");
  n = &d->nodes[0];
  CHECK_INT(n->kind, PAWL_KIND_FORK);
  CHECK_TEXT(n->next[n->order[0]].name, "b");
  CHECK_TEXT(n->next[n->order[1]].name, "c");
  CHECK_TEXT(n->next[n->order[2]].name, "a");
  n = &d->nodes[1];
  CHECK_TEXT(n->event, "payment.*");
  CHECK_TEXT(n->key, "id");
  CHECK_TEXT(n->into, "p");
  CHECK(n->has_match && n->has_undo && !n->has_key);
  CHECK_INT(n->limit_us, 7000000);
  CHECK_INT(n->timeout_us, 600000000); /* its handlers' */
  CHECK_INT(n->retry.max, 3);          /* it asks for retries */
  n = &d->nodes[2];
  CHECK_STR(n->task,
            "{\"title\":\"T\",\"due\":5,\"input\":[1],\"priority\":\"high\","
            "\"users\":[\"ann\"],\"signal\":\"done\"}");
  CHECK_STR(n->escalate, "{\"roles\":[\"r\"],\"priority\":\"urgent\"}");
  CHECK(n->has_prepare && n->into == NULL);
  CHECK_INT(n->retry.max, 1);
  CHECK_INT(n->limit_us, -1);
  n = &d->nodes[3];
  CHECK_TEXT(n->workflow, "a.b");
  CHECK_INT(n->version, 2);
  CHECK_STR(n->input, "{\"x\":1}");
  CHECK(n->parent_end_leave && !n->has_input);
  CHECK_INT(n->retry.max, 1);
  n = &d->nodes[4];
  CHECK_INT(n->expect, 2);
  CHECK_INT(n->losers_cancel, 1);
  n = &d->nodes[5];
  CHECK(n->has_items && n->collect && n->workflow == NULL);
  CHECK_INT(n->branch, 6);
  CHECK_INT(n->window, 3);
  CHECK_INT(n->limit_us, 8);
  CHECK_TEXT(n->into, "r");
  n = &d->nodes[7];
  CHECK_INT(n->branch, -1);
  CHECK_INT(n->window, 16);
  CHECK(!n->collect && !n->parent_end_leave);
  CHECK(n->has_enough && n->has_group && n->group == NULL);
  CHECK(!n->has_priority && n->priority == -3);
  CHECK_INT(pawl_node_tolerates(n, 1000), 25);
  CHECK_INT(pawl_node_tolerates(n, 39), 0);
  CHECK_INT(pawl_node_tolerates(&d->nodes[5], 39), -1);
  CHECK_TEXT(d->nodes[8].group, "gpu");
  CHECK(d->nodes[8].has_priority && !d->nodes[8].has_group);
  CHECK(d->nodes[8].has_input && d->nodes[8].input.at == NULL);
  CHECK(d->nodes[9].has_key && d->nodes[9].key == NULL);
  if (!CHECK_INT(pawl_def_check(d, &err), PAWL_OK))
    printf("  %s\n", err.message);
  CHECK_INT(pawl_def_meets(d, 1, 4), 1);
  CHECK_INT(pawl_def_meets(d, 6, 4), 0);
  pawl_def_free(d);
  d = read_graph(
      "{\"code\":\"m\",\"start\":\"a\",\"deadline\":true,\"nodes\":[]}", &err);
  CHECK(d && d->has_deadline);
  if (d) CHECK_INT(d->deadline_us, -1);
  pawl_def_free(d);
  d = read_graph(ORDER, &err);
  CHECK(!d->has_deadline);
  CHECK_INT(d->deadline_us, -1);
  CHECK_INT(d->busy_limit, 0);
  CHECK_INT(d->compensate, 1);
  CHECK_INT(d->can_receive, 0);
  pawl_def_free(d);
}

/* A node "a" of this kind with `fields`, and a finish. */
#define ONE(kind, fields)                                          \
  NODES("{\"name\":\"a\",\"line\":2,\"kind\":\"" kind "\"," fields \
        "}"                                                        \
        "," FINISH)
#define TO_Z "\"next\":\"z\""
#define TASK "\"task\":{\"title\":\"T\"}"

static void what_the_other_kinds_cannot_say_is_refused(void) {
  static const struct {
    const char *graph, *message, *hint;
  } BAD[] = {
      /* when it is read */
      {ONE("wait", "\"key\":1"),
       "wait \"a\": `key` must be a name, or true: a handler", ""},
      {ONE("fork", "\"next\":{\"x\":\"z\",\"y\":\"z\"},\"order\":[\"x\"]"),
       "fork \"a\": `order` must be a list of its branches, each of them once",
       ""},
      {ONE("fork",
           "\"next\":{\"x\":\"z\",\"y\":\"z\"},\"order\":[\"x\",\"x\"]"),
       "fork \"a\": `order` must be a list of its branches, each of them once",
       ""},
      {ONE("join", "\"expect\":0"),
       "join \"a\": `expect` must be all, any, or a number of at least 1", ""},
      {ONE("task", "\"task\":1"), "task \"a\": `task` must be an object", ""},
      {ONE("task", "\"task\":{\"title\":1}"),
       "task \"a\": `task.title` must be a string", ""},
      {ONE("task", "\"task\":{\"due\":\"2d\"}"),
       "task \"a\": `task.due` must be a duration in microseconds", ""},
      {ONE("task", "\"task\":{\"roles\":[1]}"),
       "task \"a\": `task.roles` must be a list of names", ""},
      {ONE("task", "\"escalate\":{\"priority\":\"most\"}"),
       "task \"a\": `escalate.priority` must be low, normal, high or urgent",
       ""},
      {ONE("call", "\"input\":1"),
       "call \"a\": `input` must be an object, a list, or true: a handler",
       ""},
      {ONE("undo", "\"of\":\"z\""), "undo \"a\": `of` must be a list of nodes",
       ""},
      {ONE("undo", "\"of\":[1]"), "undo \"a\": `of` must be a list of nodes",
       ""},
      {ONE("each", "\"window\":0"),
       "each \"a\": `window` must be an integer of at least 1", ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"deadline\":0}",
       "the workflow: `deadline` must be a duration in microseconds, longer "
       "than nothing",
       ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"trigger\":[{\"key\":\"x\"}]}",
       "the workflow: `trigger` must be a list of objects with `event`", ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"durability\":7}",
       "the workflow: `durability` must be a string", ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"keep_history\":99}",
       "the workflow: `keep_history` must be an integer from 100 to 1000000: "
       "rows that stay",
       ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"keep_history\":\"1d\"}",
       "the workflow: `keep_history` must be an integer from 100 to 1000000: "
       "rows that stay",
       ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"on_failure\":[]}",
       "the workflow: `on_failure` must be an object", ""},
      {"{\"code\":\"c\",\"start\":\"a\",\"on_failure\":{}}",
       "the workflow: `on_failure` must be an object with `emit`, `start` or "
       "both",
       ""},
      /* when it is checked */
      {ONE("wait", TO_Z), "wait \"a\": no `event`",
       "event = \"payment.*\", or condition = function(ctx) ... end"},
      {ONE("wait", TO_Z ",\"event\":\"e\",\"condition\":true"),
       "wait \"a\": both `event` and `condition`",
       "an event is looked at by `match`: keep one of them"},
      {ONE("wait", TO_Z ",\"condition\":true,\"into\":\"v\""),
       "wait \"a\": `into` is of a wait for an event, and this one has a "
       "`condition`",
       "leave it out"},
      {ONE("wait", "\"condition\":true,\"next\":{\"received\":\"z\"}"),
       "wait \"a\": `next`: no transition \"received\"",
       "a wait knows: met, timeout"},
      {ONE("wait", TO_Z ",\"event\":\"a.*.b\""),
       "wait \"a\": `event` \"a.*.b\" is not well formed", PAWL_PATTERN_RULE},
      {ONE("wait", TO_Z ",\"event\":\"a\",\"into\":\"\""),
       "wait \"a\": `into` is empty", "it is the name of a variable"},
      {ONE("wait", "\"event\":\"a\",\"next\":{\"recieved\":\"z\"}"),
       "wait \"a\": `next`: no transition \"recieved\"",
       "did you mean \"received\"?"},
      {ONE("wait", "\"event\":\"a\",\"next\":{\"late\":\"z\"}"),
       "wait \"a\": `next`: no transition \"late\"",
       "a wait knows: received, timeout"},
      {ONE("wait",
           "\"event\":\"a\",\"timeout\":1,\"next\":{\"timeout\":"
           "\"z\"}"),
       "wait \"a\": `next` has no \"received\"",
       "next = \"a\", or next = { received = \"a\", ... }"},
      {ONE("wait",
           "\"event\":\"a\",\"next\":{\"received\":\"z\",\"timeout\":\"z\"}"),
       "wait \"a\": `next` has \"timeout\", but there is no `timeout`",
       "add timeout = \"2d\", or leave the transition out"},
      {ONE("task", TO_Z), "task \"a\": no `title`",
       "title = \"Approve the order\""},
      {ONE("task", "\"task\":{\"title\":\"\"}," TO_Z),
       "task \"a\": no `title`", NULL},
      {ONE("task", "\"task\":{\"title\":\"T\",\"signal\":\"a.*\"}," TO_Z),
       "task \"a\": `signal` \"a.*\" is not well formed", PAWL_CODE_RULE},
      {ONE("task", TASK ",\"next\":{\"failed\":\"z\"}"),
       "task \"a\": `next` has no outcome that a person can take", NULL},
      {ONE("task", TASK ",\"next\":{\"ok\":\"z\",\"overdue\":\"z\"}"),
       "task \"a\": `next` has \"overdue\", but there is no `due`",
       "add due = \"2d\", or leave the transition out"},
      {ONE("task", TASK ",\"escalate\":{\"roles\":[\"r\"]}," TO_Z),
       "task \"a\": no `due`", NULL},
      {ONE("fork", "\"next\":{\"x\":\"z\"}"),
       "fork \"a\": has only one branch", "next = { \"ship\", \"bill\" }"},
      {ONE("join", "\"next\":{\"x\":\"z\"}"), "join \"a\": no `next`",
       "a join has one: next = \"the_next_node\""},
      {ONE("call", TO_Z), "call \"a\": no `workflow`",
       "workflow = \"order.ship\""},
      {ONE("call", TO_Z ",\"workflow\":\"a b\""),
       "call \"a\": `workflow` is not well formed", PAWL_CODE_RULE},
      {ONE("call", "\"workflow\":\"w\",\"next\":{\"done\":\"z\"}"),
       "call \"a\": `next`: no transition \"done\"",
       "a call knows: completed, failed, cancelled, timeout"},
      {ONE("undo", TO_Z), "undo \"a\": no node has `undo`",
       "give what it is to take back undo = function(ctx) ... end"},
      {ONE("undo", "\"of\":[]"), "undo \"a\": no `next`",
       "an undo has one: next = \"the_next_node\""},
      {ONE("each", TO_Z), "each \"a\": no `items`", NULL},
      {ONE("each", TO_Z ",\"items\":true"), "each \"a\": no `branch`",
       "branch = \"the_first_node\", or workflow = \"code\""},
      {ONE("each", TO_Z ",\"items\":true,\"branch\":\"z\",\"workflow\":\"w\""),
       "each \"a\": both `branch` and `workflow`", "keep one of them"},
      {ONE("each", TO_Z ",\"items\":true,\"branch\":\"zz\""),
       "each \"a\": `branch` names no node \"zz\"", "did you mean \"z\"?"},
      {"{\"code\":\"c\",\"start\":\"z\",\"cancel_on\":[{\"event\":\"a b\"}],"
       "\"nodes\":[" FINISH "]}",
       "`cancel_on`: event \"a b\" is not well formed", PAWL_PATTERN_RULE},
      {"{\"code\":\"c\",\"start\":\"z\",\"on_cancel\":\"y\",\"nodes\":[" FINISH
       "]}",
       "workflow \"c\": `on_cancel` names no node \"y\"", NULL},
      {"{\"code\":\"c\",\"start\":\"z\",\"on_failure\":{\"emit\":\"\"},"
       "\"nodes\":[" FINISH "]}",
       "workflow \"c\": `on_failure`: `emit` must have 1 to 200 bytes", NULL},
      {"{\"code\":\"c\",\"start\":\"z\",\"on_failure\":{\"start\":\"a b\"},"
       "\"nodes\":[" FINISH "]}",
       "workflow \"c\": `on_failure`: `start` cannot be a workflow's code",
       PAWL_CODE_RULE},
      {"{\"code\":\"c\",\"start\":\"z\",\"on_failure\":{\"start\":\"c\"},"
       "\"nodes\":[" FINISH "]}",
       "workflow \"c\": `on_failure`: `start` names the workflow itself",
       NULL},
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    pawl_error err = {0};
    pawl_def *d = read_graph(BAD[i].graph, &err);
    if (d) CHECK_INT(pawl_def_check(d, &err), PAWL_DEFINITION);
    CHECK_INT(err.code, PAWL_DEFINITION);
    CHECK_TEXT(err.message, BAD[i].message);
    if (BAD[i].hint) CHECK_TEXT(err.hint, BAD[i].hint);
    if (strstr(BAD[i].graph, "\"line\":2"))
      CHECK_TEXT(err.where, "order.lua:2");
    pawl_def_free(d);
  }
}

static void events_are_dotted_words_and_patterns_may_end_open(void) {
  static const char *const PATTERNS[] = {"*", "a.*", "a.b.*"};
  static const char *const NEITHER[] = {"",   "a*", "*.a", "a.*.b",
                                        "a.", "**", "a b", ".*"};
  CHECK(pawl_def_is_event("payment.received", 0));
  CHECK(pawl_def_is_event("payment.received", 1));
  for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++) {
    CHECK(pawl_def_is_event(PATTERNS[i], 1));
    CHECK(!pawl_def_is_event(PATTERNS[i], 0));
  }
  for (size_t i = 0; i < sizeof NEITHER / sizeof *NEITHER; i++)
    CHECK(!pawl_def_is_event(NEITHER[i], 1));
}

static void a_delay_moves_the_default_of_the_other(void) {
  pawl_def *d = read_graph(STEP("\"retry\":{\"base\":900000000}"), NULL);
  CHECK_INT(d->nodes[0].retry.cap_us, 1800000000);
  pawl_def_free(d);
  d = read_graph(STEP("\"retry\":{\"base\":7000000,\"cap\":8000000}"), NULL);
  CHECK_INT(d->nodes[0].retry.cap_us, 8000000);
  pawl_def_free(d);
  d = read_graph(STEP("\"retry\":{\"cap\":10}"), NULL);
  CHECK_INT(d->nodes[0].retry.base_us, 10);
  pawl_def_free(d);
}

static void codes_are_dotted_words(void) {
  static const char *const BAD[] = {"",    ".",   "a.",       ".a", "a..b",
                                    "a b", "a/b", "\xc3\xa4", "a\n"};
  char text[202];
  CHECK(pawl_def_is_code("A-z_9.b"));
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    CHECK(!pawl_def_is_code(BAD[i]));
  memset(text, 'a', sizeof text);
  text[200] = 0;
  CHECK(pawl_def_is_code(text));
  text[200] = 'a', text[201] = 0;
  CHECK(!pawl_def_is_code(text));
}

static void the_checksum_covers_source_and_bundle(void) {
  pawl_error err;
  pawl_def *d = NULL;
  pawl_sha256 sha;
  unsigned char digest[32];
  char hex[65];
  CHECK_INT(
      pawl_def_new("f", pawl_strz(ORDER), pawl_strz("return 1"),
                   pawl_strz("{\"m\":\"x\\ny\",\"a\":\"z\"}"), NULL, &d, &err),
      PAWL_OK);
  pawl_sha256_init(&sha);
  pawl_sha256_add(&sha,
                  "return 1"
                  "a\0z\0"
                  "m\0x\ny\0",
                  8 + 4 + 6);
  pawl_sha256_end(&sha, digest);
  pawl_sha256_hex(digest, hex);
  CHECK_TEXT(d->sha256, hex);
  CHECK_INT(d->is_inline, 0);
  CHECK_STR(d->source, "return 1");
  pawl_def_free(d);
}

static void an_empty_source_is_not_inline(void) {
  pawl_error err;
  pawl_def *d = NULL;
  CHECK_INT(pawl_def_new("f", pawl_strz(ORDER), pawl_strz(""), none(), NULL,
                         &d, &err),
            PAWL_OK);
  CHECK_INT(d->is_inline, 0);
  CHECK_TEXT(d->sha256,
             "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca4959"
             "91b7852b855");
  pawl_def_free(d);
}

/* The same workflow, further down in its file. */
static void lines_do_not_count_in_an_inline_checksum(void) {
  static const char SHAPE[] =
      "{\"code\":\"c\",\"line\":%d,\"start\":\"z\",\"nodes\":[{\"kind\":"
      "\"finish\",\"line\":%d,\"name\":\"%s\"}]}";
  static const struct {
    int line, node_line;
    const char *name;
  } VARIANTS[] = {{1, 2, "z"}, {7, 8, "z"}, {1, 2, "y"}};
  pawl_def *d[3] = {NULL, NULL, NULL};
  pawl_error err;
  for (int i = 0; i < 3; i++) {
    char text[200];
    snprintf(text, sizeof text, SHAPE, VARIANTS[i].line, VARIANTS[i].node_line,
             VARIANTS[i].name);
    d[i] = read_graph(text, &err);
    if (!CHECK(d[i] != NULL)) return;
  }
  CHECK_TEXT(d[1]->sha256, d[0]->sha256);
  CHECK(strcmp(d[2]->sha256, d[0]->sha256) != 0);
  for (int i = 0; i < 3; i++) pawl_def_free(d[i]);
}

static void the_nearest_name_is_found(void) {
  static const char *const NAMES[] = {"approve", "reserve", "ship", "ship2"};
  CHECK_TEXT(pawl_nearest("aprove", NAMES, 4), "approve");
  CHECK_TEXT(pawl_nearest("Reserve", NAMES, 4), "reserve");
  CHECK_TEXT(pawl_nearest("shpi", NAMES, 4), "ship"); /* one swap */
  CHECK_TEXT(pawl_nearest("ship", NAMES, 4), "ship");
  CHECK_TEXT(pawl_nearest("ship2", NAMES, 4), "ship2");
  CHECK(pawl_nearest("hip", NAMES, 4) != NULL);
  CHECK(pawl_nearest("xyz", NAMES, 4) == NULL);
  CHECK(pawl_nearest("", NAMES, 4) == NULL);
  CHECK(pawl_nearest("a", NAMES, 0) == NULL);
  CHECK(pawl_nearest(LONG65, NAMES, 4) == NULL);
}

static void every_allocation_of(const char *graph) {
  test_alloc state = {0};
  pawl_alloc alloc = {test_alloc_fn, &state};
  int done = 0;
  for (int64_t n = 1; !done && n < 1000; n++) {
    pawl_error err;
    pawl_def *d = NULL;
    pawl_code rc;
    state.requests = 0;
    state.fail_at = n;
    rc = pawl_def_new("order.lua", pawl_strz(graph), pawl_strz("source"),
                      pawl_strz("{\"m\":\"text\"}"), &alloc, &d, &err);
    if (rc == PAWL_OK) rc = pawl_def_check(d, &err);
    done = state.requests < n;
    CHECK_INT(rc, done ? PAWL_OK : PAWL_NOMEM);
    pawl_def_free(d);
    CHECK_INT(state.live_bytes, 0);
  }
  CHECK(done);
}

static void every_allocation_may_fail(void) {
  every_allocation_of(ORDER);
  every_allocation_of(MACHINE);
}

/* ---- the registry ---- */

static pawl_def *version(const char *code, int64_t n) {
  char text[200];
  pawl_error err;
  snprintf(text, sizeof text,
           "{\"code\":\"%s\",\"version\":%" PRId64
           ",\"start\":\"z\",\"nodes\":[" FINISH "]}",
           code, n);
  return read_graph(text, &err);
}

static pawl_def *find(const pawl_registry *r, const char *code, int64_t n) {
  return pawl_registry_find(r, code, strlen(code), n, NULL);
}

static void definitions_are_found_by_code_and_version(void) {
  pawl_registry *r = NULL;
  pawl_def *defs[20], *newer;
  int loaded = -1;
  CHECK_INT(pawl_registry_new(NULL, &r, NULL), PAWL_OK);
  for (int i = 0; i < 20; i++) {
    int mixed = i * 7 % 20; /* not in order */
    defs[mixed] = version(mixed % 2 ? "b" : "a.b", mixed / 2 + 1);
    CHECK_INT(pawl_registry_take(r, defs[mixed], mixed < 10, NULL), PAWL_OK);
  }
  for (int i = 0; i < 20; i++)
    CHECK(find(r, i % 2 ? "b" : "a.b", i / 2 + 1) == defs[i]);
  CHECK(find(r, "b", 11) == NULL);
  CHECK(find(r, "a", 1) == NULL);
  CHECK(find(r, "bb", 0) == NULL);
  /* 6 to 10 were read from the store */
  CHECK(find(r, "b", 0) == defs[9]);
  CHECK(find(r, "a.b", 0) == defs[8]);
  CHECK(pawl_registry_find(r, "b", 1, 7, &loaded) == defs[13]);
  CHECK_INT(loaded, 0);
  newer = version("b", 7);
  CHECK_INT(pawl_registry_take(r, newer, 1, NULL), PAWL_OK);
  CHECK(pawl_registry_find(r, "b", 1, 7, &loaded) == newer);
  CHECK_INT(loaded, 1);
  CHECK(find(r, "b", 0) == newer);
  CHECK_TEXT(defs[13]->code, "b"); /* replaced, but still there */
  CHECK(pawl_registry_at(r, 0) == defs[0]);
  CHECK(pawl_registry_at(r, 19) == defs[19]);
  CHECK(pawl_registry_at(r, 20) == NULL);
  CHECK(pawl_registry_at(r, -1) == NULL);
  pawl_registry_free(r);
  pawl_registry_free(NULL);
}

/* Two levels: the inner one is undone by itself, then the outer one. */
static void what_is_taken_can_be_undone(void) {
  pawl_registry *r = NULL;
  pawl_def *one = version("u", 1), *other = version("u", 1);
  pawl_def *two = version("u", 2), *newer = version("u", 2);
  int outer, inner, loaded = -1;

  CHECK_INT(pawl_registry_new(NULL, &r, NULL), PAWL_OK);
  CHECK_INT(pawl_registry_take(r, one, 0, NULL), PAWL_OK);
  outer = pawl_registry_mark(r);
  CHECK(pawl_registry_undo(r, outer) == NULL);
  CHECK_INT(pawl_registry_take(r, other, 1, NULL), PAWL_OK);
  inner = pawl_registry_mark(r);
  CHECK_INT(pawl_registry_take(r, two, 1, NULL), PAWL_OK);
  CHECK_INT(pawl_registry_take(r, newer, 1, NULL), PAWL_OK);
  CHECK(pawl_registry_undo(r, inner) == newer);
  CHECK(find(r, "u", 2) == two);
  CHECK(pawl_registry_undo(r, inner) == two);
  CHECK(pawl_registry_undo(r, inner) == NULL);
  CHECK(find(r, "u", 2) == NULL);
  CHECK(find(r, "u", 1) == other);
  CHECK(pawl_registry_undo(r, outer) == other);
  CHECK(pawl_registry_find(r, "u", 1, 1, &loaded) == one);
  CHECK_INT(loaded, 0);
  CHECK(pawl_registry_at(r, 1) == NULL);
  pawl_registry_settle(r);
  CHECK_INT(pawl_registry_take(r, two, 1, NULL), PAWL_OK);
  CHECK(pawl_registry_undo(r, 0) == NULL); /* for good */
  pawl_def_free(newer);
  pawl_def_free(other);
  pawl_registry_free(r);
}

static int serves(const char *prefixes, const char *code) {
  return pawl_prefixes_match(prefixes, code, strlen(code));
}

static void prefixes_are_plain_bytes(void) {
  CHECK(serves(NULL, "billing.charge"));
  CHECK(serves("", "billing.charge"));
  CHECK(serves(" , ", "billing.charge"));
  CHECK(serves("billing.", "billing.charge"));
  CHECK(serves("media.,billing.", "billing.charge"));
  CHECK(serves("media., billing.", "billing.charge"));
  CHECK(serves("billing.charge", "billing.charge"));
  CHECK(!serves("billing.charge2", "billing.charge"));
  CHECK(!serves("media.", "billing.charge"));
  CHECK(!serves("illing.", "billing.charge"));
  CHECK(!serves("b_lling", "billing.charge"));
  CHECK(!serves("b%", "billing.charge"));
  CHECK(serves("b%", "b%x"));
}

int main(void) {
  a_graph_is_read_field_by_field();
  what_is_left_out_has_the_design_s_defaults();
  the_other_kinds_are_read_field_by_field();
  what_the_other_kinds_cannot_say_is_refused();
  events_are_dotted_words_and_patterns_may_end_open();
  a_delay_moves_the_default_of_the_other();
  codes_are_dotted_words();
  nodes_are_found_by_their_whole_name();
  bad_graphs_are_refused_when_read();
  what_is_no_json_is_refused();
  graphs_that_make_no_sense_are_refused_by_the_check();
  the_checksum_covers_source_and_bundle();
  an_empty_source_is_not_inline();
  lines_do_not_count_in_an_inline_checksum();
  the_nearest_name_is_found();
  every_allocation_may_fail();
  definitions_are_found_by_code_and_version();
  what_is_taken_can_be_undone();
  prefixes_are_plain_bytes();
  return TEST_END;
}
