/* What people do to tasks. See common/task.h for how a change is made.
 *
 *   pending --claim--> running --complete--> completed
 *      ^  <--unclaim--    |  ----fail------> failed --retry--> pending
 *      +---- reassign ----+
 *
 * edit changes what an open task says, and when it is due. complete and fail
 * need no claim; delegate hands on what is held, claimed or
 * not; the engine alone makes a task cancelled or timed_out.
 *
 * A task is held by who has claimed it, else by its assignee, else by nobody.
 * What is held is the holder's: others claim, complete or fail it only by an
 * override, which is recorded with whom it passed over. What nobody holds is
 * for its candidates, all the world when there are none. Escalating what an
 * assignee has not claimed makes it its candidates' too, until it is handed to
 * somebody again. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "../../base/clock.h"
#include "../../base/nearest.h"
#include "../../value/options.h"
#include "../../value/types.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "../common/task.h"
#include "../common/time.h"
#include "../common/wake.h"
#include "../versions/versions.h"
#include "act.h"

#define TRIES 6         /* against others, and a store that is busy */
#define LOG_ENTRIES 100 /* kept of a task's log: the newest */
#define LOG_BYTES 200   /* so long are values in it; of others the name is */
#define MAX_OUTCOMES 16 /* that are told of */

/* ---- what is asked for ---- */

enum {
  CHANGE_CLAIM,
  CHANGE_UNCLAIM,
  CHANGE_COMPLETE,
  CHANGE_FAIL,
  CHANGE_RETRY,
  CHANGE_REASSIGN,
  CHANGE_DELEGATE,
  CHANGE_ESCALATE,
  CHANGE_EDIT
};

/* As the audit tells it; NULL: the instance's history does. */
static const char *const deeds[] = {
    [CHANGE_CLAIM] = "claimed",      [CHANGE_UNCLAIM] = "unclaimed",
    [CHANGE_COMPLETE] = NULL,        [CHANGE_FAIL] = NULL,
    [CHANGE_RETRY] = "retried",      [CHANGE_REASSIGN] = "reassigned",
    [CHANGE_DELEGATE] = "delegated", [CHANGE_ESCALATE] = "escalated",
    [CHANGE_EDIT] = "edited"};

static const char *const change_names[] = {
    [CHANGE_CLAIM] = "claim",       [CHANGE_UNCLAIM] = "unclaim",
    [CHANGE_COMPLETE] = "complete", [CHANGE_FAIL] = "fail",
    [CHANGE_RETRY] = "retry",       [CHANGE_REASSIGN] = "reassign",
    [CHANGE_DELEGATE] = "delegate", [CHANGE_ESCALATE] = "escalate",
    [CHANGE_EDIT] = "edit"};

typedef struct change {
  uint64_t given;
  int kind;
  pawl_buf by, to, take, priority, title, description, form;
  pawl_str reason;      /* JSON, as those below are; at NULL: none */
  pawl_str error_given; /* text, or {"code":...,"message":...} */
  pawl_buf error;       /* always the latter */
  pawl_str output, input, metadata;
  pawl_str unset_given; /* names of what is to be none */
  unsigned unset;       /* bits of UNSETS */
  int64_t due_us;
  pawl_who_given asked;
  pawl_who who;    /* what `by` is in; or whom the task is to be for */
  pawl_id request; /* of this change, however often it is sent */
  int overrides;   /* it is done though another holds the task */
} change;

#define BIT(kind) (1u << CHANGE_##kind)
enum {
  HOLDERS = BIT(CLAIM) | BIT(COMPLETE) | BIT(FAIL), /* `by` is in a role */
  GIVERS = BIT(REASSIGN) | BIT(ESCALATE),           /* it is for a role */
  WORD_MAX = 255,
  LINE_MAX_BYTES = 1000,
  TEXT_MAX_BYTES = 16000
};

/* What a task may be without. */
enum { UNSET_DESCRIPTION, UNSET_FORM, UNSET_INPUT, UNSET_METADATA, UNSET_DUE };
static const char *const UNSETS[] = {[UNSET_DESCRIPTION] = "description",
                                     [UNSET_FORM] = "form",
                                     [UNSET_INPUT] = "input",
                                     [UNSET_METADATA] = "metadata",
                                     [UNSET_DUE] = "due"};
enum { NUNSETS = sizeof UNSETS / sizeof *UNSETS };

