#include "snapshot/checkpoint/checkpoint_directory.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "testing/checkpoint_fixture.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

using Catch::Contains;

const FixtureFold kDirectoryFold(16);

void write(Disk& disk, Sequence sequence, const Id128& journal = checkpoint_fixture_id(7),
           const std::string& directory = kSimRoot) {
  const CheckpointIdentity identity{journal, checkpoint_fixture_id(11), sequence};
  REQUIRE(write_checkpoint(disk, directory, kDirectoryFold, identity,
                           kDirectoryFold.entries(0, sequence))
              .ok());
}

void put(Disk& disk, const std::string& name, std::size_t bytes) {
  const auto file = disk.open(std::string(kSimRoot) + "/" + name, {.mode = OpenMode::kCreate});
  REQUIRE(file.ok());
  REQUIRE(disk.write_at(*file, 0, std::vector<std::byte>(bytes)).ok());
  disk.close(*file);
}

absl::StatusOr<KeptCheckpoints> retain(Disk& disk, std::uint64_t keep) {
  return retain_checkpoints(disk, kSimRoot, kDirectoryFold.shape(), checkpoint_fixture_id(7), keep);
}

std::vector<Sequence> sequences(Disk& disk) {
  std::vector<Sequence> all;
  const auto files = list_checkpoints(disk, kSimRoot);
  REQUIRE(files.ok());
  for (const CheckpointFile& file : *files) all.push_back(file.as_of);
  return all;
}

TEST_CASE("The newest checkpoint is chosen, by number and not by age") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {30u, 100u, 9u}) write(disk, sequence);
  REQUIRE(sequences(disk) == std::vector<Sequence>{100, 30, 9});
  const auto chosen = choose_checkpoint(disk, kSimRoot, kDirectoryFold.shape(), nullptr);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 100);
  REQUIRE(chosen->skipped.empty());
}

TEST_CASE("A newer checkpoint that the judge refuses is skipped with its reason") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u}) write(disk, sequence);
  const auto judge = [](const CheckpointHeader& header) {
    return header.sequence < 20 ? absl::OkStatus() : make_error(Errc::kReset, "is too new");
  };
  const auto chosen = choose_checkpoint(disk, kSimRoot, kDirectoryFold.shape(), judge);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 10);
  REQUIRE(chosen->skipped.size() == 2);
  REQUIRE(chosen->skipped[0] == checkpoint_path(kSimRoot, 30) + ": is too new");
  REQUIRE(chosen->skipped[1] == checkpoint_path(kSimRoot, 20) + ": is too new");
}

TEST_CASE("A damaged checkpoint is skipped with its reason, and the next older one is used") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u, 40u}) write(disk, sequence);
  disk.flip_bit(checkpoint_path(kSimRoot, 40), 4096 + 17, 3);  // a block
  disk.flip_bit(checkpoint_path(kSimRoot, 30), 200, 3);        // the header
  const auto chosen = choose_checkpoint(disk, kSimRoot, kDirectoryFold.shape(), nullptr);
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 20);
  REQUIRE(chosen->skipped.size() == 2);
  REQUIRE_THAT(chosen->skipped[0], Contains(checkpoint_path(kSimRoot, 40) + ": block 0 of 1"));
  REQUIRE_THAT(chosen->skipped[1], Contains(checkpoint_path(kSimRoot, 30) + ": header"));
}

TEST_CASE("If all checkpoints are damaged, the error contains the reason of each") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {10u, 20u}) {
    write(disk, sequence);
    disk.flip_bit(checkpoint_path(kSimRoot, sequence), 4096, 0);
  }
  const auto chosen = choose_checkpoint(disk, kSimRoot, kDirectoryFold.shape(), nullptr);
  REQUIRE(errc_of(chosen.status()) == Errc::kDamaged);
  for (const Sequence sequence : {10u, 20u}) {
    REQUIRE_THAT(std::string(chosen.status().message()),
                 Contains(" " + checkpoint_path(kSimRoot, sequence) + ": block 0 of 1"));
  }
}

