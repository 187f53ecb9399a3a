/* Lists of instances: what is asked for, and by which index it is found.
 *
 *   given                          found by              read
 *   archived                       in the archive, by what else is given
 *   deleted                        their index           a page, in order
 *   key, parent, correlation,      its index             all that have it
 *   root, business_key
 *   attributes or tenant beside    status and workflow   a page, in order
 *   statuses that few have
 *   attributes                     what one equals       a page, in order
 *                                  else its ranges       all that are in them
 *   error_code                     failures              all that have it
 *   cancelled_by, compensation     their indexes         a page, in order
 *   leased, due or deadline        the agenda            all that are due
 *   tenant                         the tenant's          a page, in order
 *   anything else                  status and workflow   a page, in order
 *
 * The first in that order is sent as it stands; all that was given is compared
 * beside it, in SQL, until a page is full. Ids begin with the time at which
 * they were drawn, and there is no other index on times: those given bound the
 * ids first. Each shard gives a full page, as all might be in one; what is too
 * much is cut off here.
 *
 * By when they are due the agenda has them in order. By other times nothing has
 * (decision 0054): all that are found so are read, up to MOST, and sorted here;
 * of more it is refused. The page's own are then read by their ids. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../rules/state.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/tenant.h"
#include "../common/time.h"
#include "ask.h"
#include "ranges.h"
#include "sorted.h"

/* How far an id's time may be from its instance's: clocks differ, and a caller
 * may have drawn it before. */
#define DRAWN_US (INT64_C(3600) * 1000000)

/* So many are sorted by a time that no index has. */
#define MOST 10000

/* What may be common is not walked where the statuses that are asked for have
 * no more than that: each of these is looked at instead. */
#define FEW 1000

/* `before`, `after`, `parent` and `root` may be given as the ends of ids: what
 * they mean is in the members beside. */
typedef struct filter {
  uint64_t given;
  unsigned statuses;     /* bits of pawl_standing, as asked for */
  unsigned compensation; /* bits of UNDONE */
  pawl_buf workflow, tenant, correlation, business_key, key, group, node,
      error, error_code, cancelled_by;
  pawl_buf before_id, after_id, parent_id, root_id; /* or ends of them */
  int64_t version, limit;
  int64_t created_after, created_before, started_after, started_before,
      updated_after, updated_before, completed_after, completed_before,
      due_before, deadline_before;
  pawl_str attributes;
  int sort; /* the one of SORTS */
  int reverse;
  int group_by; /* the one of pawl_group_names; -1: not asked for */
  int deleted, archived;
  int leased; /* -1: whether or not */
  int waits;
  /* what follows from those */
  int has_before, has_after, has_parent, has_root;
  pawl_id before, after, parent, root;
  pawl_id low, high;    /* between those, neither of them */
  int up;               /* those nearest to `low`, else to `high` */
  pawl_moment from, to; /* the same by a time */
  pawl_buf business_from, business_to, error_text, message_text, code_text,
      code_from, code_to, by_text, undone, stored;
  pawl_conditions conditions;
  int brief; /* no more than is counted */
  int whole; /* not those that were purged but for their attributes */
  int few;   /* are of its statuses */
} filter;

static const char *const SORTS[] = {"newest",  "oldest",    "created",
                                    "updated", "completed", "due"};
enum { NEWEST, OLDEST, CREATED, UPDATED, COMPLETED, DUE, NSORTS };

static const char *const GROUPS[PAWL_NGROUPS] = {"error", "node", "workflow",
                                                 "status"};

/* How a compensation stands, or has ended, as it is stored
 * (rules/stored.c). */
static const char *const UNDONE[] = {"planning", "running", "completed",
                                     "completed_with_errors", "stopped"};
enum { NUNDONE = sizeof UNDONE / sizeof *UNDONE };

#define AT(member) .at = offsetof(filter, member)
#define WORD(name, member) \
  { name, PAWL_OPTION_TEXT, AT(member), .low = 1 }
