/* One instance is changed from outside: what is asked for is read, checked
 * against where the instance stands now, and put into a letter. Whoever holds
 * it checks again: it may have moved on. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/fault.h"
#include "../../rules/stored.h"
#include "../../rules/trim.h"
#include "../../value/options.h"
#include "../../value/types.h"
#include "../common/answer.h"
#include "../common/find.h"
#include "../versions/crossing.h"
#include "../versions/versions.h"
#include "act.h"
#include "past.h"
#include "standing.h"

/* An instance as somebody who wants to change it sees it. */
typedef struct subject {
  pawl_id id;
  int shard, undoing;
  pawl_standing status;
  pawl_repair_state_row row; /* .stopped: where it stood when it failed */
  pawl_buf keep;             /* what the row borrows */
} subject;

/* ---- what may be asked for ---- */

enum {
  CANCEL = 1,
  KILL = 2,
  WAKE = 4,
  SUSPEND = 8,
  RESUME = 16,
  RETRY = 32,
  RESTART = 64,
  MOVE = 128,
  EDIT = 256,
  SHIFT = 512,
  TRANSFER = 1024,
  NOTE = 2048,
  DELETE = 4096,
  UNDELETE = 8192,
  PURGE = 16384,
  CARRY = 32768,
  RECLAIM = 65536,
  ARCHIVE = 131072,
  UNARCHIVE = 262144,
  CONTINUE = 524288,
  STEP = 1048576
};

/* In the order of their bits. */
static const char *const change_kinds[] = {
    "cancel",    "kill",     "wake",  "suspend", "resume",   "retry",
    "restart",   "move",     "edit",  "shift",   "transfer", "note",
    "delete",    "undelete", "purge", "carry",   "reclaim",  "archive",
    "unarchive", "continue", "step"};

static const char *const sources[] = {"user", "event", "system"};

typedef struct change {
  uint64_t given;
  pawl_buf by;
  pawl_id request;
  int which, source, force, dry_run;
  /* as JSON; at NULL: not given */
  pawl_str reason, cancel, compensate, event_id, nodes, at_us, shift, token,
      from, to, seq, lasts_us, set, unset, for_us, to_version, map, variables,
      if_commits, text, data, keep_attributes;
  unsigned kind;
  const char *kind_name;
  const pawl_act_list *of; /* who is changed is one of it; NULL: by its id */
} change;

/* What is told goes into the letter as it was given, under the same name. */
#define TOLD(member, shape) \
#member, PAWL_OPTION_##shape, .at = offsetof(change, member), .raw = 1
enum { ROW_REQUEST };
static const pawl_option change_rows[] = {
    {"request", PAWL_OPTION_ID, .at = offsetof(change, request)},
    {"dry_run", PAWL_OPTION_BOOL, .at = offsetof(change, dry_run)},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(change, by), .high = PAWL_MAX_BY},
    {"source", PAWL_OPTION_CHOICE, .at = offsetof(change, source),
     .names = sources, .high = 3},
    {TOLD(reason, TEXT), .high = PAWL_MAX_REASON,
     .kinds = ~(unsigned)NOTE}, /* it has its text */
    {TOLD(cancel, BOOL), .kinds = DELETE},
    {TOLD(compensate, BOOL), .kinds = CANCEL | DELETE},
    {TOLD(event_id, TEXT), .high = PAWL_MAX_EVENT_ID, .kinds = CANCEL},
    {TOLD(nodes, LIST), .low = 1, .kinds = WAKE | CONTINUE | STEP},
    {TOLD(at_us, TIME), .kinds = WAKE},
    {TOLD(shift, BOOL), .kinds = RESUME},
    {TOLD(token, INT), .low = 1, .kinds = RETRY | MOVE | CONTINUE | STEP},
    {TOLD(lasts_us, SPAN), .low = 1, .kinds = STEP},
    {TOLD(from, TEXT), .kinds = RESTART, .needed = RESTART},
    {TOLD(to, TEXT), .kinds = MOVE, .needed = MOVE},
    {TOLD(seq, INT), .low = 1, .kinds = RESTART},
    {TOLD(set, OBJECT), .kinds = EDIT},
    {TOLD(unset, LIST), .kinds = EDIT},
    {TOLD(for_us, SPAN), .kinds = SHIFT, .needed = SHIFT},
    {TOLD(to_version, INT), .kinds = TRANSFER, .needed = TRANSFER},
    {TOLD(map, OBJECT), .kinds = TRANSFER},
    {TOLD(variables, OBJECT), .kinds = TRANSFER},
    {TOLD(if_commits, INT), .kinds = EDIT | TRANSFER},
    {TOLD(keep_attributes, BOOL), .kinds = PURGE},
    {TOLD(text, TEXT), .kinds = NOTE, .needed = NOTE},
    {TOLD(data, ANY), .kinds = NOTE},
    {"force", PAWL_OPTION_BOOL, .at = offsetof(change, force),
     .kinds = PURGE | ARCHIVE}};
PAWL_OPTIONS_OF(change) = {.what = "change",
                           PAWL_OPTION_ROWS(change_rows),
                           PAWL_OPTION_KINDS(change_kinds),
                           .kind_at = offsetof(change, which)};

static const pawl_id *request_of(const change *c) {
  return PAWL_OPTION_GIVEN(c, ROW_REQUEST) ? &c->request : NULL;
}

static pawl_code read_change(change *c, pawl_str text, pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_change, text, c, err));
  assert(c->which >= 0 &&
         c->which < (int)(sizeof change_kinds / sizeof *change_kinds));
  c->kind = 1u << c->which;
  c->kind_name = change_kinds[c->which];
  return PAWL_OK;
}

/* ---- where the instance stands ---- */

/* But for its attributes. */
static int is_purged(const pawl_rows *r) {
  const pawl_repair_state_row row = pawl_read_repair_state(r, 0);
  return row.archived_at && row.purge_at;
}

