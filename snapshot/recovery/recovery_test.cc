#include "snapshot/recovery/recovery.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "lapwing/error.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/retention_file.h"
#include "testing/journal_fixture.h"
#include "testing/ring_fixture.h"

namespace lapwing {
namespace {

constexpr std::uint8_t kSession = 11;
const Id128 kOtherBoot = fixture_id(98);

absl::StatusOr<Settled> settle_with(JournalFixture& journal, const RingOpener& ring,
                                    const Id128& boot = JournalFixture::boot_id()) {
  auto sessions = SessionLog::open(journal.disk(), journal.root());
  REQUIRE(sessions.ok());
  return settle(journal.disk(), journal.root(), *sessions, boot, ring);
}

SessionRecord last_session(JournalFixture& journal) {
  const auto sessions = SessionLog::open_read_only(journal.disk(), journal.root());
  REQUIRE(sessions.ok());
  return *sessions->last();
}

// Returns every sequence in the settled journal, in order. Each record must be correct.
std::vector<Sequence> records_of(JournalFixture& journal) {
  auto reader = JournalReader::open(journal.disk(), journal.root(), JournalFixture::journal_id());
  REQUIRE(reader.ok());
  const auto bounds = (*reader)->settled_bounds();
  REQUIRE(bounds.ok());
  std::vector<Sequence> sequences;
  std::vector<std::byte> out(64 * journal.geometry().record_bytes);
  for (Sequence n = bounds->oldest; n <= bounds->archived;) {
    const auto run = (*reader)->read(n, *bounds, out);
    REQUIRE(run.ok());
    REQUIRE((run->count > 0) != run->gap);
    if (run->gap) REQUIRE(run->cause == GapCause::kVoid);
    for (std::uint64_t i = 0; i < run->count; ++i) {
      const auto expected = journal.record(n + i);
      REQUIRE(std::memcmp(out.data() + i * expected.size(), expected.data(), expected.size()) == 0);
      sequences.push_back(n + i);
    }
    n = run->gap ? run->gap_last + 1 : n + run->count;
  }
  return sequences;
}

std::vector<Sequence> sequences(Sequence first, Sequence last) {
  std::vector<Sequence> all;
  for (Sequence n = first; n <= last; ++n) all.push_back(n);
  return all;
}

// Returns every file below the root with its bytes.
std::map<std::string, std::string> all_files(const JournalFixture& journal) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(journal.root())) {
    if (entry.is_regular_file()) files[entry.path().string()] = file_bytes(entry.path().string());
  }
  return files;
}

// A killed publisher's journal and, if available, its ring: reserved through 4096, durable to 100,
// archived to 300, published to 777, with a prepared segment.
struct Killed {
  Killed() {
    journal.session(kSession, 1, {.reserved = 4096, .durable = 100, .archived = 300});
    journal.prepare(1);
    ring.reach(777, 300, 100);
  }
  JournalFixture journal;
  RingFixture ring{journal, kSession, 1};
};

// Requires that settling recovers every record from `first` to `last`, and continues after `last`.
void require_recovered(JournalFixture& journal, RingFixture& ring, Sequence last,
                       Sequence first = 1) {
  const auto settled = settle_with(journal, ring.opener());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kRecovered);
  REQUIRE(settled->next == last + 1);
  REQUIRE(records_of(journal) == sequences(first, last));
}

}  // namespace

TEST_CASE("Row fresh: no session yet is a new journal at 1") {
  JournalFixture journal;
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kFresh);
  REQUIRE(settled->journal_id.is_zero());
  REQUIRE_FALSE(settled->geometry);
  REQUIRE(settled->next == 1);
  REQUIRE(settled->oldest == 1);
}

TEST_CASE("Row failed: a new journal at 1, the old one untouched, damaged or not") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  journal.end(kSession, 100, SessionEnd::kFailed);
  flip_bit(journal.file(0, "jnl"), 5000, 1);
  const auto before = all_files(journal);
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kReset);
  REQUIRE(settled->journal_id.is_zero());
  REQUIRE(settled->next == 1);
  REQUIRE(settled->ring_path == "ring-11");
  REQUIRE(all_files(journal) == before);
}

