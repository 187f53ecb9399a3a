/* What has come in for instances that are held, and what is kept for their
 * keys. Rule 5 of events: whoever begins to wait has written so first and
 * looks here after that, so an event is either posted to it or found by it. */
#include "mail.h"

#include <assert.h>
#include <stdlib.h>

#include "../../rules/asked.h"
#include "../../rules/decide.h"
#include "../../rules/kept.h"
#include "../common/names.h"
#include "../common/time.h"
#include "needs.h"

#define LETTERS_PAGE 16 /* events of one inbox, or of one wait in it */
#define OTHERS_PAGE 256 /* requests, and answers of children or people */
#define EVENTS_PAGE 64  /* kept, of one wait */
#define MOST_PAGE 256   /* of a wait that has turned down as many */

/* ---- letters ---- */

static pawl_letter *add_letter(pawl_engine *e, pawl_held *h) {
  if (!PAWL_ROOM(&e->alloc, h->d.letters, h->d.nletters, h->d.letters_cap))
    return NULL;
  return &h->d.letters[h->d.nletters++];
}

static pawl_code fill_letter(pawl_engine *e, pawl_held *h,
                             const pawl_letter *from, const pawl_str text[7],
                             pawl_error *err) {
  pawl_letter *l = add_letter(e, h);
  if (!l) return pawl_fail_memory(err);
  pawl_buf *bufs[] = {&l->kind,   &l->name, &l->key, &l->event_id,
                      &l->source, &l->by,   &l->data};
  l->no = from->no;
  l->received_us = from->received_us;
  l->has_key = text[2].at != NULL;
  l->addressed = from->addressed;
  l->kept = from->kept;
  l->came = from->came;
  l->news_for = 0;
  for (int i = 0; i < 7; i++) {
    bufs[i]->alloc = &e->alloc;
    pawl_buf_set(bufs[i], text[i]);
    if (bufs[i]->failed) return pawl_fail_memory(err);
  }
  return PAWL_OK;
}

/* Behind what was received then there may be more that was not read. */
static void stop_at(pawl_held *h, int64_t received_us) {
  if (received_us < h->d.read_us) h->d.read_us = received_us;
}

/* A row of an inbox, whichever statement gave it. */
#define TAKE_LETTER(e, h, row, err)                                         \
  fill_letter(e, h,                                                         \
              &(const pawl_letter){.no = *(row)->no,                        \
                                   .came = *(row)->no,                      \
                                   .addressed = (int)(row)->addressed,      \
                                   .received_us = (row)->received_at},      \
              (const pawl_str[]){(row)->kind, (row)->name, (row)->key,      \
                                 (row)->event_id, (row)->source, (row)->by, \
                                 (row)->data},                              \
              err)

pawl_code pawl_mail_ask(pawl_engine *e, int shard, int *at, pawl_error *err) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_inbox_load);
  PAWL_EACH_SLOT (e, h) {
    if (h->shard != shard || !pawl_needs_inbox(h)) continue;
    h->d.nletters = 0;
    PAWL_PUT(a, inbox_load, .shard = shard, .id = &h->d.id,
             .events = LETTERS_PAGE, .others = OTHERS_PAGE);
  }
  return pawl_store_send(e->store, a, at, err);
}

/* Was one of its pages full? Then what is behind it comes later. */
static void count_pages(pawl_held *h) {
  enum { REQUESTS, CHILDREN, TASKS, PAGES };
  int64_t last_us[PAGES] = {0};
  int n[PAGES] = {0}, events = 0;

  for (int i = 0; i < h->d.nletters; i++) {
    const pawl_letter *l = &h->d.letters[i];
    int page = pawl_letter_is(l, "child")  ? CHILDREN
               : pawl_letter_is(l, "task") ? TASKS
                                           : REQUESTS;
    if (pawl_letter_is(l, "event")) {
      events++;
    } else {
      n[page]++;
      last_us[page] = l->received_us;
    }
  }
  h->d.unread = events >= LETTERS_PAGE;
  for (int i = 0; i < PAGES; i++)
    if (n[i] >= OTHERS_PAGE) stop_at(h, last_us[i]);
}

