/* What has come in for instances that are held, and what is kept for their
 * keys. Rule 5 of events: whoever begins to wait has written so first and
 * looks here after that, so an event is either routed to it or found by it. */
#include "mail.h"

#include <stdlib.h>

#include "../../rules/asked.h"
#include "../../rules/kept.h"
#include "../../rules/machine.h"
#include "../../value/json.h"

#define LETTERS_PAGE 16 /* events of one inbox, or of one wait in it */
#define OTHERS_PAGE 256 /* requests, and answers of children or people */
#define EVENTS_PAGE 64  /* kept, of one wait */
#define MOST_PAGE 256   /* of a wait that has turned down as many */

static void set_text(pawl_buf *b, pawl_str s) {
  pawl_buf_clear(b);
  pawl_buf_adds(b, s);
}

static pawl_code no_memory(pawl_error *err) {
  return pawl_fail(err, PAWL_NOMEM, "out of memory");
}

static int is_kind(const pawl_letter *l, const char *kind) {
  return pawl_str_eqz(pawl_buf_str(&l->kind), kind);
}

/* What a token waits for, not a request. */
static int is_news(const pawl_letter *l) {
  return is_kind(l, "event") || is_kind(l, "task") || is_kind(l, "child");
}

/* ---- letters ---- */

static pawl_letter *add_letter(pawl_engine *e, pawl_held *h) {
  if (h->nletters == h->letters_cap) {
    int cap = h->letters_cap ? 2 * h->letters_cap : 4;
    size_t size = sizeof *h->letters;
    pawl_letter *grown =
        pawl_realloc(&e->alloc, h->letters, size * (size_t)h->letters_cap,
                     size * (size_t)cap);
    if (!grown) return NULL;
    memset(grown + h->letters_cap, 0, size * (size_t)(cap - h->letters_cap));
    h->letters = grown;
    h->letters_cap = cap;
  }
  return &h->letters[h->nletters++];
}

static pawl_code fill_letter(pawl_engine *e, pawl_held *h,
                             const pawl_letter *from, const pawl_str text[7],
                             pawl_error *err) {
  pawl_letter *l = add_letter(e, h);
  if (!l) return no_memory(err);
  pawl_buf *bufs[] = {&l->kind,   &l->name,   &l->key, &l->event_id,
                      &l->source, &l->caller, &l->data};
  l->no = from->no;
  l->received_us = from->received_us;
  l->has_key = text[2].at != NULL;
  l->addressed = from->addressed;
  l->kept = from->kept;
  l->came = from->came;
  l->news_for = 0;
  for (int i = 0; i < 7; i++) {
    bufs[i]->alloc = &e->alloc;
    set_text(bufs[i], text[i]);
    if (bufs[i]->failed) return no_memory(err);
  }
  return PAWL_OK;
}

/* Behind what was received then there may be more that was not read. */
static void stop_at(pawl_held *h, int64_t received_us) {
  h->behind = 1;
  if (received_us < h->read_us) h->read_us = received_us;
}

/* The columns of inbox_load and inbox_find are named alike. */
static pawl_code take_letter(pawl_engine *e, pawl_held *h, const pawl_rows *r,
                             int k, pawl_error *err) {
  pawl_letter l;
  pawl_str text[7] = {pawl_row_str(r, k, PAWL_INBOX_LOAD_R_KIND),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_NAME),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_KEY),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_EVENT_ID),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_SOURCE),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_CALLER),
                      pawl_row_str(r, k, PAWL_INBOX_LOAD_R_DATA)};

  pawl_row_id(r, k, PAWL_INBOX_LOAD_R_NO, &l.no);
  l.came = l.no;
  l.addressed = (int)pawl_row_int(r, k, PAWL_INBOX_LOAD_R_ADDRESSED);
  l.kept = 0;
  l.received_us = pawl_row_int(r, k, PAWL_INBOX_LOAD_R_RECEIVED_AT);
  return fill_letter(e, h, &l, text, err);
}

