// The checkpointer on full disks, on a bus that makes no progress, and in directories that belong
// to other users.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/system_error.h"
#include "subscribers/checkpointer/trouble.h"
#include "testing/checkpointer_fixture.h"
#include "testing/process_threads.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

using Catch::Contains;

constexpr uid_t kStranger = 61231;  // not a user on this system

// Fails every write while `full` is set.
class FullDisk final : public PosixDisk {
 public:
  explicit FullDisk(const bool& full) : full_(full) {}
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    if (full_) return make_system_error(ENOSPC, "cannot write the checkpoint");
    return PosixDisk::write_at(file, offset, bytes);
  }

 private:
  const bool& full_;
};

// While it exists, this process cannot write any files, as on a full disk, not even the store's.
class NoRoom {
 public:
  NoRoom() {
    std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  ~NoRoom() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// Records the thread that writes the first checkpoint.
class WhereDisk final : public PosixDisk {
 public:
  struct Place {
    std::string thread = {};
    std::vector<unsigned> cpus = {};
    int nice = 0;
  };
  explicit WhereDisk(Place& place) : place_(place) {}
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    const ProcessThread here = this_thread();
    if (place_.thread.empty()) place_ = {here.name, here.cpus(), here.nice()};
    return PosixDisk::write_at(file, offset, bytes);
  }

 private:
  Place& place_;
};

absl::Status refusal(const TestBus& bus) {
  return start_checkpointer(options_for(bus)).status();
}

}  // namespace

TEST_CASE("A full disk is logged once, and the checkpoint is written when there is room") {
  TestBus bus;
  bus.start();
  bool full = true;
  std::vector<std::string> told;
  CheckpointerSetUp options = options_for(bus);
  options.every_records = 10;
  options.make_disk = [&] { return std::make_unique<FullDisk>(full); };
  options.log = [&](const std::string& line) { told.push_back(line); };
  Following following(bus, options);
  bus.publish(200);
  bus.archive(200);
  REQUIRE(following.until([&] { return !told.empty(); }));
  const std::uint64_t later_ns = monotonic_ns() + 3 * kRetryNs;
  REQUIRE(following.until([&] { return monotonic_ns() > later_ns; }));
  CHECK(told.size() == 1);
  CHECK(told[0].find("cannot write the checkpoint") != std::string::npos);
  CHECK(checkpoints_of(bus).empty());
  full = false;
  REQUIRE(following.until([&] { return following.checkpointer->counters().checkpoints > 0; }));
  REQUIRE(told.size() == 2);
  CHECK(told[1] == "checkpoints can be written again");
}

TEST_CASE(
    "The thread that writes checkpoints is placed, and an impossible placement is refused at "
    "once") {
  TestBus bus;
  bus.start();
  WhereDisk::Place place;
  CheckpointerSetUp options = options_for(bus);
  options.every_records = 10;
  options.make_disk = [&] { return std::make_unique<WhereDisk>(place); };
  options.subscriber.threads = {.cpus = {this_thread().cpus().back()}, .nice = 19};
  {
    Following following(bus, options);
    bus.publish(200);
    bus.archive(200);
    REQUIRE(following.until([&] { return following.checkpointer->counters().checkpoints > 0; }));
  }
  CHECK(place.thread == "lapwing-ckpt");
  CHECK(place.cpus == options.subscriber.threads.cpus);
  CHECK(place.nice == 19);
  options.subscriber.threads.cpus = {8000};
  CHECK(errc_of(start_checkpointer(options).status()) == Errc::kInvalidArgument);
}

TEST_CASE("A run whose last checkpoint cannot be written ends with that error") {
  ClosedBus bus(200);
  const bool full = true;
  std::vector<std::string> told;
  CheckpointerSetUp options = options_for(bus);
  options.make_disk = [&] { return std::make_unique<FullDisk>(full); };
  options.log = [&](const std::string& line) { told.push_back(line); };
  Following following(bus, options);
  REQUIRE(following.until_closed());
  const absl::Status finished = following.checkpointer->finish();
  CHECK(errc_of(finished) == Errc::kNoSpace);
  CHECK_THAT(std::string(finished.message()), Contains("cannot write the checkpoint"));
  CHECK(told.empty());
}

