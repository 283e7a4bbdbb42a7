#include "bus/kernel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "bus/mapping.h"
#include "bus/test_ring.h"
#include "proto/error.h"
#include "proto/shared_words.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kHour = 3'600'000'000'000;

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

TEST_CASE("Monotonic time does not go back, and wall time is of this century") {
  const std::uint64_t before = monotonic_ns();
  CHECK(monotonic_ns() >= before);
  CHECK(wall_ns() > 1'700'000'000'000'000'000);
}

TEST_CASE("A futex wait ends at once when the word has changed") {
  std::uint32_t word = 2;
  futex_wait(&word, 1, kHour);  // a wait of an hour would be a hang
  CHECK(word == 2);
}

TEST_CASE("A futex wait ends at its timeout, and not before") {
  const std::uint32_t word = 1;
  const std::uint64_t start = monotonic_ns();
  futex_wait(&word, 1, 20 * kMillisecond);
  CHECK(monotonic_ns() - start >= 20 * kMillisecond);
}

TEST_CASE("Waking a word that nobody sleeps on wakes nobody") {
  std::uint32_t word = 1;
  CHECK(futex_wake_all(&word) == 0);
}

TEST_CASE("A thread that sleeps on a read-only mapping is woken through a writable one") {
  const TestDirectory directory;
  const RingFile file = make_ring(test_spec(directory.path()));
  const RingMap map = map_ring(file.path());
  const std::uint32_t* const bell = doorbell_address(map.words());
  StickyFlag woken;
  std::thread sleeper([&] {
    futex_wait(bell, load_bell(bell), kHour);
    woken.set();
  });
  // The sleeper counts as woken only when the kernel says so: until then it may not be asleep yet.
  int woke = 0;
  while (woke == 0 && !woken.is_set()) woke = futex_wake_all(doorbell_address(file.words()));
  sleeper.join();
  CHECK(woke == 1);
}

TEST_CASE("An eventfd is readable from its signal until it is drained") {
  const UniqueFd fd = make_eventfd().value();
  CHECK_FALSE(is_readable(fd.get()));
  signal_eventfd(fd.get());
  signal_eventfd(fd.get());
  CHECK(is_readable(fd.get()));
  drain_eventfd(fd.get());
  CHECK_FALSE(is_readable(fd.get()));
  drain_eventfd(fd.get());  // does not block
  CHECK((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("A signal to an eventfd whose counter is full neither blocks nor is lost") {
  const UniqueFd fd = make_eventfd().value();
  const std::uint64_t full = UINT64_MAX - 1;
  REQUIRE(write(fd.get(), &full, sizeof full) == sizeof full);
  signal_eventfd(fd.get());
  CHECK(is_readable(fd.get()));
}

TEST_CASE("Random ids differ and are not zero") {
  const Id128 first = random_id().value();
  const Id128 second = random_id().value();
  CHECK(first != second);
  CHECK_FALSE(first.is_zero());
}

TEST_CASE("The boot id is the kernel's, without its dashes") {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::erase(text, '-');
  CHECK(boot_id().value().hex() == text);
}

TEST_CASE("The private membarrier is to be had") {
  const absl::Status status = register_membarrier_private();
  INFO(status);
  REQUIRE(status.ok());
  membarrier_private();
}

TEST_CASE("A mapping that the kernel refuses is an error that names the file") {
  const UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  const auto region = map_file(fd.get(), MapAccess::kReadOnly, 4096, "/dev/null");
  CHECK(errc_of(region.status()) == Errc::kSystem);
  CHECK_THAT(std::string(region.status().message()), Catch::Contains("4096 bytes of /dev/null"));
}

}  // namespace
}  // namespace lapwing
