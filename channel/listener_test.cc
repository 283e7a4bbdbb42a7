// Tests how a listener handles the path, incorrect peers, and its name.

#include "lapwing/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "channel/descriptors.h"
#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"
#include "testing/child_process.h"
#include "testing/other_user.h"
#include "testing/raw_channel_peer.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

std::string path_in(const TemporaryDirectory& directory) {
  return directory.file("channel.sock");
}

// The properties of a name that a refused listener must not change.
auto looked_at(const std::string& path) {
  struct stat found{};
  REQUIRE(lstat(path.c_str(), &found) == 0);
  const auto ns = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  std::string content;
  if (S_ISREG(found.st_mode)) {
    std::ifstream file(path);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (S_ISLNK(found.st_mode)) content = std::filesystem::read_symlink(path).string();
  return std::tuple(found.st_dev, found.st_ino, found.st_mode, found.st_uid, ns(found.st_mtim),
                    ns(found.st_ctim), content);
}

Errc listen_error(const std::string& path) {
  return errc_of(ChannelListener::listen(path).status());
}

// Leaves a name without a listener.
void leave_stale_socket(const std::string& path) {
  REQUIRE(listen_local(path, 0600, {}, kChannelSocket).ok());
}

}  // namespace

TEST_CASE("A file at a listener's path that is not a stale socket is refused and unchanged") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  const std::string target = directory.file("target");
  std::optional<ChannelListener> live;
  Errc expected = Errc::kNotALapwingFile;

  SECTION("a file") {
    std::ofstream(path) << "precious";
  }
  SECTION("an empty file") {
    std::ofstream{path};
  }
  SECTION("a link to a file") {
    std::ofstream(target) << "precious";
    REQUIRE(symlink(target.c_str(), path.c_str()) == 0);
  }
  SECTION("a link to nothing") {
    REQUIRE(symlink("/nonexistent/x", path.c_str()) == 0);
  }
  SECTION("a link to a stale socket") {
    leave_stale_socket(target);
    REQUIRE(symlink("target", path.c_str()) == 0);
  }
  SECTION("a link to a live socket") {
    live.emplace(*ChannelListener::listen(target));
    REQUIRE(symlink("target", path.c_str()) == 0);
  }
  SECTION("a directory") {
    REQUIRE(mkdir(path.c_str(), 0700) == 0);
  }
  SECTION("a fifo") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  }
  SECTION("a live socket") {
    live.emplace(*ChannelListener::listen(path));
    expected = Errc::kInUse;
  }

  const auto before = looked_at(path);
  const bool has_target = access(target.c_str(), F_OK) == 0;
  const auto target_before = looked_at(has_target ? target : path);
  const absl::Status status = ChannelListener::listen(path).status();
  CHECK(errc_of(status) == expected);
  CHECK(says(status, path));
  CHECK(says(status, "choose another path"));
  CHECK(looked_at(path) == before);
  CHECK(looked_at(has_target ? target : path) == target_before);
  if (live) check_next_is_served(*live);
}

TEST_CASE("A socket of another kind is not taken for a stale one, dead or alive") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  const UniqueFd stream(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(bind(stream.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(stream.get(), 1) == 0);
  const auto before = looked_at(path);
  CHECK(listen_error(path) == Errc::kNotALapwingFile);
  CHECK(looked_at(path) == before);
}

TEST_CASE("Another user's stale socket is refused and unchanged, one's own is replaced") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  leave_stale_socket(path);
  if (geteuid() == 0) {
    REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
    REQUIRE(chmod(path.c_str(), 0777) == 0);
    const auto before = looked_at(path);
    CHECK(run_as(kTestUser, kTestGroup, [&] {
            const absl::Status status = ChannelListener::listen(path).status();
            if (errc_of(status) != Errc::kNotPermitted) return __LINE__;
            if (!says(status, "stale socket of user 0")) return __LINE__;
            return says(status, "let that user remove it") ? 0 : __LINE__;
          }) == 0);
    CHECK(looked_at(path) == before);
  } else {
    WARN("SKIPPED: another user's stale socket; it takes root to become another user");
  }
  const auto stale = looked_at(path);
  auto listener = ChannelListener::listen(path);
  REQUIRE(listener.ok());
  CHECK(looked_at(path) != stale);
  check_next_is_served(*listener);
}

TEST_CASE("A listener removes its own name when it ends, and no other") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  std::optional<ChannelListener> listener(*ChannelListener::listen(path));

  SECTION("its own") {
    listener.reset();
    CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(path)));
  }
  SECTION("somebody moved it and put a file there") {
    REQUIRE(rename(path.c_str(), directory.file("moved").c_str()) == 0);
    std::ofstream(path) << "precious";
    const auto before = looked_at(path);
    listener.reset();
    CHECK(looked_at(path) == before);
  }
  SECTION("somebody moved it and put a link to it there") {
    REQUIRE(rename(path.c_str(), directory.file("moved").c_str()) == 0);
    REQUIRE(symlink("moved", path.c_str()) == 0);
    const auto before = looked_at(path);
    listener.reset();
    CHECK(looked_at(path) == before);
  }
  SECTION("somebody removed it and another listener has the path") {
    REQUIRE(unlink(path.c_str()) == 0);
    auto other = ChannelListener::listen(path);
    REQUIRE(other.ok());
    const auto before = looked_at(path);
    listener.reset();
    CHECK(looked_at(path) == before);
    check_next_is_served(*other);
  }
}

