#include "subscribers/checkpointer/store_needs.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

void make_file(const std::string& path, std::uint64_t bytes) {
  std::ofstream(path).put('x');
  std::filesystem::resize_file(path, bytes);
}

TEST_CASE("A store has what it needs on a machine without limits") {
  const TemporaryDirectory directory;
  CHECK(check_store_needs(directory.path()).ok());
  CHECK(check_store_files(directory.path()).ok());
}

TEST_CASE("A file of a store beyond the maximum size is damage") {
  for (const auto& [name, most] :
       {std::pair{"CURRENT", kStoreNameBytesMax}, std::pair{"IDENTITY", kStoreNameBytesMax},
        std::pair{"MANIFEST-000005", kStoreManifestBytesMax},
        std::pair{"000004.log", kStoreLogBytesMax}}) {
    const TemporaryDirectory directory;
    const std::string path = directory.file(name);
    make_file(path, most);
    CHECK(check_store_files(directory.path()).ok());
    make_file(path, most + 1);
    const absl::Status refused = check_store_files(directory.path());
    CHECK(errc_of(refused) == Errc::kDamaged);
    CHECK(absl::StrContains(refused.message(), path));
    CHECK(absl::StrContains(refused.message(), absl::StrCat(most + 1, " bytes")));
  }
}

TEST_CASE("The logs of a store have a common limit") {
  const TemporaryDirectory directory;
  make_file(directory.file("000004.log"), kStoreLogBytesMax);
  make_file(directory.file("000006.log"), 1);
  CHECK(errc_of(check_store_files(directory.path())) == Errc::kDamaged);
}

TEST_CASE("Anything but a regular file in a store is refused before it is opened") {
  for (const char* name : {"CURRENT", "LOCK", "MANIFEST-000005", "000004.log"}) {
    const TemporaryDirectory directory;
    REQUIRE(::mkfifo(directory.file(name).c_str(), 0600) == 0);
    CHECK(errc_of(check_store_files(directory.path())) == Errc::kNotALapwingFile);
  }
}

TEST_CASE("Files of a store that RocksDB does not read whole may have any size") {
  const TemporaryDirectory directory;
  make_file(directory.file("000012.sst"), std::uint64_t{1} << 40);
  make_file(directory.file("OPTIONS-000007"), std::uint64_t{1} << 30);
  CHECK(check_store_files(directory.path()).ok());
}

}  // namespace
}  // namespace lapwing