#define TIME(name) \
  { #name "_us", PAWL_OPTION_TIME, AT(name), .low = 1, .high = INT64_MAX }
static const pawl_option list_rows[] = {
    WORD("workflow", workflow),
    {"version", PAWL_OPTION_INT, AT(version), .low = 1, .high = INT32_MAX},
    {"status", PAWL_OPTION_CHOICES, AT(statuses), .names = pawl_status_names,
     .low = 1, .high = PAWL_NSTATUSES},
    WORD("tenant", tenant),
    WORD("correlation", correlation),
    WORD("business_key", business_key),
    WORD("key", key),
    WORD("group", group),
    WORD("node", node),
    WORD("error", error),
    WORD("error_code", error_code),
    WORD("cancelled_by", cancelled_by),
    {"compensation", PAWL_OPTION_CHOICES, AT(compensation), .names = UNDONE,
     .low = 1, .high = NUNDONE},
    {"leased", PAWL_OPTION_BOOL, AT(leased)},
    TIME(created_after),
    TIME(created_before),
    TIME(started_after),
    TIME(started_before),
    TIME(updated_after),
    TIME(updated_before),
    TIME(completed_after),
    TIME(completed_before),
    TIME(due_before),
    TIME(deadline_before),
    {"attributes", PAWL_OPTION_OBJECT, AT(attributes)},
    {"parent", PAWL_OPTION_TEXT, AT(parent_id)},
    {"root", PAWL_OPTION_TEXT, AT(root_id)},
    {"deleted", PAWL_OPTION_BOOL, AT(deleted)},
    {"archived", PAWL_OPTION_BOOL, AT(archived)},
    {"waits", PAWL_OPTION_BOOL, AT(waits)},
    {"group_by", PAWL_OPTION_CHOICE, AT(group_by), .names = GROUPS,
     .high = PAWL_NGROUPS},
    {"sort", PAWL_OPTION_CHOICE, AT(sort), .names = SORTS, .high = NSORTS},
    {"reverse", PAWL_OPTION_BOOL, AT(reverse)},
    {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = INT32_MAX},
    {"before", PAWL_OPTION_TEXT, AT(before_id)},
    {"after", PAWL_OPTION_TEXT, AT(after_id)}};
PAWL_OPTIONS_OF(list) = {.what = "list", PAWL_OPTION_ROWS(list_rows)};

/* ---- words ---- */

/* What JSON has behind `before`: a string, or, with a star at its end, how one
 * begins. */
static void set_text(const char *before, pawl_str word, pawl_buf *out) {
  const int prefix = pawl_word_is_prefix(word);
  if (prefix) word.len--;
  pawl_buf_addz(out, before);
  pawl_json_add_string(out, word);
  if (prefix && out->len) out->at[--out->len] = '\0';
}

/* How an error begins (rules/plan.h), and what stands behind its code. */
static void set_error_texts(filter *f) {
  const pawl_str word = pawl_buf_str(&f->error);
  set_text("{\"code\":", word, &f->error_text);
  set_text(",\"message\":", word, &f->message_text);
}

/* A code alone: what it is found by, and how an error with it begins. */
static void set_code_texts(filter *f) {
  const pawl_str word = pawl_buf_str(&f->error_code);
  set_text("{\"code\":", word, &f->code_text);
  pawl_word_range(word, &f->code_from, &f->code_to);
}

/* Within a cancellation (rules/letters.c). No text in it has such quotes, as
 * they would be escaped. */
static void set_by_text(filter *f) {
  pawl_buf_addz(&f->by_text, ",\"by\":");
  pawl_json_add_string(&f->by_text, pawl_buf_str(&f->cancelled_by));
  pawl_buf_addc(&f->by_text, ',');
}

/* How a compensation begins, for each that is asked for. */
static void set_undone(filter *f) {
  for (int k = 0; k < NUNDONE; k++)
    if (f->compensation >> k & 1u)
      pawl_buf_addf(&f->undone, "{\"status\":\"%s\", ", UNDONE[k]);
}

/* ---- statuses ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define ALL ((1u << PAWL_NSTATUSES) - 1)
#define ENDED (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))
#define FAILURES (BIT(FAILED) | BIT(SUSPENDED)) /* fragment is_failure */

/* Which statuses are stored for those asked for: created is a running one
 * that has not started. Told apart by a column, it needs no write to begin. */
static unsigned stored_statuses(unsigned asked) {
  if (asked & BIT(CREATED)) asked |= BIT(RUNNING);
  return asked & ~BIT(CREATED);
}

/* created and running share a stored status: those of only one are wanted, or
 * it does not matter. */
static int64_t wanted_begun(unsigned asked) {
  const unsigned both = BIT(CREATED) | BIT(RUNNING);
  return (asked & both) == both || !(asked & both) ? PAWL_NULL
                                                   : !!(asked & BIT(RUNNING));
}

/* Is it asked for by what only those that live have? */
static int is_of_living(const filter *f) {
  return f->leased == 1 || f->due_before || f->deadline_before ||
         f->sort == DUE;
}

static int is_of_ended(const filter *f) {
  return f->completed_after || f->completed_before || f->sort == COMPLETED;
}

/* What else is given says which there can be. Errors are looked for among those
 * that have not completed, unless somebody asks for these: they are the most,
 * and few have one. So is what was cancelled, or undone. */
static unsigned wanted_statuses(const filter *f) {
  unsigned all = f->statuses           ? f->statuses
                 : f->cancelled_by.len ? ALL & ~BIT(COMPLETED) & ~BIT(FAILED)
                 : f->error.len || f->compensation ? ALL & ~BIT(COMPLETED)
                 : f->group_by == PAWL_GROUP_error ? FAILURES
                                                   : ALL;
  if (f->error_code.len) all &= FAILURES;
  if (is_of_living(f)) all &= ~ENDED;
  return is_of_ended(f) ? all & ENDED : all;
}

/* ---- reading what is asked for ---- */

static void raise_low(filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->low) > 0) f->low = id;
}

static void lower_high(filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->high) < 0) f->high = id;
}

/* Are they told apart by a time, and not by their ids? */
static int is_by_time(const filter *f) {
  return f->sort > OLDEST;
}

/* The earliest first? */
static int is_ascending(const filter *f) {
  return (f->sort == OLDEST || f->sort == DUE) != f->reverse;
}

/* What was started, changed, or ended, before a time was created before it,
 * too. */
static void set_bounds(filter *f) {
  const int64_t befores[] = {f->created_before, f->started_before,
                             f->updated_before, f->completed_before};

  memset(&f->low, 0, sizeof f->low);
  memset(&f->high, 0xff, sizeof f->high);
  if (f->has_after && !is_by_time(f)) raise_low(f, f->after);
  if (f->has_before && !is_by_time(f)) lower_high(f, f->before);
  if (f->created_after)
    raise_low(f, pawl_range_id(f->created_after - DRAWN_US));
  for (size_t i = 0; i < sizeof befores / sizeof *befores; i++)
    if (befores[i] && befores[i] < PAWL_TIME_MAX - DRAWN_US)
      lower_high(f, pawl_range_id(befores[i] + DRAWN_US));
  f->up = is_ascending(f) ? f->has_after || !f->has_before
                          : f->has_after && !f->has_before;
}

static void set_stored(filter *f, unsigned stored) {
  if (stored == stored_statuses(ALL)) return;
  for (int k = 0; k < PAWL_NSTATUSES; k++) {
    if (!(stored >> k & 1u)) continue;
    pawl_buf_addz(&f->stored, pawl_status_name((pawl_standing)k));
    pawl_buf_addc(&f->stored, ' ');
  }
}

