// A publisher without threads, sockets or clocks: a ring in memory, a session log and an archiver,
// on any Disk and WriteQueue. The test controls the time. Test code only; not thread-safe.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/log.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "proto/journal_format.h"
#include "proto/slot_stamp.h"
#include "proto/text_field.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/archive/open_segment.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

inline Id128 id_of(std::uint8_t tag) {
  Id128 id;
  id.bytes.fill(tag);
  return id;
}

// The slot of record n as published by session `salt`: every word depends on both.
inline void fill_slot(std::byte* slot, Sequence n, std::uint64_t salt,
                      const JournalGeometry& geometry) {
  std::memset(slot, 0, geometry.slot_bytes);
  const Word stamp = ready_stamp(n);
  std::memcpy(slot, &stamp, sizeof stamp);
  std::uint64_t word = n * 0x9e3779b97f4a7c15u ^ salt * 0xc2b2ae3d27d4eb4fu;
  for (std::uint32_t at = 0; at < geometry.record_bytes; at += 8) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(slot + kStampBytes + at, &word, std::min(8u, geometry.record_bytes - at));
  }
}

class ArchiveFixture {
 public:
  struct Options {
    std::string root;  // contains `sessions`; the journal's directory is created in it
    JournalGeometry geometry{.slot_bytes = 64, .record_bytes = 56, .segment_slots = 1024};
    std::uint64_t capacity = 1024;
    std::uint64_t sync_interval_ns = 10'000'000;
    Retention retention{};
    bool try_direct_io = true;
    std::uint8_t boot = 99;
    SessionOrigin* origin = nullptr;
    LogHook log{};
  };

  static constexpr std::uint64_t kTurnNs = 100'000;  // step of the clock between turns

  ArchiveFixture(Disk& disk, WriteQueue& queue, Options options)
      : disk_(disk),
        queue_(queue),
        options_(std::move(options)),
        ring_(options_.capacity * options_.geometry.slot_bytes / kPageBytes) {}

  static Id128 journal_id() { return id_of(7); }
  std::string directory() const { return options_.root + "/" + journal_.hex(); }
  // The next session begins a new journal in the same root.
  void begin_journal(std::uint8_t tag) { journal_ = id_of(tag); }
  JournalFiles files() const { return {&disk_, directory(), journal_, options_.geometry}; }
  const JournalGeometry& geometry() const { return options_.geometry; }

  // Begins session `salt` at `first` and starts its archiver.
  absl::Status begin(std::uint8_t salt, Sequence first, Sequence oldest = 1) {
    salt_ = salt;
    head_ = first - 1;
    absl::Status made = disk_.make_directory(directory(), 0700);
    if (made.ok()) made = disk_.sync_directory(options_.root);
    if (!made.ok()) return made;
    if (!archiver_) sessions_.reset();  // on a real disk it would still be locked
    auto log = SessionLog::open(disk_, options_.root);
    if (!log.ok()) return log.status();
    sessions_.emplace(*std::move(log));
    const absl::Status appended = sessions_->append(begin_entry(first));
    if (!appended.ok()) return appended;
    return start_archiver(first, oldest);
  }

  absl::Status start_archiver(Sequence first, Sequence oldest) {
    if (!sessions_) sessions_after_kill();
    ArchiverOptions archive;
    archive.journal = files();
    archive.schema = "bytes";
    archive.first = first;
    archive.oldest = oldest;
    archive.capacity = options_.capacity;
    archive.ring_slots = ring_[0].bytes.data();
    archive.sync_interval_ns = options_.sync_interval_ns;
    archive.retention = options_.retention;
    archive.try_direct_io = options_.try_direct_io;
    archive.origin = options_.origin;
    archive.log = options_.log;
    auto archiver = Archiver::start(queue_, *sessions_, archive);
    if (!archiver.ok()) return archiver.status();
    archiver_ = *std::move(archiver);
    return absl::OkStatus();
  }

