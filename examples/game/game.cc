// game.cc: the game of game.c in C++17, with the same folders and slots.
//
// Calls of pawl's are made through `check`, which throws what failed. What pawl
// calls (spawn, say, give) throws nothing: it is called through C.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pawl.h>

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int64_t kFramesPerSecond = 60, kBudgetUs = 2000;

struct Failure : std::runtime_error {
  explicit Failure(const pawl_error &err)
      : std::runtime_error(std::string(pawl_code_name(err.code)) + ": " +
                           err.message) {}
};

static void check(pawl_code rc, const pawl_error &err) {
  if (rc != PAWL_OK) throw Failure(err);
}

struct Close {
  void operator()(pawl_engine *engine) const { pawl_close(engine); }
};
struct Free { // it knows its allocator
  void operator()(char *text) const { pawl_free(nullptr, text); }
};
using Engine = std::unique_ptr<pawl_engine, Close>;
using Text = std::unique_ptr<char, Free>;

// JSON: the arguments are pawl_format's.
template <typename... Args>
static Text json(const char *format, Args... args) {
  pawl_error err;
  char *out = nullptr;
  check(pawl_format(nullptr, &out, &err, format, args...), err);
  return Text(out);
}

static std::string text_at(const char *json, const char *path) {
  pawl_error err;
  size_t length = 0;
  check(pawl_text(json, path, nullptr, 0, &length, &err), err);
  std::string out(length, '\0');
  check(pawl_text(json, path, out.data(), length + 1, nullptr, &err), err);
  return out;
}

static int64_t int_at(const char *json, const char *path) {
  pawl_error err;
  int64_t out = 0;
  check(pawl_int(json, path, &out, &err), err);
  return out;
}

struct Monster {
  std::string key; // of the call that made it: the same call, the same monster
  std::string name;
  int64_t hp;
};

class Game {
 public:
  Game(fs::path folder, const std::optional<std::string> &slot)
      : folder_(std::move(folder)) {
    if (!slot) forget();
    pawl_config config = PAWL_CONFIG_INIT;
    config.clock = [](void *ud) { return static_cast<Game *>(ud)->now_us(); };
    config.clock_ud = this;
    config.durability = PAWL_DURABLE_SAVE; // what was saved is safe
    pawl_engine *engine = nullptr;
    check(pawl_open((folder_ / "played.db").c_str(), &config, &engine, &err_),
          err_);
    engine_.reset(engine);
    if (slot) load(*slot);
    lend("say", &Game::say);
    lend("give", &Game::give);
    lend("spawn", &Game::spawn);
    check(pawl_load(engine, "quests/hunt.lua", nullptr, &err_), err_);
  }
  Game(const Game &) = delete; // pawl has its address

  void start(const char *code, const char *input) {
    char id[37];
    check(pawl_start(engine_.get(), code, input, nullptr, id, nullptr, &err_),
          err_);
  }

  // A mod that cannot be loaded, or fails, is the player's loss alone.
  void load_mod(const char *path, const char *code) {
    static const char kTrust[] =
        "{\"level\":\"limited\",\"codes\":\"mod.*\","
        "\"memory\":2097152,\"instructions\":300000,\"time_us\":20000}";
    if (pawl_load_as(engine_.get(), path, nullptr, kTrust, nullptr, &err_) !=
        PAWL_OK)
      std::cout << path << " is left out: " << pawl_code_name(err_.code)
                << '\n';
    else
      start(code, nullptr);
  }

  void play(int64_t frames, bool fast) {
    auto next = steady_clock::now();
    steady_clock::duration longest{};
    for (int64_t i = 0; i < frames; i++) {
      const auto began = steady_clock::now();
      frame_++;
      fight(); // input, physics and drawing would stand here, too
      check(pawl_tick(engine_.get(), kBudgetUs, nullptr, &err_), err_);
      longest = std::max(longest, steady_clock::now() - began);
      next += microseconds(1000000 / kFramesPerSecond);
      if (!fast) std::this_thread::sleep_until(next);
    }
    std::cout << "longest frame: "
              << std::chrono::duration_cast<std::chrono::milliseconds>(longest)
                     .count()
              << " ms\n";
  }