static const pawl_option change_rows[] = {
    {"by", PAWL_OPTION_TEXT, .at = offsetof(change, by), .low = 1,
     .high = WORD_MAX},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(change, reason), .raw = 1,
     .high = PAWL_MAX_REASON},
    {"to", PAWL_OPTION_TEXT, .at = offsetof(change, to), .low = 1,
     .high = WORD_MAX, .kinds = BIT(REASSIGN) | BIT(DELEGATE),
     .needed = BIT(DELEGATE)},
    {"take", PAWL_OPTION_TEXT, .at = offsetof(change, take), .low = 1,
     .high = WORD_MAX, .kinds = BIT(COMPLETE)},
    {"output", PAWL_OPTION_ANY, .at = offsetof(change, output),
     .kinds = BIT(COMPLETE)},
    {"error", PAWL_OPTION_ANY, .at = offsetof(change, error_given),
     .kinds = BIT(FAIL)},
    {"users", PAWL_OPTION_TEXTS, .at = offsetof(change, asked.users),
     .kinds = GIVERS},
    {"role", PAWL_OPTION_TEXTS, .at = offsetof(change, asked.role),
     .kinds = HOLDERS | GIVERS},
    {"roles", PAWL_OPTION_TEXTS, .at = offsetof(change, asked.roles),
     .kinds = HOLDERS | GIVERS},
    {"group", PAWL_OPTION_TEXTS, .at = offsetof(change, asked.group),
     .kinds = HOLDERS | GIVERS},
    {"groups", PAWL_OPTION_TEXTS, .at = offsetof(change, asked.groups),
     .kinds = HOLDERS | GIVERS},
    {"priority", PAWL_OPTION_TEXT, .at = offsetof(change, priority),
     .names = pawl_priorities, .high = PAWL_NPRIORITIES,
     .kinds = BIT(ESCALATE) | BIT(EDIT)},
    {"title", PAWL_OPTION_TEXT, .at = offsetof(change, title), .low = 1,
     .high = LINE_MAX_BYTES, .kinds = BIT(EDIT)},
    {"description", PAWL_OPTION_TEXT, .at = offsetof(change, description),
     .low = 1, .high = TEXT_MAX_BYTES, .kinds = BIT(EDIT)},
    {"form", PAWL_OPTION_TEXT, .at = offsetof(change, form), .low = 1,
     .high = WORD_MAX, .kinds = BIT(EDIT)},
    {"input", PAWL_OPTION_ANY, .at = offsetof(change, input),
     .kinds = BIT(EDIT)},
    {"metadata", PAWL_OPTION_OBJECT, .at = offsetof(change, metadata),
     .kinds = BIT(EDIT)},
    {"due_us", PAWL_OPTION_TIME, .at = offsetof(change, due_us), .low = 1,
     .high = PAWL_TIME_MAX, .kinds = BIT(EDIT)},
    {"unset", PAWL_OPTION_TEXTS, .at = offsetof(change, unset_given),
     .kinds = BIT(EDIT)},
    {"override", PAWL_OPTION_BOOL, .at = offsetof(change, overrides),
     .kinds = HOLDERS},
};
PAWL_OPTIONS_OF(task_change) = {.what = "change of a task",
                                PAWL_OPTION_ROWS(change_rows),
                                PAWL_OPTION_KINDS(change_names),
                                .kind_at = offsetof(change, kind)};

/* One that an `on_error` can name, or none. */
static pawl_code check_code(const pawl_alloc *alloc, pawl_str error,
                            pawl_error *err) {
  pawl_buf text = {.alloc = alloc};
  pawl_str code;
  pawl_code rc = PAWL_OK;

  if (!pawl_json_get(error, "code", &code) ||
      pawl_json_kind_of(code) != PAWL_JSON_STRING)
    return PAWL_OK;
  pawl_json_unquote(code, &text);
  TRY(pawl_buf_check(&text, err));
  if (text.len >= sizeof err->raised)
    rc = pawl_fail(err, PAWL_INVALID,
                   "the `code` of `error` has %zu bytes; %zu are the most",
                   text.len, sizeof err->raised - 1);
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* What a person says, as a handler raises it. */
typedef struct told {
  uint64_t given;
  pawl_str code, message, details;
} told;

static const pawl_option told_rows[] = {
    {"code", PAWL_OPTION_TEXT, .at = offsetof(told, code), .raw = 1},
    {"message", PAWL_OPTION_TEXT, .at = offsetof(told, message), .raw = 1},
    {"details", PAWL_OPTION_ANY, .at = offsetof(told, details)}};
static const pawl_options told_options = {.what = "the error of a task",
                                          PAWL_OPTION_ROWS(told_rows)};

static pawl_code check_told(const pawl_alloc *alloc, pawl_str value,
                            pawl_error *err) {
  told it = {0};

  MUST(pawl_options_take(&told_options, value, &it, err));
  return check_code(alloc, value, err);
}

/* {"code":...,"message":...}; text alone is the message. */
static pawl_code read_error(pawl_str value, change *c, pawl_error *err) {
  pawl_json_kind kind = pawl_json_kind_of(value);
  if (!value.at || kind == PAWL_JSON_NULL) return PAWL_OK;
  if (kind == PAWL_JSON_STRING) {
    pawl_buf_addz(&c->error, "{\"message\":");
    pawl_buf_adds(&c->error, value);
    pawl_buf_addc(&c->error, '}');
  } else if (kind == PAWL_JSON_OBJECT) {
    pawl_buf_adds(&c->error, value);
    return check_told(c->error.alloc, value, err);
  } else {
    return pawl_fail(err, PAWL_INVALID,
                     "`error` is text, or has a code and a message");
  }
  return pawl_buf_check(&c->error, err);
}

static pawl_code read_unset(pawl_str name, change *c, pawl_error *err) {
  char text[65];

  if (pawl_json_kind_of(name) == PAWL_JSON_STRING && name.len > 2) {
    name.at++; /* none of them has anything that is escaped */
    name.len -= 2;
  }
  for (unsigned i = 0; i < NUNSETS; i++)
    if (pawl_str_eqz(name, UNSETS[i])) {
      c->unset |= 1u << i;
      return PAWL_OK;
    }
  pawl_str_copy(text, sizeof text, name);
  const char *near = pawl_nearest(text, UNSETS, NUNSETS);
  pawl_fail(err, PAWL_INVALID, "edit: a task cannot be without \"%s\"", text);
  if (near) pawl_error_hint(err, "did you mean \"%s\"?", near);
  pawl_error_where(err, "unset");
  return PAWL_INVALID;
}

static pawl_code read_unsets(pawl_str list, change *c, pawl_error *err) {
  if (!list.at) return PAWL_OK;
  if (pawl_json_kind_of(list) != PAWL_JSON_ARRAY)
    return read_unset(list, c, err);
  for (pawl_json_iter it = {0}; pawl_json_walk(list, &it);)
    MUST(read_unset(it.value, c, err));
  return PAWL_OK;
}

/* Is there anything to be changed, and nothing in two ways? */
static pawl_code check_edit(const change *c, pawl_error *err) {
  const int set[] = {[UNSET_DESCRIPTION] = c->description.len > 0,
                     [UNSET_FORM] = c->form.len > 0,
                     [UNSET_INPUT] = c->input.at != NULL,
                     [UNSET_METADATA] = c->metadata.at != NULL,
                     [UNSET_DUE] = c->due_us != 0};
  int any = c->title.len || c->priority.len || c->unset;

  for (unsigned i = 0; i < NUNSETS; i++) {
    any |= set[i];
    if (set[i] && c->unset >> i & 1u)
      return pawl_fail(err, PAWL_INVALID, "edit: `%s` is both set and unset",
                       UNSETS[i]);
  }
  if (any) return PAWL_OK;
  return pawl_fail_hint(err, PAWL_INVALID,
                        "`title`, `description`, `form`, `input`, "
                        "`priority`, `due`, `metadata`, or `unset` with "
                        "names of these",
                        "edit: nothing is given to be changed");
}

/* What each kind cannot do without. */
static pawl_code check_change(const pawl_engine *e, const change *c,
                              pawl_error *err) {
  const char *name = change_names[c->kind];
  if (!c->by.len) {
    return pawl_fail_hint(err, PAWL_INVALID,
                          "say which user: it stands in the task's log",
                          "%s: nobody is named who does it", name);
  }
  if (c->kind == CHANGE_REASSIGN && !c->to.len && !c->who.n)
    return pawl_fail(err, PAWL_INVALID,
                     "reassign: `to`, or `users`, `roles` or `groups` are "
                     "missing");
  if (c->kind == CHANGE_EDIT) MUST(check_edit(c, err));
  MUST(pawl_check_bytes(e, "output has", c->output.len, err));
  MUST(pawl_check_bytes(e, "input has", c->input.len, err));
  MUST(pawl_check_bytes(e, "metadata has", c->metadata.len, err));
  if ((int64_t)c->error.len > 16000)
    return pawl_fail(err, PAWL_LIMIT, "`error` has more than 16,000 bytes");
  return PAWL_OK;
}

static pawl_code read_change(const pawl_engine *e, pawl_str text, change *c,
                             pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_task_change, text, c, err));
  MUST(pawl_who_read(&c->who, &c->asked, err));
  MUST(read_unsets(c->unset_given, c, err));
  MUST(read_error(c->error_given, c, err));
  return check_change(e, c, err);
}

