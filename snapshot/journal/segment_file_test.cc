#include "snapshot/journal/segment_file.h"

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr JournalGeometry kGeometry{.slot_bytes = 64, .record_bytes = 56, .segment_slots = 1024};
constexpr Id128 kJournal{{1, 2, 3}};

TEST_CASE("A segment header is accepted only by its own journal, geometry and number") {
  const SegmentHeader header = make_segment_header(kJournal, kGeometry, 7, "mbo", 42);
  CHECK(header.first_sequence == 7 * 1024 + 1);
  CHECK(get_text(header.schema) == "mbo");
  CHECK(check_segment_header(header, kJournal, kGeometry, 7, "f").ok());

  CHECK(errc_of(check_segment_header(header, Id128{{9}}, kGeometry, 7, "f")) == Errc::kDamaged);
  CHECK(errc_of(check_segment_header(header, kJournal, kGeometry, 8, "f")) == Errc::kDamaged);
  JournalGeometry other = kGeometry;
  other.record_bytes = 48;
  CHECK(errc_of(check_segment_header(header, kJournal, other, 7, "f")) == Errc::kDamaged);
}

TEST_CASE("Any flipped bit of a segment header is found") {
  const SegmentHeader header = make_segment_header(kJournal, kGeometry, 0, "mbo", 42);
  for (std::size_t byte = 0; byte < sizeof header; ++byte) {
    SegmentHeader flipped = header;
    reinterpret_cast<std::uint8_t*>(&flipped)[byte] ^= 0x10;
    const absl::Status status = check_segment_header(flipped, kJournal, kGeometry, 0, "f");
    INFO("byte " << byte);
    REQUIRE_FALSE(status.ok());
    if (byte < 8) CHECK(errc_of(status) == Errc::kNotALapwingFile);
    if (byte >= 12) CHECK(errc_of(status) == Errc::kDamaged);
  }
}

}  // namespace
}  // namespace lapwing