  // The slot that was there gives way in one step: a power cut leaves one.
  void save(const std::string &slot) {
    keep_world();
    check(pawl_backup(engine_.get(), slot_file(slot).c_str(),
                      "{\"replace\":true}", nullptr, &err_),
          err_);
    tell("Saved");
  }

  void show() {
    char *list = nullptr;
    check(pawl_list(engine_.get(), nullptr, &list, &err_), err_);
    const Text owner(list);
    pawl_cursor quest{};
    while (pawl_each(list, nullptr, &quest))
      std::cout << text_at(quest.value, "workflow") << ": "
                << text_at(quest.value, "status") << '\n';
    std::cout << "gold: " << gold_ << '\n';
  }

 private:
  int64_t now_us() const {
    return INT64_C(1800000000000000) + frame_ * 1000000 / kFramesPerSecond;
  }

  void tell(const std::string &what) const {
    std::printf("%6.2f s  %s\n", double(frame_) / kFramesPerSecond,
                what.c_str());
    std::fflush(stdout);
  }

  // ---- the world, as quests see it ----

  // A function's answer is JSON, or nothing; what it throws stays here.
  using Function = std::optional<Text> (Game::*)(const pawl_wanted &);
  struct Lent {
    Game *game;
    Function function;
  };

  void lend(const char *name, Function function) {
    auto *lent = new Lent{this, function};
    const pawl_function_fn call = [](void *ud, const pawl_wanted *wanted,
                                     char **out, pawl_error *err) {
      auto *l = static_cast<Lent *>(ud);
      try {
        auto answer = (l->game->*l->function)(*wanted);
        if (!answer) return PAWL_BUSY;
        *out = answer->release();
        return PAWL_OK;
      } catch (const std::exception &failure) {
        std::snprintf(err->message, sizeof err->message, "%s", failure.what());
        return PAWL_INVALID;
      }
    };
    check(pawl_register(
              engine_.get(), name, call, lent,
              [](void *ud) { delete static_cast<Lent *>(ud); }, &err_),
          err_);
  }

  std::optional<Text> say(const pawl_wanted &wanted) {
    tell(text_at(wanted.input, ""));
    return Text();
  }

  std::optional<Text> give(const pawl_wanted &wanted) {
    if (given_ == wanted.key) return Text();
    given_ = wanted.key;
    const int64_t gold = int_at(wanted.input, "gold");
    gold_ += gold;
    tell("You get " + std::to_string(gold) + " gold");
    return Text();
  }

  // Nothing: the model is being read, ask again in the next frame.
  std::optional<Text> spawn(const pawl_wanted &wanted) {
    if (wanted.gone) return Text();
    for (const auto &m : monsters_) // asked twice, as after a save
      if (m.key == wanted.key) return json("%Q", m.name.c_str());
    if (!wanted.again) reading_ = 10;
    if (reading_-- > 0) return std::nullopt;
    const std::string kind = text_at(wanted.input, "kind");
    const std::string name = kind + "-" + std::to_string(monsters_.size() + 1);
    monsters_.push_back({wanted.key, name, int_at(wanted.input, "hp")});
    tell("A " + kind + " comes: " + name);
    return json("%Q", name.c_str());
  }

  // The hero hits each monster once a second; quests are told of the dead.
  void fight() {
    if (frame_ % kFramesPerSecond != 0) return;
    for (auto &m : monsters_) {
      if (m.hp <= 0 || --m.hp > 0) continue;
      tell(m.name + " is dead");
      check(pawl_signal(
                engine_.get(),
                json("{\"name\":\"monster.dead\",\"key\":%Q}", m.name.c_str())
                    .get(),
                nullptr, nullptr, &err_),
            err_);
    }
  }

  // ---- save slots ----

  void query(const char *sql, const Text &params = {}) {
    check(pawl_transaction_query(engine_.get(), sql, params.get(), nullptr,
                                 nullptr, &err_),
          err_);
  }

