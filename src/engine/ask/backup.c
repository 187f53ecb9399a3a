/* A copy of the store, which others go on using. What this engine holds and has
 * not committed is not in it: as after a crash, it runs again there. */
#include "../../value/options.h"
#include "../common/engine_struct.h"
#include "ask.h"

typedef struct request {
  uint64_t given;
  int replace;
} request;

static const pawl_option backup_rows[] = {
    {"replace", PAWL_OPTION_BOOL, .at = offsetof(request, replace)}};
PAWL_OPTIONS_OF(backup) = {.what = "backup", PAWL_OPTION_ROWS(backup_rows)};

pawl_code pawl_engine_backup(pawl_engine *e, const char *path,
                             pawl_str options, pawl_buf *out,
                             pawl_error *err) {
  pawl_copy copy = {.path = path, .bytes = out};
  request asked;
  pawl_object o;

  pawl_options_init(&pawl_options_of_backup, &asked, sizeof asked, &e->alloc);
  MUST(pawl_options_read(&pawl_options_of_backup, options, &asked, err));
  copy.replace = asked.replace;
  pawl_code rc = pawl_store_backup(e->store, &copy, &e->interrupted, err);
  e->interrupted = 0;
  if (rc != PAWL_OK || !path) return rc;
  pawl_object_begin(&o, out);
  pawl_member_textz(&o, "file", path);
  pawl_member_int(&o, "bytes", copy.size);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}