/* Which word it is found by; NULL: none. Those that fewer have come first. What
 * is archived is a failure no more: its code is compared beside. */
static const char *found_by(const filter *f) {
  const int is_failure = f->error_code.len && !f->archived;

  return f->key.len                        ? "key"
         : f->has_parent                   ? "parent"
         : f->correlation.len              ? "correlation"
         : f->has_root                     ? "root"
         : f->business_key.len             ? "business_key"
         : is_failure && !f->attributes.at ? "code"
                                           : NULL;
}

/* The same by the agenda, which has fewer than there are waiting; of those that
 * are suspended alone it has none. */
static const char *agenda_by(const filter *f) {
  if (f->leased == 1) return "leased";
  return !is_of_living(f) || f->statuses == BIT(SUSPENDED) ? NULL : "due";
}

/* Rows of the agenda before that time are read. What is leased is there by
 * its lease's end. */
static int64_t agenda_until(pawl_engine *e, const filter *f) {
  const int64_t leases = pawl_engine_now(e) + PAWL_MAX_LEASE_US;

  if (f->leased == 1) return leases;
  if (f->due_before) return f->due_before;
  return f->deadline_before > leases ? f->deadline_before : leases;
}

/* The cursor that an option has; *has: it was given. */
static pawl_code read_cursor(const pawl_buf *text, const char *name,
                             pawl_moment *out, int *has, pawl_error *err) {
  *has = text->len > 0;
  if (!*has || pawl_cursor_parse(pawl_buf_str(text), out)) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID,
                 "give the `cursor` of a row that was sorted by a time",
                 "\"%.60s\" is no place among those", text->at);
  pawl_error_where(err, "%s", name);
  return PAWL_INVALID;
}

/* Where the page begins: an instance, or a place by a time. */
static pawl_code read_places(pawl_engine *e, filter *f, pawl_error *err) {
  if (is_by_time(f)) {
    MUST(read_cursor(&f->before_id, "before", &f->to, &f->has_before, err));
    return read_cursor(&f->after_id, "after", &f->from, &f->has_after, err);
  }
  MUST(pawl_find_given(e, &f->before_id, &f->before, &f->has_before, err));
  return pawl_find_given(e, &f->after_id, &f->after, &f->has_after, err);
}

/* The agenda is walked in its order: what others are found by would be looked
 * for among all that is on it. */
static pawl_code check_due(const filter *f, pawl_error *err) {
  if (f->sort != DUE || !(found_by(f) || f->attributes.at || f->error.len ||
                          f->cancelled_by.len || f->compensation ||
                          f->deleted || f->archived || f->leased == 1))
    return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID,
                 "by \"due\" can be sorted what workflow, version, status, "
                 "tenant, group, node, waits and times say; what else is "
                 "found can be by \"created\" or \"updated\"",
                 "`sort` cannot be \"due\" of what this query finds");
  pawl_error_where(err, "sort");
  return PAWL_INVALID;
}

static pawl_code check_place(const filter *f, pawl_error *err) {
  if (!f->deleted || !f->archived) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID, "ask for the one, then for the other",
                 "options `deleted` and `archived` exclude each other");
  pawl_error_where(err, "archived");
  return PAWL_INVALID;
}

/* How many have the statuses that are asked for, whoever's they are, is known
 * from counters. */
static pawl_code look_how_many(pawl_engine *e, filter *f, pawl_error *err) {
  const unsigned stored = stored_statuses(f->statuses);
  pawl_rows rows;
  int64_t n = 0;

  MUST(PAWL_READ(e->store, counter_read, &rows, err,
                 .workflow = pawl_buf_some(&f->workflow),
                 .since = PAWL_TIME_MAX));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_counter_read_row row = pawl_read_counter_read(&rows, k);
    pawl_standing status;
    if (pawl_status_parse(row.status, &status) && (stored >> status & 1u) &&
        (!f->version || row.version == f->version))
      n += row.amount;
  }
  f->few = n <= FEW;
  return PAWL_OK;
}

/* Is it found by what very many may have, beside a status? */
static int may_be_few(const filter *f) {
  return (f->attributes.at || f->tenant.len) && !f->deleted && !f->archived &&
         !found_by(f) && !agenda_by(f) &&
         stored_statuses(f->statuses) != stored_statuses(ALL);
}

static pawl_code read_filter(pawl_engine *e, pawl_str query, filter *f,
                             pawl_error *err) {
  f->leased = f->group_by = -1;
  MUST(pawl_options_read(&pawl_options_of_list, query, f, err));
  MUST(check_place(f, err));
  MUST(pawl_tenant_take(e, &f->tenant, err)); /* Z2 */
  MUST(read_places(e, f, err));
  MUST(check_due(f, err));
  MUST(pawl_find_given(e, &f->parent_id, &f->parent, &f->has_parent, err));
  MUST(pawl_find_given(e, &f->root_id, &f->root, &f->has_root, err));
  f->statuses = wanted_statuses(f);
  set_stored(f, stored_statuses(f->statuses));
  set_bounds(f);
  if (f->business_key.len)
    pawl_word_range(pawl_buf_str(&f->business_key), &f->business_from,
                    &f->business_to);
  if (f->error.len) set_error_texts(f);
  if (f->error_code.len) set_code_texts(f);
  if (f->cancelled_by.len) set_by_text(f);
  set_undone(f);
  if (may_be_few(f)) MUST(look_how_many(e, f, err));
  if (f->attributes.at)
    MUST(pawl_conditions_read(&f->conditions, f->attributes,
                              !f->deleted && !f->few && !found_by(f), err));
  MUST(pawl_buf_check(&f->stored, err));
  MUST(pawl_buf_check(&f->business_from, err));
  MUST(pawl_buf_check(&f->business_to, err));
  MUST(pawl_buf_check(&f->message_text, err));
  MUST(pawl_buf_check(&f->code_text, err));
  MUST(pawl_buf_check(&f->code_from, err));
  MUST(pawl_buf_check(&f->code_to, err));
  MUST(pawl_buf_check(&f->by_text, err));
  MUST(pawl_buf_check(&f->undone, err));
  return pawl_buf_check(&f->error_text, err);
}

