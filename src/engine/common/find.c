/* Finding an instance by its shortened id.
 *
 * Ids begin with the time: of those made at once the beginnings are alike, so
 * that people give the end, which is random. Its last 4 digits are its home and
 * name the shard. No index knows ends - it would cost each start a write in a
 * random place -, so that they are looked for in the order of its key, page by
 * page from the newest to the oldest. The page that has one is the last that is
 * read: where there are more, an end has to be so long that an older one hardly
 * has the same. */
#include "find.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine_struct.h"
#include "tenant.h"

enum {
  LEAST = 4,     /* digits */
  SURE = 8,      /* of 2^32 ends, 16 bits of them of the shard's home */
  PAGE = 100000, /* ids that are looked at in one statement */
  ALL = 32
};

/* Its digits alone, in lower case. */
static void digits_of(const char *text, char out[ALL + 1]) {
  int n = 0;
  for (; *text && n < ALL; text++) {
    if (*text == '-') continue;
    out[n++] = (char)(*text >= 'A' && *text <= 'F' ? *text + 32 : *text);
  }
  out[n] = 0;
}

/* Up to two of a tenant, or of all, whose ids begin so. */
static pawl_code find_beginning(pawl_engine *e, pawl_str tenant,
                                const pawl_id *low, const pawl_id *high,
                                pawl_rows *rows, pawl_error *err) {
  pawl_args_begin(&e->args, tenant.len ? PAWL_STMT_instance_find_tenant
                                       : PAWL_STMT_instance_find);
  for (int s = 0; s < e->nshards; s++)
    if (tenant.len)
      PAWL_PUT(&e->args, instance_find_tenant, .shard = s, .tenant = tenant,
               .low = low, .high = high);
    else
      PAWL_PUT(&e->args, instance_find, .shard = s, .low = low, .high = high);
  return pawl_store_once(e->store, PAWL_UNIT_READ, &e->args, rows, err);
}

static pawl_code read_ends(pawl_engine *e, pawl_str tenant, int shard,
                           const char *digits, const pawl_id *before,
                           pawl_rows *rows, pawl_error *err) {
  if (tenant.len)
    return PAWL_READ(e->store, instance_find_end_tenant, rows, err,
                     .shard = shard, .tenant = tenant,
                     .digits = pawl_strz(digits), .before = before,
                     .max = PAGE);
  return PAWL_READ(e->store, instance_find_end, rows, err, .shard = shard,
                   .digits = pawl_strz(digits), .before = before, .max = PAGE);
}

/* *n: how many have that end, up to 2, as far as was looked; the first is in
 * *out. *more: there are others, at which nobody has looked. */
static pawl_code find_end(pawl_engine *e, pawl_str tenant, const char *text,
                          int *n, pawl_id *out, int *more, pawl_error *err) {
  char digits[ALL + 1];
  pawl_id before;
  pawl_rows rows;

  digits_of(text, digits);
  assert(strlen(digits) >= LEAST);
  int shard =
      (int)(strtol(digits + strlen(digits) - LEAST, NULL, 16) % e->nshards);
  memset(&before, 0xff, sizeof before);
  *n = 0;
  *more = 1;
  for (int page = 0; *more && !*n; page++) {
    MUST(read_ends(e, tenant, shard, digits, &before, &rows, err));
    const pawl_instance_find_end_row row =
        pawl_read_instance_find_end(&rows, 0);
    *more = row.seen >= PAGE;
    if (row.id) {
      *n = rows.nrows;
      *out = *row.id;
      *more |= page > 0; /* of a short end the newer ones say too little */
    } else if (row.last) {
      before = *row.last;
    }
  }
  return PAWL_OK;
}

/* Rather than guess: what follows may be a change. */
static pawl_code fail_ambiguous(const char *text, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_AMBIGUOUS, "give more characters",
                        "several instances' ids begin or end with \"%s\"",
                        text);
}

static pawl_code fail_unknown(const char *text, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_NOTFOUND, "`pawl list` shows what there is",
                        "no instance's id begins or ends with \"%s\"", text);
}

