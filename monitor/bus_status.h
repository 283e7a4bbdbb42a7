// What is known of a bus, as plain values: what its files say, where its ring stands, what its
// publisher answers. `lapwing info` and `lapwing subscribers` show it.
//
// Nothing is written. The publisher alone is waited for, kPublisherAnswerNs at most. The parts are
// read one after the other while the bus goes on, so they may be of different moments: a ring that
// is gone beside a publisher that answers, say.
//
// Thread safety: free functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "bus/heartbeat_watch.h"
#include "bus/open_ring.h"
#include "lapwing/ages.h"
#include "lapwing/journal_state.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"
#include "os/process_state.h"
#include "proto/control_frames.h"
#include "proto/ring_counters.h"
#include "proto/ring_layout.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/session_rules.h"
#include "subscribers/record_identity.h"

namespace lapwing {

// A publisher renews its heartbeat twice a second.
inline constexpr std::uint64_t kSilentNs = 3'000'000'000;

// A heartbeat of another clock that does not change for this time belongs to a silent publisher,
// unless it was seen to change before.
inline constexpr std::uint64_t kHeartbeatProofNs = kHeartbeatIntervalNs + kHeartbeatIntervalNs / 5;

// A publisher that has not answered by then counts as one that does not answer.
inline constexpr std::uint64_t kPublisherAnswerNs = 2'000'000'000;

// What a publisher has counted since its session began.
struct RingCounts {
  std::uint64_t idle_wakes = 0;   // of its own threads
  std::uint64_t doorbells = 0;    // wakes of parked subscribers
  std::uint64_t subscribers = 0;  // connected now
  // As its subscribers reported them, those that are gone included.
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;           // records
  std::uint64_t journal_bytes = 0;  // written to segments
  Durations stalls;                 // publish waited for the journal
  Durations syncs;                  // from the begin of a sync to durable
};

// The ring of the newest session. The words are what its publisher last stored, alive or dead.
struct RingStatus {
  std::string path;
  std::uint32_t publisher_pid = 0;
  ProcessState process = ProcessState::kUnknown;  // of the publisher
  // Whether a process holds the ring's lock: its publisher, until it has ended, however it ends.
  // nullopt: the kernel does not report it.
  std::optional<bool> is_held;
  RingState state = RingState::kRunning;
  std::uint64_t heartbeat_age_ns = 0;  // bus/heartbeat_watch.h
  // False: the heartbeat is of another clock and was not seen to change, so it is at least that old.
  bool is_heartbeat_age_known = true;
  Sequence session_first = 0;
  Sequence head = 0;
  Sequence archived = 0;
  Sequence durable = 0;
  Sequence oldest = 0;
  JournalCondition journal;
  std::optional<RingCounts> counts;  // a publisher before 0.2.0 has none
};

// Segments on disk, including those that were prepared for future records.
struct JournalSize {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;  // of disk space; sums and time indexes come on top
};

// A journal below the journal root.
struct JournalStatus {
  Id128 id;
  std::uint64_t sessions = 0;       // 0: not listed in `sessions`; only id and size are known
  Sequence oldest = kNoSequence;    // that retention has kept
  std::optional<Sequence> last;     // the last durable one; nullopt while its last session is open
  std::optional<EndOfSession> end;  // of its last session
  bool is_discarded = false;        // another journal follows
  JournalSize size;
};

// How old records were where a subscriber delivered them, of one in `every`, since it was opened.
struct Latency {
  std::uint64_t every = 0;
  std::uint64_t sum_ns = 0;     // exactly
  AgeHistogram age_ns;          // its sum() is not exact
  std::uint64_t negative = 0;   // records from the future
  std::uint64_t unstamped = 0;  // records without a time
};

// A subscriber, as it last reported to the publisher.
struct SubscriberStatus {
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::string name;
  ClientState state = ClientState::kJoining;  // any number: it is what a peer sent
  bool may_park = false;
  bool observes = false;             // it only shows records to people: it needs nobody
  std::optional<WaitStrategy> wait;  // any number; it did not say: none
  std::optional<OnGap> on_gap;
  Sequence position = 0;  // last sequence delivered
  // Records by which it was behind when it said so; where that is long ago, or it did not say what it
  // saw, between `position` and head now. A report may be 100 ms old, which at a million records a
  // second would make a live reader seem 100,000 behind; one that is stopped reports no more.
  std::uint64_t lag = 0;
  bool is_recent = false;  // the first of the two
  Sequence head_seen = 0;  // newest sequence that it saw; 0: not said
  std::uint64_t records = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  std::uint64_t filled = 0;
  std::uint64_t connected_wall_ns = 0;
  std::uint64_t reported_wall_ns = 0;
  // Since its last report, or since it attached, by the publisher's CLOCK_MONOTONIC; nullopt: an
  // older publisher does not report it.
  std::optional<std::uint64_t> report_age_ns;
  std::uint64_t missing_since_wall_ns = 0;  // 0: it is attached
  ProcessState process = ProcessState::kUnknown;
  std::optional<Latency> latency;  // none: not measured

