// Memory on one NUMA node: bound by the kernel's own policy, without libnuma, and looked at
// afterwards.
//
// The policy of a shared mapping belongs to the file behind it: a page lies on the node whichever
// process touches it first.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include "absl/status/status.h"

namespace lapwing {

// Has every page of the region come from `node` and from no other; to be called before a page is
// touched or allocated. A node without enough free memory shows itself when the pages are touched.
// Errors: kInvalidArgument (no such node, or none for this process; the message names those there
// are), kUnsupported (a kernel without NUMA, or a container that forbids the call), kSystem.
absl::Status bind_to_numa_node(boost::interprocess::mapped_region& region, int node);

// kUnsupported, with the first byte that lies elsewhere, unless every page of the populated region
// is on `node`, or if it cannot be asked; kSystem.
absl::Status require_numa_node(const boost::interprocess::mapped_region& region, int node);

}  // namespace lapwing
