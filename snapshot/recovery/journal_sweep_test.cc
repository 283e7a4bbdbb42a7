// Sweeps: every bit in a small journal is flipped, its end is cut off at every byte, and settling
// is stopped at every operation. No wrong record at or below durable is ever returned, and no
// record at or below durable is lost.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "lapwing/error.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/segment_file.h"
#include "snapshot/journal/sum_file.h"
#include "snapshot/recovery/recovery.h"
#include "testing/journal_fixture.h"
#include "testing/journal_on_sim_disk.h"
#include "testing/ring_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint8_t kSession = 11;
const Id128 kOtherBoot = fixture_id(98);

absl::StatusOr<Settled> settle_on(Disk& disk, const JournalFixture& journal, const RingOpener& ring,
                                  const Id128& boot) {
  auto sessions = SessionLog::open(disk, journal.root());
  if (!sessions.ok()) return sessions.status();
  return settle(disk, journal.root(), *sessions, boot, ring);
}

// The records that a reader returns for sequences 1 … bounds.archived.
struct Delivery {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;
  std::uint64_t damaged = 0;
  std::uint64_t none = 0;  // voids and pruned records
};

Delivery deliver(JournalReader& reader, const JournalFixture& journal,
                 const JournalBounds& bounds) {
  Delivery delivery;
  std::vector<std::byte> out(256 * journal.geometry().record_bytes);
  for (Sequence n = 1; n <= bounds.archived;) {
    const auto run = reader.read(n, bounds, out);
    REQUIRE(run.ok());
    REQUIRE((run->count > 0) != run->gap);
    if (run->gap) {
      const std::uint64_t lost = std::min(run->gap_last, bounds.archived) - n + 1;
      (run->cause == GapCause::kDamaged ? delivery.damaged : delivery.none) += lost;
      n = run->gap_last + 1;
      continue;
    }
    for (std::uint64_t i = 0; i < run->count; ++i, ++n) {
      const auto expected = journal.record(n);
      const bool same =
          std::memcmp(out.data() + i * expected.size(), expected.data(), expected.size()) == 0;
      ++(same ? delivery.right : delivery.wrong);
    }
  }
  return delivery;
}

std::unique_ptr<JournalReader> open_reader(Disk& disk, const JournalFixture& journal) {
  auto reader = JournalReader::open(disk, journal.root(), JournalFixture::journal_id());
  REQUIRE(reader.ok());
  return *std::move(reader);
}

// 70 records in two blocks, one clean session, so that every used byte can be tested.
constexpr Sequence kSmall = 70;

void build_small(JournalFixture& journal) {
  journal.begin(kSession, 1);
  journal.reserve(kSession, 640);
  journal.write(1, kSmall);
  journal.end(kSession, kSmall, SessionEnd::kClosed);
}

// Flips one bit of every byte, a different one in each.
void for_every_byte(SimDisk& disk, const std::string& path, std::uint64_t begin, std::uint64_t end,
                    const std::function<void(std::uint64_t offset)>& check) {
  for (std::uint64_t offset = begin; offset < end; ++offset) {
    disk.flip_bit(path, offset, static_cast<unsigned>(offset % 8));
    check(offset);
    disk.flip_bit(path, offset, static_cast<unsigned>(offset % 8));
  }
}

void for_every_bit(SimDisk& disk, const std::string& path, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(std::uint64_t offset)>& check) {
  for (std::uint64_t offset = begin; offset < end; ++offset) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      disk.flip_bit(path, offset, bit);
      check(offset);
      disk.flip_bit(path, offset, bit);
    }
  }
}

}  // namespace

TEST_CASE(
    "Every flipped bit of data, header and sums is damage to a reader, never a wrong record") {
  JournalFixture journal;
  build_small(journal);
  const auto disk = simulate(journal);
  const auto reader = open_reader(*disk, journal);
  std::uint64_t flips = 0;
  const auto check = [&](std::uint64_t) {
    REQUIRE(reader->refresh().ok());
    const Delivery delivery = deliver(*reader, journal, {kSmall, kSmall, 1});
    REQUIRE(delivery.wrong == 0);
    REQUIRE(delivery.damaged > 0);
    REQUIRE(delivery.right + delivery.damaged == kSmall);
    ++flips;
  };
  for_every_bit(*disk, journal.file(0, "jnl"), 0, journal.geometry().offset_of(kSmall + 1), check);
  for_every_bit(*disk, journal.file(0, "sum"), 0, 2 * sizeof(SumEntry), check);
  REQUIRE(flips == 8 * (4096 + kSmall * 64 + 32));
  REQUIRE(deliver(*reader, journal, {kSmall, kSmall, 1}).right == kSmall);
}