/* What one page may have; who walks takes as many as there are. */
static pawl_code read_page(pawl_engine *e, pawl_str query, filter *f,
                           pawl_error *err) {
  MUST(read_filter(e, query, f, err));
  if (f->limit <= PAWL_MAX_LIMIT) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "option `limit` must be an integer from 1 to %d, got %" PRId64,
            PAWL_MAX_LIMIT, f->limit);
  pawl_error_where(err, "limit");
  return PAWL_INVALID;
}

static void init_filter(pawl_engine *e, filter *f) {
  pawl_options_init(&pawl_options_of_list, f, sizeof *f, &e->alloc);
  f->business_from.alloc = f->business_to.alloc = &e->alloc;
  f->error_text.alloc = f->message_text.alloc = f->by_text.alloc = &e->alloc;
  f->code_text.alloc = f->code_from.alloc = f->code_to.alloc = &e->alloc;
  f->undone.alloc = f->stored.alloc = &e->alloc;
  pawl_conditions_init(&f->conditions, &e->alloc);
}

static void deinit_filter(filter *f) {
  pawl_options_deinit(&pawl_options_of_list, f);
  pawl_buf_deinit(&f->business_from);
  pawl_buf_deinit(&f->business_to);
  pawl_buf_deinit(&f->error_text);
  pawl_buf_deinit(&f->message_text);
  pawl_buf_deinit(&f->code_text);
  pawl_buf_deinit(&f->code_from);
  pawl_buf_deinit(&f->code_to);
  pawl_buf_deinit(&f->by_text);
  pawl_buf_deinit(&f->undone);
  pawl_buf_deinit(&f->stored);
  pawl_conditions_deinit(&f->conditions);
}

/* ---- finding ---- */

/* What all lists are asked for. */
#define WANTED(f)                                                             \
  .statuses = pawl_buf_some(&(f)->stored),                                    \
  .begun = wanted_begun((f)->statuses),                                       \
  .workflow = pawl_buf_some(&(f)->workflow), .version = (f)->version,         \
  .tenant = pawl_buf_some(&(f)->tenant),                                      \
  .correlation = pawl_buf_some(&(f)->correlation),                            \
  .business_from =                                                            \
      pawl_buf_given(&(f)->business_from, (f)->business_key.len > 0),         \
  .business_to = pawl_buf_some(&(f)->business_to),                            \
  .key = pawl_buf_some(&(f)->key),                                            \
  .parent = (f)->has_parent ? &(f)->parent : NULL,                            \
  .root = (f)->has_root ? &(f)->root : NULL,                                  \
  .executor_group = pawl_buf_some(&(f)->group),                               \
  .error = pawl_buf_some(&(f)->error_text),                                   \
  .message = pawl_buf_some(&(f)->message_text),                               \
  .error_code = pawl_buf_some(&(f)->code_text),                               \
  .cancelled_by = pawl_buf_some(&(f)->by_text),                               \
  .compensation = pawl_buf_some(&(f)->undone),                                \
  .leased = (f)->leased < 0 ? PAWL_NULL : (f)->leased,                        \
  .due_before = (f)->due_before, .deadline_before = (f)->deadline_before,     \
  .node = pawl_buf_some(&(f)->node), .created_after = (f)->created_after,     \
  .created_before = (f)->created_before, .started_after = (f)->started_after, \
  .started_before = (f)->started_before, .updated_after = (f)->updated_after, \
  .updated_before = (f)->updated_before,                                      \
  .completed_after = (f)->completed_after,                                    \
  .completed_before = (f)->completed_before,                                  \
  .attributes = pawl_buf_some(&(f)->conditions.others), .up = (f)->up,        \
  .max = (f)->limit

/* Those of a page. */
#define ASKED(f)                                                        \
  WANTED(f), .low = &(f)->low, .high = &(f)->high, .brief = (f)->brief, \
             .waits = (f)->waits

static void put_statuses(pawl_engine *e, const filter *f, int shard) {
  unsigned stored = stored_statuses(f->statuses);
  for (int k = 0; k < PAWL_NSTATUSES; k++)
    if (stored >> k & 1u)
      PAWL_PUT(&e->args, list_status, .shard = shard,
               .status = pawl_strz(pawl_status_name((pawl_standing)k)),
               ASKED(f));
}

