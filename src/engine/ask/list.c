/* Lists of instances: what is asked for, and by which index it is found.
 *
 *   given                          found by              read
 *   deleted                        their index           a page, in order
 *   key, parent, correlation,      its index             all that have it
 *   root, business_key
 *   attributes                     what one equals       a page, in order
 *                                  else its ranges       all that are in them
 *   tenant                         the tenant's          a page, in order
 *   anything else                  status and workflow   a page, in order
 *
 * The first in that order is sent as it stands; all that was given is compared
 * beside it, in SQL, until a page is full. Ids begin with the time at which
 * they were drawn, and there is no other index on times: those given bound the
 * ids first. Each shard gives a full page, as all might be in one; what is too
 * much is cut off here. */
#include <assert.h>
#include <stdlib.h>

#include "../../rules/state.h"
#include "../../value/options.h"
#include "../common/answer.h"
#include "../common/engine_struct.h"
#include "../common/find.h"
#include "ask.h"
#include "ranges.h"

/* How far an id's time may be from its instance's: clocks differ, and a caller
 * may have drawn it before. */
#define DRAWN_US (INT64_C(3600) * 1000000)

/* `before`, `after`, `parent` and `root` may be given as the ends of ids: what
 * they mean is in the members beside. */
typedef struct filter {
  uint64_t given;
  unsigned statuses; /* bits of pawl_status, as asked for */
  pawl_buf workflow, tenant, correlation, business_key, key, group, node,
      error;
  pawl_buf before_id, after_id, parent_id, root_id; /* or ends of them */
  int64_t version, limit;
  int64_t created_after, created_before, updated_after, updated_before,
      completed_after, completed_before;
  pawl_str attributes;
  int sort; /* the one of SORTS */
  int deleted;
  /* what follows from those */
  int has_before, has_after, has_parent, has_root;
  pawl_id before, after, parent, root;
  pawl_id low, high; /* between those, neither of them */
  int up;            /* those nearest to `low`, else to `high` */
  pawl_buf business_from, business_to, error_text, stored;
  pawl_conditions conditions;
  int brief; /* no more than is counted */
} filter;

static const char *const SORTS[] = {"newest", "oldest"};
enum { NEWEST, OLDEST, NSORTS };

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
    TIME(created_after),
    TIME(created_before),
    TIME(updated_after),
    TIME(updated_before),
    TIME(completed_after),
    TIME(completed_before),
    {"attributes", PAWL_OPTION_OBJECT, AT(attributes)},
    {"parent", PAWL_OPTION_TEXT, AT(parent_id)},
    {"root", PAWL_OPTION_TEXT, AT(root_id)},
    {"deleted", PAWL_OPTION_BOOL, AT(deleted)},
    {"sort", PAWL_OPTION_CHOICE, AT(sort), .names = SORTS, .high = NSORTS},
    {"limit", PAWL_OPTION_INT, AT(limit), .low = 1, .high = PAWL_MAX_LIMIT},
    {"before", PAWL_OPTION_TEXT, AT(before_id)},
    {"after", PAWL_OPTION_TEXT, AT(after_id)}};
PAWL_OPTIONS_OF(list) = {.what = "list", PAWL_OPTION_ROWS(list_rows)};

/* ---- words ---- */

/* How the JSON of an error with that code begins (rules/plan.h). */
static void set_error_text(pawl_str code, pawl_buf *out) {
  const int prefix = pawl_word_is_prefix(code);
  if (prefix) code.len--;
  pawl_buf_addz(out, "{\"code\":");
  pawl_json_add_string(out, code);
  if (prefix && out->len) out->at[--out->len] = '\0';
}

/* ---- statuses ---- */

#define BIT(status) (1u << PAWL_STATUS_##status)
#define ALL ((1u << PAWL_NSTATUSES) - 1)
#define ENDED (BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED))

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

/* What else is given says which there can be. Errors are looked for among those
 * that have not completed, unless somebody asks for these: they are the most,
 * and few have one. */
static unsigned wanted_statuses(const filter *f) {
  unsigned all = f->statuses    ? f->statuses
                 : f->error.len ? ALL & ~BIT(COMPLETED)
                                : ALL;
  return f->completed_after || f->completed_before ? all & ENDED : all;
}

/* ---- reading what is asked for ---- */

