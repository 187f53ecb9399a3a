/* engine/common/attributes.h: an instance's attributes, as JSON and as columns.
 *
 * Layer    engine/common. */
#ifndef PAWL_ENGINE_COMMON_ATTRIBUTES_H
#define PAWL_ENGINE_COMMON_ATTRIBUTES_H

#include "../../store/store.h"

/* An instance's attributes as JSON {"name":{"type","value"}}: the arguments of
 * attribute_list, and what its rows say. */
void pawl_attributes_ask(pawl_engine *e, int shard, const pawl_id *id);
pawl_code pawl_attributes_add(const pawl_rows *rows, pawl_buf *out,
                              pawl_error *err);
/* One attribute: its name, its type, and the one value that is not null. */
typedef pawl_attribute_list_row pawl_attribute;
/* Its columns out of another statement's row. */
#define PAWL_ATTRIBUTE_OF(row)                                              \
  {                                                                         \
    .name = (row).name, .type = (row).type, .text_value = (row).text_value, \
    .date_value = (row).date_value, .bytes_value = (row).bytes_value,       \
    .float_value = (row).float_value, .number_value = (row).number_value,   \
    .boolean_value = (row).boolean_value                                    \
  }
/* {"type","value"}: one column is not null. */
void pawl_attribute_tell(const pawl_attribute *v, pawl_buf *out);
/* From {"type","value"} text. `scratch` keeps what `out` borrows. */
pawl_code pawl_attribute_read(pawl_str name, pawl_str typed,
                              pawl_attribute *out, pawl_buf *scratch,
                              pawl_error *err);
/* Its members for a statement's arguments; `sorts` is its sortable text
 * (sortable.h). */
#define PAWL_ATTRIBUTE_MEMBERS(v, sorts)                            \
  .name = (v).name, .type = (v).type, .text_value = (v).text_value, \
  .date_value = (v).date_value, .bytes_value = (v).bytes_value,     \
  .float_value = (v).float_value, .number_value = (v).number_value, \
  .boolean_value = (v).boolean_value, .sortable = (sorts)

#endif