TEST_CASE("A checkpoint of another fold, version, schema or size is skipped with the difference") {
  const FoldShape shape = kDirectoryFold.shape();
  const auto reason = [&](const std::function<void(FoldShape&)>& change) {
    SimDisk disk(kSimRoot, 1);
    write(disk, 20);
    FoldShape other = shape;
    change(other);
    const auto chosen = choose_checkpoint(disk, kSimRoot, other, nullptr);
    REQUIRE(errc_of(chosen.status()) == Errc::kNotFound);
    return std::string(chosen.status().message());
  };
  CHECK_THAT(reason([](FoldShape& other) { other.name = "latest"; }),
             Contains("is of the fold fixture, not latest"));
  CHECK_THAT(reason([](FoldShape& other) { other.version = 2; }),
             Contains("is of version 1 of the fold fixture, this program folds version 2"));
  CHECK_THAT(reason([](FoldShape& other) { other.schema = "kv16"; }),
             Contains("is of schema bytes, not kv16"));
  CHECK_THAT(reason([](FoldShape& other) { other.record_bytes = 16; }),
             Contains("is of records of 56 bytes, not 16"));
  CHECK_THAT(reason([](FoldShape& other) { other.entry_bytes = 24; }),
             Contains("has entries of 16 bytes, not 24"));
}

TEST_CASE("Only a file that matches its name is taken for a checkpoint") {
  const TemporaryDirectory root;
  PosixDisk disk;
  const auto made = make_checkpoint_directory(disk, root.path(), "fixture");
  REQUIRE(made.ok());
  const std::string& directory = *made;
  const auto file = [&](const char* name) { return directory + "/" + name; };
  write(disk, 10, checkpoint_fixture_id(7), directory);
  write(disk, 20, checkpoint_fixture_id(7), directory);
  const auto at = [&](Sequence sequence) { return checkpoint_path(directory, sequence); };
  namespace fs = std::filesystem;
  fs::rename(at(20), file("whole"));
  fs::create_symlink(file("whole"), at(20));
  fs::create_directory(at(30));
  fs::copy_file(at(10), at(40));
  std::ofstream(at(50));
  REQUIRE(::mkfifo(at(60).c_str(), 0600) == 0);
  fs::copy_file(file("whole"), at(70) + ".tmp");
  fs::copy_file(file("whole"), file("80.ckpt"));
  fs::copy_file(file("whole"), file("0000000000000000009x.ckpt"));
  fs::copy_file(file("whole"), file("99999999999999999999.ckpt"));  // not a sequence
  fs::copy_file(file("whole"), file("00000000000000000000.ckpt"));
  fs::create_directory(file("state"));

  const auto chosen = choose_checkpoint(disk, directory, kDirectoryFold.shape(), nullptr);
  INFO(chosen.status());
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 10);
  const std::vector<std::pair<Sequence, std::string>> expected{
      {60, " is a link, directory, socket or device"},
      {50, ": header at offset 0: the file has 0 bytes"},
      {40, ": is the checkpoint as of 10 under another's name"},
      {30, " is a link, directory, socket or device"},
      {20, " is a link, directory, socket or device"}};
  REQUIRE(chosen->skipped.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE_THAT(chosen->skipped[i], Contains(at(expected[i].first) + expected[i].second));
  }

  std::vector<std::string> strangers;
  REQUIRE(list_checkpoints(disk, directory, &strangers).ok());
  REQUIRE(strangers.size() == 6);
  for (const std::string& line : strangers) {
    CHECK_THAT(line, Contains(": is not named like a checkpoint") || Contains(": is not finished"));
  }
  // Retention does not remove files that it cannot have created.
  const auto kept =
      retain_checkpoints(disk, directory, kDirectoryFold.shape(), checkpoint_fixture_id(7), 1);
  REQUIRE(kept.ok());
  REQUIRE(kept->oldest == 10);
  for (const Sequence sequence : {20u, 30u, 60u})
    REQUIRE(fs::exists(fs::symlink_status(at(sequence))));
  REQUIRE_FALSE(fs::exists(at(70) + ".tmp"));
  REQUIRE(fs::exists(file("whole")));
}

