// Writing and retention are interrupted at every operation, and every operation is made to fail.
// Any file with a checkpoint's name is complete, and the previous checkpoint is kept.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "lapwing/error.h"
#include "testing/checkpoint_fixture.h"
#include "testing/sim_disk.h"

namespace lapwing {
namespace {

constexpr Sequence kOld = 100;
constexpr Sequence kNew = 200;
const FixtureFold kPowerFold(16);
constexpr std::uint64_t kOldEntries = 5'000;
constexpr std::uint64_t kNewEntries = 60'000;  // several writes
constexpr std::uint64_t kSeeds = 12;

absl::Status write_old(Disk& disk) {
  return write_checkpoint(disk, kSimRoot, kPowerFold, fixture_identity(kOld),
                          kPowerFold.entries(0, kOldEntries));
}

absl::Status write_new(Disk& disk) {
  return write_checkpoint(disk, kSimRoot, kPowerFold, fixture_identity(kNew),
                          kPowerFold.entries(0, kNewEntries, 1));
}

absl::StatusOr<KeptCheckpoints> retain_one(Disk& disk) {
  return retain_checkpoints(disk, kSimRoot, kPowerFold.shape(), checkpoint_fixture_id(7), 2);
}

bool has_leftover(Disk& disk) {
  const auto names = disk.list(kSimRoot);
  REQUIRE(names.ok());
  return std::any_of(names->begin(), names->end(), [](const std::string& name) {
    return name.find(kTemporarySuffix) != std::string::npos;
  });
}

// The number of operations in a complete write_new().
std::uint64_t count_operations() {
  SimDisk disk(kSimRoot, 1);
  REQUIRE(write_old(disk).ok());
  const std::uint64_t before = disk.operations();
  REQUIRE(write_new(disk).ok());
  return disk.operations() - before;
}

// True if the new checkpoint has its name. Checks that every checkpoint is complete, and that the
// old one exists.
bool judge(Disk& disk) {
  const auto old = LoadedCheckpoint::load(disk, checkpoint_path(kSimRoot, kOld));
  INFO(old.status());
  REQUIRE(old.ok());
  REQUIRE(to_vector(old->entries()) == kPowerFold.entries(0, kOldEntries));
  const auto files = list_checkpoints(disk, kSimRoot);
  REQUIRE(files.ok());
  const bool is_new = files->size() == 2;
  if (is_new) {
    const auto checkpoint = LoadedCheckpoint::load(disk, checkpoint_path(kSimRoot, kNew));
    INFO(checkpoint.status());
    REQUIRE(checkpoint.ok());
    REQUIRE(to_vector(checkpoint->entries()) == kPowerFold.entries(0, kNewEntries, 1));
  }
  const auto chosen = choose_checkpoint(disk, kSimRoot, kPowerFold.shape(), nullptr);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == (is_new ? kNew : kOld));
  REQUIRE(chosen->skipped.empty());
  return is_new;
}

// The next run: removes leftovers, and writes the same checkpoint again.
void write_again(Disk& disk) {
  REQUIRE(retain_one(disk).ok());
  REQUIRE_FALSE(has_leftover(disk));
  REQUIRE(write_new(disk).ok());
  REQUIRE(judge(disk));
}

TEST_CASE("Killed or cut off at any operation, a write leaves a complete checkpoint or none") {
  const bool cut = GENERATE(true, false);
  const std::uint64_t operations = count_operations();
  REQUIRE(operations >= 8);  // create, four writes and more, sync, rename, directory sync
  std::uint64_t there = 0;
  std::uint64_t gone = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t stop = 0; stop <= operations; ++stop) {
      INFO("seed " << seed << ", stopped after " << stop << " of " << operations);
      SimDisk disk(kSimRoot, seed);
      REQUIRE(write_old(disk).ok());
      disk.stop_after(stop);
      const absl::Status status = write_new(disk);
      REQUIRE(status.ok() == (stop >= operations));
      cut ? disk.power_cut() : disk.kill();
      const bool is_new = judge(disk);
      if (status.ok()) REQUIRE(is_new);
      ++(is_new ? there : gone);
      write_again(disk);
    }
  }
  REQUIRE(there > kSeeds);  // even if a rename succeeded without being reported
  REQUIRE(gone > kSeeds);
}

TEST_CASE("If any operation fails, the error is returned and no part of a file stays") {
  const auto [op, sys_errno] = GENERATE(
      std::pair{SimOp::kWrite, ENOSPC}, std::pair{SimOp::kWrite, EIO}, std::pair{SimOp::kSync, EIO},
      std::pair{SimOp::kName, ENOSPC}, std::pair{SimOp::kName, EACCES});
  const bool cut = GENERATE(true, false);
  std::uint64_t failures = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    INFO("operation " << nth << " of kind " << static_cast<unsigned>(op));
    SimDisk disk(kSimRoot, nth);
    REQUIRE(write_old(disk).ok());
    disk.fail(op, nth, sys_errno);
    const absl::Status status = write_new(disk);
    if (status.ok()) break;
    ++failures;
    REQUIRE(errno_of(status) == sys_errno);
    REQUIRE_FALSE(has_leftover(disk));
    if (cut) disk.power_cut();
    judge(disk);
    write_again(disk);
  }
  // Create and rename; the file's and the directory's sync; entries, padding, sums, header.
  REQUIRE(failures >= (op == SimOp::kWrite ? 5 : 2));
}

TEST_CASE("On a full disk nothing incomplete stays, and with room it continues") {
  SimDisk disk(kSimRoot, 1);
  REQUIRE(write_old(disk).ok());
  const std::uint64_t whole = kCheckpointHeaderBytes + 16 * kNewEntries + 8 * 15;
  const std::uint64_t old = kCheckpointHeaderBytes + 16 * kOldEntries + 8 * 2;
  std::uint64_t refused = 0;
  for (std::uint64_t room = 0; room <= whole + 8192; room += 8191) {
    INFO("room for " << room << " of " << whole);
    disk.set_capacity(old + room);
    const absl::Status status = write_new(disk);
    REQUIRE(errc_of(status) == (room < whole ? Errc::kNoSpace : Errc::kOk));
    REQUIRE(judge(disk) == status.ok());
    REQUIRE(*disk.free_bytes(kSimRoot) == (status.ok() ? room - whole : room));
    refused += !status.ok();
    if (status.ok()) REQUIRE(disk.remove(checkpoint_path(kSimRoot, kNew)).ok());
  }
  REQUIRE(refused > 100);
}

TEST_CASE("Retention killed or cut off anywhere has removed none of the checkpoints to keep") {
  const bool cut = GENERATE(true, false);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t stop = 0; stop <= 4; ++stop) {
      SimDisk disk(kSimRoot, seed);
      for (const Sequence sequence : {10u, 20u, 30u, 40u, 50u}) {
        REQUIRE(write_checkpoint(disk, kSimRoot, kPowerFold, fixture_identity(sequence),
                                 kPowerFold.entries(0, 10))
                    .ok());
      }
      disk.stop_after(stop);
      const auto kept = retain_one(disk);
      REQUIRE(kept.ok() == (stop >= 4));  // three removals, and the directory sync
      cut ? disk.power_cut() : disk.kill();
      for (const Sequence sequence : {40u, 50u}) {
        REQUIRE(LoadedCheckpoint::load(disk, checkpoint_path(kSimRoot, sequence)).ok());
      }
      if (kept.ok()) {
        REQUIRE(kept->oldest == 40);
        REQUIRE(list_checkpoints(disk, kSimRoot)->size() == 2);
      }
    }
  }
}

}  // namespace
}  // namespace lapwing