pawl_code pawl_mail_take(pawl_engine *e, const pawl_rows *r, pawl_error *err) {
  pawl_held *last = NULL;

  for (int k = 0; k < r->nrows; k++) {
    const pawl_inbox_load_row row = pawl_read_inbox_load(r, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h || !pawl_needs_inbox(h)) continue;
    if (last && last != h) count_pages(last);
    last = h;
    MUST(TAKE_LETTER(e, h, &row, err));
  }
  if (last) count_pages(last);
  return PAWL_OK;
}

/* ---- events for those that wait ---- */

/* One wait, or rule that cancels, that looks for its events: in an inbox that
 * holds more than a page, or with its key among those that are kept. */
typedef struct search {
  pawl_held *h;
  int in_inbox;
  int has_key;
  int takes_one;     /* what others have not taken */
  int32_t token;     /* that waits; 0: a rule */
  pawl_asked asked;  /* what that has turned down */
  int page;          /* rows of one */
  const char *event; /* of the node */
  pawl_buf key;
  int shard;        /* where the key's events are */
  int done;         /* -1: its last page was full, there may be more */
  int behind;       /* there may be more, but there is enough for now */
  int64_t after_us; /* from this one on; 0: from the first */
  pawl_id after_no; /* its number in an inbox, `came` among what is kept */
  pawl_kept place;  /* K1; since 0: it has none */
  pawl_kept passed; /* what it will be; since 0: nothing was read */
  int stopped;      /* at something that is not known */
  int fresh;        /* a page was read: what of it is known? */
  int nknown;
} search;

typedef struct searches {
  int in_inbox; /* those that are added */
  search *at;
  int n, cap;
} searches;

static void free_searches(pawl_engine *e, searches *s) {
  for (int i = 0; i < s->n; i++) {
    pawl_buf_deinit(&s->at[i].key);
    pawl_asked_free(&s->at[i].asked);
  }
  pawl_release(&e->alloc, s->at, sizeof *s->at * (size_t)s->cap);
}

/* `key` at NULL: it has none. */
static pawl_code add_search(pawl_engine *e, searches *s, pawl_held *h,
                            int32_t token, const char *event, pawl_str key,
                            pawl_error *err) {
  if (!PAWL_ROOM(&e->alloc, s->at, s->n, s->cap)) return pawl_fail_memory(err);
  search *one = &s->at[s->n++];
  one->h = h;
  one->token = token;
  one->event = event;
  one->key.alloc = &e->alloc;
  one->has_key = key.at != NULL;
  pawl_buf_adds(&one->key, key);
  one->in_inbox = s->in_inbox;
  one->page = s->in_inbox ? LETTERS_PAGE : EVENTS_PAGE;
  one->shard =
      s->in_inbox ? h->shard : pawl_event_shard(e, pawl_buf_str(&one->key));
  return pawl_buf_check(&one->key, err);
}

/* Rules look for what came since the instance did: as subscribed, or as they
 * will be with its first commit. */
static pawl_code find_rules(pawl_engine *e, searches *s, pawl_held *h,
                            pawl_error *err) {
  const pawl_marks *rules = &h->d.state.watched;
  pawl_str vars = pawl_buf_str(&h->d.vars);
  pawl_marks coming = {0};
  pawl_code rc = PAWL_OK;

  if (!h->d.def || !h->d.def->ncancel_on ||
      pawl_status_has_ended(h->d.state.status) || h->d.state.undo.status)
    return PAWL_OK;
  if (!h->d.state.started_us) {
    pawl_rules_list(&h->d, h->d.def, vars, &coming);
    rules = &coming;
    if (coming.failed) rc = pawl_fail_memory(err);
  }
  for (int i = 0; i < rules->n && rc == PAWL_OK; i++) {
    const pawl_mark *rule = &rules->at[i];
    if ((!rule->has_key && !s->in_inbox) || rule->no >= h->d.def->ncancel_on)
      continue;
    rc = add_search(e, s, h, 0, h->d.def->cancel_on[rule->no].event,
                    pawl_buf_given(&rule->key, rule->has_key), err);
    if (rc == PAWL_OK) s->at[s->n - 1].after_us = pawl_rules_since(&h->d) - 1;
  }
  pawl_marks_deinit(&coming, &e->alloc);
  return rc;
}

