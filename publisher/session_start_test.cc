// The names, modes and locks that a start creates, and the paths it accepts.
#include "publisher/session_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "bus/ring_directory.h"
#include "os/exclusive_lock.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "snapshot/journal/session_log.h"
#include "testing/closing_publisher.h"
#include "testing/other_user.h"
#include "testing/publisher_fixture.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

// Records which directories were synced.
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

// During the lifetime of an object of this class, the working directory does not exist.
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

// A start cannot omit a step.
static_assert(!std::is_invocable_v<decltype(settle_bus), Prepared>);
static_assert(!std::is_default_constructible_v<Locked>);
static_assert(!std::is_constructible_v<SettledBus, Prepared>);
static_assert(!std::is_constructible_v<WithRing, Locked, RingFile>);
static_assert(!std::is_constructible_v<Begun, SettledBus>);
static_assert(!std::is_constructible_v<StartedSession, WithRing>);

}  // namespace

TEST_CASE("A publisher holds the lock of its journal, wherever it is, in addition to the bus's") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  if (GENERATE(false, true)) options.journal_directory = directory.file("elsewhere");
  const auto publisher = open_publisher(options);
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  for (const std::string& held : {options.directory, bus->journal_root}) {
    INFO(held);
    const auto lock = ExclusiveLock::take(held + "/" + kLockFileName, 0);
    CHECK(errc_of(lock.status()) == Errc::kInUse);
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

TEST_CASE("A segment size out of bounds is refused with the bounds, and nothing is created") {
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

TEST_CASE("If no thread can be started, a start fails and leaves a bus that can be started") {
  if (kThreadSanitizer) LAPWING_SKIP("a child that starts threads dies where its parent had any");
  if (geteuid() != 0) LAPWING_SKIP("a limit on processes that holds needs another user id");
  const TemporaryDirectory directory{TemporaryDirectory::in_memory()};
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  PublisherSetUp options = options_for(directory);
  options.make_queue = [] { return std::make_unique<PosixWriteQueue>(); };
  // Avoid this user's only directory in /dev/shm, because other tests may be using it.
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

TEST_CASE("An absolute path needs no working directory; the error about a relative one names it") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  const LostWorkingDirectory lost;
  CHECK(closing(open_with_seams(options)).ok());
  options.directory = "bus";
  CHECK(errc_of(closing(open_with_seams(options)).status()) == Errc::kNotFound);
}

TEST_CASE("A bus in a directory with a long name gets the beginning of that name") {
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

namespace {

// The possible failures of a start, one per step.
struct Failure {
  const char* what;
  void (*cause)(PublisherSetUp& options);
  bool begins = true;  // at this step, the session has begun
};

std::size_t files_in(const std::string& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

void publish(const PublisherSetUp& options, std::size_t count) {
  REQUIRE(*open_publisher(options)->publish_batch(bytes_of(records_from(1, count))) == count);
}

// A queue whose workers cannot run on the chosen processors.
class UnplacedQueue final : public WriteQueue {
 public:
  std::string description() const override { return real_.description(); }
  void register_memory(std::span<const std::byte>) override {}
  absl::Status place_workers(const std::vector<unsigned>&) override {
    return make_error(Errc::kInvalidArgument, "no worker may run there");
  }
  bool submit(const WriteRequest& request) override { return real_.submit(request); }
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override {
    return real_.reap(out, wait_ns);
  }
  std::size_t in_flight() const override { return real_.in_flight(); }

 private:
  PosixWriteQueue real_;
};

// Like a full disk, fails to create files whose name contains `part`.
class FullDisk final : public PosixDisk {
 public:
  explicit FullDisk(std::string part) : part_(std::move(part)) {}
  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    if (options.mode == OpenMode::kCreate && path.find(part_) != std::string::npos) {
      return make_system_error(ENOSPC, "making " + path);
    }
    return PosixDisk::open(path, options);
  }

 private:
  std::string part_;
};

// Like a failing disk, fails to write entries in `sessions` from the given one on.
class FailingLogDisk final : public PosixDisk {
 public:
  explicit FailingLogDisk(std::uint64_t from) : from_(from) {}
  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    const auto file = PosixDisk::open(path, options);
    if (file.ok() && path.ends_with("/sessions")) log_ = *file;
    return file;
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    if (file == log_ && offset >= from_ * kSessionEntryBytes)
      return make_system_error(EIO, "write");
    return PosixDisk::write_at(file, offset, bytes);
  }

 private:
  std::uint64_t from_;
  FileHandle log_ = -1;
};

}  // namespace

TEST_CASE("A start that fails keeps no ring and no segment, and its session has ended") {
  const Failure failure = GENERATE(
      Failure{"no io_uring worker may run there",
              [](PublisherSetUp& options) {
                options.make_queue = [] { return std::make_unique<UnplacedQueue>(); };
              },
              false},
      Failure{"a bus.json that is a directory",
              [](PublisherSetUp& options) {
                std::filesystem::remove(options.directory + "/bus.json");
                std::filesystem::create_directories(options.directory + "/bus.json/in-the-way");
              },
              false},
      Failure{"a name that is not UTF-8", [](PublisherSetUp& options) { options.name = "\xff"; },
              false},
      Failure{"a segment that cannot be made",
              [](PublisherSetUp& options) {
                options.make_disk = [] { return std::make_unique<FullDisk>("1.jnl"); };
              }},
      Failure{"a bus.json that comes to be a directory", [](PublisherSetUp& options) {
                options.on_step = [&options](const std::string& step) {
                  if (step != "announce") return;
                  std::filesystem::remove(options.directory + "/bus.json");
                  std::filesystem::create_directories(options.directory + "/bus.json/in-the-way");
                };
              }});
  INFO(failure.what);
  const TemporaryDirectory directory;
  const TemporaryDirectory rings{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.ring_directory = rings.path();
  const std::size_t slots = kSegmentSlotBytesMin / slot_bytes_for(options.record_bytes);
  publish(options, slots);  // a whole segment
  const std::size_t files_before = files_in(options.directory + "/journal");
  PublisherSetUp failing = options;
  failure.cause(failing);
  for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
    if (failure.begins) std::filesystem::remove_all(options.directory + "/bus.json");
    CHECK_FALSE(closing(open_with_seams(failing)).ok());
    CHECK(files_in(rings.path()) == 0);
    CHECK(files_in(options.directory + "/journal") == files_before);
    PosixDisk disk;
    const auto log = SessionLog::open_read_only(disk, options.directory + "/journal");
    REQUIRE(log.ok());
    CHECK(log->sessions().size() == (failure.begins ? 1 + attempt : 1));
    REQUIRE(log->last()->end.has_value());
    CHECK(log->last()->end->how == SessionEnd::kClosed);
    CHECK(log->last()->end->last == slots);
  }
  std::filesystem::remove_all(options.directory + "/bus.json");
  CHECK(open_publisher(options)->first() == slots + 1);
}

TEST_CASE("A start that cannot record its end leaves one ring, which the next start removes") {
  const TemporaryDirectory directory;
  const TemporaryDirectory rings{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.ring_directory = rings.path();
  publish(options, 10);
  PublisherSetUp failing = options;
  std::uint64_t entries = 3;  // begin, reservation, end
  failing.make_disk = [&] { return std::make_unique<FailingLogDisk>(entries + 1); };
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK_FALSE(closing(open_with_seams(failing)).ok());
    CHECK(files_in(rings.path()) == 1);
    entries += 2;  // its begin, and the end that the next start writes
  }
  const auto publisher = open_publisher(options);
  CHECK(publisher->first() == 11);
  CHECK(publisher->last_session().void_first == kNoSequence);
  CHECK(files_in(rings.path()) == 1);
}

TEST_CASE("The ring of a killed publisher is removed when its session is settled, not earlier") {
  const TemporaryDirectory directory;
  const TemporaryDirectory rings{TemporaryDirectory::in_memory()};
  PublisherSetUp options = options_for(directory);
  options.ring_directory = rings.path();
  const bool journal = GENERATE(true, false);
  if (!journal) keep_no_journal(options);
  const pid_t child = fork();
  if (child == 0) {
    auto publisher = open_with_seams(options);
    if (!publisher.ok()) _exit(1);
    if (*publisher->publish_batch(bytes_of(records_from(1, 10))) != 10) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(files_in(rings.path()) == 1);
  // A capacity that exceeds the available memory is refused after the session is settled.
  PublisherSetUp failing = options;
  failing.capacity = kCapacityMax;
  CHECK_FALSE(closing(open_with_seams(failing)).ok());
  // Without a journal, its records are only in the ring.
  CHECK(files_in(rings.path()) == (journal ? 0 : 1));
  CHECK(open_publisher(options)->first() == (journal ? 11 : 1));
}

// Another user holds the first name when a publisher is killed, and
// removes it before the next start.
TEST_CASE("A ring in a directory with a suffix is found after the first name becomes free") {
  if (geteuid() != 0) LAPWING_SKIP("taking a name as another user needs root");
  const TestUserLock lock;
  const std::string first = absl::StrCat("/dev/shm/lapwing-0-", kTestGroup);
  std::filesystem::remove_all(first);
  const TemporaryDirectory directory;
  if (is_on_tmpfs(directory.path()).value_or(true)) LAPWING_SKIP("needs a disk for the bus");
  PublisherSetUp options = options_for(directory);
  options.group = kTestGroup;
  const bool journal = GENERATE(true, false);
  if (!journal) keep_no_journal(options);
  REQUIRE(mkdir(first.c_str(), 0700) == 0);
  REQUIRE(chown(first.c_str(), kOtherTestUser, kTestGroup) == 0);
  const pid_t child = fork();
  if (child == 0) {
    auto publisher = open_with_seams(options);
    if (!publisher.ok()) _exit(1);
    if (*publisher->publish_batch(bytes_of(records_from(1, 10))) != 10) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  const std::string ring = read_bus_description(options.directory)->ring_path;
  const std::filesystem::path home = std::filesystem::path(ring).parent_path();
  const std::filesystem::path suffixed = home.parent_path();
  REQUIRE(suffixed.string().starts_with(first + "."));
  std::filesystem::remove_all(first);
  CHECK(open_publisher(options)->first() == (journal ? 11 : 1));
  CHECK_FALSE(std::filesystem::exists(ring));
  CHECK(std::filesystem::exists(first));
  CHECK(read_bus_description(options.directory)->ring_path.starts_with(first + "/"));
  std::filesystem::remove_all(first);
  std::filesystem::remove_all(suffixed);
}

TEST_CASE("A failed start leaves no file of its ring") {
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