/* One that was purged is there for a purge alone, of what has stayed. */
static pawl_code look(pawl_engine *e, const change *c, subject *s,
                      pawl_error *err) {
  pawl_rows r;

  s->shard = pawl_shard_of(e, &s->id);
  MUST(PAWL_READ(e->store, repair_state, &r, err, .shard = s->shard,
                 .id = &s->id));
  if (!r.nrows || (is_purged(&r) && c->kind != PURGE))
    return pawl_instance_missing(&s->id, err);
  MUST(PAWL_KEEP(repair_state, &r, &s->keep, err));
  s->row = *PAWL_KEPT(repair_state, &s->keep);
  if (!pawl_status_parse(s->row.status, &s->status))
    return pawl_fail(err, PAWL_CORRUPT, "an instance with an unknown status");
  s->undoing = pawl_compensation_is_under_way(s->row.compensation);
  return PAWL_OK;
}

/* ---- and is it one of the list? ---- */

/* What it did is undone, and that ends as a cancel does. */
static int is_cancelled(const subject *s) {
  pawl_str end;
  return s->undoing && pawl_json_get(s->row.compensation, "end", &end) &&
         pawl_str_eqz(end, "\"cancelled\"");
}

static int is_listed(const pawl_act_list *of, const subject *s) {
  return (of->statuses >> s->status & 1u) &&
         of->archived == (s->row.archived_at != 0) &&
         of->deleted == (s->row.deleted != 0) &&
         !(of->cancels && is_cancelled(s)) &&
         (of->purged || !(s->row.archived_at && s->row.purge_at));
}

static pawl_code fail_left(const pawl_id *id, pawl_error *err) {
  return pawl_fail(err, PAWL_NOTFOUND,
                   "instance %s is not in the list any more",
                   pawl_id_text_of(id).at);
}

static pawl_code check_listed(const change *c, const subject *s,
                              pawl_error *err) {
  return !c->of || is_listed(c->of, s) ? PAWL_OK : fail_left(&s->id, err);
}

pawl_code pawl_act_is_listed(pawl_engine *e, const pawl_act_list *of,
                             const pawl_id *id, int *yes, pawl_error *err) {
  const change none = {.which = 0};
  subject s = {.id = *id, .keep = {.alloc = &e->alloc}};
  pawl_code rc = look(e, &none, &s, err);

  *yes = rc == PAWL_OK && is_listed(of, &s);
  pawl_buf_deinit(&s.keep);
  return rc == PAWL_NOTFOUND ? PAWL_OK : rc;
}

/* ---- checks ---- */

/* A node of the instance's own graph: a slip in a name is told to whoever
 * asks, not found by the one who takes the letter. */
static pawl_code find_node(pawl_engine *e, const pawl_def *def,
                           pawl_str quoted, int *at, pawl_error *err) {
  pawl_buf name = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  pawl_json_unquote(quoted, &name);
  TRY(pawl_buf_check(&name, err));
  TRY(pawl_graph_node(def, pawl_buf_str(&name), at, err));
out:
  pawl_buf_deinit(&name);
  return rc;
}

/* Where a token can be put: a boundary begins with what it is on. */
static pawl_code find_place(pawl_engine *e, const pawl_def *def,
                            pawl_str quoted, pawl_error *err) {
  int at;

  MUST(find_node(e, def, quoted, &at, err));
  const pawl_node *node = &def->nodes[at];
  if (node->host < 0) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID, "node \"%s\" begins with \"%s\", beside that",
            node->name, node->on);
  pawl_error_hint(err, "name \"%s\", and it begins anew", node->on);
  return PAWL_INVALID;
}

static pawl_code check_nodes(pawl_engine *e, const change *c,
                             const pawl_def *def, pawl_error *err) {
  int at;

  if (c->from.at) MUST(find_place(e, def, c->from, err));
  if (c->to.at) MUST(find_place(e, def, c->to, err));
  if (!c->nodes.at) return PAWL_OK;
  for (pawl_json_iter it = {0}; pawl_json_walk(c->nodes, &it);)
    MUST(find_node(e, def, it.value, &at, err));
  return PAWL_OK;
}

/* A boundary cannot be moved: it goes with what it is on. */
static int may_be(const change *c, const pawl_place *at) {
  return c->kind != MOVE || !at->host;
}

/* "it stands at "a" (token 2), "b" (token 3)" */
static void tell_places(const change *c, const pawl_places *p,
                        pawl_error *err) {
  char text[200] = "";
  size_t len = 0;

  for (int i = 0; i < p->n && len + 60 < sizeof text; i++) {
    if (!may_be(c, &p->at[i])) continue;
    len += (size_t)snprintf(text + len, sizeof text - len,
                            "%s\"%.30s\" (token %" PRId32 ")", len ? ", " : "",
                            p->at[i].node ? p->at[i].node : "", p->at[i].no);
  }
  if (len) pawl_error_hint(err, "it stands at %s", text);
}

static int count_places(const change *c, const pawl_places *p) {
  int n = 0;

  for (int i = 0; i < p->n; i++) n += may_be(c, &p->at[i]);
  return n;
}

static pawl_code refuse_boundary(const change *c, const subject *s,
                                 const pawl_places *p, const pawl_place *at,
                                 pawl_error *err) {
  pawl_fail(err, PAWL_CONFLICT,
            "token %" PRId32
            " of instance %s is the boundary \"%.60s\", "
            "which goes with what it is beside",
            at->no, pawl_id_text_of(&s->id).at, at->node ? at->node : "");
  tell_places(c, p, err);
  return PAWL_CONFLICT;
}

/* Where several tokens live, moving "the" token would be a guess: so it has to
 * be named. */
static pawl_code check_token(const change *c, const subject *s,
                             const pawl_places *p, pawl_error *err) {
  int64_t no = 0;

  if (!c->token.at) {
    const int n = count_places(c, p);
    if (c->kind != MOVE || n == 1) return PAWL_OK;
    pawl_fail(err, PAWL_CONFLICT,
              n ? "instance %s stands in %d places: say which `token` to move"
                : "instance %s stands nowhere yet",
              pawl_id_text_of(&s->id).at, n);
    tell_places(c, p, err);
    return PAWL_CONFLICT;
  }
  (void)pawl_json_int(c->token, &no);
  for (int i = 0; i < p->n; i++)
    if (p->at[i].no == no)
      return may_be(c, &p->at[i]) ? PAWL_OK
                                  : refuse_boundary(c, s, p, &p->at[i], err);
  pawl_fail(err, PAWL_CONFLICT, "instance %s has no live token %" PRId64,
            pawl_id_text_of(&s->id).at, no);
  tell_places(c, p, err);
  return PAWL_CONFLICT;
}

