#include "snapshot/checkpoint/checkpoint_directory.h"

#include <catch2/catch.hpp>

#include "proto/error.h"
#include "snapshot/checkpoint/checkpoint_fixture.h"

namespace lapwing {
namespace {

constexpr char kRoot[] = "/sim";
const FixtureFold kFold(16);

void write(Disk& disk, Sequence sequence, const Id128& journal = checkpoint_fixture_id(7)) {
  const CheckpointIdentity identity{journal, checkpoint_fixture_id(11), sequence};
  REQUIRE(write_checkpoint(disk, kRoot, kFold, identity, kFold.entries(0, sequence)).ok());
}

void put(Disk& disk, const std::string& name, std::size_t bytes) {
  const auto file = disk.open(std::string(kRoot) + "/" + name, {.mode = OpenMode::kCreate});
  REQUIRE(file.ok());
  REQUIRE(disk.write_at(*file, 0, std::vector<std::byte>(bytes)).ok());
  disk.close(*file);
}

std::vector<Sequence> sequences(Disk& disk) {
  std::vector<Sequence> all;
  const auto files = list_checkpoints(disk, kRoot);
  REQUIRE(files.ok());
  for (const CheckpointFile& file : *files) all.push_back(file.as_of);
  return all;
}

TEST_CASE("The newest checkpoint is chosen, by number and not by age") {
  SimDisk disk(kRoot, 1);
  for (const Sequence sequence : {30u, 100u, 9u}) write(disk, sequence);
  REQUIRE(sequences(disk) == std::vector<Sequence>{100, 30, 9});
  const auto chosen = choose_checkpoint(disk, kRoot, kFold.shape(), nullptr);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 100);
  REQUIRE(chosen->skipped.empty());
}

TEST_CASE("A newer one that the judge refuses is passed over with its reason") {
  SimDisk disk(kRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u}) write(disk, sequence);
  const auto judge = [](const CheckpointHeader& header) {
    return header.sequence < 20 ? absl::OkStatus() : make_error(Errc::kReset, "is too new");
  };
  const auto chosen = choose_checkpoint(disk, kRoot, kFold.shape(), judge);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 10);
  REQUIRE(chosen->skipped.size() == 2);
  REQUIRE(chosen->skipped[0] == checkpoint_path(kRoot, 30) + ": is too new");
  REQUIRE(chosen->skipped[1] == checkpoint_path(kRoot, 20) + ": is too new");
}

TEST_CASE("The newest of this journal are kept; those of another and leftovers go") {
  SimDisk disk(kRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u}) write(disk, sequence);
  write(disk, 900, checkpoint_fixture_id(8));
  put(disk, "00000000000000000040.ckpt.tmp", 100);
  put(disk, "notes", 100);
  const auto oldest = retain_checkpoints(disk, kRoot, checkpoint_fixture_id(7), 2);
  REQUIRE(oldest.ok());
  REQUIRE(*oldest == 20);
  REQUIRE(sequences(disk) == std::vector<Sequence>{30, 20});
  std::vector<std::string> strangers;
  REQUIRE(list_checkpoints(disk, kRoot, &strangers).ok());
  REQUIRE(strangers == std::vector<std::string>{"/sim/notes: is not named like a checkpoint"});
}

}  // namespace
}  // namespace lapwing
