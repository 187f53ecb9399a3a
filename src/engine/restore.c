/* A copy takes the place of all that is in the store: what this engine knows of
 * the store before is nothing to it, as after a connection that has led to
 * another one (versions/retell.c). What it holds is given back first, so that
 * nothing is lost when the copy is refused. */
#include "../value/object.h"
#include "common/engine_struct.h"
#include "common/pipeline.h"
#include "engine.h"
#include "versions/versions.h"
#include "work/aside.h"
#include "work/await.h"
#include "work/breaks.h"
#include "work/claim.h"
#include "work/commit.h"
#include "work/offers.h"

static pawl_code give_all_back(pawl_engine *e, pawl_error *err) {
  pawl_await_abandon_all(e);
  MUST(pawl_commit_all(e, err));
  MUST(pawl_pipeline_drain(e, err));
  MUST(pawl_aside_give_back(e, NULL, 0, err));
  return pawl_claim_release(e, err);
}

/* Whatever was seen of the store before is not so now. */
static void look_anew(pawl_engine *e) {
  e->quiet = 0;
  e->woken = 1;
  pawl_breaks_forget(e);
  pawl_offers_forget(e);
  e->fresh_ready = e->suspect_ready = 0;
  e->look_mono_us = e->relook_mono_us = 0;
  e->next_due_us = 0;
}

pawl_code pawl_engine_restore(pawl_engine *e, const char *path, pawl_str image,
                              pawl_buf *out, pawl_error *err) {
  int64_t bytes = 0;
  pawl_object o;

  MUST(give_all_back(e, err));
  pawl_code rc =
      pawl_store_restore(e->store, path, image, &e->interrupted, &bytes, err);
  e->interrupted = 0;
  if (rc != PAWL_OK) return rc;
  look_anew(e);
  MUST(pawl_retell(e, err));
  pawl_object_begin(&o, out);
  if (path) pawl_member_textz(&o, "file", path);
  pawl_member_int(&o, "bytes", bytes);
  pawl_object_end(&o);
  return pawl_buf_check(out, err);
}
