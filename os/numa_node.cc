#include "os/numa_node.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kNumaNodesMax = 1024;  // kernels do not support more
constexpr int kBitsPerMaskWord = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, kNumaNodesMax / kBitsPerMaskWord>;

constexpr char kNodes[] = "/sys/devices/system/node/";

// Returns the online nodes in the kernel's format: "0-1,4". Empty without NUMA.
std::string nodes_online() {
  const ForkHold hold;
  std::ifstream file(absl::StrCat(kNodes, "online"));
  std::string list;
  std::getline(file, list);
  return list;
}

absl::Status check_node(int node) {
  const std::string online = nodes_online();
  if (online.empty()) {
    return make_error(Errc::kUnsupported,
                      absl::StrCat("this kernel has no NUMA nodes (", kNodes,
                                   "online is not there); leave the NUMA node off"));
  }
  const std::string directory = absl::StrCat(kNodes, "node", node);
  if (node >= 0 && node < kNumaNodesMax && access(directory.c_str(), F_OK) == 0) {
    return absl::OkStatus();
  }
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("there is no NUMA node ", node, "; this machine has ", online));
}

// The system calls. All their arguments are as wide as a word.
long mbind(void* address, std::size_t bytes, unsigned long mode, const NodeMask& nodes) {
  // The kernel uses one bit fewer than this number.
  return syscall(SYS_mbind, address, bytes, mode, nodes.data(), kNumaNodesMax + 1UL, 0UL);
}

long node_of(const void* address, int* node) {
  constexpr unsigned long kFlags = MPOL_F_NODE | MPOL_F_ADDR;
  return syscall(SYS_get_mempolicy, node, nullptr, 0UL, address, kFlags);
}

absl::Status policy_error(int error, const std::string& what, int node) {
  switch (error) {
    case ENOSYS:
    case EPERM:  // from a container's seccomp profile; the calls themselves never return it
      return make_error(Errc::kUnsupported,
                        absl::StrCat(what,
                                     " is refused by this kernel or container; leave the "
                                     "NUMA node off, or allow mbind and get_mempolicy"));
    case EINVAL:
      return make_error(Errc::kInvalidArgument,
                        absl::StrCat(what, " is refused: node ", node, " of ", nodes_online(),
                                     " has no memory, or none for this process (cpuset)"));
    default:
      return make_system_error(error, what);
  }
}

}  // namespace

absl::Status bind_to_numa_node(boost::interprocess::mapped_region& region, int node) {
  if (absl::Status status = check_node(node); !status.ok()) return status;
  NodeMask nodes{};
  const auto bit = static_cast<std::size_t>(node);
  nodes[bit / kBitsPerMaskWord] = 1UL << (bit % kBitsPerMaskWord);
  if (mbind(region.get_address(), region.get_size(), MPOL_BIND, nodes) == 0) {
    return absl::OkStatus();
  }
  return policy_error(errno, absl::StrCat("binding memory to NUMA node ", node), node);
}

absl::Status require_numa_node(const boost::interprocess::mapped_region& region, int node) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t offset = 0; offset < region.get_size(); offset += page_bytes) {
    int found = -1;
    const char* const page = static_cast<const char*>(region.get_address()) + offset;
    if (node_of(page, &found) != 0) {
      return policy_error(errno, "querying the NUMA node of memory", node);
    }
    if (found == node) continue;
    return make_error(Errc::kUnsupported,
                      absl::StrCat("byte ", offset, " of ", region.get_size(), " is on NUMA node ",
                                   found, " although node ", node,
                                   " was requested; free memory on that node, or leave "
                                   "the NUMA node off"));
  }
  return absl::OkStatus();
}

}  // namespace lapwing
