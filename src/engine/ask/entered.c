/* By which transition visits were entered: see entered.h. */
#include "entered.h"

#include <string.h>

#include "../../rules/way.h"
#include "../../value/json.h"

enum { NEAR = 64 }; /* rows of one commit, mostly */

enum { UNTOLD, UNNAMED, NAMED, ASK_BEHIND, ASK_LED, ASK_BRANCH, ASK_BEGUN };

enum { FIRST_TOKEN = 1 };

/* By which row a token went on. */
typedef struct way {
  int64_t seq;
  pawl_str node, transition, path;
} way;

void pawl_entered_init(pawl_entered *w, pawl_engine *e, const pawl_id *id) {
  *w = (pawl_entered){.e = e, .id = id};
  w->text.alloc = &e->alloc;
}

void pawl_entered_deinit(pawl_entered *w) {
  pawl_buf_deinit(&w->text);
  pawl_release(&w->e->alloc, w->list, sizeof *w->list * (size_t)w->cap);
}

/* ---- what a path tells ---- */

static pawl_str node_of(const pawl_entered *w, const pawl_entry *n) {
  return (pawl_str){w->text.at + n->node, n->node_len};
}

/* `node` and `name` may be borrowed of rows: what outlives them is copied. */
static void name_it(pawl_entered *w, pawl_entry *n, pawl_str name) {
  n->how = name.at ? NAMED : UNNAMED;
  n->name = w->text.len;
  n->name_len = name.len;
  pawl_buf_adds(&w->text, name);
}

/* 0: that way did not lead there. */
static int take_way(pawl_entered *w, pawl_entry *n, const way *by,
                    pawl_way_part part) {
  pawl_str name = {NULL, 0};

  switch (pawl_way_into(by->path, part, node_of(w, n), &name)) {
    case PAWL_WAY_NOT:
      return 0;
    case PAWL_WAY_FIRST:
      name_it(w, n, by->transition);
      break;
    case PAWL_WAY_CHOSEN:
      name_it(w, n, name);
      break;
    case PAWL_WAY_BRANCH:
      n->how = ASK_BRANCH;
      break;
    case PAWL_WAY_PLAIN:
      n->how = UNNAMED;
      break;
    case PAWL_WAY_SEVERAL:
      n->how = UNTOLD;
  }
  return 1;
}

/* What its own token left. One that stands on where it is (a boundary that
 * comes again) was begun there. */
static void take_own(pawl_entered *w, pawl_entry *n, const way *by,
                     int64_t upto) {
  const pawl_str node = node_of(w, n);

  n->how = UNTOLD;
  if (by->seq <= upto && by->seq + 1 < n->seq) return; /* others are gone */
  if (take_way(w, n, by, PAWL_WAY_OWN) || take_way(w, n, by, PAWL_WAY_ALL))
    return;
  if (node.at && by->node.at && pawl_str_eq(by->node, node)) n->how = UNNAMED;
}

/* Nothing is told of what led there: the instance began, or it was put there.
 * Or it is an item, which has begun as another had ended. */
static int by_nothing(const pawl_entry *n) {
  return n->token == FIRST_TOKEN ? UNNAMED : ASK_BEGUN;
}

/* The newest of those that led to it has the way. Of one alone it is not sure
 * yet: an item names what was newest as it began, which led somebody else. */
static void led_by(pawl_entry *n, pawl_str previous) {
  int listed = 0;

  n->how = ASK_LED;
  n->led = 0;
  for (pawl_json_iter it = {0}; previous.len && pawl_json_walk(previous, &it);
       listed++)
    (void)pawl_json_int(it.value, &n->led);
  n->alone = listed == 1;
}

/* ---- what the page has ---- */

static int goes_on(const pawl_history_list_row *r) {
  return r->path.at &&
         (r->attempt != PAWL_NULL || pawl_str_eqz(r->type, "moved") ||
          pawl_str_eqz(r->type, "restarted"));
}

static way way_of(const pawl_history_list_row *r) {
  return (way){r->seq, r->node, r->transition, r->path};
}

static int64_t first_seq(const pawl_rows *rows) {
  return pawl_read_history_list(rows, 0).seq;
}

/* Its token's row before, which went on or says what led there. */
static void look_behind(pawl_entered *w, pawl_entry *n, const pawl_rows *rows,
                        int k) {
  const int64_t own = pawl_read_history_list(rows, k).token;

  n->how = ASK_BEHIND;
  if (!w->whole) return;
  for (int i = k - 1; i >= 0; i--) {
    const pawl_history_list_row r = pawl_read_history_list(rows, i);
    if (r.token != own) continue;
    if (goes_on(&r)) {
      const way by = way_of(&r);
      take_own(w, n, &by, w->upto);
      return;
    }
    if (r.previous.at) {
      led_by(n, r.previous);
      if (r.seq <= w->upto && r.seq + 1 < n->seq) n->how = UNTOLD;
      return;
    }
  }
  if (first_seq(rows) == 1)
    n->how = w->upto || !n->is_visit ? UNTOLD : by_nothing(n);
  if (n->seq - first_seq(rows) >= ENTERED_FAR) n->how = UNTOLD;
}