TEST_CASE("A flipped bit of data, header or sums refuses the start, unless it is beyond durable") {
  JournalFixture journal;
  build_small(journal);
  const auto disk = simulate(journal);
  auto sessions = SessionLog::open(*disk, journal.root());
  REQUIRE(sessions.ok());
  const auto start = [&] {
    return settle(*disk, journal.root(), *sessions, kOtherBoot, RingFixture::none());
  };
  const auto refused = [&](std::uint64_t) { REQUIRE(errc_of(start().status()) == Errc::kDamaged); };
  const auto continued = [&](std::uint64_t) { REQUIRE(start()->next == kSmall + 1); };
  const std::uint64_t end = journal.geometry().offset_of(kSmall + 1);
  for_every_byte(*disk, journal.file(0, "jnl"), 0, end, refused);
  for_every_bit(*disk, journal.file(0, "sum"), 0, 2 * sizeof(SumEntry), refused);
  for_every_bit(*disk, journal.file(0, "jnl"), end, end + 64, continued);
  for_every_bit(*disk, journal.file(0, "sum"), 2 * sizeof(SumEntry), 3 * sizeof(SumEntry),
                continued);
}

TEST_CASE(
    "A flipped bit of one copy of sessions is repaired; the same bit of both refuses the start") {
  JournalFixture journal;
  build_small(journal);
  const auto disk = simulate(journal);
  const std::string first = journal.root() + "/" + kSessionsFileName;
  const std::string copy = first + kCopySuffix;
  const std::uint64_t end = 3 * kSessionEntryBytes;
  for (const std::string& path : {first, copy}) {
    for_every_bit(*disk, path, 0, end, [&](std::uint64_t) {
      REQUIRE(SessionLog::open_read_only(*disk, journal.root())->last()->end->last == kSmall);
    });
    for (std::uint64_t offset = 0; offset < end; ++offset) {
      disk->flip_bit(path, offset, static_cast<unsigned>(offset % 8));
      REQUIRE(settle_on(*disk, journal, RingFixture::none(), kOtherBoot)->next == kSmall + 1);
      REQUIRE(SessionLog::open_read_only(*disk, journal.root())->copy_defects().empty());
    }
  }
  for_every_bit(*disk, first, 0, end, [&](std::uint64_t offset) {
    disk->flip_bit(copy, offset, static_cast<unsigned>(offset % 8));
    const auto opened = SessionLog::open_read_only(*disk, journal.root());
    REQUIRE(errc_of(opened.status()) == Errc::kDamaged);
    disk->flip_bit(copy, offset, static_cast<unsigned>(offset % 8));
  });
}

TEST_CASE("A killed session with any bit flipped is recovered correctly or refused") {
  JournalFixture journal;
  journal.begin(kSession, 1);
  journal.reserve(kSession, 640);
  journal.write(1, kSmall);
  journal.write_slots(kSmall + 1, 75);
  RingFixture ring(journal, kSession, 1);
  ring.publish(1, 90);
  ring.set_words(90, 75, kSmall);
  std::uint64_t refusals = 0;
  std::uint64_t recoveries = 0;
  const auto sweep = [&](const std::string& path, std::uint64_t end, std::uint64_t step) {
    for (std::uint64_t offset = 0; offset < end; offset += step) {
      const auto disk = simulate(journal);
      disk->flip_bit(path, offset, static_cast<unsigned>(offset % 8));
      const auto settled = settle_on(*disk, journal, ring.opener(), JournalFixture::boot_id());
      if (!settled.ok()) {
        REQUIRE(errc_of(settled.status()) == Errc::kDamaged);
        ++refusals;
        continue;
      }
      ++recoveries;
      REQUIRE(settled->next == 91);
      const auto reader = open_reader(*disk, journal);
      REQUIRE(deliver(*reader, journal, *reader->settled_bounds()).right == 90);
    }
  };
  sweep(journal.file(0, "jnl"), journal.geometry().offset_of(95), 37);
  sweep(journal.file(0, "sum"), 48, 1);
  sweep(journal.root() + "/" + kSessionsFileName, 1024, 5);
  REQUIRE(refusals > 0);
  REQUIRE(recoveries > 0);
}

