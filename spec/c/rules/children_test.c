/* Children: how they are started, told to end, and tell their parent. */
#include "kit.h"

#define WORKFLOW \
  "'start':'a','nodes':[" KIT_STEP("a", "t") ",{'name':'t',"           \
  "'kind':'timer','after':60000000,'next':'z'}," KIT_FINISH "]"

#define START                                             \
  "[{\"workflow\":\"t.child\",\"id\":"                    \
  "\"01890a5d-ac96-774b-bcce-b302099a8057\",\"options\":" \
  "{\"track\":%s,\"priority\":3}}]"

static void start_one(kit *k, const char *track) {
  kit_open(k, WORKFLOW);
  kit_says(k, "a", PAWL_HANDLER_RUN, "...");
  kit_decide(k);
  pawl_said_clear(&k->result);
  pawl_buf_addf(&k->result.starts, START, track);
  kit_goes_on(k);
  kit_store(k);
}

static void one_that_is_tracked_ends_with_its_parent(void) {
  kit k;
  start_one(&k, "true");
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_MESSAGE)->name, "start");
  CHECK(kit_effect(&k, PAWL_EFFECT_MESSAGE)->has_id);
  CHECK_HAS(kit_effect(&k, PAWL_EFFECT_MESSAGE)->data,
            "'options':{'priority':3},'track':true");
  CHECK_INT(k.d.state.children, 1);
  kit_letter(&k, "cancel", "{'reason':'enough','by':'ann'}");
  kit_step(&k);
  CHECK_BUF(kit_effect(&k, PAWL_EFFECT_MESSAGE)->name, "end_children");
  CHECK_HAS(kit_effect(&k, PAWL_EFFECT_MESSAGE)->data, "'reason':'enough'");
  kit_close(&k);
}

static void one_that_is_not_lives_on(void) {
  kit k;
  start_one(&k, "false");
  CHECK_INT(k.d.state.children, 0);
  kit_letter(&k, "cancel", "{}");
  kit_step(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_MESSAGE), 0);
  kit_close(&k);
}

static void a_parent_that_waits_is_told_the_end(const char *place, int told) {
  kit k;
  kit_open(&k, WORKFLOW);
  k.d.has_parent = 1;
  pawl_buf_addz(&k.d.parent_place, place);
  kit_letter(&k, "kill", "{}");
  kit_step(&k);
  CHECK_INT(kit_effects(&k, PAWL_EFFECT_MESSAGE), told);
  if (told)
    CHECK_HAS(kit_effect(&k, PAWL_EFFECT_MESSAGE)->data,
              "'status':'cancelled','token':2,'visit':4,'output':null");
  kit_close(&k);
}

static void a_code_of_ours_is_not_the_childs(void) {
  kit k;
  pawl_error err;
  kit_open(&k, WORKFLOW);
  pawl_child_error(&k.d, pawl_strz("{\"error\":{\"code\":\"card\"}}"),
                   "failed", &err);
  CHECK_TEXT(err.raised, "card");
  pawl_child_error(&k.d, pawl_strz("{\"error\":{\"code\":\"store\"}}"),
                   "failed", &err);
  CHECK_TEXT(err.raised, "child_failed");
  pawl_child_error(&k.d, pawl_strz("{}"), "cancelled", &err);
  CHECK_TEXT(err.raised, "child_cancelled");
  kit_close(&k);
}

TEST_PART(children_test) {
  one_that_is_tracked_ends_with_its_parent();
  one_that_is_not_lives_on();
  a_parent_that_waits_is_told_the_end(
      "{\"node\":\"c\",\"token\":2,\"visit\":4,\"end\":\"cancel\"}", 1);
  a_parent_that_waits_is_told_the_end(
      "{\"node\":\"c\",\"visit\":4,\"end\":\"cancel\"}", 0);
  a_code_of_ours_is_not_the_childs();
}