/* ---- the task as it was read ---- */

static const pawl_str none = {NULL, 0};

/* What a change makes of the task is written over its row. */
typedef struct task {
  pawl_id id;
  char text[37]; /* its id */
  pawl_task_get_row row;
  pawl_buf keep; /* what the row borrows */
  pawl_task_status status, was;
  int64_t escalated_us; /* by this change; 0: it stays as it is */
  int nowners, is_candidate;
  pawl_buf for_whom;    /* its owners, for messages */
  pawl_buf passed_over; /* whose it was, by an override */
  pawl_buf changes;     /* JSON: what an edit changes, see note_change */
  pawl_buf transition, log;
} task;

static void task_deinit(task *t) {
  pawl_buf_deinit(&t->keep);
  pawl_buf_deinit(&t->for_whom);
  pawl_buf_deinit(&t->passed_over);
  pawl_buf_deinit(&t->changes);
  pawl_buf_deinit(&t->transition);
  pawl_buf_deinit(&t->log);
}

/* A try begins with the row as it is: what the last one made of it is
 * forgotten. */
static pawl_code read_row(const pawl_rows *r, task *t, pawl_error *err) {
  MUST(PAWL_KEEP(task_get, r, &t->keep, err));
  t->row = *PAWL_KEPT(task_get, &t->keep);
  t->escalated_us = 0;
  t->status = PAWL_TASK_CANCELLED;
  for (int i = 0; i < PAWL_NTASK_STATUSES; i++)
    if (pawl_str_eqz(t->row.status, pawl_task_status_names[i]))
      t->status = (pawl_task_status)i;
  t->was = t->status;
  pawl_buf_set(&t->transition, t->row.transition);
  return pawl_buf_check(&t->transition, err);
}

/* Is `by`, or a role or group that `by` is said to be in, among the owners?
 * For a change that names new owners instead, only the user counts. */
static void read_owners(const pawl_rows *r, const change *c, task *t) {
  int member = c->kind != CHANGE_REASSIGN && c->kind != CHANGE_ESCALATE;
  t->nowners = r->nrows;
  t->is_candidate = 0;
  pawl_buf_clear(&t->for_whom);
  if (t->row.assignee.len) {
    pawl_buf_addz(&t->for_whom, "user ");
    pawl_buf_adds(&t->for_whom, t->row.assignee);
  }
  for (int i = 0; i < r->nrows; i++) {
    const pawl_owner_get_row row = pawl_read_owner_get(r, i);
    if (pawl_str_eqz(row.kind, "user") &&
        pawl_str_eq(row.id, pawl_buf_str(&c->by)))
      t->is_candidate = 1;
    if (member && pawl_who_has(&c->who, row.kind, row.id)) t->is_candidate = 1;
    if (t->for_whom.len > 160) continue;
    if (t->for_whom.len) pawl_buf_addz(&t->for_whom, ", ");
    pawl_buf_adds(&t->for_whom, row.kind);
    pawl_buf_addc(&t->for_whom, ' ');
    pawl_buf_adds(&t->for_whom, row.id);
  }
}

static pawl_code read_task(pawl_engine *e, const change *c, task *t,
                           pawl_error *err) {
  pawl_rows rows, owners;

  MUST(pawl_task_read(e, &t->id, 0, 1, &rows, &owners, err));
  if (!rows.nrows) return pawl_task_missing(&t->id, err);
  MUST(read_row(&rows, t, err));
  read_owners(&owners, c, t);
  return pawl_buf_check(&t->for_whom, err);
}

/* ---- who may ---- */

#define WORDS(text) (int)((text).len < 200 ? (text).len : 200), (text).at

static int is(pawl_str a, const pawl_buf *b) {
  return a.len && pawl_str_eq(a, pawl_buf_str(b));
}

/* Says by whom, where that is known: two people who did the same work want to
 * talk. */