TEST_CASE("Rows failed: the live delivery in a killed publisher's ring is kept for readers") {
  const bool is_end_recorded = GENERATE(true, false);
  const bool has_batch = GENERATE(true, false);
  Killed killed;
  killed.ring.fail(JournalState::kFailed);
  if (is_end_recorded) killed.journal.end(kSession, 100, SessionEnd::kFailed);
  if (has_batch) killed.ring.finish_slot(778);  // head does not cover it yet
  const auto settled = settle_with(killed.journal, killed.ring.opener());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kReset);
  const auto log = SessionLog::open_read_only(killed.journal.disk(), killed.journal.root());
  REQUIRE(log.ok());
  const JournalFiles files =
      journal_files_of(killed.journal.disk(), killed.journal.root(), log->last()->begin);
  CHECK(read_published(files).value() == (has_batch ? 778 : 777));
  CHECK(read_retained_from(files).value() == 1);
}

TEST_CASE("Row end: the journal continues after it, and after its void") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 640, .durable = 100});
  SECTION("closed") {
    journal.end(kSession, 100, SessionEnd::kClosed);
    const auto settled = settle_with(journal, RingFixture::none());
    REQUIRE(settled.ok());
    REQUIRE(settled->how == Settlement::kContinued);
    REQUIRE(settled->journal_id == JournalFixture::journal_id());
    REQUIRE(*settled->geometry == journal.geometry());
    REQUIRE(settled->next == 101);
    REQUIRE(settled->last_present == 100);
    REQUIRE(settled->last_void == 0);
    REQUIRE_FALSE(settled->new_void);
  }
  SECTION("cut, and then a session that left nothing") {
    journal.end(kSession, 100, SessionEnd::kCut, 640);
    journal.begin(12, 641);
    journal.end(12, 640, SessionEnd::kClosed);
    const auto settled = settle_with(journal, RingFixture::none());
    REQUIRE(settled.ok());
    REQUIRE(settled->next == 641);
    REQUIRE(settled->last_present == 100);
    REQUIRE(settled->last_void == 640);
    REQUIRE(settled->oldest == 1);
  }
}

TEST_CASE("Row unused: without a reservation nothing was published, and the sequence continues") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 640, .durable = 100});
  journal.end(kSession, 100, SessionEnd::kClosed);
  journal.begin(12, 101);
  for (const Id128& boot : {JournalFixture::boot_id(), kOtherBoot}) {
    const auto settled = settle_with(journal, RingFixture::none(), boot);
    REQUIRE(settled.ok());
    REQUIRE(settled->next == 101);
    REQUIRE_FALSE(settled->new_void);
    REQUIRE(last_session(journal).end->last == 100);
  }
}

TEST_CASE("Row failed on page 1: the end records the failure at the announced durable sequence") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture ring(journal, kSession, 1);
  ring.reach(400, 300, 80);
  ring.fail(GENERATE(JournalState::kFailed, JournalState::kShed));
  const auto settled = settle_with(journal, ring.opener());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kReset);
  REQUIRE(settled->next == 1);
  REQUIRE(last_session(journal).end->how == SessionEnd::kFailed);
  REQUIRE(last_session(journal).end->last == 80);
  REQUIRE(settle_with(journal, ring.opener())->how == Settlement::kReset);
}

TEST_CASE("Row killed: all records that only the ring contained are in the journal") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture& ring = killed.ring;
  const auto settled = settle_with(journal, ring.opener());
  REQUIRE(settled.ok());
  REQUIRE(ring.opened_path == "ring-11");
  REQUIRE(settled->how == Settlement::kRecovered);
  REQUIRE(settled->next == 778);
  REQUIRE(settled->last_present == 777);
  REQUIRE(settled->ring_path == "ring-11");
  REQUIRE_FALSE(settled->new_void);
  REQUIRE(last_session(journal).end->how == SessionEnd::kRecovered);
  REQUIRE(records_of(journal) == sequences(1, 777));
}

