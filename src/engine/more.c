/* The parts of a commit that most have none of: tokens with rows of their own,
 * effects, what an end leaves behind. A statement without rows is not sent. */
#include "../value/json.h"
#include "work/commit.h"

#define KNOWN_US (86400 * PAWL_SECOND) /* ids, after an instance's end */
#define ITEMS_CHUNK 2000               /* rows a statement */

static void arg_key(pawl_args *a, int arg, const pawl_effect *f) {
  pawl_arg_given(a, arg, &f->key, f->has_key);
}

/* Each statement here begins with @shard, @id, @lease and @latch, in that
 * order: these are the places of any of them. */
static void begin(pawl_engine *e, pawl_stmt stmt, pawl_held **list) {
  pawl_args_begin(&e->args, stmt);
  pawl_arg_int(&e->args, PAWL_TOKEN_PUT_SHARD, list[0]->shard);
}
static void arg_held(pawl_args *a, const pawl_held *h) {
  pawl_arg_id(a, PAWL_TOKEN_PUT_ID, &h->id);
  pawl_arg_id(a, PAWL_TOKEN_PUT_LEASE, &h->lease);
  pawl_arg_latch(a, PAWL_TOKEN_PUT_LATCH, h);
}

int pawl_plan_has(const pawl_plan *p, pawl_effect_kind kind) {
  for (int i = 0; i < p->neffects; i++)
    if (p->effects[i].kind == kind) return 1;
  return 0;
}

/* Effects of one kind, of all plans that are written. */
#define EACH_EFFECT(h, f, wanted)                            \
  for (int i_ = 0; i_ < n; i_++)                             \
    for (pawl_held *h = list[i_]; h; h = NULL)               \
      for (pawl_effect *f = h->plan.effects;                 \
           f && f < h->plan.effects + h->plan.neffects; f++) \
        if (f->kind == (wanted) && pawl_plan_writes(&h->plan))

/* ---- the instance's row ---- */

const pawl_token *pawl_token_folded(const pawl_tokens *tokens) {
  const pawl_token *lone = pawl_tokens_lone(tokens);
  return lone && !lone->stored ? lone : NULL;
}

static int same(const pawl_buf *a, const pawl_buf *b) {
  return pawl_str_eq(a ? pawl_buf_str(a) : pawl_strz(""),
                     b ? pawl_buf_str(b) : pawl_strz(""));
}

/* Are the folded token's texts other than those that the row has? */
static int folded_differs(const pawl_held *h) {
  const pawl_token *was = pawl_token_folded(&h->tokens);
  const pawl_token *is = pawl_token_folded(&h->plan.tokens);

  if (h->plan.after == PAWL_AFTER_END) return 0; /* taken out with the rest */
  return !same(was ? &was->data : NULL, is ? &is->data : NULL) ||
         !same(was ? &was->event : NULL, is ? &is->event : NULL) ||
         !same(was ? &was->detail : NULL, is ? &is->detail : NULL);
}

static int has_more(const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  if (!pawl_plan_writes(p)) return 0;
  return p->more || p->sent != h->sent || p->workflow_version ||
         (p->last_token != h->last_token && p->last_token > 1) ||
         (p->cancellation.len && p->after != PAWL_AFTER_END) ||
         folded_differs(h);
}

static void add_more(pawl_args *a, const pawl_held *h) {
  const pawl_plan *p = &h->plan;
  const pawl_token *t =
      p->after == PAWL_AFTER_END ? NULL : pawl_token_folded(&p->tokens);
  static const pawl_buf none;

  arg_held(a, h);
  if (p->workflow_version)
    pawl_arg_int(a, PAWL_INSTANCE_MORE_WORKFLOW_VERSION, p->workflow_version);
  else
    pawl_arg_null(a, PAWL_INSTANCE_MORE_WORKFLOW_VERSION);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_TOKEN_DATA, t ? &t->data : &none);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_TOKEN_EVENT, t ? &t->event : &none);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_TOKEN_DETAIL, t ? &t->detail : &none);
  pawl_arg_int(a, PAWL_INSTANCE_MORE_TOKENS,
               p->last_token ? p->last_token : 1);
  pawl_arg_int(a, PAWL_INSTANCE_MORE_SENT, p->sent);
  pawl_arg_int(a, PAWL_INSTANCE_MORE_CHILDREN, p->children);
  pawl_arg_int(a, PAWL_INSTANCE_MORE_IMMEDIATE, p->immediate);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_JOINED, &p->joined);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_STOPPED, &p->stopped);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_COMPENSATION, &p->compensation);
  pawl_arg_buf(a, PAWL_INSTANCE_MORE_CANCELLATION, &p->cancellation);
  pawl_arg_when(a, PAWL_INSTANCE_MORE_SUSPENDED_AT, p->suspended_us);
  pawl_arg_when(a, PAWL_INSTANCE_MORE_DEADLINE_AT, p->deadline_us);
  pawl_arg_given(a, PAWL_INSTANCE_MORE_OUTPUT, &p->output, p->has_output);
}

