/* From one version of a workflow to another: which instances can go, and
 * sending them there, each in a transaction of its own.
 *
 * Looking and sending are one walk, so that a plan tells what the real thing
 * would do at that moment. An instance that has gone on since it was looked at
 * is refused by whoever takes its letter, and told among the refused. */
#include <assert.h>

#include "../../rules/stored.h"
#include "../../value/options.h"
#include "../versions/crossing.h"
#include "act.h"

#define PAGE 200

/* On the heap, for its page: who calls may have little of a stack left. */
typedef struct transfer {
  uint64_t given;
  pawl_buf code, by, reason, before;
  int64_t from_version, to_version, limit;
  pawl_str map;
  pawl_crossing crossing;
  int plan;         /* only look */
  pawl_taker *take; /* NULL: the same */
  pawl_id after;    /* the last one that was looked at */
  int shard, over;
  /* the page */
  pawl_id ids[PAGE];
  int undoing[PAGE], n;
  pawl_places places, lost;
  /* how many boundaries begin, and end, by nodes of `to` and of `from` */
  int64_t *begun, *ended;
  pawl_buf gone, refused, asked; /* JSON members */
} transfer;

static const pawl_option transfer_rows[] = {
    {"workflow", PAWL_OPTION_TEXT, .at = offsetof(transfer, code), .low = 1,
     .needed = 1},
    {"from", PAWL_OPTION_INT, .at = offsetof(transfer, from_version), .low = 1,
     .high = INT32_MAX, .needed = 1},
    {"to", PAWL_OPTION_INT, .at = offsetof(transfer, to_version), .low = 1,
     .high = INT32_MAX, .needed = 1},
    {"limit", PAWL_OPTION_INT, .at = offsetof(transfer, limit), .low = 1,
     .high = INT32_MAX},
    {"after", PAWL_OPTION_TEXT, .at = offsetof(transfer, before), .low = 1},
    {"by", PAWL_OPTION_TEXT, .at = offsetof(transfer, by),
     .high = PAWL_MAX_BY},
    {"reason", PAWL_OPTION_TEXT, .at = offsetof(transfer, reason),
     .high = PAWL_MAX_REASON},
    {"map", PAWL_OPTION_OBJECT, .at = offsetof(transfer, map)},
    {"plan", PAWL_OPTION_BOOL, .at = offsetof(transfer, plan)}};
PAWL_OPTIONS_OF(workflow_transfer) = {.what = "a transfer",
                                      PAWL_OPTION_ROWS(transfer_rows)};

/* The page after an instance goes on in its shard. */
static pawl_code read_after(pawl_engine *e, transfer *m, pawl_error *err) {
  if (!m->before.len) return PAWL_OK;
  if (m->before.len != 36 ||
      !pawl_id_parse(m->before.at, m->before.len, &m->after))
    return pawl_fail(err, PAWL_INVALID, "`after` must be an instance's id");
  m->shard = pawl_shard_of(e, &m->after);
  return PAWL_OK;
}

static pawl_code read_transfer(pawl_engine *e, transfer *m, pawl_str text,
                               pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_workflow_transfer, text, m, err));
  m->crossing.map = m->map;
  if (m->from_version == m->to_version)
    return pawl_fail(err, PAWL_INVALID,
                     "a transfer is from one version to another one");
  MUST(read_after(e, m, err));
  return pawl_crossing_open(e, m->code.at, m->from_version, m->to_version,
                            &m->crossing, err);
}

/* A page is looked at as a whole: tokens, and steps that may be undone, are
 * asked for of all its instances at once. */
static pawl_code load_page(pawl_engine *e, transfer *m, pawl_error *err) {
  pawl_rows r;
  int64_t max = m->limit && m->limit < PAGE ? m->limit : PAGE;

  MUST(PAWL_READ(e->store, repair_live, &r, err, .shard = m->shard,
                 .workflow = pawl_buf_str(&m->code),
                 .version = m->from_version, .after = &m->after, .max = max));
  m->n = r.nrows < PAGE ? r.nrows : PAGE;
  m->over = m->n < max; /* of this shard */
  m->places.n = m->lost.n = 0;
  for (int k = 0; k < m->n; k++) {
    const pawl_repair_live_row row = pawl_read_repair_live(&r, k);
    m->ids[k] = *row.id;
    m->undoing[k] = pawl_compensation_is_under_way(row.compensation);
    MUST(pawl_places_stopped(&e->world, &m->ids[k], row.stopped, &m->places,
                             err));
  }
  MUST(pawl_places_load(e, m->shard, m->ids, m->n, &m->places, err));
  return pawl_crossing_lost(e, &m->crossing, m->shard, m->ids, m->n, &m->lost,
                            err);
}

