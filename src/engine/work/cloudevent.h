/* engine/work/cloudevent.h: what was emitted, as CloudEvents 1.0 has it.
 *
 * Structured JSON. The specification's names are lower case letters and digits;
 * of those that it does not know, `sequence` is its own extension, the others
 * are ours. An attribute that has no value is left out.
 *
 *   id               INSTANCE/SEQ: with source the same whenever it comes
 *   source           "/pawl/" and the workflow's code
 *   type             the name given to ctx.emit
 *   time             of the step's commit
 *   subject          the instance
 *   sequence         SEQ with 20 digits: sorts as the instance emitted them
 *   workflowversion, correlation, businesskey, tenant   the instance's
 *   datacontenttype, data   the payload, unless there is none, or it is null
 *
 * Layer    engine/work, above value. */
#ifndef PAWL_ENGINE_WORK_CLOUDEVENT_H
#define PAWL_ENGINE_WORK_CLOUDEVENT_H

#include "../../store/stmt.h"

#define PAWL_CLOUDEVENT_ID 58 /* an id, "/", a number, zero */

void pawl_cloudevent_id(const pawl_outbox_run_row *row,
                        char id[PAWL_CLOUDEVENT_ID]);
/* `source`: how its source begins. */
void pawl_cloudevent_write(const pawl_outbox_run_row *row, pawl_str source,
                           pawl_buf *out);

#endif
