#include "filter.h"

#include <inttypes.h>
#include <string.h>

#include "../../value/options.h"
#include "../common/find.h"
#include "../common/tenant.h"
#include "../common/time.h"

/* How far an id's time may be from its instance's: clocks differ, and a caller
 * may have drawn it before. */
#define DRAWN_US (INT64_C(3600) * 1000000)

/* What may be common is not walked where the statuses that are asked for have
 * no more than that: each of these is looked at instead. */
#define FEW 1000

static const char *const SORTS[PAWL_NSORTS] = {
    "newest", "oldest", "created", "updated", "completed", "due"};

static const char *const GROUPS[PAWL_NGROUPS] = {"error", "node", "workflow",
                                                 "status"};

const char *const pawl_undone_names[PAWL_NUNDONE] = {
    "planning", "running", "completed", "completed_with_errors", "stopped"};

#define AT(member) .at = offsetof(pawl_filter, member)
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
    {"compensation", PAWL_OPTION_CHOICES, AT(compensation),
     .names = pawl_undone_names, .low = 1, .high = PAWL_NUNDONE},
    {"leased", PAWL_OPTION_BOOL, AT(leased)},
    {"halted", PAWL_OPTION_BOOL, AT(halted)},
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
    {"sort", PAWL_OPTION_CHOICE, AT(sort), .names = SORTS,
     .high = PAWL_NSORTS},
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
static void set_error_texts(pawl_filter *f) {
  const pawl_str word = pawl_buf_str(&f->error);
  set_text("{\"code\":", word, &f->error_text);
  set_text(",\"message\":", word, &f->message_text);
}

/* A code alone: what it is found by, and how an error with it begins. */
static void set_code_texts(pawl_filter *f) {
  const pawl_str word = pawl_buf_str(&f->error_code);
  set_text("{\"code\":", word, &f->code_text);
  pawl_word_range(word, &f->code_from, &f->code_to);
}

/* Within a cancellation (rules/letters.c). No text in it has such quotes, as
 * they would be escaped. */
static void set_by_text(pawl_filter *f) {
  pawl_buf_addz(&f->by_text, ",\"by\":");
  pawl_json_add_string(&f->by_text, pawl_buf_str(&f->cancelled_by));
  pawl_buf_addc(&f->by_text, ',');
}

/* How a compensation begins, for each that is asked for. */
static void set_undone(pawl_filter *f) {
  for (int k = 0; k < PAWL_NUNDONE; k++)
    if (f->compensation >> k & 1u)
      pawl_buf_addf(&f->undone, "{\"status\":\"%s\", ", pawl_undone_names[k]);
}

/* ---- statuses ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define ALL PAWL_ALL_STATUSES
#define ENDED (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))
#define FAILURES (BIT(FAILED) | BIT(SUSPENDED)) /* fragment is_failure */

/* Created is a running one that has not started: told apart by a column, it
 * needs no write to begin. */
static unsigned stored_of(unsigned asked) {
  if (asked & BIT(CREATED)) asked |= BIT(RUNNING);
  return asked & ~BIT(CREATED);
}

unsigned pawl_filter_stored(const pawl_filter *f) {
  return stored_of(f->statuses);
}

/* They share a stored status: those of only one are wanted, or it does not
 * matter. */
int64_t pawl_filter_begun(const pawl_filter *f) {
  const unsigned both = BIT(CREATED) | BIT(RUNNING);
  const unsigned asked = f->statuses & both;
  return asked == both || !asked ? PAWL_NULL : !!(asked & BIT(RUNNING));
}

/* Is it asked for by what only those that live have? */
static int is_of_living(const pawl_filter *f) {
  return f->leased == 1 || f->due_before || f->deadline_before ||
         f->sort == PAWL_SORT_DUE;
}

static int is_of_ended(const pawl_filter *f) {
  return f->completed_after || f->completed_before ||
         f->sort == PAWL_SORT_COMPLETED;
}

/* What else is given says which there can be. Errors are looked for among those
 * that have not completed, unless somebody asks for these: they are the most,
 * and few have one. So is what was cancelled, or undone. */
