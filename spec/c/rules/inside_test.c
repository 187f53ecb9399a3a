/* The index of who is inside a fork: all that are, whether it is made or not. */
#include "kit.h"

/* One item each for so many, and what stands inside item `no` of it. */
static void items(int n, int no) {
  kit k;
  pawl_inside in;
  pawl_buf list = {0};
  int at, found = 0, all = 0, seen = 0;

  kit_open(&k,
           "'start':'e','nodes':[{'name':'e','kind':'each','items':true,"
           "'branch':'t','window':1000,'next':'z'},{'name':'t',"
           "'kind':'timer','after':60000000,'next':'e'}," KIT_FINISH "]");
  for (int i = 0; i < n; i++) pawl_buf_addf(&list, "%c%d", i ? ',' : '[', i);
  pawl_buf_addc(&list, ']');
  kit_says(&k, "e", PAWL_HANDLER_ITEMS, list.at);
  kit_run(&k);
  kit_decide(&k); /* with all of them in the plan */
  CHECK_INT(k.d.plan.state.tokens.n, n + 1);
  in = pawl_inside_item(&k.d, 1, no);
  while ((at = pawl_inside_next(&k.d, &in)) >= 0) {
    seen++;
    if (pawl_tok(&k.d, at)->depth)
      found += pawl_item_of(pawl_tok(&k.d, at), 1) == no;
  }
  CHECK_INT(found, 1);
  if (n > 100) CHECK_INT(seen, 1); /* it is found without looking at all */
  in = pawl_inside_fork(&k.d, 1);
  while ((at = pawl_inside_next(&k.d, &in)) >= 0)
    all += pawl_token_is_in(pawl_tok(&k.d, at), 1);
  CHECK_INT(all, n);
  in = pawl_inside_fork(&k.d, 2); /* a token that has not forked */
  while ((at = pawl_inside_next(&k.d, &in)) >= 0)
    CHECK(!pawl_token_is_in(pawl_tok(&k.d, at), 2));
  pawl_buf_deinit(&list);
  kit_close(&k);
}

TEST_PART(inside_test) {
  items(1, 0);
  items(5, 4);
  items(200, 0);
  items(200, 117);
}
