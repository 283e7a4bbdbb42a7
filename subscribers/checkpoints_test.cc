#include "lapwing/checkpoints.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "lapwing/error.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/other_user.h"

namespace lapwing {
namespace {

// A closed bus with 1000 durable records, and checkpoints of the test's fold.
struct KeptBus {
  KeptBus() {
    bus.start();
    bus.publish(1000);
    bus.archive(1000);
  }
  CheckpointOptions options(Sequence as_of = kNoSequence) const {
    return {.directory = bus.directory(), .own_fold = fold, .as_of = as_of};
  }
  std::string write(Sequence as_of) const { return write_checkpoint(bus, *fold, as_of); }
  absl::Status open_status() const { return Checkpoint::open(options()).status(); }
  Checkpoint open(Sequence as_of = kNoSequence) const {
    auto opened = Checkpoint::open(options(as_of));
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    return *std::move(opened);
  }

  TestBus bus;
  std::shared_ptr<const Fold> fold = std::make_shared<TestFold>();
};

void spoil(const std::string& path) {
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(kCheckpointHeaderBytes));
  file.put('\xff');
  REQUIRE(file.good());
}

std::vector<std::byte> key_of(std::uint64_t key) {
  return {static_cast<std::byte>(key >> 8), static_cast<std::byte>(key)};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("The newest checkpoint is opened, with its header's fields and every entry") {
  const KeptBus kept;
  kept.write(400);
  const std::string path = kept.write(900);
  const Checkpoint checkpoint = kept.open();
  const CheckpointInfo& info = checkpoint.info();
  CHECK(info.path == path);
  CHECK(info.as_of == 900);
  CHECK(info.fold == "last");
  CHECK(info.schema_name == "bytes");
  CHECK(info.record_bytes == 56);
  CHECK(info.entry_bytes == sizeof(TestFold::Entry));
  CHECK(info.journal_id == kept.bus.journal.current_journal_id());
  CHECK(info.session_id == kept.bus.ring->header().session_id);
  CHECK(info.written_wall_ns > 0);
  const MemoryState state = state_of(*kept.fold, kept.bus, 900);
  CHECK(checkpoint.size() == state.size());
  CHECK(info.entries == state.size());
  CHECK(checkpoint.digest() == state.digest());
  CHECK(checkpoint.entries().size() == state.size() * sizeof(TestFold::Entry));
  CHECK(checkpoint.passed_over().empty());
  CHECK(kept.open(400).info().as_of == 400);
}

TEST_CASE("An entry is found by its key; a missing key or one of another size is not") {
  const KeptBus kept;
  kept.write(150);  // keys 1 … 150
  const Checkpoint checkpoint = kept.open();
  const std::span<const std::byte> found = checkpoint.find(key_of(77));
  REQUIRE(found.size() == sizeof(TestFold::Entry));
  CHECK(checkpoint.fold().place_of(found) == 77);
  CHECK(checkpoint.lower_bound(key_of(77)) == 76);
  CHECK(checkpoint.find(key_of(151)).empty());
  CHECK(checkpoint.lower_bound(key_of(151)) == 150);
  const std::vector<std::byte> long_key(3);
  CHECK(checkpoint.find(long_key).empty());
  CHECK(checkpoint.lower_bound(long_key) == 150);
  CHECK(checkpoint.find({}).empty());
}

TEST_CASE("A damaged checkpoint is skipped with a log line, and refused if it is requested") {
  const KeptBus kept;
  kept.write(400);
  const std::string damaged = kept.write(900);
  spoil(damaged);
  const Checkpoint checkpoint = kept.open();
  CHECK(checkpoint.info().as_of == 400);
  REQUIRE(checkpoint.passed_over().size() == 1);
  CHECK(contains(checkpoint.passed_over()[0], damaged));
  CHECK(errc_of(Checkpoint::open(kept.options(900)).status()) == Errc::kDamaged);
}

TEST_CASE("A list contains every checkpoint, newest first, and why one would be skipped") {
  const KeptBus kept;
  CHECK(Checkpoint::list(kept.options())->empty());
  kept.write(400);
  kept.write(900);
  const CheckpointIdentity beyond = identity_at(kept.bus, 5000);  // not durable here
  write_checkpoint(kept.bus, *kept.fold, state_of(*kept.fold, kept.bus, 1000), beyond);
  const auto listed = Checkpoint::list(kept.options());
  REQUIRE(listed.ok());
  REQUIRE(listed->size() == 3);
  CHECK((*listed)[0].info.as_of == 5000);
  CHECK(errc_of((*listed)[0].usable) == Errc::kReset);
  CHECK((*listed)[1].info.as_of == 900);
  CHECK((*listed)[1].usable.ok());
  CHECK((*listed)[1].info.entries == 300);
  CHECK((*listed)[2].info.as_of == 400);
}

TEST_CASE("Nothing is opened or listed in a directory that other users may write to") {
  const KeptBus kept;
  kept.write(400);
  const std::string directory = checkpoint_directory(kept.bus.directory(), "last");
  REQUIRE(::chmod(directory.c_str(), 0770) == 0);
  CHECK(errc_of(kept.open_status()) == Errc::kNotPermitted);
  CHECK(errc_of(Checkpoint::open(kept.options(400)).status()) == Errc::kNotPermitted);
  CHECK(errc_of(Checkpoint::list(kept.options()).status()) == Errc::kNotPermitted);
  REQUIRE(::chmod(directory.c_str(), 0700) == 0);
  CHECK(kept.open_status().ok());
  if (::geteuid() != 0) LAPWING_SKIP("giving a directory to another user needs root");
  REQUIRE(::chown(directory.c_str(), kTestUser, 0) == 0);
  CHECK(errc_of(kept.open_status()) == Errc::kNotPermitted);
  CHECK(errc_of(Checkpoint::open(kept.options(400)).status()) == Errc::kNotPermitted);
}

TEST_CASE("An open checkpoint stays as it is when its file is removed, mapped or copied") {
  const KeptBus kept;
  const std::string path = kept.write(900);
  CheckpointOptions options = kept.options();
  options.copy = GENERATE(false, true);
  const auto checkpoint = Checkpoint::open(options);
  REQUIRE(checkpoint.ok());
  const std::uint64_t digest = checkpoint->digest();
  std::ifstream maps("/proc/self/maps");
  const std::string mapped((std::istreambuf_iterator<char>(maps)), {});
  CHECK(contains(mapped, path) == !options.copy);
  std::filesystem::remove(path);
  CHECK(checkpoint->digest() == digest);
  CHECK(digest == state_of(*kept.fold, kept.bus, 900).digest());
}

TEST_CASE("Without a bus or a journal, or for a foreign fold, there is no checkpoint") {
  CHECK(errc_of(Checkpoint::open({.directory = "./nowhere"}).status()) == Errc::kNoBus);
  const KeptBus kept;
  CHECK(errc_of(kept.open_status()) == Errc::kNotFound);
  CHECK(errc_of(Checkpoint::open({.directory = kept.bus.directory(), .fold = "orders"}).status()) ==
        Errc::kInvalidArgument);
  auto other = std::make_shared<TestFold>();
  other->shape_to_spoil().record_bytes = 48;
  CHECK(
      errc_of(Checkpoint::open({.directory = kept.bus.directory(), .own_fold = other}).status()) ==
      Errc::kInvalidArgument);
  TestBus without(/*with_journal=*/false);
  without.start();
  CHECK(errc_of(
            Checkpoint::open({.directory = without.directory(), .own_fold = kept.fold}).status()) ==
        Errc::kNoJournal);
}

TEST_CASE("A checkpoint is selected by the fold's name or by the fold, not by both") {
  const KeptBus kept;
  kept.write(900);
  CheckpointOptions both = kept.options();
  both.fold = kFoldLatest;
  for (const absl::Status& refused :
       {Checkpoint::open(both).status(), Checkpoint::list(both).status()}) {
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK(contains(std::string(refused.message()), "own_fold"));
    CHECK(contains(std::string(refused.message()), "fold (latest)"));
  }
  CHECK(kept.open_status().ok());
}

TEST_CASE("A forked child has no entries of its parent's checkpoint, and opens its own") {
  const KeptBus kept;
  kept.write(900);
  const Checkpoint checkpoint = kept.open();
  REQUIRE(checkpoint.size() > 0);
  const std::vector<std::byte> key(kept.fold->shape().key_bytes);
  ChildProcess child([&] {
    if (checkpoint.size() != 0 || checkpoint.digest() != 0) return __LINE__;
    if (!checkpoint.entries().empty() || !checkpoint.entry(0).empty()) return __LINE__;
    if (!checkpoint.find(key).empty() || checkpoint.lower_bound(key) != 0) return __LINE__;
    const auto own = Checkpoint::open(kept.options());
    return own.ok() && own->size() > 0 ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  CHECK(checkpoint.size() > 0);
}

}  // namespace
}  // namespace lapwing