void pawl_mail_ask(pawl_engine *e, int shard) {
  pawl_args *a = &e->args;

  pawl_args_begin(a, PAWL_STMT_INBOX_LOAD);
  pawl_arg_int(a, PAWL_INBOX_LOAD_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->shard != shard || !pawl_load_wants_inbox(h)) continue;
    h->nletters = h->flooded = 0;
    pawl_arg_id(a, PAWL_INBOX_LOAD_ID, &h->id);
  }
  pawl_arg_int(a, PAWL_INBOX_LOAD_EVENTS, LETTERS_PAGE);
  pawl_arg_int(a, PAWL_INBOX_LOAD_OTHERS, OTHERS_PAGE);
}

/* Was one of its pages full? Then what is behind it comes later. */
static void count_pages(pawl_held *h) {
  enum { REQUESTS, CHILDREN, TASKS, PAGES };
  int64_t last_us[PAGES] = {0};
  int n[PAGES] = {0}, events = 0;

  for (int i = 0; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
    int page = is_kind(l, "child")  ? CHILDREN
               : is_kind(l, "task") ? TASKS
                                    : REQUESTS;
    if (is_kind(l, "event")) {
      events++;
    } else {
      n[page]++;
      last_us[page] = l->received_us;
    }
  }
  h->flooded = h->unread = events >= LETTERS_PAGE;
  for (int i = 0; i < PAGES; i++)
    if (n[i] >= OTHERS_PAGE) stop_at(h, last_us[i]);
}

pawl_code pawl_mail_take(pawl_engine *e, const pawl_rows *r, pawl_error *err) {
  pawl_held *last = NULL;
  pawl_code rc = PAWL_OK;

  for (int k = 0; k < r->nrows; k++) {
    pawl_id id;
    pawl_row_id(r, k, PAWL_INBOX_LOAD_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (!h || !pawl_load_wants_inbox(h)) continue;
    if (last && last != h) count_pages(last);
    last = h;
    TRY(take_letter(e, h, r, k, err));
  }
  if (last) count_pages(last);
out:
  return rc;
}

/* ---- events for those that wait ---- */

/* One wait, or rule that cancels, that looks for its events: in an inbox that
 * holds more than a page, or with its key among those that are kept. */
typedef struct search {
  pawl_held *h;
  int in_inbox;
  int has_key;
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
    pawl_asked_free(e, &s->at[i].asked);
  }
  pawl_release(&e->alloc, s->at, sizeof *s->at * (size_t)s->cap);
}

/* `key` at NULL: it has none. */
static pawl_code add_search(pawl_engine *e, searches *s, pawl_held *h,
                            int32_t token, const char *event, pawl_str key,
                            pawl_error *err) {
  if (s->n == s->cap) {
    int cap = s->cap ? 2 * s->cap : 16;
    search *grown =
        pawl_realloc(&e->alloc, s->at, sizeof *grown * (size_t)s->cap,
                     sizeof *grown * (size_t)cap);
    if (!grown) return no_memory(err);
    s->at = grown;
    s->cap = cap;
  }
  search *one = &s->at[s->n++];
  memset(one, 0, sizeof *one);
  one->h = h;
  one->token = token;
  one->event = event;
  one->key.alloc = &e->alloc;
  one->has_key = key.at != NULL;
  if (one->has_key) pawl_json_unquote(key, &one->key);
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
  pawl_buf text = {.alloc = &e->alloc};
  pawl_json_iter it = {0};
  pawl_str name, one, key;
  int64_t no;
  pawl_code rc = PAWL_OK;

  if (!h->def || !h->def->ncancel_on || pawl_status_has_ended(h->status) ||
      h->compensation.len)
    return PAWL_OK;
  if (h->started_us)
    pawl_buf_adds(&text, pawl_buf_str(&h->watched));
  else
    pawl_rules_text(h, h->vars.len ? pawl_buf_str(&h->vars) : pawl_strz("{}"),
                    &text);
  TRY(pawl_buf_check(&text, err));
  while (text.len && pawl_json_each(pawl_buf_str(&text), &it, &name, &one)) {
    pawl_rules_read(one, &no, &key);
    if ((!key.at && !s->in_inbox) || no >= h->def->ncancel_on) continue;
    TRY(add_search(e, s, h, 0, h->def->cancel_on[no].event, key, err));
    s->at[s->n - 1].after_us = pawl_rules_since(h) - 1;
  }
out:
  pawl_buf_deinit(&text);
  return rc;
}

