/* A copy of the store, which others go on using. What this engine holds and has
 * not committed is not in it: as after a crash, it runs again there. */
#include "../common/engine_struct.h"
#include "ask.h"

pawl_code pawl_engine_backup(pawl_engine *e, const char *path, pawl_buf *out,
                             pawl_error *err) {
  pawl_object o;
  int64_t bytes;

  pawl_code rc =
      pawl_store_backup(e->store, path, &e->interrupted, &bytes, err);
  e->interrupted = 0;
  if (rc != PAWL_OK) return rc;
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "file", path);
  pawl_member_int(&o, "bytes", bytes);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}
