// One bus, watched: the words of its ring are read and its head noted ten times a second; its publisher
// is asked over one connection, which is kept, and not more often than every kAskNs: a client that asks
// all the time is dropped (kFramesPerSecondMax), and each drop is one of the events that are kept.
//
// A publisher that ends is not waited for: its ring stays open and contains what it contained, and every
// kReattachNs the bus directory is asked for the next one.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "bus/open_ring.h"
#include "bus/ring_map.h"
#include "monitor/bus_event.h"
#include "monitor/bus_status.h"
#include "monitor/checkpoint_status.h"
#include "monitor/head_history.h"
#include "monitor/latency_window.h"
#include "monitor/publisher_state.h"
#include "snapshot/bus_announcement.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

inline constexpr std::uint64_t kReattachNs = 1'000'000'000;
inline constexpr std::uint64_t kAskNs = 50'000'000;  // between two questions, at least
// Until a publisher that did not answer is asked again: each time costs kPublisherAnswerNs.
inline constexpr std::uint64_t kUnansweredNs = 10'000'000'000;
inline constexpr std::uint64_t kRateWindowNs = 1'000'000'000;
inline constexpr std::uint64_t kCheckpointsNs = 5'000'000'000;  // between two looks at their files

inline constexpr std::uint64_t kJournalNs = 10'000'000'000;   // between two looks at its files
inline constexpr std::uint64_t kFarBehindNs = 5'000'000'000;  // a delay that needs a person

struct SubscriberReading {
  SubscriberStatus status;
  // How long the record after its position has been published; 0 where there is none. Where that was
  // before the bus was watched it is longer than this, and `delay_is_longer` says so.
  std::uint64_t delay_ns = 0;
  bool delay_is_longer = false;
  double lag_rate = 0;  // records a second by which its lag has grown since it was last asked for
  std::optional<RecentLatency> recent_latency =
      {};  // nullopt: it does not measure, or has just begun

  // While it joins it reads old records, and is not late.
  bool is_far_behind() const {
    return delay_ns > kFarBehindNs && status.state != ClientState::kJoining;
  }
  bool needs_person() const {
    return !status.observes && (status.is_missing() || status.is_stopped() || status.is_silent() ||
                                is_far_behind() || status.lost > 0);
  }
};

struct BusReading {
  std::string directory;
  std::string name;
  // The next four: of a MachineMonitor.
  std::string label = {};  // unique on the machine (bus_labels.h)
  std::string user = {};   // owner: name, or number if it has no name
  uid_t uid = 0;
  std::optional<BusAnnouncement> announcement = {};  // nullopt: it was named
  std::string schema;                                // and the next two: what bus.json says
  std::string journal_writer;
  std::uint64_t capacity = 0;                      // slots
  absl::StatusOr<RingStatus> ring;                 // kNotFound: the bus is closed
  PublisherState state = PublisherState::kClosed;  // by `ring`
  double rate = 0;                                 // records a second
  // Or why nothing is known: the publisher is not running, or did not answer.
  absl::StatusOr<std::vector<SubscriberReading>> subscribers;
  absl::StatusOr<JournalFacts> journal;  // read every kJournalNs
  std::uint64_t clients_refused = 0;
  std::uint64_t clients_dropped = 0;
  std::array<std::uint64_t, kDropReasons> clients_by_reason{};  // as of PublisherStatus
  std::vector<CheckpointStatus> checkpoints;                    // read every kCheckpointsNs
  std::vector<BusEvent> events;  // since the bus is watched; keep_event() says which

  // Its publisher runs and could not be asked: nothing is known of its subscribers.
  bool is_unanswered() const {
    return ring.ok() && state == PublisherState::kRunning && !subscribers.ok();
  }
  // As of BusMonitor.
  bool is_settled() const {
    return !ring.ok() || state != PublisherState::kRunning || ring->is_heartbeat_age_known;
  }
};

// A log of sessions that is larger is not read of a user that is not trusted.
inline constexpr std::uint64_t kOtherSessionsBytesMax = 64 * 1024 * 1024;

// What is read of a bus.
enum class BusParts {
  kAll = 1,
  kRing = 2,  // neither its publisher is asked, nor are journal and checkpoints read
};

class BusMonitor {
 public:
  // `is_trusted`: the bus belongs to this user or root.
  explicit BusMonitor(std::string directory, bool is_trusted = true,
                      BusParts parts = BusParts::kAll)
      : directory_(std::move(directory)), is_trusted_(is_trusted), parts_(parts) {}

  const std::string& directory() const { return directory_; }
  // Notes where head is. Reads a word of memory; every kReattachNs at most also files.
  void sample(std::uint64_t now_ns);
  // Samples, and asks the publisher, who is waited for kPublisherAnswerNs at most; within kAskNs its last
  // answer stands.
  BusReading read(std::uint64_t now_ns);
  // False while a heartbeat of another clock may still prove that the publisher runs.
  bool is_settled();

 private:
  struct Lag {
    std::uint64_t time_ns;
    std::uint64_t records;
  };
  struct Answer {  // of the publisher
    std::vector<SubscriberReading> subscribers;
    std::uint64_t clients_refused;
    std::uint64_t clients_dropped;
    std::array<std::uint64_t, kDropReasons> clients_by_reason;
  };
  using ClientId = std::pair<std::uint32_t, std::uint64_t>;  // pid, time of connecting

  void attach(std::uint64_t now_ns);
  void read_words();
  bool is_published() const;
  absl::StatusOr<RingStatus> ring_status();
  void read_journal(std::uint64_t now_ns);
  absl::StatusOr<Answer> ask(Sequence head, std::uint64_t now_ns);
  void ask_events(std::uint64_t deadline_ns);
  void list_checkpoints(std::uint64_t now_ns);
  SubscriberReading reading_of(SubscriberStatus status, std::uint64_t now_ns);
  void measure_delay(SubscriberReading& reading, std::uint64_t now_ns) const;

  std::string directory_;
  bool is_trusted_;
  BusParts parts_;
  BusDescription description_;  // as it was last read
  absl::StatusOr<JournalFacts> journal_;
  std::uint64_t journal_again_ns_ = 0;
  absl::Status why_no_ring_;
  std::uint64_t attach_again_ns_ = 0;
  std::optional<OpenRing> ring_;
  std::optional<RingWordsCopy> words_;
  std::optional<HeartbeatWatch> heartbeat_;
  HeadHistory heads_;
  std::optional<ControlClient> client_;
  absl::StatusOr<Answer> answer_;
  std::uint64_t ask_again_ns_ = 0;
  std::vector<CheckpointStatus> checkpoints_;
  std::uint64_t list_again_ns_ = 0;
  std::deque<BusEvent> events_;
  std::uint64_t newest_event_ = 0;     // of the session
  std::map<ClientId, Lag> lags_;       // of the last reading
  std::map<ClientId, Lag> next_lags_;  // of the one under way
  std::map<ClientId, LatencyWindow> latencies_;
};

}  // namespace lapwing
