/* Requests: each on the record; what cannot be done is refused there, with a
 * reason. */
#include "kit.h"

#define TIMER                                        \
  "'start':'t','nodes':[{'name':'t','kind':'timer'," \
  "'after':60000000,'next':'b'}," KIT_STEP("b", "z") "," KIT_FINISH "]"

static void ask(kit *k, const char *kind, const char *data) {
  kit_letter(k, kind, data);
  kit_step(k);
  CHECK_INT(k->d.nletters, 0); /* it is dealt with, either way */
}

static void refused(kit *k, const char *kind, const char *data,
                    const char *why) {
  ask(k, kind, data);
  CHECK_BUF(kit_record(k, "refused")->text, why);
  CHECK(kit_record(k, "refused")->has_request);
}

static void who_asked_and_why_is_on_the_record(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  pawl_buf_addz(&kit_letter(&k, "suspend", "{'reason':'night'}")->by, "ann");
  kit_step(&k);
  CHECK_STATUS(&k, "suspended");
  CHECK_BUF(kit_record(&k, "suspended")->text, "night");
  CHECK_BUF(kit_record(&k, "suspended")->by, "ann");
  refused(&k, "suspend", "{}", "suspend: it is suspended already");
  k.now += 90 * PAWL_SECOND; /* the timer does not fire meanwhile */
  kit_step(&k);
  CHECK_INT(kit_records(&k, "timer"), 0);
  ask(&k, "resume", "{'shift':true}");
  CHECK_STATUS(&k, "waiting");
  CHECK_INT(kit_at(&k, "t")->due_us, k.now + 60 * PAWL_SECOND);
  refused(&k, "resume", "{}", "resume: it is not suspended");
  kit_close(&k);
}

static void what_cannot_be_is_refused(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  refused(&k, "retry", "{}", "retry: it goes on already");
  refused(&k, "restart", "{'from':'b'}", "restart: it goes on already");
  refused(&k, "move", "{'to':'x'}", "move: no such node");
  refused(&k, "move", "{'to':'b','token':7}",
          "move: no such token, or that of a boundary");
  refused(&k, "edit", "{'if_commits':99,'set':{'a':1}}",
          "edit: the instance has changed since");
  CHECK_BUF(k.d.vars, "");
  kit_close(&k);
}

/* Also where it ends before they are looked at. */
static void a_note_is_written_down(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  ask(&k, "note", "{'text':'a','data':{'n':1}}");
  CHECK_BUF(kit_record(&k, "note")->text, "a");
  CHECK_BUF(kit_record(&k, "note")->output, "{'n':1}");
  CHECK_STATUS(&k, "waiting");
  kit_letter(&k, "cancel", "{}");
  kit_letter(&k, "note", "{'text':'b'}");
  kit_run(&k);
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(kit_records(&k, "note"), 1);
  CHECK_INT(kit_records(&k, "refused"), 0);
  ask(&k, "note", "{'text':'c'}");
  CHECK_INT(kit_records(&k, "note"), 1);
  CHECK_STATUS(&k, "cancelled");
  kit_close(&k);
}