static pawl_code refuse_status(const subject *s, const char *what,
                               pawl_error *err) {
  return pawl_fail(err, PAWL_CONFLICT, "instance %s %s; it is %s",
                   pawl_id_text_of(&s->id).at, what,
                   pawl_status_name(s->status));
}

/* Will it be suspended once what lies in its inbox has been taken? */
static pawl_code find_suspend(pawl_engine *e, const subject *s, int *found,
                              pawl_error *err) {
  pawl_rows r;

  *found = 0;
  MUST(PAWL_READ(e->store, inbox_load, &r, err, .shard = s->shard,
                 .id = &s->id, .events = 0, .others = 1000));
  for (int k = 0; k < r.nrows; k++) {
    pawl_str kind = pawl_read_inbox_load(&r, k).kind;
    if (pawl_str_eqz(kind, "suspend")) *found = 1;
    if (pawl_str_eqz(kind, "resume")) *found = 0;
  }
  return PAWL_OK;
}

/* What is not suspended may be about to be: then the two follow each other. */
static pawl_code check_resume(pawl_engine *e, const subject *s,
                              pawl_error *err) {
  int found = s->status == PAWL_STATUS_SUSPENDED;

  if (!found) MUST(find_suspend(e, s, &found, err));
  if (!found) return refuse_status(s, "cannot be resumed", err);
  return PAWL_OK;
}

/* It has failed: is there a place for it to go on from? */
static pawl_code check_stopped(const change *c, const subject *s,
                               pawl_error *err) {
  if (s->row.stopped.len) return PAWL_OK;
  refuse_status(
      s,
      c->kind == RETRY
          ? "cannot be retried: it ended at a finish, or what it "
            "had done was undone"
          : "cannot be transferred: it ended at a finish, or what it had "
            "done was undone, and nothing says where it stood",
      err);
  pawl_error_hint(err, "restart it from a node");
  return PAWL_CONFLICT;
}

/* It has ended, and not so that it could go on. */
static pawl_code refuse_revival(const subject *s, pawl_error *err) {
  (void)pawl_act_ended(&s->id, s->status, err);
  pawl_error_hint(err, s->status == PAWL_STATUS_CANCELLED
                           ? "what was cancelled or killed does not go on: "
                             "start another one"
                           : "restart it from a node");
  return PAWL_ALREADY_FINISHED;
}

/* The caller has seen it after so many commits, and means what he saw. */
static pawl_code check_expected(const subject *s, pawl_str expected,
                                pawl_error *err) {
  int64_t commits;

  if (!expected.at || !pawl_json_int(expected, &commits) ||
      commits == s->row.commits)
    return PAWL_OK;
  return pawl_fail_hint(err, PAWL_CONFLICT, "look at it again, then decide",
                        "instance %s has changed meanwhile: it made %" PRId64
                        " commits, not %" PRId64,
                        pawl_id_text_of(&s->id).at, s->row.commits, commits);
}

/* ---- delete, undelete, purge ---- */

/* It cannot be cancelled here: only a kill ends what stands still. */
static pawl_code refuse_away(const change *c, const subject *s,
                             pawl_error *err) {
  pawl_fail(err, PAWL_CONFLICT,
            "instance %s cannot be %s while it lives; it was carried to "
            "another store",
            pawl_id_text_of(&s->id).at,
            c->kind == DELETE  ? "deleted"
            : c->kind == PURGE ? "purged"
                               : "archived");
  pawl_error_hint(err,
                  "kill it, then %s it; `pawl reclaim` takes it back, if it "
                  "was never imported",
                  c->kind_name);
  return PAWL_CONFLICT;
}

static pawl_code check_delete(const change *c, const subject *s,
                              pawl_error *err) {
  if (pawl_status_has_ended(s->status)) return PAWL_OK;
  if (s->row.away.len) return refuse_away(c, s, err);
  if (pawl_str_eqz(c->cancel, "true")) return PAWL_OK;
  refuse_status(s, "cannot be deleted while it lives", err);
  pawl_error_hint(err, "cancel it first, or delete it with `cancel`");
  return PAWL_CONFLICT;
}

/* Somebody may have begun another with its key. The store refuses it then, too:
 * this is to say with which. */
static pawl_code check_key(pawl_engine *e, const subject *s, pawl_error *err) {
  pawl_rows r;

  if (!s->row.deleted || !s->row.key.len || s->row.successor) return PAWL_OK;
  MUST(PAWL_READ(e->store, instance_by_key, &r, err, .shard = s->shard,
                 .workflow = s->row.workflow, .tenant = s->row.tenant,
                 .key = s->row.key));
  if (!r.nrows) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_CONFLICT, "delete that one, then undelete this one",
      "instance %s cannot be undeleted: its key \"%.*s\" is that of instance "
      "%s now",
      pawl_id_text_of(&s->id).at, (int)s->row.key.len, s->row.key.at,
      pawl_id_text_of(pawl_read_instance_by_key(&r, 0).id).at);
}

static pawl_code check_undelete(pawl_engine *e, const subject *s,
                                pawl_error *err) {
  if (s->row.purge_at)
    return pawl_fail_hint(err, PAWL_CONFLICT,
                          "purge it again, to have the rest go",
                          "instance %s is being purged: parts of it are gone",
                          pawl_id_text_of(&s->id).at);
  if (!s->row.deletion.len) return refuse_status(s, "is not deleted", err);
  return check_key(e, s, err);
}

static pawl_code check_purge(pawl_engine *e, const change *c, const subject *s,
                             pawl_error *err) {
  const int purges = c->kind == PURGE;

  if (s->row.purge_at) return PAWL_OK; /* it has begun */
  if (pawl_status_has_ended(s->status))
    return pawl_purge_check(e, &s->id, s->row.parent, c->force,
                            purges ? "purged" : "archived", err);
  if (s->row.away.len) return refuse_away(c, s, err);
  refuse_status(s,
                purges ? "cannot be purged while it lives"
                       : "cannot be archived while it lives",
                err);
  pawl_error_hint(err, "cancel it first");
  return PAWL_CONFLICT;
}

/* ---- carry and reclaim ---- */

