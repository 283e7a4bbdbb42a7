// Watches one bus. Reads its words in shared memory and records the head ten times a second.
// Queries its publisher at most every kAskNs, over one connection that is kept open. The publisher
// drops a client that sends more than kFramesPerSecondMax, and each drop displaces one of the
// events that the publisher keeps.
//
// When a publisher ends, its ring stays open. The bus directory is checked for the next ring every
// kReattachNs.
//
// Thread safety: one thread.
#pragma once

#include <sys/types.h>

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
#include "lapwing/error.h"
#include "monitor/bus_event.h"
#include "monitor/checkpoint_status.h"
#include "monitor/head_history.h"
#include "monitor/journal_status.h"
#include "monitor/latency_window.h"
#include "monitor/publisher_status.h"
#include "monitor/ring_status.h"
#include "os/kernel.h"
#include "snapshot/bus_announcement.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

inline constexpr std::uint64_t kReattachNs = 1'000'000'000;
inline constexpr std::uint64_t kAskNs = 50'000'000;  // minimum time between two queries
// Pause after an unanswered query, because each one takes kPublisherAnswerNs.
inline constexpr std::uint64_t kUnansweredNs = 10'000'000'000;
inline constexpr std::uint64_t kRateWindowNs = 1'000'000'000;
inline constexpr std::uint64_t kCheckpointsNs = 5'000'000'000;  // between checks of their files
inline constexpr std::uint64_t kJournalNs = 10'000'000'000;     // between reads of its files
inline constexpr std::uint64_t kSettleNsMax = 2'000'000'000;
inline constexpr std::uint64_t kSettlePauseNs = 50'000'000;

struct BusReading {
  std::string directory;
  // MachineMonitor sets the next four.
  std::string label = {};  // unique on the machine (bus_labels.h)
  std::string user = {};   // owner's name, or number if there is no name
  uid_t uid = 0;
  std::optional<BusAnnouncement> announcement = {};  // nullopt: the bus was named by the user
  BusDescription description;       // last contents of bus.json; no name: not readable yet
  absl::StatusOr<RingStatus> ring;  // kNotFound: the bus is closed
  double rate = 0;                  // records per second
  // If nothing is known, the reason: the publisher is not running or did not answer.
  absl::StatusOr<PublisherStatus> publisher;
  absl::StatusOr<JournalFacts> journal;       // read every kJournalNs
  std::vector<CheckpointStatus> checkpoints;  // read every kCheckpointsNs
  std::vector<EventInfoFrame> events;  // since the watch began; keep_event() decides which are kept

  PublisherState state() const {
    return ring.ok() ? ring->publisher_state() : PublisherState::kClosed;
  }
  // The name of the state, or "unreadable".
  const char* state_text() const { return ring.ok() ? name_of(state()) : "unreadable"; }
  bool runs() const { return state() == PublisherState::kRunning; }
  bool is_closed() const { return errc_of(ring.status()) == Errc::kNotFound; }
  // The publisher runs but could not be queried, so nothing is known about its subscribers.
  bool is_unanswered() const { return runs() && !publisher.ok(); }
  bool is_settled() const { return !ring.ok() || ring->is_settled(); }
};

// A larger session log is not read if its user is not trusted.
inline constexpr std::uint64_t kOtherSessionsBytesMax = 64 * 1024 * 1024;

// The parts of a bus to read.
enum class BusParts {
  kAll = 1,
  kRing = 2,
  kPublisher = 3,  // the ring, and the publisher's answer, whatever the ring shows
};

class BusMonitor {
 public:
  // `is_trusted`: the bus belongs to this user or to root.
  explicit BusMonitor(std::string directory, bool is_trusted = true,
                      BusParts parts = BusParts::kAll)
      : directory_(std::move(directory)), is_trusted_(is_trusted), parts_(parts) {}

  // Records the head. Reads one word of memory, and also files, at most every kReattachNs.
  void sample(std::uint64_t now_ns);
  // Samples and queries the publisher, which may take at most kPublisherAnswerNs. Within kAskNs of
  // the last query, returns the last answer again.
  BusReading read(std::uint64_t now_ns);
  // False while a heartbeat by another clock may still prove that the publisher is running.
  bool is_settled();

 private:
  // A subscriber's last reading.
  struct Watched {
    std::uint64_t time_ns = 0;  // 0: there was none
    std::uint64_t lag = 0;
    LatencyWindow latencies;
  };
  using ClientId = std::pair<std::uint32_t, std::uint64_t>;  // pid, connect time

  void attach(std::uint64_t now_ns);
  void read_words(std::uint64_t now_ns);
  void detach(const absl::Status& why);
  absl::StatusOr<RingStatus> ring_status();
  void read_files(std::uint64_t now_ns);
  void add_answer(BusReading& reading, std::uint64_t now_ns);
  absl::StatusOr<PublisherStatus> ask(const absl::StatusOr<RingStatus>& ring, std::uint64_t now_ns);
  void ask_events(std::uint64_t deadline_ns);
  void watch(std::vector<SubscriberStatus>& subscribers, std::uint64_t now_ns);
  void measure_delay(const SubscriberStatus& subscriber, Observed& observed,
                     std::uint64_t now_ns) const;

  std::string directory_;
  bool is_trusted_;
  BusParts parts_;
  BusDescription description_;  // as last read
  absl::StatusOr<JournalFacts> journal_;
  std::uint64_t journal_again_ns_ = 0;
  absl::Status why_no_ring_;
  std::uint64_t attach_again_ns_ = 0;
  std::optional<RingWatch> ring_;
  HeadHistory heads_;
  std::optional<ControlClient> client_;
  absl::StatusOr<PublisherStatus> publisher_;  // its last answer
  std::uint64_t ask_again_ns_ = 0;
  std::vector<CheckpointStatus> checkpoints_;
  std::uint64_t list_again_ns_ = 0;
  std::deque<EventInfoFrame> events_;
  std::uint64_t newest_event_ = 0;  // of the session
  std::map<ClientId, Watched> watched_;
};

// Samples a BusMonitor or a MachineMonitor until it is settled, for at most kSettleNsMax.
template <typename Monitor>
void settle(Monitor& monitor) {
  const std::uint64_t until_ns = monotonic_ns() + kSettleNsMax;
  monitor.sample(monotonic_ns());
  while (!monitor.is_settled() && monotonic_ns() < until_ns) {
    wait_readable(-1, kSettlePauseNs);
    monitor.sample(monotonic_ns());
  }
}

// Returns the ring of a bus once it is settled. Errors: kNotFound: the session was closed; those of
// read_bus_description and RingWatch::open.
absl::StatusOr<RingStatus> read_ring_status(const std::string& directory);

}  // namespace lapwing