static unsigned wanted_statuses(const pawl_filter *f) {
  unsigned all = f->statuses           ? f->statuses
                 : f->cancelled_by.len ? ALL & ~BIT(COMPLETED) & ~BIT(FAILED)
                 : f->error.len || f->compensation ? ALL & ~BIT(COMPLETED)
                 : f->group_by == PAWL_GROUP_error ? FAILURES
                                                   : ALL;
  if (f->error_code.len) all &= FAILURES;
  if (is_of_living(f)) all &= ~ENDED;
  if (f->halted == 1) all &= BIT(RUNNING) | BIT(SUSPENDED);
  return is_of_ended(f) ? all & ENDED : all;
}

/* ---- reading what is asked for ---- */

static void raise_low(pawl_filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->low) > 0) f->low = id;
}

static void lower_high(pawl_filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->high) < 0) f->high = id;
}

int pawl_filter_is_by_time(const pawl_filter *f) {
  return f->sort > PAWL_SORT_OLDEST;
}

int pawl_filter_is_ascending(const pawl_filter *f) {
  return (f->sort == PAWL_SORT_OLDEST || f->sort == PAWL_SORT_DUE) !=
         f->reverse;
}

/* What was started, changed, or ended, before a time was created before it,
 * too. */
static void set_bounds(pawl_filter *f) {
  const int64_t befores[] = {f->created_before, f->started_before,
                             f->updated_before, f->completed_before};

  memset(&f->low, 0, sizeof f->low);
  memset(&f->high, 0xff, sizeof f->high);
  if (f->has_after && !pawl_filter_is_by_time(f)) raise_low(f, f->after);
  if (f->has_before && !pawl_filter_is_by_time(f)) lower_high(f, f->before);
  if (f->created_after)
    raise_low(f, pawl_range_id(f->created_after - DRAWN_US));
  for (size_t i = 0; i < sizeof befores / sizeof *befores; i++)
    if (befores[i] && befores[i] < PAWL_TIME_MAX - DRAWN_US)
      lower_high(f, pawl_range_id(befores[i] + DRAWN_US));
  f->up = pawl_filter_is_ascending(f) ? f->has_after || !f->has_before
                                      : f->has_after && !f->has_before;
}

static void set_stored(pawl_filter *f, unsigned stored) {
  if (stored == stored_of(ALL)) return;
  for (int k = 0; k < PAWL_NSTATUSES; k++) {
    if (!(stored >> k & 1u)) continue;
    pawl_buf_addz(&f->stored, pawl_status_name((pawl_standing)k));
    pawl_buf_addc(&f->stored, ' ');
  }
}

void pawl_filter_leave_out(pawl_filter *f, unsigned statuses) {
  f->statuses &= ~statuses;
  pawl_buf_clear(&f->stored);
  set_stored(f, stored_of(f->statuses));
}

/* Which word it is found by; NULL: none. Those that fewer have come first. What
 * is archived is a failure no more: its code is compared beside. */
const char *pawl_filter_found_by(const pawl_filter *f) {
  const int is_failure = f->error_code.len && !f->archived;

  return f->key.len                        ? "key"
         : f->has_parent                   ? "parent"
         : f->correlation.len              ? "correlation"
         : f->has_root                     ? "root"
         : f->business_key.len             ? "business_key"
         : is_failure && !f->attributes.at ? "code"
                                           : NULL;
}

/* The same by the agenda, which has fewer than there are waiting, and of those
 * that are suspended alone none; or by deadlines. */
const char *pawl_filter_time_by(const pawl_filter *f) {
  if (f->leased == 1) return "leased";
  if (f->deadline_before) return "deadline";
  return !is_of_living(f) || f->statuses == BIT(SUSPENDED) ? NULL : "due";
}

/* Rows before that time are read. What is leased is on the agenda by its
 * lease's end. */