  bool is_missing() const { return missing_since_wall_ns != 0; }
  // It is behind and has not reported for kSilentReportNs: it hangs, or is stopped where the kernel
  // does not report its process.
  bool is_silent() const;
  bool is_stopped() const { return process == ProcessState::kStopped && !is_missing(); }
};

// A subscriber that runs reports every kReportNsMin while it takes records.
inline constexpr std::uint64_t kSilentReportNs = 3'000'000'000;

// SubscriberStatus::report_age_ns, is_recent and lag. A publisher before control version 4 reports no
// age; then the wall clock has to do, and a report from the future has no age.
std::optional<std::uint64_t> report_age_of(const SubscriberInfoFrame& info,
                                           std::uint64_t now_wall_ns);
bool is_recent(const SubscriberInfoFrame& info, std::uint64_t now_wall_ns);
std::uint64_t lag_of(const SubscriberInfoFrame& info, Sequence head, std::uint64_t now_wall_ns);

// What the publisher answers.
struct PublisherStatus {
  Sequence head = 0;
  std::vector<SubscriberStatus> subscribers;
  std::uint64_t clients_refused = 0;  // since it started, all reasons
  std::uint64_t clients_dropped = 0;
  // Of each DropReason r: [r - 1]. Zeros from a publisher before 0.2.0.
  std::array<std::uint64_t, kDropReasons> clients_by_reason{};
};

// What the journal's files say, in numbers.
struct JournalFacts {
  bool is_kept = false;  // false: this bus keeps no journal, and the rest is 0
  std::uint64_t sessions = 0;
  std::uint64_t void_records = 0;  // sequences that no record has, after power cuts
  std::uint64_t size_bytes = 0;    // of all journals below the root, as of JournalSize
  std::uint64_t free_bytes = 0;    // of its file system
};

struct BusStatus {
  std::string directory;  // as it was asked for
  BusDescription description;
  RecordIdentity records;                               // what bus.json says of them, checked
  absl::StatusOr<RingStatus> ring;                      // or why there is none to read
  absl::StatusOr<PublisherStatus> publisher;            // or why none answers
  absl::StatusOr<std::vector<SessionRecord>> sessions;  // of the journal; none without a journal
  absl::StatusOr<std::vector<JournalStatus>> journals;  // oldest first; empty without a journal
};

// Errors: those of read_bus_description. What else is wrong stands in the parts.
absl::StatusOr<BusStatus> gather_bus_status(const std::string& directory);

// Of all journals together.
JournalSize total_size(const std::vector<JournalStatus>& journals);

// Opens each segment of every journal. Errors: those of SessionLog::open_read_only, kSystem.
absl::StatusOr<JournalFacts> read_journal_facts(const std::string& journal_root,
                                                std::uint64_t sessions_bytes_max = UINT64_MAX);

RingStatus status_of(const OpenRing& ring, const RingWords& words, HeartbeatWatch& heartbeat);

// The ring only: the publisher is not asked. Takes up to 1.2 s if the heartbeat is of another clock
// and has to be seen to change. kNotFound: the session was closed.
// Errors: those of read_bus_description, and why there is no ring to read.
absl::StatusOr<RingStatus> read_ring_status(const std::string& directory);

// A publisher's answer about its subscribers, as of `head`. Pids are valid in `namespaces`, the
// publisher's.
PublisherStatus status_of(Sequence head, const ControlClient::SubscriberList& list,
                          const ProcessNamespaces& namespaces);
// Of the publisher that a client is connected to.
ProcessNamespaces namespaces_of(const ControlClient& client);
// `why` the publisher of a bus could not be asked. If the publisher runs, the message names its
// process and what to do.
absl::Status why_unanswered(const std::string& directory, const absl::Status& why);
// A tool's connection to the publisher of a bus. Errors: those of ControlClient::connect, with the
// message of why_unanswered().
absl::StatusOr<ControlClient> connect_to_publisher(const std::string& directory,
                                                   const std::string& name,
                                                   std::uint64_t deadline_ns);
// The publisher's answer alone; needs no bus.json. Errors: as of connect_to_publisher().
absl::StatusOr<PublisherStatus> ask_publisher(const std::string& directory);

// "open" for a session that has not ended.
const char* name_of(const std::optional<EndOfSession>& end);

}  // namespace lapwing
