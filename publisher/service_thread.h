// The service thread: control socket, doorbell and heartbeat. It never blocks on a file.
//
// While a subscriber that may park is attached, it polls head every kDoorbellNs, or at ten times
// the duration of the last wake if that is longer. If head has moved, it rings the doorbell. After
// kIdleAfterNs without a new record, it sleeps until the publish path wakes it.
//
// Thread safety: start and close by the owner; progress() and the counters by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/control/controlled_publisher.h"
#include "bus/control/server.h"
#include "bus/ring_file.h"
#include "lapwing/thread_placement.h"
#include "os/thread_words.h"
#include "publisher/idle_sleeper.h"

namespace lapwing {

inline constexpr std::uint64_t kDoorbellNs = 50'000;
inline constexpr std::uint64_t kDoorbellRestFactor = 10;
inline constexpr std::uint64_t kHeartbeatNs = kHeartbeatIntervalNs / 2;

class ServiceThread {
 public:
  // Borrows all arguments except the options.
  ServiceThread(ServerOptions options, const RingFile& ring, ControlledPublisher& publisher,
                detail::AttentionWord& attention);
  ~ServiceThread();

  absl::Status start(const ThreadPlacement& placement = {});
  // Rings the doorbell one last time, answers pending requests, closes every connection, and joins
  // the thread.
  void close();

  const IdleSleeper& sleeper() const { return sleeper_; }
  // Call it when durable, oldest or the journal's condition has changed on page 1, or when a prune
  // is done. Pending answers depend on these.
  void progress() { sleeper_.signal(); }

  std::size_t subscriber_count() const { return static_cast<std::size_t>(subscribers_.load()); }
  std::uint64_t doorbells() const { return doorbells_.load(); }
  std::vector<SubscriberInfoFrame> subscribers() const { return lists_.subscribers(); }
  // The subscribers that the next session should expect: attached non-observers and missing ones.
  std::vector<SubscriberInfoFrame> roster() const { return lists_.roster(); }

 private:
  // Copies of the lists for other threads.
  class SubscriberLists {
   public:
    explicit SubscriberLists(std::vector<SubscriberInfoFrame> roster)
        : roster_(std::move(roster)) {}
    void set(std::vector<SubscriberInfoFrame> subscribers, std::vector<SubscriberInfoFrame> roster);
    std::vector<SubscriberInfoFrame> subscribers() const;
    std::vector<SubscriberInfoFrame> roster() const;

   private:
    mutable std::mutex mutex_;
    std::vector<SubscriberInfoFrame> subscribers_;
    std::vector<SubscriberInfoFrame> roster_;
  };

  void run();
  void answer();
  void beat(std::uint64_t now_ns);
  void ring_doorbell(std::uint64_t now_ns);
  void rest(std::uint64_t now_ns, std::uint64_t next_ns);
  void wait(std::uint64_t timeout_ns);
  void publish_list(std::uint64_t now_ns);
  void note_stalls();
  void note_journal();

  ServerOptions options_;
  const RingFile* ring_;
  RingWords* words_;
  ControlledPublisher* publisher_;
  std::unique_ptr<ControlServer> server_;
  IdleSleeper sleeper_;
  StickyFlag closing_;
  SingleWriterWord subscribers_;
  Counter doorbells_;
  SubscriberLists lists_;
  std::thread thread_;

  // Used only by the service thread.
  Sequence head_seen_ = 0;
  std::uint64_t head_moved_ns_ = 0;
  std::uint64_t next_heartbeat_ns_ = 0;
  std::uint64_t next_doorbell_ns_ = 0;
  std::uint64_t next_list_ns_ = 0;
  std::uint64_t long_stalls_ = 0;  // already reported as events
  JournalState journal_noted_ = JournalState::kGood;
  bool name_lost_ = false;
};

}  // namespace lapwing
