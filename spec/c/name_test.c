#include "../../src/pawl.h"

#include "test.h"

static const struct {
  const char *url, *name;
} names[] = {
    {NULL, "pawl.db"},
    {"pawl.db", "pawl.db"},
    {":memory:", ":memory:"},
    {"sqlite:a b.db", "a b.db"},
    {"mysql://a:secret@b/c", "..."},
    {"Postgres://a:secret@b/c", "..."},
    {"postgresql//a@b/c?pass%77ord=secret", "..."},
    {" postgres://a@b/c", "..."},
    {"pawl.db\n", "..."},
    {"a:secret@b/c", "..."},
    {"./a:b@c.db", "./a:b@c.db"},
    {"../a:b@c.db", "../a:b@c.db"},
    {"sqlite: a:b@c.db ", " a:b@c.db "},
    {"postgres.db", "postgres.db"},
    {"pg/pawl.db", "pg/pawl.db"},
    {"/var/lib/pg/12:30.db", "/var/lib/pg/12:30.db"},
    {"sslmode=prefer password=secret", "..."},
#ifdef PAWL_POSTGRES
    {"postgres:mine", "postgres:mine"},
    {"postgres:host=h password=secret", "postgres:host=h"},
    {"postgres:password=secret", "postgres:..."},
    {"postgres:password = 'a secret' port = 7", "postgres:port=7"},
    {"postgres:password=my secret", "postgres:..."},
    {"postgres:dbname='it\\'s' password=x", "postgres:dbname='it\\'s'"},
    {"postgres:dbname=postgres://a:secret@b/c host=h", "postgres:host=h"},
    {"postgres://ann:secret@h:7/shop",
     "postgres:host=h port=7 dbname=shop user=ann"},
    {"postgres://ann@h:7,i:8/shop?password=secret&sslpassword=secret",
     "postgres:host=h,i port=7,8 dbname=shop user=ann"},
    {"postgres://ann@/shop?host=%2Frun%2Fpg", /* a folder of sockets */
     "postgres:host=/run/pg dbname=shop user=ann"},
    {"postgresql://ann:a%40secret@h/shop",
     "postgres:host=h dbname=shop user=ann"},
    {"postgres:/ann:secret@h/shop", "..."},
    {"postgres:ann:secret@h/shop?sslmode=prefer", "..."},
    {"postgres: host=h", "postgres:host=h"},
    {"postgres:host=ann:secret@h port=7", "postgres:port=7"},
    {"postgres:///ann:secret@h/shop", "postgres:..."},
    {"postgres://ann:a@secret@h/shop", "postgres:..."},
    {"postgres://ann:a/secret@h/shop", "postgres:..."},
#endif
};

int main(void) {
  char name[200], cut[4];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *got = pawl_store_name(names[i].url, name, sizeof name);
    if (!CHECK(strcmp(got, names[i].name) == 0))
      printf("  %s: %s\n", names[i].url ? names[i].url : "NULL", got);
  }
  CHECK(strcmp(pawl_store_name("pawl.db", cut, sizeof cut), "paw") == 0);
  CHECK(pawl_store_name("pawl.db", NULL, 0) == NULL);
  return TEST_END;
}
