/* Parts of the state as the store has them: what is written is read again. */
#include "../../../src/rules/stored.h"

#include "kit.h"

static void joins_that_have_fired(void) {
  kit k;
  pawl_buf text = {0};
  pawl_marks joined = {0};
  kit_open(&k, "'start':'z','nodes':[" KIT_FINISH "]");
  pawl_joined_write(&joined, &text);
  CHECK_INT(text.len, 0); /* null */
  pawl_marks_add(&joined, k.d.alloc, "clo\"se", 4, pawl_strz(NULL));
  pawl_marks_add(&joined, k.d.alloc, "end", 9, pawl_strz(NULL));
  pawl_joined_write(&joined, &text);
  pawl_joined_read(k.d.world, pawl_buf_str(&text), &k.d.state.joined);
  CHECK_INT(k.d.state.joined.n, 2);
  CHECK(pawl_marks_same(&joined, &k.d.state.joined));
  pawl_joined_read(k.d.world, pawl_strz(""), &k.d.state.joined);
  CHECK_INT(k.d.state.joined.n, 0);
  pawl_marks_deinit(&joined, k.d.alloc);
  pawl_buf_deinit(&text);
  kit_close(&k);
}

static void goes_round(const char *json) {
  pawl_buf want = {0}, got = {0};
  pawl_state s;
  for (; *json; json++) pawl_buf_addc(&want, *json == '\'' ? '"' : *json);
  pawl_state_init(&s, NULL);
  s.undo.planned = 3; /* of before */
  pawl_compensation_read(pawl_buf_str(&want), &s);
  pawl_compensation_write(&s.undo, &got);
  CHECK_TEXT(got.at ? got.at : "", want.at ? want.at : "");
  pawl_state_deinit(&s, NULL);
  pawl_buf_deinit(&want);
  pawl_buf_deinit(&got);
}

static void what_is_undone(void) {
  goes_round("");
  goes_round(
      "{'status':'planning','end':'failed','error':{'code':'x'},"
      "'node':'pay','started_at':'2026-01-31T10:00:00.000001Z'}");
  goes_round(
      "{'status':'running','end':'cancelled','output':5,"
      "'started_at':'2026-01-31T10:00:00.500000Z','since':12,"
      "'below':8,'planned':7,'undone':2,'undo_failed':1,'transfers':[5]}");
  goes_round(
      "{'status':'completed_with_errors','end':'failed','since':3,"
      "'below':1,'planned':2,'undone':0,'undo_failed':2,"
      "'completed_at':'2026-01-31T10:00:00.000000Z'}");
  goes_round("{'status':'stopped','end':'cancelled'}");
}

TEST_PART(stored_test) {
  joins_that_have_fired();
  what_is_undone();
}