namespace {

// The shared data of two racing processes. Only the first evaluates, while the second waits for it.
struct Race {
  struct Racer {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    Errc outcome{};
  };
  Racer racers[2];
  std::atomic<std::uint64_t> arrived{0};
  std::atomic<bool> enough{false};
  std::uint64_t won[2]{};
  std::uint64_t overlapped = 0;
  Complaint complaint{};

  // Waits until both have called this for the `count`-th time.
  void meet(std::uint64_t count) {
    arrived.fetch_add(1);
    while (arrived.load() < 2 * count) std::this_thread::yield();
  }
};

bool judge(Race& race, const std::string& path) {
  const auto& [first, second] = race.racers;
  const bool first_won = first.outcome == Errc::kOk;
  ++race.won[first_won ? 0 : 1];
  if (first.begin_ns < second.end_ns && second.begin_ns < first.end_ns) ++race.overlapped;
  // The name at the path must be the winner's.
  return (first_won ? second : first).outcome == Errc::kInUse &&
         (first_won ? first : second).outcome == Errc::kOk &&
         connect_local(path, soon().monotonic_ns(), kChannelSocket).ok();
}

// Runs at least this many rounds, and until both have won and their attempts have overlapped. On a
// busy machine that may take a while.
int run_race(Race& race, std::size_t self, const std::string& path, std::uint64_t rounds) {
  run_on_processor(self);  // otherwise they would run one after the other
  const Deadline deadline = soon();
  for (std::uint64_t round = 1; !race.enough; ++round) {
    if (self == 0) std::filesystem::remove(path);
    if (self == 0 && round % 2 == 0 && !listen_local(path, 0600, {}, kChannelSocket).ok()) return 2;
    race.meet(3 * round - 2);
    // Neither is always first.
    const std::uint64_t start_ns = monotonic_ns() + (self == round / 2 % 2 ? round % 8 * 1000 : 0);
    while (monotonic_ns() < start_ns) {
    }
    Race::Racer& own = race.racers[self];
    own.begin_ns = monotonic_ns();
    const auto listener = ChannelListener::listen(path);
    own.end_ns = monotonic_ns();
    own.outcome = errc_of(listener.status());
    race.meet(3 * round - 1);
    if (self == 0 && !judge(race, path)) {
      return race.complaint.say("race " + std::to_string(round) + ": " +
                                name_of(race.racers[0].outcome) + " and " +
                                name_of(race.racers[1].outcome));
    }
    const bool has_all = race.overlapped > 0 && race.won[0] > 0 && race.won[1] > 0;
    if (self == 0) race.enough = round >= rounds && (has_all || deadline.has_passed());
    race.meet(3 * round);
  }
  return 0;
}

}  // namespace

TEST_CASE("An accept that expects another user than its listener is refused") {
  const TemporaryDirectory directory;
  const std::optional<uid_t> listens_for = GENERATE(as<std::optional<uid_t>>{}, std::nullopt, 7);
  auto listener = ChannelListener::listen(path_in(directory), listens_for);
  REQUIRE(listener.ok());
  ChannelOptions options = kSmall;
  options.expected_peer_uid = 8;
  const absl::Status refused =
      ChannelConsumer::accept(*listener, options, Deadline::now()).status();
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(says(refused, "expected_peer_uid of the channel differs"));
  CHECK(says(refused, "the expected_peer_uid of its listener"));
  options.expected_peer_uid = listens_for;
  CHECK(errc_of(ChannelConsumer::accept(*listener, options, Deadline::now()).status()) ==
        Errc::kWouldBlock);
}

TEST_CASE("Of two listeners that start at once exactly one has the path") {
  constexpr std::uint64_t kRaces = 200;
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  const Shared<Race> race;
  ChildProcess first([&] { return run_race(*race, 0, path, kRaces); });
  ChildProcess second([&] { return run_race(*race, 1, path, kRaces); });
  const int first_code = first.wait();
  INFO(race->complaint.text);
  REQUIRE(first_code == 0);
  CHECK(second.wait() == 0);
  std::printf("%llu races, in %llu both at it at once: %llu and %llu won\n",
              static_cast<unsigned long long>(race->won[0] + race->won[1]),
              static_cast<unsigned long long>(race->overlapped),
              static_cast<unsigned long long>(race->won[0]),
              static_cast<unsigned long long>(race->won[1]));
  CHECK(race->overlapped > 0);
  CHECK(race->won[0] > 0);
  CHECK(race->won[1] > 0);
}

}  // namespace lapwing