/* What was archived stands apart, with indexes of its own. */
static pawl_code send_archived(pawl_engine *e, const filter *f,
                               pawl_rows *rows, pawl_error *err) {
  const pawl_conditions *c = &f->conditions;
  const char *word = c->ranges.len ? "attribute" : found_by(f);
  const char *by = f->tenant.len     ? "tenant"
                   : f->workflow.len ? "workflow"
                                     : "all";

  pawl_args_begin(&e->args, word ? PAWL_STMT_list_archived_found
                                 : PAWL_STMT_list_archived);
  for (int s = 0; s < e->nshards; s++)
    if (word)
      PAWL_PUT(&e->args, list_archived_found, .shard = s,
               .by = pawl_strz(word), .name = pawl_buf_some(&c->name),
               .ranges = pawl_buf_some(&c->ranges), .whole = f->whole,
               ASKED(f));
    else
      PAWL_PUT(&e->args, list_archived, .shard = s, .by = pawl_strz(by),
               .whole = f->whole, ASKED(f));
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* Neither what it is found by before, nor the agenda, has fewer. */
static int is_told(const filter *f) {
  return (f->cancelled_by.len || f->compensation) && !f->deleted &&
         !f->archived && !f->attributes.at && !found_by(f);
}

/* Each way in which it may stand is a list of its own, as statuses are. */
static pawl_code send_told(pawl_engine *e, const filter *f, pawl_rows *rows,
                           pawl_error *err) {
  char undone[NUNDONE][64];

  pawl_args_begin(&e->args, PAWL_STMT_list_told);
  for (int k = 0; k < NUNDONE; k++)
    (void)snprintf(undone[k], sizeof undone[k], "{\"status\":\"%s\",",
                   UNDONE[k]);
  for (int s = 0; s < e->nshards; s++) {
    if (f->cancelled_by.len) {
      PAWL_PUT(&e->args, list_told, .shard = s, .by = pawl_strz("cancelled"),
               .told = pawl_buf_str(&f->by_text), ASKED(f));
      continue;
    }
    for (int k = 0; k < NUNDONE; k++)
      if (f->compensation >> k & 1u)
        PAWL_PUT(&e->args, list_told, .shard = s, .by = pawl_strz("undone"),
                 .told = pawl_strz(undone[k]), ASKED(f));
  }
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

static pawl_code send_list(pawl_engine *e, const filter *f, pawl_rows *rows,
                           pawl_error *err) {
  const pawl_conditions *c = &f->conditions;
  const char *by = c->ranges.len && !c->equals.len ? "attribute"
                   : found_by(f)                   ? found_by(f)
                                                   : agenda_by(f);
  const int equal = c->equals.len > 0;
  const int tenant = f->tenant.len && !f->few;

  if (f->archived) return send_archived(e, f, rows, err);
  if (is_told(f)) return send_told(e, f, rows, err);
  pawl_args_begin(&e->args, f->deleted ? PAWL_STMT_list_deleted
                            : equal    ? PAWL_STMT_list_attribute
                            : by       ? PAWL_STMT_list_found
                            : tenant   ? PAWL_STMT_list_tenant
                                       : PAWL_STMT_list_status);
  for (int s = 0; s < e->nshards; s++)
    if (f->deleted)
      PAWL_PUT(&e->args, list_deleted, .shard = s, ASKED(f));
    else if (equal)
      PAWL_PUT(&e->args, list_attribute, .shard = s,
               .name = pawl_buf_str(&c->name),
               .sortable = pawl_buf_str(&c->equals), ASKED(f));
    else if (by)
      PAWL_PUT(
          &e->args, list_found, .shard = s, .by = pawl_strz(by),
          .name = pawl_buf_some(&c->name), .ranges = pawl_buf_some(&c->ranges),
          .code_from = pawl_buf_given(&f->code_from, f->error_code.len > 0),
          .code_to = pawl_buf_some(&f->code_to), .until = agenda_until(e, f),
          ASKED(f));
    else if (tenant)
      PAWL_PUT(&e->args, list_tenant, .shard = s, ASKED(f));
    else
      put_statuses(e, f, s);
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* ---- a page ---- */

typedef struct place {
  pawl_id id;
  int row;
} place;

/* Ids begin with the time at which they were made. */
static int oldest_first(const void *a, const void *b) {
  const place *x = a, *y = b;
  return pawl_id_cmp(&x->id, &y->id);
}

/* What stands in the token's detail, by its kind (rules/detail.h); else a time
 * is all that it can wait for. */
static void member_waiting(pawl_object *o, const pawl_list_tenant_row *row) {
  pawl_str child, total, done;

  if (pawl_json_get(row->detail, "child", &child)) {
    pawl_member_textz(o, "what", "child");
    pawl_member_json(o, "child", child);
  } else if (pawl_json_get(row->detail, "total", &total)) {
    pawl_member_textz(o, "what", "items");
    if (!pawl_json_get(row->detail, "done", &done)) done = pawl_strz("0");
    pawl_member_json(o, "done", done);
    pawl_member_json(o, "total", total);
  } else if (row->look_at) {
    pawl_member_textz(o, "what", "time");
    pawl_member_time(o, "at", row->look_at);
  } else {
    pawl_member_textz(o, "what", "siblings");
  }
}

/* In the words of explain, as far as the row tells. 0: it does not. */
static int add_waits(pawl_object *o, const pawl_list_tenant_row *row) {
  if (pawl_str_eqz(row->status, "suspended")) {
    pawl_member_textz(o, "what", "resume");
    if (row->who.len) pawl_member_str(o, "by", row->who);
    if (row->reason.len) pawl_member_str(o, "reason", row->reason);
  } else if (row->completed_at) {
    return 0;
  } else if (row->stopped == 1) {
    pawl_member_textz(o, "what", "workflow");
  } else if (row->event.len) {
    pawl_member_textz(o, "what", "event");
    pawl_member_str(o, "event", row->event);
    if (row->event_key.at) pawl_member_str(o, "key", row->event_key);
    if (row->look_at) pawl_member_time(o, "until", row->look_at);
  } else if (row->title.at) {
    pawl_member_textz(o, "what", "person");
    pawl_member_str(o, "title", row->title);
    if (row->claimed_by.len) pawl_member_str(o, "claimed_by", row->claimed_by);
    if (row->task_due_at) pawl_member_time(o, "due", row->task_due_at);
  } else if (pawl_str_eqz(row->state, "waiting")) {
    member_waiting(o, row);
  } else if (row->last_error.len && row->look_at) {
    pawl_member_textz(o, "what", "retry");
    pawl_member_int(o, "failed", row->attempt);
    pawl_member_time(o, "at", row->look_at);
    pawl_member_json(o, "error", row->last_error);
  } else {
    return 0;
  }
  return 1;
}

/* null: it has ended, stands in several places, or is a worker's to take. */
static void member_waits(pawl_engine *e, pawl_object *o,
                         const pawl_list_tenant_row *row) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_object waits;

  pawl_object_begin(&waits, &text);
  const int any = add_waits(&waits, row);
  pawl_object_end(&waits);
  pawl_member_json(o, "waits", any ? pawl_buf_str(&text) : pawl_strz("null"));
  if (text.failed) o->out->failed = 1;
  pawl_buf_deinit(&text);
}

/* Where it stands among those that are sorted by a time. */
static void member_place(const filter *f, const pawl_moment *m,
                         pawl_object *o) {
  if (f->sort == DUE) pawl_member_time(o, "due", m->at_us);
  pawl_member_textz(o, "cursor", pawl_cursor_text_of(m).at);
}

/* `at` NULL: it is sorted by its id. */
static void add_one(pawl_engine *e, const filter *f, const pawl_rows *r, int k,
                    const pawl_moment *at, pawl_object *list) {
  const pawl_list_tenant_row row = pawl_read_list_tenant(r, k);
  pawl_object o, times;

  pawl_list_object(list, &o);
  pawl_member_columns(&o, r, k,
                      "id workflow version status node "
                      "error " PAWL_SHOWN_whose " parent_node parent_index");
  pawl_member_object(&o, "times", &times);
  pawl_member_columns(&times, r, k, PAWL_SHOWN_times);
  pawl_object_end(&times);
  if (f->archived) {
    pawl_member_null(&o, "deleted");
    pawl_member_archived(&o, row.deletion, row.deleted_at, row.purge_at);
  } else {
    pawl_member_deleted(&o, row.deletion, row.deleted_at, row.purge_at);
  }
  pawl_member_away(&o, row.away);
  if (f->waits) member_waits(e, &o, &row);
  if (at) member_place(f, at, &o);
  pawl_object_end(&o);
}

/* Where the rows of all shards are, oldest first; `size` to release it by. */
static pawl_code sort_rows(pawl_engine *e, const pawl_rows *rows, place **out,
                           size_t *size, pawl_error *err) {
  place *page;

  assert(rows->nrows > 0);
  *size = sizeof *page * (size_t)rows->nrows;
  page = pawl_realloc(&e->alloc, NULL, 0, *size);
  if (!page) return pawl_fail_memory(err);
  for (int k = 0; k < rows->nrows; k++)
    page[k] = (place){*pawl_read_list_tenant(rows, k).id, k};
  qsort(page, (size_t)rows->nrows, sizeof *page, oldest_first);
  *out = page;
  return PAWL_OK;
}

/* The nearest to where the page begins, in the order that is asked for. */
static pawl_code add_page(pawl_engine *e, const filter *f,
                          const pawl_rows *rows, pawl_object *list,
                          pawl_error *err) {
  const int n = rows->nrows;
  const int take = n < f->limit ? n : (int)f->limit;
  const int first = f->up ? 0 : n - take;
  size_t size;
  place *page;

  if (!n) return PAWL_OK;
  MUST(sort_rows(e, rows, &page, &size, err));
  for (int k = 0; k < take; k++)
    add_one(e, f, rows,
            page[is_ascending(f) ? first + k : first + take - 1 - k].row, NULL,
            list);
  pawl_release(&e->alloc, page, size);
  return pawl_buf_check(list->out, err);
}

/* ---- a page by a time ---- */

static pawl_code read_due(pawl_engine *e, const filter *f, pawl_sorted *s,
                          pawl_error *err) {
  pawl_rows rows;

  pawl_args_begin(&e->args, PAWL_STMT_list_due);
  for (int k = 0; k < e->nshards; k++)
    PAWL_PUT(&e->args, list_due, .shard = k, .from_at = s->from.at_us,
             .from_id = &s->from.id, .to_at = s->to.at_us, .to_id = &s->to.id,
             WANTED(f));
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_list_due_row row = pawl_read_list_due(&rows, k);
    MUST(pawl_sorted_add(s, row.due_at, row.instance, err));
  }
  return PAWL_OK;
}

static pawl_code too_many(const filter *f, pawl_error *err) {
  pawl_fail_hint(err, PAWL_INVALID,
                 "narrow it: a workflow, a status, a node, created_after...; "
                 "\"newest\", \"oldest\" and \"due\" sort any number",
                 "`sort` by \"%s\" reads all that the query finds, %d at "
                 "most, and there are more",
                 SORTS[f->sort], MOST);
  pawl_error_where(err, "sort");
  return PAWL_INVALID;
}

/* All that there are, as no index has them in this order. */
static pawl_code read_moments(pawl_engine *e, const filter *f, pawl_sorted *s,
                              pawl_error *err) {
  filter all = *f; /* borrows what f owns */
  pawl_rows rows;

  all.brief = 1;
  all.waits = 0;
  all.limit = MOST + 1;
  MUST(send_list(e, &all, &rows, err));
  if (rows.nrows > MOST) return too_many(f, err);
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_list_tenant_row row = pawl_read_list_tenant(&rows, k);
    MUST(pawl_sorted_add(s,
                         f->sort == CREATED   ? row.created_at
                         : f->sort == UPDATED ? row.updated_at
                                              : row.completed_at,
                         row.id, err));
  }
  return PAWL_OK;
}

