// Tests the simulated disk itself, on which other tests depend.
#include "testing/sim_disk.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lapwing/error.h"

namespace lapwing {
namespace {

std::vector<std::byte> filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

// A file of `bytes` zeros whose name and size are on the medium.
OpenFile synced_file(SimDisk& disk, const std::string& path, std::uint64_t bytes) {
  OpenFile file(disk, *disk.open(path, {.mode = OpenMode::kCreate}));
  REQUIRE(disk.allocate(file.get(), bytes).ok());
  REQUIRE(disk.sync(file.get()).ok());
  REQUIRE(disk.sync_directory(kSimRoot).ok());
  return file;
}

std::vector<std::byte> content(SimDisk& disk, const std::string& path) {
  const OpenFile file(disk, *disk.open(path, {}));
  std::vector<std::byte> bytes(*disk.size(file.get()));
  REQUIRE(*disk.read_at(file.get(), 0, bytes) == bytes.size());
  return bytes;
}

TEST_CASE("A power cut keeps what was synced and any subset of the sectors that were not") {
  std::size_t kept = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk(kSimRoot, seed);
    {
      const OpenFile file = synced_file(disk, "/sim/f", 8 * kSimSectorBytes);
      REQUIRE(disk.write_at(file.get(), 0, filled(2 * kSimSectorBytes, 1)).ok());
      REQUIRE(disk.sync(file.get()).ok());
      REQUIRE(disk.write_at(file.get(), kSimSectorBytes, filled(4 * kSimSectorBytes, 2)).ok());
    }
    disk.power_cut();
    const auto bytes = content(disk, "/sim/f");
    REQUIRE(bytes.size() == 8 * kSimSectorBytes);
    CHECK(bytes[0] == std::byte{1});
    CHECK((bytes[kSimSectorBytes] == std::byte{1} || bytes[kSimSectorBytes] == std::byte{2}));
    for (std::size_t sector = 2; sector < 5; ++sector) {
      const std::byte value = bytes[sector * kSimSectorBytes];
      CHECK((value == std::byte{0} || value == std::byte{2}));
      ++(value == std::byte{2} ? kept : lost);
      CHECK(bytes[(sector + 1) * kSimSectorBytes - 1] == value);
    }
  }
  CHECK(kept > 0);
  CHECK(lost > 0);
}

TEST_CASE("A hole reads as zeros at once, and a power cut keeps any sectors of what it replaced") {
  std::size_t kept = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk(kSimRoot, seed);
    {
      const OpenFile file = synced_file(disk, "/sim/f", 8 * kSimSectorBytes);
      REQUIRE(disk.write_at(file.get(), 0, filled(8 * kSimSectorBytes, 1)).ok());
      REQUIRE(disk.sync(file.get()).ok());
      REQUIRE(disk.punch_hole(file.get(), 4 * kSimSectorBytes, 9 * kSimSectorBytes).ok());
      auto expected = filled(4 * kSimSectorBytes, 1);
      expected.resize(8 * kSimSectorBytes);
      REQUIRE(content(disk, "/sim/f") == expected);
    }
    disk.power_cut();
    const auto bytes = content(disk, "/sim/f");
    REQUIRE(bytes.size() == 8 * kSimSectorBytes);
    CHECK(bytes[4 * kSimSectorBytes - 1] == std::byte{1});
    for (std::size_t sector = 4; sector < 8; ++sector) {
      ++(bytes[sector * kSimSectorBytes] == std::byte{1} ? kept : lost);
    }
  }
  CHECK(kept > 0);
  CHECK(lost > 0);
}

TEST_CASE("A sync covers what was written before it was submitted and no more") {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk(kSimRoot, seed);
    SimWriteQueue queue(disk);
    const auto old_bytes = filled(kSimSectorBytes, 1), new_bytes = filled(kSimSectorBytes, 2);
    {
      const OpenFile file = synced_file(disk, "/sim/f", 2 * kSimSectorBytes);
      std::vector<WriteCompletion> done(8);
      using Kind = WriteRequest::Kind;
      REQUIRE(queue.submit({Kind::kWrite, file.get(), 0, old_bytes, 1}));
      REQUIRE(queue.reap(done, 0) == 1);
      REQUIRE(queue.submit({Kind::kSync, file.get(), 0, {}, 2}));
      REQUIRE(queue.submit({Kind::kWrite, file.get(), kSimSectorBytes, new_bytes, 3}));
      REQUIRE(queue.reap(done, 0) == 2);
    }
    disk.power_cut();
    const auto bytes = content(disk, "/sim/f");
    CHECK(bytes[0] == std::byte{1});
    lost |= bytes[kSimSectorBytes] == std::byte{0};
  }
  CHECK(lost);
}