TEST_CASE("The last three records cut at every byte: beyond durable nothing durable is lost") {
  JournalFixture journal;
  constexpr Sequence kDurable = 100;
  constexpr Sequence kArchived = 103;
  journal.begin(kSession, 1);
  journal.reserve(kSession, 640);
  journal.write(1, kDurable);
  journal.write_slots(kDurable + 1, kArchived);
  RingFixture ring(journal, kSession, 1);
  ring.publish(1, kArchived);
  ring.set_words(kArchived, kArchived, kDurable);
  const std::uint64_t begin = journal.geometry().offset_of(kDurable + 1);
  const std::uint64_t end = journal.geometry().offset_of(kArchived + 1);
  for (std::uint64_t offset = begin; offset <= end; ++offset) {
    for (const bool truncated : {true, false}) {
      const auto spoil = [&](SimDisk& disk) {
        const auto file = disk.open(journal.file(0, "jnl"), {OpenMode::kReadWrite});
        const std::vector<std::byte> zeros(end - offset);
        REQUIRE(
            (truncated ? disk.truncate(*file, offset) : disk.write_at(*file, offset, zeros)).ok());
        REQUIRE(disk.sync(*file).ok());
        disk.close(*file);
      };
      const auto killed = simulate(journal);
      spoil(*killed);
      {
        const auto reader = open_reader(*killed, journal);
        REQUIRE(deliver(*reader, journal, {kDurable, kDurable, 1}).right == kDurable);
        // There is no sum beyond durable yet, so zeros after an intact stamp cannot be detected.
        const Delivery live = deliver(*reader, journal, {kDurable, kArchived, 1});
        REQUIRE(live.wrong <= (truncated ? 0 : 1));
      }
      REQUIRE(settle_on(*killed, journal, ring.opener(), JournalFixture::boot_id())->next == 104);
      const auto recovered = open_reader(*killed, journal);
      REQUIRE(deliver(*recovered, journal, *recovered->settled_bounds()).right == kArchived);

      const auto powerless = simulate(journal);
      spoil(*powerless);
      REQUIRE(settle_on(*powerless, journal, RingFixture::none(), kOtherBoot)->next == 641);
      const auto cut = open_reader(*powerless, journal);
      REQUIRE(deliver(*cut, journal, *cut->settled_bounds()).right == kDurable);
      const auto file = powerless->open(journal.file(0, "jnl"), {OpenMode::kRead});
      REQUIRE(*powerless->size(*file) == 4096 + 65536);
    }
  }
}

TEST_CASE("The last three records cut at every byte: below durable it is reported as damage") {
  JournalFixture journal;
  journal.begin(kSession, 1);
  journal.reserve(kSession, 640);
  journal.write(1, 100);
  const std::uint64_t begin = journal.geometry().offset_of(98);
  const std::uint64_t end = journal.geometry().offset_of(101);
  for (std::uint64_t offset = begin; offset < end; ++offset) {
    for (const bool truncated : {true, false}) {
      const auto disk = simulate(journal);
      const auto file = disk->open(journal.file(0, "jnl"), {OpenMode::kReadWrite});
      const std::vector<std::byte> zeros(end - offset);
      REQUIRE(
          (truncated ? disk->truncate(*file, offset) : disk->write_at(*file, offset, zeros)).ok());
      const auto reader = open_reader(*disk, journal);
      const Delivery delivery = deliver(*reader, journal, {100, 100, 1});
      REQUIRE(delivery.wrong == 0);
      REQUIRE(delivery.right == 64);
      REQUIRE(delivery.damaged == 36);
      REQUIRE(errc_of(settle_on(*disk, journal, RingFixture::none(), kOtherBoot).status()) ==
              Errc::kDamaged);
    }
  }
}

TEST_CASE("Sums cut at every byte never make a durable record vanish in silence") {
  JournalFixture journal;
  journal.begin(kSession, 1);
  journal.reserve(kSession, 640);
  journal.write(1, 100);
  for (std::uint64_t bytes = 0; bytes < 256; ++bytes) {
    const auto disk = simulate(journal);
    const auto file = disk->open(journal.file(0, "sum"), {OpenMode::kReadWrite});
    REQUIRE(disk->truncate(*file, bytes).ok());
    const auto settled = settle_on(*disk, journal, RingFixture::none(), kOtherBoot);
    // Without the sum of a partial block, nothing proves that a record was durable.
    if (bytes < 2 * sizeof(SumEntry)) {
      REQUIRE(errc_of(settled.status()) == Errc::kDamaged);
      continue;
    }
    REQUIRE(settled.ok());
    REQUIRE(settled->next == 641);
    const auto reader = open_reader(*disk, journal);
    REQUIRE(deliver(*reader, journal, *reader->settled_bounds()).right == 100);
    REQUIRE(*disk->size(*file) == 256);
  }
}

