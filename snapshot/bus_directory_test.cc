#include "snapshot/bus_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "proto/error.h"
#include "tests/temporary_directory.h"

namespace lapwing {
namespace {

BusDescription example() {
  BusDescription bus;
  bus.name = "es";
  bus.schema = "dbn.mbo";
  bus.ring_path = "/dev/shm/lapwing-0/ring-1";
  bus.journal_root = "/var/lib/es/journal";
  bus.journal_writer = "io_uring";
  bus.journal_id.bytes.fill(1);
  bus.session_id.bytes.fill(0xab);
  bus.record_bytes = 56;
  bus.slot_bytes = 64;
  bus.capacity = 1024;
  return bus;
}

unsigned mode_of(const std::string& path) {
  struct stat info{};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void replace_content(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace

TEST_CASE("A description is read back as it was written") {
  TemporaryDirectory directory;
  BusDescription bus = example();
  REQUIRE(write_bus_description(directory.path(), bus, std::nullopt).ok());
  REQUIRE(*read_bus_description(directory.path()) == bus);
  bus.closed = true;
  bus.journal_root = "";
  REQUIRE(write_bus_description(directory.path(), bus, ::getgid()).ok());
  REQUIRE(*read_bus_description(directory.path()) == bus);
  REQUIRE(mode_of(directory.file(kBusFileName)) == 0640);
  REQUIRE_FALSE(std::filesystem::exists(directory.file("bus.json.new")));
}

TEST_CASE("What an interrupted writer left under the temporary name is in nobody's way") {
  TemporaryDirectory directory;
  replace_content(directory.file("bus.json.new"), "half");
  REQUIRE(write_bus_description(directory.path(), example(), std::nullopt).ok());
  REQUIRE(*read_bus_description(directory.path()) == example());
}

TEST_CASE("A directory without bus.json is no bus") {
  TemporaryDirectory directory;
  REQUIRE(errc_of(read_bus_description(directory.path()).status()) == Errc::kNoBus);
  REQUIRE(errc_of(read_bus_description(directory.file("none")).status()) == Errc::kNoBus);
}

TEST_CASE("A bus.json of another ABI, and one with any field missing or wrong, is refused") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kBusFileName);
  REQUIRE(write_bus_description(directory.path(), example(), std::nullopt).ok());
  const auto whole = nlohmann::json::parse(content_of(path));
  const auto refusal = [&](const nlohmann::json& changed) {
    replace_content(path, changed.dump());
    return errc_of(read_bus_description(directory.path()).status());
  };
  REQUIRE(refusal(whole) == Errc::kOk);
  for (const auto& [key, value] : whole.items()) {
    auto changed = whole;
    changed.erase(key);
    CHECK(refusal(changed) == Errc::kDamaged);
    changed[key] = nlohmann::json::array();
    CHECK(refusal(changed) == Errc::kDamaged);
  }
  auto changed = whole;
  changed["abi"] = 2;
  CHECK(refusal(changed) == Errc::kAbiMismatch);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"slot_bytes", 128}, {"record_bytes", 7}, {"capacity", 1000}, {"capacity", 32}}) {
    changed = whole;
    changed[key] = value;
    CHECK(refusal(changed) == Errc::kDamaged);
  }
  changed = whole;
  changed["journal_id"] = "0101";
  CHECK(refusal(changed) == Errc::kDamaged);
}

TEST_CASE("Every truncation of bus.json is damage, not a description") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kBusFileName);
  REQUIRE(write_bus_description(directory.path(), example(), std::nullopt).ok());
  const std::string whole = content_of(path);
  for (std::size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    replace_content(path, whole.substr(0, bytes));
    REQUIRE(errc_of(read_bus_description(directory.path()).status()) == Errc::kDamaged);
  }
}

TEST_CASE("A bus.json that is a link or a directory is not followed") {
  TemporaryDirectory directory;
  const std::string path = directory.file(kBusFileName);
  REQUIRE(write_bus_description(directory.path(), example(), std::nullopt).ok());
  std::filesystem::rename(path, directory.file("elsewhere.json"));
  std::filesystem::create_symlink(directory.file("elsewhere.json"), path);
  REQUIRE(errc_of(read_bus_description(directory.path()).status()) == Errc::kNotALapwingFile);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  REQUIRE(errc_of(read_bus_description(directory.path()).status()) == Errc::kNotALapwingFile);
}

TEST_CASE("A name that is not UTF-8 is refused before anything is written") {
  TemporaryDirectory directory;
  BusDescription bus = example();
  bus.name = "\xff\xfe";
  REQUIRE(errc_of(write_bus_description(directory.path(), bus, std::nullopt)) ==
          Errc::kInvalidArgument);
  REQUIRE_FALSE(std::filesystem::exists(directory.file(kBusFileName)));
}

TEST_CASE("A prepared directory is its owner's alone, or readable by the group") {
  TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  REQUIRE(prepare_bus_directory(bus, std::nullopt).ok());
  REQUIRE(mode_of(bus) == 0700);
  REQUIRE(prepare_bus_directory(bus, ::getgid()).ok());
  REQUIRE(mode_of(bus) == 0750);
  REQUIRE(prepare_bus_directory(bus, ::getgid()).ok());
}

TEST_CASE("A directory that others can write, a link, and a file are refused with the remedy") {
  TemporaryDirectory directory;
  const std::string open = directory.file("open");
  REQUIRE(prepare_bus_directory(open, std::nullopt).ok());
  REQUIRE(::chmod(open.c_str(), 0720) == 0);
  const absl::Status status = prepare_bus_directory(open, std::nullopt);
  REQUIRE(errc_of(status) == Errc::kNotPermitted);
  REQUIRE(std::string(status.message()).find("chmod go-w") != std::string::npos);
  std::filesystem::create_symlink(open, directory.file("link"));
  REQUIRE(errc_of(prepare_bus_directory(directory.file("link"), std::nullopt)) ==
          Errc::kNotALapwingFile);
  replace_content(directory.file("file"), "");
  REQUIRE(errc_of(prepare_bus_directory(directory.file("file"), std::nullopt)) ==
          Errc::kNotALapwingFile);
  REQUIRE(errc_of(prepare_bus_directory(directory.file("no/parent"), std::nullopt)) ==
          Errc::kNotFound);
}

TEST_CASE("Another user's directory is refused") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: giving a directory to another user needs root");
    return;
  }
  TemporaryDirectory directory;
  const std::string theirs = directory.file("theirs");
  REQUIRE(prepare_bus_directory(theirs, std::nullopt).ok());
  REQUIRE(::chown(theirs.c_str(), 65534, 65534) == 0);
  REQUIRE(errc_of(prepare_bus_directory(theirs, std::nullopt)) == Errc::kNotPermitted);
}

TEST_CASE("Feed metadata keeps every byte, and its absence is empty") {
  TemporaryDirectory directory;
  REQUIRE(read_feed_metadata(directory.path())->empty());
  const std::string metadata("DBN\x03\0\0\xff\x7f", 8);
  REQUIRE(write_feed_metadata(directory.path(), metadata, std::nullopt).ok());
  REQUIRE(*read_feed_metadata(directory.path()) == metadata);
  REQUIRE(mode_of(directory.file(kMetadataFileName)) == 0600);
}

}  // namespace lapwing