  // Publishes up to `count` records, as many as the limit allows. Returns the number published.
  std::uint64_t publish(std::uint64_t count) {
    std::uint64_t done = 0;
    for (; done < count && head_ < archiver_->limit(); ++done) {
      ++head_;
      fill_slot(slot(head_), head_, salt_, options_.geometry);
    }
    return done;
  }

  // The process dies within the next record, if the limit allows writing it: after W1 of the slot
  // protocol, or after W3 and before head moves.
  void die_within_record(bool finished) {
    if (head_ >= archiver_->limit()) return;
    fill_slot(slot(head_ + 1), head_ + 1, salt_, options_.geometry);
    const Word stamp = finished ? ready_stamp(head_ + 1) : writing_stamp(head_ + 1);
    std::memcpy(slot(head_ + 1), &stamp, sizeof stamp);
  }

  std::uint64_t step(std::uint64_t wait_ns = 0) {
    now_ns_ += kTurnNs;
    wall_ns_ += kTurnNs;
    return archiver_->step(head_, now_ns_, wall_ns_, wait_ns);
  }

  // Steps until done() returns true. Returns false if that takes more than `turns`.
  template <typename Done>
  bool step_until(Done done, int turns = 100'000, std::uint64_t wait_ns = 0) {
    for (int i = 0; i < turns; ++i) {
      if (done()) return true;
      step(wait_ns);
    }
    return done();
  }

  // Publishes `count` records, with steps whenever the limit is reached.
  void publish_all(std::uint64_t count, std::uint64_t wait_ns = 0) {
    while (count > 0) {
      const std::uint64_t done = publish(count);
      count -= done;
      if (done == 0) step(wait_ns);
    }
  }

  absl::Status close() { return archiver_->close(head_, wall_ns_); }
  // The process dies: the archiver's memory is lost, the ring remains.
  void drop_archiver() { archiver_.reset(); }

  Archiver& archiver() { return *archiver_; }
  bool has_archiver() const { return archiver_ != nullptr; }
  SessionLog& sessions() { return *sessions_; }
  // Opens the log as the next process would.
  SessionLog& sessions_after_kill() {
    auto log = SessionLog::open(disk_, options_.root);
    REQUIRE(log.ok());
    sessions_.emplace(*std::move(log));
    return *sessions_;
  }
  Sequence head() const { return head_; }
  std::uint64_t now_ns() const { return now_ns_; }
  std::uint64_t wall_ns() const { return wall_ns_; }
  // Simulates a change of the system clock.
  void step_wall_clock(std::int64_t ns) { wall_ns_ += static_cast<std::uint64_t>(ns); }
  void pass_time(std::uint64_t ns) {
    now_ns_ += ns;
    wall_ns_ += ns;
  }
  std::byte* slot(Sequence n) {
    return ring_[0].bytes.data() +
           ((n - 1) & (options_.capacity - 1)) * options_.geometry.slot_bytes;
  }
  std::span<const std::byte> ring_memory() const {
    return std::as_bytes(std::span(ring_.data(), ring_.size()));
  }

 private:
  SessionEntry begin_entry(Sequence first) const {
    SessionEntry entry{};
    entry.kind = SessionEntryKind::kBegin;
    entry.journal_id = journal_;
    entry.session_id = id_of(salt_);
    entry.boot_id = id_of(options_.boot);
    entry.first = first;
    entry.slot_bytes = options_.geometry.slot_bytes;
    entry.record_bytes = options_.geometry.record_bytes;
    entry.segment_slots = options_.geometry.segment_slots;
    set_text(entry.schema, "bytes");
    set_text(entry.ring_path, "ring");
    return entry;
  }

  Disk& disk_;
  WriteQueue& queue_;
  Options options_;
  Id128 journal_ = journal_id();
  std::vector<Page> ring_;
  std::optional<SessionLog> sessions_;
  std::unique_ptr<Archiver> archiver_;
  std::uint8_t salt_ = 0;
  Sequence head_ = 0;
  std::uint64_t now_ns_ = 1'000'000'000;
  std::uint64_t wall_ns_ = 1'700'000'000'000'000'000;
};

}  // namespace lapwing