pawl_code pawl_commit_more(pawl_engine *e, pawl_held **list, int n,
                           pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  begin(e, PAWL_STMT_INSTANCE_MORE, list);
  EACH(h) {
    if (has_more(h)) add_more(a, h);
  }
  TRY(pawl_commit_send(e, err));
  EACH(h) {
    if (!pawl_plan_writes(&h->plan) || !h->plan.workflow_version) continue;
    pawl_args_begin(a, PAWL_STMT_AGENDA_PIN);
    pawl_arg_int(a, PAWL_AGENDA_PIN_SHARD, h->shard);
    pawl_arg_id(a, PAWL_AGENDA_PIN_ID, &h->id);
    pawl_arg_id(a, PAWL_AGENDA_PIN_LEASE, &h->lease);
    pawl_arg_int(a, PAWL_AGENDA_PIN_WORKFLOW_VERSION,
                 h->plan.workflow_version);
    TRY(pawl_commit_send(e, err));
  }
out:
  return rc;
}

/* ---- tokens ---- */

/* A token that ends is kept where what it did may have to be undone, if it has
 * data: the handlers that undo see it. */
static int keeps_data(const pawl_held *h, const pawl_token *t) {
  if (!t->data.len || !h->def ||
      (t->state != PAWL_TOKEN_CONSUMED && !h->plan.compensation.len))
    return 0;
  for (int i = 0; i < h->def->nnodes; i++)
    if (h->def->nodes[i].has_undo) return 1;
  return 0;
}

/* Does it get, or has it, a row of its own that must be written? One that was
 * born and gone within a decision leaves none, unless it was dropped. */
static int writes_token(const pawl_held *h, const pawl_token *t,
                        const pawl_token *folded) {
  const pawl_token *was = pawl_token_folded(&h->tokens);
  int live = pawl_token_is_live(t->state);

  if (t == folded) return 0;
  if (t->stored) return t->changed;
  if (live) return 1; /* it stood alone until now, or is new */
  return (t->state == PAWL_TOKEN_DROPPED && !(was && was->no == t->no)) ||
         keeps_data(h, t);
}

static void add_token(pawl_args *a, const pawl_held *h, const pawl_token *t,
                      const char *scope, int64_t now) {
  arg_held(a, h);
  pawl_arg_int(a, PAWL_TOKEN_PUT_NO, t->no);
  pawl_arg_textz(a, PAWL_TOKEN_PUT_NODE, t->node ? t->node : "");
  pawl_arg_textz(a, PAWL_TOKEN_PUT_STATE, pawl_token_state_name(t->state));
  pawl_arg_int(a, PAWL_TOKEN_PUT_VISIT, t->visit);
  pawl_arg_textz(a, PAWL_TOKEN_PUT_PREVIOUS_NODE, t->previous);
  if (t->depth)
    pawl_arg_int(a, PAWL_TOKEN_PUT_PARENT, t->scope[t->depth - 1]);
  else
    pawl_arg_null(a, PAWL_TOKEN_PUT_PARENT);
  pawl_arg_textz(a, PAWL_TOKEN_PUT_SCOPE, scope);
  pawl_arg_textz(a, PAWL_TOKEN_PUT_FORK, t->fork);
  pawl_arg_textz(a, PAWL_TOKEN_PUT_BRANCH, t->branch);
  pawl_arg_buf(a, PAWL_TOKEN_PUT_DATA, &t->data);
  pawl_arg_buf(a, PAWL_TOKEN_PUT_EVENT, &t->event);
  pawl_arg_buf(a, PAWL_TOKEN_PUT_DETAIL, &t->detail);
  pawl_arg_int(a, PAWL_TOKEN_PUT_ATTEMPT, t->attempt);
  pawl_arg_when(a, PAWL_TOKEN_PUT_DUE_AT, t->due_us);
  pawl_arg_time(a, PAWL_TOKEN_PUT_UPDATED_AT, now);
}

