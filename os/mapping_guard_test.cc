#include "os/mapping_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "os/guarded_slot.h"
#include "testing/child_process.h"

namespace lapwing {
namespace {

constexpr std::size_t kBytes = 64 * 1024;

// A mapped file that was truncated to 0 bytes.
struct Truncated {
  Truncated() {
    const int fd = ::memfd_create("truncated", MFD_CLOEXEC);
    const char letter = 'x';
    if (::ftruncate(fd, kBytes) != 0 || ::pwrite(fd, &letter, 1, 0) != 1) ::_exit(2);
    begin =
        static_cast<const volatile char*>(::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0));
    if (begin[0] != letter || ::ftruncate(fd, 0) != 0) ::_exit(3);
  }
  const volatile char* begin;
};

TEST_CASE("A guarded mapping of a truncated file reads as zeros", "[mapping_guard]") {
  ChildProcess child([] {
    guard_mappings();
    const Truncated file;
    const GuardedRange range(const_cast<const char*>(file.begin), kBytes);
    return file.begin[0] == 0 && file.begin[kBytes - 1] == 0 ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("Without a guard, and after it, the read ends the process", "[mapping_guard]") {
  const bool has_ended = GENERATE(false, true);
  ChildProcess child([has_ended] {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGBUS, SIG_DFL);  // sanitizers install a handler
    guard_mappings();
    const Truncated file;
    if (has_ended) {
      const GuardedRange range(const_cast<const char*>(file.begin), kBytes);
    }
    return static_cast<int>(file.begin[0]);
  });
  CHECK(child.wait() == -SIGBUS);
}

TEST_CASE("A guard moves with its owner", "[mapping_guard]") {
  ChildProcess child([] {
    guard_mappings();
    const Truncated file;
    GuardedRange range;
    {
      GuardedRange made(const_cast<const char*>(file.begin), kBytes);
      range = std::move(made);
    }
    return static_cast<int>(file.begin[0]);
  });
  CHECK(child.wait() == 0);
}

// A word that calls a function once before it is loaded, to imitate another thread.
struct ScriptedWord {
  void store(std::uint64_t stored) { value = stored; }
  std::uint64_t load() const {
    if (before_load) std::exchange(before_load, nullptr)();
    return value;
  }
  std::uint64_t value = 0;
  mutable std::function<void()> before_load;
};

TEST_CASE("A slot that is reused while it is read yields a whole range", "[mapping_guard]") {
  GuardedSlot<ScriptedWord> slot;
  slot.hold(0x1000, 10);
  const auto reuse = [&] {
    slot.free();
    slot.hold(0x9000, 90);
  };
  SECTION("before begin") {
    slot.begin.before_load = reuse;
  }
  SECTION("between begin and bytes") {
    slot.bytes.before_load = reuse;
  }
  SECTION("between begin and bytes, and again for the first address") {
    slot.bytes.before_load = [&] {
      reuse();
      slot.use.before_load = [&] {
        slot.free();
        slot.hold(0x1000, 20);
      };
    };
    const auto [begin, bytes] = slot.range();
    CHECK(begin == 0x1000);
    CHECK(bytes == 20);
    return;
  }
  const auto [begin, bytes] = slot.range();
  CHECK(begin == 0x9000);
  CHECK(bytes == 90);
}

}  // namespace
}  // namespace lapwing