/* What it has turned down lies before what is new. */
static pawl_code begin_search(search *s, const pawl_token *t,
                              pawl_error *err) {
  MUST(pawl_asked_read(t, &s->asked, err));
  if (s->asked.n > s->page)
    s->page = s->asked.n < MOST_PAGE ? s->asked.n : MOST_PAGE;
  if (!s->in_inbox &&
      !pawl_kept_get(t, s->event, pawl_buf_str(&s->key), &s->place))
    s->place.since = 0;
  return PAWL_OK;
}

/* What token t listens for with that ear. */
static pawl_code find_heard(pawl_engine *e, searches *s, pawl_held *h,
                            const pawl_token *t, pawl_ear ear,
                            pawl_error *err) {
  const pawl_node *node = pawl_held_node_of(h, t);
  const char *event = node ? pawl_node_listens(node, ear) : NULL;
  pawl_str key = pawl_ear_heard(t, ear);

  if (t->state != PAWL_TOKEN_WAITING || !event ||
      !pawl_detail_has(t, pawl_ear_key(ear)) || (!key.at && !s->in_inbox))
    return PAWL_OK;
  MUST(add_search(e, s, h, t->no, event, key, err));
  s->at[s->n - 1].takes_one = ear == PAWL_EAR_OWN && node->take_one;
  return begin_search(&s->at[s->n - 1], t, err);
}

static pawl_code find_searches(pawl_engine *e, searches *s, pawl_error *err) {
  PAWL_EACH_SLOT (e, h) {
    if (!pawl_needs_look(h) || (s->in_inbox && !h->d.unread)) continue;
    MUST(find_rules(e, s, h, err));
    for (int k = 0; k < h->d.state.tokens.n; k++)
      for (pawl_ear ear = PAWL_EAR_OWN; ear < PAWL_NEARS; ear++)
        MUST(find_heard(e, s, h, &h->d.state.tokens.at[k], ear, err));
  }
  return PAWL_OK;
}

/* The events that it waits for: by their name, or, for "payment.*", by what
 * stands before one more word. */
static void wanted(const search *s, pawl_str *name, pawl_str *prefix) {
  size_t len = strlen(s->event);
  int wide = len && s->event[len - 1] == '*';

  *name = (pawl_str){wide ? NULL : s->event, wide ? 0 : len};
  *prefix = (pawl_str){wide ? s->event : NULL, wide ? len - 1 : 0};
}

/* Late ones come before the others: they are older. */
static void ask_events(pawl_args *a, int shard, const search *s, int no,
                       int64_t now) {
  int late = s->place.since &&
             pawl_kept_cmp(s->after_us, &s->after_no, &s->place) < 0;
  pawl_str name, prefix;

  wanted(s, &name, &prefix);
  PAWL_PUT(a, event_find, .shard = shard, .no = no,
           .tenant = pawl_buf_str(&s->h->tenant), .key = pawl_buf_str(&s->key),
           .name = name, .prefix = prefix,
           .after_at = late ? s->place.at_us : s->after_us,
           .after_came = late ? &s->place.came : &s->after_no,
           .late_at = s->after_us, .late_came = &s->after_no,
           .since = late ? s->place.since : PAWL_NULL,
           .taker = s->takes_one ? &s->h->d.id : NULL, .max = s->page,
           .now = now);
}

/* Pages are full when they have as many rows as were asked for; those of one
 * search come together. */
typedef struct paging {
  searches *s;
  int64_t last; /* the search of the row before */
  int n;        /* rows of it so far */
} paging;

/* The search that the next row is for. */
static search *search_of(paging *p, int64_t no) {
  search *one = &p->s->at[no];

  assert(no >= 0 && no < p->s->n && no >= p->last);
  p->n = no == p->last ? p->n + 1 : 1;
  p->last = no;
  if (p->n == one->page) one->done = -1; /* there may be more */
  return one;
}

static int is_asked(const search *s, int in_inbox, int shard) {
  return !s->done && s->in_inbox == in_inbox && s->shard == shard;
}

