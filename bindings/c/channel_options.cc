#include "bindings/c/channel_options.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

constexpr std::uint32_t kChannelFlags =
    LAPWING_CHANNEL_ALIGNED | LAPWING_CHANNEL_HUGE_PAGES | LAPWING_CHANNEL_NUMA |
    LAPWING_CHANNEL_PEER_UID | LAPWING_CHANNEL_NO_MEMBARRIER | LAPWING_CHANNEL_LATE_REPLIES;

}  // namespace

absl::StatusOr<ChannelOptions> channel_options(const lapwing_channel_options* options) {
  lapwing_channel_options given = LAPWING_CHANNEL_OPTIONS_INIT;
  if (absl::Status read = copy_in(options, "options", given); !read.ok()) return read;
  const auto refused = [](const char* field, std::uint32_t value, const char* valid) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("options.", field, " is ", value, ". Give ", valid));
  };
  if ((given.flags & ~kChannelFlags) != 0) {
    return refused("flags", given.flags,
                   "LAPWING_CHANNEL_ALIGNED, HUGE_PAGES, NUMA, PEER_UID, NO_MEMBARRIER or "
                   "LATE_REPLIES, or a sum of them");
  }
  if (given.wait < LAPWING_WAIT_BUSY || given.wait > LAPWING_WAIT_PARK) {
    return refused("wait", given.wait, "LAPWING_WAIT_BUSY, BACKOFF or PARK");
  }
  if ((given.flags & LAPWING_CHANNEL_NUMA) == 0 && given.numa_node != 0) {
    return refused("numa_node", given.numa_node, "the flag LAPWING_CHANNEL_NUMA with it");
  }
  if ((given.flags & LAPWING_CHANNEL_PEER_UID) == 0 && given.peer_uid != 0) {
    return refused("peer_uid", given.peer_uid, "the flag LAPWING_CHANNEL_PEER_UID with it");
  }
  const auto has = [&given](std::uint32_t flag) { return (given.flags & flag) != 0; };
  if (absl::Status good = check_duration("retry_ns", given.retry_ns); !good.ok()) return good;
  ChannelOptions made;
  made.name = text_of(given.name);
  made.capacity = given.capacity;
  made.message_bytes_max = given.message_bytes_max;
  made.call_window = given.call_window;
  made.wait = WaitStrategy{given.wait};
  made.aligned_payloads = has(LAPWING_CHANNEL_ALIGNED);
  made.huge_pages = has(LAPWING_CHANNEL_HUGE_PAGES);
  made.late_replies = has(LAPWING_CHANNEL_LATE_REPLIES);
  made.membarrier = !has(LAPWING_CHANNEL_NO_MEMBARRIER);
  if (has(LAPWING_CHANNEL_NUMA)) made.numa_node = static_cast<int>(given.numa_node);
  if (has(LAPWING_CHANNEL_PEER_UID)) made.expected_peer_uid = given.peer_uid;
  made.retry = duration_of(given.retry_ns);
  return made;
}

absl::StatusOr<Role> role_of(std::uint32_t role) {
  if (role >= LAPWING_CHANNEL_ROLE_PRODUCER && role <= LAPWING_CHANNEL_ROLE_DUPLEX)
    return Role{role};
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("role is ", role,
                                 ". Give LAPWING_CHANNEL_ROLE_PRODUCER, "
                                 "LAPWING_CHANNEL_ROLE_CONSUMER or LAPWING_CHANNEL_ROLE_DUPLEX"));
}

}  // namespace lapwing::c