/* What it says when it ends is said here: so who waits for that goes first. */
static pawl_code check_parent(pawl_engine *e, const subject *s,
                              pawl_error *err) {
  pawl_rows r;

  if (!s->row.parent) return PAWL_OK;
  MUST(PAWL_READ(e->store, carry_parent, &r, err,
                 .shard = pawl_shard_of(e, s->row.parent),
                 .id = s->row.parent));
  if (!r.nrows) return PAWL_OK;
  return pawl_fail_hint(
      err, PAWL_CONFLICT, "carry its parent away first, and it with that",
      "instance %s is a child of %s, which goes on here",
      pawl_id_text_of(&s->id).at, pawl_id_text_of(s->row.parent).at);
}

/* Of one that is away; of one that is not, what only those can be asked for. */
static pawl_code check_away(pawl_engine *e, const change *c, const subject *s,
                            pawl_error *err) {
  const int is_away = s->row.away.len > 0;

  if (c->kind == RECLAIM && !is_away)
    return refuse_status(s, "is not away", err);
  if (c->kind == CARRY) return is_away ? PAWL_OK : check_parent(e, s, err);
  if (!is_away ||
      (c->kind & (RECLAIM | NOTE | KILL | DELETE | UNDELETE | PURGE)))
    return PAWL_OK;
  return pawl_instance_away(&s->id, err);
}

/* What may be done with one in the archive; asked for twice, it is done. */
static pawl_code check_archived(const change *c, const subject *s,
                                pawl_error *err) {
  return c->kind & (ARCHIVE | UNARCHIVE | PURGE)
             ? PAWL_OK
             : pawl_instance_archived(&s->id, err);
}

/* What throws it away, and what would set a deleted one going. */
static pawl_code check_removal(pawl_engine *e, const change *c,
                               const subject *s, pawl_error *err) {
  if (c->kind == UNDELETE) return check_undelete(e, s, err);
  if (c->kind == UNARCHIVE) return refuse_status(s, "is not archived", err);
  if (c->kind == PURGE) return check_purge(e, c, s, err);
  if (s->row.deleted) return pawl_act_deleted(&s->id, err);
  if (c->kind == ARCHIVE) return check_purge(e, c, s, err);
  return c->kind == DELETE ? check_delete(c, s, err) : PAWL_OK;
}

/* What a kind needs of the status. Who takes the letter decides for good; this
 * is so that most refusals come with the call, and not as a row of history. */
static pawl_code check_status(pawl_engine *e, const change *c,
                              const subject *s, pawl_error *err) {
  int ended = pawl_status_has_ended(s->status);

  if (s->row.archived_at) return check_archived(c, s, err);
  MUST(check_removal(e, c, s, err));
  MUST(check_away(e, c, s, err));
  if (c->kind & (DELETE | UNDELETE | PURGE | NOTE | CARRY | RECLAIM | ARCHIVE))
    return PAWL_OK;
  if ((c->kind & (RETRY | RESTART)) && s->row.successor)
    return pawl_act_succeeded(&s->id, s->row.successor, err);
  if ((c->kind & (RETRY | TRANSFER)) && s->status == PAWL_STATUS_FAILED)
    return check_stopped(c, s, err);
  if (c->kind == RESTART || c->kind == RETRY) {
    if (s->status == PAWL_STATUS_FAILED || s->status == PAWL_STATUS_SUSPENDED)
      return PAWL_OK;
    if (c->kind == RESTART && s->status == PAWL_STATUS_COMPLETED)
      return PAWL_OK;
    if (ended) return refuse_revival(s, err);
    refuse_status(s,
                  c->kind == RETRY ? "has not failed and is not suspended"
                                   : "has not ended and is not suspended",
                  err);
    pawl_error_hint(err, c->kind == RETRY
                             ? "wake it, to have it tried now"
                             : "suspend it first, or move its token");
    return PAWL_CONFLICT;
  }
  if (ended) return pawl_act_ended(&s->id, s->status, err);
  if (c->kind == SUSPEND && s->status == PAWL_STATUS_SUSPENDED)
    return refuse_status(s, "need not be suspended", err);
  return c->kind == RESUME ? check_resume(e, s, err) : PAWL_OK;
}

/* ---- edit ---- */

/* What the workflow declares of them; where nobody knows it, who takes the
 * letter does. */
static pawl_code check_declared(pawl_engine *e, const subject *s,
                                pawl_str vars, pawl_error *err) {
  pawl_def *def = NULL;
  pawl_error unknown;
  int own = 0;
  pawl_code rc = PAWL_OK;

  if (pawl_graph_find(e, s->row.workflow.at, s->row.version, &def, &own,
                      &unknown) != PAWL_OK)
    return PAWL_OK;
  if (def->variables.at)
    rc = pawl_types_fit_present(def->variables, s->row.variables, vars, "vars",
                                err);
  if (own) pawl_def_free(def);
  return rc;
}

/* Applied to the variables of this moment, for their size and kinds alone: the
 * one who takes the letter applies it to those that he finds. */
static pawl_code check_edit(pawl_engine *e, const change *c, const subject *s,
                            pawl_error *err) {
  pawl_buf delta = {.alloc = &e->alloc}, vars = {.alloc = &e->alloc};
  pawl_object o;
  pawl_code rc = PAWL_OK;

  if (!c->set.at && !c->unset.at)
    return pawl_fail(err, PAWL_INVALID,
                     "an edit needs `set`, `unset` or both");
  TRY(check_expected(s, c->if_commits, err));
  pawl_object_begin(&o, &delta);
  if (c->set.at) pawl_member_json(&o, "set", c->set);
  if (c->unset.at) pawl_member_json(&o, "unset", c->unset);
  pawl_object_end(&o);
  TRY(pawl_buf_check(&delta, err));
  pawl_json_apply(s->row.variables, pawl_buf_str(&delta), &vars);
  TRY(pawl_buf_check(&vars, err));
  /* as a commit would refuse it, but before there is a letter that nobody can
   * take */
  TRY(pawl_check_bytes(e, "the variables would have", vars.len, err));
  TRY(check_declared(e, s, pawl_buf_str(&vars), err));
out:
  pawl_buf_deinit(&delta);
  pawl_buf_deinit(&vars);
  return rc;
}

