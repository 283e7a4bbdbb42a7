// A mirror in a private directory, and an origin whose records are functions of their sequence: 64
// slots per block, 1,024 per segment. Test code only; not thread-safe.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/error.h"
#include "os/page.h"
#include "os/posix_io.h"
#include "proto/slot_stamp.h"
#include "proto/text_field.h"
#include "publisher/mirror/mirror_set_up.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/journal/sum_file.h"
#include "testing/borrowed_disk.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {

inline constexpr std::uint64_t kMirrorBlock = 64;
inline constexpr std::uint64_t kMirrorSegment = 1024;
inline constexpr std::uint64_t kMirrorHangNs = 60'000'000'000;
inline constexpr JournalGeometry kMirrorGeometry{
    .slot_bytes = 64, .record_bytes = 56, .segment_slots = kMirrorSegment};

inline Id128 mirror_id(std::uint8_t tag) {
  Id128 id;
  id.bytes.fill(tag);
  return id;
}
inline Id128 origin_journal() {
  return mirror_id(200);
}

// An open session of the origin.
inline RelaySession origin_session(std::uint8_t tag, Sequence first) {
  RelaySession session{};
  session.journal_id = origin_journal();
  session.session_id = mirror_id(tag);
  session.first = first;
  session.slot_bytes = kMirrorGeometry.slot_bytes;
  session.record_bytes = kMirrorGeometry.record_bytes;
  session.segment_slots = kMirrorGeometry.segment_slots;
  session.source_id = 17;
  session.source_offset = first;
  set_text(session.schema, "bytes");
  session.begin_row = 10u * tag;
  session.begin_hash = 1000u + tag;
  return session;
}
inline RelaySession ended(RelaySession session, Sequence last, SessionEnd how = SessionEnd::kClosed,
                          Sequence void_last = 0) {
  session.how = how;
  session.last = last;
  session.void_first = void_last == 0 ? 0 : last + 1;
  session.void_last = void_last;
  session.end_row = session.begin_row + 5;
  session.end_hash = session.begin_hash + 1'000'000;
  return session;
}

inline MirrorBegin begin_of(const RelaySession& session) {
  MirrorBegin begin;
  begin.session = session;
  begin.bus.capacity = kMirrorSegment;
  set_text(begin.bus.name, "origin");
  return begin;
}

// Records first … last of the origin, end to end.
inline std::vector<std::byte> origin_records(Sequence first, Sequence last) {
  std::vector<std::byte> bytes((last - first + 1) * kMirrorGeometry.record_bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const Sequence n = first + at / kMirrorGeometry.record_bytes;
    const std::uint64_t in_record = at % kMirrorGeometry.record_bytes;
    bytes[at] = static_cast<std::byte>((n * 0x9e3779b97f4a7c15u + in_record * 0x85ebca6bu) >> 23);
  }
  return bytes;
}
inline std::vector<std::byte> origin_slot(Sequence n) {
  std::vector<std::byte> slot(kMirrorGeometry.slot_bytes);
  const Word stamp = ready_stamp(n);
  std::memcpy(slot.data(), &stamp, sizeof stamp);
  std::ranges::copy(origin_records(n, n), slot.begin() + sizeof stamp);
  return slot;
}
inline std::uint64_t origin_time(Sequence n) {
  return 1'000'000 + 10 * n;
}

inline Deadline soon() {
  return std::chrono::nanoseconds(kMirrorHangNs);
}

class MirrorFixture {
 public:
  MirrorFixture() {
    set_up.directory = directory_.file("bus");
    set_up.log = [this](const LogEntry& entry) {
      const std::lock_guard lock(mutex_);
      log_.push_back(entry.message);
    };
  }
  // The journal is on a simulated disk.
  explicit MirrorFixture(std::uint64_t seed, const SimBehaviour& behaviour = {}) : MirrorFixture() {
    sim_ = std::make_unique<SimDisk>(directory_.path(), seed);
    // The directories of the bus and the journal are real, and made before the disk is used.
    REQUIRE(sim_->make_directory(set_up.directory, 0700).ok());
    REQUIRE(sim_->sync_directory(directory_.path()).ok());
    REQUIRE(sim_->make_directory(journal_root(), 0700).ok());
    REQUIRE(sim_->sync_directory(set_up.directory).ok());
    set_up.make_disk = [this] { return std::make_unique<BorrowedDisk>(*sim_); };
    set_up.make_queue = [this, behaviour] {
      return std::make_unique<SimWriteQueue>(*sim_, behaviour);
    };
  }

