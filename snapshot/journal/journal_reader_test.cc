#include "snapshot/journal/journal_reader.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "lapwing/error.h"
#include "testing/journal_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kDurable = 2100;  // three segments: 1 to 1024, to 2048, to 3072
constexpr Sequence kArchived = 2150;

// One session, durable up to kDurable, archived up to kArchived.
void build(JournalFixture& journal) {
  journal.begin(11, 1);
  journal.reserve(11, 4096);
  journal.write(1, kDurable);
  journal.write_slots(kDurable + 1, kArchived);
}

const JournalBounds kBounds{kDurable, kArchived, 1};

std::unique_ptr<JournalReader> open_reader(JournalFixture& journal) {
  auto reader = JournalReader::open(journal.disk(), journal.root(), JournalFixture::journal_id());
  REQUIRE(reader.ok());
  return std::move(*reader);
}

// The result of a full pass over n … last: correct records, and the gaps between them.
struct Pass {
  std::uint64_t records = 0;
  std::vector<std::pair<Sequence, Sequence>> gaps;
  std::vector<GapCause> causes;
  std::vector<std::string> details;
};

// Reads to the end of the bounds. Every record must be correct. Fails on a missing or repeated one.
Pass read_all(JournalReader& reader, const JournalFixture& journal, const JournalBounds& bounds,
              Sequence from = 1, std::size_t records_at_once = 100) {
  Pass pass;
  std::vector<std::byte> out(records_at_once * journal.geometry().record_bytes);
  for (Sequence n = from;;) {
    const auto run = reader.read(n, bounds, out);
    REQUIRE(run.ok());
    if (run->gap) {
      REQUIRE(run->count == 0);
      REQUIRE(run->gap_last >= n);
      pass.gaps.emplace_back(n, run->gap_last);
      pass.causes.push_back(run->cause);
      pass.details.push_back(run->detail);
      n = run->gap_last + 1;
      continue;
    }
    if (run->count == 0) {
      REQUIRE(n > bounds.archived);
      return pass;
    }
    for (std::uint64_t i = 0; i < run->count; ++i, ++n, ++pass.records) {
      const auto expected = journal.record(n);
      REQUIRE(std::memcmp(out.data() + i * expected.size(), expected.data(), expected.size()) == 0);
    }
    REQUIRE(n <= bounds.archived + 1);
  }
}

using Gaps = std::vector<std::pair<Sequence, Sequence>>;

}  // namespace

TEST_CASE("Every record up to archived is read once and in order, with any size of a read") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  for (const std::size_t at_once : {1u, 7u, 64u, 5000u}) {
    const Pass pass = read_all(*reader, journal, kBounds, 1, at_once);
    REQUIRE(pass.records == kArchived);
    REQUIRE(pass.gaps.empty());
  }
}

TEST_CASE("Records of every size are read as they were written") {
  for (const std::uint32_t record_bytes : {8u, 13u, 16u, 48u, 56u, 57u, 80u, 120u, 1000u, 4088u}) {
    const std::uint32_t slot_bytes = slot_bytes_for(record_bytes);
    JournalFixture journal({slot_bytes, record_bytes, kSegmentSlotBytesMin / slot_bytes});
    const Sequence last = journal.geometry().segment_slots * 3 / 2;
    journal.begin(11, 1);
    journal.reserve(11, journal.geometry().segment_slots * 2);
    journal.write(1, last);
    const Pass pass = read_all(*open_reader(journal), journal, {last, last, 1});
    REQUIRE(pass.records == last);
    REQUIRE(pass.gaps.empty());
  }
}

TEST_CASE("A read may begin anywhere, go back, and never passes archived") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  for (const Sequence from : {2100u, 5u, 1024u, 1025u, 2149u, 2150u, 64u, 65u}) {
    REQUIRE(read_all(*reader, journal, kBounds, from).records == kArchived - from + 1);
  }
  for (const Sequence archived : {Sequence{1}, Sequence{63}, Sequence{64}, Sequence{2049}}) {
    const auto fresh = open_reader(journal);
    REQUIRE(read_all(*fresh, journal, {archived, archived, 1}).records == archived);
  }
}

