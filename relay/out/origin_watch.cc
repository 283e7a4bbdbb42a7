#include "relay/out/origin_watch.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "proto/ring_words.h"
#include "proto/text_field.h"
#include "snapshot/journal/journal_reader.h"
#include "subscribers/described_ring.h"

namespace lapwing {

absl::Status OriginWatch::look(std::uint64_t now_ns) {
  absl::StatusOr<BusDescription> bus = read_bus_description(directory_);
  if (!bus.ok()) return bus.status();
  if (bus->journal_root.empty()) {
    return make_error(Errc::kNoJournal,
                      absl::StrCat("the bus in ", directory_,
                                   " has no journal, and a relay needs one. Restart its publisher "
                                   "without --no-journal."));
  }
  if (!has_bus_ || *bus != bus_) {
    bus_ = *std::move(bus);
    has_bus_ = false;
    if (absl::Status attached = attach(); !attached.ok()) return attached;
    has_bus_ = true;
  }
  state_.publisher = publisher(now_ns);
  update();
  return absl::OkStatus();
}

absl::Status OriginWatch::attach() {
  ring_.reset();
  map_.reset();
  heartbeat_.reset();
  state_ = {};
  state_.journal_id = bus_.journal_id;
  state_.session_id = bus_.session_id;
  absl::StatusOr<OpenRing> ring = open_described_ring(directory_, bus_);
  if (errc_of(ring.status()) == Errc::kNotFound) return settle();
  if (!ring.ok()) return ring.status();
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  const RingHeader& header = ring->header();
  // Memory does not survive a boot.
  if (header.boot_id != *boot || header.session_id != bus_.session_id) return settle();
  absl::StatusOr<RingMap> map = RingMap::attach(*ring, RingPages::kOnDemand);
  if (!map.ok()) return map.status();
  heartbeat_.emplace(header);
  ring_.emplace(*std::move(ring));
  map_.emplace(*std::move(map));
  return absl::OkStatus();
}

// Without a ring, the files are all that there is.
absl::Status OriginWatch::settle() {
  PosixDisk disk;
  const absl::StatusOr<std::unique_ptr<JournalReader>> journal =
      JournalReader::open(disk, bus_.journal_root, bus_.journal_id);
  if (!journal.ok()) return journal.status();
  const absl::StatusOr<JournalBounds> bounds = (*journal)->settled_bounds();
  if (!bounds.ok()) return bounds.status();
  state_.head = state_.durable = bounds->durable;
  state_.oldest = bounds->oldest;
  const SessionRecord* const session = (*journal)->sessions().find(bus_.session_id);
  const bool has_failed =
      session != nullptr && session->end && session->end->how == SessionEnd::kFailed;
  state_.journal.state = has_failed ? JournalState::kFailed : JournalState::kGood;
  if (has_failed) state_.journal.sys_errno = static_cast<int>(session->end->sys_errno);
  return absl::OkStatus();
}

RelayPublisherState OriginWatch::publisher(std::uint64_t now_ns) {
  if (bus_.closed) return RelayPublisherState::kClosed;
  if (!map_) return RelayPublisherState::kDead;
  if (load_ring_state(map_->words()) == RingState::kClosed) return RelayPublisherState::kClosed;
  const absl::StatusOr<bool> held = ring_->is_held();
  if (held.ok() && !*held) return RelayPublisherState::kDead;
  return heartbeat_->age_ns(map_->words(), now_ns) > kOriginSilentNs ? RelayPublisherState::kSilent
                                                                     : RelayPublisherState::kAlive;
}

const OriginReading& OriginWatch::update() {
  if (!map_) return state_;
  const RingWords& words = map_->words();
  // In this order, so that `durable` is at most `head`.
  state_.durable = load_durable(words);
  state_.head = std::max(load_head(words), state_.durable);
  state_.oldest = load_oldest(words);
  state_.journal = load_journal_condition(words);
  return state_;
}

RelayBus relay_bus_of(const BusDescription& bus, const SessionBegin& begin,
                      const std::string& name) {
  RelayBus relayed{};
  set_text(relayed.name, name);
  std::copy(std::begin(begin.schema), std::end(begin.schema), relayed.schema);
  relayed.schema_hash = begin.schema_hash;
  relayed.metadata_hash = begin.metadata_hash;
  relayed.record_bytes = begin.record_bytes;
  relayed.slot_bytes = begin.slot_bytes;
  relayed.segment_slots = begin.segment_slots;
  relayed.capacity = bus.capacity;
  relayed.restamped = bus.restamped ? 1 : 0;
  return relayed;
}

}  // namespace lapwing