  std::string journal_root() const { return set_up.directory + "/" + kJournalDirectoryName; }
  JournalFiles files() {
    return {&disk(), journal_root() + "/" + origin_journal().hex(), origin_journal(),
            kMirrorGeometry};
  }
  Disk& disk() {
    if (sim_) return *sim_;
    return posix_;
  }
  SimDisk& sim() { return *sim_; }

  absl::StatusOr<std::unique_ptr<MirrorWriter>> try_open() {
    return open_mirror_with_seams(set_up);
  }
  std::unique_ptr<MirrorWriter> open() {
    auto mirror = try_open();
    INFO(mirror.status());
    REQUIRE(mirror.ok());
    return *std::move(mirror);
  }

  bool has_logged(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        log_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

  absl::StatusOr<SessionLog> sessions() {
    return SessionLog::open_read_only(disk(), journal_root());
  }
  // Slot n of the journal; zeros if there is none.
  std::vector<std::byte> slot(Sequence n) {
    std::vector<std::byte> bytes(kMirrorGeometry.slot_bytes);
    const auto file =
        open_file(disk(), files().path(kMirrorGeometry.segment_of(n), "jnl"), {OpenMode::kRead});
    if (file.ok()) {
      disk().read_at(file->get(), kMirrorGeometry.offset_of(n), bytes).IgnoreError();
    }
    return bytes;
  }
  bool is_empty(Sequence n) {
    return std::ranges::all_of(slot(n), [](std::byte byte) { return byte == std::byte{0}; });
  }
  bool holds(Sequence n) { return slot(n) == origin_slot(n); }
  bool holds_all(Sequence first, Sequence last) {
    for (Sequence n = first; n <= last; ++n) {
      if (!holds(n)) return false;
    }
    return true;
  }
  // Whether a sum covers record n and matches its block.
  bool proves(Sequence n) {
    const std::uint64_t block = kMirrorGeometry.block_of(n);
    const std::uint64_t segment = kMirrorGeometry.segment_of(n);
    const auto sums = open_file(disk(), files().path(segment, "sum"), {OpenMode::kRead});
    const auto slots = open_file(disk(), files().path(segment, "jnl"), {OpenMode::kRead});
    if (!sums.ok() || !slots.ok()) return false;
    SumEntry sum{};
    Page page{};
    const Sequence first = kMirrorGeometry.block_first(block);
    const auto sum_bytes = std::as_writable_bytes(std::span(&sum, 1));
    const bool is_read =
        disk().read_at(sums->get(), sum_offset(kMirrorGeometry, block), sum_bytes).ok() &&
        disk().read_at(slots->get(), kMirrorGeometry.offset_of(first), page.bytes).ok();
    return is_read &&
           check_sum_entry(origin_journal(), block, sum, kMirrorGeometry) == SumState::kValid &&
           n - first < sum.count && sum_matches(sum, page.bytes, kMirrorGeometry);
  }
  // Invariant 1: every slot of the journal has the origin's record or nothing.
  void check_slots() {
    const auto segments = list_segments(files());
    REQUIRE(segments.ok());
    for (const std::uint64_t segment : *segments) check_slots_of(segment);
  }

  MirrorSetUp set_up;

 private:
  void check_slots_of(std::uint64_t segment) {
    std::vector<std::byte> bytes(kMirrorGeometry.segment_bytes());
    const auto file = open_file(disk(), files().path(segment, "jnl"), {OpenMode::kRead});
    REQUIRE(file.ok());
    REQUIRE(disk().read_at(file->get(), kSegmentHeaderBytes, bytes).ok());
    const std::vector<std::byte> nothing(kMirrorGeometry.slot_bytes);
    Sequence n = kMirrorGeometry.segment_first(segment);
    for (std::size_t at = 0; at < bytes.size(); at += nothing.size(), ++n) {
      const auto slot = std::span(bytes).subspan(at, nothing.size());
      if (std::ranges::equal(slot, nothing) || std::ranges::equal(slot, origin_slot(n))) continue;
      FAIL_CHECK("slot " << n << " has other bytes than the origin's");
    }
  }

  TemporaryDirectory directory_{TemporaryDirectory::in_memory()};
  PosixDisk posix_;
  std::unique_ptr<SimDisk> sim_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

inline absl::Status put(MirrorWriter& mirror, Sequence first, Sequence last) {
  return mirror.put(first, origin_records(first, last), origin_time(last), soon());
}
// As a beat during session `tag`.
inline void set_durable(MirrorWriter& mirror, Sequence durable, std::uint8_t tag = 1) {
  mirror.set_origin({.session_id = mirror_id(tag),
                     .head = durable,
                     .durable = durable,
                     .journal_state = JournalState::kGood,
                     .publisher = RelayPublisherState::kAlive,
                     .beat_monotonic_ns = 1});
}

}  // namespace lapwing