/* *is_whole: it was looked at no further. */
static pawl_code find(pawl_engine *e, pawl_str tenant, const char *text,
                      int *is_whole, pawl_id *out, pawl_error *err) {
  pawl_id low, high, first, last;
  pawl_rows rows;
  int digits = text ? pawl_id_range(text, &low, &high) : -1;
  int begin, end = 0, more = 0;

  *is_whole = digits == ALL;
  if (digits < LEAST)
    return pawl_fail_hint(
        err, PAWL_INVALID,
        "give at least 4 hexadecimal digits of its beginning or "
        "its end",
        "\"%.40s\" is not an instance's id", text ? text : "");
  if (*is_whole) {
    *out = low;
    return PAWL_OK;
  }
  MUST(find_beginning(e, tenant, &low, &high, &rows, err));
  begin = rows.nrows;
  if (begin > 1) return fail_ambiguous(text, err);
  if (begin) first = *pawl_read_instance_find(&rows, 0).id;
  /* a long beginning is hardly anybody's end */
  if (!begin || digits < SURE)
    MUST(find_end(e, tenant, text, &end, &last, &more, err));
  if (!begin && !end) return fail_unknown(text, err);
  if (end > 1 || (end && more && digits < SURE) ||
      (begin && end && !pawl_id_eq(&first, &last)))
    return fail_ambiguous(text, err);
  *out = begin ? first : last;
  return PAWL_OK;
}

static pawl_code check_there(pawl_engine *e, pawl_str tenant,
                             const pawl_id *id, pawl_error *err) {
  pawl_rows rows;

  MUST(find_beginning(e, tenant, id, id, &rows, err));
  return rows.nrows ? PAWL_OK : pawl_instance_missing(id, err);
}

/* Z2 */
pawl_code pawl_engine_find_of(pawl_engine *e, pawl_str tenant,
                              const char *text, pawl_id *out,
                              pawl_error *err) {
  int is_whole;

  MUST(find(e, tenant, text, &is_whole, out, err));
  return is_whole && tenant.len ? check_there(e, tenant, out, err) : PAWL_OK;
}

pawl_code pawl_engine_find(pawl_engine *e, const char *text, pawl_id *out,
                           pawl_error *err) {
  return pawl_engine_find_of(e, pawl_tenant_of(e), text, out, err);
}

pawl_code pawl_engine_find_known(pawl_engine *e, const char *text,
                                 pawl_id *out, pawl_error *err) {
  int is_whole;

  MUST(find(e, pawl_tenant_of(e), text, &is_whole, out, err));
  return is_whole ? check_there(e, pawl_tenant_of(e), out, err) : PAWL_OK;
}

pawl_code pawl_find_given(pawl_engine *e, const pawl_buf *text, pawl_id *out,
                          int *has, pawl_error *err) {
  int is_whole;

  *has = text->at != NULL;
  return *has ? find(e, pawl_tenant_of(e), text->at, &is_whole, out, err)
              : PAWL_OK;
}

pawl_code pawl_instance_missing(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_NOTFOUND, "`pawl list` shows what there is",
                        "there is no instance %s", pawl_id_text_of(id).at);
}

pawl_code pawl_instance_archived(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_CONFLICT, "unarchive it first",
                        "instance %s is archived", pawl_id_text_of(id).at);
}

pawl_code pawl_instance_away(const pawl_id *id, pawl_error *err) {
  return pawl_fail_hint(err, PAWL_CONFLICT,
                        "it goes on where it was imported; `pawl reclaim` "
                        "takes it back, if that "
                        "was never done",
                        "instance %s was carried to another store",
                        pawl_id_text_of(id).at);
}

pawl_code pawl_archive_damaged(const pawl_id *id, pawl_code rc,
                               pawl_error *err) {
  if (rc != PAWL_INVALID && rc != PAWL_VALUE) return rc;
  const pawl_error why = *err;
  return pawl_fail_hint(err, PAWL_CORRUPT,
                        "somebody else has written to the store, or the disk "
                        "is failing: restore it from a backup",
                        "the archive holds damaged lines, of %s: %s",
                        pawl_id_text_of(id).at, why.message);
}

pawl_code pawl_archive_task(pawl_engine *e, const pawl_id *task, int *there,
                            pawl_id *instance, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, archive_task_of, &rows, err,
                 .shard = pawl_shard_of(e, task), .id = task));
  *there = rows.nrows > 0;
  if (*there) *instance = *pawl_read_archive_task_of(&rows, 0).instance;
  return PAWL_OK;
}

pawl_code pawl_archive_find(pawl_engine *e, const pawl_id *id, int *there,
                            pawl_archive_get_row *row, pawl_error *err) {
  pawl_rows rows;

  MUST(PAWL_READ(e->store, archive_get, &rows, err,
                 .shard = pawl_shard_of(e, id), .id = id));
  *there = rows.nrows > 0;
  if (*there) *row = pawl_read_archive_get(&rows, 0);
  return PAWL_OK;
}

pawl_code pawl_instance_absent(pawl_engine *e, const pawl_id *id, pawl_code rc,
                               pawl_error *err) {
  pawl_archive_get_row row;
  pawl_error why;
  int there;

  if (rc != PAWL_NOTFOUND ||
      pawl_archive_find(e, id, &there, &row, &why) != PAWL_OK || !there ||
      row.purged_at)
    return rc;
  return pawl_instance_archived(id, err);
}
