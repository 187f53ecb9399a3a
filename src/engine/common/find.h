/* engine/common/find.h: an instance, by the end or the beginning of its id; or
 * that there is none.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_FIND_H
#define PAWL_ENGINE_COMMON_FIND_H

#include "../../base/buf.h"
#include "../../base/id.h"
#include "../../store/stmt.h"

/* A whole id is taken as it is: who goes on with it sees whether it is there.
 * Not where the engine is a tenant's: what others have is not there (Z2), and
 * what an id that is nobody's fails with is said here for both. */
pawl_code pawl_engine_find(pawl_engine *e, const char *text, pawl_id *out,
                           pawl_error *err);
/* The same for a tenant's engine, whoever's `e` is; empty: for nobody's. */
pawl_code pawl_engine_find_of(pawl_engine *e, pawl_str tenant,
                              const char *text, pawl_id *out, pawl_error *err);
/* As pawl_engine_find, also of a whole id only one that is there. */
pawl_code pawl_engine_find_known(pawl_engine *e, const char *text,
                                 pawl_id *out, pawl_error *err);
/* The instance that an option names; *has: it was given. at NULL: it was
 * not. A whole id is taken as it is, by any engine: it is a place in a list, or
 * what is compared beside the tenant. */
pawl_code pawl_find_given(pawl_engine *e, const pawl_buf *text, pawl_id *out,
                          int *has, pawl_error *err);
/* Whose a task is that is archived with its instance; *there: it is. */
pawl_code pawl_archive_task(pawl_engine *e, const pawl_id *task, int *there,
                            pawl_id *instance, pawl_error *err);
/* What the archive says of one; *there: it does. The row lasts until the store
 * is asked again. */
pawl_code pawl_archive_find(pawl_engine *e, const pawl_id *id, int *there,
                            pawl_archive_get_row *row, pawl_error *err);
/* What is wrong with its lines there, as `rc` says, is PAWL_CORRUPT. */
pawl_code pawl_archive_damaged(const pawl_id *id, pawl_code rc,
                               pawl_error *err);
/* PAWL_CONFLICT: it is in the archive, and not to be changed there. */
pawl_code pawl_instance_archived(const pawl_id *id, pawl_error *err);
/* PAWL_CONFLICT: it goes on in another store. */
pawl_code pawl_instance_away(const pawl_id *id, pawl_error *err);
/* One that `rc` says is not there: it may be in the archive. */
pawl_code pawl_instance_absent(pawl_engine *e, const pawl_id *id, pawl_code rc,
                               pawl_error *err);
/* PAWL_NOTFOUND, with its hint. */
pawl_code pawl_instance_missing(const pawl_id *id, pawl_error *err);

#endif