static const place *find_row(const place *page, int n, const pawl_id *id) {
  const place key = {.id = *id};
  return bsearch(&key, page, (size_t)n, sizeof *page, oldest_first);
}

/* Those that the page has, by their ids. */
static pawl_code read_these(pawl_engine *e, const filter *f,
                            const pawl_sorted *s, pawl_rows *rows,
                            pawl_error *err) {
  pawl_args_begin(&e->args, f->archived ? PAWL_STMT_list_archived_these
                                        : PAWL_STMT_list_these);
  for (int k = 0; k < s->n; k++) {
    const pawl_id *id = &s->list[k].id;
    const int shard = pawl_shard_of(e, id);
    if (f->archived)
      PAWL_PUT(&e->args, list_archived_these, .shard = shard, .id = id,
               .brief = 0, .waits = f->waits);
    else
      PAWL_PUT(&e->args, list_these, .shard = shard, .id = id, .brief = 0,
               .waits = f->waits);
  }
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

/* One that was purged meanwhile is left out. */
static pawl_code add_moments(pawl_engine *e, const filter *f,
                             const pawl_sorted *s, pawl_object *list,
                             pawl_error *err) {
  pawl_rows rows;
  place *page;
  size_t size;

  MUST(read_these(e, f, s, &rows, err));
  if (!rows.nrows) return PAWL_OK;
  MUST(sort_rows(e, &rows, &page, &size, err));
  for (int k = 0; k < s->n; k++) {
    const pawl_moment *m = &s->list[is_ascending(f) ? k : s->n - 1 - k];
    const place *found = find_row(page, rows.nrows, &m->id);
    if (found) add_one(e, f, &rows, found->row, m, list);
  }
  pawl_release(&e->alloc, page, size);
  return pawl_buf_check(list->out, err);
}

static pawl_code add_sorted_page(pawl_engine *e, const filter *f,
                                 pawl_object *list, pawl_error *err) {
  pawl_sorted s;
  pawl_code rc = PAWL_OK;

  pawl_sorted_init(&s, &e->alloc);
  if (f->has_after) s.from = f->from;
  if (f->has_before) s.to = f->to;
  TRY(f->sort == DUE ? read_due(e, f, &s, err) : read_moments(e, f, &s, err));
  pawl_sorted_cut(&s, f->up, f->limit);
  if (s.n) TRY(add_moments(e, f, &s, list, err));
out:
  pawl_sorted_deinit(&s);
  return rc;
}

/* ---- lists ---- */

static pawl_code add_any_page(pawl_engine *e, const filter *f,
                              pawl_object *list, pawl_error *err) {
  pawl_rows rows;

  if (!f->statuses) return PAWL_OK;
  if (is_by_time(f)) return add_sorted_page(e, f, list, err);
  MUST(send_list(e, f, &rows, err));
  return add_page(e, f, &rows, list, err);
}

/* What only another verb can be asked for. */
static pawl_code refuse(const char *option, const char *hint, const char *text,
                        pawl_error *err) {
  pawl_fail_hint(err, PAWL_INVALID, hint, "%s", text);
  pawl_error_where(err, "%s", option);
  return PAWL_INVALID;
}

static pawl_code check_whole(const filter *f, pawl_error *err) {
  if (f->group_by < 0) return PAWL_OK;
  return refuse("group_by", "count them by it: tally, pawl_tally_groups",
                "`group_by` is for counts: a list has the instances "
                "themselves",
                err);
}

/* All of them are counted, or met: in the order of their ids. */
static pawl_code check_all(const filter *f, pawl_error *err) {
  MUST(check_whole(f, err));
  if (!is_by_time(f)) return PAWL_OK;
  return refuse("sort", "leave `sort` away: the order is a list's",
                "`sort` can only be \"newest\" or \"oldest\" where all that "
                "are found are meant",
                err);
}

pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err) {
  filter f;
  pawl_object list;
  pawl_code rc = PAWL_OK;

  init_filter(e, &f);
  f.limit = 100;
  TRY(read_page(e, query, &f, err));
  TRY(check_whole(&f, err));
  pawl_list_begin(&list, out);
  TRY(add_any_page(e, &f, &list, err));
  pawl_list_end(&list);
  TRY(pawl_buf_check(out, err));
out:
  deinit_filter(&f);
  return rc;
}