#define SCOPE_SIZE 80
#define SCOPES 64 /* a statement's rows; their text must outlive the send */

pawl_code pawl_commit_tokens(pawl_engine *e, pawl_held **list, int n,
                             int64_t now, pawl_error *err) {
  char scopes[SCOPES][SCOPE_SIZE];
  pawl_code rc = PAWL_OK;
  int used = 0;

  begin(e, PAWL_STMT_TOKEN_PUT, list);
  EACH(h) {
    const pawl_token *folded = pawl_token_folded(&h->plan.tokens);
    if (!pawl_plan_writes(&h->plan)) continue;
    for (int k = 0; k < h->plan.tokens.n; k++) {
      const pawl_token *t = &h->plan.tokens.at[k];
      if (!writes_token(h, t, folded)) continue;
      if (used == SCOPES) {
        TRY(pawl_commit_send(e, err));
        begin(e, PAWL_STMT_TOKEN_PUT, list);
        used = 0;
      }
      pawl_scope_format(t, scopes[used]);
      add_token(&e->args, h, t, scopes[used++], now);
    }
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

/* ---- waiting ---- */

/* Where an instance ends, pawl_commit_ends clears what it waited for and what
 * came for it, as a whole. */
static pawl_code send_subscriptions(pawl_engine *e, pawl_held **list, int n,
                                    int64_t now, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  begin(e, PAWL_STMT_SUBSCRIPTION_PUT, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_SUBSCRIBE) {
    if (f->old || pawl_commit_leaves(h)) continue;
    arg_held(a, h);
    pawl_arg_int(a, PAWL_SUBSCRIPTION_PUT_TOKEN, f->token);
    pawl_arg_str(a, PAWL_SUBSCRIPTION_PUT_PATTERN, pawl_buf_str(&f->name));
    arg_key(a, PAWL_SUBSCRIPTION_PUT_KEY, f);
    pawl_arg_time(a, PAWL_SUBSCRIPTION_PUT_SINCE, now);
    pawl_arg_when(a, PAWL_SUBSCRIPTION_PUT_DUE_AT, f->at_us);
  }
  TRY(pawl_commit_send(e, err));
  begin(e, PAWL_STMT_SUBSCRIPTION_DELETE, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_UNSUBSCRIBE) {
    if (f->old || pawl_commit_leaves(h)) continue;
    arg_held(a, h);
    pawl_arg_int(a, PAWL_SUBSCRIPTION_DELETE_TOKEN, f->token);
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
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
  pawl_code rc = PAWL_OK;

  begin(e, PAWL_STMT_INBOX_TAKE, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TAKE) {
    if (pawl_commit_leaves(h) || is_repeated(&h->plan, f)) continue;
    pawl_arg_id(a, PAWL_INBOX_TAKE_ID, &h->id);
    pawl_arg_id(a, PAWL_INBOX_TAKE_NO, &f->id);
    pawl_arg_id(a, PAWL_INBOX_TAKE_LEASE, &h->lease);
    pawl_arg_latch(a, PAWL_INBOX_TAKE_LATCH, h);
    pawl_arg_textz(a, PAWL_INBOX_TAKE_KIND, f->node);
    pawl_arg_buf(a, PAWL_INBOX_TAKE_NAME, &f->name);
    arg_key(a, PAWL_INBOX_TAKE_KEY, f);
    pawl_arg_str(a, PAWL_INBOX_TAKE_EVENT_ID, pawl_buf_str(&f->event_id));
    pawl_arg_str(a, PAWL_INBOX_TAKE_SOURCE, pawl_buf_str(&f->source));
    pawl_arg_buf(a, PAWL_INBOX_TAKE_DATA, &f->data);
    pawl_arg_time(a, PAWL_INBOX_TAKE_RECEIVED_AT, f->at_us);
  }
  TRY(pawl_commit_send(e, err));
  pawl_args_begin(a, PAWL_STMT_INBOX_DELETE);
  pawl_arg_int(a, PAWL_INBOX_DELETE_SHARD, list[0]->shard);
  EACH(h) { /* also where nothing else is written */
    for (int k = 0; k < h->plan.neffects; k++) {
      const pawl_effect *f = &h->plan.effects[k];
      if (f->kind != PAWL_EFFECT_DELETE) continue;
      pawl_arg_id(a, PAWL_INBOX_DELETE_ID, &h->id);
      pawl_arg_id(a, PAWL_INBOX_DELETE_NO, &f->id);
      pawl_arg_id(a, PAWL_INBOX_DELETE_LEASE, &h->lease);
      pawl_arg_latch(a, PAWL_INBOX_DELETE_LATCH, h);
    }
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

/* ---- tasks ---- */

/* A member of the effect's data as plain text, kept in `scratch`, which has
 * room for all of it and so does not move; at NULL: none. */
static pawl_str member_text(const pawl_effect *f, const char *name,
                            pawl_buf *scratch) {
  pawl_str value, text = {NULL, 0};
  size_t from = scratch->len;

  if (!pawl_json_get(pawl_buf_str(&f->data), name, &value) ||
      pawl_json_kind_of(value) != PAWL_JSON_STRING)
    return text;
  pawl_json_unquote(value, scratch);
  text.at = scratch->at + from;
  text.len = scratch->len - from;
  pawl_buf_addc(scratch, 0);
  return text;
}

static pawl_str or_text(pawl_str text, const char *other) {
  return text.at ? text : pawl_strz(other);
}

/* Room for the texts of all effects of a kind. */
static pawl_code make_room(pawl_held **list, int n, pawl_effect_kind kind,
                           pawl_buf *scratch, pawl_error *err) {
  size_t size = 1;
  EACH_EFFECT(h, f, kind) size += 2 * f->data.len + 64;
  return pawl_buf_room(scratch, size)
             ? PAWL_OK
             : pawl_fail(err, PAWL_NOMEM, "out of memory");
}

static pawl_code send_new_tasks(pawl_engine *e, pawl_held **list, int n,
                                int64_t now, pawl_buf *scratch,
                                pawl_error *err) {
  pawl_args *a = &e->args;

  begin(e, PAWL_STMT_TASK_INSERT, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TASK) {
    pawl_str input = {NULL, 0};
    (void)pawl_json_get(pawl_buf_str(&f->data), "input", &input);
    arg_held(a, h);
    pawl_arg_id(a, PAWL_TASK_INSERT_TASK, &f->id);
    pawl_arg_int(a, PAWL_TASK_INSERT_TOKEN, f->token);
    pawl_arg_textz(a, PAWL_TASK_INSERT_NODE, f->node);
    pawl_arg_int(a, PAWL_TASK_INSERT_VISIT, f->n);
    pawl_arg_str(a, PAWL_TASK_INSERT_FORM, member_text(f, "form", scratch));
    pawl_arg_str(a, PAWL_TASK_INSERT_TITLE,
                 or_text(member_text(f, "title", scratch), ""));
    pawl_arg_str(a, PAWL_TASK_INSERT_DESCRIPTION,
                 member_text(f, "description", scratch));
    pawl_arg_str(a, PAWL_TASK_INSERT_PRIORITY,
                 or_text(member_text(f, "priority", scratch), "normal"));
    pawl_arg_str(a, PAWL_TASK_INSERT_INPUT, input);
    pawl_arg_str(a, PAWL_TASK_INSERT_SIGNAL_NAME,
                 member_text(f, "signal", scratch));
    pawl_arg_str(a, PAWL_TASK_INSERT_ASSIGNEE,
                 member_text(f, "assignee", scratch));
    pawl_arg_when(a, PAWL_TASK_INSERT_DUE_AT, f->at_us);
    pawl_arg_time(a, PAWL_TASK_INSERT_CREATED_AT, now);
  }
  return pawl_commit_send(e, err);
}

static void add_owners(pawl_args *a, const pawl_held *h, const pawl_effect *f,
                       const char *list, const char *kind, pawl_buf *scratch) {
  pawl_str names, key, value;
  pawl_json_iter it = {0};

  if (!pawl_json_get(pawl_buf_str(&f->data), list, &names) ||
      pawl_json_kind_of(names) != PAWL_JSON_ARRAY)
    return;
  while (pawl_json_each(names, &it, &key, &value)) {
    pawl_str name;
    size_t from = scratch->len;
    if (pawl_json_kind_of(value) != PAWL_JSON_STRING) continue;
    pawl_json_unquote(value, scratch);
    name.at = scratch->at + from;
    name.len = scratch->len - from;
    pawl_buf_addc(scratch, 0);
    arg_held(a, h);
    pawl_arg_int(a, PAWL_OWNER_INSERT_TOKEN, f->token);
    pawl_arg_int(a, PAWL_OWNER_INSERT_VISIT, f->n);
    pawl_arg_textz(a, PAWL_OWNER_INSERT_KIND, kind);
    pawl_arg_str(a, PAWL_OWNER_INSERT_OWNER, name);
  }
}

static pawl_code send_owners(pawl_engine *e, pawl_held **list, int n,
                             pawl_effect_kind kind, pawl_buf *scratch,
                             pawl_error *err) {
  begin(e, PAWL_STMT_OWNER_INSERT, list);
  EACH_EFFECT(h, f, kind) {
    add_owners(&e->args, h, f, "users", "user", scratch);
    add_owners(&e->args, h, f, "roles", "role", scratch);
    add_owners(&e->args, h, f, "groups", "group", scratch);
  }
  return pawl_commit_send(e, err);
}

static pawl_code send_raised(pawl_engine *e, pawl_held **list, int n,
                             pawl_buf *scratch, pawl_error *err) {
  pawl_args *a = &e->args;

  begin(e, PAWL_STMT_TASK_RAISE, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TASK_RAISE) {
    arg_held(a, h);
    pawl_arg_int(a, PAWL_TASK_RAISE_TOKEN, f->token);
    pawl_arg_int(a, PAWL_TASK_RAISE_VISIT, f->n);
    pawl_arg_str(a, PAWL_TASK_RAISE_PRIORITY,
                 member_text(f, "priority", scratch));
    pawl_arg_time(a, PAWL_TASK_RAISE_ESCALATED_AT, f->at_us);
  }
  return pawl_commit_send(e, err);
}

static pawl_code send_tasks(pawl_engine *e, pawl_held **list, int n,
                            int64_t now, pawl_error *err) {
  pawl_buf made = {.alloc = &e->alloc}, raised = {.alloc = &e->alloc};
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  TRY(make_room(list, n, PAWL_EFFECT_TASK, &made, err));
  TRY(make_room(list, n, PAWL_EFFECT_TASK_RAISE, &raised, err));
  TRY(send_new_tasks(e, list, n, now, &made, err));
  TRY(send_owners(e, list, n, PAWL_EFFECT_TASK, &made, err));
  TRY(send_raised(e, list, n, &raised, err));
  TRY(send_owners(e, list, n, PAWL_EFFECT_TASK_RAISE, &raised, err));
  begin(e, PAWL_STMT_TASK_DUE, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TASK_DUE) {
    arg_held(a, h);
    pawl_arg_int(a, PAWL_TASK_DUE_TOKEN, f->token);
    pawl_arg_int(a, PAWL_TASK_DUE_VISIT, f->n);
    pawl_arg_time(a, PAWL_TASK_DUE_DUE_AT, f->at_us);
    pawl_arg_time(a, PAWL_TASK_DUE_UPDATED_AT, now);
  }
  TRY(pawl_commit_send(e, err));
  begin(e, PAWL_STMT_TASK_RENAME, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TASK_RENAME) {
    arg_held(a, h);
    pawl_arg_int(a, PAWL_TASK_RENAME_TOKEN, f->token);
    pawl_arg_int(a, PAWL_TASK_RENAME_VISIT, f->n);
    pawl_arg_textz(a, PAWL_TASK_RENAME_NODE, f->node);
  }
  TRY(pawl_commit_send(e, err));
  begin(e, PAWL_STMT_TASK_END, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_TASK_END) {
    arg_held(a, h);
    pawl_arg_int(a, PAWL_TASK_END_TOKEN, f->token);
    pawl_arg_int(a, PAWL_TASK_END_VISIT, f->n);
    pawl_arg_str(a, PAWL_TASK_END_STATUS, pawl_buf_str(&f->name));
    pawl_arg_time(a, PAWL_TASK_END_UPDATED_AT, now);
  }
  TRY(pawl_commit_send(e, err));
out:
  pawl_buf_deinit(&made);
  pawl_buf_deinit(&raised);
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

  begin(e, emits ? PAWL_STMT_OUTBOX_INSERT : PAWL_STMT_MESSAGE_INSERT, list);
  EACH(h) {
    int64_t seq = h->sent;
    if (!pawl_plan_writes(&h->plan)) continue;
    for (int k = 0; k < h->plan.neffects; k++) {
      const pawl_effect *f = &h->plan.effects[k];
      seq += goes_out(f);
      if (f->kind != kind) continue;
      arg_held(a, h);
      if (emits) {
        pawl_arg_int(a, PAWL_OUTBOX_INSERT_SEQ, seq);
        pawl_arg_str(a, PAWL_OUTBOX_INSERT_TYPE, pawl_buf_str(&f->name));
        pawl_arg_buf(a, PAWL_OUTBOX_INSERT_PAYLOAD, &f->data);
        pawl_arg_time(a, PAWL_OUTBOX_INSERT_CREATED_AT, now);
      } else {
        pawl_arg_int(a, PAWL_MESSAGE_INSERT_SEQ, seq);
        pawl_arg_str(a, PAWL_MESSAGE_INSERT_KIND, pawl_buf_str(&f->name));
        pawl_arg_id(a, PAWL_MESSAGE_INSERT_TARGET, &f->id);
        pawl_arg_buf(a, PAWL_MESSAGE_INSERT_DATA, &f->data);
        pawl_arg_time(a, PAWL_MESSAGE_INSERT_CREATED_AT, now);
      }
    }
  }
  return pawl_commit_send(e, err);
}

/* ---- items ---- */

static pawl_code send_list(pawl_engine *e, pawl_held **list, pawl_held *h,
                           const pawl_effect *f, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_json_iter it = {0};
  pawl_str key, value;
  int64_t no = 0;
  pawl_code rc = PAWL_OK;

  begin(e, PAWL_STMT_ITEM_INSERT, list);
  while (pawl_json_each(pawl_buf_str(&f->data), &it, &key, &value)) {
    if (no && no % ITEMS_CHUNK == 0) {
      TRY(pawl_commit_send(e, err));
      begin(e, PAWL_STMT_ITEM_INSERT, list);
    }
    arg_held(a, h);
    pawl_arg_int(a, PAWL_ITEM_INSERT_TOKEN, f->token);
    pawl_arg_int(a, PAWL_ITEM_INSERT_NO, no++);
    pawl_arg_str(a, PAWL_ITEM_INSERT_ITEM, value);
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

static pawl_code send_items(pawl_engine *e, pawl_held **list, int n,
                            pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_code rc = PAWL_OK;

  EACH_EFFECT(h, f, PAWL_EFFECT_ITEMS) TRY(send_list(e, list, h, f, err));
  begin(e, PAWL_STMT_ITEM_PUT, list);
  EACH_EFFECT(h, f, PAWL_EFFECT_ITEM) {
    static const pawl_buf none;
    int failed = pawl_str_eqz(pawl_buf_str(&f->name), "failed");
    if (f->old) continue;
    arg_held(a, h);
    pawl_arg_int(a, PAWL_ITEM_PUT_TOKEN, f->token);
    pawl_arg_int(a, PAWL_ITEM_PUT_NO, f->n);
    pawl_arg_str(a, PAWL_ITEM_PUT_STATE, pawl_buf_str(&f->name));
    pawl_arg_id(a, PAWL_ITEM_PUT_CHILD, f->has_id ? &f->id : NULL);
    pawl_arg_buf(a, PAWL_ITEM_PUT_RESULT, failed ? &none : &f->data);
    pawl_arg_buf(a, PAWL_ITEM_PUT_ERROR, failed ? &f->data : &none);
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}

/* ---- all effects ---- */

pawl_code pawl_commit_effects(pawl_engine *e, pawl_held **list, int n,
                              int64_t now, pawl_error *err) {
  unsigned kinds = 0;
  pawl_code rc = PAWL_OK;
#define HAS(kind) (kinds & 1u << PAWL_EFFECT_##kind)

  EACH(h) {
    for (int k = 0; k < h->plan.neffects; k++)
      kinds |= 1u << h->plan.effects[k].kind;
    pawl_plan_last_words(&h->plan);
  }
  if (!kinds) return PAWL_OK;
  if (HAS(SUBSCRIBE) || HAS(UNSUBSCRIBE))
    TRY(send_subscriptions(e, list, n, now, err));
  if (HAS(TAKE) || HAS(DELETE)) TRY(send_inbox(e, list, n, err));
  if (HAS(TASK) || HAS(TASK_END) || HAS(TASK_RAISE) || HAS(TASK_DUE) ||
      HAS(TASK_RENAME))
    TRY(send_tasks(e, list, n, now, err));
  if (HAS(MESSAGE))
    TRY(send_outgoing(e, list, n, now, PAWL_EFFECT_MESSAGE, err));
  if (HAS(EMIT)) TRY(send_outgoing(e, list, n, now, PAWL_EFFECT_EMIT, err));
  if (HAS(ITEMS) || HAS(ITEM)) TRY(send_items(e, list, n, err));
#undef HAS
out:
  return rc;
}

/* ---- ends ---- */

/* May anything be left that was meant for it? */
int pawl_commit_leaves(const pawl_held *h) {
  return h->plan.after == PAWL_AFTER_END &&
         (!h->def || h->def->can_receive || h->nletters || h->latch);
}

static int leaves_tokens(const pawl_held *h) {
  if (h->plan.after != PAWL_AFTER_END) return 0;
  for (int k = 0; k < h->tokens.n; k++)
    if (h->tokens.at[k].stored) return 1;
  return 0;
}

pawl_code pawl_commit_ends(pawl_engine *e, pawl_held **list, int n,
                           int64_t now, pawl_error *err) {
  static const pawl_stmt clears[] = {PAWL_STMT_INBOX_CLEAR,
                                     PAWL_STMT_SUBSCRIPTION_CLEAR,
                                     PAWL_STMT_TASK_CLOSE};
  pawl_code rc = PAWL_OK;

  begin(e, PAWL_STMT_INBOX_KEEP, list);
  EACH(h) {
    if (pawl_commit_leaves(h)) arg_held(&e->args, h);
  }
  pawl_arg_time(&e->args, PAWL_INBOX_KEEP_NOW, now);
  pawl_arg_time(&e->args, PAWL_INBOX_KEEP_EXPIRES_AT, now + KNOWN_US);
  TRY(pawl_commit_send(e, err));
  for (int k = 0; k < 3; k++) {
    begin(e, clears[k], list);
    EACH(h) {
      if (!pawl_commit_leaves(h)) continue;
      arg_held(&e->args, h);
      if (clears[k] == PAWL_STMT_TASK_CLOSE)
        pawl_arg_time(&e->args, PAWL_TASK_CLOSE_UPDATED_AT, now);
      if (clears[k] == PAWL_STMT_INBOX_CLEAR) /* a retry may come */
        pawl_arg_int(&e->args, PAWL_INBOX_CLEAR_REVIVES,
                     h->plan.status == PAWL_STATUS_FAILED);
    }
    TRY(pawl_commit_send(e, err));
  }
  begin(e, PAWL_STMT_TOKEN_DROP, list);
  EACH(h) {
    if (leaves_tokens(h)) arg_held(&e->args, h);
  }
  TRY(pawl_commit_send(e, err));
out:
  return rc;
}