static pawl_code is_over(const task *t, pawl_error *err) {
  switch (t->status) {
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s %s by %.*s", t->text,
                t->status == PAWL_TASK_FAILED ? "was given up as failed"
                                              : "has been completed",
                WORDS(t->row.completed_by));
      if (t->status == PAWL_TASK_FAILED && t->row.waits)
        pawl_error_hint(err, "`pawl task retry` opens it again");
      break;
    case PAWL_TASK_TIMED_OUT:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s has timed out", t->text);
      break;
    default:
      pawl_fail(err, PAWL_ALREADY_FINISHED, "task %s is %s", t->text,
                pawl_task_status_names[t->status]);
  }
  return PAWL_ALREADY_FINISHED;
}

static int is_open(const task *t) {
  return t->status == PAWL_TASK_PENDING || t->status == PAWL_TASK_RUNNING;
}

static pawl_code is_taken(const task *t, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_TAKEN,
      "the one who has it can give it back (unclaim) or hand "
      "it on (delegate); `pawl task reassign` takes it away",
      "task %s is taken: %.*s has it", t->text, WORDS(t->row.claimed_by));
}

static pawl_code is_assigned(const task *t, pawl_error *err) {
  return pawl_fail_hint(
      err, PAWL_TAKEN,
      "`pawl task reassign` gives it to another, or to all whom it is for; "
      "an override acts in spite of it, on the record",
      "task %s is assigned to %.*s", t->text, WORDS(t->row.assignee));
}

/* The member of what is noted with its log; at NULL: none. */
static pawl_str noted(const task *t, const char *name) {
  pawl_str value = {NULL, 0};
  if (t->row.log.len) (void)pawl_json_get(t->row.log, name, &value);
  return value;
}

/* Has it been escalated since it was given to its assignee? */
static int is_raised(const task *t) {
  pawl_str value = noted(t, "given_us");
  int64_t given = 0;

  if (value.at) (void)pawl_json_int(value, &given);
  return t->row.escalated_at > given;
}

/* An open task that `by` holds, or that nobody holds and it is for. */
static pawl_code may_hold(const task *t, const change *c, pawl_error *err) {
  if (is(t->row.claimed_by, &c->by)) return PAWL_OK;
  if (t->row.claimed_by.len) return is_taken(t, err);
  if (is(t->row.assignee, &c->by)) return PAWL_OK;
  if (t->is_candidate && (!t->row.assignee.len || is_raised(t)))
    return PAWL_OK;
  if (!t->row.assignee.len && !t->nowners)
    return PAWL_OK; /* it is anybody's */
  if (t->row.assignee.len && (t->is_candidate || !t->nowners))
    return is_assigned(t, err);
  return pawl_fail_hint(err, PAWL_TAKEN,
                        "name the roles and groups that the user is in, or "
                        "reassign the task",
                        "task %s is not for %.*s: it is for %.*s", t->text,
                        WORDS(c->by), WORDS(t->for_whom));
}

/* An override goes past the holder, and says in the log whose it was. */
static pawl_code may_act(task *t, const change *c, pawl_error *err) {
  pawl_buf_clear(&t->passed_over);
  if (!is_open(t)) return is_over(t, err);
  pawl_code rc = may_hold(t, c, err);
  if (rc != PAWL_TAKEN || !c->overrides) return rc;
  pawl_buf_adds(&t->passed_over, t->row.claimed_by.len ? t->row.claimed_by
                                 : t->row.assignee.len
                                     ? t->row.assignee
                                     : pawl_buf_str(&t->for_whom));
  return pawl_buf_check(&t->passed_over, err);
}

/* ---- which way on ---- */

/* Those that have a name, also as one text; how many. */
static int list_outcomes(const pawl_node *node, const char *list[MAX_OUTCOMES],
                         char *text, size_t size) {
  size_t len = 0;
  int n = 0;

  text[0] = 0;
  for (int i = 0; i < node->nnext && n < MAX_OUTCOMES; i++) {
    const char *name = node->next[i].name;
    if (!*name || !pawl_task_is_outcome(name)) continue;
    if (len < size)
      len += (size_t)snprintf(text + len, size - len, "%s%s", n ? ", " : "",
                              name);
    list[n++] = name;
  }
  return n;
}

/* What was not said aloud: the only outcome there is, or the one that the
 * output names, itself ("approved") or as its member `take`. */
