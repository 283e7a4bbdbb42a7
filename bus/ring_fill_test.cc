#include "bus/ring_fill.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "bus/ring_map.h"
#include "bus/ring_reader.h"
#include "bus/ring_writer.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kCapacity = 4096;              // 64 pages of slots
constexpr Sequence kFirst = 3 * kCapacity + 2048 + 1;  // in the middle of the ring

RingSpec spec_in(const TestDirectory& directory) {
  RingSpec spec = test_spec(directory.path(), 56, kCapacity);
  spec.session_first = spec.ring_first = kFirst;
  return spec;
}

// Returns the existing pages of the file, as ranges [first, end).
using Ranges = std::vector<std::pair<off_t, off_t>>;
Ranges pages_of(const std::string& path) {
  const UniqueFd file =
      UniqueFd::opened_by([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  REQUIRE(file.valid());
  Ranges ranges;
  const off_t end = lseek(file.get(), 0, SEEK_END);
  for (off_t at = lseek(file.get(), 0, SEEK_DATA); at >= 0 && at < end;) {
    const off_t hole = lseek(file.get(), at, SEEK_HOLE);
    ranges.emplace_back(at / 4096, hole / 4096);
    at = lseek(file.get(), hole, SEEK_DATA);
  }
  return ranges;
}

constexpr off_t kHeader = 2;                 // pages
constexpr off_t kMiddle = kHeader + 64 / 2;  // the page of kFirst
constexpr off_t kEnd = kHeader + 64;

}  // namespace

TEST_CASE("Filling a ring starts at its first record and wraps around") {
  const TestDirectory directory;
  const RingFile ring = make_ring(spec_in(directory));
  CHECK(pages_of(ring.path()) == Ranges{{0, kHeader}});
  RingFill fill(ring);
  CHECK(fill.left() == 64 * 4096);
  REQUIRE(fill.step(8 * 4096).ok());
  CHECK(pages_of(ring.path()) == Ranges{{0, kHeader}, {kMiddle, kMiddle + 8}});
  REQUIRE(fill.step(1).ok());  // a page
  CHECK(pages_of(ring.path()) == Ranges{{0, kHeader}, {kMiddle, kMiddle + 9}});
  CHECK(fill.left() == 55 * 4096);
  REQUIRE(fill.step(25 * 4096).ok());
  CHECK(pages_of(ring.path()) == Ranges{{0, kHeader + 2}, {kMiddle, kEnd}});
  REQUIRE(fill.step(fill.left() + 4096).ok());
  CHECK(pages_of(ring.path()) == Ranges{{0, kEnd}});
  CHECK(fill.left() == 0);
  CHECK(fill.step(4096).ok());
}

TEST_CASE("Filling changes nothing that is in the ring") {
  const TestDirectory directory;
  const RingFile ring = make_ring(spec_in(directory));
  auto writer = writer_of(ring);
  const std::vector<std::byte> record(56, std::byte{7});
  for (Sequence n = kFirst; n < kFirst + kCapacity; ++n) {
    store_record(writer, n, record.data());
    writer.move_head(n);
  }
  const std::vector<std::byte> before(ring.slots(), ring.slots() + kCapacity * 64);
  RingFill fill(ring);
  REQUIRE(fill.step(fill.left()).ok());
  CHECK(std::memcmp(before.data(), ring.slots(), before.size()) == 0);
}

TEST_CASE("A reader that attaches to a ring allocates no pages of it, and reads new records") {
  const TestDirectory directory;
  const RingFile ring = make_ring(spec_in(directory));
  RingFill fill(ring);
  REQUIRE(fill.step(8 * 4096).ok());
  const Ranges before = pages_of(ring.path());
  const RingMap map = map_ring(ring.path());
  CHECK(pages_of(ring.path()) == before);
  const RingReader reader(map);
  auto writer = writer_of(ring);
  std::vector<std::byte> record(56);
  std::vector<std::byte> read(56);
  for (Sequence n = kFirst; n < kFirst + 2 * kCapacity; ++n) {
    CHECK(reader.try_read(n, read.data()).outcome == RingRead::kEmpty);
    std::memcpy(record.data(), &n, sizeof n);
    store_record(writer, n, record.data());
    writer.move_head(n);
    REQUIRE(reader.try_read(n, read.data()).outcome == RingRead::kRecord);
    REQUIRE(read == record);
  }
}

}  // namespace lapwing
