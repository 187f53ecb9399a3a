#include "sqturns.h"

#include <string.h>

#define MINUTE_US INT64_C(60000000)

enum { SHARD, WORKFLOW, VERSION, WAS, WAS_NODE, STATUS, NODE, AT, NARGS };
/* The words of a call, as they are kept. */
static const int order[] = {WORKFLOW, WAS, WAS_NODE, STATUS, NODE};

void pawl_sqturns_init(pawl_sqturns *t, const pawl_alloc *alloc) {
  *t = (pawl_sqturns){.alloc = alloc, .text.alloc = alloc};
}

void pawl_sqturns_deinit(pawl_sqturns *t) {
  pawl_release(t->alloc, t->list, (size_t)t->max * sizeof *t->list);
  pawl_buf_deinit(&t->text);
}

void pawl_sqturns_clear(pawl_sqturns *t) {
  t->n = 0;
  pawl_buf_clear(&t->text);
}

/* One word, and on to the next. */
static pawl_str take(const char **at) {
  const pawl_str word = pawl_strz(*at);

  *at += word.len + 1;
  return word;
}

/* In the order of `order`. */
void pawl_sqturns_put(const pawl_sqturns *t, int k, pawl_args *args) {
  const pawl_sqturn *one = &t->list[k];
  const char *at = t->text.at + one->words;
  const pawl_str workflow = take(&at), was = take(&at), was_node = take(&at),
                 status = take(&at), node = take(&at);

  pawl_args_begin(args, PAWL_STMT_counter_add);
  PAWL_PUT(args, counter_add, .shard = one->shard, .workflow = workflow,
           .version = one->version, .was = was, .was_node = was_node,
           .status = status, .node = node, .minute = one->minute,
           .amount = one->amount);
}

static int is_word_same(sqlite3_value *a, sqlite3_value *b) {
  const int n = sqlite3_value_bytes(a);

  return n == sqlite3_value_bytes(b) &&
         memcmp(sqlite3_value_text(a), sqlite3_value_text(b), (size_t)n) == 0;
}

/* The words of a call, all of which have been read, behind those that are
 * noted. */
static void add_words(pawl_buf *text, sqlite3_value **args) {
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    sqlite3_value *v = args[order[i]];
    pawl_buf_add(text, (const char *)sqlite3_value_text(v),
                 (size_t)sqlite3_value_bytes(v));
    pawl_buf_addc(text, 0);
  }
}

/* The kind that a call is of: where its words stand behind the others', of
 * which there are few. */
static pawl_sqturn *find(pawl_sqturns *t, const pawl_sqturn *call) {
  for (int k = 0; k < t->n; k++) {
    pawl_sqturn *one = &t->list[k];
    if (one->minute == call->minute && one->version == call->version &&
        one->shard == call->shard && one->nwords == call->nwords &&
        memcmp(t->text.at + one->words, t->text.at + call->words,
               call->nwords) == 0)
      return one;
  }
  return NULL;
}

static int make_room(pawl_sqturns *t) {
  const int max = t->max ? 2 * t->max : 8;
  pawl_sqturn *list;

  if (t->n < t->max) return 1;
  list = pawl_realloc(t->alloc, t->list, (size_t)t->max * sizeof *list,
                      (size_t)max * sizeof *list);
  if (!list) return 0;
  t->list = list;
  t->max = max;
  return 1;
}

static int note(pawl_sqturns *t, sqlite3_value **args) {
  const int64_t at = sqlite3_value_int64(args[AT]);
  const size_t words = t->text.len;
  pawl_sqturn call = {.shard = sqlite3_value_int64(args[SHARD]),
                      .version = sqlite3_value_int64(args[VERSION]),
                      .minute = at - at % MINUTE_US,
                      .amount = 1,
                      .words = words};
  pawl_sqturn *one;

  add_words(&t->text, args);
  if (t->text.failed) return 0;
  call.nwords = t->text.len - words;
  if ((one = find(t, &call))) {
    one->amount++;
    t->text.len = words;
    return 1;
  }
  if (!make_room(t)) return 0;
  t->list[t->n++] = call;
  return 1;
}

/* A word that is not there was not read for want of memory: none is NULL, by
 * the schema. */
static int has_words(sqlite3_value **args) {
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (!sqlite3_value_text(args[order[i]])) return 0;
  return 1;
}

static int stays(sqlite3_value **args) {
  return is_word_same(args[WAS], args[STATUS]) &&
         is_word_same(args[WAS_NODE], args[NODE]);
}

static void turned(sqlite3_context *context, int nargs, sqlite3_value **args) {
  (void)nargs;
  if (!has_words(args) ||
      (!stays(args) && !note(sqlite3_user_data(context), args)))
    sqlite3_result_error_nomem(context);
  else
    sqlite3_result_int(context, 1);
}

int pawl_sqturns_install(pawl_sqturns *t, sqlite3 *db) {
  return sqlite3_create_function_v2(db, "pawl_turned", NARGS,
                                    SQLITE_UTF8 | SQLITE_DIRECTONLY, t, turned,
                                    NULL, NULL, NULL);
}
