/* game.c: a game with pawl inside. Sixty frames a second, two milliseconds of
 * each for quests, which are workflows in quests/; monsters come when a quest
 * asks for them; three save slots; and mods, which are not trusted.
 *
 * Usage: game FOLDER [--frames N] [--fast] [--load SLOT] [--save SLOT] [--mods]
 *
 * FOLDER is where the game that is played and the slots are. --frames ends it
 * after so many, --fast does not sleep between them, --save saves at the end.
 * game.cc is the same in C++. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl.h>

enum { FRAMES_PER_SECOND = 60, BUDGET_US = 2000, MONSTERS = 8 };

typedef struct monster {
  char key[80]; /* of the call that made it: the same call, the same monster */
  char name[32];
  int64_t hp;
} monster;

typedef struct game {
  pawl_engine *engine;
  const char *folder;
  int64_t frame, gold;
  char given[80]; /* the key of the last gift */
  int reading;    /* frames until the model that is asked for has been read */
  int nmonsters;
  monster monsters[MONSTERS];
} game;

/* ---- the world, as quests see it ----------------------------------------- */

/* Game time: quests stand still while the game does, or is not there. */
static int64_t game_clock(void *ud) {
  const game *g = (const game *)ud;
  return INT64_C(1800000000000000) + g->frame * 1000000 / FRAMES_PER_SECOND;
}

static void tell(const game *g, const char *what) {
  printf("%6.2f s  %s\n", (double)g->frame / FRAMES_PER_SECOND, what);
}

static pawl_code say(void *ud, const pawl_wanted *wanted, char **out,
                     pawl_error *err) {
  char text[100];
  pawl_code rc = pawl_text(wanted->input, "", text, sizeof text, NULL, err);
  (void)out;
  if (rc == PAWL_OK) tell((const game *)ud, text);
  return rc;
}

static pawl_code give(void *ud, const pawl_wanted *wanted, char **out,
                      pawl_error *err) {
  game *g = (game *)ud;
  int64_t gold = 0;
  char line[60];
  pawl_code rc = pawl_int(wanted->input, "gold", &gold, err);
  (void)out;
  if (rc != PAWL_OK || !strcmp(g->given, wanted->key)) return rc;
  snprintf(g->given, sizeof g->given, "%s", wanted->key);
  g->gold += gold;
  snprintf(line, sizeof line, "You get %d gold", (int)gold);
  tell(g, line);
  return PAWL_OK;
}

/* PAWL_BUSY: the model is being read, ask again in the next frame. */
static pawl_code spawn(void *ud, const pawl_wanted *wanted, char **out,
                       pawl_error *err) {
  game *g = (game *)ud;
  char kind[16], line[60];
  int64_t hp = 0;
  int i;
  pawl_code rc =
      pawl_text(wanted->input, "kind", kind, sizeof kind, NULL, err);

  if (rc == PAWL_OK) rc = pawl_int(wanted->input, "hp", &hp, err);
  if (rc != PAWL_OK || wanted->gone) return rc;
  for (i = 0; i < g->nmonsters; i++) /* asked twice, as after a save */
    if (!strcmp(g->monsters[i].key, wanted->key))
      return pawl_format(NULL, out, err, "%Q", g->monsters[i].name);
  if (g->nmonsters == MONSTERS) {
    strcpy(err->message, "the world is full of monsters");
    return PAWL_LIMIT;
  }
  if (!wanted->again) g->reading = 10;
  if (g->reading-- > 0) return PAWL_BUSY;
  snprintf(g->monsters[i].key, sizeof g->monsters[i].key, "%s", wanted->key);
  snprintf(g->monsters[i].name, sizeof g->monsters[i].name, "%s-%d", kind,
           i + 1);
  g->monsters[i].hp = hp;
  g->nmonsters++;
  snprintf(line, sizeof line, "A %s comes: %s", kind, g->monsters[i].name);
  tell(g, line);
  return pawl_format(NULL, out, err, "%Q", g->monsters[i].name);
}

/* The hero hits each monster once a second; quests are told of the dead. */
static pawl_code fight(game *g, pawl_error *err) {
  char event[120], line[60];
  pawl_code rc = PAWL_OK;
  if (g->frame % FRAMES_PER_SECOND != 0) return PAWL_OK;
  for (int i = 0; i < g->nmonsters && rc == PAWL_OK; i++) {
    if (g->monsters[i].hp <= 0 || --g->monsters[i].hp > 0) continue;
    snprintf(line, sizeof line, "%s is dead", g->monsters[i].name);
    tell(g, line);
    rc = pawl_format_into(event, sizeof event, err,
                          "{\"name\":\"monster.dead\",\"key\":%Q}",
                          g->monsters[i].name);
    if (rc == PAWL_OK) rc = pawl_signal(g->engine, event, NULL, NULL, err);
  }
  return rc;
}

/* ---- save slots ----------------------------------------------------------- */

/* The world goes into the store too, in tables of the game's own: what is saved
 * of both is from one moment. */
