#include "../../src/base/error.h"

#include "test.h"

static void codes_have_their_names(void) {
#define CHECK_NAME(name, text) CHECK_TEXT(pawl_code_name(PAWL_##name), text);
  PAWL_CODES(CHECK_NAME)
#undef CHECK_NAME
  CHECK_TEXT(pawl_code_name(PAWL_NCODES), "unknown");
  CHECK_TEXT(pawl_code_name((pawl_code)-1), "unknown");
}

static void a_failure_clears_what_was_there(void) {
  pawl_error err;
  memset(&err, 'x', sizeof err);
  CHECK_INT(pawl_fail(&err, PAWL_BUSY, "instance %s: %d", "i-1", 7),
            PAWL_BUSY);
  CHECK_INT(err.code, PAWL_BUSY);
  CHECK_TEXT(err.message, "instance i-1: 7");
  CHECK_TEXT(err.hint, "");
  CHECK_TEXT(err.where, "");
  CHECK_TEXT(err.raised, "");
  CHECK_TEXT(err.sqlstate, "");
  CHECK_TEXT(err.trace, "");
}

static void nobody_need_want_the_details(void) {
  CHECK_INT(pawl_fail(NULL, PAWL_FULL, "x"), PAWL_FULL);
  pawl_error_hint(NULL, "x");
  pawl_error_where(NULL, "x");
  pawl_error_sqlstate(NULL, "40001");
  pawl_error_prefix(NULL, "x");
}

static void levels_add_what_they_know(void) {
  pawl_error err;
  pawl_fail(&err, PAWL_VALUE, "a function cannot be stored");
  pawl_error_hint(&err, "store %s", "data");
  pawl_error_where(&err, "vars.%s[%d]", "items", 3);
  pawl_error_sqlstate(&err, "40001");
  pawl_error_prefix(&err, "node %s", "bill");
  CHECK_INT(err.code, PAWL_VALUE);
  CHECK_TEXT(err.message, "node bill: a function cannot be stored");
  CHECK_TEXT(err.hint, "store data");
  CHECK_TEXT(err.where, "vars.items[3]");
  CHECK_TEXT(err.sqlstate, "40001");
  pawl_error_sqlstate(&err, "40001x");
  CHECK_TEXT(err.sqlstate, "40001");
}

static void an_error_may_quote_itself(void) {
  pawl_error err;
  pawl_fail(&err, PAWL_STORE, "first");
  pawl_fail(&err, PAWL_BUSY, "again: %s", err.message);
  CHECK_TEXT(err.message, "again: first");
  pawl_error_hint(&err, "%s?", err.message);
  CHECK_TEXT(err.hint, "again: first?");
}

enum { CUT = sizeof PAWL_CUT - 1 };

static void a_message_says_that_it_was_cut(void) {
  pawl_error err;
  char text[sizeof err.message + 8];

  memset(text, 'a', sizeof text);
  text[sizeof err.message - 1] = 0; /* just fits */
  pawl_fail(&err, PAWL_VALUE, "%s", text);
  CHECK_TEXT(err.message, text);
  text[sizeof err.message - 1] = 'a';
  text[sizeof err.message] = 0; /* one too many */
  pawl_fail(&err, PAWL_VALUE, "%s", text);
  CHECK_INT(strlen(err.message), sizeof err.message - 1);
  CHECK_TEXT(err.message + strlen(err.message) - CUT, PAWL_CUT);
  pawl_error_prefix(&err, "%s", text); /* no room for what it stands before */
  CHECK_TEXT(err.message + strlen(err.message) - CUT, PAWL_CUT);
}

static void so_do_a_hint_and_a_place(void) {
  pawl_error err;
  char text[sizeof err.hint + 8];

  memset(text, 'a', sizeof text);
  text[sizeof err.hint - 1] = 0; /* just fits */
  pawl_fail_hint(&err, PAWL_VALUE, text, "first");
  CHECK_TEXT(err.hint, text);
  text[sizeof err.hint - 1] = 'a';
  text[sizeof err.hint] = 0; /* one too many */
  pawl_fail_hint(&err, PAWL_VALUE, text, "first");
  CHECK_INT(strlen(err.hint), sizeof err.hint - 1);
  CHECK_TEXT(err.hint + strlen(err.hint) - CUT, PAWL_CUT);
  err.hint[0] = 0;
  pawl_error_hint(&err, "%s", text);
  CHECK_TEXT(err.hint + strlen(err.hint) - CUT, PAWL_CUT);
  text[sizeof err.where - 1] = 0;
  pawl_error_where(&err, "%s", text);
  CHECK_TEXT(err.where, text);
  text[sizeof err.where - 1] = 'a';
  text[sizeof err.where] = 0;
  pawl_error_where(&err, "%s", text);
  CHECK_INT(strlen(err.where), sizeof err.where - 1);
  CHECK_TEXT(err.where + strlen(err.where) - CUT, PAWL_CUT);
}