/* The first id that could be drawn at that time. */
static pawl_id id_at(int64_t us) {
  pawl_id id = {{0}};
  int64_t ms = us < 0 ? 0 : us / 1000;
  for (int i = 0; i < 6; i++)
    id.bytes[i] = (unsigned char)(ms >> (40 - 8 * i) & 0xff);
  return id;
}

static void raise_low(filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->low) > 0) f->low = id;
}

static void lower_high(filter *f, pawl_id id) {
  if (pawl_id_cmp(&id, &f->high) < 0) f->high = id;
}

/* What was changed, or ended, before a time was created before it, too. */
static void set_bounds(filter *f) {
  const int64_t befores[] = {f->created_before, f->updated_before,
                             f->completed_before};

  memset(&f->low, 0, sizeof f->low);
  memset(&f->high, 0xff, sizeof f->high);
  if (f->has_after) raise_low(f, f->after);
  if (f->has_before) lower_high(f, f->before);
  if (f->created_after) raise_low(f, id_at(f->created_after - DRAWN_US));
  for (size_t i = 0; i < sizeof befores / sizeof *befores; i++)
    if (befores[i] && befores[i] < PAWL_TIME_MAX - DRAWN_US)
      lower_high(f, id_at(befores[i] + DRAWN_US));
  f->up = f->sort == OLDEST || (f->has_after && !f->has_before);
}

static void set_stored(filter *f, unsigned stored) {
  if (stored == stored_statuses(ALL)) return;
  for (int k = 0; k < PAWL_NSTATUSES; k++) {
    if (!(stored >> k & 1u)) continue;
    pawl_buf_addz(&f->stored, pawl_status_name((pawl_status)k));
    pawl_buf_addc(&f->stored, ' ');
  }
}

/* Which word it is found by; NULL: none. Those that fewer have come first. */
static const char *found_by(const filter *f) {
  return f->key.len            ? "key"
         : f->has_parent       ? "parent"
         : f->correlation.len  ? "correlation"
         : f->has_root         ? "root"
         : f->business_key.len ? "business_key"
                               : NULL;
}

static pawl_code read_filter(pawl_engine *e, pawl_str query, filter *f,
                             pawl_error *err) {
  MUST(pawl_options_read(&pawl_options_of_list, query, f, err));
  MUST(pawl_find_given(e, &f->before_id, &f->before, &f->has_before, err));
  MUST(pawl_find_given(e, &f->after_id, &f->after, &f->has_after, err));
  MUST(pawl_find_given(e, &f->parent_id, &f->parent, &f->has_parent, err));
  MUST(pawl_find_given(e, &f->root_id, &f->root, &f->has_root, err));
  f->statuses = wanted_statuses(f);
  set_stored(f, stored_statuses(f->statuses));
  set_bounds(f);
  if (f->business_key.len)
    pawl_word_range(pawl_buf_str(&f->business_key), &f->business_from,
                    &f->business_to);
  if (f->error.len) set_error_text(pawl_buf_str(&f->error), &f->error_text);
  if (f->attributes.at)
    MUST(pawl_conditions_read(&f->conditions, f->attributes,
                              !f->deleted && !found_by(f), err));
  MUST(pawl_buf_check(&f->stored, err));
  MUST(pawl_buf_check(&f->business_from, err));
  MUST(pawl_buf_check(&f->business_to, err));
  return pawl_buf_check(&f->error_text, err);
}

static void init_filter(pawl_engine *e, filter *f) {
  pawl_options_init(&pawl_options_of_list, f, sizeof *f, &e->alloc);
  f->business_from.alloc = f->business_to.alloc = &e->alloc;
  f->error_text.alloc = f->stored.alloc = &e->alloc;
  pawl_conditions_init(&f->conditions, &e->alloc);
}

static void deinit_filter(filter *f) {
  pawl_options_deinit(&pawl_options_of_list, f);
  pawl_buf_deinit(&f->business_from);
  pawl_buf_deinit(&f->business_to);
  pawl_buf_deinit(&f->error_text);
  pawl_buf_deinit(&f->stored);
  pawl_conditions_deinit(&f->conditions);
}

/* ---- finding ---- */