static pawl_code check_note(pawl_engine *e, const change *c, pawl_error *err) {
  pawl_buf text = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  pawl_json_unquote(c->text, &text);
  TRY(pawl_buf_check(&text, err));
  if (text.len < 1 || text.len > PAWL_MAX_NOTE || memchr(text.at, 0, text.len))
    TRY(pawl_fail(err, PAWL_INVALID,
                  "option `text` of a note must have 1 to %d bytes, none of "
                  "them zero; it has %zu",
                  PAWL_MAX_NOTE, text.len));
  TRY(pawl_check_bytes(e, "the data would have", c->data.len, err));
out:
  pawl_buf_deinit(&text);
  return rc;
}

static pawl_code tell_cannot(const pawl_buf *why, pawl_error *err) {
  if (!why->len) return PAWL_OK;
  return pawl_fail(err, PAWL_CONFLICT,
                   "the instance cannot be transferred: %s", why->at);
}

/* Every token has to have a place on the other side, and no step may get lost
 * that would have to be undone. */
static pawl_code check_crossing(pawl_engine *e, const subject *s,
                                const pawl_crossing *c, const pawl_places *p,
                                pawl_error *err) {
  pawl_buf why = {.alloc = &e->alloc};
  pawl_places lost = {0};
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < p->n && !why.len; i++)
    TRY(pawl_crossing_check(c, &p->at[i], &why, err));
  TRY(tell_cannot(&why, err));
  TRY(pawl_crossing_lost(e, c, s->shard, &s->id, 1, &lost, err));
  if (lost.n) pawl_crossing_tell_lost(c, &lost.at[0], &why);
  TRY(pawl_buf_check(&why, err));
  TRY(tell_cannot(&why, err));
out:
  pawl_buf_deinit(&why);
  pawl_places_deinit(&e->world, &lost);
  return rc;
}

static pawl_code check_transfer(pawl_engine *e, const change *c,
                                const subject *s, const pawl_places *p,
                                pawl_error *err) {
  pawl_crossing crossing = {.map = c->map};
  int64_t version = 0;
  pawl_code rc = PAWL_OK;

  (void)pawl_json_int(c->to_version, &version);
  TRY(check_expected(s, c->if_commits, err));
  TRY(pawl_check_bytes(e, "the variables would have", c->variables.len, err));
  if (s->undoing) return refuse_status(s, "is being undone", err);
  if (version == s->row.version)
    return pawl_fail(err, PAWL_CONFLICT,
                     "the instance runs version %" PRId64 " already", version);
  TRY(pawl_crossing_open(e, s->row.workflow.at, s->row.version, version,
                         &crossing, err));
  TRY(check_crossing(e, s, &crossing, p, err));
out:
  pawl_crossing_close(&crossing);
  return rc;
}

/* An item's step needs its item: an each is restarted as a whole. */
static pawl_code check_restart(pawl_engine *e, const change *c,
                               const pawl_def *def, pawl_error *err) {
  int at, each;

  MUST(find_node(e, def, c->from, &at, err));
  each = pawl_def_each_around(def, at);
  if (each < 0) return PAWL_OK;
  pawl_fail(err, PAWL_INVALID,
            "node \"%s\" is in the branch of each \"%s\": by itself it "
            "has no item",
            def->nodes[at].name, def->nodes[each].name);
  pawl_error_hint(err, "restart from \"%s\", which runs all of its items",
                  def->nodes[each].name);
  return PAWL_INVALID;
}

/* The version of one that has ended may have been replaced since, by contents
 * that undo things: of what was trimmed nobody knows what was done. */
static pawl_code refuse_undo(const change *c, const subject *s,
                             const pawl_def *def, pawl_error *err) {
  if (!pawl_def_has_undo(def)) return PAWL_OK;
  pawl_fail(
      err, PAWL_CONFLICT,
      "instance %s cannot be %s: its history was trimmed, and version "
      "%" PRId64 " of \"%s\" undoes things by now, which needs all of it",
      pawl_id_text_of(&s->id).at, c->kind == RETRY ? "retried" : "restarted",
      s->row.version, def->code);
  pawl_error_hint(err,
                  "deploy that version as it was, with `keep_history`; what "
                  "undoes is to have a version of its own");
  return PAWL_CONFLICT;
}

static pawl_code check_undo(pawl_engine *e, const change *c, const subject *s,
                            pawl_error *err) {
  pawl_def *def = NULL;
  pawl_rows r;
  int own = 0;
  pawl_code rc = PAWL_OK;

  if (!(c->kind & (RETRY | RESTART)) || !pawl_status_has_ended(s->status))
    return PAWL_OK;
  MUST(PAWL_READ(e->store, history_trimmed, &r, err, .shard = s->shard,
                 .id = &s->id));
  if (!r.nrows) return PAWL_OK;
  TRY(pawl_graph_find(e, s->row.workflow.at, s->row.version, &def, &own, err));
  TRY(refuse_undo(c, s, def, err));
out:
  if (own) pawl_def_free(def);
  return rc;
}

/* ---- what waits for a time, what has halted ---- */

static pawl_meant meant_by(const change *c, const pawl_places *p) {
  pawl_meant m = {.places = p, .nodes = c->nodes};

  (void)pawl_json_int(c->token, &m.token);
  return m;
}

/* One that is named is looked at, whatever it waits for; among many only those
 * are meant that wait for a time. */
static pawl_code check_wake(pawl_engine *e, const change *c, const subject *s,
                            const pawl_places *p, const pawl_def *def,
                            pawl_error *err) {
  const pawl_meant m = meant_by(c, p);
  pawl_has_time has;

  MUST(pawl_standing_time(e, &m, def, s->row.begins_at != 0, &has, err));
  if (has == PAWL_TIMED) return PAWL_OK;
  pawl_fail(err, PAWL_CONFLICT, "instance %s waits for no time%s",
            pawl_id_text_of(&s->id).at, c->nodes.at ? " there" : "");
  pawl_error_hint(err,
                  has == PAWL_TIMELESS
                      ? "`pawl explain` says what it waits for"
                      : "name the `node`, to end what waits for children");
  return PAWL_CONFLICT;
}

/* One that steps will halt before its next node: it can go on, and cannot be
 * told to step. */
