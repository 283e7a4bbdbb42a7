// A recording whose file was replaced, truncated or moved away between two runs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "testing/recorder_fixture.h"

namespace lapwing {
namespace {

struct ReplacedOnDisk : RecordingOnDisk {
  ReplacedOnDisk() : RecordingOnDisk("es.dbn") {}
  // Records like a run that is killed after its last commit.
  void record_until_killed(const Rotation& rotation, Sequence last) {
    const auto recording = prepared(disk, recording_options(path, rotation));
    const Sequence first = recording->position() ? recording->position()->sequence + 1 : 1;
    REQUIRE(append(*recording, first, last).ok());
    REQUIRE(recording->commit(feed_position(last)).ok());
  }
  RecordingPosition position() { return *read_position(disk, path); }
  std::string growing_file() { return file_path(path, position()); }
  // Checks that the recording is refused and that this changes nothing. Returns the message.
  std::string refusal(const Rotation& rotation) {
    const std::string position = read_file(position_path(path));
    const auto names = disk.list(directory.path()).value();
    const auto refused = RecordingFiles::prepare(disk, recording_options(path, rotation));
    CHECK(errc_of(refused.status()) == Errc::kDamaged);
    CHECK(read_file(position_path(path)) == position);
    CHECK(disk.list(directory.path()).value().size() == names.size());
    return std::string(refused.status().message());
  }
};

// Checks the user's choices.
void check_choices(ReplacedOnDisk& on, const std::string& message) {
  CAPTURE(message);
  CHECK(absl::StrContains(message, on.growing_file() + " ("));
  CHECK(absl::StrContains(message,
                          "Put the recorded file back, or move " + on.path + ".position away"));
  CHECK(absl::StrContains(message, "after:" + on.position().position.text()));
}

}  // namespace

TEST_CASE("An older copy in the place of a recording's file is refused, and the file continues") {
  ReplacedOnDisk on;
  on.path = on.directory.file(GENERATE("es.dbn", "es.dbn.zst"));
  const Rotation rotation = GENERATE(kOneFile, kBySecond);
  on.record(rotation, 200);
  const std::string older = read_file(on.growing_file());
  on.record(rotation, 290);
  const std::string newer = read_file(on.growing_file());
  REQUIRE(newer.size() > older.size());
  write_file(on.growing_file(), older);
  const std::string message = on.refusal(rotation);
  check_choices(on, message);
  CHECK(absl::StrContains(message, "has only " + std::to_string(older.size()) + " bytes"));
  CHECK(read_file(on.growing_file()) == older);
  write_file(on.growing_file(), newer);
  on.record(rotation, 900);
  if (rotation.on()) {
    check_series(read_series(on.disk, on.path), 1, 900);
  } else {
    CHECK(read_recorded(on.disk, on.path).records.size() == 900);
  }
}

TEST_CASE("Another file in the place of a recording's file is refused, whatever its size") {
  ReplacedOnDisk on;
  on.record(kOneFile, 20'000);
  const std::string recorded = read_file(on.path);
  const std::size_t changed_at =
      GENERATE(std::size_t{0}, std::size_t{100}, std::size_t{20'000 * 56});  // head, head, tail
  const std::size_t added = GENERATE(std::size_t{0}, std::size_t{56'000});
  std::string other = recorded + std::string(added, 'x');
  other[changed_at] ^= 1;
  write_file(on.path, other);
  const std::string message = on.refusal(kOneFile);
  check_choices(on, message);
  CHECK(absl::StrContains(message, "has other content: the checksum of these bytes is "));
  CHECK((read_file(on.path) == other));
  write_file(on.path, recorded);
  on.record(kOneFile, 20'100);
  CHECK(read_recorded(on.disk, on.path).records.size() == 20'100);
}

TEST_CASE("A recording whose only file is missing does not start again") {
  ReplacedOnDisk on;
  const bool is_killed = GENERATE(true, false);
  if (is_killed) on.record_until_killed(kOneFile, 30);
  if (!is_killed) on.record(kOneFile, 30);
  std::filesystem::rename(on.path, on.path + ".moved");
  const std::string message = on.refusal(kOneFile);
  check_choices(on, message);
  CHECK(absl::StrContains(message, "is missing"));
  std::filesystem::rename(on.path + ".moved", on.path);
  on.record(kOneFile, 60);
  CHECK(read_recorded(on.disk, on.path).records.size() == 60);
}

TEST_CASE("A series continues without its last file only if that one was ended") {
  ReplacedOnDisk on;
  on.record_until_killed(kBySecond, 450);
  CHECK_FALSE(on.position().ended);
  const std::string moved = on.growing_file();
  std::filesystem::rename(moved, moved + ".moved");
  const std::string message = on.refusal(kBySecond);
  check_choices(on, message);
  std::filesystem::rename(moved + ".moved", moved);
  on.record(kBySecond, 500);
  CHECK(on.position().ended);
  std::filesystem::rename(moved, on.directory.file("elsewhere"));
  on.record_until_killed(kBySecond, 600);
  CHECK_FALSE(on.position().ended);
  CHECK(absl::StrContains(on.growing_file(), "es.000003."));
  on.record(kBySecond, 900);
  CHECK(read_recorded(on.disk, on.directory.file("elsewhere")).records.back() == 500);
}

TEST_CASE("A run that continues an ended file records that before it writes") {
  ReplacedOnDisk on;
  on.record(kOneFile, 30);
  REQUIRE(on.position().ended);
  const auto recording = prepared(on.disk, recording_options(on.path, kOneFile));
  CHECK(on.position().ended);  // nothing has changed yet
  REQUIRE(append(*recording, 31, 33).ok());
  CHECK_FALSE(on.position().ended);
}

TEST_CASE("A position of an earlier release has no checksum, and is continued with one") {
  ReplacedOnDisk on;
  on.record(kOneFile, 30);
  std::string text = read_file(position_path(on.path));
  const std::size_t begin = text.find(R"(,"checksum")");
  REQUIRE(begin != std::string::npos);
  text.erase(begin, text.find('}') - begin);
  write_file(position_path(on.path), text);
  CHECK(on.position().checksum == 0);
  on.record(kOneFile, 60);
  CHECK(on.position().checksum == content_checksum(on.disk, on.path, on.position().bytes).value());
}

}  // namespace lapwing
