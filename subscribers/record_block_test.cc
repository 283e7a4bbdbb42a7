#include "subscribers/record_block.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

constexpr std::uint32_t kBytes = 8;

// A block of records that begin with 0, 1, 2, …
RecordBlock block_of(std::uint64_t records) {
  RecordBlock block;
  block.resize(kBytes);
  for (std::uint64_t i = 0; i < records; ++i) {
    block.room()[i * kBytes] = static_cast<std::byte>(i);
  }
  block.filled(records);
  return block;
}

TEST_CASE("Records are taken from a block one by one and many at once, each once and in order") {
  RecordBlock block = block_of(6);
  CHECK(*block.take() == std::byte{0});
  std::vector<std::byte> out(2 * kBytes + kBytes - 1);  // too small for a third record
  CHECK(block.take(out) == 2);
  CHECK(out[0] == std::byte{1});
  CHECK(out[kBytes] == std::byte{2});
  CHECK(*block.take() == std::byte{3});
  out.resize(100 * kBytes);
  CHECK(block.take(out) == 2);
  CHECK(out[kBytes] == std::byte{5});
  CHECK(block.empty());
}

TEST_CASE("Records of a block can be read in place, and skipped") {
  RecordBlock block = block_of(6);
  block.skip(2);
  CHECK(block.rest().size() == 4 * kBytes);
  CHECK(block.rest()[0] == std::byte{2});
  CHECK(*block.take() == std::byte{2});
  CHECK(block.rest().size() == 3 * kBytes);
  block.skip(3);
  CHECK(block.empty());
  CHECK(block.rest().empty());
}

TEST_CASE("A block holds one record at least, however large that is") {
  const std::uint32_t record_bytes = GENERATE(8U, 4088U, std::uint32_t{RecordBlock::kBytes} + 8);
  RecordBlock block;
  block.resize(record_bytes);
  CHECK(block.room().size() >= record_bytes);
  CHECK(block.room().size() % record_bytes == 0);
}

TEST_CASE("A block with a new record size contains no old records") {
  RecordBlock block = block_of(3);
  block.resize(2 * kBytes);
  CHECK(block.empty());
}

}  // namespace
}  // namespace lapwing
