/* engine/common/find.h: an instance, by the end or the beginning of its id; or
 * that there is none.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_FIND_H
#define PAWL_ENGINE_COMMON_FIND_H

#include "../../base/buf.h"
#include "../../base/id.h"

/* A whole id is taken as it is: who goes on with it sees whether it is
 * there. */
pawl_code pawl_engine_find(pawl_engine *e, const char *text, pawl_id *out,
                           pawl_error *err);
/* The same, also of a whole id only one that is there. */
pawl_code pawl_engine_find_known(pawl_engine *e, const char *text,
                                 pawl_id *out, pawl_error *err);
/* The instance that an option names; *has: it was given. at NULL: it was
 * not. */
pawl_code pawl_find_given(pawl_engine *e, const pawl_buf *text, pawl_id *out,
                          int *has, pawl_error *err);
/* PAWL_NOTFOUND, with its hint. */
pawl_code pawl_instance_missing(const pawl_id *id, pawl_error *err);

#endif