/* One that cannot go does not stop the others: why is told in the report. */
static void note_refused(transfer *m, const pawl_id *id,
                         const pawl_place *place, pawl_str reason) {
  pawl_object o;

  if (m->refused.len) pawl_buf_addc(&m->refused, ',');
  pawl_object_begin(&o, &m->refused);
  pawl_member_id(&o, "id", id);
  if (place) {
    if (place->no) pawl_member_int(&o, "token", place->no);
    pawl_member_textz(&o, "node", place->node);
  }
  pawl_member_str(&o, "reason", reason);
  pawl_object_end(&o);
}

static void note(pawl_buf *list, const pawl_id *id) {
  pawl_buf_addf(list, "%s\"%s\"", list->len ? "," : "",
                pawl_id_text_of(id).at);
}

/* Says where it goes from, too: who takes it refuses when the instance has
 * been elsewhere since it was looked at. */
static void write_letter(const transfer *m, pawl_buf *out) {
  pawl_object o;
  pawl_object_begin(&o, out);
  pawl_member_str(&o, "reason",
                  m->reason.at ? pawl_buf_str(&m->reason) : pawl_strz(""));
  pawl_member_int(&o, "from_version", m->from_version);
  pawl_member_int(&o, "to_version", m->to_version);
  if (m->crossing.map.at) pawl_member_json(&o, "map", m->crossing.map);
  pawl_object_end(&o);
}

/* Each in a transaction of its own, as many as there are: half of them moved
 * is a state one can go on from. */
static pawl_code send_one(pawl_engine *e, transfer *m, const pawl_id *id,
                          pawl_error *err) {
  pawl_buf letter = {.alloc = &e->alloc};
  pawl_error why;
  int done = 0;
  pawl_code rc = PAWL_OK;

  write_letter(m, &letter);
  TRY(pawl_buf_check(&letter, err));
  rc = pawl_act_request(e, m->take, id, NULL, "transfer", "user",
                        m->by.at ? m->by.at : "", pawl_buf_str(&letter), &done,
                        NULL, &why);
  if (rc == PAWL_INVALID || rc == PAWL_CONFLICT) { /* it has moved on */
    note_refused(m, id, NULL, pawl_strz(why.message));
    rc = PAWL_OK;
  } else if (rc == PAWL_ALREADY_FINISHED) {
    rc = PAWL_OK; /* then there is nothing to move */
  } else if (rc == PAWL_OK) {
    note(done ? &m->gone : &m->asked, id);
  } else if (err) {
    *err = why;
  }
out:
  pawl_buf_deinit(&letter);
  return rc;
}

/* ---- what begins beside them, and ends ---- */

static pawl_code count_new(pawl_engine *e, transfer *m, pawl_error *err) {
  const size_t to = sizeof(int64_t) * (size_t)m->crossing.to->nnodes;
  const size_t from = sizeof(int64_t) * (size_t)m->crossing.from->nnodes;

  m->begun = pawl_calloc(&e->alloc, to);
  m->ended = pawl_calloc(&e->alloc, from);
  return m->begun && m->ended ? PAWL_OK : pawl_fail_memory(err);
}

static void count_free(pawl_engine *e, transfer *m) {
  if (m->begun)
    pawl_release(&e->alloc, m->begun,
                 sizeof(int64_t) * (size_t)m->crossing.to->nnodes);
  if (m->ended)
    pawl_release(&e->alloc, m->ended,
                 sizeof(int64_t) * (size_t)m->crossing.from->nnodes);
}

static void count_begun(void *ud, const pawl_place *place, int level, int at) {
  transfer *m = ud;

  (void)place, (void)level;
  m->begun[at]++;
}

/* Of one that can go, whose places are together: from the first to before the
 * last. */
static void count_beside(pawl_engine *e, transfer *m, int first, int last) {
  pawl_buf name = {.alloc = &e->alloc};

  pawl_crossing_begins(&m->crossing, &m->places.at[first], last - first, NULL,
                       count_begun, m, &name);
  for (int i = first; i < last; i++) {
    const char *node = m->places.at[i].node;
    if (!m->places.at[i].host || !node ||
        pawl_crossing_boundary(&m->crossing, node, &name) >= 0)
      continue;
    const int at = pawl_def_node(m->crossing.from, node, strlen(node));
    if (at >= 0) m->ended[at]++;
  }
  m->gone.failed |= name.failed;
  pawl_buf_deinit(&name);
}

/* [{"node","on","count"}] */
static void add_beside(pawl_object *o, const char *member, const pawl_def *def,
                       const int64_t *counts) {
  int n = 0;

  pawl_member(o, member);
  pawl_buf_addc(o->out, '[');
  for (int i = 0; i < def->nnodes; i++) {
    pawl_object one;
    if (!counts[i]) continue;
    if (n++) pawl_buf_addc(o->out, ',');
    pawl_object_begin(&one, o->out);
    pawl_member_textz(&one, "node", def->nodes[i].name);
    pawl_member_textz(&one, "on", def->nodes[i].on);
    pawl_member_int(&one, "count", counts[i]);
    pawl_object_end(&one);
  }
  pawl_buf_addc(o->out, ']');
}

