#include "../../src/store/pgguard.h"

#include "test.h"

static const char *const allowed[] = {
    "select 1",
    "  (select 1)",
    "SELECT * FROM pawl.instance",
    "with x as (select * from \"pawl\".token) select * from x",
    "values (1), (2)",
    "table pawl.meta",
    "insert into mine values ('pawl.meta')",
    "insert into mine values (E'it\\'s pawl.meta')",
    "insert into mine values ('it''s pawl.meta; commit')",
    "update mine set a = $1 where b = $2",
    "insert into mine values ($$pawl.meta$$, $tag$ $$ pawl $tag$)",
    "insert into mine /* pawl /* nested pawl */ pawl */ values (1)",
    "insert into mine values (1) -- pawl",
    "insert into pawlonia values (1)",
    "insert into \"Pawl\".mine values (1)", /* another schema */
    "select a.set_config_x from mine a",
    "create table committed (id integer)",
    "select 1e5, 0x1f, 12$1",
    "select setting from pg_settings",
    "select U&'d\\0061t\\+000061'",
    "merge into mine using other on true when matched then delete",
    "select 'unclosed pawl",
};

static const char *const refused[] = {
    "",
    "   ",
    "-- nothing",
    "/* nothing",
    "begin",
    "Commit",
    "/* x */ ROLLBACK",
    "-- x\nend",
    "((commit))",
    "savepoint a",
    "release a",
    "prepare transaction 'x'",
    "abort",
    "start transaction",
    "set search_path = x",
    "reset all",
    "listen x",
    "copy mine to stdout",
    "do $$ begin end $$",
    "execute meta_put",
    "deallocate all",
    "lock mine",
    "select set_config('a', 'b', false)",
    "select pg_catalog.\"set_config\"('a', 'b', false)",
    "insert into pawl.meta values (1)",
    "INSERT INTO PAWL . meta values (1)",
    "insert into \"pawl\".meta values (1)",
    "insert into U&\"p\\0061wl\".meta values (1)",
    "select U&\"set\\005fconfig\"('work_mem', '77MB', false)",
    "select u&\"a\" from mine",
    "update pg_settings set setting = '1h' where name = 'work_mem'",
    "UPDATE pg_catalog.\"pg_settings\" set setting = '1h'",
    "with x as (update pg_settings set setting = '1' returning 1) table x",
    "drop schema pawl cascade",
    "with x as (delete from pawl.meta returning 1) select * from x",
    "select * from pawl.agenda for update",
    "select * from pawl.agenda for share",
    "select 1 into pawl.mine",
    "explain analyze delete from pawl.meta",
    "insert into mine select * from pawl.meta",
    "insert into mine values ($1) /* */ -- \n, ((select 1 from pawl.x))",
    "insert into mine values ('a'), ((select 'b' from pawl.x))",
};

static const char *const several[] = {
    "select 1; select 2",           "select 1;;/* ; */ -- x\n;2",
    "select ';' ; \"a\"",           "select E'\\';' ; 'x'",
    "select $a$ ; $a$; (select 1)",
};

static const char *const single[] = {
    "",
    ";",
    "select 1",
    "select 1; ;\n-- select 2\n/* ; select 3 */",
    "select ';', \"a;b\", E'\\'; x', $$ ; x $$, 12 -- ; x",
    "create function f() returns int begin atomic select 1; select 2; end",
};

int main(void) {
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    if (!CHECK(pawl_pgguard_objection(pawl_strz(allowed[i]), NULL) == NULL))
      printf("  %s\n", allowed[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (!CHECK(pawl_pgguard_objection(pawl_strz(refused[i]), NULL) != NULL))
      printf("  %s\n", refused[i]);
  for (size_t i = 0; i < sizeof several / sizeof *several; i++)
    if (!CHECK(pawl_pgguard_is_several(pawl_strz(several[i]))))
      printf("  %s\n", several[i]);
  for (size_t i = 0; i < sizeof single / sizeof *single; i++)
    if (!CHECK(!pawl_pgguard_is_several(pawl_strz(single[i]))))
      printf("  %s\n", single[i]);
  /* Every cut of every text, in memory of just that size. */
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    for (size_t n = 0; n < strlen(refused[i]); n++) {
      char *copy = malloc(n ? n : 1); /* a sanitizer sees a read behind */
      if (!CHECK(copy != NULL)) break;
      memcpy(copy, refused[i], n);
      (void)pawl_pgguard_objection((pawl_str){copy, n}, "second");
      (void)pawl_pgguard_is_several((pawl_str){copy, n});
      free(copy);
    }
  return TEST_END;
}
