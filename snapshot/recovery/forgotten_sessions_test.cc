#include "snapshot/recovery/forgotten_sessions.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "lapwing/error.h"
#include "snapshot/dbn/kept_metadata.h"
#include "testing/journal_fixture.h"

namespace lapwing {
namespace {

constexpr Sequence kInSegment = 1024;
constexpr std::uint64_t kSessions = 600;
constexpr Sequence kRecords = 10;

Id128 numbered(std::uint64_t n) {
  Id128 made = fixture_id(200);
  std::memcpy(made.bytes.data(), &n, sizeof n);
  return made;
}

// A journal of many short sessions, each with its own metadata.
class ManySessions {
 public:
  ManySessions() {
    auto log = SessionLog::open(journal.disk(), journal.root());
    for (std::uint64_t n = 0; n < kSessions; ++n) {
      SessionEntry row{};
      row.kind = SessionEntryKind::kBegin;
      row.journal_id = journal.journal_id();
      row.session_id = numbered(n);
      row.first = n * kRecords + 1;
      set_text(row.ring_path, "ring");
      row.slot_bytes = journal.geometry().slot_bytes;
      row.record_bytes = journal.geometry().record_bytes;
      row.segment_slots = journal.geometry().segment_slots;
      row.metadata_hash = metadata_hash_of(metadata(n));
      REQUIRE(keep_metadata(journal.disk(), journal.root(), metadata(n)).ok());
      REQUIRE(log->append(row).ok());
      REQUIRE(log->append_reservation(((row.first + kRecords - 2) / 64 + 1) * 64).ok());
      REQUIRE(log->append_end(SessionEnd::kClosed, row.first + kRecords - 1).ok());
    }
    journal.write(1, kSessions * kRecords);
  }
  static std::string metadata(std::uint64_t n) { return "DBN of session " + std::to_string(n); }
  SessionLog forget() {
    auto log = SessionLog::open(journal.disk(), journal.root());
    REQUIRE(log.ok());
    const absl::Status forgot = forget_empty_sessions(journal.disk(), journal.root(), *log);
    INFO(forgot);
    REQUIRE(forgot.ok());
    return *std::move(log);
  }

  JournalFixture journal;
};

}  // namespace

TEST_CASE("Sessions are forgotten once retention has removed all of their records") {
  ManySessions many;
  SECTION("nothing was removed") {
    CHECK(many.forget().sessions().size() == kSessions);
  }
  SECTION("four segments were removed") {
    many.journal.retain_from_segment(4);
    const SessionLog log = many.forget();
    // The oldest remaining session contains the last removed record, because a position there has
    // lost nothing.
    const Sequence oldest = 4 * kInSegment + 1;
    CHECK(log.sessions().front().first() <= oldest - 1);
    CHECK(log.sessions().front().end->last >= oldest - 1);
    CHECK(log.sessions_of(many.journal.journal_id()).size() == log.sessions().size());
    const SessionBegin& kept = log.sessions().front().begin;
    CHECK(read_kept_metadata(many.journal.disk(), many.journal.root(), kept).ok());
    CHECK_FALSE(std::filesystem::exists(
        kKeptMetadata.path(many.journal.root(), metadata_hash_of(many.metadata(0)))));
  }
}

TEST_CASE("The sessions of a journal whose files are gone are forgotten, but not the last one") {
  ManySessions many;
  many.journal.remove_segments();
  const SessionLog log = many.forget();
  REQUIRE(log.sessions().size() == 1);
  CHECK(log.last()->begin.session_id == numbered(kSessions - 1));
}

TEST_CASE("Stored metadata with changed content is damage, and missing metadata is not an error") {
  ManySessions many;
  const auto log = SessionLog::open_read_only(many.journal.disk(), many.journal.root());
  SessionBegin begin = log->last()->begin;
  CHECK(*read_kept_metadata(many.journal.disk(), many.journal.root(), begin) ==
        many.metadata(kSessions - 1));
  flip_bit(kKeptMetadata.path(many.journal.root(), begin.metadata_hash), 5, 1);
  CHECK(errc_of(read_kept_metadata(many.journal.disk(), many.journal.root(), begin).status()) ==
        Errc::kDamaged);
  begin.metadata_hash = 0;
  CHECK(read_kept_metadata(many.journal.disk(), many.journal.root(), begin)->empty());
  const bool is_old = GENERATE(true, false);
  if (is_old) begin.version = 1;
  begin.has_ring = is_old;  // false: made by `repair`
  CHECK(errc_of(read_kept_metadata(many.journal.disk(), many.journal.root(), begin).status()) ==
        Errc::kNotFound);
}

}  // namespace lapwing
