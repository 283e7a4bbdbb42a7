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
  lapwing_channel_options given;
  if (absl::Status read = copy_in(options, "options", given); !read.ok()) return read;
  if ((given.flags & ~kChannelFlags) != 0 || given.wait > LAPWING_WAIT_PARK) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("options.flags is ", given.flags, " and options.wait ",
                                   given.wait, "; lapwing.h does not name one of them"));
  }
  const auto has = [&given](std::uint32_t flag) { return (given.flags & flag) != 0; };
  ChannelOptions made;
  made.name = text_of(given.name);
  if (given.capacity != 0) made.capacity = given.capacity;
  if (given.message_bytes_max != 0) made.message_bytes_max = given.message_bytes_max;
  if (given.call_window != 0) made.call_window = given.call_window;
  if (given.wait != 0) made.wait = WaitStrategy{given.wait};
  made.aligned_payloads = has(LAPWING_CHANNEL_ALIGNED);
  made.huge_pages = has(LAPWING_CHANNEL_HUGE_PAGES);
  made.late_replies = has(LAPWING_CHANNEL_LATE_REPLIES);
  made.membarrier = !has(LAPWING_CHANNEL_NO_MEMBARRIER);
  if (has(LAPWING_CHANNEL_NUMA)) made.numa_node = static_cast<int>(given.numa_node);
  if (has(LAPWING_CHANNEL_PEER_UID)) made.expected_peer_uid = given.peer_uid;
  made.retry = std::chrono::nanoseconds(given.retry_ns);
  return made;
}

absl::StatusOr<Role> role_of(std::uint32_t role) {
  if (role >= LAPWING_PRODUCER && role <= LAPWING_DUPLEX) return Role{role};
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("role is ", role, ", which lapwing.h does not name"));
}

}  // namespace lapwing::c
