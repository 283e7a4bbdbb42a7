#include "os/numa_node.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
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

constexpr std::size_t kNodeBytes = 64 * 4096;

// Returns a mapped memory file without pages.
boost::interprocess::mapped_region new_memory() {
  const UniqueFd fd(memfd_create("lapwing-test", MFD_CLOEXEC));
  REQUIRE(fd.valid());
  REQUIRE(ftruncate(fd.get(), kNodeBytes) == 0);
  auto region = map_file(fd.get(), MapAccess::kReadWrite, kNodeBytes, "a memory file");
  REQUIRE(region.ok());
  return *std::move(region);
}

// Checks whether the kernel can bind memory here. Returns 0 or the errno.
int kernel_refusal() {
  int mode = 0;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0 ? 0 : errno;
}

std::string nodes_online() {
  std::string list;
  std::ifstream("/sys/devices/system/node/online") >> list;
  return list;
}

TEST_CASE("Memory is bound to node 0 and lies there") {
  auto region = new_memory();
  const absl::Status bound = bind_to_numa_node(region, 0);
  INFO(bound);
  if (kernel_refusal() != 0 || nodes_online().empty()) {
    CHECK(errc_of(bound) == Errc::kUnsupported);
    LAPWING_SKIP("needs a kernel with NUMA");
  }
  REQUIRE(bound.ok());
  int mode = 0;
  unsigned long nodes[1024 / 64] = {};
  REQUIRE(syscall(SYS_get_mempolicy, &mode, nodes, 1024UL, region.get_address(),
                  static_cast<unsigned long>(MPOL_F_ADDR)) == 0);
  CHECK(mode == MPOL_BIND);
  CHECK(nodes[0] == 1);
  std::memset(region.get_address(), 1, region.get_size());
  CHECK(require_numa_node(region, 0).ok());
}

TEST_CASE("A node that does not exist is refused with those that do") {
  auto region = new_memory();
  const int node = GENERATE(63, -1, 1024, 1'000'000);
  const absl::Status status = bind_to_numa_node(region, node);
  if (nodes_online().empty()) {
    CHECK(errc_of(status) == Errc::kUnsupported);
    LAPWING_SKIP("needs a kernel with NUMA");
  }
  CHECK(errc_of(status) == Errc::kInvalidArgument);
  CHECK(status.message() ==
        "there is no NUMA node " + std::to_string(node) + "; this machine has " + nodes_online());
}

TEST_CASE("Memory that lies on another node is found out") {
  auto region = new_memory();
  std::memset(region.get_address(), 1, region.get_size());
  const absl::Status status = require_numa_node(region, 63);
  CHECK(errc_of(status) == Errc::kUnsupported);
  if (kernel_refusal() == 0) {
    CHECK_THAT(std::string(status.message()), Contains("byte 0 of 262144 is on NUMA node "));
  }
}

}  // namespace
}  // namespace lapwing