TEST_CASE("A read of sequence 0, or into less than a record, is refused") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  REQUIRE(errc_of(reader->read(0, kBounds, out).status()) == Errc::kInvalidArgument);
  out.resize(55);
  REQUIRE(errc_of(reader->read(1, kBounds, out).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A reader keeps up with a journal that grows record by record within a block") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 4096);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(journal.geometry().record_bytes * 10);
  for (Sequence n = 1; n <= 200; ++n) {
    journal.write_slots(n, n);
    if (n % 3 == 0) journal.write_sums(n, n);
    const Sequence durable = n - n % 3;
    REQUIRE(reader->read(n + 1, {durable, n, 1}, out)->count == 0);
    const auto run = reader->read(n, {durable, n, 1}, out);
    REQUIRE(run->count == 1);
    REQUIRE(std::memcmp(out.data(), journal.record(n).data(), 56) == 0);
  }
}

TEST_CASE("A missing slot below archived is damage, and is reported") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  const Pass pass = read_all(*reader, journal, {kDurable, kArchived + 10, 1});
  REQUIRE(pass.records == kArchived);
  REQUIRE(pass.gaps == Gaps{{kArchived + 1, kArchived + 10}});
  REQUIRE(pass.causes[0] == GapCause::kDamaged);
}

TEST_CASE(
    "A flipped bit of a block or its sum loses at most that block, and never yields a wrong "
    "record") {
  JournalFixture journal;
  build(journal);
  const Sequence block_first = 1 + 64 * 5;
  const std::string jnl = journal.file(0, "jnl");
  const std::string sum = journal.file(0, "sum");
  const auto expect_one_damaged_block = [&] {
    const Pass pass = read_all(*open_reader(journal), journal, kBounds);
    REQUIRE(pass.gaps == Gaps{{block_first, block_first + 63}});
    REQUIRE(pass.causes[0] == GapCause::kDamaged);
    REQUIRE(pass.details[0].find(jnl) != std::string::npos);
    REQUIRE(pass.details[0].find("sequences 321 to 384") != std::string::npos);
    REQUIRE(pass.records == kArchived - 64);
  };
  for (std::uint64_t offset = 0; offset < 4096; offset += 61) {
    flip_bit(jnl, journal.geometry().offset_of(block_first) + offset, offset % 8);
    expect_one_damaged_block();
    flip_bit(jnl, journal.geometry().offset_of(block_first) + offset, offset % 8);
  }
  for (unsigned bit = 0; bit < 8 * sizeof(SumEntry); ++bit) {
    flip_bit(sum, 5 * sizeof(SumEntry) + bit / 8, bit % 8);
    expect_one_damaged_block();
    flip_bit(sum, 5 * sizeof(SumEntry) + bit / 8, bit % 8);
  }
  REQUIRE(read_all(*open_reader(journal), journal, kBounds).gaps.empty());
}

TEST_CASE("A durable block beyond its sum is damage, and a sum may cover more") {
  JournalFixture journal;
  build(journal);
  const auto block = static_cast<std::uint64_t>((kDurable - 1) / 64);
  const Sequence block_first = block * 64 + 1;
  journal.write_sum(block, static_cast<std::uint32_t>(kDurable - block_first));
  REQUIRE(read_all(*open_reader(journal), journal, kBounds).gaps == Gaps{{kDurable, 2112}});
  journal.write_sum(block, 64);
  REQUIRE(read_all(*open_reader(journal), journal, kBounds).gaps.empty());
}

TEST_CASE("A sum that matches wrong stamps does not make them valid") {
  JournalFixture journal;
  build(journal);
  const std::uint64_t stamp = 2 * 333;
  put_bytes(journal.file(0, "jnl"), journal.geometry().offset_of(334), &stamp, sizeof stamp);
  journal.write_sum(5, 64);
  const Pass pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps == Gaps{{334, 384}});
  REQUIRE(pass.details[0].find("sequence 334") != std::string::npos);
}

TEST_CASE("Sums and blocks of another offset or journal are not accepted") {
  JournalFixture journal;
  build(journal);
  const std::string whole_sum = file_bytes(journal.file(0, "sum"));
  put_bytes(journal.file(0, "sum"), 5 * 16, whole_sum.data() + 6 * 16, 16);
  const std::string jnl = file_bytes(journal.file(0, "jnl"));
  put_bytes(journal.file(0, "jnl"), 4096 + 5 * 4096, jnl.data() + 4096 + 6 * 4096, 4096);
  REQUIRE(read_all(*open_reader(journal), journal, kBounds).gaps == Gaps{{321, 384}});
}