TEST_CASE("A ring that was lapped joins the archived slots on disk") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 100, .archived = 2500});
  RingFixture ring(journal, kSession, 1);
  ring.reach(3000, 2500, 100);
  const auto settled = settle_with(journal, ring.opener());
  REQUIRE(settled->how == Settlement::kRecovered);
  REQUIRE(records_of(journal) == sequences(1, 3000));
}

TEST_CASE("Segments that were not prepared are created, complete and with their companions") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192});
  RingFixture ring(journal, kSession, 1, 4096);
  ring.publish(1, 2500);
  require_recovered(journal, ring, 2500);
  for (const std::uint64_t segment : {0u, 1u, 2u}) {
    REQUIRE(std::filesystem::file_size(journal.file(segment, "jnl")) == 4096 + 65536);
    REQUIRE(std::filesystem::file_size(journal.file(segment, "sum")) == 256);
    REQUIRE(std::filesystem::exists(journal.file(segment, "idx")));
  }
  REQUIRE_FALSE(std::filesystem::exists(journal.file(3, "jnl")));
}

TEST_CASE("A record that was ready before head moved is kept; one that was being written is not") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture ring(journal, kSession, 1);
  ring.reach(500, 300, 100);
  SECTION("killed between W3 and W4") {
    ring.finish_slot(501);
    require_recovered(journal, ring, 501);
  }
  SECTION("killed within a batch, before head moved over it") {
    for (Sequence n = 501; n <= 756; ++n) ring.finish_slot(n);
    ring.begin_slot(757);
    require_recovered(journal, ring, 756);
  }
  SECTION("killed between W1 and W3") {
    ring.begin_slot(501);
    require_recovered(journal, ring, 500);
  }
}

TEST_CASE("Slots on disk beyond head are not records, and are removed by recovery") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  journal.write_slots(301, 505);
  RingFixture ring(journal, kSession, 1);
  ring.reach(500, 300, 100);
  require_recovered(journal, ring, 500);
  const std::string data = file_bytes(journal.file(0, "jnl"));
  REQUIRE(data.find_first_not_of('\0', journal.geometry().offset_of(501)) == std::string::npos);
}

TEST_CASE("The slot that was being overwritten when the publisher died is taken from disk") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 100, .archived = 1100});
  RingFixture ring(journal, kSession, 1);
  ring.reach(2048, 1100, 100);
  ring.begin_slot(2049);  // overwrites 1025
  require_recovered(journal, ring, 2048);
}

TEST_CASE("Recovery at every distance between durable, archived and head keeps every record") {
  for (const Sequence durable : {0u, 1u, 63u, 64u, 65u, 1000u, 1023u, 1024u, 1025u}) {
    for (const Sequence behind : {0u, 1u, 64u, 100u}) {
      for (const Sequence beyond : {0u, 1u, 63u, 64u, 500u}) {
        JournalFixture journal;
        const Sequence archived = durable + behind;
        const Sequence head = archived + beyond;
        journal.session(kSession, 1, {.reserved = 8192, .durable = durable, .archived = archived});
        RingFixture ring(journal, kSession, 1);
        ring.reach(head, archived, durable);
        require_recovered(journal, ring, head);
      }
    }
  }
}

TEST_CASE("A second session in the same block keeps the first one's records") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 640, .durable = 100});
  journal.end(kSession, 100, SessionEnd::kClosed);
  journal.session(12, 101, {.reserved = 640, .durable = 105});
  RingFixture ring(journal, 12, 101);
  ring.reach(130, 105, 105);
  require_recovered(journal, ring, 130);
}

TEST_CASE("A hole between disk and ring is not bridged: the journal is cut at durable") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 100, .archived = 1400});
  RingFixture ring(journal, kSession, 1);
  ring.reach(2500, 1500, 100);  // holds 1477 to 2500
  const auto settled = settle_with(journal, ring.opener());
  REQUIRE(settled->how == Settlement::kCut);
  REQUIRE(settled->next == 8193);
  REQUIRE(records_of(journal) == sequences(1, 100));
}

