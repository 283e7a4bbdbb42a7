#include "os/exclusive_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "lapwing/error.h"
#include "testing/temporary_directory.h"
#include "testing/waiting_child.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kLongNs = 60'000'000'000;  // ends a hang

// Takes the lock in a child, and keeps it.
std::function<bool()> holds(const std::string& path) {
  return [path] {
    static absl::StatusOr<ExclusiveLock> lock = ExclusiveLock::take(path, 0);
    return lock.ok();
  };
}

}  // namespace

TEST_CASE("A second taker is refused and told who holds the lock") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kLockFileName);
  WaitingChild holder(holds(path));
  const auto refused = ExclusiveLock::take(path, 0);
  REQUIRE(errc_of(refused.status()) == Errc::kInUse);
  const std::string text(refused.status().message());
  REQUIRE(text.find(path) != std::string::npos);
  REQUIRE(text.find("process " + std::to_string(holder.pid())) != std::string::npos);
}

TEST_CASE("The lock is free once its holder is killed, and its file stays, 0600") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kLockFileName);
  WaitingChild holder(holds(path));
  holder.kill();
  const auto lock = ExclusiveLock::take(path, kLongNs);
  REQUIRE(lock.ok());
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  REQUIRE((info.st_mode & 07777) == 0600);
}

// Includes a deadline that never comes, which is beyond the clock's range.
TEST_CASE("A taker waits for a holder that goes away in time, or without end") {
  for (const std::uint64_t retry_ns : {kLongNs, ~std::uint64_t{0}}) {
    TemporaryDirectory directory;
    const std::string path = directory.file(kLockFileName);
    WaitingChild holder(holds(path));
    const pid_t killer = ::fork();
    if (killer == 0) {
      ::poll(nullptr, 0, 3 * kLockRetryIntervalMs);
      ::kill(holder.pid(), SIGKILL);
      ::_exit(0);
    }
    const auto taken = ExclusiveLock::take(path, retry_ns);
    INFO(taken.status().ToString());
    CHECK(taken.ok());
    ::waitpid(killer, nullptr, 0);
  }
}

TEST_CASE("Within one process the lock is exclusive too") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kLockFileName);
  auto first = ExclusiveLock::take(path, 0);
  REQUIRE(first.ok());
  REQUIRE(errc_of(ExclusiveLock::take(path, 0).status()) == Errc::kInUse);
  std::optional<ExclusiveLock> moved(std::move(*first));
  REQUIRE(errc_of(ExclusiveLock::take(path, 0).status()) == Errc::kInUse);
  moved.reset();
  REQUIRE(ExclusiveLock::take(path, 0).ok());
}

TEST_CASE("A duplicate of the descriptor keeps the lock held") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kLockFileName);
  int duplicate = -1;
  {
    const auto lock = ExclusiveLock::take(path, 0);
    REQUIRE(lock.ok());
    duplicate = ::dup(lock->fd());
  }
  REQUIRE(errc_of(ExclusiveLock::take(path, 0).status()) == Errc::kInUse);
  ::close(duplicate);
  REQUIRE(ExclusiveLock::take(path, 0).ok());
}

TEST_CASE("A link, a directory or a pipe in the lock's place is not opened") {
  TemporaryDirectory directory;
  std::filesystem::create_symlink(directory.file("elsewhere"), directory.file("link"));
  REQUIRE(errc_of(ExclusiveLock::take(directory.file("link"), 0).status()) ==
          Errc::kNotALapwingFile);
  REQUIRE_FALSE(std::filesystem::exists(directory.file("elsewhere")));
  REQUIRE(errc_of(ExclusiveLock::take(directory.path(), 0).status()) == Errc::kNotALapwingFile);
  REQUIRE(::mkfifo(directory.file("pipe").c_str(), 0600) == 0);
  REQUIRE(errc_of(ExclusiveLock::take(directory.file("pipe"), 0).status()) ==
          Errc::kNotALapwingFile);
  REQUIRE(errc_of(ExclusiveLock::take(directory.file("no/where"), 0).status()) == Errc::kNotFound);
}

}  // namespace lapwing