/* All pages of a shard were taken: those that were not full were the last. */
static void end_pages(searches *s, int in_inbox, int shard) {
  for (int i = 0; i < s->n; i++)
    if (is_asked(&s->at[i], in_inbox, shard)) s->at[i].done = 1;
}

static int has_letter(const pawl_held *h, pawl_str event_id) {
  for (int i = 0; i < h->d.nletters; i++)
    if (pawl_str_eq(pawl_buf_str(&h->d.letters[i].event_id), event_id) &&
        pawl_letter_is(&h->d.letters[i], "event"))
      return 1;
  return 0;
}

/* It was shown to this wait before, which did not want it. */
static int is_old_news(const search *s, pawl_str event_id) {
  const pawl_token *t =
      s->token ? pawl_tokens_find(&s->h->d.state.tokens, s->token) : NULL;
  return t && pawl_asked_in(&s->asked, t, event_id);
}

/* K1: the place lies before the first that is not known. */
static void stop_before(search *s, int64_t at_us, const pawl_id *came) {
  if (s->stopped && pawl_kept_cmp(at_us, came, &s->passed) >= 0) return;
  s->stopped = 1;
  s->passed.at_us = at_us;
  s->passed.came = *came;
}

/* Once it is known what of a page is known. What was written before all of
 * the pages were read counts from the first of them on. */
static void pass_page(search *s) {
  pawl_str key = pawl_buf_str(&s->key);
  const pawl_held *h = s->h;

  if (!s->fresh) return;
  assert(!s->in_inbox && h->nfound <= h->d.nletters);
  s->fresh = 0;
  if (!s->stopped) {
    s->passed.at_us = s->after_us;
    s->passed.came = s->after_no;
  }
  for (int i = h->nfound; i < h->d.nletters; i++) {
    const pawl_letter *l = &h->d.letters[i];
    if (!l->kept || !pawl_event_fits(l, key) ||
        !pawl_event_matches(s->event, pawl_buf_str(&l->name)) ||
        (!s->stopped &&
         pawl_kept_cmp(l->received_us, &l->came, &s->passed) > 0))
      continue;
    s->nknown--;
    stop_before(s, l->received_us, &l->came);
  }
}

/* K4 */
static void keep_place(search *s) {
  pawl_token *t =
      s->token ? pawl_tokens_find(&s->h->d.state.tokens, s->token) : NULL;

  if (!t || s->in_inbox || !s->passed.since || s->nknown < PAWL_KEPT_MANY)
    return;
  if (s->place.since && /* it is where it was, or lies among late ones */
      pawl_kept_cmp(s->passed.at_us, &s->passed.came, &s->place) < 0)
    return;
  pawl_kept_set(t, s->event, pawl_buf_str(&s->key), &s->passed);
}

/* A found event becomes a letter, under the name it has in every inbox. An id
 * that was drawn for it tells when, among what came in the same instant. */
static pawl_code take_event(pawl_engine *e, search *s,
                            const pawl_event_find_row *row, pawl_error *err) {
  pawl_buf event_id = {.alloc = &e->alloc};
  pawl_letter l = {.came = {{0}}};
  pawl_code rc = PAWL_OK;

  s->after_us = l.received_us = row->received_at;
  if (row->came) l.came = *row->came;
  s->after_no = l.came;
  pawl_buf_adds(&event_id, row->source);
  pawl_buf_addc(&event_id, ':');
  pawl_buf_adds(&event_id, row->id);
  TRY(pawl_buf_check(&event_id, err));
  if (is_old_news(s, pawl_buf_str(&event_id))) {
    s->nknown--;
    stop_before(s, l.received_us, &l.came);
  } else if (!has_letter(s->h, pawl_buf_str(&event_id))) {
    pawl_str text[7] = {
        pawl_strz("event"), row->name, row->key, pawl_buf_str(&event_id),
        row->source,        row->by,   row->data};
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &l.no, err));
    l.addressed = 0;
    l.kept = 1;
    TRY(fill_letter(e, s->h, &l, text, err));
    s->h->d.letters[s->h->d.nletters - 1].news_for = s->token;
  }
out:
  pawl_buf_deinit(&event_id);
  return rc;
}

