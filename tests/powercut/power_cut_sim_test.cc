// Lives of a publisher on a simulated disk. Each ends with a kill, a power cut or a clean close
// at a random moment: between two turns, or at any single operation of recovery, start, archiving
// or end. The next life recovers the previous life's files. The oracle has every byte ever
// published:
//
//   records announced as durable exist, and recovered records stay permanently;
//   a killed publisher whose ring file exists loses nothing;
//   missing records are a recorded void; no sequence is used twice.
//
// LAPWING_POWER_CUT_RUNS sets the number of runs, and LAPWING_POWER_CUT_SEED the seed of the first
// one. A failure prints its seed.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lapwing/gap.h"
#include "proto/ring_words.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/recovery/recovery.h"
#include "testing/archive_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kRunsDefault = 10'000;
constexpr std::uint64_t kLivesMax = 5;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Totals over all runs, because runs without events prove nothing.
struct Tally {
  std::uint64_t kills = 0;
  std::uint64_t cuts = 0;
  std::uint64_t closes = 0;
  std::uint64_t settlements_interrupted = 0;
  std::uint64_t starts_interrupted = 0;
  std::uint64_t records_lost = 0;       // published, never announced as durable, lost
  std::uint64_t records_recovered = 0;  // not durable at a kill, but recovered
  std::uint64_t voids = 0;
  std::uint64_t pruned = 0;
};

struct Life {
  Sequence first = 1;
  Sequence head = 0;     // published; head + 1 may be complete in the ring without being announced
  Sequence durable = 0;  // announced as durable
  Sequence kept = 0;     // last recovered sequence; first - 1: none
};

class Run {
 public:
  Run(std::uint64_t seed, Tally& tally)
      : tally_(tally), random_(seed), disk_(kSimRoot, seed ^ 0x5eed), queue_(disk_) {
    const std::uint32_t record_bytes = static_cast<std::uint32_t>(8 + random_.below(500));
    options_.root = kSimRoot;
    options_.geometry.record_bytes = record_bytes;
    options_.geometry.slot_bytes = slot_bytes_for(record_bytes);
    options_.geometry.segment_slots =
        (kSegmentSlotBytesMin << random_.below(2)) / options_.geometry.slot_bytes;
    options_.capacity = std::max<std::uint64_t>(
        kCapacityMin, (kSlotAreaBytesMin << random_.below(3)) / options_.geometry.slot_bytes);
    options_.sync_interval_ns = random_.chance(80) ? 10'000'000 : 0;
    if (random_.chance(20)) {
      options_.retention.bytes_max = 6 * options_.geometry.segment_bytes();
    }
  }

  void run() {
    const std::uint64_t lives = 1 + random_.below(kLivesMax);
    for (std::uint64_t i = 0; i < lives; ++i) live();
    REQUIRE(settle());
    check_everything();
  }

 private:
  void live() {
    disk_.stop_after(stop_point());
    if (!settle()) {
      ++tally_.settlements_interrupted;
      return end(false);
    }
    if (!begin()) {
      ++tally_.starts_interrupted;
      return end(false);
    }
    const std::uint64_t turns = random_.below(80);
    for (std::uint64_t i = 0; i < turns && !disk_.stopped(); ++i) turn();
    end(!disk_.stopped() && random_.chance(20) && close());
  }

  // Low values hit recovery and the start; high values are never reached.
  std::uint64_t stop_point() {
    return random_.chance(30) ? random_.below(100) : random_.below(1500);
  }

  RingOpener ring_opener() {
    return [this](const std::string&) -> absl::StatusOr<std::optional<RingImage>> { return ring_; };
  }

  // Returns false if the machine stopped during it.
  bool settle() {
    auto sessions = SessionLog::open(disk_, kSimRoot);
    if (disk_.stopped()) return false;
    REQUIRE(sessions.ok());
    const auto settled =
        lapwing::settle(disk_, kSimRoot, *sessions, id_of(options_.boot), ring_opener());
    if (disk_.stopped()) return false;
    INFO(settled.status().message());
    REQUIRE(settled.ok());
    settled_ = *settled;
    judge_settlement();
    return true;
  }

