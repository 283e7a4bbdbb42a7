#include "bus/ring_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lapwing/error.h"
#include "os/huge_pages.h"
#include "proto/header_checksum.h"
#include "proto/text_field.h"
#include "testing/other_user.h"
#include "testing/ring_spec.h"

namespace lapwing {
namespace {

using Catch::Contains;

struct stat stat_of(const std::string& path) {
  struct stat found{};
  REQUIRE(stat(path.c_str(), &found) == 0);
  return found;
}

bool is_empty(const std::string& directory) {
  return std::filesystem::is_empty(directory);
}

absl::Status failure_of(const RingSpec& spec) {
  return RingFile::create(spec).status();
}

std::string message_of(const absl::Status& status) {
  return std::string(status.message());
}

TEST_CASE("A new ring is readable only by its owner, and not writable") {
  const TestDirectory directory;
  const mode_t umask_before = umask(GENERATE(as<mode_t>(), 0, 0777));
  const RingFile file = make_ring(test_spec(directory.path()));
  umask(umask_before);
  CHECK((stat_of(file.path()).st_mode & 07777) == 0400);
  CHECK(file.path() == directory / (file.header().session_id.hex() + ".ring"));
}

TEST_CASE("A ring for a group is readable by that group as well") {
  if (geteuid() != 0) LAPWING_SKIP("giving a file to a group that is not ours needs root");
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path());
  spec.group = kTestGroup;
  const RingFile file = make_ring(spec);
  CHECK((stat_of(file.path()).st_mode & 07777) == 0440);
  CHECK(stat_of(file.path()).st_gid == kTestGroup);
}

TEST_CASE("The header of a new ring contains its specification") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path(), 80, 1024);
  spec.schema = "dbn.mbp-1";
  spec.journal_id = random_id().value();
  spec.boot_id = boot_id().value();
  const RingFile file = make_ring(spec);
  const RingHeader& header = file.header();
  CHECK(header.magic == kRingMagic);
  CHECK(header.abi_version == kAbiVersion);
  CHECK(header.header_bytes == 8192);
  CHECK(header.feature_bits == 0);
  CHECK(header.slot_bytes == 128);
  CHECK(header.record_bytes == 80);
  CHECK(header.capacity == 1024);
  CHECK(header.journal_id == spec.journal_id);
  CHECK(header.session_id == spec.session_id);
  CHECK(header.boot_id == spec.boot_id);
  CHECK(header.publisher_pid == static_cast<std::uint32_t>(getpid()));
  CHECK(get_text(header.schema) == "dbn.mbp-1");
  CHECK(get_text(header.bus_name) == "test");
  CHECK(header.checksum == checksum_of(header));
  CHECK(stat_of(file.path()).st_size == 8192 + 1024 * 128);
  CHECK(std::memcmp(&map_ring(file.path()).header(), &header, sizeof header) == 0);
}

TEST_CASE("A new ring starts just before its session's first record") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path());
  spec.session_first = 5001;
  spec.ring_first = 5001;
  spec.has_journal = GENERATE(true, false);
  const RingFile file = make_ring(spec);
  const RingWords& words = file.words();
  CHECK(load_head(words) == 5000);
  CHECK(load_archived(words) == 5000);
  CHECK(load_durable(words) == 5000);
  CHECK(load_oldest(words) == 5001);
  CHECK(load_journal_condition(words).state ==
        (spec.has_journal ? JournalState::kGood : JournalState::kNone));
  CHECK(load_ring_state(words) == RingState::kRunning);
  CHECK(load_heartbeat(words) > 0);
  CHECK(load_heartbeat(words) <= monotonic_ns());
  CHECK(load_bell(doorbell_address(words)) == 0);
}

TEST_CASE("The first sequence in a ring is raised to the ring's capacity") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path(), 56, 1024);
  spec.session_first = 5001;
  spec.ring_first = 1;
  CHECK(make_ring(spec).header().ring_first_sequence == 5001 - 1024);
  spec.session_id = random_id().value();
  spec.ring_first = 4500;
  CHECK(make_ring(spec).header().ring_first_sequence == 4500);
}