TEST_CASE("If a checkpoint vanishes between the listing and the load, the search is repeated") {
  // A checkpointer that replaces its only checkpoint after each listing.
  class RacingDisk : public PosixDisk {
   public:
    explicit RacingDisk(std::string directory) : directory_(std::move(directory)) {}
    absl::StatusOr<std::vector<std::string>> list(const std::string& directory) override {
      auto names = PosixDisk::list(directory);
      if (races_-- > 0) {
        write(*this, ++sequence_, checkpoint_fixture_id(7), directory_);
        REQUIRE(remove(checkpoint_path(directory_, sequence_ - 1)).ok());
      }
      return names;
    }
    int races_ = 3;
    Sequence sequence_ = 1;

   private:
    std::string directory_;
  };
  const TemporaryDirectory root;
  RacingDisk disk(root.path());
  write(disk, 1, checkpoint_fixture_id(7), root.path());
  const auto chosen = choose_checkpoint(disk, root.path(), kDirectoryFold.shape(), nullptr);
  INFO(chosen.status());
  REQUIRE(chosen.ok());
  REQUIRE(chosen->checkpoint.identity().sequence == 4);
  REQUIRE(chosen->skipped.empty());
}

TEST_CASE(
    "A damaged file does not count as kept, and is removed when there are enough newer ones") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u, 40u, 50u}) write(disk, sequence);
  disk.flip_bit(checkpoint_path(kSimRoot, 50), 200, 3);
  disk.flip_bit(checkpoint_path(kSimRoot, 20), 200, 3);
  const auto kept = retain(disk, 2);
  REQUIRE(kept.ok());
  REQUIRE(kept->oldest == 30);
  REQUIRE(kept->newest == 40);
  REQUIRE(sequences(disk) == std::vector<Sequence>{50, 40, 30});
}

TEST_CASE("A checkpoint of another version of the fold does not count as kept, however new it is") {
  SimDisk disk(kSimRoot, 1);
  const FixtureFold before(16, 2);
  for (const Sequence sequence : {5u, 90u}) {
    REQUIRE(
        write_checkpoint(disk, kSimRoot, before, fixture_identity(sequence), before.entries(0, 9))
            .ok());
  }
  for (const Sequence sequence : {10u, 20u, 30u}) write(disk, sequence);
  const auto kept = retain(disk, 2);
  REQUIRE(kept.ok());
  REQUIRE(kept->oldest == 20);
  REQUIRE(kept->newest == 30);
  REQUIRE(sequences(disk) == std::vector<Sequence>{90, 30, 20});
}

TEST_CASE("Fewer checkpoints than the limit all stay, and without any there is no oldest") {
  SimDisk disk(kSimRoot, 1);
  REQUIRE(retain(disk, 3)->oldest == kNoSequence);
  write(disk, 20);
  REQUIRE(retain(disk, 3)->oldest == 20);
  REQUIRE(errc_of(retain(disk, 0).status()) == Errc::kInvalidArgument);
  REQUIRE(sequences(disk) == std::vector<Sequence>{20});
}

TEST_CASE("The newest of this journal are kept; those of another and leftovers are removed") {
  SimDisk disk(kSimRoot, 1);
  for (const Sequence sequence : {10u, 20u, 30u}) write(disk, sequence);
  write(disk, 900, checkpoint_fixture_id(8));
  put(disk, "00000000000000000040.ckpt.tmp", 100);
  put(disk, "notes", 100);
  const auto kept = retain(disk, 2);
  REQUIRE(kept.ok());
  REQUIRE(kept->oldest == 20);
  REQUIRE(kept->newest == 30);
  REQUIRE(sequences(disk) == std::vector<Sequence>{30, 20});
  std::vector<std::string> strangers;
  REQUIRE(list_checkpoints(disk, kSimRoot, &strangers).ok());
  REQUIRE(strangers == std::vector<std::string>{"/sim/notes: is not named like a checkpoint"});
}

}  // namespace
}  // namespace lapwing