namespace {

// A killed session in two segments: durable 1000, archived 1100, head 1800.
struct Interrupted {
  Interrupted() : ring(journal, kSession, 1) {
    journal.begin(kSession, 1);
    journal.reserve(kSession, 4096);
    journal.write(1, 1000);
    journal.write_slots(1001, 1100);
    ring.publish(1, 1800);
    ring.set_words(1800, 1100, 1000);
  }
  JournalFixture journal;
  RingFixture ring;
};

enum class Stop { kKill, kPowerCut };

// Settles the journal repeatedly: stopped after no operation, after one, and so on until it
// finishes. `check` gets the disk after the kill or power cut, and whether settling had finished.
void stop_after_every_operation(const JournalFixture& journal, const RingOpener& ring,
                                const Id128& boot, Stop stop, std::uint64_t first_seed,
                                const std::function<void(SimDisk& disk, bool finished)>& check) {
  bool finished = false;
  for (std::uint64_t operations = 0; !finished; ++operations) {
    const auto disk = simulate(journal, first_seed + operations);
    disk->stop_after(operations);
    finished = settle_on(*disk, journal, ring, boot).ok();
    if (stop == Stop::kKill) disk->kill();
    if (stop == Stop::kPowerCut) disk->power_cut();
    check(*disk, finished);
  }
}

}  // namespace

TEST_CASE("Recovery killed at every operation has the same result when run again") {
  Interrupted world;
  world.ring.publish(1801, 2100);  // into segment 2, which is not prepared
  std::uint64_t stops = 0;
  const auto check = [&](SimDisk& disk, bool finished) {
    const auto second =
        settle_on(disk, world.journal, world.ring.opener(), JournalFixture::boot_id());
    REQUIRE(second.ok());
    REQUIRE(second->next == 2101);
    const auto reader = open_reader(disk, world.journal);
    REQUIRE(deliver(*reader, world.journal, *reader->settled_bounds()).right == 2100);
    if (!finished) ++stops;
  };
  stop_after_every_operation(world.journal, world.ring.opener(), JournalFixture::boot_id(),
                             Stop::kKill, 1, check);
  REQUIRE(stops > 20);
}

TEST_CASE("A power cut at any operation of a recovery loses no durable record") {
  Interrupted world;
  std::uint64_t cuts = 0;
  std::uint64_t recovered = 0;
  const auto check = [&](SimDisk& disk, bool finished) {
    const auto second = settle_on(disk, world.journal, RingFixture::none(), kOtherBoot);
    REQUIRE(second.ok());
    const auto reader = open_reader(disk, world.journal);
    const Delivery delivery = deliver(*reader, world.journal, *reader->settled_bounds());
    REQUIRE(delivery.wrong == 0);
    REQUIRE(delivery.damaged == 0);
    REQUIRE(delivery.right >= 1000);
    REQUIRE(delivery.right == second->last_present);
    if (second->how == Settlement::kCut) {
      REQUIRE(second->next == 4097);
      ++cuts;
    } else {
      REQUIRE(second->next == 1801);
      ++recovered;
    }
    if (finished) REQUIRE(delivery.right == 1800);
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    stop_after_every_operation(world.journal, world.ring.opener(), JournalFixture::boot_id(),
                               Stop::kPowerCut, seed * 1000, check);
  }
  REQUIRE(cuts > 0);
  REQUIRE(recovered > 0);
}

TEST_CASE(
    "A segment that recovery creates gets its name only when complete, even with power cuts") {
  Interrupted world;
  world.ring.publish(1801, 2100);  // into segment 2, which is not prepared
  const auto bytes_of = [](Disk& disk, const std::string& path) {
    const auto file = disk.open(path, {OpenMode::kRead});
    INFO(path);
    REQUIRE(file.ok());
    std::vector<std::byte> bytes(*disk.size(*file));
    REQUIRE(*disk.read_at(*file, 0, bytes) == bytes.size());
    disk.close(*file);
    return bytes;
  };
  std::uint64_t named = 0;
  std::uint64_t unnamed = 0;
  const auto check = [&](SimDisk& disk, bool) {
    const std::string jnl = world.journal.file(2, "jnl");
    if (!*disk.exists(jnl)) {
      ++unnamed;
      return;
    }
    ++named;
    const JournalGeometry& geometry = world.journal.geometry();
    const std::vector<std::byte> bytes = bytes_of(disk, jnl);
    REQUIRE(bytes.size() == segment_file_bytes(geometry));
    SegmentHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    REQUIRE(check_segment_header(header, JournalFixture::journal_id(), geometry, 2, jnl).ok());
    REQUIRE(bytes_of(disk, world.journal.file(2, "sum")).size() == sum_file_bytes(geometry));
    REQUIRE(*disk.exists(world.journal.file(2, "idx")));
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    stop_after_every_operation(world.journal, world.ring.opener(), JournalFixture::boot_id(),
                               Stop::kPowerCut, seed * 1000, check);
  }
  REQUIRE(named > 0);
  REQUIRE(unnamed > 0);
}