static pawl_code keep_world(game *g, pawl_error *err) {
  static const char *const TABLES[] = {
      "create table if not exists world (frame integer, gold integer)",
      "create table if not exists monster (key text, name text, hp integer)",
      "delete from world", "delete from monster"};
  char params[200];
  pawl_code rc = pawl_transaction_begin(g->engine, err);
  if (rc != PAWL_OK) return rc;
  for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES && !rc; i++)
    rc = pawl_transaction_query(g->engine, TABLES[i], NULL, NULL, NULL, err);
  if (rc == PAWL_OK)
    rc = pawl_format_into(params, sizeof params, err, "[%lld,%lld]",
                          (long long)g->frame, (long long)g->gold);
  if (rc == PAWL_OK)
    rc = pawl_transaction_query(g->engine, "insert into world values (?, ?)",
                                params, NULL, NULL, err);
  for (int i = 0; i < g->nmonsters && rc == PAWL_OK; i++) {
    rc = pawl_format_into(params, sizeof params, err, "[%Q,%Q,%lld]",
                          g->monsters[i].key, g->monsters[i].name,
                          (long long)g->monsters[i].hp);
    if (rc == PAWL_OK)
      rc = pawl_transaction_query(g->engine,
                                  "insert into monster values (?, ?, ?)",
                                  params, NULL, NULL, err);
  }
  if (rc == PAWL_OK) return pawl_transaction_commit(g->engine, err);
  (void)pawl_transaction_abort(g->engine, NULL);
  return rc;
}

static pawl_code rows_of(game *g, const char *sql, char **out,
                         pawl_error *err) {
  pawl_code rc = pawl_transaction_begin(g->engine, err);
  if (rc != PAWL_OK) return rc;
  rc = pawl_transaction_query(g->engine, sql, NULL, NULL, out, err);
  (void)pawl_transaction_abort(g->engine, NULL);
  return rc;
}

static pawl_code see_world(game *g, pawl_error *err) {
  char *rows = NULL;
  pawl_code rc = rows_of(g, "select frame, gold from world", &rows, err);
  if (rc == PAWL_OK) rc = pawl_int(rows, "[0].frame", &g->frame, err);
  if (rc == PAWL_OK) rc = pawl_int(rows, "[0].gold", &g->gold, err);
  pawl_free(g->engine, rows);
  rows = NULL;
  if (rc == PAWL_OK) rc = rows_of(g, "select * from monster", &rows, err);
  pawl_cursor row = {0, 0, 0, 0, 0, 0};
  while (rc == PAWL_OK && g->nmonsters < MONSTERS &&
         pawl_each(rows, NULL, &row)) {
    monster *m = &g->monsters[g->nmonsters++];
    rc = pawl_text(row.value, "key", m->key, sizeof m->key, NULL, err);
    if (rc == PAWL_OK)
      rc = pawl_text(row.value, "name", m->name, sizeof m->name, NULL, err);
    if (rc == PAWL_OK) rc = pawl_int(row.value, "hp", &m->hp, err);
  }
  pawl_free(g->engine, rows);
  return rc;
}

static void path_of(const game *g, const char *name, const char *end,
                    char out[300]) {
  snprintf(out, 300, "%s/%s%s", g->folder, name, end);
}

/* A slot is a whole store of one file; the one that was there gives way to it
 * in one step, so that a power cut leaves the one or the other. */
static pawl_code save(game *g, const char *slot, pawl_error *err) {
  char path[300];
  pawl_code rc = keep_world(g, err);
  path_of(g, slot, ".save", path);
  if (rc == PAWL_OK)
    rc = pawl_backup(g->engine, path, "{\"replace\":true}", NULL, err);
  if (rc == PAWL_OK) tell(g, "Saved");
  return rc;
}

/* What was saved takes the place of the game that is open. */
static pawl_code load(game *g, const char *slot, pawl_error *err) {
  char path[300];
  path_of(g, slot, ".save", path);
  pawl_code rc = pawl_restore(g->engine, path, NULL, err);
  return rc == PAWL_OK ? see_world(g, err) : rc;
}

/* A new game: what was played before is gone, with what SQLite keeps beside. */
static void forget(const game *g) {
  static const char *const FILES[] = {"", "-wal", "-shm"};
  char path[300];
  for (int i = 0; i < 3; i++) {
    path_of(g, "played.db", FILES[i], path);
    remove(path);
  }
}

/* ---- the game ------------------------------------------------------------- */

static pawl_code open_game(game *g, const char *slot, pawl_error *err) {
  pawl_config config = PAWL_CONFIG_INIT;
  char path[300];
  config.clock = game_clock;
  config.clock_ud = g;
  /* What is played is lost in a power cut; what was saved is not. */
  config.durability = PAWL_DURABLE_SAVE;
  if (!slot) forget(g);
  path_of(g, "played.db", "", path);
  pawl_code rc = pawl_open(path, &config, &g->engine, err);
  if (rc == PAWL_OK && slot) rc = load(g, slot, err);
  if (rc == PAWL_OK)
    rc = pawl_register(g->engine, "spawn", spawn, g, NULL, err);
  if (rc == PAWL_OK) rc = pawl_register(g->engine, "say", say, g, NULL, err);
  if (rc == PAWL_OK) rc = pawl_register(g->engine, "give", give, g, NULL, err);
  if (rc == PAWL_OK) rc = pawl_load(g->engine, "quests/hunt.lua", NULL, err);
  return rc;
}

