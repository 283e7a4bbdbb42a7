#include "cli/channel_info.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "monitor/channel_status.h"
#include "os/kernel.h"
#include "proto/text_field.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* role_name(ChannelRole role) {
  switch (role) {
    case ChannelRole::kProducer:
      return "producer";
    case ChannelRole::kConsumer:
      return "consumer";
    case ChannelRole::kDuplex:
      return "duplex";
  }
  return "unknown";
}

const char* state_name(std::uint64_t state) {
  switch (static_cast<ChannelState>(state)) {
    case ChannelState::kOpen:
      return "open";
    case ChannelState::kClosed:
      return "closed";
    case ChannelState::kCorrupt:
      return "corrupt";
  }
  return "unknown";
}

Json describe_side(const ChannelSide& side) {
  const ChannelWords& words = side.words;
  Json json = {{"pid", side.pid},
               {"claimed_pid", side.header.pid},
               {"name", printable(get_text(side.header.name))},
               {"role", role_name(side.header.role)},
               {"listens", side.header.listens == 1},
               {"stopped", side.stopped},
               {"parked", side.sleeps()},
               {"state", state_name(words.state.value)},
               {"full_waits", words.full_waits.value},
               {"empty_waits", words.empty_waits.value},
               {"sleeps", words.sleeps.value},
               {"wakes", words.wakes.value}};
  if (side.header.role == ChannelRole::kDuplex) json["call_window"] = side.header.call_window;
  return json;
}

// One direction; `receiver` null: the other side is gone, or is not to be looked at.
Json describe_direction(const ChannelSide& sender, const ChannelSide* receiver) {
  Json json = {{"sender", sender.pid},
               {"capacity", sender.header.capacity},
               {"max_message", sender.header.message_bytes_max},
               {"aligned", sender.header.payload_offset == kPayloadOffsetAligned},
               {"messages_sent", sender.words.sent.messages},
               {"frame_bytes_sent", sender.words.sent.position}};
  if (receiver == nullptr) return json;
  const ChannelBacklog backlog = backlog_of(sender, *receiver);
  json["receiver"] = receiver->pid;
  json["messages_received"] = receiver->words.received.messages;
  json["frame_bytes_received"] = receiver->words.received.position;
  json["messages_in_flight"] = backlog.messages;
  json["frame_bytes_in_flight"] = backlog.bytes;
  return json;
}

Json describe(const CensusChannel& channel, std::uint64_t now_wall_ns) {
  const ChannelSide& first = channel.sides.front();
  const std::uint64_t created = first.header.created_wall_ns;
  const std::uint64_t age_ns = now_wall_ns > created ? now_wall_ns - created : 0;
  Json json = {{"path", printable(first.path)},
               {"session", channel.session_id.hex()},
               {"age_seconds", static_cast<double>(age_ns / 1'000'000) / 1e3},
               {"sides", Json::array()},
               {"directions", Json::array()}};
  for (std::size_t i = 0; i < channel.sides.size(); ++i) {
    const ChannelSide& side = channel.sides[i];
    json["sides"].push_back(describe_side(side));
    if (side.header.capacity == 0) continue;
    const ChannelSide* other = channel.sides.size() == 2 ? &channel.sides[1 - i] : nullptr;
    json["directions"].push_back(describe_direction(side, other));
  }
  return json;
}

std::string side_text(const Json& side) {
  const std::string name = side["name"].get<std::string>();
  std::string text = absl::StrFormat(
      "  %-9s pid %d%s, %s, %s%s%s", side["listens"].get<bool>() ? "listens" : "connected",
      side["pid"].get<int>(), name.empty() ? "" : absl::StrCat(" (", name, ")"),
      side["role"].get<std::string>(), side["state"].get<std::string>(),
      side["parked"].get<bool>() ? ", parked" : "", side["stopped"].get<bool>() ? ", STOPPED" : "");
  if (side["pid"] != side["claimed_pid"]) {
    absl::StrAppend(&text, ", calls itself pid ", side["claimed_pid"].get<std::uint32_t>());
  }
  absl::StrAppendFormat(&text, "; waited %d times for room, %d for messages; slept %d, woke %d\n",
                        side["full_waits"].get<std::uint64_t>(),
                        side["empty_waits"].get<std::uint64_t>(),
                        side["sleeps"].get<std::uint64_t>(), side["wakes"].get<std::uint64_t>());
  return text;
}

std::string direction_text(const Json& direction) {
  std::string text = absl::StrFormat(
      "  from %d: %d bytes of room, messages up to %d bytes; sent %d (%d bytes of frames)",
      direction["sender"].get<int>(), direction["capacity"].get<std::uint64_t>(),
      direction["max_message"].get<std::uint64_t>(),
      direction["messages_sent"].get<std::uint64_t>(),
      direction["frame_bytes_sent"].get<std::uint64_t>());
  if (direction.contains("receiver")) {
    absl::StrAppendFormat(&text, ", received %d, in flight %d (%d bytes)",
                          direction["messages_received"].get<std::uint64_t>(),
                          direction["messages_in_flight"].get<std::uint64_t>(),
                          direction["frame_bytes_in_flight"].get<std::uint64_t>());
  }
  return text + "\n";
}

void print_channel(const Json& channel) {
  std::cout << "channel " << channel["path"].get<std::string>() << ", session "
            << channel["session"].get<std::string>() << ", "
            << absl::StrFormat("%.1f s old\n", channel["age_seconds"].get<double>());
  for (const Json& side : channel["sides"]) std::cout << side_text(side);
  if (channel["sides"].size() == 1)
    std::cout << "  the other side is gone, or not visible to this user\n";
  for (const Json& direction : channel["directions"]) std::cout << direction_text(direction);
}

std::string normal_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return (error ? std::filesystem::path(path) : absolute).lexically_normal().string();
}

}  // namespace

int show_channels(const std::string& path, bool json) {
  const absl::StatusOr<ChannelCensus> census = take_channel_census();
  if (!census.ok()) return fail(census.status());
  const std::string wanted = path.empty() ? "" : normal_path(path);
  const std::uint64_t now = wall_ns();
  Json channels = Json::array();
  for (const CensusChannel& channel : census->channels) {
    if (path.empty() || channel.sides.front().path == wanted) {
      channels.push_back(describe(channel, now));
    }
  }
  const std::size_t hidden = census->processes_not_looked_at;
  if (!path.empty() && channels.empty()) {
    return fail(
        make_error(Errc::kNotFound,
                   absl::StrCat("no channel is open at ", wanted,
                                hidden > 0 ? absl::StrCat(", as far as this user can see (", hidden,
                                                          " processes belong to other users)")
                                           : "",
                                "; `lapwing info --channels` lists all channels")));
  }
  if (json) {
    const Json all = {{"channels", channels}, {"processes_not_looked_at", hidden}};
    std::cout << json_text(all, 2) << '\n';
    return kExitDone;
  }
  for (const Json& channel : channels) print_channel(channel);
  if (channels.empty()) std::cout << "no channels\n";
  if (hidden > 0) std::cout << hidden << " processes belong to other users and were not read\n";
  return kExitDone;
}

}  // namespace lapwing::cli