TEST_CASE("A damaged header loses its segment, and is reported") {
  JournalFixture journal;
  build(journal);
  for (const std::uint64_t offset : {0u, 9u, 20u, 40u, 50u, 100u, 4000u, 4090u}) {
    flip_bit(journal.file(1, "jnl"), offset, 2);
    const Pass pass = read_all(*open_reader(journal), journal, kBounds);
    REQUIRE(pass.gaps == Gaps{{1025, 2048}});
    REQUIRE(pass.details[0].find(journal.file(1, "jnl")) != std::string::npos);
    flip_bit(journal.file(1, "jnl"), offset, 2);
  }
}

TEST_CASE("A missing segment is damage, even the first one, unless retention removed it") {
  JournalFixture journal;
  build(journal);
  std::filesystem::remove(journal.file(1, "jnl"));
  Pass pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps == Gaps{{1025, 2048}});
  REQUIRE(pass.causes[0] == GapCause::kDamaged);
  REQUIRE(pass.details[0].find("missing") != std::string::npos);

  std::filesystem::remove(journal.file(0, "jnl"));
  pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps == Gaps{{1, 2048}});
  REQUIRE(pass.causes[0] == GapCause::kDamaged);

  journal.record_retention(2);
  pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps == Gaps{{1, 2048}});
  REQUIRE(pass.causes[0] == GapCause::kPruned);
  REQUIRE(pass.records == kArchived - 2048);
}

TEST_CASE("A journal that is moved while it is read can still be read") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  const std::string elsewhere = journal.root() + "-elsewhere";
  std::filesystem::rename(journal.root(), elsewhere);
  const Pass pass = read_all(*reader, journal, kBounds);
  std::filesystem::rename(elsewhere, journal.root());
  REQUIRE(pass.records == kArchived);
  REQUIRE(pass.gaps.empty());
}

TEST_CASE("A missing file is not final damage: the next read searches for it again") {
  const std::string suffix = GENERATE("jnl", "sum");
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  const std::string file = journal.file(1, suffix.c_str());
  std::filesystem::rename(file, file + ".aside");
  std::vector<std::byte> out(56);
  const auto hole = reader->read(1025, kBounds, out);
  REQUIRE(hole.ok());
  REQUIRE(hole->gap);
  REQUIRE(hole->missing_file);
  REQUIRE(hole->detail.find("missing") != std::string::npos);
  std::filesystem::rename(file + ".aside", file);
  REQUIRE(reader->read(1025, kBounds, out)->count == 1);
  REQUIRE(out == journal.record(1025));
}

TEST_CASE("The error about a missing file reports that the journal was moved or removed") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  std::filesystem::remove(journal.file(1, "jnl"));
  const std::string elsewhere = journal.root() + "-elsewhere";
  std::filesystem::rename(journal.root(), elsewhere);
  std::vector<std::byte> out(56);
  auto hole = reader->read(1025, kBounds, out);
  REQUIRE(hole->directory == AnchorState::kMoved);
  REQUIRE(hole->detail.find("was moved away") != std::string::npos);
  std::filesystem::remove_all(elsewhere);
  std::filesystem::create_directory(journal.root());
  hole = reader->read(1025, kBounds, out);
  REQUIRE(hole->directory == AnchorState::kRemoved);
  REQUIRE(hole->detail.find("was removed") != std::string::npos);
}

TEST_CASE("Damaged bytes are not mistaken for a missing file") {
  JournalFixture journal;
  build(journal);
  flip_bit(journal.file(1, "jnl"), 4096 + 100, 3);
  std::vector<std::byte> out(56);
  const auto hole = open_reader(journal)->read(1025, kBounds, out);
  REQUIRE(hole->gap);
  REQUIRE_FALSE(hole->missing_file);
}

TEST_CASE("Below the oldest retained sequence, the gap is pruned although the file still exists") {
  JournalFixture journal;
  build(journal);
  const Pass pass = read_all(*open_reader(journal), journal, {kDurable, kArchived, 1025});
  REQUIRE(pass.gaps == Gaps{{1, 1024}});
  REQUIRE(pass.causes[0] == GapCause::kPruned);
}