/* A mod that cannot be loaded, or fails, is the player's loss alone. */
static void load_mod(game *g, const char *path, const char *code) {
  static const char TRUST[] =
      "{\"level\":\"limited\",\"codes\":\"mod.*\","
      "\"memory\":2097152,\"instructions\":300000,\"time_us\":20000}";
  pawl_error err;
  char id[37];
  if (pawl_load_as(g->engine, path, NULL, TRUST, NULL, &err) != PAWL_OK ||
      pawl_start(g->engine, code, NULL, NULL, id, NULL, &err) != PAWL_OK)
    printf("%s is left out: %s\n", path, pawl_code_name(err.code));
}

/* How it stands, in the words of the store. */
static pawl_code show_quests(game *g, pawl_error *err) {
  char *list = NULL, workflow[40], status[20];
  pawl_code rc = pawl_list(g->engine, NULL, &list, err);
  pawl_cursor quest = {0, 0, 0, 0, 0, 0};
  while (rc == PAWL_OK && pawl_each(list, NULL, &quest)) {
    rc = pawl_text(quest.value, "workflow", workflow, sizeof workflow, NULL,
                   err);
    if (rc == PAWL_OK)
      rc = pawl_text(quest.value, "status", status, sizeof status, NULL, err);
    if (rc == PAWL_OK) printf("%s: %s\n", workflow, status);
  }
  printf("gold: %d\n", (int)g->gold);
  pawl_free(g->engine, list);
  return rc;
}

static int64_t real_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_until(int64_t at_us) {
  int64_t left = at_us - real_us();
  if (left <= 0) return;
  struct timespec t = {(time_t)(left / 1000000), left % 1000000 * 1000};
  nanosleep(&t, NULL);
}

/* One frame: input, physics and drawing would stand here too. */
static pawl_code play(game *g, int64_t frames, int fast, pawl_error *err) {
  int64_t next = real_us(), longest = 0;
  pawl_code rc = PAWL_OK;
  for (int64_t i = 0; i < frames && rc == PAWL_OK; i++) {
    int64_t began = real_us();
    g->frame++;
    rc = fight(g, err);
    if (rc == PAWL_OK) rc = pawl_tick(g->engine, BUDGET_US, NULL, err);
    if (real_us() - began > longest) longest = real_us() - began;
    next += 1000000 / FRAMES_PER_SECOND;
    if (!fast) sleep_until(next);
  }
  printf("longest frame: %d ms\n", (int)(longest / 1000));
  return rc;
}

typedef struct wish {
  const char *folder, *load, *save;
  int64_t frames;
  int fast, mods;
} wish;

static int read_wish(int argc, char **argv, wish *w) {
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    int more = i + 1 < argc;
    if (!strcmp(word, "--fast"))
      w->fast = 1;
    else if (!strcmp(word, "--mods"))
      w->mods = 1;
    else if (!strcmp(word, "--frames") && more)
      w->frames = strtoll(argv[++i], NULL, 10);
    else if (!strcmp(word, "--load") && more)
      w->load = argv[++i];
    else if (!strcmp(word, "--save") && more)
      w->save = argv[++i];
    else if (word[0] != '-' && !w->folder)
      w->folder = word;
    else
      return 0;
  }
  return w->folder != NULL;
}

int main(int argc, char **argv) {
  static const char INPUT[] = "{\"place\":\"the hills\",\"hp\":3}";
  wish w = {NULL, NULL, NULL, INT64_MAX, 0, 0};
  static game g;
  pawl_error err;
  char id[37];

  if (!read_wish(argc, argv, &w)) {
    fputs(
        "usage: game FOLDER [--frames N] [--fast] [--load SLOT] "
        "[--save SLOT] [--mods]\n",
        stderr);
    return 2;
  }
  g.folder = w.folder;
  pawl_code rc = open_game(&g, w.load, &err);
  if (rc == PAWL_OK && !w.load)
    rc = pawl_start(g.engine, "quest.hunt", INPUT, NULL, id, NULL, &err);
  if (rc == PAWL_OK && w.mods) {
    load_mod(&g, "mods/greedy.lua", "mod.greedy");
    load_mod(&g, "mods/stuck.lua", "mod.stuck");
  }
  if (rc == PAWL_OK) rc = play(&g, w.frames, w.fast, &err);
  if (rc == PAWL_OK && w.save) rc = save(&g, w.save, &err);
  if (rc == PAWL_OK) rc = show_quests(&g, &err);
  if (rc != PAWL_OK)
    fprintf(stderr, "game: %s: %s\n", pawl_code_name(err.code), err.message);
  pawl_close(g.engine);
  return rc != PAWL_OK;
}