/* Row `led` and those behind it, if the page has them. */
static void look_led(pawl_entered *w, pawl_entry *n, const pawl_rows *rows,
                     int k) {
  int i = k - 1;

  if (!w->whole || n->led < first_seq(rows)) return;
  while (i >= 0 && pawl_read_history_list(rows, i).seq > n->led) i--;
  n->how = UNTOLD;
  for (int is_led = 1; i >= 0 && i < k; i++, is_led = 0) {
    const pawl_history_list_row r = pawl_read_history_list(rows, i);
    const way by = way_of(&r);
    if (r.seq > n->led + NEAR || (is_led && r.seq != n->led)) return;
    if (take_way(w, n, &by, is_led ? PAWL_WAY_ALL : PAWL_WAY_LATER)) return;
  }
}

/* It tells where its own way has led. */
static int leads(const pawl_history_list_row *r) {
  return pawl_str_eqz(r->type, "started") || pawl_str_eqz(r->type, "routed");
}

/* An undo's stands at what it undoes, which is no visit. */
static int is_undo(const pawl_history_list_row *r) {
  return pawl_str_eqz(r->type, "undone") ||
         pawl_str_eqz(r->type, "undo_failed") ||
         (pawl_str_eqz(r->type, "failed") && pawl_str_eqz(r->text, "undoing"));
}

static void find(pawl_entered *w, pawl_entry *n, const pawl_rows *rows,
                 int k) {
  const pawl_history_list_row r = pawl_read_history_list(rows, k);
  const way own = way_of(&r);

  n->how = !r.node.at || is_undo(&r) ? UNNAMED : UNTOLD;
  if (n->how == UNNAMED || r.token == PAWL_NULL) return;
  if (leads(&r) && take_way(w, n, &own, PAWL_WAY_ALL)) return;
  if (r.previous.at)
    led_by(n, r.previous);
  else
    look_behind(w, n, rows, k);
  if (n->how == ASK_LED) look_led(w, n, rows, k);
}

void pawl_entered_note(pawl_entered *w, const pawl_rows *rows, int k,
                       size_t at) {
  const pawl_history_list_row r = pawl_read_history_list(rows, k);

  if (!PAWL_ROOM(&w->e->alloc, w->list, w->n, w->cap)) {
    w->failed = 1;
    return;
  }
  pawl_entry *n = &w->list[w->n++];
  *n = (pawl_entry){.at = at,
                    .seq = r.seq,
                    .token = r.token,
                    .is_visit = r.attempt != PAWL_NULL};
  n->node = w->text.len;
  n->node_len = r.node.len;
  pawl_buf_adds(&w->text, r.node);
  if (!w->text.failed) find(w, n, rows, k);
}

/* ---- what it has not ---- */

static int asks(const pawl_entered *w, int how) {
  for (int i = 0; i < w->n; i++)
    if (w->list[i].how == how) return 1;
  return 0;
}

/* No row: nothing led there, if all that there was was looked at. Who is told
 * of before what led there is told of has no attempt. */
static void take_behind(pawl_entered *w, pawl_entry *n,
                        const pawl_history_behind_row *r) {
  const way by = {r->led, r->node, r->transition, r->path};

  n->how = UNTOLD;
  if (r->told) {
    if (r->told <= r->upto && r->told + 1 < n->seq) return;
    led_by(n, r->previous);
  } else if (r->led) {
    take_own(w, n, &by, r->upto);
  } else if (n->is_visit && !r->upto && n->seq <= ENTERED_FAR + 1) {
    n->how = by_nothing(n);
  }
}

