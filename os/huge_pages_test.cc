#include "os/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "lapwing/error.h"
#include "os/mapping.h"
#include "os/unique_fd.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

using Catch::Contains;

const HugePageUse kTestMemory{
    .what = "the test's memory", .enlarge = "use a larger one", .allow_it = kAllowHugePagesInMemfd};

// Returns a mapped memory file without pages.
boost::interprocess::mapped_region memory_of(std::uint64_t bytes) {
  const UniqueFd fd(memfd_create("lapwing-test", MFD_CLOEXEC));
  REQUIRE(fd.valid());
  REQUIRE(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  auto region = map_file(fd.get(), MapAccess::kReadWrite, bytes, "a memory file");
  REQUIRE(region.ok());
  return *std::move(region);
}

// Returns the setting in brackets in the kernel's file, such as "never". Empty if there is no file.
std::string shmem_enabled() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string text;
  std::getline(file, text, '[');
  std::getline(file, text, ']');
  return file.good() ? text : "";
}

TEST_CASE("Memory smaller than a huge page is refused in the words of its owner") {
  auto region = memory_of(kHugePageBytes - 4096);
  const absl::Status status = request_huge_pages(region, kTestMemory);
  CHECK(errc_of(status) == Errc::kUnsupported);
  CHECK(status.message() ==
        "the test's memory has 2093056 bytes, too few for a huge page; use a larger one");
}

TEST_CASE("Memory whose pages are small is found out, with the switch to turn") {
  auto region = memory_of(2 * kHugePageBytes);
  REQUIRE(madvise(region.get_address(), region.get_size(), MADV_NOHUGEPAGE) == 0);
  static_cast<volatile char*>(region.get_address())[0] = 1;
  const absl::Status status = require_huge_pages(region, kTestMemory);
  CHECK(errc_of(status) == Errc::kUnsupported);
  CHECK(status.message() ==
        "the test's memory got 0 bytes of huge pages of 4194304; let "
        "/sys/kernel/mm/transparent_hugepage/shmem_enabled be advise or always, or free memory, or "
        "leave huge pages off");
}

TEST_CASE("A memory file has huge pages if the kernel's switch allows them") {
  const std::string enabled = shmem_enabled();
  INFO("shmem_enabled: " << enabled);
  auto region = memory_of(4 * kHugePageBytes);
  absl::Status status = request_huge_pages(region, kTestMemory);
  if (status.ok()) {
    REQUIRE(madvise(region.get_address(), region.get_size(), MADV_POPULATE_WRITE) == 0);
    status = require_huge_pages(region, kTestMemory);
  }
  const bool allowed =
      enabled == "advise" || enabled == "always" || enabled == "force" || enabled == "within_size";
  CHECK(errc_of(status) == (allowed ? Errc::kOk : Errc::kUnsupported));
  if (!allowed) LAPWING_SKIP("needs shmem_enabled of transparent_hugepage to be advise or always");
}

TEST_CASE("Memory that is made huge stays zero, and what is too small stays as it is") {
  auto region = memory_of(2 * kHugePageBytes + 8192);
  make_pages_huge(region);
  const char* const bytes = static_cast<const char*>(region.get_address());
  CHECK(std::all_of(bytes, bytes + region.get_size(), [](char byte) { return byte == 0; }));
  auto small = memory_of(kHugePageBytes - 4096);
  make_pages_huge(small);
  unsigned char resident = 1;
  REQUIRE(mincore(small.get_address(), 4096, &resident) == 0);
  CHECK((resident & 1) == 0);
}

}  // namespace
}  // namespace lapwing
