#include "os/fork.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lapwing/error.h"
#include "os/exclusive_lock.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/unique_fd.h"
#include "testing/child_process.h"
#include "testing/process_descriptors.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// Descriptors of each kind of owner.
struct Descriptors {
  explicit Descriptors(const TemporaryDirectory& directory)
      : lock(ExclusiveLock::take(directory.file("lock"), 0)) {
    REQUIRE(event.ok());
    REQUIRE(epoll.valid());
    REQUIRE(lock.ok());
    disk.anchor(directory.path());
    const auto opened = disk.open(directory.file("file"), {.mode = OpenMode::kCreate});
    REQUIRE(opened.ok());
    file = OpenFile(disk, *opened);
  }

  absl::StatusOr<UniqueFd> event = make_eventfd();
  UniqueFd epoll = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  absl::StatusOr<ExclusiveLock> lock;
  PosixDisk disk;
  OpenFile file;
};

// Counts the forks of which this process is a child.
struct Watched {
  explicit Watched(int& forks) : calls(forks), watch(*this, "thing") {}
  void on_child() noexcept { ++calls; }

  int& calls;
  ForkWatch watch;
};

TEST_CASE("A forked child has no descriptor that the library owned") {
  const TemporaryDirectory directory;
  const std::set<int> before = descriptor_numbers();
  const Descriptors held(directory);
  REQUIRE(descriptor_numbers().size() > before.size() + 3);
  ChildProcess child([&] { return is_subset(descriptor_numbers(), before) ? 0 : 1; });
  CHECK(child.wait() == 0);
  CHECK(held.event->valid());
  CHECK(fcntl(held.file.get(), F_GETFD) >= 0);
}

TEST_CASE("A descriptor that was released belongs to a forked child, too") {
  absl::StatusOr<UniqueFd> event = make_eventfd();
  REQUIRE(event.ok());
  const int released = event->release();
  ChildProcess child([&] { return fcntl(released, F_GETFD) >= 0 ? 0 : 1; });
  CHECK(child.wait() == 0);
  close(released);
}

TEST_CASE("What a forked child opens is not closed by an owner that its parent made") {
  const TemporaryDirectory directory;
  std::optional<Descriptors> held(directory);
  const std::set<int> parents = descriptor_numbers();
  ChildProcess child([&] {
    std::vector<UniqueFd> own;
    while (own.size() < parents.size()) {
      own.push_back(UniqueFd::opened_by([] { return open("/dev/null", O_RDONLY | O_CLOEXEC); }));
    }
    const std::set<int> all = descriptor_numbers();
    if (!is_subset(parents, all)) return 1;  // a number was not reused
    if (held->event->valid() || held->event->get() != -1) return 2;
    held.reset();
    return descriptor_numbers() == all ? 0 : 3;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("A lock ends with the process that took it, although a child that it forked lives") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("lock");
  int ready[2];
  REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
  const Shared<std::atomic<pid_t>> worker;
  ChildProcess holder([&] {
    const auto lock = ExclusiveLock::take(path, 0);
    if (!lock.ok()) return 1;
    const pid_t forked = fork();
    if (forked == 0) {
      prctl(PR_SET_PDEATHSIG, 0);
      if (write(ready[1], "w", 1) != 1) return 2;
      for (;;) pause();
    }
    worker->store(forked);
    if (write(ready[1], "h", 1) != 1) return 2;
    for (;;) pause();
  });
  char said[2];
  REQUIRE(read(ready[0], said, 1) == 1);
  REQUIRE(read(ready[0], said + 1, 1) == 1);
  CHECK(errc_of(ExclusiveLock::take(path, 0).status()) == Errc::kInUse);
  holder.send(SIGKILL);
  CHECK(holder.wait() == -SIGKILL);
  CHECK(ExclusiveLock::take(path, 0).ok());
  REQUIRE(kill(worker->load(), 0) == 0);
  kill(worker->load(), SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("A watch calls its object in the child, again in the child's child, and never here") {
  int calls = 0;
  const Watched watched(calls);
  const ForkMark mark;
  ChildProcess child([&] {
    if (calls != 1 || !mark.in_child() || !watched.watch.in_child()) return 1;
    if (errc_of(watched.watch.error()) != Errc::kForked) return 2;
    int own_calls = 0;
    const Watched own(own_calls);
    if (own_calls != 0 || own.watch.in_child()) return 3;
    ChildProcess grandchild([&] {
      return calls == 2 && own_calls == 1 && own.watch.in_child() && mark.in_child() ? 0 : 4;
    });
    return grandchild.wait();
  });
  CHECK(child.wait() == 0);
  CHECK(calls == 0);
  CHECK_FALSE(mark.in_child());
}

TEST_CASE("A watch that has gone is not called") {
  int calls[3] = {};
  const Watched first(calls[0]);
  std::optional<Watched> second(std::in_place, calls[1]);
  const Watched third(calls[2]);
  second.reset();
  ChildProcess child([&] { return calls[0] == 1 && calls[1] == 0 && calls[2] == 1 ? 0 : 1; });
  CHECK(child.wait() == 0);
}

TEST_CASE("No fork comes between a descriptor and its owner") {
  const std::set<int> before = descriptor_numbers();
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> opened = 0;
  std::thread opener([&] {
    while (!stop) {
      const UniqueFd fd = UniqueFd::opened_by([] { return open("/dev/null", O_RDONLY); });
      opened += fd.valid() ? 1 : 0;
    }
  });
  for (int forks = 0; forks < 100; ++forks) {
    const std::uint64_t seen = opened;
    while (opened == seen) std::this_thread::yield();
    ChildProcess child([&] { return is_subset(descriptor_numbers(), before) ? 0 : 1; });
    CHECK(child.wait() == 0);
  }
  stop = true;
  opener.join();
}

TEST_CASE("A program that is executed has no descriptor that the library owned") {
  const TemporaryDirectory directory;
  const std::string before = descriptors_of_program();
  REQUIRE_FALSE(before.empty());
  const Descriptors held(directory);
  CHECK(descriptors_of_program() == before);
}

}  // namespace
}  // namespace lapwing