static void a_token_is_moved_and_woken(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  ask(&k, "wake", "{'nodes':['other']}");
  CHECK_INT(kit_records(&k, "woken"), 0);
  ask(&k, "edit", "{'set':{'a':1}}");
  CHECK_BUF(k.d.vars, "{'a':1}");
  kit_letter(&k, "wake", "{'nodes':['t']}");
  kit_run(&k);
  k.now++;
  kit_run(&k);
  CHECK_HAS(k.history, "woken t, timer t, step b, ");
  kit_close(&k);

  kit_open(&k, TIMER);
  kit_run(&k);
  kit_letter(&k, "move", "{'to':'b'}");
  kit_run(&k);
  CHECK_HAS(k.history, "moved t, step b, ");
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void a_move_that_is_to_be_put_off_is_put_off_once(void) {
  kit k;
  int64_t due;
  kit_open(&k, TIMER);
  kit_run(&k);
  due = kit_at(&k, "t")->due_us;
  for (int i = 0; i < 2; i++) {
    pawl_letter *l = kit_letter(&k, "shift", "{'for_us':1000000}");
    pawl_buf_set(&l->event_id, pawl_strz("since:t.x"));
    kit_step(&k);
  }
  CHECK_INT(kit_at(&k, "t")->due_us, due + PAWL_SECOND);
  kit_close(&k);
}

static void what_is_deleted_stays_so(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  refused(&k, "delete", "{}", "delete: it lives: `cancel` it first");
  refused(&k, "purge", "{}", "purge: it lives: `cancel` it first");
  refused(&k, "undelete", "{}", "undelete: it is not deleted");
  ask(&k, "delete", "{'cancel':true,'reason':'twice'}");
  CHECK_STATUS(&k, "cancelled");
  CHECK_INT(kit_records(&k, "deleted"), 1);
  CHECK_BUF(k.d.state.deletion, "{'reason':'twice'}");
  CHECK(k.d.state.deleted_us == k.now);
  refused(&k, "restart", "{'from':'b'}",
          "restart: it is deleted: `undelete` it first");
  ask(&k, "undelete", "{}");
  CHECK_INT(k.d.state.deleted_us, 0);
  CHECK_BUF(k.d.state.deletion, "");
  ask(&k, "purge", "{}");
  CHECK(k.d.state.deleted_us && k.d.state.purge_us);
  refused(&k, "undelete", "{}", "undelete: it is being purged");
  kit_close(&k);
}

/* Away it refuses what would change it, and goes on as it stood. */
static void what_is_carried_away_stands_still(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  refused(&k, "reclaim", "{}", "reclaim: it is not away");
  ask(&k, "carry", "{'reason':'a larger machine'}");
  CHECK_STATUS(&k, "suspended");
  CHECK_HAS(k.d.state.away, "'reason':'a larger machine'");
  CHECK_INT(kit_records(&k, "carried"), 1);
  static const char *const changes[] = {"resume", "cancel", "retry", "wake",
                                        "suspend"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    ask(&k, changes[i], "{}");
    CHECK_HAS(kit_record(&k, "refused")->text,
              "it was carried to another store: `reclaim` takes it back");
    CHECK_STATUS(&k, "suspended");
  }
  ask(&k, "carry", "{}"); /* again */
  CHECK_INT(kit_records(&k, "refused"), 0);
  CHECK_STATUS(&k, "suspended");
  k.now += 2 * 60 * PAWL_SECOND; /* its timer is due: nothing comes of it */
  kit_step(&k);
  CHECK_STATUS(&k, "suspended");
  ask(&k, "reclaim", "{}");
  CHECK_BUF(k.d.state.away, "");
  CHECK_STATUS(&k, "waiting");
  kit_run(&k);
  CHECK_STATUS(&k, "completed");
  kit_close(&k);
}

static void what_was_suspended_comes_back_so(void) {
  kit k;
  kit_open(&k, TIMER);
  kit_run(&k);
  ask(&k, "suspend", "{}");
  ask(&k, "carry", "{}");
  ask(&k, "reclaim", "{}");
  CHECK_STATUS(&k, "suspended");
  ask(&k, "arrive", "{'stay':true}");
  CHECK_STATUS(&k, "suspended");
  ask(&k, "arrive", "{}");
  CHECK_STATUS(&k, "waiting");
  ask(&k, "kill", "{}");
  ask(&k, "carry", "{}"); /* one that has ended may go, too */
  CHECK_STATUS(&k, "cancelled");
  CHECK(k.d.state.away.len > 0);
  refused(&k, "restart", "{'from':'b'}",
          "restart: it was carried to another store: `reclaim` takes it back");
  kit_close(&k);
}

TEST_PART(requests_test) {
  what_is_carried_away_stands_still();
  what_was_suspended_comes_back_so();
  who_asked_and_why_is_on_the_record();
  what_cannot_be_is_refused();
  a_note_is_written_down();
  a_token_is_moved_and_woken();
  a_move_that_is_to_be_put_off_is_put_off_once();
  what_is_deleted_stays_so();
}