TEST_CASE("Stored records get their checkpoint in time, even without new ones") {
  TestBus bus;
  bus.start();
  bus.publish(200);
  bus.archive(200);
  CheckpointerSetUp options = options_for(bus);
  options.every = std::chrono::milliseconds(100);
  Following following(bus, options);
  REQUIRE(following.until([&] { return following.checkpointer->committed().has_value(); }));
  REQUIRE(following.until([&] { return following.checkpointer->counters().checkpoints == 1; }));
}

TEST_CASE("A store that cannot be written is logged once, and continues when it can") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(300);
  std::vector<std::string> told;
  CheckpointerSetUp options = options_for(bus);
  options.log = [&](const std::string& line) { told.push_back(line); };
  Following following(bus, options);
  REQUIRE(following.until_folded(280));
  bus.publish(100);
  bus.archive(400);
  {
    const NoRoom no_room;
    REQUIRE(following.until([&] { return !told.empty(); }));
    const std::uint64_t later_ns = monotonic_ns() + 3 * kRetryNs;
    REQUIRE(following.until([&] { return monotonic_ns() > later_ns; }));
    // It can still be stopped.
    CHECK(following.checkpointer->committed()->sequence <= 300);
    CHECK_FALSE(following.checkpointer->digest().ok());
    const absl::Status finished = following.checkpointer->finish();
    CHECK(errc_of(finished) == Errc::kSystem);
    CHECK_THAT(std::string(finished.message()), Contains("the next run continues after record"));
  }
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("cannot write to the store"));
  REQUIRE(following.until([&] { return told.size() == 2; }));
  CHECK(told[1] == "the store can be written to again");
  REQUIRE(following.until_folded(380));
  REQUIRE(following.checkpointer->finish().ok());
  Reference reference = reference_of(bus);
  reference.fold_through(400);
  CHECK(following.checkpointer->committed()->sequence == reference.settled());
  CHECK(following.digest() == reference.settled_digest());
}

TEST_CASE("A partly folded event is folded once when durable stops moving") {
  TestBus bus;
  bus.start();
  bus.publish(300);
  bus.archive(300);
  std::vector<std::string> told;
  CheckpointerSetUp options = options_for(bus);
  options.pending_bytes_max = 50 * 56;
  options.hot_bytes_max = 1;
  options.durable_stall_ns = 5 * kMs;
  options.log = [&](const std::string& line) { told.push_back(line); };
  options.own_fold = std::make_shared<TallyFold>(1, false);
  Following following(bus, options);
  REQUIRE(following.until_folded(300));
  bus.flush = FlushManner::kIgnore;
  bus.publish(400);
  bus.archive_unsynced(700);
  REQUIRE(following.until([&] { return !told.empty(); }));
  CHECK_THAT(told[0], Contains("nothing after record 300 is durable"));
  bus.flush = FlushManner::kAnswer;
  bus.archive(700);
  bus.close();
  REQUIRE(following.until_closed());
  Reference reference = reference_of(bus);
  reference.fold_through(700);
  CHECK(following.checkpointer->committed()->sequence == 700);
  CHECK(following.digest() == reference.digest());
}

TEST_CASE("A user who does not own the bus directory is refused, and creates nothing there") {
  if (::geteuid() != 0) LAPWING_SKIP("giving a directory to another user needs root");
  ClosedBus bus(100);
  REQUIRE(::chown(bus.directory().c_str(), kStranger, 0) == 0);
  const absl::Status refused = refusal(bus);
  CHECK(errc_of(refused) == Errc::kNotPermitted);
  CHECK_THAT(std::string(refused.message()), Contains("belongs to user 61231"));
  CHECK_FALSE(std::filesystem::exists(bus.directory() + "/checkpoint"));
}

TEST_CASE("Checkpoints that other users may have put there are not used") {
  ClosedBus bus(100);
  REQUIRE(refusal(bus).ok());
  REQUIRE(::chmod(tally_directory(bus).c_str(), 0770) == 0);
  const absl::Status refused = refusal(bus);
  CHECK(errc_of(refused) == Errc::kNotPermitted);
  CHECK_THAT(std::string(refused.message()), Contains("chmod go-w"));
}

}  // namespace lapwing