static pawl_code implied(pawl_engine *e, const pawl_node *node,
                         pawl_str output, const pawl_edge **way,
                         pawl_error *err) {
  const pawl_edge *only = NULL;
  pawl_buf name = {.alloc = &e->alloc};
  pawl_str value = output;
  int count = 0;
  pawl_code rc = PAWL_OK;

  if (output.at && pawl_json_kind_of(output) == PAWL_JSON_OBJECT &&
      !pawl_json_get(output, "take", &value))
    value.at = NULL;
  if (value.at && pawl_json_kind_of(value) == PAWL_JSON_STRING)
    pawl_json_unquote(value, &name);
  TRY(pawl_buf_check(&name, err));
  *way = NULL;
  for (int i = 0; i < node->nnext && !*way; i++) {
    const pawl_edge *edge = &node->next[i];
    if (!pawl_task_is_outcome(edge->name)) continue;
    if (name.len && pawl_str_eqz(pawl_buf_str(&name), edge->name)) *way = edge;
    count++;
    only = edge;
  }
  if (!*way && count == 1) *way = only;
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* Names what there is: people type these words. */
static pawl_code wrong_way(const task *t, const change *c,
                           const pawl_node *node, pawl_error *err) {
  char names[160], given[100];
  const char *list[MAX_OUTCOMES], *near = NULL;
  int n = list_outcomes(node, list, names, sizeof names);

  if (!c->take.len) {
    pawl_fail(err, PAWL_INVALID,
              "task %s has several ways on: say which one to take", t->text);
    pawl_error_hint(err, "take one of %s", names);
    return PAWL_INVALID;
  }
  pawl_copy_text(given, sizeof given, c->take.at);
  pawl_fail(err, PAWL_INVALID, "task %s has no way on called \"%s\"", t->text,
            given);
  if (n) near = pawl_nearest(given, list, n);
  if (near)
    pawl_error_hint(err, "did you mean \"%s\"?", near);
  else if (n)
    pawl_error_hint(err, "take one of %s", names);
  else
    pawl_error_hint(err, "it has a single one: leave `take` out");
  return PAWL_INVALID;
}

/* A name that was given is meant; only without one is it inferred. */
static pawl_code choose_way(pawl_engine *e, const pawl_node *node, task *t,
                            const change *c, pawl_error *err) {
  const pawl_edge *way = NULL;

  assert(node->kind == PAWL_KIND_TASK);
  pawl_buf_clear(&t->transition);
  if (node->nnext == 1 && !node->next[0].name[0])
    return c->take.len ? wrong_way(t, c, node, err) : PAWL_OK;
  if (!c->take.len) {
    MUST(implied(e, node, c->output, &way, err));
  } else {
    for (int i = 0; i < node->nnext; i++)
      if (pawl_task_is_outcome(node->next[i].name) &&
          pawl_str_eqz(pawl_buf_str(&c->take), node->next[i].name))
        way = &node->next[i];
  }
  if (!way) return wrong_way(t, c, node, err);
  pawl_buf_addz(&t->transition, way->name);
  return PAWL_OK;
}

static pawl_code check_output(const pawl_node *node, const task *t,
                              const change *c, pawl_error *err) {
  const pawl_str output = c->output.len ? c->output : pawl_strz("null");

  if (!node->accepts.at ||
      pawl_types_fit(node->accepts, output, "output", err) == PAWL_OK)
    return PAWL_OK;
  pawl_error_prefix(err, "task %s", t->text);
  return PAWL_VALUE;
}

/* By the graph of the version that runs: ours, or the stored one, of which no
 * code is run. A node that is not in it (the instance was moved) is left to
 * the holder. */
static pawl_code choose_transition(pawl_engine *e, task *t, const change *c,
                                   pawl_error *err) {
  const pawl_task_get_row *row = &t->row;
  pawl_def *def = NULL;
  pawl_code rc = PAWL_OK;
  int own, i;

  MUST(pawl_graph_find(e, row->workflow.at, row->version, &def, &own, err));
  i = pawl_def_node(def, row->node.at, row->node.len);
  if (i >= 0 && def->nodes[i].kind == PAWL_KIND_TASK)
    rc = check_output(&def->nodes[i], t, c, err);
  else
    pawl_buf_set(&t->transition, pawl_buf_str(&c->take));
  if (rc == PAWL_OK && i >= 0 && def->nodes[i].kind == PAWL_KIND_TASK)
    rc = choose_way(e, &def->nodes[i], t, c, err);
  if (own) pawl_def_free(def);
  return rc;
}

/* ---- what follows ---- */

/* Back to all whom it is for. When it was started first is kept. */
static void release(task *t) {
  t->row.claimed_by = none;
  t->row.claimed_at = 0;
  t->status = PAWL_TASK_PENDING;
}

static void hold(task *t, const pawl_buf *who, int64_t now) {
  assert(who->len && is_open(t));
  t->row.claimed_by = pawl_buf_str(who);
  t->row.claimed_at = now;
  t->status = PAWL_TASK_RUNNING;
  if (!t->row.started_at) t->row.started_at = now;
}

/* Claiming what one holds is no change, so that a click that is sent twice is
 * none. */
static pawl_code claim(task *t, const change *c, int64_t now, int *write,
                       pawl_error *err) {
  MUST(may_act(t, c, err));
  *write = !is(t->row.claimed_by, &c->by); /* else it is theirs already */
  if (*write) hold(t, &c->by, now);
  return PAWL_OK;
}

static pawl_code unclaim(task *t, const change *c, pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (!t->row.claimed_by.len)
    return pawl_fail(err, PAWL_CONFLICT, "task %s: nobody has claimed it",
                     t->text);
  if (!is(t->row.claimed_by, &c->by)) return is_taken(t, err);
  release(t);
  return PAWL_OK;
}

/* completed or failed */
static pawl_code finish(pawl_engine *e, task *t, const change *c, int64_t now,
                        pawl_error *err) {
  MUST(may_act(t, c, err));
  if (c->kind == CHANGE_COMPLETE) {
    MUST(choose_transition(e, t, c, err));
    MUST(pawl_buf_check(&t->transition, err));
    t->status = PAWL_TASK_COMPLETED;
    t->row.output = c->output;
  } else {
    t->status = PAWL_TASK_FAILED;
    t->row.error = c->error.len
                       ? pawl_buf_str(&c->error)
                       : pawl_strz("{\"message\":\"the task failed\"}");
  }
  assert(c->by.len); /* check_change has seen to it */
  t->row.completed_by = pawl_buf_str(&c->by);
  t->row.completed_at = now;
  if (!t->row.started_at) t->row.started_at = now;
  return PAWL_OK;
}

/* Only while the token still waits: what a handler did about the failure is
 * not undone here. */
static pawl_code retry(task *t, pawl_error *err) {
  if (is_open(t))
    return pawl_fail(err, PAWL_CONFLICT,
                     "task %s is %s: only a failed one can be tried again",
                     t->text, pawl_task_status_names[t->status]);
  if (t->status != PAWL_TASK_FAILED) return is_over(t, err);
  if (!t->row.waits) {
    return pawl_fail_hint(
        err, PAWL_ALREADY_FINISHED,
        "`pawl retry` and `pawl restart` act on instances",
        "task %s failed, and its instance has gone on or ended since",
        t->text);
  }
  if (!t->row.heard) {
    return pawl_fail_hint(
        err, PAWL_BUSY, "try again when a worker has dealt with that",
        "task %s: its instance has not yet heard that it failed", t->text);
  }
  release(t);
  t->row.completed_by = t->row.error = none;
  t->row.completed_at = 0;
  return PAWL_OK;
}

/* It takes no claim along: who had it has to see that it is gone. */
static pawl_code reassign(task *t, const change *c, pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  release(t);
  t->row.delegated_by = none;
  t->row.assignee = pawl_buf_some(&c->to);
  return PAWL_OK;
}

/* Whoever holds it hands it on as it is: claimed or not. */
static pawl_code delegate(task *t, const change *c, int64_t now,
                          pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (t->row.claimed_by.len && !is(t->row.claimed_by, &c->by))
    return is_taken(t, err);
  if (!t->row.claimed_by.len && !is(t->row.assignee, &c->by)) {
    return pawl_fail_hint(err, PAWL_TAKEN, "claim it first; or reassign it",
                          "task %s is not %.*s's to delegate", t->text,
                          WORDS(c->by));
  }
  if (t->row.claimed_by.len) hold(t, &c->to, now);
  t->row.assignee = pawl_buf_str(&c->to);
  t->row.delegated_by = pawl_buf_str(&c->by);
  return PAWL_OK;
}

/* Adds people, and takes nobody away: the holder may finish what he is at. */
static pawl_code escalate(task *t, const change *c, int64_t now,
                          pawl_error *err) {
  if (!is_open(t)) return is_over(t, err);
  if (!c->who.n && !c->priority.len) {
    return pawl_fail_hint(
        err, PAWL_INVALID, "`priority`, `users`, `roles` or `groups`",
        "escalate: neither a priority nor anybody to add is given");
  }
  t->escalated_us = now;
  return PAWL_OK;
}

/* What `now` says, else what it was; none when it is unset. */
static pawl_str edited(const change *c, unsigned unset, pawl_str now,
                       pawl_str was) {
  if (c->unset >> unset & 1u) return none;
  return now.at ? now : was;
}

/* Its token has that time, too: by it the task becomes overdue. */
static int puts_off(const change *c) {
  return c->due_us || c->unset >> UNSET_DUE & 1u;
}

/* "name":{"from":...,"to":...}, what is none left out; of what is long the
 * name alone. */
static void note_change(pawl_object *list, const char *name, int is_json,
                        pawl_str was, pawl_str is) {
  void (*add)(pawl_object *, const char *, pawl_str) =
      is_json ? pawl_member_json : pawl_member_str;
  pawl_object o;

  if (was.at && is.at ? pawl_str_eq(was, is) : !was.at && !is.at) return;
  pawl_member_object(list, name, &o);
  if (was.len <= LOG_BYTES && is.len <= LOG_BYTES) {
    if (was.at) add(&o, "from", was);
    if (is.at) add(&o, "to", is);
  }
  pawl_object_end(&o);
}

static pawl_str text_of_time(int64_t us, char text[28]) {
  if (!us) return none;
  pawl_time_format(us, text);
  return pawl_strz(text);
}

/* Its own log and the audit tell of what an edit has made another. */
static pawl_code note_changes(task *t, const change *c,
                              const pawl_task_get_row *was, pawl_error *err) {
  const pawl_task_get_row *is = &t->row;
  char from[28], to[28];
  pawl_object o;

  pawl_buf_clear(&t->changes);
  pawl_object_begin(&o, &t->changes);
  note_change(&o, "title", 0, was->title, is->title);
  note_change(&o, "description", 0, was->description, is->description);
  note_change(&o, "form", 0, was->form, is->form);
  note_change(&o, "input", 1, was->input, is->input);
  note_change(&o, "metadata", 1, was->metadata, is->metadata);
  if (puts_off(c))
    note_change(&o, "due", 0, text_of_time(was->due_at, from),
                text_of_time(c->due_us, to));
  if (c->priority.len)
    note_change(&o, "priority", 0, was->priority, pawl_buf_str(&c->priority));
  pawl_object_end(&o);
  return pawl_buf_check(&t->changes, err);
}

/* Anybody may who may change the store: it is for the record who did. */
static pawl_code edit(task *t, const change *c, pawl_error *err) {
  pawl_task_get_row *row = &t->row;
  const pawl_task_get_row was = *row;

  if (!is_open(t)) return is_over(t, err);
  if (c->title.len) row->title = pawl_buf_str(&c->title);
  row->description = edited(c, UNSET_DESCRIPTION,
                            pawl_buf_some(&c->description), row->description);
  row->form = edited(c, UNSET_FORM, pawl_buf_some(&c->form), row->form);
  row->input = edited(c, UNSET_INPUT, c->input, row->input);
  row->metadata = edited(c, UNSET_METADATA, c->metadata, row->metadata);
  return note_changes(t, c, &was, err);
}

/* Turns the task as it was read into the one it becomes. *write 0: it is
 * what was asked for already. */
static pawl_code decide(pawl_engine *e, task *t, const change *c, int64_t now,
                        int *write, pawl_error *err) {
  *write = 1;
  switch (c->kind) {
    case CHANGE_CLAIM:
      return claim(t, c, now, write, err);
    case CHANGE_UNCLAIM:
      return unclaim(t, c, err);
    case CHANGE_COMPLETE:
    case CHANGE_FAIL:
      return finish(e, t, c, now, err);
    case CHANGE_RETRY:
      return retry(t, err);
    case CHANGE_REASSIGN:
      return reassign(t, c, err);
    case CHANGE_DELEGATE:
      return delegate(t, c, now, err);
    case CHANGE_EDIT:
      return edit(t, c, err);
    default:
      return escalate(t, c, now, err);
  }
}

/* ---- the log ---- */

static void add_text(pawl_object *o, const char *name, const pawl_buf *value) {
  if (value->len) pawl_member_str(o, name, pawl_buf_str(value));
}

static void add_entry(pawl_object *log, const task *t, const change *c,
                      int64_t now) {
  pawl_object o;
  pawl_list_object(log, &o);
  pawl_member_time(&o, "at", now);
  pawl_member_textz(&o, "what", change_names[c->kind]);
  add_text(&o, "by", &c->by);
  add_text(&o, "instead_of", &t->passed_over);
  add_text(&o, "to", &c->to);
  add_text(&o, "take", &c->take);
  add_text(&o, "priority", &c->priority);
  if (c->kind == CHANGE_EDIT)
    pawl_member_json(&o, "changes", pawl_buf_str(&t->changes));
  if (c->reason.len) pawl_member_json(&o, "reason", c->reason);
  pawl_object_end(&o);
}

/* The old log's newest entries, then this change's. */
static pawl_code log_change(task *t, const change *c, int64_t now,
                            pawl_error *err) {
  pawl_object o, list;
  pawl_str log = noted(t, "log"), given = noted(t, "given_us");
  int n = pawl_json_count(log), i = 0;

  pawl_buf_clear(&t->log);
  pawl_object_begin(&o, &t->log);
  pawl_member_list(&o, "log", &list);
  for (pawl_json_iter it = {0}; pawl_json_walk(log, &it);) {
    if (i++ <= n - LOG_ENTRIES) continue;
    pawl_list_next(&list);
    pawl_buf_adds(list.out, it.value);
  }
  add_entry(&list, t, c, now);
  pawl_list_end(&list);
  if (c->kind == CHANGE_REASSIGN || c->kind == CHANGE_DELEGATE)
    pawl_member_int(&o, "given_us", now);
  else if (given.at)
    pawl_member_json(&o, "given_us", given);
  pawl_object_end(&o);
  return pawl_buf_check(&t->log, err);
}

/* ---- writing ---- */

static int ends(const change *c) {
  return c->kind == CHANGE_COMPLETE || c->kind == CHANGE_FAIL;
}

static int shard_of(const pawl_engine *e, const task *t) {
  return pawl_shard_of(e, &t->id);
}

/* T1: by the commits that were read, and the status; `request` tells a later
 * try that this one has landed. */
static pawl_code send_write(pawl_engine *e, const task *t, const change *c,
                            int *at, pawl_error *err) {
  const pawl_task_get_row *row = &t->row;
  return PAWL_SEND(
      e->store, task_write, at, err, .shard = shard_of(e, t), .id = &t->id,
      .commits = row->commits,
      .was = pawl_strz(pawl_task_status_names[t->was]), .request = &c->request,
      .status = pawl_strz(pawl_task_status_names[t->status]),
      .priority = pawl_buf_some(&c->priority), .title = row->title,
      .description = row->description, .form = row->form, .input = row->input,
      .puts_off = puts_off(c), .due_at = c->due_us, .assignee = row->assignee,
      .delegated_by = row->delegated_by, .claimed_by = row->claimed_by,
      .claimed_at = row->claimed_at, .completed_by = row->completed_by,
      .completed_at = row->completed_at, .started_at = row->started_at,
      .escalated_at = t->escalated_us,
      .transition = pawl_buf_some(&t->transition), .output = row->output,
      .error = row->error, .metadata = row->metadata,
      .log = pawl_buf_str(&t->log), .now = pawl_store_now(e->store));
}

static pawl_code send_wake(pawl_engine *e, const task *t, pawl_error *err) {
  return PAWL_SEND(e->store, agenda_wake, NULL, err, .shard = shard_of(e, t),
                   .id = t->row.instance, .now = pawl_store_now(e->store));
}

/* What the token needs to go on; where it goes is for the holder to check, as
 * the instance may have moved. */
static void write_letter(const task *t, const change *c, pawl_buf *out) {
  const pawl_task_get_row *row = &t->row;
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "task", t->text);
  pawl_member_str(&o, "node", row->node);
  pawl_member_int(&o, "token", row->token);
  pawl_member_int(&o, "visit", row->visit);
  if (puts_off(c)) {
    pawl_member_textz(&o, "status", "put_off");
    if (c->due_us) pawl_member_int(&o, "due_us", c->due_us);
    pawl_object_end(&o);
    return;
  }
  pawl_member_textz(&o, "status", pawl_task_status_names[t->status]);
  if (row->output.len) pawl_member_json(&o, "output", row->output);
  if (t->transition.len)
    pawl_member_str(&o, "transition", pawl_buf_str(&t->transition));
  if (row->error.len) pawl_member_json(&o, "error", row->error);
  if (t->passed_over.len)
    pawl_member_str(&o, "instead_of", pawl_buf_str(&t->passed_over));
  pawl_object_end(&o);
}

