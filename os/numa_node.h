// Memory on one NUMA node. It is bound with the kernel's policy, without libnuma, and checked
// afterwards.
//
// The policy of a shared mapping belongs to its file, so a page is on the node regardless of which
// process touches it first.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include "absl/status/status.h"

namespace lapwing {

// Binds every page of the region to `node`. Call it before a page is touched or allocated. If the
// node does not have enough free memory, touching the pages fails. Errors: kInvalidArgument (no
// such node, or this process may not use it; the message lists the nodes), kUnsupported (a kernel
// without NUMA, or a container that forbids the call), kSystem.
absl::Status bind_to_numa_node(boost::interprocess::mapped_region& region, int node);

// Checks that every page of the populated region is on `node`. Errors: kUnsupported (with the first
// byte that is elsewhere, or if the node cannot be queried), kSystem.
absl::Status require_numa_node(const boost::interprocess::mapped_region& region, int node);

}  // namespace lapwing
