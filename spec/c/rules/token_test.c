/* Tokens: found by number, folded into the instance's row or not, and their
 * scopes as text. */
#include "kit.h"

static pawl_token *add(pawl_token_list *all, int no, pawl_token_state state,
                       const char *scope) {
  pawl_token *t = pawl_tokens_add(all, NULL);
  t->no = no;
  t->state = state;
  CHECK(pawl_scope_parse(t, pawl_strz(scope)));
  return t;
}

static void one_is_found_by_its_number(void) {
  pawl_token_list all = {0};
  CHECK(!pawl_tokens_find(&all, 1));
  for (int no = 2; no < 40; no += 3) add(&all, no, PAWL_TOKEN_ACTIVE, "");
  for (int no = 0; no < 45; no++) {
    pawl_token *t = pawl_tokens_find(&all, no);
    CHECK_INT(t != NULL, no >= 2 && no < 40 && no % 3 == 2);
    if (t) CHECK_INT(t->no, no);
  }
  pawl_tokens_deinit(&all, NULL);
}

static void a_lone_root_lives_in_the_row(void) {
  pawl_token_list all = {0};
  add(&all, 1, PAWL_TOKEN_CONSUMED, "");
  add(&all, 2, PAWL_TOKEN_WAITING, "");
  CHECK_INT(pawl_tokens_live(&all), 1);
  CHECK(pawl_tokens_lone(&all) == &all.at[1]);
  CHECK(pawl_tokens_folded(&all) == &all.at[1]);
  all.at[1].stored = 1; /* it has a row of its own */
  CHECK(!pawl_tokens_folded(&all));
  add(&all, 3, PAWL_TOKEN_ACTIVE, "2");
  CHECK(!pawl_tokens_lone(&all));
  all.at[1].state = PAWL_TOKEN_DROPPED;
  CHECK(!pawl_tokens_lone(&all)); /* it is inside a fork */
  pawl_tokens_deinit(&all, NULL);
}

static void a_slot_keeps_nothing_of_who_was_there(void) {
  pawl_token_list all = {0};
  pawl_token *t = add(&all, 1, PAWL_TOKEN_WAITING, "1.2");
  pawl_buf_addz(&t->data, "1");
  pawl_detail_set(t, PAWL_DETAIL_due, 5);
  t->failed = t->blind = t->changed = 1;
  all.n = 0;
  t = pawl_tokens_add(&all, NULL);
  CHECK_INT(t->depth, 0);
  CHECK_INT(t->data.len, 0);
  CHECK_INT(pawl_detail_of(t)->has, 0);
  CHECK(!t->failed && !t->blind && !t->changed);
  pawl_tokens_deinit(&all, NULL);
}

static void scopes_are_text(const char *text, int is_one) {
  pawl_token t = {0};
  char out[80];
  CHECK_INT(pawl_scope_parse(&t, pawl_strz(text)), is_one);
  if (!is_one) return;
  pawl_scope_format(&t, out);
  CHECK_TEXT(out, text);
}

TEST_PART(token_test) {
  one_is_found_by_its_number();
  a_lone_root_lives_in_the_row();
  a_slot_keeps_nothing_of_who_was_there();
  scopes_are_text("", 1);
  scopes_are_text("1.14.2", 1);
  scopes_are_text("1.x", 0);
  scopes_are_text("0", 0);
}