/* The event id has the task's commits: a task that failed, was opened again
 * and completed has two letters. */
static pawl_code send_letter(pawl_engine *e, const task *t, const change *c,
                             pawl_error *err) {
  pawl_buf data = {.alloc = &e->alloc};
  char event_id[64];
  pawl_code rc = PAWL_OK;

  write_letter(t, c, &data);
  TRY(pawl_buf_check(&data, err));
  snprintf(event_id, sizeof event_id, "%s:%" PRId64, t->text,
           t->row.commits + 1);
  TRY(PAWL_SEND(e->store, task_letter, NULL, err, .shard = shard_of(e, t),
                .id = &t->id, .request = &c->request,
                .instance = t->row.instance, .event_id = pawl_strz(event_id),
                .by = pawl_buf_str(&c->by), .data = pawl_buf_str(&data),
                .now = pawl_store_now(e->store)));
out:
  pawl_buf_deinit(&data);
  return rc;
}

/* Behind the write, and by its request: when that lost the race, these change
 * nothing either. */
static pawl_code send_owners(pawl_engine *e, const task *t, const change *c,
                             pawl_error *err) {
  pawl_args *a = &e->args;

  if (c->kind == CHANGE_REASSIGN) { /* these instead of the present ones */
    MUST(PAWL_SEND(e->store, owner_clear, NULL, err, .shard = shard_of(e, t),
                   .task = &t->id, .request = &c->request));
  }
  pawl_args_begin(a, PAWL_STMT_owner_add);
  for (int i = 0; i < c->who.n; i++)
    PAWL_PUT(a, owner_add, .shard = shard_of(e, t), .task = &t->id,
             .request = &c->request, .kind = pawl_strz(c->who.list[i].kind),
             .id = pawl_who_name(&c->who, i));
  return pawl_store_send(e->store, a, NULL, err);
}