/* One row more than is counted tells that there are more. */
pawl_code pawl_engine_tally(pawl_engine *e, pawl_str query, int64_t *count,
                            int *more, pawl_error *err) {
  filter f;
  pawl_rows rows = {.nrows = 0};
  pawl_code rc = PAWL_OK;
  int64_t limit;

  init_filter(e, &f);
  f.limit = PAWL_MAX_LIMIT;
  TRY(read_page(e, query, &f, err));
  TRY(check_all(&f, err));
  f.brief = 1;
  limit = f.limit++;
  if (f.statuses) TRY(send_list(e, &f, &rows, err));
  *more = rows.nrows > limit;
  *count = *more ? limit : rows.nrows;
out:
  deinit_filter(&f);
  return rc;
}

/* ---- all pages ---- */

/* How much later than its first page what a walk finds may have been created:
 * clocks differ. Later ones are not for it, or it might never end. */
#define NEW_US PAWL_SECOND

struct pawl_walk {
  filter f;
  int64_t left; /* that may yet be found */
  int over;
};

static int is_filter(const pawl_option *row) {
  return row->at != offsetof(filter, sort) &&
         row->at != offsetof(filter, reverse) &&
         row->at != offsetof(filter, limit);
}

/* Without any filter it would be for all that there is: a slip. */
static pawl_code check_given(const filter *f, pawl_error *err) {
  for (int i = 0; i < pawl_options_of_list.nrows; i++)
    if (PAWL_OPTION_GIVEN(f, i) && is_filter(&list_rows[i])) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "name a workflow, statuses or other filters of a list",
                        "the query says nothing of which instances it is for");
}