  void judge_settlement() {
    REQUIRE(settled_.how != Settlement::kReset);
    if (settled_life_ < lives_.size()) judge_life(lives_.back());
    // Sequences below the oldest were pruned, or never existed.
    REQUIRE(
        (settled_.oldest <= oldest_announced_ || is_void(oldest_announced_, settled_.oldest - 1)));
  }

  void judge_life(Life& life) {
    settled_life_ = lives_.size();
    life.kept = std::max(settled_.last_present, life.first - 1);
    REQUIRE(life.kept >= life.durable);
    REQUIRE(life.kept <= life.head + 1);
    REQUIRE(settled_.next > std::max(life.head, life.kept));
    if (ring_) {
      REQUIRE(life.kept >= life.head);
      REQUIRE(settled_.next == life.kept + 1);
      tally_.records_recovered += life.kept - life.durable;
    }
    tally_.records_lost += life.head - std::min(life.head, life.kept);
    tally_.voids += settled_.next != life.kept + 1;
  }

  // Returns false if the machine stopped during it.
  bool begin() {
    publisher_ = std::make_unique<ArchiveFixture>(disk_, queue_, options_);
    queue_.behaviour() = {.complete_percent = static_cast<unsigned>(10 + random_.below(91)),
                          .reorder = random_.chance(70),
                          .short_percent = static_cast<unsigned>(random_.below(20)),
                          .again_percent = static_cast<unsigned>(random_.below(10)),
                          .depth = 4 + random_.below(60)};
    ring_.reset();
    lives_.push_back({settled_.next, settled_.next - 1, settled_.next - 1, settled_.next - 1});
    const absl::Status begun =
        publisher_->begin(static_cast<std::uint8_t>(lives_.size()), settled_.next, settled_.oldest);
    if (disk_.stopped()) return false;
    INFO(begun.message());
    REQUIRE(begun.ok());
    return true;
  }