/* What it has turned down lies before what is new. */
static pawl_code begin_search(pawl_engine *e, search *s, const pawl_token *t,
                              pawl_error *err) {
  pawl_code rc = PAWL_OK;

  TRY(pawl_asked_read(e, t, &s->asked, err));
  if (s->asked.n > s->page)
    s->page = s->asked.n < MOST_PAGE ? s->asked.n : MOST_PAGE;
  if (!s->in_inbox &&
      !pawl_kept_get(t, s->event, pawl_buf_str(&s->key), &s->place))
    s->place.since = 0;
out:
  return rc;
}

static pawl_code find_searches(pawl_engine *e, searches *s, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (!pawl_load_looks(h) || (s->in_inbox && !h->flooded)) continue;
    TRY(find_rules(e, s, h, err));
    for (int k = 0; k < h->tokens.n; k++) {
      const pawl_token *t = &h->tokens.at[k];
      const pawl_node *node = pawl_load_node_of(h, t);
      pawl_str key;
      if (t->state != PAWL_TOKEN_WAITING || !node ||
          node->kind != PAWL_KIND_WAIT || !node->event || !t->detail.len ||
          !pawl_json_get(pawl_buf_str(&t->detail), "key", &key))
        continue;
      if (pawl_json_kind_of(key) != PAWL_JSON_STRING) key.at = NULL;
      if (!key.at && !s->in_inbox) continue;
      TRY(add_search(e, s, h, t->no, node->event, key, err));
      TRY(begin_search(e, &s->at[s->n - 1], t, err));
    }
  }
out:
  return rc;
}

static pawl_str text_of(const pawl_buf *b) {
  return b->len ? pawl_buf_str(b) : pawl_strz("");
}

/* Late ones come before the others: they are older. */
static void arg_place(pawl_args *a, const search *s) {
  int late = s->place.since &&
             pawl_kept_cmp(s->after_us, &s->after_no, &s->place) < 0;

  pawl_arg_time(a, PAWL_EVENT_FIND_AFTER_AT,
                late ? s->place.at_us : s->after_us);
  pawl_arg_id(a, PAWL_EVENT_FIND_AFTER_CAME,
              late ? &s->place.came : &s->after_no);
  pawl_arg_time(a, PAWL_EVENT_FIND_LATE_AT, s->after_us);
  pawl_arg_id(a, PAWL_EVENT_FIND_LATE_CAME, &s->after_no);
  if (late)
    pawl_arg_int(a, PAWL_EVENT_FIND_SINCE, s->place.since);
  else
    pawl_arg_null(a, PAWL_EVENT_FIND_SINCE);
}

/* The events that it waits for: by their name, or, for "payment.*", by what
 * stands before one more word. */
static void arg_wanted(pawl_args *a, int name, int prefix, const search *s) {
  size_t len = strlen(s->event);

  if (len && s->event[len - 1] == '*') {
    pawl_arg_null(a, name);
    pawl_arg_str(a, prefix, (pawl_str){s->event, len - 1});
  } else {
    pawl_arg_textz(a, name, s->event);
    pawl_arg_null(a, prefix);
  }
}

static void arg_search(pawl_args *a, const search *s, int no) {
  pawl_arg_int(a, PAWL_EVENT_FIND_NO, no);
  pawl_arg_str(a, PAWL_EVENT_FIND_KEY, pawl_buf_str(&s->key));
  arg_wanted(a, PAWL_EVENT_FIND_NAME, PAWL_EVENT_FIND_PREFIX, s);
  arg_place(a, s);
  pawl_arg_int(a, PAWL_EVENT_FIND_MAX, s->page);
}

static int has_letter(const pawl_held *h, pawl_str event_id) {
  for (int i = 0; i < h->nletters; i++)
    if (pawl_str_eq(pawl_buf_str(&h->letters[i].event_id), event_id) &&
        pawl_str_eqz(pawl_buf_str(&h->letters[i].kind), "event"))
      return 1;
  return 0;
}