/* ---- all of them ---- */

/* The first thing that is in its way will do. */
static pawl_code look_at(pawl_engine *e, transfer *m, int k, pawl_error *err) {
  pawl_buf why = {.alloc = &e->alloc};
  const pawl_place *bad = NULL;
  int first = 0, last = 0;
  pawl_code rc = PAWL_OK;

  assert(k < m->n);
  if (m->undoing[k]) {
    note_refused(m, &m->ids[k], NULL,
                 pawl_strz("its compensation is under way"));
    return PAWL_OK;
  }
  for (int i = 0; i < m->places.n && !bad; i++) {
    const pawl_place *place = &m->places.at[i];
    if (!pawl_id_eq(&place->instance, &m->ids[k])) continue;
    if (!last) first = i;
    last = i + 1;
    TRY(pawl_crossing_check(&m->crossing, place, &why, err));
    if (why.len) bad = place;
  }
  for (int i = 0; i < m->lost.n && !bad; i++) {
    if (!pawl_id_eq(&m->lost.at[i].instance, &m->ids[k])) continue;
    bad = &m->lost.at[i];
    pawl_crossing_tell_lost(&m->crossing, bad, &why);
    TRY(pawl_buf_check(&why, err));
  }
  if (bad)
    note_refused(m, &m->ids[k], bad, pawl_buf_str(&why));
  else
    count_beside(e, m, first, last);
  if (!bad && m->take)
    TRY(send_one(e, m, &m->ids[k], err));
  else if (!bad)
    note(&m->gone, &m->ids[k]);
out:
  pawl_buf_deinit(&why);
  return rc;
}

/* Page by page through the shards; a limit ends it after one page, and
 * "next" says where to go on. */
static pawl_code walk(pawl_engine *e, transfer *m, pawl_error *err) {
  for (; m->shard < e->nshards; m->shard++) {
    for (m->over = 0; !m->over;) {
      pawl_store_call(e->store);
      MUST(load_page(e, m, err));
      for (int k = 0; k < m->n; k++) MUST(look_at(e, m, k, err));
      if (m->n) m->after = m->ids[m->n - 1];
      if (m->limit && m->n) return PAWL_OK;
    }
    memset(&m->after, 0, sizeof m->after);
  }
  return PAWL_OK;
}

static void add_list(pawl_object *o, const char *name, const pawl_buf *list) {
  pawl_member(o, name);
  pawl_buf_addc(o->out, '[');
  pawl_buf_adds(o->out, pawl_buf_str(list));
  pawl_buf_addc(o->out, ']');
}

static pawl_code report(pawl_engine *e, const transfer *m, pawl_buf *out,
                        pawl_error *err) {
  pawl_object o;

  MUST(pawl_buf_check(&m->gone, err));
  MUST(pawl_buf_check(&m->refused, err));
  MUST(pawl_buf_check(&m->asked, err));
  pawl_object_begin(&o, out);
  add_list(&o, "gone", &m->gone);
  add_list(&o, "asked", &m->asked);
  add_list(&o, "refused", &m->refused);
  add_beside(&o, "begun", m->crossing.to, m->begun);
  add_beside(&o, "ended", m->crossing.from, m->ended);
  if (m->shard < e->nshards) pawl_member_id(&o, "next", &m->after);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}

pawl_code pawl_act_transfer(pawl_engine *e, pawl_taker *take, pawl_str text,
                            pawl_buf *out, pawl_error *err) {
  size_t size = sizeof(transfer);
  transfer *m = pawl_realloc(&e->alloc, NULL, 0, size);
  pawl_code rc = PAWL_OK;

  if (!m) return pawl_fail_memory(err);
  pawl_options_init(&pawl_options_of_workflow_transfer, m, size, &e->alloc);
  m->gone.alloc = m->refused.alloc = m->asked.alloc = &e->alloc;
  m->take = take;
  TRY(read_transfer(e, m, text, err));
  TRY(count_new(e, m, err));
  if (m->plan) m->take = NULL;
  TRY(walk(e, m, err));
  if (out) TRY(report(e, m, out, err));
out:
  count_free(e, m);
  pawl_crossing_close(&m->crossing);
  pawl_places_deinit(&e->world, &m->places);
  pawl_places_deinit(&e->world, &m->lost);
  pawl_buf_deinit(&m->gone);
  pawl_buf_deinit(&m->refused);
  pawl_buf_deinit(&m->asked);
  pawl_options_deinit(&pawl_options_of_workflow_transfer, m);
  pawl_release(&e->alloc, m, size);
  return rc;
}