static pawl_code check_halted(pawl_engine *e, const change *c,
                              const subject *s, const pawl_places *p,
                              pawl_error *err) {
  const pawl_meant m = meant_by(c, p);
  pawl_buf which = {.alloc = &e->alloc};
  int n;
  pawl_code rc = PAWL_OK;

  TRY(pawl_standing_halted(e, &m, c->kind == CONTINUE, &n, &which, err));
  if (!n)
    TRY(refuse_status(s, "does not stand at a breakpoint", err));
  else if (n > 1 && c->kind == STEP)
    TRY(pawl_fail(err, PAWL_CONFLICT,
                  "several tokens stand at breakpoints: %s; say which `node`, "
                  "or `token`",
                  which.at));
out:
  pawl_buf_deinit(&which);
  return rc;
}

/* Names are checked by it, and who waits for children is known by it. */
static int needs_graph(const change *c) {
  if (c->kind == WAKE) return c->nodes.at || c->of;
  return c->kind != RETRY && (!(c->kind & (CONTINUE | STEP)) || c->nodes.at);
}

/* *def stays NULL where nobody knows it any more, and a wake-up can do without:
 * who takes the letter looks. */
static pawl_code find_graph(pawl_engine *e, const change *c, const subject *s,
                            pawl_def **def, int *own, pawl_error *err) {
  pawl_code rc;

  if (!needs_graph(c)) return PAWL_OK;
  rc = pawl_graph_find(e, s->row.workflow.at, s->row.version, def, own, err);
  return rc == PAWL_NOTFOUND && c->kind == WAKE && !c->nodes.at ? PAWL_OK : rc;
}

/* Everything that needs the instance's graph and its tokens. */
static pawl_code check_graph(pawl_engine *e, const change *c, const subject *s,
                             pawl_error *err) {
  pawl_def *def = NULL;
  pawl_places places = {0};
  int own = 0;
  pawl_code rc = PAWL_OK;

  if (!(c->kind &
        (WAKE | RETRY | RESTART | MOVE | TRANSFER | CONTINUE | STEP)))
    return PAWL_OK;
  TRY(pawl_places_load(e, s->shard, &s->id, 1, &places, err));
  if (c->kind == TRANSFER)
    TRY(pawl_places_stopped(&e->world, &s->id, s->row.stopped, &places, err));
  if (!pawl_status_has_ended(s->status)) TRY(check_token(c, s, &places, err));
  TRY(check_undo(e, c, s, err));
  TRY(find_graph(e, c, s, &def, &own, err));
  if (def) TRY(check_nodes(e, c, def, err));
  if (c->kind == WAKE && c->of && def)
    TRY(check_wake(e, c, s, &places, def, err));
  if (c->kind & (CONTINUE | STEP)) TRY(check_halted(e, c, s, &places, err));
  if (c->kind == RESTART) TRY(check_restart(e, c, def, err));
  if (c->kind == TRANSFER) TRY(check_transfer(e, c, s, &places, err));
out:
  if (own) pawl_def_free(def);
  pawl_places_deinit(&e->world, &places);
  return rc;
}

/* ---- the letter ---- */

/* A restart goes on with the variables of its time. They are worked out here,
 * where history is read, and travel in the letter: who takes it has no history
 * at hand. */
static pawl_code add_past(pawl_engine *e, change *c, const subject *s,
                          pawl_buf *vars, pawl_error *err) {
  pawl_past past = {.shard = s->shard, .id = s->id, .rows = s->row.seq};

  if (c->kind != RESTART) return PAWL_OK;
  assert(c->from.at); /* it is `needed` */
  if (c->seq.at)
    MUST(pawl_past_at(&past, c->seq, err));
  else
    MUST(pawl_past_find(e, &past, c->from, err));
  if (!past.before) return PAWL_OK;
  MUST(pawl_past_variables(e, &past, vars, err));
  c->variables = pawl_buf_str(vars);
  return PAWL_OK;
}

/* What was given, under the names that src/rules/letters.c reads. A reason is
 * always there, as history shows one. */
static void write_letter(const change *c, const subject *s, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  if (c->kind == TRANSFER) /* what was checked is a transfer from there */
    pawl_member_int(&o, "from_version", s->row.version);
  for (int i = 0; i < pawl_options_of_change.nrows; i++) {
    const pawl_option *row = &change_rows[i];
    if (!row->raw) continue;
    pawl_str given = *(const pawl_str *)((const char *)c + row->at);
    if (!given.at && row->at == offsetof(change, reason))
      given = pawl_strz("\"\""); /* history shows that none was given */
    if (given.at) pawl_member_json(&o, row->name, given);
  }
  pawl_object_end(&o);
}

/* The change is recorded by now: where the instance stands is left out when
 * the store does not tell, and is no failure of the change. */