TEST_CASE("A reader that has a segment open keeps it when it is pruned") {
  JournalFixture journal({64, 56, 8192});  // a segment is read in two runs
  journal.begin(1, 1);
  journal.reserve(1, 16384);
  journal.write(1, 8200);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  REQUIRE(reader->read(1, {8200, 8200, 1}, out)->count == 1);
  std::filesystem::remove(journal.file(0, "jnl"));
  std::filesystem::remove(journal.file(0, "sum"));
  for (Sequence n = 2; n <= 8200; ++n) {
    const auto run = reader->read(n, {8200, 8200, 8193}, out);
    REQUIRE(run->count == 1);
    REQUIRE(out == journal.record(n));
  }
  REQUIRE(reader->read(1, {8200, 8200, 8193}, out)->gap);  // no longer open
}

TEST_CASE("A missing sum file is damage of durable records, and not of later ones") {
  JournalFixture journal;
  build(journal);
  std::filesystem::remove(journal.file(2, "sum"));
  const Pass pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps == Gaps{{2049, 2112}});
  REQUIRE(pass.records == kArchived - 64);
}

TEST_CASE("A truncated file is damage from the cut on") {
  JournalFixture journal;
  build(journal);
  std::filesystem::resize_file(journal.file(1, "jnl"), 4096 + 100 * 64);
  const Pass pass = read_all(*open_reader(journal), journal, kBounds);
  REQUIRE(pass.gaps.front().first == 1025 + 64);
  REQUIRE(pass.gaps.back().second == 2048);
  REQUIRE(pass.records == kArchived - (1024 - 64));
}

TEST_CASE("A void has its exact bounds and lies between the records of two sessions") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 1920);
  journal.write(1, 100);
  journal.end(11, 100, SessionEnd::kCut, 1920);
  journal.begin(12, 1921);
  journal.reserve(12, 4096);
  journal.write(1921, 3000);
  const auto reader = open_reader(journal);
  const Pass pass = read_all(*reader, journal, {3000, 3000, 1});
  REQUIRE(pass.gaps == Gaps{{101, 1920}});
  REQUIRE(pass.causes[0] == GapCause::kVoid);
  REQUIRE(pass.records == 3000 - 1820);
  std::vector<std::byte> out(56);
  const auto inside = reader->read(1500, {3000, 3000, 1}, out);
  REQUIRE(inside->gap_last == 1920);
  REQUIRE(inside->cause == GapCause::kVoid);
}

TEST_CASE("A void that was recorded meanwhile is visible after a refresh") {
  JournalFixture journal;
  build(journal);
  const auto reader = open_reader(journal);
  std::vector<std::byte> out(56);
  REQUIRE(reader->read(kDurable + 1, kBounds, out)->count == 1);
  journal.end(11, kDurable, SessionEnd::kCut, 4096);
  REQUIRE(reader->refresh().ok());
  const auto run = reader->read(kDurable + 1, *reader->settled_bounds(), out);
  REQUIRE(run->gap);
  REQUIRE(run->cause == GapCause::kVoid);
  REQUIRE(run->gap_last == 4096);
}

TEST_CASE("Two sessions that share a block are one journal") {
  JournalFixture journal;
  journal.begin(11, 1);
  journal.reserve(11, 640);
  journal.write(1, 100);
  journal.end(11, 100, SessionEnd::kClosed);
  journal.begin(12, 101);
  journal.reserve(12, 640);
  journal.write(101, 300);
  const auto reader = open_reader(journal);
  REQUIRE(read_all(*reader, journal, *reader->settled_bounds()).records == 300);
}

TEST_CASE("Without a publisher, the sums show the end of the journal, unless an end is recorded") {
  JournalFixture journal;
  build(journal);
  auto bounds = open_reader(journal)->settled_bounds();
  REQUIRE(bounds->durable == kDurable);
  REQUIRE(bounds->archived == kDurable);
  REQUIRE(bounds->oldest == 1);
  journal.retain_from_segment(1);
  bounds = open_reader(journal)->settled_bounds();
  REQUIRE(bounds->durable == kDurable);
  REQUIRE(bounds->oldest == 1025);
  journal.end(11, 2050, SessionEnd::kFailed);
  REQUIRE(open_reader(journal)->settled_bounds()->durable == 2050);
}

TEST_CASE("Sums after a break prove nothing") {
  JournalFixture journal;
  build(journal);
  const SumEntry none{};
  put_bytes(journal.file(0, "sum"), 10 * sizeof none, &none, sizeof none);
  REQUIRE(open_reader(journal)->settled_bounds()->durable == 640);
  journal.write_sum(10, 3);
  REQUIRE(open_reader(journal)->settled_bounds()->durable == 643);
}