static pawl_code take_kept_row(pawl_engine *e, paging *pages,
                               const pawl_rows *rows, int k, pawl_error *err) {
  const pawl_event_find_row row = pawl_read_event_find(rows, k);
  search *one = search_of(pages, row.no);

  if (!one->passed.since) one->passed.since = row.horizon;
  one->fresh = 1;
  one->nknown++;
  return take_event(e, one, &row, err);
}

/* ---- in an inbox ---- */

static void ask_inbox(pawl_args *a, int shard, const search *s, int no) {
  pawl_str name, prefix;

  wanted(s, &name, &prefix);
  PAWL_PUT(a, inbox_find, .shard = shard, .no = no, .id = &s->h->d.id,
           .name = name, .prefix = prefix,
           .key = pawl_buf_given(&s->key, s->has_key), .after_at = s->after_us,
           .after_no = &s->after_no, .max = s->page);
}

static int has_no(const pawl_held *h, const pawl_id *no) {
  for (int i = 0; i < h->d.nletters; i++)
    if (pawl_id_eq(&h->d.letters[i].no, no)) return 1;
  return 0;
}

static pawl_code take_inbox_row(pawl_engine *e, paging *pages,
                                const pawl_rows *rows, int k,
                                pawl_error *err) {
  const pawl_inbox_find_row row = pawl_read_inbox_find(rows, k);
  search *s = search_of(pages, row.search);

  s->after_us = row.received_at;
  s->after_no = *row.no;
  if (has_no(s->h, row.no) || is_old_news(s, row.event_id)) return PAWL_OK;
  MUST(TAKE_LETTER(e, s->h, &row, err));
  s->h->d.letters[s->h->d.nletters - 1].news_for = s->token;
  return PAWL_OK;
}

/* ---- a page ---- */

/* One page of every search that is not done, in one shard: of its inboxes, or
 * of the events that are kept there. */
static pawl_code find_page(pawl_engine *e, searches *s, int in_inbox,
                           int shard, pawl_error *err) {
  const int64_t now = pawl_store_now(e->store);
  pawl_args *a = &e->args;
  paging pages = {.s = s, .last = -1};
  pawl_rows rows;

  pawl_args_begin(a, in_inbox ? PAWL_STMT_inbox_find : PAWL_STMT_event_find);
  for (int i = 0; i < s->n; i++) {
    if (!is_asked(&s->at[i], in_inbox, shard)) continue;
    if (in_inbox)
      ask_inbox(a, shard, &s->at[i], i);
    else
      ask_events(a, shard, &s->at[i], i, now);
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0; k < rows.nrows; k++)
    MUST(in_inbox ? take_inbox_row(e, &pages, &rows, k, err)
                  : take_kept_row(e, &pages, &rows, k, err));
  end_pages(s, in_inbox, shard);
  return PAWL_OK;
}

/* ---- all of it ---- */

static void drop_letter(pawl_held *h, int at) {
  pawl_letter gone = h->d.letters[at];

  assert(at >= 0 && at < h->d.nletters);
  memmove(&h->d.letters[at], &h->d.letters[at + 1],
          sizeof gone * (size_t)(h->d.nletters - 1 - at));
  h->d.letters[--h->d.nletters] = gone; /* its buffers serve again */
}

/* What the inbox holds already, taken or not, is no news, nor is what started
 * the instance. When that was is learnt too. */
