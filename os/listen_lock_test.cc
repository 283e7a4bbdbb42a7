#include "os/listen_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "testing/far_deadline.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr SocketKind kLockedSocket{.name = "test socket",
                                   .listener = "listener",
                                   .place = "place",
                                   .listener_gone = Errc::kPeerGone};

bool exists(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0;
}

absl::StatusOr<UniqueFd> listen_alone(const std::string& path) {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kLockedSocket);
  if (!lock.ok()) return lock.status();
  return listen_local(path, 0600, std::nullopt, kLockedSocket);
}

Errc take_error(const std::string& path) {
  return errc_of(ListenLock::take(path, kLockedSocket).status());
}

TEST_CASE("Of many who listen at once on a stale socket exactly one gets it, and keeps it") {
  constexpr int kListeners = 4;
  constexpr int kRounds = 1'000;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  REQUIRE(listen_alone(path).ok());  // closed at once: stale
  std::barrier all(kListeners);
  std::atomic<int> listening{0};
  std::atomic<int> taken{0};
  std::atomic<int> connected{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kListeners; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        all.arrive_and_wait();
        const absl::StatusOr<UniqueFd> listener = listen_alone(path);
        if (listener.ok()) ++listening;
        if (errc_of(listener.status()) == Errc::kInUse) ++taken;
        all.arrive_and_wait();
        if (listener.ok() && connect_local(path, far_deadline(), kLockedSocket).ok()) ++connected;
        all.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(listening == kRounds);
  CHECK(connected == kRounds);
  CHECK(taken == kRounds * (kListeners - 1));
  CHECK_FALSE(exists(path + ".lock"));
}

TEST_CASE("Never two hold the lock of one path, although each removes its file") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  std::atomic<int> taken{0};
  std::atomic<int> holders{0};
  std::atomic<int> crowded{0};
  std::atomic<int> removed_meanwhile{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int attempt = 0; attempt < 5'000; ++attempt) {
        const auto lock = ListenLock::take(path, kLockedSocket);
        if (!lock.ok()) continue;
        ++taken;
        if (++holders != 1) ++crowded;
        if (!exists(path + ".lock")) ++removed_meanwhile;
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken >= 5'000);
  CHECK(crowded == 0);
  CHECK(removed_meanwhile == 0);
}

TEST_CASE("A lock file that a killed process has left is taken and removed") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  std::ofstream(path + ".lock") << "left";
  {
    const auto lock = ListenLock::take(path, kLockedSocket);
    REQUIRE(lock.ok());
    CHECK(exists(path + ".lock"));
  }
  CHECK_FALSE(exists(path + ".lock"));
}

TEST_CASE("A lock that is held is waited for, and then named in the error") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  const auto held = ListenLock::take(path, kLockedSocket);
  REQUIRE(held.ok());
  const std::uint64_t start_ns = monotonic_ns();
  const absl::Status status = ListenLock::take(path, kLockedSocket).status();
  CHECK(monotonic_ns() - start_ns >= kListenLockWaitNs);
  CHECK(errc_of(status) == Errc::kInUse);
  CHECK_THAT(std::string(status.message()), Catch::Contains(path + ".lock"));
  CHECK(exists(path + ".lock"));
}

TEST_CASE("What is not a lock file of ours is refused and left untouched") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  const std::string lock_path = path + ".lock";
  SECTION("a link") {
    REQUIRE(symlink("/nonexistent/x", lock_path.c_str()) == 0);
  }
  SECTION("a directory") {
    REQUIRE(mkdir(lock_path.c_str(), 0700) == 0);
  }
  SECTION("a fifo") {
    REQUIRE(mkfifo(lock_path.c_str(), 0600) == 0);
  }
  CHECK(take_error(path) == Errc::kNotALapwingFile);
  CHECK(exists(lock_path));
}

TEST_CASE("Another user's lock file is refused and left untouched") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/test.sock";
  std::ofstream(path + ".lock") << "";
  REQUIRE(chown((path + ".lock").c_str(), 54321, 54321) == 0);
  CHECK(take_error(path) == Errc::kNotPermitted);
  CHECK(exists(path + ".lock"));
}

TEST_CASE("A lock that cannot be made says why") {
  const TemporaryDirectory directory;
  CHECK(take_error(directory.path() + "/missing/test.sock") == Errc::kNotFound);
  CHECK(take_error(directory.path() + "/" + std::string(255, 'n')) == Errc::kPathTooLong);
}

}  // namespace
}  // namespace lapwing