int64_t pawl_filter_time_until(pawl_engine *e, const pawl_filter *f) {
  return f->leased == 1       ? pawl_engine_now(e) + PAWL_MAX_LEASE_US
         : f->deadline_before ? f->deadline_before
                              : f->due_before;
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
static pawl_code read_places(pawl_engine *e, pawl_filter *f, pawl_error *err) {
  if (pawl_filter_is_by_time(f)) {
    MUST(read_cursor(&f->before_id, "before", &f->to, &f->has_before, err));
    return read_cursor(&f->after_id, "after", &f->from, &f->has_after, err);
  }
  MUST(pawl_find_given(e, &f->before_id, &f->before, &f->has_before, err));
  return pawl_find_given(e, &f->after_id, &f->after, &f->has_after, err);
}

/* What is held or over waits for no time. */
static pawl_code check_due(const pawl_filter *f, pawl_error *err) {
  if (f->sort != PAWL_SORT_DUE ||
      !(f->deleted || f->archived || f->leased == 1))
    return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID,
                 "what is leased, deleted or archived can be sorted by "
                 "\"created\" or \"updated\"",
                 "`sort` cannot be \"due\" of what this query finds");
  pawl_error_where(err, "sort");
  return PAWL_INVALID;
}

static pawl_code check_place(const pawl_filter *f, pawl_error *err) {
  if (!f->deleted || !f->archived) return PAWL_OK;
  pawl_fail_hint(err, PAWL_INVALID, "ask for the one, then for the other",
                 "options `deleted` and `archived` exclude each other");
  pawl_error_where(err, "archived");
  return PAWL_INVALID;
}

int pawl_counter_is_of(const pawl_counter_read_row *row, unsigned statuses,
                       int64_t version) {
  pawl_standing status;
  return pawl_status_parse(row->status, &status) &&
         (statuses >> status & 1u) && (!version || row->version == version);
}

/* Of those that wait or are suspended in one place counters have it. */
static int may_be_at(const pawl_counter_read_row *row, const pawl_filter *f) {
  return !f->node.len || !row->node.len ||
         pawl_str_eq(row->node, pawl_buf_str(&f->node));
}

int pawl_filter_is_grouped(const pawl_filter *f) {
  return f->group.len > 0 &&
         !pawl_str_eqz(pawl_buf_str(&f->group), PAWL_DEFAULT_GROUP);
}

/* Is it found by what very many may have, beside a status? */
static int may_be_few(const pawl_filter *f) {
  return (f->attributes.at || f->tenant.len || pawl_filter_is_grouped(f)) &&
         !f->deleted && !f->archived && !pawl_filter_found_by(f) &&
         !pawl_filter_time_by(f) && pawl_filter_stored(f) != stored_of(ALL);
}

/* Is it compared with all of its statuses, though counters tell of it? */
static int may_be_none(const pawl_filter *f) {
  return (f->version || f->node.len) && !f->deleted && !f->archived &&
         !pawl_filter_found_by(f) && !pawl_filter_time_by(f) &&
         !f->attributes.at && !f->cancelled_by.len && !f->compensation;
}

/* How many have the statuses that are asked for, whoever's they are, is known
 * from counters; and that there are none of a version, or at a node. */
static pawl_code look_how_many(pawl_engine *e, pawl_filter *f,
                               pawl_error *err) {
  pawl_rows rows;
  int64_t n = 0, at = 0;

  MUST(PAWL_READ(e->store, counter_read, &rows, err,
                 .workflow = pawl_buf_some(&f->workflow),
                 .since = PAWL_TIME_MAX));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_counter_read_row row = pawl_read_counter_read(&rows, k);
    if (!pawl_counter_is_of(&row, pawl_filter_stored(f), f->version)) continue;
    n += row.amount;
    if (may_be_at(&row, f)) at += row.amount;
  }
  f->few = may_be_few(f) && n <= FEW;
  f->none = may_be_none(f) && !at;
  return PAWL_OK;
}