/* Cuts at every offset into a character of two, three and four bytes. */
static void long_text_is_cut_between_characters(void) {
  static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac",
                                           "\xf0\x9f\x98\x80"};
  pawl_error err;
  char text[3000];
  size_t i, shift, at;

  for (i = 0; i < 3; i++) {
    size_t len = strlen(characters[i]);
    for (shift = 0; shift < len; shift++) {
      for (at = 0; at < shift; at++) text[at] = 'a';
      for (; at + len < sizeof text; at += len)
        memcpy(text + at, characters[i], len);
      text[at] = '\0';
      pawl_fail(&err, PAWL_VALUE, "%s", text);
      CHECK_INT((strlen(err.message) - shift - CUT) % len, 0);
      CHECK(strlen(err.message) > sizeof err.message - 1 - len);
      CHECK_TEXT(err.message + strlen(err.message) - CUT, PAWL_CUT);
      pawl_error_prefix(&err, "in front");
      CHECK_INT((strlen(err.message) - shift - 10 - CUT) % len, 0);
      CHECK_TEXT(err.message + strlen(err.message) - CUT, PAWL_CUT);
      pawl_error_where(&err, "%s", text);
      CHECK_INT((strlen(err.where) - shift - CUT) % len, 0);
      pawl_error_prefix(&err, "%s", text); /* leaves no room for the rest */
      CHECK(strlen(err.message) < sizeof err.message);
    }
  }
}

static void copies_accept_nothing(void) {
  char to[4] = "abc";
  pawl_copy_text(to, sizeof to, NULL);
  CHECK_TEXT(to, "");
  pawl_copy_text(to, sizeof to, "x\xe2\x82\xac");
  CHECK_TEXT(to, "x");
}

static void some_failures_pass(void) {
  CHECK(pawl_code_is_transient(PAWL_BUSY));
  CHECK(pawl_code_is_transient(PAWL_UNREACHABLE));
  CHECK(pawl_code_is_transient(PAWL_NOMEM));
  CHECK(pawl_code_is_transient(PAWL_FULL));
  CHECK(!pawl_code_is_transient(PAWL_OK));
  CHECK(!pawl_code_is_transient(PAWL_LEASE_LOST));
  CHECK(!pawl_code_is_transient(PAWL_INTERRUPTED));
  CHECK(!pawl_code_is_transient(PAWL_CORRUPT));
}

static int is_final(pawl_code code, const char *sqlstate) {
  pawl_error why;
  pawl_fail(&why, code, "no");
  pawl_error_sqlstate(&why, sqlstate);
  return pawl_code_is_final(code, &why);
}

static void some_failures_stay(void) {
  CHECK(is_final(PAWL_INVALID, ""));
  CHECK(is_final(PAWL_NOTFOUND, ""));
  CHECK(is_final(PAWL_ALREADY_FINISHED, ""));
  CHECK(is_final(PAWL_CORRUPT, ""));
  CHECK(is_final(PAWL_VALUE, "22P05"));
  CHECK(is_final(PAWL_STORE, "23502"));
  CHECK(is_final(PAWL_LIMIT, "54000"));
  CHECK(!is_final(PAWL_BUSY, ""));
  CHECK(!is_final(PAWL_STORE, "P0001"));
  CHECK(!is_final(PAWL_STORE, "58030"));
  CHECK(!is_final(PAWL_AUTH, "42501"));
  CHECK(!is_final(PAWL_READONLY, ""));
  CHECK(!is_final(PAWL_STORE_NEW, ""));
  CHECK(!is_final(PAWL_NOTFOUND, "58P01")); /* it is the store */
  CHECK(!is_final(PAWL_CORRUPT, "XX001"));
  CHECK(!is_final(PAWL_LEASE_LOST, "22012"));
  CHECK(!is_final(PAWL_INTERRUPTED, ""));
}

int main(void) {
  codes_have_their_names();
  a_failure_clears_what_was_there();
  nobody_need_want_the_details();
  levels_add_what_they_know();
  an_error_may_quote_itself();
  a_message_says_that_it_was_cut();
  so_do_a_hint_and_a_place();
  long_text_is_cut_between_characters();
  copies_accept_nothing();
  some_failures_pass();
  some_failures_stay();
  return TEST_END;
}