/* It was shown to this wait before, which did not want it. */
static int is_old_news(const search *s, pawl_str event_id) {
  const pawl_token *t =
      s->token ? pawl_tokens_find(&s->h->tokens, s->token) : NULL;
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
  s->fresh = 0;
  if (!s->stopped) {
    s->passed.at_us = s->after_us;
    s->passed.came = s->after_no;
  }
  for (int i = h->nfound; i < h->nletters; i++) {
    const pawl_letter *l = &h->letters[i];
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
  pawl_token *t = s->token ? pawl_tokens_find(&s->h->tokens, s->token) : NULL;

  if (!t || s->in_inbox || !s->passed.since || s->nknown < PAWL_KEPT_MANY)
    return;
  if (s->place.since && /* it is where it was, or lies among late ones */
      pawl_kept_cmp(s->passed.at_us, &s->passed.came, &s->place) < 0)
    return;
  pawl_kept_set(t, s->event, pawl_buf_str(&s->key), &s->passed);
}

/* A found event becomes a letter, under the name it has in every inbox. An id
 * that was drawn for it tells when, among what came in the same instant. */
static pawl_code take_event(pawl_engine *e, search *s, const pawl_rows *r,
                            int k, pawl_error *err) {
  pawl_str source = pawl_row_str(r, k, PAWL_EVENT_FIND_R_SOURCE);
  pawl_str id = pawl_row_str(r, k, PAWL_EVENT_FIND_R_ID);
  pawl_buf event_id = {.alloc = &e->alloc};
  pawl_letter l;
  pawl_code rc = PAWL_OK;

  s->after_us = l.received_us =
      pawl_row_int(r, k, PAWL_EVENT_FIND_R_RECEIVED_AT);
  pawl_row_id(r, k, PAWL_EVENT_FIND_R_CAME, &l.came);
  s->after_no = l.came;
  pawl_buf_adds(&event_id, source);
  pawl_buf_addc(&event_id, ':');
  pawl_buf_adds(&event_id, id);
  TRY(pawl_buf_check(&event_id, err));
  if (is_old_news(s, pawl_buf_str(&event_id))) {
    s->nknown--;
    stop_before(s, l.received_us, &l.came);
  } else if (!has_letter(s->h, pawl_buf_str(&event_id))) {
    pawl_str text[7] = {pawl_strz("event"),
                        pawl_row_str(r, k, PAWL_EVENT_FIND_R_NAME),
                        pawl_row_str(r, k, PAWL_EVENT_FIND_R_KEY),
                        pawl_buf_str(&event_id),
                        source,
                        {NULL, 0},
                        pawl_row_str(r, k, PAWL_EVENT_FIND_R_DATA)};
    TRY(pawl_id_make(&e->ids, pawl_engine_now(e), &l.no, err));
    l.addressed = 0;
    l.kept = 1;
    TRY(fill_letter(e, s->h, &l, text, err));
    s->h->letters[s->h->nletters - 1].news_for = s->token;
  }
out:
  pawl_buf_deinit(&event_id);
  return rc;
}

/* One page of every search that is not done, of events kept in this shard. */
static pawl_code find_events(pawl_engine *e, searches *s, int shard,
                             pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_EVENT_FIND);
  pawl_arg_int(a, PAWL_EVENT_FIND_SHARD, shard);
  for (int i = 0; i < s->n; i++) {
    search *one = &s->at[i];
    if (one->done || one->in_inbox || one->shard != shard) continue;
    arg_search(a, one, i);
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  pawl_store_arg_now(e->store, a, PAWL_EVENT_FIND_NOW);
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0, n = 0; k < rows.nrows; k++) {
    int64_t no = pawl_row_int(&rows, k, PAWL_EVENT_FIND_R_NO);
    n = k && no == pawl_row_int(&rows, k - 1, PAWL_EVENT_FIND_R_NO) ? n + 1
                                                                    : 1;
    if (n == s->at[no].page) s->at[no].done = -1; /* there may be more */
    if (!s->at[no].passed.since)
      s->at[no].passed.since =
          pawl_row_int(&rows, k, PAWL_EVENT_FIND_R_HORIZON);
    s->at[no].fresh = 1;
    s->at[no].nknown++;
    TRY(take_event(e, &s->at[no], &rows, k, err));
  }
  for (int i = 0; i < s->n; i++)
    if (s->at[i].shard == shard && !s->at[i].in_inbox && !s->at[i].done)
      s->at[i].done = 1;
out:
  return rc;
}

