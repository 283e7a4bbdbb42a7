// What a start does to names, modes and locks.
#include "publisher/session_start.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "publisher/test_publisher.h"
#include "snapshot/publisher_lock.h"

namespace lapwing {
namespace {

// Notes which directories were synced.
class NotingDisk final : public PosixDisk {
 public:
  explicit NotingDisk(std::vector<std::string>& synced) : synced_(synced) {}
  absl::Status sync_directory(const std::string& path) override {
    synced_.push_back(path);
    return PosixDisk::sync_directory(path);
  }

 private:
  std::vector<std::string>& synced_;
};

unsigned mode_of(const std::string& path) {
  struct stat found{};
  REQUIRE(stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

}  // namespace

TEST_CASE("A publisher holds the lock of its journal, wherever that is, besides the bus's") {
  const TemporaryDirectory directory;
  PublisherOptions options = options_for(directory);
  if (GENERATE(false, true)) options.journal_directory = directory.file("elsewhere");
  const auto publisher = open_publisher(options);
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  for (const std::string& held : {options.directory, bus->journal_root}) {
    INFO(held);
    const auto lock = PublisherLock::take(held + "/" + kLockFileName, 0);
    CHECK(errc_of(lock.status()) == Errc::kBusTaken);
  }
}

TEST_CASE("A starter that does not hold the lock yet has given nothing to its group") {
  const TemporaryDirectory directory;
  PublisherOptions options = options_for(directory);
  open_publisher(options);
  const std::string journal = options.directory + "/" + kJournalDirectoryName;
  REQUIRE(mode_of(options.directory) == 0700);
  options.group = getegid();
  bool looked = false;
  options.on_step = [&](const char* step) {
    if (std::string(step) != "take-lock") return;
    looked = true;
    CHECK(mode_of(options.directory) == 0700);
    CHECK(mode_of(journal) == 0700);
  };
  open_publisher(options);
  CHECK(looked);
  CHECK(mode_of(options.directory) == 0750);
  CHECK(mode_of(journal) == 0750);
}

TEST_CASE("The names of the directories that hold a journal are synced with it") {
  const TemporaryDirectory directory;
  PublisherOptions options = options_for(directory);
  std::vector<std::string> synced;
  options.make_disk = [&] { return std::make_unique<NotingDisk>(synced); };
  std::vector<std::string> expected = {directory.path(), options.directory};
  if (GENERATE(false, true)) {
    std::filesystem::create_directory(directory.file("other"));
    options.journal_directory = directory.file("other") + "/journal";
    expected = {directory.path(), directory.file("other")};
  }
  open_publisher(options);
  for (const std::string& path : expected) {
    INFO(path);
    CHECK(std::ranges::count(synced, std::filesystem::canonical(path).string()) >= 1);
  }
}

}  // namespace lapwing