/* What all lists are asked for. */
#define ASKED(f)                                                              \
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
  .node = pawl_buf_some(&(f)->node), .created_after = (f)->created_after,     \
  .created_before = (f)->created_before, .updated_after = (f)->updated_after, \
  .updated_before = (f)->updated_before,                                      \
  .completed_after = (f)->completed_after,                                    \
  .completed_before = (f)->completed_before, .low = &(f)->low,                \
  .attributes = pawl_buf_some(&(f)->conditions.others), .high = &(f)->high,   \
  .up = (f)->up, .brief = (f)->brief, .max = (f)->limit

static void put_statuses(pawl_engine *e, const filter *f, int shard) {
  unsigned stored = stored_statuses(f->statuses);
  for (int k = 0; k < PAWL_NSTATUSES; k++)
    if (stored >> k & 1u)
      PAWL_PUT(&e->args, list_status, .shard = shard,
               .status = pawl_strz(pawl_status_name((pawl_status)k)),
               ASKED(f));
}

static pawl_code send_list(pawl_engine *e, const filter *f, pawl_rows *rows,
                           pawl_error *err) {
  const pawl_conditions *c = &f->conditions;
  const char *by = c->ranges.len ? "attribute" : found_by(f);
  const int equal = c->equals.len > 0;

  pawl_args_begin(&e->args, f->deleted      ? PAWL_STMT_list_deleted
                            : equal         ? PAWL_STMT_list_attribute
                            : by            ? PAWL_STMT_list_found
                            : f->tenant.len ? PAWL_STMT_list_tenant
                                            : PAWL_STMT_list_status);
  for (int s = 0; s < e->nshards; s++)
    if (f->deleted)
      PAWL_PUT(&e->args, list_deleted, .shard = s, ASKED(f));
    else if (equal)
      PAWL_PUT(&e->args, list_attribute, .shard = s,
               .name = pawl_buf_str(&c->name),
               .sortable = pawl_buf_str(&c->equals), ASKED(f));
    else if (by)
      PAWL_PUT(&e->args, list_found, .shard = s, .by = pawl_strz(by),
               .name = pawl_buf_some(&c->name),
               .ranges = pawl_buf_some(&c->ranges), ASKED(f));
    else if (f->tenant.len)
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

static void add_one(const pawl_rows *r, int k, pawl_object *list) {
  const pawl_list_tenant_row row = pawl_read_list_tenant(r, k);
  pawl_object o;

  pawl_list_object(list, &o);
  pawl_member_columns(&o, r, k,
                      "id workflow version status node "
                      "error " PAWL_SHOWN_whose " " PAWL_SHOWN_times);
  pawl_member_deleted(&o, row.deletion, row.deleted_at, row.purge_at);
  pawl_object_end(&o);
}

/* The nearest to where the page begins, in the order that is asked for. */
static pawl_code add_page(pawl_engine *e, const filter *f,
                          const pawl_rows *rows, pawl_object *list,
                          pawl_error *err) {
  const int n = rows->nrows;
  const int take = n < f->limit ? n : (int)f->limit;
  const int first = f->up ? 0 : n - take;
  const size_t size = sizeof(place) * (size_t)n;
  place *page;

  if (!n) return PAWL_OK;
  page = pawl_realloc(&e->alloc, NULL, 0, size);
  if (!page) return pawl_fail_memory(err);
  for (int k = 0; k < n; k++)
    page[k] = (place){*pawl_read_list_tenant(rows, k).id, k};
  qsort(page, (size_t)n, sizeof *page, oldest_first);
  for (int k = 0; k < take; k++)
    add_one(rows,
            page[f->sort == OLDEST ? first + k : first + take - 1 - k].row,
            list);
  pawl_release(&e->alloc, page, size);
  return pawl_buf_check(list->out, err);
}

pawl_code pawl_engine_list(pawl_engine *e, pawl_str query, pawl_buf *out,
                           pawl_error *err) {
  filter f;
  pawl_object list;
  pawl_rows rows;
  pawl_code rc = PAWL_OK;

  init_filter(e, &f);
  f.limit = 100;
  TRY(read_filter(e, query, &f, err));
  pawl_list_begin(&list, out);
  if (f.statuses) {
    TRY(send_list(e, &f, &rows, err));
    TRY(add_page(e, &f, &rows, &list, err));
  }
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
  TRY(read_filter(e, query, &f, err));
  f.brief = 1;
  limit = f.limit++;
  if (f.statuses) TRY(send_list(e, &f, &rows, err));
  *more = rows.nrows > limit;
  *count = *more ? limit : rows.nrows;
out:
  deinit_filter(&f);
  return rc;
}