/* ---- in an inbox ---- */

static void arg_inbox(pawl_args *a, const search *s, int no) {
  pawl_arg_int(a, PAWL_INBOX_FIND_NO, no);
  pawl_arg_id(a, PAWL_INBOX_FIND_ID, &s->h->id);
  arg_wanted(a, PAWL_INBOX_FIND_NAME, PAWL_INBOX_FIND_PREFIX, s);
  if (s->has_key)
    pawl_arg_str(a, PAWL_INBOX_FIND_KEY, text_of(&s->key));
  else
    pawl_arg_null(a, PAWL_INBOX_FIND_KEY);
  pawl_arg_time(a, PAWL_INBOX_FIND_AFTER_AT, s->after_us);
  pawl_arg_id(a, PAWL_INBOX_FIND_AFTER_NO, &s->after_no);
  pawl_arg_int(a, PAWL_INBOX_FIND_MAX, s->page);
}

static int has_no(const pawl_held *h, const pawl_id *no) {
  for (int i = 0; i < h->nletters; i++)
    if (pawl_id_eq(&h->letters[i].no, no)) return 1;
  return 0;
}

_Static_assert((int)PAWL_INBOX_FIND_R_NO == (int)PAWL_INBOX_LOAD_R_NO &&
                   (int)PAWL_INBOX_FIND_R_RECEIVED_AT ==
                       (int)PAWL_INBOX_LOAD_R_RECEIVED_AT,
               "take_letter reads the rows of both");

static pawl_code take_found(pawl_engine *e, search *s, const pawl_rows *r,
                            int k, pawl_error *err) {
  pawl_str event_id = pawl_row_str(r, k, PAWL_INBOX_FIND_R_EVENT_ID);
  pawl_code rc = PAWL_OK;

  s->after_us = pawl_row_int(r, k, PAWL_INBOX_FIND_R_RECEIVED_AT);
  pawl_row_id(r, k, PAWL_INBOX_FIND_R_NO, &s->after_no);
  if (has_no(s->h, &s->after_no) || is_old_news(s, event_id)) return PAWL_OK;
  TRY(take_letter(e, s->h, r, k, err));
  s->h->letters[s->h->nletters - 1].news_for = s->token;
out:
  return rc;
}

/* One page of every search that is not done, in one shard's inboxes. */
static pawl_code find_letters(pawl_engine *e, searches *s, int shard,
                              pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_INBOX_FIND);
  pawl_arg_int(a, PAWL_INBOX_FIND_SHARD, shard);
  for (int i = 0; i < s->n; i++)
    if (!s->at[i].done && s->at[i].in_inbox && s->at[i].shard == shard)
      arg_inbox(a, &s->at[i], i);
  if (!pawl_args_rows(a)) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0, n = 0; k < rows.nrows; k++) {
    int64_t no = pawl_row_int(&rows, k, PAWL_INBOX_FIND_R_SEARCH);
    n = k && no == pawl_row_int(&rows, k - 1, PAWL_INBOX_FIND_R_SEARCH) ? n + 1
                                                                        : 1;
    if (n == s->at[no].page) s->at[no].done = -1; /* there may be more */
    TRY(take_found(e, &s->at[no], &rows, k, err));
  }
  for (int i = 0; i < s->n; i++)
    if (s->at[i].shard == shard && s->at[i].in_inbox && !s->at[i].done)
      s->at[i].done = 1;
out:
  return rc;
}

/* ---- all of it ---- */

static void drop_letter(pawl_held *h, int at) {
  pawl_letter gone = h->letters[at];
  memmove(&h->letters[at], &h->letters[at + 1],
          sizeof gone * (size_t)(h->nletters - 1 - at));
  h->letters[--h->nletters] = gone; /* its buffers serve again */
}

/* What the inbox holds already, taken or not, is no news, nor is what started
 * the instance. When that was is learnt too. */