TEST_CASE(
    "Records before the session are readable once they are stored, without a change of head") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path(), 56, 1024);
  spec.session_first = 101;
  spec.ring_first = 91;
  TestRing ring(spec);
  for (Sequence n = 91; n <= 100; ++n) store_record(ring.writer, n, record_of(n, 56).data());
  CHECK(ring.reader.head() == 100);
  CHECK(ring.reader.oldest() == 91);
  for (Sequence n = 91; n <= 100; ++n) {
    REQUIRE(ring.read(n).outcome == RingRead::kRecord);
    CHECK(ring.copy_is(n));
  }
  CHECK(ring.read(101).outcome == RingRead::kEmpty);
}

TEST_CASE(
    "A capacity that is out of bounds or not a power of two is refused with the nearest one") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path());
  struct Case {
    std::uint64_t capacity;
    const char* remedy;
  };
  const Case bad = GENERATE(Case{1, "--capacity 1024"}, Case{512, "--capacity 1024"},
                            Case{1025, "--capacity 2048"}, Case{3'000'000, "--capacity 4194304"},
                            Case{(std::uint64_t{1} << 32) + 1, "--capacity 4294967296"},
                            Case{UINT64_MAX, "--capacity 4294967296"});
  spec.capacity = bad.capacity;
  const absl::Status status = failure_of(spec);
  CHECK(errc_of(status) == Errc::kInvalidArgument);
  CHECK_THAT(message_of(status), Contains(bad.remedy));
  CHECK(is_empty(directory.path()));
}

TEST_CASE("The smallest ring has 64 slots and 64 KiB of them") {
  const TestDirectory directory;
  CHECK(make_ring(test_spec(directory.path(), 8)).header().capacity == 4096);
  CHECK(make_ring(test_spec(directory.path(), 56)).header().capacity == 1024);
  CHECK(make_ring(test_spec(directory.path(), 4088)).header().capacity == 64);
}

TEST_CASE("A specification that contradicts itself is refused") {
  struct Case {
    const char* what;
    void (*spoil)(RingSpec&);
  };
  const Case bad = GENERATE(
      Case{"records too small", [](RingSpec& spec) { spec.record_bytes = 7; }},
      Case{"records too large", [](RingSpec& spec) { spec.record_bytes = 4089; }},
      Case{"records of no size", [](RingSpec& spec) { spec.record_bytes = 0; }},
      Case{"sequence 0", [](RingSpec& spec) { spec.session_first = spec.ring_first = 0; }},
      Case{"a ring from sequence 0", [](RingSpec& spec) { spec.ring_first = 0; }},
      Case{"a ring that begins after its session", [](RingSpec& spec) { spec.ring_first = 2; }},
      Case{"no stamp left", [](RingSpec& spec) { spec.session_first = kSequenceMax + 1; }},
      Case{"a schema's name that would be cut",
           [](RingSpec& spec) { spec.schema = std::string(32, 's'); }},
      Case{"no session", [](RingSpec& spec) { spec.session_id = Id128{}; }});
  INFO(bad.what);
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path());
  bad.spoil(spec);
  CHECK(errc_of(failure_of(spec)) == Errc::kInvalidArgument);
  CHECK(is_empty(directory.path()));
}

TEST_CASE("An existing file is never overwritten") {
  const TestDirectory directory;
  RingSpec spec = test_spec(directory.path());
  const RingFile first = make_ring(spec);
  CHECK_FALSE(RingFile::create(spec).ok());
  CHECK(first.still_named());
  CHECK(RingMap::attach(first.path()).ok());
}

TEST_CASE(
    "A ring detects that its name is gone, and does not remove another file under that name") {
  const TestDirectory directory;
  RingFile file = make_ring(test_spec(directory.path()));
  CHECK(file.still_named());
  std::filesystem::remove(file.path());
  CHECK_FALSE(file.still_named());
  const RingMap other = [&] {
    RingSpec spec = test_spec(directory.path());
    spec.session_id = file.header().session_id;
    return map_ring(make_ring(spec).path());
  }();
  CHECK_FALSE(file.still_named());
  CHECK(file.unlink().ok());
  CHECK(std::filesystem::exists(other.path()));
}

