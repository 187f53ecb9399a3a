/* engine/versions/author.h: whose the code of a workflow is.
 *
 * It is the author's who defined it first, or the host's own: nobody else of
 * limited trust defines a version of it, or is taken for one, unless the host
 * grants him to take it. The host always may, and has it then.
 *
 * Layer    engine/versions. */
#ifndef PAWL_ENGINE_VERSIONS_AUTHOR_H
#define PAWL_ENGINE_VERSIONS_AUTHOR_H

#include "../../defs/def.h"
#include "../common/engine_struct.h"

/* Is it the definition's author? At NULL: the host itself. */
int pawl_author_is(const pawl_def *def, pawl_str owner);
/* Inside a unit, before anything stored is compared with it. PAWL_LIMIT: the
 * code is another's. */
pawl_code pawl_author_look(pawl_engine *e, const pawl_def *def,
                           pawl_error *err);
/* Before it is stored: from here on until the unit ends nobody else defines
 * it. `keeps`: what is another's stays so. PAWL_LIMIT as above. */
pawl_code pawl_author_claim(pawl_engine *e, const pawl_def *def, int keeps,
                            pawl_error *err);

#endif
