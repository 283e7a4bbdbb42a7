// The wait set itself (lapwing/wait_set.h is its public face): its sources, the round of looks, and
// the sleep.
//
//   a look at    asks the sources, beginning behind the one that was returned last
//   everything   … and first the descriptors (one system call) and the clock, for the timers
//
// Most looks leave descriptors and timers out. Every kLooksPerRound-th look is at everything, and
// so is the last one before the set sleeps, yields, or gives nothing.
//
// The sleep. Every source prepares (os/wait_source.h), and then the set sleeps
//   on the words of its buses and on its own bell    where it watches no descriptor, or has a helper
//                                                    that rings the bell for them (descriptor_poll.h)
//   in epoll                                         where no source has a word
// until the earliest moment that a source or a timer has named, at most kWaitSetSleepNsMax.
//
// Thread safety: one thread at a time; a call that comes while another one waits is refused.
// interrupt() from any thread and from a signal handler.
// Ownership: no source; those that go leave it (WaitSourceOwner). In a forked child nothing is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/wait_set.h"
#include "os/fork.h"
#include "os/interrupt.h"
#include "os/wait_source.h"
#include "os/waiter.h"
#include "proto/busy_flag.h"
#include "wait_set/descriptor_poll.h"

namespace lapwing {

inline constexpr std::uint32_t kLooksPerRound = 64;
inline constexpr std::uint64_t kWaitSetSleepNsMax = 1'000'000'000;
// Where the kernel has no futex_waitv: between two looks at everything.
inline constexpr std::uint64_t kNoWaitvSleepNs = 1'000'000;
static_assert(kWaitSetSourcesMax + 1 == kFutexWordsMax);

class WaitSetCore final : public WaitSourceOwner {
 public:
  // Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<WaitSetCore>> make(WaitStrategy wait);
  ~WaitSetCore();
  WaitSetCore(const WaitSetCore&) = delete;
  WaitSetCore& operator=(const WaitSetCore&) = delete;

  WaitStrategy strategy() const { return wait_; }
  const ForkWatch& made() const { return fork_; }

  // `source`: null where it was moved from. `what` names it in messages.
  absl::StatusOr<SourceId> add_source(SourceKind kind, WaitSource* source, std::uint64_t token,
                                      const std::string& what);
  absl::StatusOr<SourceId> add_fd(int fd, std::uint32_t events, std::uint64_t token);
  absl::StatusOr<SourceId> add_timer(std::uint64_t at_ns, std::uint64_t every_ns,
                                     std::uint64_t token);
  Errc set_timer(SourceId timer, std::uint64_t at_ns, std::uint64_t every_ns);
  Errc remove(SourceId source);
  std::size_t size() const { return fork_.in_child() ? 0 : entries_.size(); }

  Result<Ready> wait(std::uint64_t deadline_ns);
  void interrupt() noexcept;

  void leave(WaitSource& source) noexcept override;

 private:
  struct Entry {
    SourceId id = 0;
    SourceKind kind = {};
    std::uint64_t token = 0;
    WaitSource* source = nullptr;  // null: a descriptor or a timer
    int fd = -1;                   // that is watched
    std::uint32_t events = 0;      // of a watched descriptor, as of the last look at it
    std::uint64_t due_ns = 0;      // of a timer
    std::uint64_t every_ns = 0;
    bool is_due = false;
  };
  using Entries = std::vector<Entry>;

  explicit WaitSetCore(WaitStrategy wait);
  absl::Status check_room() const;
  absl::StatusOr<SourceId> add(Entry entry, std::uint32_t events);
  absl::Status start_helper_if_needed();
  Entries::iterator find(SourceId id);
  void erase(Entries::iterator entry);
  void stop_watching(const Entry& entry);

  Result<Ready> wait_alone(std::uint64_t deadline_ns);
  bool is_round_due();
  Result<Ready> look(bool at_everything);  // kWouldBlock: none is ready
  void look_at_descriptors();
  void look_at_timers();
  static bool is_ready(const Entry& entry);
  static Ready report(Entry& entry);
  void rest(std::uint64_t deadline_ns);
  std::size_t rest_prepared(std::span<const FutexWord> words, std::uint64_t until_ns);

  const WaitStrategy wait_;
  Waiter waiter_;
  Interrupt interrupt_;
  std::unique_ptr<DescriptorPoll> descriptors_;  // borrows interrupt_

  Entries entries_;  // by id
  SourceId last_id_ = 0;
  std::size_t next_ = 0;     // of entries_: the next look begins with it
  std::size_t watched_ = 0;  // entries with a descriptor
  std::size_t timers_ = 0;
  std::uint32_t looks_left_ = 0;  // before the next look at everything
  BusyFlag waiting_;
  ForkWatch fork_{"wait set"};
};

}  // namespace lapwing