static pawl_code answer(pawl_engine *e, const change *c, subject *s, int done,
                        pawl_buf *out, pawl_error *err) {
  pawl_object o;
  pawl_error why;

  int known = PAWL_FAULT("engine.change.look") != PAWL_FAULT_FAIL &&
              look(e, c, s, &why) == PAWL_OK;
  pawl_object_begin(&o, out);
  pawl_member_id(&o, "id", &s->id);
  pawl_member_textz(&o, "kind", c->kind_name);
  pawl_member_bool(&o, "done", done);
  if (known) pawl_member_textz(&o, "status", pawl_status_name(s->status));
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

/* The reason as it was meant: a change has it as JSON. */
static pawl_code put_reason(const change *c, pawl_buf *out, pawl_error *err) {
  if (c->reason.at && pawl_json_kind_of(c->reason) == PAWL_JSON_STRING)
    pawl_json_unquote(c->reason, out);
  return pawl_buf_check(out, err);
}

/* Into the archive, out of it, or off it for good: no letter is needed where
 * nobody holds it, and nobody can. */
static pawl_code file(pawl_engine *e, pawl_filer *filer, const change *c,
                      const subject *s, int *done, pawl_error *err) {
  pawl_buf reason = {.alloc = &e->alloc};
  pawl_filed f = {.what = c->kind == ARCHIVE     ? PAWL_FILE_IN
                          : c->kind == UNARCHIVE ? PAWL_FILE_OUT
                                                 : PAWL_FILE_OFF,
                  .id = s->id,
                  .completed_us = s->row.completed_at,
                  .keep_attributes = pawl_str_eqz(c->keep_attributes, "true"),
                  .request = request_of(c),
                  .is_listed = c->of != NULL,
                  .by = pawl_buf_some(&c->by)};
  pawl_code rc = PAWL_OK;

  TRY(put_reason(c, &reason, err));
  f.reason = pawl_buf_some(&reason);
  rc = filer(e, &f, done, err);
out:
  pawl_buf_deinit(&reason);
  return rc;
}

enum { PATIENCE = 6 }; /* times; 63 ms in all */

/* One that has ended is held for a moment alone, or a letter lies there that
 * nobody takes. In a transaction none is taken, and whoever holds it may wait
 * for that. */
static pawl_code file_in_turn(pawl_engine *e, pawl_taker *take,
                              pawl_filer *filer, const change *c,
                              const subject *s, int *done, pawl_error *err) {
  int got;
  pawl_code rc = file(e, filer, c, s, done, err);

  if (pawl_store_held(e->store)) return rc;
  for (int i = 0; i < PATIENCE && rc == PAWL_BUSY && !err->sqlstate[0]; i++) {
    MUST(take(e, &s->id, 0, &got, err));
    if (!got) pawl_sleep_us(1000 << i);
    rc = file(e, filer, c, s, done, err);
  }
  return rc;
}

static pawl_code note_purge(pawl_engine *e, const change *c, const subject *s,
                            pawl_error *err) {
  pawl_buf reason = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(put_reason(c, &reason, err));
  rc = pawl_purge_note(e, &s->id, pawl_buf_some(&c->by),
                       pawl_buf_some(&reason), err);
out:
  pawl_buf_deinit(&reason);
  return rc;
}

/* Marked, it goes; who holds it marks it else, and it goes when asked again. */
static pawl_code finish_purge(pawl_engine *e, const change *c,
                              const subject *s, int *done, pawl_error *err) {
  pawl_purged gone;

  if (!*done && !s->row.purge_at)
    return pawl_fail_hint(err, PAWL_BUSY, "purge it again in a moment",
                          "instance %s is held by a worker",
                          pawl_id_text_of(&s->id).at);
  if (c->by.len) MUST(note_purge(e, c, s, err));
  MUST(pawl_purge_rows(e, &s->id, PAWL_NEVER, &gone, err));
  *done = gone != PAWL_PURGED_IN_PART;
  if (gone != PAWL_PURGED_BY_OTHERS) return PAWL_OK;
  if (c->of) return fail_left(&s->id, err);
  /* whoever has marked it has purged it, whoever helped */
  return s->row.purge_at ? pawl_instance_missing(&s->id, err) : PAWL_OK;
}

/* In a transaction a letter is taken behind it: so it goes with no mark. */
static pawl_code purge_at_once(pawl_engine *e, const change *c,
                               const subject *s, int *done, pawl_error *err) {
  pawl_buf reason = {.alloc = &e->alloc}, deletion = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(put_reason(c, &reason, err));
  pawl_write_who(pawl_buf_str(&c->by), pawl_buf_str(&reason), &deletion);
  TRY(pawl_buf_check(&deletion, err));
  const pawl_purge_why why = {
      .by = pawl_buf_str(&c->by),
      .reason = pawl_buf_some(&reason),
      .deletion = pawl_buf_str(&deletion),
      .keep_attributes = pawl_str_eqz(c->keep_attributes, "true"),
      .tells = c->by.len && s->row.deleted};
  TRY(pawl_purge_at_once(e, &why, &s->id, err));
  *done = 1;
out:
  pawl_buf_deinit(&reason);
  pawl_buf_deinit(&deletion);
  return rc;
}

/* Of what is to happen now, or is refused: no lease was in the way. */
static pawl_code tell_hindered(const change *c, int done,
                               const pawl_error *hindered, pawl_error *err) {
  if (done || !hindered->code || !(c->kind & (PURGE | CARRY))) return PAWL_OK;
  return pawl_fail_so(err, hindered);
}

/* One whose purge has begun, and was cut short, needs no second letter; nor
 * does one that is away already. */
static pawl_code ask(pawl_engine *e, pawl_taker *take, const change *c,
                     const subject *s, pawl_str letter, int *done,
                     pawl_error *err) {
  pawl_error hindered;

  if (c->kind == CARRY && s->row.away.len) {
    *done = 1;
    return PAWL_OK;
  }
  if (c->kind != PURGE || !s->row.purge_at) {
    MUST(pawl_act_request(e, take, &s->id, request_of(c), c->kind_name,
                          sources[c->source], c->by.at ? c->by.at : "", letter,
                          done, &hindered, err));
    MUST(tell_hindered(c, *done, &hindered, err));
  }
  return c->kind == PURGE ? finish_purge(e, c, s, done, err) : PAWL_OK;
}

/* Nothing is written before pawl_act_request, so that whatever is refused here
 * has left no trace. */
static pawl_code check(pawl_engine *e, const change *c, const subject *s,
                       pawl_error *err) {
  MUST(check_status(e, c, s, err));
  if (c->kind == EDIT) MUST(check_edit(e, c, s, err));
  if (c->kind == NOTE) MUST(check_note(e, c, err));
  return check_graph(e, c, s, err);
}

static pawl_code act(pawl_engine *e, pawl_taker *take, pawl_filer *filer,
                     change *c, const subject *s, int *done, pawl_error *err) {
  pawl_buf letter = {.alloc = &e->alloc}, past = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(check(e, c, s, err));
  if (c->dry_run) goto out;
  if (s->row.archived_at || c->kind == ARCHIVE) {
    rc = file_in_turn(e, take, filer, c, s, done, err);
    goto out;
  }
  if (c->kind == PURGE && pawl_store_held(e->store)) {
    rc = purge_at_once(e, c, s, done, err);
    goto out;
  }
  TRY(add_past(e, c, s, &past, err));
  write_letter(c, s, &letter);
  TRY(pawl_buf_check(&letter, err));
  TRY(ask(e, take, c, s, pawl_buf_str(&letter), done, err));
out:
  pawl_buf_deinit(&letter);
  pawl_buf_deinit(&past);
  return rc;
}

/* What takes several units is all or nothing in a transaction, too. */
static pawl_code act_whole(pawl_engine *e, pawl_taker *take, pawl_filer *filer,
                           change *c, const subject *s, int *done,
                           pawl_error *err) {
  pawl_code rc;

  if (!(c->kind & (ARCHIVE | UNARCHIVE | PURGE)) || c->dry_run ||
      !pawl_store_held(e->store))
    return act(e, take, filer, c, s, done, err);
  MUST(pawl_store_hold(e->store, err));
  rc = act(e, take, filer, c, s, done, err);
  if (rc == PAWL_OK) return pawl_store_held_commit(e->store, err);
  pawl_store_held_rollback(e->store);
  return rc;
}

pawl_code pawl_act_change(pawl_engine *e, pawl_taker *take, pawl_filer *filer,
                          const pawl_act_list *of, const pawl_id *id,
                          pawl_str text, int *done, pawl_buf *out,
                          pawl_error *err) {
  change c;
  subject s = {.id = *id, .keep = {.alloc = &e->alloc}};
  int own, met = 0;
  pawl_code rc = PAWL_OK;

  if (!done) done = &own;
  *done = 0;
  pawl_options_init(&pawl_options_of_change, &c, sizeof c, &e->alloc);
  TRY(read_change(&c, text, err));
  c.of = of;
  TRY(look(e, &c, &s, err));
  if (request_of(&c))
    TRY(pawl_act_met(e, id, &c.request, c.kind_name, &met, done, err));
  if (!met) TRY(check_listed(&c, &s, err));
  if (!met) TRY(act_whole(e, take, filer, &c, &s, done, err));
  if (out) TRY(answer(e, &c, &s, *done, out, err));
out:
  pawl_options_deinit(&pawl_options_of_change, &c);
  pawl_buf_deinit(&s.keep);
  return rc;
}

/* ---- many at once ---- */

int pawl_act_is_refusal(pawl_code rc, const pawl_error *why) {
  return pawl_code_is_final(rc, why) || rc == PAWL_NO_HANDLER ||
         (rc == PAWL_BUSY && !why->sqlstate[0]);
}

static pawl_code prepare_letter(pawl_engine *e, change *c, const subject *s,
                                pawl_one_asked *a, pawl_error *err) {
  pawl_buf past = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(check(e, c, s, err));
  TRY(add_past(e, c, s, &past, err));
  write_letter(c, s, &a->letter);
  TRY(pawl_buf_check(&a->letter, err));
  a->ready = 1;
out:
  pawl_buf_deinit(&past);
  return rc;
}

/* Up to the letter, as pawl_act_change. */
static pawl_code prepare(pawl_engine *e, const change *c, pawl_one_asked *a,
                         pawl_error *err) {
  change own = *c; /* a restart has variables of its own there */
  subject s = {.id = a->id, .keep = {.alloc = &e->alloc}};
  pawl_code rc = PAWL_OK;
  int met = 0;

  a->ready = a->done = 0;
  pawl_buf_clear(&a->letter);
  TRY(look(e, c, &s, err));
  TRY(pawl_act_met(e, &a->id, &own.request, own.kind_name, &met, &a->done,
                   err));
  if (!met) TRY(check_listed(c, &s, err));
  if (!met) TRY(prepare_letter(e, &own, &s, a, err));
out:
  pawl_buf_deinit(&s.keep);
  return rc;
}

pawl_code pawl_act_change_many(pawl_engine *e, pawl_many_taker *take,
                               const pawl_act_list *of, pawl_str text,
                               pawl_one_asked *list, int n, pawl_error *err) {
  change c;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_change, &c, sizeof c, &e->alloc);
  for (int i = 0; i < n; i++) list[i].ready = 1; /* nothing is known yet */
  TRY(read_change(&c, text, err));
  c.of = of;
  assert(request_of(&c) && !c.dry_run);
  for (int i = 0; i < n; i++) {
    list[i].rc = prepare(e, &c, &list[i], &list[i].why);
    if (list[i].rc == PAWL_OK || pawl_act_is_refusal(list[i].rc, &list[i].why))
      continue;
    if (err) *err = list[i].why;
    rc = list[i].rc;
    list[i].ready = 1;
    goto out;
  }
  rc = pawl_act_request_many(e, take,
                             &(pawl_asking){.no = &c.request,
                                            .kind = c.kind_name,
                                            .source = sources[c.source],
                                            .by = c.by.at ? c.by.at : ""},
                             list, n, err);
out:
  pawl_options_deinit(&pawl_options_of_change, &c);
  return rc;
}