  // In tables of the game's own: what is saved of both is from one moment.
  void keep_world() {
    check(pawl_transaction_begin(engine_.get(), &err_), err_);
    try {
      query("create table if not exists world (frame integer, gold integer)");
      query(
          "create table if not exists monster (key text, name text, "
          "hp integer)");
      query("delete from world");
      query("delete from monster");
      query("insert into world values (?, ?)",
            json("[%lld,%lld]", static_cast<long long>(frame_),
                 static_cast<long long>(gold_)));
      for (const auto &m : monsters_)
        query("insert into monster values (?, ?, ?)",
              json("[%Q,%Q,%lld]", m.key.c_str(), m.name.c_str(),
                   static_cast<long long>(m.hp)));
    } catch (...) {
      (void)pawl_transaction_abort(engine_.get(), nullptr);
      throw;
    }
    check(pawl_transaction_commit(engine_.get(), &err_), err_);
  }

  Text rows_of(const char *sql) {
    char *rows = nullptr;
    check(pawl_transaction_begin(engine_.get(), &err_), err_);
    const pawl_code rc = pawl_transaction_query(engine_.get(), sql, nullptr,
                                                nullptr, &rows, &err_);
    (void)pawl_transaction_abort(engine_.get(), nullptr);
    check(rc, err_);
    return Text(rows);
  }

  void see_world() {
    const Text world = rows_of("select frame, gold from world");
    frame_ = int_at(world.get(), "[0].frame");
    gold_ = int_at(world.get(), "[0].gold");
    const Text rows = rows_of("select * from monster");
    pawl_cursor row{};
    while (pawl_each(rows.get(), nullptr, &row))
      monsters_.push_back({text_at(row.value, "key"),
                           text_at(row.value, "name"),
                           int_at(row.value, "hp")});
  }

  fs::path slot_file(const std::string &slot) const {
    return folder_ / (slot + ".save");
  }

  // What was saved takes the place of the game that is open.
  void load(const std::string &slot) {
    check(pawl_restore(engine_.get(), slot_file(slot).c_str(), nullptr, &err_),
          err_);
    see_world();
  }

  // A new game: what was played before is gone, with what SQLite keeps beside.
  void forget() {
    for (const char *end : {"", "-wal", "-shm"})
      fs::remove(folder_ / (std::string("played.db") + end));
  }

  fs::path folder_;
  int64_t frame_ = 0, gold_ = 0, reading_ = 0;
  std::string given_; // the key of the last gift
  std::vector<Monster> monsters_;
  pawl_error err_;
  Engine engine_; // last: closed first, while the world is still there
};

struct Wish {
  std::optional<std::string> folder, load, save;
  int64_t frames = INT64_MAX;
  bool fast = false, mods = false;
};

static std::optional<Wish> read_wish(int argc, char **argv) {
  Wish w;
  for (int i = 1; i < argc; i++) {
    const std::string_view word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--fast")
      w.fast = true;
    else if (word == "--mods")
      w.mods = true;
    else if (word == "--frames" && more)
      w.frames = std::atoll(argv[++i]);
    else if (word == "--load" && more)
      w.load = argv[++i];
    else if (word == "--save" && more)
      w.save = argv[++i];
    else if (word[0] != '-' && !w.folder)
      w.folder = word;
    else
      return std::nullopt;
  }
  return w.folder ? std::optional<Wish>(w) : std::nullopt;
}

int main(int argc, char **argv) {
  const auto w = read_wish(argc, argv);
  if (!w) {
    std::cerr << "usage: game FOLDER [--frames N] [--fast] [--load SLOT] "
                 "[--save SLOT] [--mods]\n";
    return 2;
  }
  try {
    Game game(*w->folder, w->load);
    if (!w->load)
      game.start("quest.hunt", "{\"place\":\"the hills\",\"hp\":3}");
    if (w->mods) {
      game.load_mod("mods/greedy.lua", "mod.greedy");
      game.load_mod("mods/stuck.lua", "mod.stuck");
    }
    game.play(w->frames, w->fast);
    if (w->save) game.save(*w->save);
    game.show();
  } catch (const std::exception &failure) {
    std::cerr << "game: " << failure.what() << '\n';
    return 1;
  }
  return 0;
}