/* The names of what is another, with a new priority. */
static void tell_changes(const task *t, pawl_buf *out) {
  pawl_str to = none;

  for (pawl_json_iter it = {0};
       pawl_json_walk(pawl_buf_str(&t->changes), &it);) {
    if (out->len) pawl_buf_addz(out, ", ");
    pawl_buf_adds(out, it.key);
    if (!pawl_str_eqz(it.key, "priority")) continue;
    (void)pawl_json_get(it.value, "to", &to);
    pawl_buf_addz(out, " to ");
    pawl_json_unquote(to, out);
  }
}

/* "to bob, instead of ann: she is ill"; "title, due, priority to urgent" */
static void tell_deed(const task *t, const change *c, pawl_buf *out) {
  if (c->kind == CHANGE_EDIT) tell_changes(t, out);
  if (c->to.len) pawl_buf_addf(out, "to %s", c->to.at);
  if (c->priority.len && c->kind == CHANGE_ESCALATE)
    pawl_buf_addf(out, "to %s", c->priority.at);
  if (t->passed_over.len)
    pawl_buf_addf(out, "%sinstead of %s", out->len ? ", " : "",
                  t->passed_over.at);
  if (!c->reason.len || pawl_json_kind_of(c->reason) != PAWL_JSON_STRING)
    return;
  if (out->len) pawl_buf_addz(out, ": ");
  pawl_json_unquote(c->reason, out);
}