/* ---- what it can be for ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define ALL ((1u << PAWL_NSTATUSES) - 1)
#define ENDED (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))

static unsigned statuses_for(const change *c) {
  switch (c->kind) {
    case DELETE:
      return pawl_str_eqz(c->cancel, "true") ? ALL : ENDED;
    case PURGE:
    case ARCHIVE:
      return ENDED;
    case UNDELETE:
    case UNARCHIVE:
    case NOTE:
    case CARRY:
    case RECLAIM:
      return ALL;
    case RETRY:
      return BIT(FAILED) | BIT(SUSPENDED);
    case RESTART:
      return BIT(FAILED) | BIT(SUSPENDED) | BIT(COMPLETED);
    case TRANSFER:
      return BIT(FAILED) | (ALL & ~ENDED);
    case SUSPEND:
      return ALL & ~ENDED & ~BIT(SUSPENDED);
    case RESUME:
      return BIT(SUSPENDED);
    default:
      return ALL & ~ENDED;
  }
}

pawl_code pawl_act_plan_of(pawl_engine *e, pawl_str text, pawl_act_plan *plan,
                           pawl_error *err) {
  change c;
  pawl_code rc = PAWL_OK;

  pawl_options_init(&pawl_options_of_change, &c, sizeof c, &e->alloc);
  TRY(read_change(&c, text, err));
  *plan = (pawl_act_plan){
      .of = {.statuses = statuses_for(&c),
             .deleted = c.kind == UNDELETE,
             .archived = c.kind == UNARCHIVE,
             .cancels = c.kind == CANCEL,
             .purged =
                 c.kind == PURGE && !pawl_str_eqz(c.keep_attributes, "true")},
      .dry_run = c.dry_run,
      .alone = (c.kind & (KILL | PURGE | ARCHIVE | UNARCHIVE)) != 0,
      .purges = c.kind == PURGE && !c.dry_run,
      .force = c.force,
      .keep_attributes = pawl_str_eqz(c.keep_attributes, "true"),
      .has_request = request_of(&c) != NULL,
      .request = c.request};
out:
  pawl_options_deinit(&pawl_options_of_change, &c);
  return rc;
}
