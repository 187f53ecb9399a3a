/* The parts of a commit that most have none of: tokens with rows of their own,
 * effects, what an end leaves behind. A statement without rows is not sent. */
#include <assert.h>

#include "../../rules/stored.h"
#include "../../value/json.h"
#include "batch.h"
#include "quota.h"

#define KNOWN_US (86400 * PAWL_SECOND) /* ids, after an instance's end */
#define ITEMS_CHUNK 2000               /* rows a statement */

/* Effects of one kind, of all plans that are written. */
#define EACH_EFFECT(h, f, wanted)                                \
  for (int i_ = 0; i_ < n; i_++)                                 \
    for (pawl_held *h = list[i_]; h; h = NULL)                   \
      for (pawl_effect *f = h->d.plan.effects;                   \
           f && f < h->d.plan.effects + h->d.plan.neffects; f++) \
        if (f->kind == PAWL_EFFECT_##wanted && pawl_plan_writes(&h->d.plan))

/* PAWL_SEND_PLANS, with a row for each such effect, `f`. */
#define SEND_EFFECTS(stmt, wanted, when, ...)             \
  do {                                                    \
    pawl_args_begin(&e->args, PAWL_STMT_##stmt);          \
    EACH_EFFECT (h, f, wanted)                            \
      if (when) PAWL_PUT(&e->args, stmt, __VA_ARGS__);    \
    MUST(pawl_store_send(e->store, &e->args, NULL, err)); \
  } while (0)

/* Of a row that belongs to a token, as the effect names it. */
#define TOKEN_MEMBERS(h, f) PAWL_GUARD_MEMBERS(h), .token = (f)->token
#define VISIT_MEMBERS(h, f) TOKEN_MEMBERS(h, f), .visit = (f)->n

/* ---- the instance's row ---- */

static int has_seldom(const pawl_held *h) {
  return pawl_plan_writes(&h->d.plan) && pawl_decision_has_seldom(&h->d);
}

/* It stays with the token until that is written again. */
static pawl_str detail_text(pawl_args *a, const pawl_token *t) {
  const pawl_buf *text = pawl_detail_text(t);
  a->failed |= text->failed;
  return pawl_buf_some(text);
}

static const pawl_token *lone_of(const pawl_plan *p) {
  return p->after == PAWL_AFTER_END ? NULL : pawl_lone_of(p);
}

/* Of the list in rules/state.h; marks as the plan has their text. */
#define MORE_NUMBER(name) .name = p->state.name,
#define MORE_TIME(name) .name##_at = p->state.name##_us,
#define MORE_TEXT(name) .name = pawl_buf_some(&p->state.name),
#define MORE_MARKS(name) .name = pawl_buf_some(&p->name),
#define MORE(type, name) MORE_##type(name)

#define ONE(...) +1
enum {
  OWN_MEMBERS = 0 PAWL_STATE_OWN(ONE),
  OWN_COLUMNS = 0 PAWL_COLUMNS_own(ONE),
  RARE_MEMBERS = 0 PAWL_STATE_RARE(ONE),
  RARE_COLUMNS = 0 PAWL_COLUMNS_rare(ONE)
};
_Static_assert(OWN_MEMBERS == OWN_COLUMNS && RARE_MEMBERS == RARE_COLUMNS,
               "each has its column, and each column is one's");

static void add_seldom(pawl_args *a, pawl_held *h) {
  static const pawl_buf none;
  pawl_plan *p = &h->d.plan;
  const pawl_token *t = lone_of(p);

  pawl_buf_clear(&p->joined);
  pawl_joined_write(&p->state.joined, &p->joined);
  pawl_buf_clear(&p->compensation);
  pawl_compensation_write(&p->state.undo, &p->compensation);
  a->failed |= p->joined.failed || p->compensation.failed;
  PAWL_PUT(a, instance_seldom, PAWL_GUARD_MEMBERS(h), .version = p->version,
           .token_data = pawl_buf_some(t ? &t->data : &none),
           .token_event = pawl_buf_some(t ? &t->event : &none),
           .token_detail = t ? detail_text(a, t) : pawl_strz(NULL),
           .tokens = p->state.last_token ? p->state.last_token : 1,
           .compensation = pawl_buf_some(&p->compensation),
           .output = pawl_buf_some(&p->state.output),
           PAWL_STATE_OWN(MORE) PAWL_STATE_RARE(MORE));
}

pawl_code pawl_commit_seldom(pawl_engine *e, pawl_held **list, int n,
                             pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_instance_seldom);
  EACH (h) {
    if (has_seldom(h)) add_seldom(a, h);
  }
  MUST(pawl_store_send(e->store, a, NULL, err));
  EACH (h) {
    if (!pawl_plan_writes(&h->d.plan) || !h->d.plan.version) continue;
    MUST(PAWL_SEND(e->store, agenda_pin, NULL, err, PAWL_LEASE_MEMBERS(h),
                   .version = h->d.plan.version));
  }
  return PAWL_OK;
}

/* ---- tokens ---- */

/* A token that ends is kept where what it did may have to be undone, if it has
 * data: the handlers that undo see it. */
static int keeps_data(const pawl_held *h, const pawl_token *t) {
  if (!t->data.len || !h->d.def ||
      (t->state != PAWL_TOKEN_CONSUMED && !h->d.plan.state.undo.status))
    return 0;
  return pawl_def_has_undo(h->d.def);
}

/* Does it get, or has it, a row of its own that must be written? One that was
 * born and gone within a decision leaves none, unless it was dropped. */
static int writes_token(const pawl_held *h, const pawl_token *t,
                        const pawl_token *folded) {
  const pawl_token *was = pawl_tokens_folded(&h->d.state.tokens);
  int live = pawl_token_is_live(t->state);

  if (t == folded) return 0;
  if (t->stored) return t->changed;
  if (live) return 1; /* it stood alone until now, or is new */
  return (t->state == PAWL_TOKEN_DROPPED && !(was && was->no == t->no)) ||
         keeps_data(h, t);
}

static void add_token(pawl_args *a, const pawl_held *h, const pawl_token *t,
                      const char *scope, int64_t now) {
  PAWL_PUT(a, token_put, PAWL_GUARD_MEMBERS(h), .no = t->no,
           .node = pawl_strz(t->node ? t->node : ""),
           .state = pawl_strz(pawl_token_state_name(t->state)),
           .visit = t->visit, .previous_node = pawl_strz(t->previous),
           .parent = t->depth ? t->scope[t->depth - 1] : 0,
           .scope = pawl_strz(scope), .fork = pawl_strz(t->fork),
           .branch = pawl_strz(t->branch), .data = pawl_buf_some(&t->data),
           .event = pawl_buf_some(&t->event), .detail = detail_text(a, t),
           .attempt = t->attempt, .due_at = t->due_us, .updated_at = now);
}

#define SCOPE_SIZE 80
#define SCOPES 64 /* a statement's rows; their text must outlive the send */

pawl_code pawl_commit_tokens(pawl_engine *e, pawl_held **list, int n,
                             int64_t now, pawl_error *err) {
  char scopes[SCOPES][SCOPE_SIZE];
  int used = 0;

  pawl_args_begin(&e->args, PAWL_STMT_token_put);
  EACH (h) {
    const pawl_token *folded = pawl_tokens_folded(&h->d.plan.state.tokens);
    if (!pawl_plan_writes(&h->d.plan)) continue;
    for (int k = 0; k < h->d.plan.state.tokens.n; k++) {
      const pawl_token *t = &h->d.plan.state.tokens.at[k];
      if (!writes_token(h, t, folded)) continue;
      if (used == SCOPES) {
        MUST(pawl_store_send(e->store, &e->args, NULL, err));
        pawl_args_begin(&e->args, PAWL_STMT_token_put);
        used = 0;
      }
      assert(used < SCOPES && t->no > 0);
      pawl_scope_format(t, scopes[used]);
      add_token(&e->args, h, t, scopes[used++], now);
    }
  }
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* ---- waiting ---- */

/* Where an instance ends, pawl_commit_ends clears what it waited for and what
 * came for it, as a whole. Z3: in the words of its own tenant. */
static pawl_code send_subscriptions(pawl_engine *e, pawl_held **list, int n,
                                    int64_t now, pawl_error *err) {
  SEND_EFFECTS(subscription_put, SUBSCRIBE, !f->old && !pawl_commit_leaves(h),
               TOKEN_MEMBERS(h, f), .tenant = pawl_buf_str(&h->tenant),
               .pattern = pawl_buf_str(&f->name),
               .key = pawl_buf_given(&f->key, f->has_key), .since = now,
               .due_at = f->at_us, .free = f->n ? 1 : PAWL_NULL);
  SEND_EFFECTS(subscription_delete, UNSUBSCRIBE,
               !f->old && !pawl_commit_leaves(h), TOKEN_MEMBERS(h, f));
  return PAWL_OK;
}

/* ---- the inbox ---- */

/* Was this row named by an earlier effect of the same kind? */
static int is_repeated(const pawl_plan *p, const pawl_effect *f) {
  for (const pawl_effect *g = p->effects; g < f; g++)
    if (g->kind == f->kind && pawl_id_eq(&g->id, &f->id)) return 1;
  return 0;
}

static pawl_code send_inbox(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  pawl_args *a = &e->args;

  SEND_EFFECTS(inbox_take, TAKE,
               (!pawl_commit_leaves(h) || pawl_keeps_events(&h->d)) &&
                   !is_repeated(&h->d.plan, f),
               PAWL_GUARD_MEMBERS(h), .no = &f->id, .kind = pawl_strz(f->node),
               .name = pawl_buf_some(&f->name),
               .key = pawl_buf_given(&f->key, f->has_key),
               .event_id = pawl_buf_str(&f->event_id),
               .source = pawl_buf_str(&f->source),
               .data = pawl_buf_some(&f->data), .received_at = f->at_us);
  pawl_args_begin(a, PAWL_STMT_inbox_delete);
  EACH (h) { /* also where nothing else is written */
    for (int k = 0; k < h->d.plan.neffects; k++) {
      const pawl_effect *f = &h->d.plan.effects[k];
      if (f->kind != PAWL_EFFECT_DELETE) continue;
      PAWL_PUT(a, inbox_delete, PAWL_GUARD_MEMBERS(h), .no = &f->id);
    }
  }
  return pawl_store_send(e->store, a, NULL, err);
}

/* Its inbox was cleared when it had completed. */
static int comes_back(const pawl_held *h) {
  return h->d.plan.revives && h->d.state.status == PAWL_STATUS_COMPLETED;
}

/* ---- tasks ---- */

static pawl_str member(const pawl_effect *f, const char *name) {
  pawl_str value = {NULL, 0};
  (void)pawl_json_get(pawl_buf_str(&f->data), name, &value);
  return value;
}

/* What a JSON string says, kept in `scratch`, which has room for all of them:
 * arguments borrow from it, so it must not move. At NULL: it is none. */
static pawl_str plain_text(pawl_str value, pawl_buf *scratch) {
  const char *was = scratch->at;
  size_t from = scratch->len;
  pawl_str text = {NULL, 0};

  if (!value.at || pawl_json_kind_of(value) != PAWL_JSON_STRING) return text;
  pawl_json_unquote(value, scratch);
  text.at = scratch->at + from;
  text.len = scratch->len - from;
  pawl_buf_addc(scratch, 0);
  assert(scratch->at == was && !scratch->failed);
  (void)was;
  return text;
}

static pawl_str text_of(const pawl_effect *f, const char *name,
                        pawl_buf *scratch) {
  return plain_text(member(f, name), scratch);
}

static pawl_str or_text(pawl_str text, const char *other) {
  return text.at ? text : pawl_strz(other);
}

/* Room for the texts of all tasks, and of those that are raised. None is longer
 * than its JSON, but for a zero byte behind each. */
static pawl_code make_room(pawl_held **list, int n, pawl_buf *scratch,
                           pawl_error *err) {
  size_t size = 1;

  EACH_EFFECT (h, f, TASK) size += 2 * f->data.len + 64;
  EACH_EFFECT (h, f, TASK_RAISE) size += 2 * f->data.len + 64;
  return pawl_buf_room(scratch, size) ? PAWL_OK : pawl_fail_memory(err);
}

static void add_owners(pawl_args *a, const pawl_held *h, const pawl_effect *f,
                       const char *list, const char *kind, pawl_buf *scratch) {
  pawl_str names = member(f, list);

  if (!names.at || pawl_json_kind_of(names) != PAWL_JSON_ARRAY) return;
  for (pawl_json_iter it = {0}; pawl_json_walk(names, &it);) {
    pawl_str name = plain_text(it.value, scratch);
    if (!name.at) continue;
    PAWL_PUT(a, owner_insert, VISIT_MEMBERS(h, f), .kind = pawl_strz(kind),
             .owner = name);
  }
}

static void add_all_owners(pawl_args *a, const pawl_held *h,
                           const pawl_effect *f, pawl_buf *scratch) {
  add_owners(a, h, f, "users", "user", scratch);
  add_owners(a, h, f, "roles", "role", scratch);
  add_owners(a, h, f, "groups", "group", scratch);
}

static pawl_code send_new_tasks(pawl_engine *e, pawl_held **list, int n,
                                int64_t now, pawl_buf *scratch,
                                pawl_error *err) {
  SEND_EFFECTS(task_insert, TASK, 1, VISIT_MEMBERS(h, f), .task = &f->id,
               .tenant = pawl_buf_some(&h->tenant),
               .workflow = pawl_buf_str(&h->d.workflow),
               .node = pawl_strz(f->node), .form = text_of(f, "form", scratch),
               .title = or_text(text_of(f, "title", scratch), ""),
               .description = text_of(f, "description", scratch),
               .priority = or_text(text_of(f, "priority", scratch), "normal"),
               .input = member(f, "input"), .metadata = member(f, "metadata"),
               .signal = text_of(f, "signal", scratch),
               .assignee = text_of(f, "assignee", scratch), .due_at = f->at_us,
               .created_at = now);
  pawl_args_begin(&e->args, PAWL_STMT_owner_insert);
  EACH_EFFECT (h, f, TASK) add_all_owners(&e->args, h, f, scratch);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

static pawl_code send_raised(pawl_engine *e, pawl_held **list, int n,
                             pawl_buf *scratch, pawl_error *err) {
  SEND_EFFECTS(task_raise, TASK_RAISE, 1, VISIT_MEMBERS(h, f),
               .priority = text_of(f, "priority", scratch),
               .escalated_at = f->at_us);
  pawl_args_begin(&e->args, PAWL_STMT_owner_insert);
  EACH_EFFECT (h, f, TASK_RAISE) add_all_owners(&e->args, h, f, scratch);
  return pawl_store_send(e->store, &e->args, NULL, err);
}

static pawl_code send_task_changes(pawl_engine *e, pawl_held **list, int n,
                                   int64_t now, pawl_error *err) {
  SEND_EFFECTS(task_due, TASK_DUE, 1, VISIT_MEMBERS(h, f), .due_at = f->at_us,
               .updated_at = now);
  SEND_EFFECTS(task_rename, TASK_RENAME, 1, VISIT_MEMBERS(h, f),
               .node = pawl_strz(f->node));
  SEND_EFFECTS(task_end, TASK_END, 1, VISIT_MEMBERS(h, f),
               .status = pawl_buf_str(&f->name), .updated_at = now);
  return PAWL_OK;
}

static pawl_code send_tasks(pawl_engine *e, pawl_held **list, int n,
                            int64_t now, pawl_error *err) {
  pawl_buf scratch = {.alloc = &e->alloc};
  pawl_code rc = PAWL_OK;

  TRY(make_room(list, n, &scratch, err));
  TRY(send_new_tasks(e, list, n, now, &scratch, err));
  TRY(send_raised(e, list, n, &scratch, err));
  TRY(send_task_changes(e, list, n, now, err));
out:
  pawl_buf_deinit(&scratch);
  return rc;
}

/* ---- what goes out ---- */

static int goes_out(const pawl_effect *f) {
  return f->kind == PAWL_EFFECT_MESSAGE || f->kind == PAWL_EFFECT_EMIT;
}

/* Both are numbered by the instance, in the order in which they were made. */
static pawl_code send_outgoing(pawl_engine *e, pawl_held **list, int n,
                               int64_t now, pawl_effect_kind kind,
                               pawl_error *err) {
  int emits = kind == PAWL_EFFECT_EMIT;
  pawl_args *a = &e->args;

  pawl_args_begin(&e->args,
                  emits ? PAWL_STMT_outbox_insert : PAWL_STMT_message_insert);
  EACH (h) {
    int64_t seq = h->d.state.sent;
    if (!pawl_plan_writes(&h->d.plan)) continue;
    for (int k = 0; k < h->d.plan.neffects; k++) {
      const pawl_effect *f = &h->d.plan.effects[k];
      seq += goes_out(f);
      if (f->kind != kind) continue;
      if (emits) {
        PAWL_PUT(a, outbox_insert, PAWL_GUARD_MEMBERS(h), .seq = seq,
                 .tenant = pawl_buf_some(&h->tenant),
                 .type = pawl_buf_str(&f->name),
                 .payload = pawl_buf_some(&f->data), .created_at = now);
      } else {
        PAWL_PUT(a, message_insert, PAWL_GUARD_MEMBERS(h), .seq = seq,
                 .kind = pawl_buf_str(&f->name), .target = &f->id,
                 .data = pawl_buf_some(&f->data), .created_at = now);
      }
    }
    assert(seq ==
           h->d.plan.state.sent); /* the next one counts on from there */
  }
  return pawl_store_send(e->store, &e->args, NULL, err);
}

/* ---- what is shown ---- */

static pawl_code send_published(pawl_engine *e, pawl_held **list, int n,
                                int64_t now, pawl_error *err) {
  SEND_EFFECTS(published_put, PUBLISH, 1, PAWL_GUARD_MEMBERS(h),
               .answers = f->n != 0, .name = pawl_buf_str(&f->name),
               .value = pawl_buf_str(&f->data), .updated_at = now);
  return PAWL_OK;
}

/* ---- items ---- */

/* In chunks: arguments are columns in memory, and a list may be the longest
 * that is allowed. */
static pawl_code send_list(pawl_engine *e, pawl_held *h, const pawl_effect *f,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_json_iter it = {0};

  pawl_args_begin(a, PAWL_STMT_item_insert);
  for (int64_t no = 0; pawl_json_walk(pawl_buf_str(&f->data), &it); no++) {
    if (no && no % ITEMS_CHUNK == 0) {
      MUST(pawl_store_send(e->store, a, NULL, err));
      pawl_args_begin(a, PAWL_STMT_item_insert);
    }
    PAWL_PUT(a, item_insert, TOKEN_MEMBERS(h, f), .no = no, .item = it.value);
  }
  return pawl_store_send(e->store, a, NULL, err);
}

static int has_failed(const pawl_effect *f) {
  return pawl_str_eqz(pawl_buf_str(&f->name), "failed");
}

static pawl_code send_items(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  EACH_EFFECT (h, f, ITEMS) MUST(send_list(e, h, f, err));
  SEND_EFFECTS(
      item_put, ITEM, !f->old, TOKEN_MEMBERS(h, f), .no = f->n,
      .state = pawl_buf_str(&f->name), .child = f->has_id ? &f->id : NULL,
      .result = pawl_buf_given(&f->data, f->data.len && !has_failed(f)),
      .error = pawl_buf_given(&f->data, f->data.len && has_failed(f)));
  return PAWL_OK;
}

/* ---- all effects ---- */

/* Most plans have no effect at all, and most of the others one kind: one walk
 * tells which, and only the statements of those go over the plans again. */
pawl_code pawl_commit_effects(pawl_engine *e, pawl_held **list, int n,
                              int64_t now, pawl_error *err) {
  unsigned kinds = 0;

  PAWL_SEND_PLANS(inbox_recall, NULL, comes_back(h), PAWL_GUARD_MEMBERS(h));
#define HAS(kind) (kinds & 1u << PAWL_EFFECT_##kind)

  EACH (h) {
    for (int k = 0; k < h->d.plan.neffects; k++)
      kinds |= 1u << h->d.plan.effects[k].kind;
    pawl_plan_last_words(&h->d.plan);
  }
  if (!kinds) return PAWL_OK;
  if (HAS(SUBSCRIBE) || HAS(UNSUBSCRIBE))
    MUST(send_subscriptions(e, list, n, now, err));
  if (HAS(TAKE) || HAS(DELETE)) MUST(send_inbox(e, list, n, err));
  if (HAS(TASK) || HAS(TASK_END) || HAS(TASK_RAISE) || HAS(TASK_DUE) ||
      HAS(TASK_RENAME))
    MUST(send_tasks(e, list, n, now, err));
  if (HAS(MESSAGE))
    MUST(send_outgoing(e, list, n, now, PAWL_EFFECT_MESSAGE, err));
  if (HAS(EMIT)) MUST(send_outgoing(e, list, n, now, PAWL_EFFECT_EMIT, err));
  if (HAS(PUBLISH)) MUST(send_published(e, list, n, now, err));
  if (HAS(SPEND)) MUST(pawl_quota_send(e, list, n, err));
  if (HAS(ITEMS) || HAS(ITEM)) MUST(send_items(e, list, n, err));
#undef HAS
  return PAWL_OK;
}

/* ---- ends ---- */

/* May anything be left that was meant for it? */
int pawl_commit_leaves(const pawl_held *h) {
  return h->d.plan.after == PAWL_AFTER_END &&
         (!h->d.def || h->d.def->can_receive || h->d.nletters || h->latch);
}

static int leaves_tokens(const pawl_held *h) {
  if (h->d.plan.after != PAWL_AFTER_END) return 0;
  for (int k = 0; k < h->d.state.tokens.n; k++)
    if (h->d.state.tokens.at[k].stored) return 1;
  return 0;
}

pawl_code pawl_commit_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err) {
  PAWL_SEND_PLANS(inbox_keep, NULL, pawl_commit_leaves(h),
                  PAWL_GUARD_MEMBERS(h), .now = now,
                  .expires_at = now + KNOWN_US);
  PAWL_SEND_PLANS(inbox_clear, NULL, pawl_commit_leaves(h),
                  PAWL_GUARD_MEMBERS(h), .revives = pawl_keeps_events(&h->d));
  PAWL_SEND_PLANS(subscription_clear, NULL, pawl_commit_leaves(h),
                  PAWL_GUARD_MEMBERS(h));
  PAWL_SEND_PLANS(task_close, NULL, pawl_commit_leaves(h),
                  PAWL_GUARD_MEMBERS(h), .updated_at = now);
  PAWL_SEND_PLANS(token_drop, NULL, leaves_tokens(h), PAWL_GUARD_MEMBERS(h));
  return PAWL_OK;
}