static pawl_code send_deed(pawl_engine *e, const task *t, const change *c,
                           pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_id id;
  pawl_code rc = PAWL_OK;

  if (!deeds[c->kind]) return PAWL_OK;
  tell_deed(t, c, &text);
  TRY(pawl_buf_check(&text, err));
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &id, err));
  TRY(PAWL_SEND(e->store, audit_task, NULL, err, .shard = shard_of(e, t),
                .id = &id, .task = &t->id, .request = &c->request,
                .type = pawl_strz(deeds[c->kind]), .by = pawl_buf_some(&c->by),
                .text = pawl_buf_some(&text),
                .now = pawl_store_now(e->store)));
out:
  pawl_buf_deinit(&text);
  return rc;
}

static int tells_instance(const change *c) {
  return ends(c) || puts_off(c);
}

static int names_owners(const change *c) {
  return c->who.n &&
         (c->kind == CHANGE_REASSIGN || c->kind == CHANGE_ESCALATE);
}

/* One trip. *done 0: somebody else was first, and nothing has happened. */
static pawl_code write_unit(pawl_engine *e, const task *t, const change *c,
                            int *done, pawl_error *err) {
  pawl_rows rows;
  int written, tells = tells_instance(c);
  pawl_code rc = PAWL_OK;

  assert(ends(c) == (t->status == PAWL_TASK_COMPLETED ||
                     t->status == PAWL_TASK_FAILED)); /* T2 */
  TRY(pawl_store_begin(e->store, PAWL_UNIT_BATCH, err));
  if (tells) TRY(send_wake(e, t, err)); /* T2: the agenda row first */
  TRY(send_write(e, t, c, &written, err));
  if (tells) TRY(send_letter(e, t, c, err));
  if (names_owners(c)) TRY(send_owners(e, t, c, err));
  TRY(send_deed(e, t, c, err));
  TRY(pawl_store_commit(e->store, err));
  pawl_store_rows(e->store, written, &rows);
  *done = rows.changed > 0;
  return PAWL_OK;
out:
  pawl_store_rollback(e->store);
  return rc;
}

/* *done 0: somebody else was first. */
static pawl_code apply_once(pawl_engine *e, task *t, const change *c,
                            int *done, pawl_error *err) {
  int64_t now = pawl_engine_now(e);
  int write = 1;

  *done = 1;
  MUST(read_task(e, c, t, err));
  if (t->row.request && pawl_id_eq(t->row.request, &c->request))
    return PAWL_OK; /* its answer was lost, but it was done */
  if (t->row.away) return pawl_instance_away(t->row.instance, err);
  MUST(decide(e, t, c, now, &write, err));
  if (!write) return PAWL_OK;
  MUST(log_change(t, c, now, err));
  return write_unit(e, t, c, done, err);
}

/* Reads, decides and writes, until it is done or refused. */
static pawl_code apply(pawl_engine *e, task *t, const change *c,
                       pawl_error *err) {
  pawl_code rc = PAWL_OK;
  int done = 0;

  for (int tries = 0; tries < TRIES; tries++) {
    rc = apply_once(e, t, c, &done, err);
    if (rc == PAWL_OK ? done : rc != PAWL_BUSY && rc != PAWL_UNREACHABLE)
      return rc;
  }
  if (rc != PAWL_OK) return rc;
  return pawl_fail(err, PAWL_BUSY, "task %s is changed by others all the time",
                   t->text);
}

/* ---- the whole change ---- */

static void deinit_change(change *c) {
  pawl_options_deinit(&pawl_options_of_task_change, c);
  pawl_buf_deinit(&c->error);
  pawl_buf_deinit(&c->who.text);
}

pawl_code pawl_act_task(pawl_engine *e, const pawl_id *id, pawl_str action,
                        pawl_error *err) {
  const pawl_buf empty = {.alloc = &e->alloc};
  change c;
  task t = {.id = *id,
            .keep = empty,
            .for_whom = empty,
            .passed_over = empty,
            .changes = empty,
            .transition = empty,
            .log = empty};
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_task_change, &c, sizeof c, &e->alloc);
  c.error.alloc = c.who.text.alloc = &e->alloc;
  pawl_id_format(id, t.text);
  TRY(read_change(e, action, &c, err));
  TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &c.request, err));
  TRY(apply(e, &t, &c, err));
  /* where the token goes may be a handler's to say: that is for workers */
  if (tells_instance(&c)) pawl_wake(e);
out:
  task_deinit(&t);
  deinit_change(&c);
  return rc;
}