static pawl_code drop_known(pawl_engine *e, int shard, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;

  pawl_args_begin(a, PAWL_STMT_inbox_known);
  PAWL_EACH_SLOT (e, h) {
    if (h->state == PAWL_SLOT_FREE || h->shard != shard) continue;
    for (int k = h->nfound; k < h->d.nletters; k++) {
      PAWL_PUT(a, inbox_known, .shard = shard, .id = &h->d.id,
               .event_id = pawl_buf_str(&h->d.letters[k].event_id));
    }
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  MUST(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    const pawl_inbox_known_row row = pawl_read_inbox_known(&rows, k);
    pawl_held *h = pawl_held_find(e, row.instance, NULL);
    if (!h) continue;
    if (row.created_at) h->d.created_us = row.created_at;
    for (int i = h->d.nletters - 1; i >= h->nfound; i--)
      if (pawl_str_eq(pawl_buf_str(&h->d.letters[i].event_id), row.event_id))
        drop_letter(h, i);
  }
  return PAWL_OK;
}

static int by_arrival(const void *a, const void *b) {
  const pawl_letter *x = a, *y = b;
  if (x->received_us != y->received_us)
    return x->received_us < y->received_us ? -1 : 1;
  return pawl_id_cmp(&x->came, &y->came);
}

/* M1: what came behind something that was not read is left for the next look;
 * what asks it to end, or anything else at once, is not. */
static void leave_behind(pawl_held *h) {
  for (int i = h->d.nletters - 1; i >= 0; i--)
    if (h->d.letters[i].received_us > h->d.read_us &&
        pawl_letter_is_news(&h->d.letters[i]) &&
        !pawl_rules_cancel(&h->d, &h->d.letters[i]))
      drop_letter(h, i);
}

/* Is something new at hand that came no later than what was read last here?
 * Another search's may be behind that: it will be left for the next look (M1),
 * which would find no more than this one did. */
static int has_news(const search *s) {
  for (int i = s->h->nfound; i < s->h->d.nletters; i++)
    if (s->h->d.letters[i].received_us <= s->after_us) return 1;
  return 0;
}

/* Is there a page to come, and nothing new in those that were read? */
static int pages_on(searches *s) {
  int more = 0;

  for (int i = 0; i < s->n; i++) {
    search *one = &s->at[i];
    if (one->done >= 0) continue;
    one->behind = one->done = has_news(one);
    more = more || !one->done;
  }
  return more;
}

static void note_found(pawl_engine *e) {
  PAWL_EACH_SLOT (e, h) h->nfound = h->d.nletters;
}

/* Each wait's own first events take the place of the inbox's. */
static pawl_code search_inboxes(pawl_engine *e, searches *s, pawl_error *err) {
  for (int i = 0; i < s->n; i++) {
    pawl_held *h = s->at[i].h;
    assert(h->d.unread);
    for (int k = h->d.nletters - 1; k >= 0; k--)
      if (pawl_letter_is(&h->d.letters[k], "event")) drop_letter(h, k);
  }
  note_found(e);
  do
    for (int i = 0; i < e->nshards; i++) MUST(find_page(e, s, 1, i, err));
  while (pages_on(s));
  return PAWL_OK;
}

/* Pages until every search has news or has seen all. */
static pawl_code search_events(pawl_engine *e, searches *s, pawl_error *err) {
  note_found(e);
  do {
    for (int i = 0; i < e->nshards; i++) MUST(find_page(e, s, 0, i, err));
    for (int i = 0; i < e->nshards; i++) MUST(drop_known(e, i, err));
    for (int i = 0; i < s->n; i++)
      if (!s->at[i].in_inbox) pass_page(&s->at[i]);
  } while (pages_on(s));
  for (int i = 0; i < s->n; i++) keep_place(&s->at[i]);
  return PAWL_OK;
}

/* What lies in the inbox first, so that it is known; then all that came is in
 * one order, the inbox's and what was kept. */
pawl_code pawl_mail_search(pawl_engine *e, pawl_error *err) {
  searches s = {.in_inbox = 1};
  int inboxes;
  pawl_code rc = PAWL_OK;

  TRY(find_searches(e, &s, err));
  inboxes = s.n;
  if (s.n) TRY(search_inboxes(e, &s, err));
  s.in_inbox = 0;
  TRY(find_searches(e, &s, err));
  if (s.n > inboxes) TRY(search_events(e, &s, err));
  for (int i = 0; i < s.n; i++)
    if (s.at[i].behind) stop_at(s.at[i].h, s.at[i].after_us);
  PAWL_EACH_SLOT (e, h) {
    if (h->state == PAWL_SLOT_FREE || !h->d.nletters || !pawl_needs_look(h))
      continue;
    if (s.n)
      qsort(h->d.letters, (size_t)h->d.nletters, sizeof *h->d.letters,
            by_arrival);
    if (pawl_is_behind(&h->d)) leave_behind(h);
  }
out:
  free_searches(e, &s);
  return rc;
}