TEST_CASE("An unlinked ring stays readable to those who map it") {
  const TestDirectory directory;
  TestRing ring(test_spec(directory.path()));
  REQUIRE(ring.file.unlink().ok());
  CHECK(is_empty(directory.path()));
  CHECK(ring.file.unlink().ok());
  ring.publish(1, 3);
  CHECK(ring.read(3).outcome == RingRead::kRecord);
}

TEST_CASE("A directory where another user could replace the ring is refused") {
  const TestDirectory directory;
  struct Case {
    mode_t mode;
    Errc expected;
  };
  const Case place = GENERATE(Case{0777, Errc::kNotPermitted}, Case{0770, Errc::kNotPermitted},
                              Case{0702, Errc::kNotPermitted}, Case{01777, Errc::kOk},
                              Case{0755, Errc::kOk}, Case{0700, Errc::kOk});
  REQUIRE(chmod(directory.path().c_str(), place.mode) == 0);
  CHECK(errc_of(failure_of(test_spec(directory.path()))) == place.expected);
}

TEST_CASE("A ring needs an existing directory") {
  const TestDirectory directory;
  CHECK(errc_of(failure_of(test_spec(directory / "none"))) == Errc::kNotFound);
  const RingFile file = make_ring(test_spec(directory.path()));
  CHECK(errc_of(failure_of(test_spec(file.path()))) == Errc::kNotALapwingFile);
}