static pawl_code ask_behind(pawl_entered *w, pawl_error *err) {
  const int shard = pawl_shard_of(w->e, w->id);
  pawl_args *a = &w->e->args;
  pawl_rows rows;
  int k = 0;

  pawl_args_begin(a, PAWL_STMT_history_behind);
  for (int i = 0; i < w->n; i++)
    if (w->list[i].how == ASK_BEHIND)
      PAWL_PUT(a, history_behind, .shard = shard, .id = w->id,
               .seq = w->list[i].seq, .token = w->list[i].token,
               .far = ENTERED_FAR);
  MUST(pawl_store_once(w->e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int i = 0; i < w->n && k < rows.nrows; i++) {
    const pawl_history_behind_row r = pawl_read_history_behind(&rows, k);
    if (r.seq != w->list[i].seq) continue;
    take_behind(w, &w->list[i], &r);
    k++;
  }
  return PAWL_OK;
}

static pawl_code ask_led(pawl_entered *w, pawl_error *err) {
  const int shard = pawl_shard_of(w->e, w->id);
  pawl_args *a = &w->e->args;
  pawl_rows rows;
  int k = 0;

  pawl_args_begin(a, PAWL_STMT_history_onward);
  for (int i = 0; i < w->n; i++)
    if (w->list[i].how == ASK_LED)
      PAWL_PUT(a, history_onward, .shard = shard, .id = w->id,
               .seq = w->list[i].led, .below = w->list[i].seq, .max = NEAR);
  MUST(pawl_store_once(w->e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int i = 0; i < w->n; i++) {
    pawl_entry *n = &w->list[i];
    if (n->how != ASK_LED) continue;
    n->how = UNTOLD;
    for (int found = 0; k < rows.nrows; k++) {
      const pawl_history_onward_row r = pawl_read_history_onward(&rows, k);
      const way by = {r.seq, {NULL, 0}, r.transition, r.path};
      if (r.below != n->seq) break;
      if (!found)
        found = take_way(w, n, &by,
                         r.seq == n->led ? PAWL_WAY_ALL : PAWL_WAY_LATER);
    }
  }
  return PAWL_OK;
}

/* An item's branch is called as its number. (A fork's may be, and is not told
 * then.) */
static int is_item(pawl_str branch) {
  for (size_t i = 0; i < branch.len; i++)
    if (branch.at[i] < '0' || branch.at[i] > '9') return 0;
  return branch.len > 0;
}

static void take_branch(pawl_entered *w, pawl_entry *n, pawl_str branch) {
  if (is_item(branch) || (n->how == ASK_BRANCH && !branch.at))
    n->how = UNTOLD;
  else if (n->how == ASK_BRANCH)
    name_it(w, n, branch);
  else if (n->how == ASK_BEGUN)
    n->how = UNNAMED;
}

static int asks_branch(const pawl_entry *n) {
  return n->how == ASK_BRANCH || n->how == ASK_BEGUN ||
         (n->alone && n->how != UNTOLD);
}

static int asks_branches(const pawl_entered *w) {
  for (int i = 0; i < w->n; i++)
    if (asks_branch(&w->list[i])) return 1;
  return 0;
}

/* One without a row has no branch. */
static pawl_code ask_branches(pawl_entered *w, pawl_error *err) {
  const int shard = pawl_shard_of(w->e, w->id);
  pawl_args *a = &w->e->args;
  pawl_rows rows;

  pawl_args_begin(a, PAWL_STMT_token_branches);
  for (int i = 0; i < w->n; i++)
    if (asks_branch(&w->list[i]))
      PAWL_PUT(a, token_branches, .shard = shard, .id = w->id,
               .no = w->list[i].token);
  MUST(pawl_store_once(w->e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int i = 0, k = 0; i < w->n; i++) {
    pawl_entry *n = &w->list[i];
    if (!asks_branch(n)) continue;
    if (k < rows.nrows && pawl_read_token_branches(&rows, k).no == n->token)
      take_branch(w, n, pawl_read_token_branches(&rows, k++).branch);
    else
      take_branch(w, n, (pawl_str){NULL, 0});
  }
  return PAWL_OK;
}

/* ---- told ---- */

static void add_entry(const pawl_entered *w, const pawl_entry *n,
                      pawl_buf *out) {
  if (n->how == UNTOLD) return;
  pawl_buf_addz(out, ",\"transition_in\":");
  if (n->how == NAMED)
    pawl_json_add_string(out, (pawl_str){w->text.at + n->name, n->name_len});
  else
    pawl_buf_addz(out, "null");
}

static void add_all(pawl_entered *w, pawl_buf *out) {
  pawl_buf page = {.alloc = out->alloc};
  const size_t from = w->list[0].at;
  size_t at = from;

  pawl_buf_add(&page, out->at + from, out->len - from);
  out->len = from;
  for (int i = 0; i < w->n && !page.failed; i++) {
    pawl_buf_add(out, page.at + (at - from), w->list[i].at - at);
    add_entry(w, &w->list[i], out);
    at = w->list[i].at;
  }
  if (page.failed)
    out->failed = 1;
  else
    pawl_buf_add(out, page.at + (at - from), page.len - (at - from));
  pawl_buf_deinit(&page);
}

pawl_code pawl_entered_tell(pawl_entered *w, pawl_buf *out, pawl_error *err) {
  if (w->failed || w->text.failed) out->failed = 1;
  MUST(pawl_buf_check(out, err));
  if (asks(w, ASK_BEHIND)) MUST(ask_behind(w, err));
  if (asks(w, ASK_LED)) MUST(ask_led(w, err));
  if (asks_branches(w)) MUST(ask_branches(w, err));
  if (w->text.failed) out->failed = 1;
  MUST(pawl_buf_check(out, err));
  if (w->n) add_all(w, out);
  w->n = 0;
  pawl_buf_clear(&w->text);
  return PAWL_OK;
}
