#include "monitor/ring_status.h"

#include <algorithm>
#include <utility>

#include "os/kernel.h"
#include "proto/ring_words.h"
#include "subscribers/described_ring.h"

namespace lapwing {
namespace {

std::optional<RingCounts> counts_of(const RingWords& words) {
  if (load_count(words.counters_kept) != 1) return std::nullopt;
  return RingCounts{.idle_wakes = load_count(words.idle_wakes),
                    .doorbells = load_count(words.doorbells),
                    .subscribers = load_count(words.subscribers),
                    .gaps = load_count(words.gaps),
                    .lost = load_count(words.lost),
                    .journal_bytes = load_count(words.journal_bytes),
                    .stalls = load_durations(words.stalls),
                    .syncs = load_durations(words.syncs)};
}

}  // namespace

PublisherState RingStatus::publisher_state() const {
  if (state != RingState::kRunning) return PublisherState::kClosed;
  // The lock ends with the process, regardless of namespaces and clocks.
  if (is_held == false) return PublisherState::kGone;
  if (process == ProcessState::kStopped) return PublisherState::kStopped;
  if (heartbeat_age_ns < kSilentNs) return PublisherState::kRunning;
  return process == ProcessState::kEnded ? PublisherState::kGone : PublisherState::kSilent;
}

RingWatch::RingWatch(OpenRing ring, RingWordsCopy words)
    : ring_(std::move(ring)), words_(std::move(words)), heartbeat_(ring_.header()) {
  heartbeat_.age_ns(words_.words(), monotonic_ns());  // records the first value
}

absl::StatusOr<RingWatch> RingWatch::open(const std::string& bus_directory,
                                          const BusDescription& bus) {
  absl::StatusOr<OpenRing> ring = open_described_ring(bus_directory, bus);
  if (!ring.ok()) return ring.status();
  absl::StatusOr<RingWordsCopy> words = RingWordsCopy::read(*ring);
  if (!words.ok()) return words.status();
  return RingWatch(*std::move(ring), *std::move(words));
}

absl::Status RingWatch::refresh(std::uint64_t now_ns) {
  const absl::Status read = words_.refresh(ring_);
  if (read.ok()) heartbeat_.age_ns(words_.words(), now_ns);
  return read;
}

Sequence RingWatch::head() const {
  return load_head(words_.words());
}

bool RingWatch::is_published() const {
  return load_ring_state(words_.words()) == RingState::kRunning && ring_.is_held().value_or(false);
}

RingStatus RingWatch::status() {
  const RingWords& words = words_.words();
  const RingHeader& header = ring_.header();
  const JournalCondition journal = load_journal_condition(words);
  const absl::StatusOr<bool> is_held = ring_.is_held();
  const std::uint64_t now_ns = monotonic_ns();
  std::uint64_t age_ns = heartbeat_.age_ns(words, now_ns);
  const bool is_age_known = heartbeat_.is_age_known(load_heartbeat(words), now_ns);
  if (!is_age_known && age_ns >= kHeartbeatProofNs) age_ns = std::max(age_ns, kSilentNs);
  return {.path = ring_.path(),
          .publisher_pid = header.publisher_pid,
          .process = state_of({.pid = header.publisher_pid,
                               .start_ticks = 0,
                               .namespaces = {.pid = header.publisher_pid_namespace,
                                              .time = header.publisher_time_namespace}}),
          .is_held = is_held.ok() ? std::optional(*is_held) : std::nullopt,
          .state = load_ring_state(words),
          .heartbeat_age_ns = age_ns,
          .is_heartbeat_age_known = is_age_known,
          .session_first = header.session_first_sequence,
          .head = load_head(words),
          .archived = load_archived(words),
          .durable = load_durable(words),
          .oldest = load_oldest(words),
          .journal = journal,
          .counts = counts_of(words)};
}

}  // namespace lapwing