static pawl_code begin_walk(pawl_engine *e, pawl_walk *w, pawl_str query,
                            unsigned statuses, int deleted, int archived,
                            pawl_error *err) {
  const int64_t soon = pawl_engine_now(e) + NEW_US;
  filter *f = &w->f;

  if (statuses != ALL) f->statuses = statuses;
  f->limit = INT64_MAX;
  f->whole = 1;
  f->deleted = deleted;
  f->archived = archived;
  f->created_before = soon;
  MUST(read_filter(e, query, f, err));
  MUST(check_all(f, err));
  MUST(check_given(f, err));
  f->up = is_ascending(f) || (f->has_after && !f->has_before);
  if (f->created_before > soon) f->created_before = soon;
  f->brief = 1;
  w->left = f->limit;
  w->over = !f->statuses;
  return PAWL_OK;
}

pawl_code pawl_walk_open(pawl_engine *e, pawl_str query, unsigned statuses,
                         int deleted, int archived, pawl_walk **out,
                         pawl_error *err) {
  pawl_walk *w = pawl_realloc(&e->alloc, NULL, 0, sizeof *w);

  if (!w) return pawl_fail_memory(err);
  init_filter(e, &w->f);
  pawl_code rc = begin_walk(e, w, query, statuses, deleted, archived, err);
  if (rc == PAWL_OK)
    *out = w;
  else
    pawl_walk_close(e, w);
  return rc;
}

void pawl_walk_close(pawl_engine *e, pawl_walk *w) {
  if (!w) return;
  deinit_filter(&w->f);
  pawl_release(&e->alloc, w, sizeof *w);
}

/* The next page begins behind the last of this one: nobody is met twice,
 * whatever becomes of those that were. */
static void take_page(pawl_walk *w, const place *page, int nrows, place *met,
                      int *n) {
  filter *f = &w->f;

  *n = nrows < f->limit ? nrows : (int)f->limit;
  for (int k = 0; k < *n; k++) met[k] = page[f->up ? k : nrows - 1 - k];
  if (f->up)
    raise_low(f, met[*n - 1].id);
  else
    lower_high(f, met[*n - 1].id);
  w->left -= *n;
}

static pawl_code next_page(pawl_engine *e, pawl_walk *w, int max,
                           pawl_rows *rows, place *met, int *n,
                           pawl_error *err) {
  place *page;
  size_t size;

  *n = 0;
  if (w->over || !w->left) return PAWL_OK;
  w->f.limit = w->left < max ? w->left : max;
  MUST(send_list(e, &w->f, rows, err));
  w->over = rows->nrows < w->f.limit;
  if (!rows->nrows) return PAWL_OK;
  MUST(sort_rows(e, rows, &page, &size, err));
  take_page(w, page, rows->nrows, met, n);
  pawl_release(&e->alloc, page, size);
  return PAWL_OK;
}

pawl_code pawl_walk_next(pawl_engine *e, pawl_walk *w, pawl_id *ids, int max,
                         int *n, pawl_error *err) {
  place met[PAWL_WALK_PAGE];
  pawl_rows rows;

  assert(max <= PAWL_WALK_PAGE);
  MUST(next_page(e, w, max, &rows, met, n, err));
  for (int k = 0; k < *n; k++) ids[k] = met[k].id;
  return PAWL_OK;
}

/* ---- all pages, for groups ---- */

/* Is nothing given but what counters tell apart? */
static int is_plain(const filter *f) {
  for (int i = 0; i < pawl_options_of_list.nrows; i++) {
    const size_t at = list_rows[i].at;
    if (PAWL_OPTION_GIVEN(f, i) && is_filter(&list_rows[i]) &&
        at != offsetof(filter, workflow) && at != offsetof(filter, version) &&
        at != offsetof(filter, statuses) && at != offsetof(filter, group_by))
      return 0;
  }
  return !f->tenant.len;
}

static pawl_code begin_groups(pawl_engine *e, pawl_walk *w, pawl_str query,
                              pawl_grouping *how, pawl_error *err) {
  filter *f = &w->f;

  f->limit = PAWL_MAX_LIMIT;
  MUST(read_page(e, query, f, err));
  how->by = f->group_by < 0 ? PAWL_NGROUPS : (pawl_group)f->group_by;
  f->group_by = -1;
  MUST(check_all(f, err));
  f->brief = how->by != PAWL_GROUP_error;
  *how = (pawl_grouping){.by = how->by,
                         .name = how->by < PAWL_NGROUPS ? GROUPS[how->by] : "",
                         .statuses = f->statuses,
                         .plain = is_plain(f),
                         .workflow = pawl_buf_some(&f->workflow),
                         .version = f->version};
  w->left = f->limit;
  w->over = !f->statuses;
  return PAWL_OK;
}

pawl_code pawl_walk_groups(pawl_engine *e, pawl_str query, pawl_grouping *how,
                           pawl_walk **out, pawl_error *err) {
  pawl_walk *w = pawl_realloc(&e->alloc, NULL, 0, sizeof *w);

  if (!w) return pawl_fail_memory(err);
  init_filter(e, &w->f);
  pawl_code rc = begin_groups(e, w, query, how, err);
  if (rc == PAWL_OK)
    *out = w;
  else
    pawl_walk_close(e, w);
  return rc;
}

pawl_code pawl_walk_rows(pawl_engine *e, pawl_walk *w, pawl_rows *rows,
                         int *at, int *n, pawl_error *err) {
  place met[PAWL_WALK_PAGE];

  MUST(next_page(e, w, PAWL_WALK_PAGE, rows, met, n, err));
  for (int k = 0; k < *n; k++) at[k] = met[k].row;
  return PAWL_OK;
}

int pawl_walk_is_over(const pawl_walk *w) {
  return w->over;
}
