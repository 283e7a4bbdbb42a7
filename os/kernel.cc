#include "os/kernel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

#include "lapwing/error.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

int membarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::uint64_t monotonic_ns() {
  return now_ns(CLOCK_MONOTONIC);
}
std::uint64_t wall_ns() {
  return now_ns(CLOCK_REALTIME);
}

void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns) {
  const timespec timeout = timespec_of(timeout_ns);
  // Not FUTEX_PRIVATE, because the waker is another process.
  syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

std::optional<std::size_t> futex_wait_any([[maybe_unused]] std::span<const FutexWord> words,
                                          [[maybe_unused]] std::uint64_t timeout_ns) {
#if defined(SYS_futex_waitv)
  static_assert(kFutexWordsMax == FUTEX_WAITV_MAX);
  futex_waitv waiters[kFutexWordsMax];
  std::size_t count = 0;
  for (const FutexWord& word : words.first(std::min(words.size(), kFutexWordsMax))) {
    futex_waitv& waiter = waiters[count++];
    waiter = {};
    waiter.val = word.expected;
    waiter.uaddr = reinterpret_cast<std::uintptr_t>(word.word);
    waiter.flags = FUTEX_32;
  }
  const timespec until = timespec_of(after_ns(monotonic_ns(), timeout_ns));
  const long woken = syscall(SYS_futex_waitv, waiters, count, 0, &until, CLOCK_MONOTONIC);
  if (woken >= 0) return static_cast<std::size_t>(woken);
  if (errno == ENOSYS || errno == EPERM) return std::nullopt;
  return words.size();
#else
  return std::nullopt;
#endif
}

int futex_wake_all(std::uint32_t* word) {
  const long woken = syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

void wait_readable(int fd, std::uint64_t timeout_ns) {
  const timespec timeout = timespec_of(timeout_ns);
  pollfd entry{fd, POLLIN, 0};
  ppoll(&entry, 1, &timeout, nullptr);
}

void wait_any_readable(std::span<pollfd> entries, std::uint64_t until_ns) {
  const std::uint64_t now = monotonic_ns();
  const timespec timeout = timespec_of(until_ns > now ? until_ns - now : 0);
  ppoll(entries.data(), entries.size(), &timeout, nullptr);
}

absl::Status register_membarrier_private() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0) return absl::OkStatus();
  return make_error(Errc::kUnsupported,
                    "membarrier(PRIVATE_EXPEDITED) is refused by this kernel or container; Lapwing "
                    "needs Linux 4.14 or newer and a seccomp profile that allows membarrier");
}

void membarrier_private() {
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

absl::Status register_membarrier_global() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0) return absl::OkStatus();
  return make_error(Errc::kUnsupported,
                    "membarrier(GLOBAL_EXPEDITED) is refused by this kernel or container; it needs "
                    "Linux 4.16 or newer and a seccomp profile that allows membarrier");
}

void membarrier_global() {
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

absl::StatusOr<UniqueFd> make_eventfd() {
  UniqueFd fd = UniqueFd::opened_by([] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!fd.valid()) return make_system_error(errno, "making an eventfd");
  return fd;
}

void signal_eventfd(int fd) {
  const std::uint64_t one = 1;
  // If the counter is full (EAGAIN), the eventfd is already readable, which is enough.
  while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void drain_eventfd(int fd) {
  std::uint64_t count = 0;
  while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<Id128> random_id() {
  Id128 id;
  for (;;) {
    const ssize_t got = getrandom(id.bytes.data(), id.bytes.size(), 0);
    if (got == static_cast<ssize_t>(id.bytes.size())) return id;
    if (got < 0 && errno != EINTR) return make_system_error(errno, "getrandom for a new id");
  }
}

absl::StatusOr<Id128> boot_id() {
  constexpr char kPath[] = "/proc/sys/kernel/random/boot_id";
  const UniqueFd fd = UniqueFd::opened_by([&] { return open(kPath, O_RDONLY | O_CLOEXEC); });
  char text[64] = {};
  const ssize_t got = fd.valid() ? read(fd.get(), text, sizeof text - 1) : -1;
  if (got < 0) return make_system_error(errno, absl::StrCat("reading ", kPath));
  Id128 id;
  std::size_t digits = 0;
  for (ssize_t i = 0; i < got && digits < 32; ++i) {
    const int value = hex_digit(text[i]);
    if (value < 0) continue;  // the dashes
    std::uint8_t& byte = id.bytes[digits / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
    ++digits;
  }
  if (digits == 32) return id;
  return make_error(Errc::kSystem, absl::StrCat(kPath, " does not hold a boot id"));
}

}  // namespace lapwing
