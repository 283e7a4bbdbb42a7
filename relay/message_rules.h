// The rules for the content of relay messages, by kind (proto/relay_frames.h). Every message that is made and
// every message that is received is checked by these rules. So no host makes a message that another
// host of the same version refuses.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "proto/relay_frames.h"

namespace lapwing {

// Returns the defect of a message of a known kind with this uncompressed body; empty if it has none.
// Sizes and the sum of the message are not checked here. Records take constant time, rows O(count).
std::string content_defect(const RelayHeader& header, std::span<const std::byte> body);

// False for the kind of a later version.
bool is_known(RelayKind kind);

}  // namespace lapwing