TEST_CASE("A ring of another session, journal or geometry is ignored") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture& ring = killed.ring;
  switch (GENERATE(0, 1, 2)) {
    case 0:
      ring.header().session_id = fixture_id(50);
      break;
    case 1:
      ring.header().journal_id = fixture_id(50);
      break;
    default:
      ring.header().record_bytes = 48;
      break;
  }
  REQUIRE(settle_with(journal, ring.opener())->how == Settlement::kCut);
}

TEST_CASE("A ring file that cannot be read prevents the start, and the error contains a remedy") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  const auto before = all_files(journal);
  const auto settled =
      settle_with(journal, [](const std::string& path) -> absl::StatusOr<std::optional<RingImage>> {
        return make_error(Errc::kNotPermitted, "no right to open " + path);
      });
  REQUIRE(errc_of(settled.status()) == Errc::kNotPermitted);
  REQUIRE(std::string(settled.status().message()).find("moved away") != std::string::npos);
  REQUIRE(all_files(journal) == before);
}

TEST_CASE("Row cut: another boot or no ring file ends at durable, the rest is a void") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture& ring = killed.ring;
  const std::string archived = file_bytes(journal.file(0, "jnl"));
  const bool other_boot = GENERATE(true, false);
  const auto settled = other_boot ? settle_with(journal, ring.opener(), kOtherBoot)
                                  : settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->how == Settlement::kCut);
  REQUIRE(settled->next == 4097);
  REQUIRE(settled->last_present == 100);
  REQUIRE(settled->new_void == std::pair<Sequence, Sequence>{101, 4096});
  const SessionRecord session = last_session(journal);
  REQUIRE(session.end->how == SessionEnd::kCut);
  REQUIRE(session.end->void_first == 101);
  REQUIRE(session.end->void_last == 4096);
  REQUIRE(records_of(journal) == sequences(1, 100));

  // The cut part is kept aside at its offsets, and zeroed in place. The file has not shrunk.
  const std::string cut = journal.file(0, ("cut-" + fixture_id(kSession).hex()).c_str());
  const std::string now = file_bytes(journal.file(0, "jnl"));
  const std::uint64_t offset = journal.geometry().offset_of(101);
  REQUIRE(now.size() == archived.size());
  REQUIRE(now.substr(0, offset) == archived.substr(0, offset));
  // The space after the last block is released, because the next session begins elsewhere.
  const auto jnl = open_file(journal.disk(), journal.file(0, "jnl"), {});
  REQUIRE(journal.disk().allocated_bytes(jnl->get()).value() < archived.size() / 2);
  REQUIRE(now.find_first_not_of('\0', offset) == std::string::npos);
  const std::string aside = file_bytes(cut);
  REQUIRE(aside.size() == journal.geometry().offset_of(301));
  REQUIRE(aside.substr(0, 4096) == archived.substr(0, 4096));
  REQUIRE(aside.substr(offset) == archived.substr(offset, aside.size() - offset));
  // The prepared blank segment would be completely void, so it was removed.
  REQUIRE_FALSE(std::filesystem::exists(journal.file(1, "jnl")));
  REQUIRE_FALSE(std::filesystem::exists(journal.file(1, "sum")));
}

TEST_CASE("A cut keeps whole segments beyond durable aside and drops their names") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 1024, .archived = 2100});
  const std::string second = file_bytes(journal.file(1, "jnl"));
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled->next == 8193);
  REQUIRE(records_of(journal) == sequences(1, 1024));
  REQUIRE_FALSE(std::filesystem::exists(journal.file(1, "jnl")));
  REQUIRE_FALSE(std::filesystem::exists(journal.file(2, "jnl")));
  REQUIRE(file_bytes(journal.file(1, ("cut-" + fixture_id(kSession).hex()).c_str())) == second);
}

TEST_CASE("A cut without durable records leaves no segment and a void from the first") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 640, .archived = 30});
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled->new_void == std::pair<Sequence, Sequence>{1, 640});
  REQUIRE(settled->next == 641);
  REQUIRE(settled->oldest == 1);
  REQUIRE(settled->last_present == 0);
  REQUIRE_FALSE(std::filesystem::exists(journal.file(0, "jnl")));
}