TEST_CASE("A forked child does not have the publisher's mapping") {
  const TestDirectory directory;
  const RingFile file = make_ring(test_spec(directory.path()));
  const RingMap map = map_ring(file.path());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    unsigned char resident = 0;
    const bool gone = mincore(&file.words(), 1, &resident) != 0 && errno == ENOMEM;
    void* const page = const_cast<RingWords*>(&map.words());
    _exit(gone && mincore(page, 1, &resident) != 0 && errno == ENOMEM ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// Runs as an unprivileged user. Returns the line that failed, or 0.
int publish_and_try_to_write(const std::string& directory) {
  const auto file = RingFile::create(test_spec(directory));
  if (!file.ok()) return __LINE__;
  const char* const path = file->path().c_str();
  if (open(path, O_RDWR) >= 0 || errno != EACCES) return __LINE__;
  if (open(path, O_WRONLY) >= 0 || errno != EACCES) return __LINE__;
  if (truncate(path, 0) == 0 || errno != EACCES) return __LINE__;
  if (!RingMap::attach(file->path()).ok()) return __LINE__;
  return 0;
}

TEST_CASE("Even the publisher's own user cannot open a ring for writing") {
  if (geteuid() != 0) {
    const TestDirectory directory;
    CHECK(publish_and_try_to_write(directory.path()) == 0);
    return;
  }
  const TestDirectory directory;
  REQUIRE(chown(directory.path().c_str(), kTestUser, kTestGroup) == 0);
  CHECK(run_as(kTestUser, kTestGroup, [&] { return publish_and_try_to_write(directory.path()); }) ==
        0);
}

TEST_CASE("Another user can open a ring only as a member of its group, and only for reading") {
  if (geteuid() != 0) LAPWING_SKIP("running as another user needs root");
  const TestDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  RingSpec spec = test_spec(directory.path());
  spec.group = kTestGroup;
  const RingFile file = make_ring(spec);
  CHECK(run_as(kTestUser, kTestGroup, [&] {
          if (!RingMap::attach(file.path()).ok()) return __LINE__;
          if (open(file.path().c_str(), O_RDWR) >= 0 || errno != EACCES) return __LINE__;
          if (truncate(file.path().c_str(), 0) == 0) return __LINE__;
          if (unlink(file.path().c_str()) == 0) return __LINE__;
          return 0;
        }) == 0);
  CHECK(run_as(kTestUser, kTestUser, [&] {
          const absl::Status status = RingMap::attach(file.path()).status();
          return errc_of(status) == Errc::kNotPermitted ? 0 : __LINE__;
        }) == 0);
}

TEST_CASE("A full tmpfs is an error that names the bytes needed and free, and leaves nothing") {
  const TestMount small("size=1m,mode=0700");
  if (!small.mounted()) LAPWING_SKIP("mounting a small tmpfs needs root");
  const RingSpec spec = test_spec(small.path(), 56, 65536);
  const absl::Status status = failure_of(spec);
  CHECK(errc_of(status) == Errc::kNoSpace);
  CHECK_THAT(message_of(status), Contains("needs 4202496 bytes") && Contains(" 1048576 free") &&
                                     Contains("--capacity") && Contains("--ring-dir"));
  CHECK(is_empty(small.path()));
}

TEST_CASE("Two rings of the default capacity fit into half of the free tmpfs") {
  const TestMount place("size=64m,mode=0700");
  if (!place.mounted()) LAPWING_SKIP("mounting a small tmpfs needs root");
  RingSpec spec = test_spec(place.path());
  spec.capacity = 0;
  CHECK(make_ring(spec).header().capacity == 131072);  // 8 MiB and two pages, in 16 MiB
  spec.record_bytes = 80;
  spec.session_id = random_id().value();
  CHECK(make_ring(spec).header().capacity == 65536);
}

TEST_CASE("The default capacity ends at a million slots, and at the smallest ring") {
  RingSpec spec = test_spec("");
  spec.capacity = 0;
  {
    const TestMount unlimited("size=0,mode=0700");
    if (!unlimited.mounted()) LAPWING_SKIP("mounting a small tmpfs needs root");
    spec.directory = unlimited.path();
    CHECK(make_ring(spec).header().capacity == 1 << 20);
  }
  {
    const TestMount tiny("size=80k,mode=0700");
    spec.directory = tiny.path();
    CHECK(make_ring(spec).header().capacity == 1024);
  }
  {
    const TestMount too_small("size=60k,mode=0700");
    spec.directory = too_small.path();
    CHECK(errc_of(failure_of(spec)) == Errc::kNoSpace);
  }
}

// Since Linux 6.1, a process can make its pages huge regardless of the mount options.
bool kernel_collapses() {
  utsname system{};
  REQUIRE(uname(&system) == 0);
  int major = 0;
  int minor = 0;
  REQUIRE(std::sscanf(system.release, "%d.%d", &major, &minor) == 2);
  return major > 6 || (major == 6 && minor >= 1);
}

TEST_CASE("A tmpfs without huge pages gets them if the kernel collapses pages") {
  const TestMount place("size=24m,mode=0700,huge=never");
  if (!place.mounted()) LAPWING_SKIP("mounting a tmpfs without huge pages needs root");
  RingSpec spec = test_spec(place.path(), 56, 65536);
  spec.huge_pages = true;
  if (!kernel_collapses()) {
    const absl::Status status = failure_of(spec);
    CHECK(errc_of(status) == Errc::kUnsupported);
    CHECK_THAT(message_of(status), Contains("huge=advise"));
    CHECK(is_empty(place.path()));
    LAPWING_SKIP("collapsing pages needs Linux 6.1 or newer");
  }
  TestRing ring(spec);  // fails unless every page that can be huge is huge
  ring.publish(1, 10);
  CHECK(ring.read(10).outcome == RingRead::kRecord);
}

TEST_CASE("Huge pages are used if the tmpfs provides them, and a full tmpfs is an error") {
  const TestMount place("size=24m,mode=0700,huge=advise");
  if (!place.mounted())
    LAPWING_SKIP("mounting a tmpfs with huge pages needs root and a kernel with them");
  RingSpec spec = test_spec(place.path(), 56, 65536);
  spec.huge_pages = true;
  TestRing ring(spec);
  ring.publish(1, 10);
  CHECK(ring.read(10).outcome == RingRead::kRecord);

  spec.session_id = random_id().value();
  spec.capacity = 1 << 20;
  CHECK(errc_of(failure_of(spec)) == Errc::kNoSpace);
  spec.capacity = 1024;
  CHECK(errc_of(failure_of(spec)) == Errc::kUnsupported);  // smaller than one huge page
  CHECK_THAT(message_of(failure_of(spec)), Contains("larger --capacity"));
}

}  // namespace
}  // namespace lapwing