TEST_CASE("A cut that is stopped at any operation, by a kill or a power cut, has the same result") {
  Interrupted world;
  std::uint64_t stops = 0;
  const auto check = [&](SimDisk& disk, bool finished) {
    const auto second = settle_on(disk, world.journal, RingFixture::none(), kOtherBoot);
    REQUIRE(second.ok());
    REQUIRE(second->next == 4097);
    REQUIRE(second->last_present == 1000);
    REQUIRE(second->last_void == 4096);
    const auto reader = open_reader(disk, world.journal);
    REQUIRE(deliver(*reader, world.journal, *reader->settled_bounds()).right == 1000);
    // The cut part is kept aside in full: 100 records.
    const std::string aside = world.journal.file(0, ("cut-" + fixture_id(kSession).hex()).c_str());
    const auto file = disk.open(aside, {OpenMode::kRead});
    REQUIRE(file.ok());
    std::vector<std::byte> slot(64);
    for (const Sequence n : {Sequence{1001}, Sequence{1024}}) {
      REQUIRE(disk.read_at(*file, world.journal.geometry().offset_of(n), slot).ok());
      REQUIRE(slot == world.journal.slot(n));
    }
    if (!finished) ++stops;
  };
  for (const Stop stop : {Stop::kKill, Stop::kPowerCut}) {
    stop_after_every_operation(world.journal, RingFixture::none(), kOtherBoot, stop, 1, check);
  }
  REQUIRE(stops > 20);
}

TEST_CASE("Records that a cut keeps are synced: a power cut directly afterwards loses none") {
  Interrupted world;
  std::vector<std::unique_ptr<SimDisk>> disks;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) disks.push_back(simulate(world.journal, seed));
  // When the publisher was killed, it had written 24 more records and their sums, but had not
  // synced them.
  world.journal.write(1001, 1024);
  for (const auto& disk : disks) {
    for (const char* const suffix : {"jnl", "sum"}) {
      const std::string bytes = file_bytes(world.journal.file(0, suffix));
      const auto file = disk->open(world.journal.file(0, suffix), {OpenMode::kReadWrite});
      REQUIRE(disk->write_at(*file, 0, std::as_bytes(std::span(bytes))).ok());
      disk->close(*file);
    }
    const auto settled =
        settle_on(*disk, world.journal, RingFixture::none(), JournalFixture::boot_id());
    REQUIRE(settled->last_present == 1024);
    disk->power_cut();
    REQUIRE(settle_on(*disk, world.journal, RingFixture::none(), kOtherBoot)->next == 4097);
    const auto reader = open_reader(*disk, world.journal);
    REQUIRE(deliver(*reader, world.journal, *reader->settled_bounds()).right == 1024);
  }
}

TEST_CASE("A segment whose name was not synced yet is kept by recovery, even with power cuts") {
  Interrupted world;
  std::vector<std::unique_ptr<SimDisk>> disks;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) disks.push_back(simulate(world.journal, seed));
  world.ring.publish(1801, 2100);
  world.journal.prepare(2);
  for (const auto& disk : disks) {
    for (const char* const suffix : {"sum", "jnl"}) {
      REQUIRE(disk->sync_directory(world.journal.journal_directory()).ok());
      const std::string path = world.journal.file(2, suffix);
      const std::string bytes = file_bytes(path);
      const auto file = disk->open(path, {OpenMode::kCreate});
      REQUIRE(disk->write_at(*file, 0, std::as_bytes(std::span(bytes))).ok());
      REQUIRE(disk->sync(*file).ok());
      disk->close(*file);
    }
    REQUIRE(settle_on(*disk, world.journal, world.ring.opener(), JournalFixture::boot_id())->next ==
            2101);
    disk->power_cut();
    REQUIRE(settle_on(*disk, world.journal, RingFixture::none(), kOtherBoot)->next == 2101);
    const auto reader = open_reader(*disk, world.journal);
    REQUIRE(deliver(*reader, world.journal, *reader->settled_bounds()).right == 2100);
  }
}

}  // namespace lapwing