TEST_CASE("A cut at the very end of the reservation has no void") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 640, .durable = 640});
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled->how == Settlement::kCut);
  REQUIRE_FALSE(settled->new_void);
  REQUIRE(settled->next == 641);
}

TEST_CASE("After several cuts, sessions and voids alternate, and no sequence is used twice") {
  JournalFixture journal;
  Sequence next = 1;
  std::vector<Sequence> expected;
  for (std::uint8_t session = 20; session < 26; ++session) {
    journal.begin(session, next);
    const Sequence through = (next + 700) / 64 * 64;
    journal.reserve(session, through);
    const Sequence durable = next + 37 * (session - 20u) % 200;
    journal.write(next, durable);
    journal.write_slots(durable + 1, durable + 50);
    for (Sequence n = next; n <= durable; ++n) expected.push_back(n);
    const auto settled = settle_with(journal, RingFixture::none(), kOtherBoot);
    REQUIRE(settled.ok());
    REQUIRE(settled->next == through + 1);
    next = settled->next;
    REQUIRE(records_of(journal) == expected);
  }
}

TEST_CASE("Sums after a break that a power cut kept are not durable and are zeroed") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 4096, .durable = 640});
  const SumEntry none{};
  put_bytes(journal.file(0, "sum"), 4 * sizeof none, &none, sizeof none);
  REQUIRE(settle_with(journal, RingFixture::none(), kOtherBoot)->last_present == 256);
  REQUIRE(file_bytes(journal.file(0, "sum")).find_first_not_of('\0', 4 * 16) == std::string::npos);
  REQUIRE(records_of(journal) == sequences(1, 256));
}

TEST_CASE("Row damage: a refusal names file and sequences and changes nothing") {
  Killed killed;
  JournalFixture& journal = killed.journal;
  RingFixture& ring = killed.ring;
  const std::string jnl = journal.file(0, "jnl");
  const std::string sum = journal.file(0, "sum");
  const auto require_refusal = [&](const RingOpener& opener, const std::string& named) {
    const auto before = all_files(journal);
    const auto settled = settle_with(journal, opener);
    REQUIRE(errc_of(settled.status()) == Errc::kDamaged);
    const std::string text(settled.status().message());
    CHECK(text.find(named) != std::string::npos);
    CHECK(text.find("sequences") != std::string::npos);
    CHECK(text.find("lapwing repair") != std::string::npos);
    REQUIRE(all_files(journal) == before);
  };
  SECTION("a slot, a header, a sum in the middle, the last sum") {
    struct Place {
      std::string file;
      std::uint64_t offset;
    };
    for (const Place& place : {Place{jnl, journal.geometry().offset_of(70)}, Place{jnl, 40},
                               Place{sum, 8}, Place{sum, 16 + 8}}) {
      flip_bit(place.file, place.offset, 0);
      require_refusal(ring.opener(), place.file);
      require_refusal(RingFixture::none(), place.file);
      flip_bit(place.file, place.offset, 0);
    }
    REQUIRE(settle_with(journal, ring.opener()).ok());
  }
  SECTION("a file of sums that is gone") {
    std::filesystem::remove(sum);
    require_refusal(ring.opener(), sum);
    require_refusal(RingFixture::none(), sum);
  }
  SECTION("sums that end before what page 1 had announced") {
    ring.set_words(777, 300, 120);
    require_refusal(ring.opener(), sum);
  }
  SECTION("a segment that is gone before it was wholly durable, so not by retention") {
    std::filesystem::remove(jnl);
    require_refusal(ring.opener(), jnl);
  }
}

TEST_CASE("A segment missing in the middle refuses the start, but a pruned one does not") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 3500});
  journal.end(kSession, 3500, SessionEnd::kClosed);
  journal.retain_from_segment(1);
  auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->oldest == 1025);
  REQUIRE(settled->next == 3501);
  std::filesystem::remove(journal.file(2, "jnl"));
  settled = settle_with(journal, RingFixture::none());
  REQUIRE(errc_of(settled.status()) == Errc::kDamaged);
  REQUIRE(std::string(settled.status().message()).find(journal.file(2, "jnl")) !=
          std::string::npos);
}

