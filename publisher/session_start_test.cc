// What a start does to names, modes and locks, and which paths it takes.
#include "publisher/session_start.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "os/exclusive_lock.h"
#include "os/unique_fd.h"
#include "testing/closing_publisher.h"
#include "testing/other_user.h"
#include "testing/publisher_fixture.h"
#include "testing/skip.h"

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

// A working directory that does not exist any more, for as long as it lives.
class LostWorkingDirectory {
 public:
  LostWorkingDirectory() : before_(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const TemporaryDirectory lost;
    REQUIRE(chdir(lost.path().c_str()) == 0);
  }
  LostWorkingDirectory(const LostWorkingDirectory&) = delete;
  LostWorkingDirectory& operator=(const LostWorkingDirectory&) = delete;
  ~LostWorkingDirectory() {
    if (fchdir(before_.get()) != 0) std::abort();
  }

 private:
  UniqueFd before_;
};

}  // namespace

TEST_CASE("A publisher holds the lock of its journal, wherever that is, besides the bus's") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  if (GENERATE(false, true)) options.journal_directory = directory.file("elsewhere");
  const auto publisher = open_publisher(options);
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  for (const std::string& held : {options.directory, bus->journal_root}) {
    INFO(held);
    const auto lock = ExclusiveLock::take(held + "/" + kLockFileName, 0);
    CHECK(errc_of(lock.status()) == Errc::kBusTaken);
  }
}

TEST_CASE("A bus of one user is not given to a group, which could not read its history") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  open_publisher(options);
  const std::string journal = options.directory + "/" + kJournalDirectoryName;
  REQUIRE(mode_of(options.directory) == 0700);
  options.group = getegid();
  const auto refused = closing(open_with_seams(options));
  REQUIRE(errc_of(refused.status()) == Errc::kNotPermitted);
  CHECK(std::string(refused.status().message()).find("chmod -R g+rX") != std::string::npos);
  CHECK(mode_of(options.directory) == 0700);
  CHECK(mode_of(journal) == 0700);
}

TEST_CASE("The names of the directories that hold a journal are synced with it") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
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

TEST_CASE("A segment size out of bounds is refused with the bounds, and nothing is made") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  options.segment_bytes =
      GENERATE(kSegmentSlotBytesMin / 2, kSegmentSlotBytesMin + 1, 2 * kSegmentSlotBytesMax);
  const auto refused = closing(open_with_seams(options));
  REQUIRE(errc_of(refused.status()) == Errc::kInvalidArgument);
  const std::string message(refused.status().message());
  CHECK(message.find(std::to_string(kSegmentSlotBytesMax)) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(options.directory));
}

TEST_CASE(
    "Where no thread can be started, a start is refused and leaves a bus that can be started") {
  if (kThreadSanitizer) LAPWING_SKIP("a child that starts threads dies where its parent had any");
  if (geteuid() != 0) LAPWING_SKIP("a limit on processes that holds needs another user id");
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  PublisherSetUp options = options_for(directory);
  options.make_queue = [] { return std::make_unique<PosixWriteQueue>(); };
  // Not the one place that this user has in /dev/shm: other tests may be at it.
  options.ring_directory = directory.file("rings");
  REQUIRE(mkdir(options.ring_directory.c_str(), 0700) == 0);
  REQUIRE(chown(options.ring_directory.c_str(), kTestUser, kTestGroup) == 0);
  const int line = run_as(kTestUser, kTestGroup, [&] {
    const rlimit one{1, 1};
    if (setrlimit(RLIMIT_NPROC, &one) != 0) return __LINE__;
    return errc_of(closing(open_with_seams(options)).status()) == Errc::kLimit ? 0 : __LINE__;
  });
  REQUIRE(line == 0);
  const int again = run_as(kTestUser, kTestGroup, [&] {
    const auto publisher = closing(open_with_seams(options));
    if (!publisher.ok() || (*publisher)->first() != 1) return __LINE__;
    return (*publisher)->last_session().void_first != kNoSequence ? __LINE__ : 0;
  });
  REQUIRE(again == 0);
}

TEST_CASE("An absolute path needs no working directory, a relative one says that it does") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const LostWorkingDirectory lost;
  CHECK(closing(open_with_seams(options)).ok());
  options.directory = "bus";
  CHECK(errc_of(closing(open_with_seams(options)).status()) == Errc::kNotFound);
}

TEST_CASE("A bus in a directory with a long name is named by the beginning of it") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::string umlauts = "x";
  for (int i = 0; i < 60; ++i) umlauts += "\u00e4";  // two bytes each
  options.directory = directory.file(umlauts);
  open_publisher(options);
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  CHECK(bus->name == umlauts.substr(0, 63));
  std::filesystem::rename(options.directory, directory.file(umlauts.substr(1)));
  options.directory = directory.file(umlauts.substr(1));
  open_publisher(options);
  CHECK(read_bus_description(options.directory)->name == umlauts.substr(1, 62));
}

TEST_CASE("A path that does not fit into the Welcome is refused, not cut short") {
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  std::string deep = directory.path();
  for (int i = 0; i < 4; ++i) deep += "/" + std::string(120, 'd');
  std::filesystem::create_directories(deep);
  SECTION("of the ring") {
    keep_no_journal(options);
    options.ring_directory = deep;
  }
  SECTION("of the journal") {
    options.journal_directory = deep + "/" + std::string(30, 'j');
  }
  const auto refused = closing(open_with_seams(options));
  CHECK(errc_of(refused.status()) == Errc::kPathTooLong);
  for (const auto& left : std::filesystem::recursive_directory_iterator(deep)) {
    CHECK(left.is_directory());  // no ring, no lock
  }
}

TEST_CASE("A start that fails leaves nothing where its ring was") {
  const TemporaryDirectory directory;
  const TemporaryDirectory rings{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.ring_directory = rings.path();
  options.on_step = [&](const std::string& step) {
    if (step != "announce") return;
    CHECK_FALSE(std::filesystem::is_empty(rings.path()));
    std::filesystem::create_directories(options.directory + "/bus.json/in-the-way");
  };
  CHECK_FALSE(closing(open_with_seams(options)).ok());
  CHECK(std::filesystem::is_empty(rings.path()));
}

}  // namespace lapwing