TEST_CASE("A damaged sum does not hide later records from a reader") {
  JournalFixture journal;
  build(journal);
  flip_bit(journal.file(0, "sum"), 10 * sizeof(SumEntry) + 9, 0);
  const auto reader = open_reader(journal);
  const auto bounds = *reader->settled_bounds();
  REQUIRE(bounds.durable == kDurable);
  REQUIRE(read_all(*reader, journal, bounds).gaps == Gaps{{641, 704}});
}

TEST_CASE("A journal that no session names has no reader") {
  JournalFixture journal;
  REQUIRE(errc_of(JournalReader::open(journal.disk(), journal.root(), fixture_id(8)).status()) ==
          Errc::kNotFound);
  build(journal);
  REQUIRE(errc_of(JournalReader::open(journal.disk(), journal.root(), fixture_id(8)).status()) ==
          Errc::kNotFound);
}

TEST_CASE("A segment that is a link is not followed") {
  JournalFixture journal;
  build(journal);
  const std::string moved = journal.root() + "/moved";
  std::filesystem::rename(journal.file(1, "jnl"), moved);
  std::filesystem::create_symlink(moved, journal.file(1, "jnl"));
  REQUIRE(read_all(*open_reader(journal), journal, kBounds).gaps == Gaps{{1025, 2048}});
}

TEST_CASE("A time finds its record or one shortly before, never a later one") {
  JournalFixture journal;
  build(journal);
  // One entry per 50 records, 1,000 ns apart. Record n was published no later than n × 20 ns.
  for (Sequence n = 50; n <= 2100; n += 50) journal.write_time(n, n * 20);
  const auto expect = [&](std::uint64_t wall_ns, Sequence oldest = 1) {
    return *open_reader(journal)->find_time(wall_ns, {kDurable, kArchived, oldest});
  };
  REQUIRE(expect(0) == 1);
  REQUIRE(expect(1000) == 1);  // by time 1,000 the first 50 were published, perhaps exactly then
  REQUIRE(expect(1001) == 51);
  REQUIRE(expect(20'000) == 951);
  REQUIRE(expect(20'001) == 1001);
  REQUIRE(expect(42'000) == 2051);
  REQUIRE(expect(1'000'000) == 2101);
  REQUIRE(expect(1001, 500) == 500);
  for (std::uint64_t wall_ns = 1; wall_ns < 43'000; wall_ns += 333) {
    const Sequence right = (wall_ns - 1) / 1000 * 50 + 1;
    REQUIRE(expect(wall_ns) == std::min<Sequence>(right, 2101));
  }
  // If entries are damaged or files are missing, the result can only get lower.
  for (std::uint64_t i = 3; i < 12; ++i) flip_bit(journal.file(1, "idx"), i * 32 + 4, 3);
  flip_bit(journal.file(2, "idx"), 1, 0);
  for (std::uint64_t wall_ns = 1; wall_ns < 43'000; wall_ns += 333) {
    REQUIRE(expect(wall_ns) <= std::min<Sequence>((wall_ns - 1) / 1000 * 50 + 1, 2101));
  }
  REQUIRE(expect(21'001) == 1051);
  std::filesystem::remove(journal.file(1, "idx"));
  REQUIRE(expect(30'000) == 1001);
  REQUIRE(expect(1'000'000) == 2101);
  std::filesystem::remove(journal.file(0, "idx"));
  std::filesystem::remove(journal.file(2, "idx"));
  REQUIRE(expect(1'000'000) == 1);
}

TEST_CASE("If the clock was set back between sessions, a time finds the first match") {
  JournalFixture journal;
  build(journal);
  for (Sequence n = 100; n <= 1000; n += 100) journal.write_time(n, n);
  for (Sequence n = 1100; n <= 2100; n += 100) journal.write_time(n, n - 600);
  const auto reader = open_reader(journal);
  const auto place = [&](std::uint64_t wall_ns) { return *reader->find_time(wall_ns, kBounds); };
  REQUIRE(place(450) == 401);
  REQUIRE(place(850) == 801);
  REQUIRE(place(1001) == 1601);
  REQUIRE(place(5000) == 2101);
}

}  // namespace lapwing