TEST_CASE("A start checks every header of the last session, and that no older segment is missing") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 2500});
  journal.end(kSession, 2500, SessionEnd::kClosed);
  journal.session(12, 2501, {.reserved = 8192, .durable = 5500});
  journal.end(12, 5500, SessionEnd::kClosed);
  REQUIRE(settle_with(journal, RingFixture::none())->next == 5501);
  std::string spoiled = journal.file(3, "jnl");
  SECTION("a header") {
    flip_bit(spoiled, 100, 0);
  }
  SECTION("a segment of the session before") {
    spoiled = journal.file(1, "jnl");
    std::filesystem::remove(spoiled);
  }
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(errc_of(settled.status()) == Errc::kDamaged);
  REQUIRE(std::string(settled.status().message()).find(spoiled) != std::string::npos);
}

TEST_CASE("A journal whose segments were all pruned continues after its last sequence") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192});
  journal.end(kSession, 2048, SessionEnd::kClosed);
  REQUIRE(errc_of(settle_with(journal, RingFixture::none()).status()) == Errc::kDamaged);
  journal.retain_from_segment(2);
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->next == 2049);
  REQUIRE(settled->oldest == 2049);
  REQUIRE(settled->last_present == 0);
}

TEST_CASE("Pruned to within the last session, a killed publisher is settled like any other") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192});
  journal.retain_from_segment(3);
  journal.prepare(3);  // nothing in the new segment is durable
  journal.write_slots(3073, 3100);
  SECTION("killed") {
    RingFixture ring(journal, kSession, 1);
    ring.reach(3200, 3100, 3072);
    require_recovered(journal, ring, 3200, 3073);
  }
  SECTION("cut") {
    const auto settled = settle_with(journal, RingFixture::none());
    REQUIRE(settled->new_void == std::pair<Sequence, Sequence>{3073, 8192});
    REQUIRE(settled->oldest == 3073);
  }
}

TEST_CASE("Segments missing at the front that retention did not remove are damage") {
  JournalFixture journal;
  journal.session(kSession, 1, {.reserved = 8192, .durable = 3000});
  const bool ended = GENERATE(false, true);
  if (ended) journal.end(kSession, 3000, SessionEnd::kClosed);
  std::filesystem::remove(journal.file(0, "jnl"));
  const auto refused = settle_with(journal, RingFixture::none());
  REQUIRE(errc_of(refused.status()) == Errc::kDamaged);
  REQUIRE(refused.status().message().find(journal.file(0, "jnl")) != std::string::npos);
  REQUIRE(refused.status().message().find("lapwing repair") != std::string::npos);
  journal.record_retention(1);
  const auto settled = settle_with(journal, RingFixture::none());
  REQUIRE(settled.ok());
  REQUIRE(settled->oldest == 1025);
}

TEST_CASE("A source has advanced as far as its newest session records") {
  JournalFixture journal;
  journal.begin(kSession, 1, 77, 0);
  journal.reserve(kSession, 640);
  journal.end(kSession, 100, SessionEnd::kCut, 640);
  journal.begin(12, 641, 77, 100);
  journal.reserve(12, 1280);
  journal.end(12, 700, SessionEnd::kRecovered);
  journal.begin(13, 701, 78, 5);
  const auto sessions = SessionLog::open_read_only(journal.disk(), journal.root());
  const auto source = find_source(*sessions, 77, 0);
  REQUIRE(source);
  CHECK_FALSE(source->by_content);
  CHECK(source->offset == 100);
  CHECK(source->records == 60);
  CHECK(source->last == 700);
  CHECK(find_source(*sessions, 78, 0)->offset == 5);
  CHECK(find_source(*sessions, 78, 0)->last == kNoSequence);
  CHECK_FALSE(find_source(*sessions, 79, 0));
  CHECK_FALSE(find_source(*sessions, 0, 0));
}

}  // namespace lapwing