TEST_CASE("Names live and die with the sync of their directory") {
  std::size_t renamed = 0, created = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk(kSimRoot, seed);
    synced_file(disk, "/sim/a", 512);
    REQUIRE(disk.rename("/sim/a", "/sim/b").ok());
    disk.close(*disk.open("/sim/c", {.mode = OpenMode::kCreate}));
    disk.power_cut();
    const bool is_renamed = *disk.exists("/sim/b");
    CHECK(*disk.exists("/sim/a") != is_renamed);
    renamed += is_renamed;
    created += *disk.exists("/sim/c");
  }
  CHECK((renamed > 0 && renamed < 50));
  CHECK((created > 0 && created < 50));
}

TEST_CASE("A failed sync is told once, and what it lost stays lost while reads still see it") {
  SimDisk disk(kSimRoot, 1);
  {
    const OpenFile file = synced_file(disk, "/sim/f", 512);
    REQUIRE(disk.write_at(file.get(), 0, filled(512, 1)).ok());
    disk.fail(SimOp::kSync, 1, EIO, "f");
    CHECK(errno_of(disk.sync(file.get())) == EIO);
    CHECK(disk.sync(file.get()).ok());
    CHECK(content(disk, "/sim/f")[0] == std::byte{1});
  }
  disk.power_cut();
  CHECK(content(disk, "/sim/f")[0] == std::byte{0});
}

TEST_CASE("A kill keeps the page cache, and each request in flight lands or does not") {
  std::size_t landed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimDisk disk(kSimRoot, seed);
    SimWriteQueue queue(disk, {.hold_writes = true});
    std::vector<WriteCompletion> done(8);
    auto bytes = filled(512, 2);
    {
      const OpenFile file = synced_file(disk, "/sim/f", 1024);
      REQUIRE(disk.write_at(file.get(), 0, filled(512, 1)).ok());
      REQUIRE(queue.submit({WriteRequest::Kind::kWrite, file.get(), 512, bytes, 1}));
      CHECK(queue.reap(done, 1'000'000) == 0);
    }
    disk.kill();
    CHECK(queue.in_flight() == 0);
    const auto left = content(disk, "/sim/f");
    CHECK(left[0] == std::byte{1});
    landed += left[512] == std::byte{2};
  }
  CHECK((landed > 0 && landed < 50));
}

TEST_CASE("After a stop nothing changes any more") {
  SimDisk disk(kSimRoot, 1);
  const OpenFile file = synced_file(disk, "/sim/f", 512);
  disk.stop_after(1);
  CHECK(disk.write_at(file.get(), 0, filled(512, 1)).ok());
  CHECK_FALSE(disk.stopped());
  CHECK_FALSE(disk.write_at(file.get(), 0, filled(512, 2)).ok());
  CHECK(disk.stopped());
  CHECK_FALSE(disk.remove("/sim/f").ok());
  disk.kill();
  CHECK(content(disk, "/sim/f")[0] == std::byte{1});
}

TEST_CASE("Direct I/O that is not aligned is refused, and space ends") {
  SimDisk disk(kSimRoot, 1);
  synced_file(disk, "/sim/f", 512);
  const OpenFile file(disk, *disk.open("/sim/f", {.mode = OpenMode::kReadWrite, .direct = true}));
  alignas(512) std::byte bytes[1024]{};
  CHECK(disk.write_at(file.get(), 0, std::span(bytes, 512)).ok());
  CHECK(errno_of(disk.write_at(file.get(), 0, std::span(bytes, 100))) == EINVAL);
  CHECK(errno_of(disk.write_at(file.get(), 0, std::span(bytes + 8, 512))) == EINVAL);
  disk.set_capacity(1024);
  CHECK(errc_of(disk.allocate(file.get(), 2048)) == Errc::kNoSpace);
  CHECK(disk.allocate(file.get(), 1024).ok());
  CHECK(*disk.free_bytes(kSimRoot) == 0);
}

TEST_CASE("The queue counts two writes in flight to one block and memory that changes under one") {
  SimDisk disk(kSimRoot, 1);
  SimWriteQueue queue(disk, {.short_percent = 0});
  synced_file(disk, "/sim/f", 8192);
  const OpenFile file(disk, *disk.open("/sim/f", {.mode = OpenMode::kReadWrite, .direct = true}));
  alignas(512) std::array<std::byte, 4096> bytes{};
  std::vector<WriteCompletion> done(8);
  using Kind = WriteRequest::Kind;
  REQUIRE(queue.submit({Kind::kWrite, file.get(), 0, bytes, 1}));
  REQUIRE(queue.submit({Kind::kWrite, file.get(), 4096, bytes, 2}));
  CHECK(queue.overlapping_writes() == 0);
  REQUIRE(queue.submit({Kind::kWrite, file.get(), 0, std::span(bytes).first(512), 3}));
  CHECK(queue.overlapping_writes() == 1);
  bytes[5] = std::byte{9};
  REQUIRE(queue.reap(done, 0) == 3);
  CHECK(queue.changed_in_flight() == 3);
}

}  // namespace
}  // namespace lapwing