  void turn() {
    publisher_->publish(random_.below(random_.chance(10) ? 600 : 60));
    lives_.back().head = publisher_->head();
    if (random_.chance(10)) publisher_->archiver().request_flush(publisher_->head());
    publisher_->pass_time(random_.below(random_.chance(20) ? 15'000'000 : 500'000));
    publisher_->step(random_.below(2));
    note_announced();
  }

  void note_announced() {
    lives_.back().durable = publisher_->archiver().durable();
    oldest_announced_ = std::max(oldest_announced_, publisher_->archiver().oldest());
  }

  bool close() {
    const absl::Status closed = publisher_->close();
    note_announced();
    if (disk_.stopped()) return false;
    REQUIRE(closed.ok());
    REQUIRE(lives_.back().durable == lives_.back().head);
    ++tally_.closes;
    return true;
  }

  // Ends the process, with or without the machine. A closed session has already unlinked its ring.
  void end(bool closed) {
    const bool has_archiver = publisher_ != nullptr && publisher_->has_archiver();
    if (random_.chance(50)) {
      ++tally_.cuts;
      disk_.power_cut();
      ring_.reset();
      ++options_.boot;
    } else {
      ++tally_.kills;
      if (has_archiver && !closed) leave_ring();
      disk_.kill();
    }
    if (has_archiver) {
      tally_.pruned += publisher_->archiver().counters().segments_pruned;
      publisher_->drop_archiver();
    }
  }

  // The ring file outlives the process, unless it is deleted.
  void leave_ring() {
    if (random_.chance(10)) return;
    if (!disk_.stopped() && random_.chance(30)) publisher_->die_within_record(random_.chance(50));
    store_head(ring_words_, lives_.back().head);
    store_durable(ring_words_, lives_.back().durable);
    store_journal_condition(ring_words_, {JournalState::kGood, 0});
    RingHeader header{};
    header.slot_bytes = options_.geometry.slot_bytes;
    header.record_bytes = options_.geometry.record_bytes;
    header.capacity = options_.capacity;
    header.journal_id = ArchiveFixture::journal_id();
    header.session_id = id_of(static_cast<std::uint8_t>(lives_.size()));
    header.boot_id = id_of(options_.boot);
    header.session_first_sequence = header.ring_first_sequence = lives_.back().first;
    ring_ = RingImage{header, &ring_words_, publisher_->ring_memory().data()};
  }

  // Reads every sequence ever used, like a reader without a publisher.
  void check_everything() {
    if (settled_.how == Settlement::kFresh) {  // no life has reached its beginning
      REQUIRE(is_void(1, kSequenceMax));
      return;
    }
    auto reader = JournalReader::open(disk_, kSimRoot, ArchiveFixture::journal_id());
    INFO(reader.status().message());
    REQUIRE(reader.ok());
    const auto bounds = (*reader)->settled_bounds();
    REQUIRE(bounds.ok());
    std::vector<std::byte> out(64 * std::size_t{options_.geometry.record_bytes});
    for (Sequence n = bounds->oldest; n <= bounds->archived;) {
      const auto run = (*reader)->read(n, *bounds, out);
      REQUIRE(run.ok());
      INFO("sequence " << n << " " << run->detail);
      REQUIRE((run->count > 0) != run->gap);
      if (run->gap) {
        REQUIRE(run->cause == GapCause::kVoid);
        REQUIRE(is_void(n, run->gap_last));
      }
      for (std::uint64_t i = 0; i < run->count; ++i) {
        REQUIRE(is_record(n + i, out.data() + i * options_.geometry.record_bytes));
      }
      n = run->gap ? run->gap_last + 1 : n + run->count;
    }
    for (const Life& life : lives_) {
      REQUIRE((life.kept < life.first || life.kept <= bounds->archived));
    }
    REQUIRE(queue_.overlapping_writes() == 0);
    REQUIRE(queue_.changed_in_flight() == 0);
  }

  // True if no life has kept any of these sequences.
  bool is_void(Sequence first, Sequence last) const {
    return std::ranges::none_of(lives_, [&](const Life& life) {
      return life.first <= last && first <= life.kept && life.first <= life.kept;
    });
  }

  // True if the record equals the one published by the life that kept sequence n.
  bool is_record(Sequence n, const std::byte* record) const {
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      if (n < lives_[i].first || n > lives_[i].kept) continue;
      std::vector<std::byte> slot(options_.geometry.slot_bytes);
      fill_slot(slot.data(), n, i + 1, options_.geometry);
      return std::equal(record, record + options_.geometry.record_bytes, &slot[kStampBytes]);
    }
    return false;
  }

  Tally& tally_;
  SimRandom random_;
  SimDisk disk_;
  SimWriteQueue queue_;
  ArchiveFixture::Options options_;
  std::unique_ptr<ArchiveFixture> publisher_;  // of the newest life; its ring outlives its archiver
  std::optional<RingImage> ring_;              // the ring file of a killed life
  RingWords ring_words_{};
  Settled settled_;
  std::size_t settled_life_ = 0;  // number of recovered lives
  std::vector<Life> lives_;
  Sequence oldest_announced_ = 1;
};

TEST_CASE("What was announced durable survives every cut, and no sequence is given twice") {
  const std::uint64_t runs = from_environment("LAPWING_POWER_CUT_RUNS", kRunsDefault);
  const std::uint64_t first_seed = from_environment("LAPWING_POWER_CUT_SEED", 1);
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    INFO("LAPWING_POWER_CUT_SEED=" << seed << " LAPWING_POWER_CUT_RUNS=1");
    Run(seed, tally).run();
  }
  WARN(runs << " runs: " << tally.cuts << " cuts, " << tally.kills << " kills, " << tally.closes
            << " closes, " << tally.settlements_interrupted << " settlements and "
            << tally.starts_interrupted << " starts interrupted, " << tally.records_lost
            << " records lost, " << tally.records_recovered << " recovered from rings, "
            << tally.voids << " voids, " << tally.pruned << " segments pruned");
  if (runs < 300) return;
  for (const std::uint64_t count :
       {tally.kills, tally.cuts, tally.closes, tally.settlements_interrupted,
        tally.starts_interrupted, tally.records_lost, tally.records_recovered, tally.voids,
        tally.pruned}) {
    CHECK(count > 0);
  }
}

}  // namespace
}  // namespace lapwing