pawl_code pawl_filter_read(pawl_engine *e, pawl_str text, pawl_filter *f,
                           pawl_error *err) {
  f->leased = f->halted = f->group_by = -1;
  MUST(pawl_options_read(&pawl_options_of_list, text, f, err));
  MUST(check_place(f, err));
  MUST(pawl_tenant_take(e, &f->tenant, err)); /* Z2 */
  MUST(read_places(e, f, err));
  MUST(check_due(f, err));
  MUST(pawl_find_given(e, &f->parent_id, &f->parent, &f->has_parent, err));
  MUST(pawl_find_given(e, &f->root_id, &f->root, &f->has_root, err));
  f->statuses = wanted_statuses(f);
  set_stored(f, pawl_filter_stored(f));
  set_bounds(f);
  if (f->business_key.len)
    pawl_word_range(pawl_buf_str(&f->business_key), &f->business_from,
                    &f->business_to);
  if (f->error.len) set_error_texts(f);
  if (f->error_code.len) set_code_texts(f);
  if (f->cancelled_by.len) set_by_text(f);
  set_undone(f);
  if (may_be_few(f) || may_be_none(f)) MUST(look_how_many(e, f, err));
  if (f->attributes.at)
    MUST(pawl_conditions_read(
        &f->conditions, f->attributes,
        !f->deleted && !f->few && !pawl_filter_found_by(f), err));
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

/* Who walks takes as many as there are. */
pawl_code pawl_filter_read_page(pawl_engine *e, pawl_str text, pawl_filter *f,
                                pawl_error *err) {
  MUST(pawl_filter_read(e, text, f, err));
  if (f->limit <= PAWL_MAX_LIMIT) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "option `limit` must be an integer from 1 to %d, got %" PRId64,
            PAWL_MAX_LIMIT, f->limit);
  pawl_error_where(err, "limit");
  return PAWL_INVALID;
}

void pawl_filter_init(pawl_engine *e, pawl_filter *f) {
  pawl_options_init(&pawl_options_of_list, f, sizeof *f, &e->alloc);
  f->business_from.alloc = f->business_to.alloc = &e->alloc;
  f->error_text.alloc = f->message_text.alloc = f->by_text.alloc = &e->alloc;
  f->code_text.alloc = f->code_from.alloc = f->code_to.alloc = &e->alloc;
  f->undone.alloc = f->stored.alloc = &e->alloc;
  pawl_conditions_init(&f->conditions, &e->alloc);
}

void pawl_filter_deinit(pawl_filter *f) {
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

/* ---- what follows ---- */

const char *pawl_filter_sort_name(const pawl_filter *f) {
  return SORTS[f->sort];
}

const char *pawl_filter_group_name(const pawl_filter *f) {
  return f->group_by < 0 ? "" : GROUPS[f->group_by];
}

void pawl_filter_pass(pawl_filter *f, pawl_id last) {
  if (f->up)
    raise_low(f, last);
  else
    lower_high(f, last);
}

/* ---- what may be asked for where ---- */

static int is_filter(const pawl_option *row) {
  return row->at != offsetof(pawl_filter, sort) &&
         row->at != offsetof(pawl_filter, reverse) &&
         row->at != offsetof(pawl_filter, limit);
}

/* Without any filter it would be for all that there is: a slip. */
pawl_code pawl_filter_check_given(const pawl_filter *f, pawl_error *err) {
  for (int i = 0; i < pawl_options_of_list.nrows; i++)
    if (PAWL_OPTION_GIVEN(f, i) && is_filter(&list_rows[i])) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "name a workflow, statuses or other filters of a list",
                        "the query says nothing of which instances it is for");
}

int pawl_filter_is_plain(const pawl_filter *f) {
  for (int i = 0; i < pawl_options_of_list.nrows; i++) {
    const size_t at = list_rows[i].at;
    if (PAWL_OPTION_GIVEN(f, i) && is_filter(&list_rows[i]) &&
        at != offsetof(pawl_filter, workflow) &&
        at != offsetof(pawl_filter, version) &&
        at != offsetof(pawl_filter, statuses) &&
        at != offsetof(pawl_filter, group_by))
      return 0;
  }
  return !f->tenant.len;
}

static pawl_code refuse(const char *option, const char *hint, const char *text,
                        pawl_error *err) {
  pawl_fail_hint(err, PAWL_INVALID, hint, "%s", text);
  pawl_error_where(err, "%s", option);
  return PAWL_INVALID;
}

pawl_code pawl_filter_check_whole(const pawl_filter *f, pawl_error *err) {
  if (f->group_by < 0) return PAWL_OK;
  return refuse("group_by", "count them by it: tally, pawl_tally_groups",
                "`group_by` is for counts: a list has the instances "
                "themselves",
                err);
}

pawl_code pawl_filter_check_all(const pawl_filter *f, pawl_error *err) {
  MUST(pawl_filter_check_whole(f, err));
  if (!pawl_filter_is_by_time(f)) return PAWL_OK;
  return refuse("sort", "leave `sort` away: the order is a list's",
                "`sort` can only be \"newest\" or \"oldest\" where all that "
                "are found are meant",
                err);
}