static pawl_code drop_known(pawl_engine *e, int shard, pawl_error *err) {
  pawl_args *a = &e->args;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  pawl_args_begin(a, PAWL_STMT_INBOX_KNOWN);
  pawl_arg_int(a, PAWL_INBOX_KNOWN_SHARD, shard);
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->state == PAWL_SLOT_FREE || h->shard != shard) continue;
    for (int k = h->nfound; k < h->nletters; k++) {
      pawl_arg_id(a, PAWL_INBOX_KNOWN_ID, &h->id);
      pawl_arg_str(a, PAWL_INBOX_KNOWN_EVENT_ID,
                   pawl_buf_str(&h->letters[k].event_id));
    }
  }
  if (!pawl_args_rows(a)) return PAWL_OK;
  TRY(pawl_store_once(e->store, PAWL_UNIT_READ, a, &rows, err));
  for (int k = 0; k < rows.nrows; k++) {
    pawl_str event_id = pawl_row_str(&rows, k, PAWL_INBOX_KNOWN_R_EVENT_ID);
    pawl_id id;
    pawl_row_id(&rows, k, PAWL_INBOX_KNOWN_R_INSTANCE, &id);
    pawl_held *h = pawl_held_find(e, &id, NULL);
    if (!h) continue;
    if (!pawl_row_null(&rows, k, PAWL_INBOX_KNOWN_R_CREATED_AT))
      h->created_us = pawl_row_int(&rows, k, PAWL_INBOX_KNOWN_R_CREATED_AT);
    for (int i = h->nletters - 1; i >= h->nfound; i--)
      if (pawl_str_eq(pawl_buf_str(&h->letters[i].event_id), event_id))
        drop_letter(h, i);
  }
out:
  return rc;
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
  for (int i = h->nletters - 1; i >= 0; i--)
    if (h->letters[i].received_us > h->read_us && is_news(&h->letters[i]) &&
        !pawl_rules_cancel(h, &h->letters[i]))
      drop_letter(h, i);
}

/* Is something new at hand that came no later than what was read last here?
 * Another search's may be behind that: it will be left for the next look (M1),
 * which would find no more than this one did. */
static int has_news(const search *s) {
  for (int i = s->h->nfound; i < s->h->nletters; i++)
    if (s->h->letters[i].received_us <= s->after_us) return 1;
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
  for (int i = 0; i < e->nheld_slots; i++)
    e->held[i].nfound = e->held[i].nletters;
}

/* Each wait's own first events take the place of the inbox's. */
static pawl_code search_inboxes(pawl_engine *e, searches *s, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  for (int i = 0; i < s->n; i++) {
    pawl_held *h = s->at[i].h;
    for (int k = h->nletters - 1; h->flooded && k >= 0; k--)
      if (is_kind(&h->letters[k], "event")) drop_letter(h, k);
    h->flooded = 0;
  }
  note_found(e);
  do
    for (int i = 0; i < e->nshards; i++) TRY(find_letters(e, s, i, err));
  while (pages_on(s));
out:
  return rc;
}

/* Pages until every search has news or has seen all. */
static pawl_code search_events(pawl_engine *e, searches *s, pawl_error *err) {
  pawl_code rc = PAWL_OK;

  note_found(e);
  do {
    for (int i = 0; i < e->nshards; i++) TRY(find_events(e, s, i, err));
    for (int i = 0; i < e->nshards; i++) TRY(drop_known(e, i, err));
    for (int i = 0; i < s->n; i++)
      if (!s->at[i].in_inbox) pass_page(&s->at[i]);
  } while (pages_on(s));
  for (int i = 0; i < s->n; i++) keep_place(&s->at[i]);
out:
  return rc;
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
  for (int i = 0; i < e->nheld_slots; i++) {
    pawl_held *h = &e->held[i];
    if (h->state == PAWL_SLOT_FREE || !h->nletters || !pawl_load_looks(h))
      continue;
    if (s.n)
      qsort(h->letters, (size_t)h->nletters, sizeof *h->letters, by_arrival);
    if (h->behind) leave_behind(h);
  }
out:
  free_searches(e, &s);
  return rc;
}
