// The file thread: runs the archiver, updates the journal words on page 1, and opens the gate.
//
// It polls head every kLookNs, or every eighth of a lap if that is shorter. When idle, it sleeps
// until the publish path or a request wakes it. A sync may take long, so nothing that must be
// prompt runs on this thread.
//
// Thread safety: start and stop by the owner; request_flush by the thread that its Asker names;
// request_prune and prune_result by the service thread; shed by the publishing thread.
// `on_progress` is called on the file thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "bus/ring_file.h"
#include "lapwing/error.h"
#include "lapwing/log.h"
#include "lapwing/thread_placement.h"
#include "os/thread_words.h"
#include "publisher/idle_sleeper.h"
#include "publisher/journal_gate.h"
#include "publisher/journal_requests.h"
#include "snapshot/archive/archiver.h"

namespace lapwing {

inline constexpr std::uint64_t kLookNs = 200'000;
inline constexpr std::uint64_t kIdleAfterNs = 10'000'000;  // without a new record
inline constexpr std::uint64_t kSleepNsMax = 1'000'000'000;

// Measures how fast head moves and how long it has been still.
class HeadWatch {
 public:
  explicit HeadWatch(Sequence head) : head_(head) {}

  void look(Sequence head, std::uint64_t now_ns, std::uint64_t capacity);
  // Time until the next poll: an eighth of a lap at the rate since the last poll, at most kLookNs.
  std::uint64_t interval_ns() const { return interval_ns_; }
  bool is_idle(std::uint64_t now_ns) const { return now_ns - moved_ns_ >= kIdleAfterNs; }

 private:
  Sequence head_;
  std::uint64_t moved_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t interval_ns_ = kLookNs;
};

class FileThread {
 public:
  using Asker = JournalRequests::Asker;

  struct Hooks {
    // Called when durable, oldest or the journal's condition has changed, or a prune is done.
    std::function<void()> on_progress;
    // Faults in a part of the ring. Returns false when the whole ring is done. Called on each
    // iteration until that point.
    std::function<bool()> fill_ring;
    // Called on each iteration, at least once a second. It may block on files.
    std::function<void(std::uint64_t now_ns)> on_turn;
    LogHook log;
  };

  // Borrows the words, the gate and the attention word.
  FileThread(std::unique_ptr<Archiver> archiver, RingWords& words, std::uint64_t capacity,
             bool stop_on_failure, JournalGate& gate, detail::AttentionWord& attention,
             Hooks hooks);
  ~FileThread();

  absl::Status start(const ThreadPlacement& placement = {});
  // Joins the thread, archives everything up to head and appends `end`. The publishing thread must
  // not publish during the call. Idempotent. Returns the failure if the journal has failed.
  absl::Status close();

  const IdleSleeper& sleeper() const { return sleeper_; }

  void request_flush(Asker asker, Sequence through);
  // One request at a time: the next is allowed only after prune_result() has returned a result.
  void request_prune(Sequence below);
  // The result of the last prune: kOk once its files are removed and page 1 shows the new oldest,
  // kJournalFailed, or kClosed. nullopt while the prune is running.
  std::optional<Errc> prune_result() const;
  void shed();
  // The journal's first failure, or ok. Valid once the condition is kFailed.
  absl::Status failure() const { return archiver_->failure(); }
  // Valid after close(). True if `sessions` records how the session ended.
  bool end_recorded() const { return archiver_->end_recorded(); }

 private:
  void run();
  void take_requests();
  void tell();
  void tell_condition(const JournalCondition& condition);
  void tell_prune();
  void tell_counts();
  void warn_of_lag(Sequence head);
  void rest(Sequence head, std::uint64_t next_ns);

  std::unique_ptr<Archiver> archiver_;
  RingWords* words_;
  std::uint64_t capacity_;
  bool stop_on_failure_;
  Hooks hooks_;

  JournalGate& gate_;
  IdleSleeper sleeper_;
  JournalRequests requests_;
  StickyFlag closing_;
  std::thread thread_;
  absl::Status closed_;

  // Used only by the file thread.
  bool filling_ = true;
  HeadWatch head_watch_;
  std::uint64_t warned_ns_ = 0;
  Sequence durable_told_ = 0;
  Sequence oldest_told_ = 0;
  std::uint64_t syncs_told_ = 0;
  JournalState state_told_ = JournalState::kGood;
};

}  // namespace lapwing
