#include "cli/channel_info.h"

#include <filesystem>
#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "monitor/channel_status.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"

namespace lapwing::cli {
namespace {

std::string side_text(const ChannelSideStatus& side) {
  std::string text = absl::StrFormat(
      "  %-9s pid %d%s, %s, %s%s%s", side.listens ? "listens" : "connected", side.pid,
      side.name.empty() ? "" : absl::StrCat(" (", printable(side.name), ")"), name_of(side.role),
      name_of(side.state), side.parked ? ", parked" : "", side.stopped ? ", STOPPED" : "");
  if (static_cast<std::uint32_t>(side.pid) != side.claimed_pid) {
    absl::StrAppend(&text, ", calls itself pid ", side.claimed_pid);
  }
  absl::StrAppendFormat(&text, "; waited %d times for room, %d for messages; slept %d, woke %d\n",
                        side.full_waits, side.empty_waits, side.sleeps, side.wakes);
  return text;
}

std::string direction_text(const ChannelDirectionStatus& direction) {
  std::string text = absl::StrFormat(
      "  from %d: %d bytes of room, messages up to %d bytes; sent %d (%d bytes of frames)",
      direction.sender, direction.capacity, direction.message_bytes_max, direction.sent.messages,
      direction.sent.frame_bytes);
  if (direction.receiver) {
    absl::StrAppendFormat(&text, ", received %d, in flight %d (%d bytes)",
                          direction.received.messages, direction.in_flight.messages,
                          direction.in_flight.frame_bytes);
  }
  return text + "\n";
}

void print_channel(const ChannelStatus& channel) {
  std::cout << "channel " << printable(channel.path) << ", connection "
            << channel.connection_id.hex()
            << absl::StrFormat(", %.1f s old\n", static_cast<double>(channel.age_ns) / 1e9);
  for (const ChannelSideStatus& side : channel.sides) std::cout << side_text(side);
  if (channel.sides.size() == 1)
    std::cout << "  the other side is gone, or not visible to this user\n";
  for (const ChannelDirectionStatus& direction : channel.directions) {
    std::cout << direction_text(direction);
  }
}

std::string normal_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return (error ? std::filesystem::path(path) : absolute).lexically_normal().string();
}

absl::Status no_channel_at(const std::string& path, std::size_t hidden) {
  const std::string unseen = hidden == 0 ? ""
                                         : absl::StrCat(", as far as this user can see (", hidden,
                                                        " processes belong to other users)");
  return make_error(Errc::kNoBus, absl::StrCat("no channel is open at ", path, unseen,
                                               "; `lapwing info --channels` lists all channels"));
}

}  // namespace

int show_channels(const std::string& path, bool json) {
  absl::StatusOr<ChannelList> list = gather_channel_status();
  if (!list.ok()) return fail(list.status());
  std::vector<ChannelStatus>& channels = list->channels;
  const std::size_t hidden = list->processes_not_looked_at;
  if (!path.empty()) {
    const std::string wanted = normal_path(path);
    std::erase_if(channels, [&](const ChannelStatus& channel) { return channel.path != wanted; });
    if (channels.empty()) return fail(no_channel_at(wanted, hidden));
  }
  if (json) {
    std::cout << json_text(channels_json(*list), 2) << '\n';
    return kExitDone;
  }
  for (const ChannelStatus& channel : channels) print_channel(channel);
  if (channels.empty()) std::cout << "no channels\n";
  if (hidden > 0) std::cout << hidden << " processes belong to other users and were not read\n";
  return kExitDone;
}

}  // namespace lapwing::cli
