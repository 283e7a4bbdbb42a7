#include "snapshot/bus_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lapwing/error.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

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

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
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

TEST_CASE("A leftover of an interrupted writer under the temporary name does no harm") {
  TemporaryDirectory directory;
  replace_content(directory.file("bus.json.new"), "half");
  REQUIRE(write_bus_description(directory.path(), example(), std::nullopt).ok());
  REQUIRE(*read_bus_description(directory.path()) == example());
}

TEST_CASE("A directory without bus.json is not a bus") {
  TemporaryDirectory directory;
  REQUIRE(errc_of(read_bus_description(directory.path()).status()) == Errc::kNoBus);
  const absl::Status nowhere = read_bus_description(directory.file("none")).status();
  REQUIRE(errc_of(nowhere) == Errc::kNoBus);
  CHECK(nowhere.message().find("check the path, or start a publisher") != std::string::npos);
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

TEST_CASE("A new directory is accessible only to its owner, or readable by the group") {
  TemporaryDirectory directory;
  const DirectoryUse use =
      GENERATE(DirectoryUse::kBus, DirectoryUse::kJournal, DirectoryUse::kRingHome);
  const std::string own = directory.file("own");
  REQUIRE(prepare_directory(own, use, std::nullopt).ok());
  CHECK(mode_of(own) == 0700);
  const std::string shared = directory.file("shared");
  REQUIRE(prepare_directory(shared, use, ::getgid()).ok());
  CHECK(mode_of(shared) == 0750);
  REQUIRE(prepare_directory(shared, use, ::getgid()).ok());
  CHECK(names_in(directory.path()) == std::set<std::string>{"own", "shared"});
}

TEST_CASE("An existing directory keeps its mode and its group, or is refused") {
  TemporaryDirectory directory;
  const std::string there = directory.file("there");
  REQUIRE(::mkdir(there.c_str(), 0700) == 0);
  const DirectoryUse use = GENERATE(DirectoryUse::kBus, DirectoryUse::kJournal);
  REQUIRE(prepare_directory(there, use, std::nullopt).ok());
  const absl::Status refused = prepare_directory(there, use, ::getgid());
  REQUIRE(errc_of(refused) == Errc::kNotPermitted);
  CHECK(std::string(refused.message()).find("chmod -R g+rX " + there) != std::string::npos);
  CHECK(mode_of(there) == 0700);
  REQUIRE(::chmod(there.c_str(), 0755) == 0);
  REQUIRE(prepare_directory(there, use, ::getgid()).ok());
  CHECK(mode_of(there) == 0755);
}

TEST_CASE("A home of rings is Lapwing's own, and gets the group of its bus") {
  TemporaryDirectory directory;
  const std::string home = directory.file("home");
  REQUIRE(prepare_directory(home, DirectoryUse::kRingHome, std::nullopt).ok());
  REQUIRE(prepare_directory(home, DirectoryUse::kRingHome, ::getgid()).ok());
  CHECK(mode_of(home) == 0750);
}

TEST_CASE("A directory of other files does not become a bus or a journal, and stays unchanged") {
  TemporaryDirectory directory;
  const std::string theirs = directory.file("theirs");
  REQUIRE(::mkdir(theirs.c_str(), 0750) == 0);
  replace_content(theirs + "/thesis.txt", "ten years");
  const std::optional<unsigned> group = GENERATE(std::optional<unsigned>(), ::getgid());
  for (const DirectoryUse use : {DirectoryUse::kBus, DirectoryUse::kJournal}) {
    const absl::Status refused = prepare_directory(theirs, use, group);
    REQUIRE(errc_of(refused) == Errc::kNotALapwingFile);
    CHECK(std::string(refused.message()).find("thesis.txt") != std::string::npos);
    CHECK(mode_of(theirs) == 0750);
  }
}

TEST_CASE("Files of a new file system, of a bus or of a journal are not an obstacle") {
  TemporaryDirectory directory;
  const std::string used = directory.file("used");
  REQUIRE(::mkdir(used.c_str(), 0700) == 0);
  std::filesystem::create_directory(used + "/lost+found");
  CHECK(prepare_directory(used, DirectoryUse::kBus, std::nullopt).ok());
  CHECK(prepare_directory(used, DirectoryUse::kJournal, std::nullopt).ok());
  replace_content(used + "/notes.txt", "of this bus");
  CHECK_FALSE(prepare_directory(used, DirectoryUse::kBus, std::nullopt).ok());
  SECTION("a bus by its description, or by what was put ready for it") {
    const std::string name = GENERATE(std::string(kBusFileName), std::string("checkpoint"));
    replace_content(used + "/" + name, "");
    CHECK(prepare_directory(used, DirectoryUse::kBus, std::nullopt).ok());
  }
  SECTION("a journal by a journal's directory") {
    std::filesystem::create_directory(used + "/0123456789abcdef0123456789abcdef");
    CHECK(prepare_directory(used, DirectoryUse::kJournal, std::nullopt).ok());
  }
}

TEST_CASE("A directory writable by others, a link and a file are refused with the remedy") {
  TemporaryDirectory directory;
  const auto prepare = [](const std::string& path) {
    return prepare_directory(path, DirectoryUse::kBus, std::nullopt);
  };
  const std::string open = directory.file("open");
  REQUIRE(prepare(open).ok());
  REQUIRE(::chmod(open.c_str(), 0720) == 0);
  const absl::Status status = prepare(open);
  REQUIRE(errc_of(status) == Errc::kNotPermitted);
  REQUIRE(std::string(status.message()).find("chmod go-w") != std::string::npos);
  std::filesystem::create_symlink(open, directory.file("link"));
  REQUIRE(errc_of(prepare(directory.file("link"))) == Errc::kNotALapwingFile);
  replace_content(directory.file("file"), "");
  REQUIRE(errc_of(prepare(directory.file("file"))) == Errc::kNotALapwingFile);
  REQUIRE(errc_of(prepare(directory.file("no/parent"))) == Errc::kNotFound);
}

TEST_CASE("Another user's directory is refused") {
  if (::geteuid() != 0) LAPWING_SKIP("giving a directory to another user needs root");
  TemporaryDirectory directory;
  const std::string theirs = directory.file("theirs");
  REQUIRE(prepare_directory(theirs, DirectoryUse::kBus, std::nullopt).ok());
  REQUIRE(::chown(theirs.c_str(), 65534, 65534) == 0);
  REQUIRE(errc_of(prepare_directory(theirs, DirectoryUse::kBus, std::nullopt)) ==
          Errc::kNotPermitted);
}

TEST_CASE("A journal in the bus directory is described relative to it, another by its path") {
  TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  std::filesystem::create_directory(bus);
  BusDescription written = example();
  written.journal_root = bus + "/journal";
  REQUIRE(write_bus_description(bus, written, std::nullopt).ok());
  CHECK(read_bus_description(bus)->journal_root == bus + "/journal");
  std::filesystem::copy(bus, directory.file("copy"));
  CHECK(read_bus_description(directory.file("copy"))->journal_root ==
        directory.file("copy") + "/journal");
  written.journal_root = directory.file("elsewhere");
  REQUIRE(write_bus_description(bus, written, std::nullopt).ok());
  CHECK(read_bus_description(bus)->journal_root == directory.file("elsewhere"));
}

TEST_CASE("Feed metadata keeps every byte, and missing metadata is empty") {
  TemporaryDirectory directory;
  REQUIRE(read_feed_metadata(directory.path())->empty());
  const std::string metadata("DBN\x03\0\0\xff\x7f", 8);
  REQUIRE(write_feed_metadata(directory.path(), metadata, std::nullopt).ok());
  REQUIRE(*read_feed_metadata(directory.path()) == metadata);
  REQUIRE(mode_of(directory.file(kMetadataFileName)) == 0600);
}

}  // namespace lapwing
