// lapwing info: shows a bus or a channel: its description, position and health.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "lapwing/symbols.h"
#include "monitor/bus_status.h"
#include "monitor/channel_status.h"
#include "monitor/count_text.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"
#include "monitor/time_text.h"
#include "snapshot/schema/field_names.h"

namespace lapwing::cli {
namespace {

constexpr char kInfoAbout[] =
    "Show the state of a bus and the fields of its records, or the state of channels.\n\n"
    "  lapwing info --bus ./es                  needs no publisher\n"
    "  lapwing info --bus ./es --json\n"
    "  lapwing info --channels                  every channel of this machine, and which sides "
    "wait\n"
    "  lapwing info --channel /run/x.sock       the channels of one socket\n\n"
    "Channels are read from the processes that hold them. Nothing connects to them, so stopped\n"
    "processes are shown as well. Only root sees channels of other users' processes.";

struct InfoOptions {
  std::string bus;
  std::string channel;
  bool channels = false;
  bool json = false;
};

std::string message_of(const absl::Status& status) {
  return printable(std::string(status.message()));
}

void print_publisher(const BusStatus& bus) {
  const absl::StatusOr<PublisherStatus>& publisher = bus.publisher;
  if (publisher.ok()) {
    std::cout << "  publisher  alive, " << count_text(publisher->subscribers.size(), "subscriber")
              << '\n';
    return;
  }
  const bool runs = bus.ring.ok() && bus.ring->publisher_state() == PublisherState::kRunning;
  std::cout << "  publisher  " << (runs ? "no answer: " : "none: ")
            << message_of(publisher.status()) << '\n';
}

// Count and total time: "3, 12.5 ms in all".
std::string durations_text(const Durations& durations) {
  return absl::StrFormat("%d, %.3f ms in all", durations.count(),
                         static_cast<double>(durations.sum_ns) / 1e6);
}

void print_counts(const RingCounts& counts) {
  std::cout << "  stalls     " << durations_text(counts.stalls)
            << ": publishing waited for the journal\n  syncs      " << durations_text(counts.syncs)
            << ", of " << counts.journal_bytes << " bytes\n  lost       " << counts.lost
            << " records in " << counts.gaps << " gaps, by all subscribers of this session\n";
}

std::string heartbeat_text(const RingStatus& ring) {
  if (!ring.is_heartbeat_age_known) return "by another clock";
  return absl::StrCat(ring.heartbeat_age_ns / 1'000'000, " ms ago");
}

void print_ring(const BusStatus& bus) {
  if (!bus.ring.ok()) {
    std::cout << "  ring       none: " << message_of(bus.ring.status()) << '\n';
    return;
  }
  const RingStatus& ring = *bus.ring;
  std::cout << "  ring       " << printable(ring.path) << ", " << name_of(ring.publisher_state())
            << ", heartbeat " << heartbeat_text(ring) << "\n"
            << "  head       " << ring.head << "\n  archived   " << ring.archived
            << "\n  durable    " << ring.durable << "\n  oldest     " << ring.oldest
            << "\n  journal    " << name_of(ring.journal.state) << ", written by "
            << printable(bus.description.journal_writer);
  if (ring.journal.sys_errno != 0) std::cout << ", errno " << ring.journal.sys_errno;
  std::cout << '\n';
  if (ring.counts) print_counts(*ring.counts);
}

void print_journal(const JournalStatus& journal) {
  std::cout << "    " << journal.id.hex();
  if (journal.last && *journal.last < journal.oldest) {
    std::cout << "  no records";
  } else if (journal.sessions > 0) {
    std::cout << "  from " << journal.oldest;
    if (journal.last) std::cout << " to " << *journal.last;
  } else {
    std::cout << "  not listed";
  }
  std::cout << ", " << journal.size.segments << " segments, " << journal.size.bytes << " bytes";
  if (journal.absent_records.value_or(0) > 0) {
    std::cout << ", " << *journal.absent_records << " records absent at the origin";
  }
  if (journal.is_discarded) std::cout << ", discarded";
  std::cout << '\n';
}

// A bus may have thousands of sessions, so only the newest are printed.
template <typename Item>
void for_each_newest(const std::vector<Item>& items, void (*print)(const Item&)) {
  constexpr std::size_t kShown = 20;
  const std::size_t hidden = items.size() > kShown ? items.size() - kShown : 0;
  if (hidden > 0) std::cout << "    " << hidden << " older: `lapwing info --json` lists them\n";
  for (std::size_t i = hidden; i < items.size(); ++i) print(items[i]);
}

void print_journals(const absl::StatusOr<std::vector<JournalStatus>>& journals) {
  if (!journals.ok()) {
    std::cout << "  kept       unknown: " << message_of(journals.status()) << '\n';
    return;
  }
  const JournalSize size = total_size(*journals);
  std::cout << "  kept       " << size.segments << " segments, " << size.bytes << " bytes\n"
            << "  journals\n";
  for_each_newest(*journals, print_journal);
}

void print_session(const SessionRecord& session) {
  std::cout << "    " << time_text(session.begin.wall_ns) << "  from " << session.begin.first;
  if (session.end) std::cout << " to " << session.end->last;
  std::cout << ", " << name_of(session.end);
  if (session.end && session.end->void_first != 0) {
    std::cout << ", void " << session.end->void_first << ".." << session.end->void_last;
  }
  std::cout << '\n';
}

// "text[7]": only fields of these two types have a size.
std::string type_text(const Field& field) {
  const TypeName* const type = entry_of(kTypeNames, field.type);
  return type->bytes != 0 ? type->name : absl::StrCat(type->name, "[", field.bytes, "]");
}

void print_field(const Field& field, std::size_t name_columns) {
  std::string line = absl::StrFormat("    %-*s  %-10s", static_cast<int>(name_columns), field.name,
                                     type_text(field));
  if (field.unit != FieldUnit::kPlain) {
    absl::StrAppend(&line, "  ", entry_of(kUnitNames, field.unit)->name);
  }
  if (field.role != FieldRole::kData) {
    absl::StrAppend(&line, "  ", entry_of(kRoleNames, field.role)->name);
  }
  std::cout << absl::StripTrailingAsciiWhitespace(line) << '\n';
}

void print_fields(const RecordIdentity& records) {
  if (records.description == nullptr) {
    std::cout << "  fields     "
              << (records.note.empty() ? "not described" : printable(records.note)) << '\n';
    return;
  }
  const Schema& schema = *records.description;
  std::cout << "  fields     " << schema.name << ", version " << schema.version << '\n';
  std::size_t name_columns = 0;
  for (const Field& field : schema.fields) {
    name_columns = std::max(name_columns, field.name.size());
  }
  for (const Field& field : schema.fields) print_field(field, name_columns);
}

void print_sessions(const BusStatus& bus) {
  print_journals(bus.journals);
  std::cout << "  sessions\n";
  for_each_newest(*bus.sessions, print_session);
}

// Prints the number of symbols, because there may be tens of thousands.
void print_symbols(const std::string& directory) {
  const absl::StatusOr<Symbols> symbols = Symbols::of_bus(directory);
  if (!symbols.ok()) {
    std::cout << "  symbols    unknown: " << message_of(symbols.status()) << '\n';
  } else if (!symbols->empty()) {
    std::cout << "  symbols    " << symbols->names().size() << ": `lapwing symbols` lists them\n";
  }
}

void print_text(const BusStatus& bus) {
  const BusDescription& description = bus.description;
  std::cout << "bus " << printable(description.name) << " at " << printable(bus.directory)
            << "\n  records    " << printable(description.schema) << ", "
            << description.record_bytes << " bytes in slots of " << description.slot_bytes
            << ", ring of " << description.capacity << '\n';
  print_publisher(bus);
  print_ring(bus);
  if (!description.journal_root.empty()) print_sessions(bus);
  print_symbols(bus.directory);
  print_fields(bus.records);
}

// Prints the sessions one by one: a million of them in one JSON value would need more than 1 GiB.
void print_json(const BusStatus& bus) {
  std::string text = json_text(bus_json(bus), 2);
  if (bus.description.journal_root.empty()) {
    std::cout << text << '\n';
    return;
  }
  text.resize(text.size() - std::string_view("\n}").size());
  std::cout << text << ",\n  \"sessions\": [";
  const char* separator = "\n    ";
  for (const SessionRecord& session : *bus.sessions) {
    std::cout << std::exchange(separator, ",\n    ") << json_text(session_json(session));
  }
  std::cout << "\n  ]\n}\n";
}

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

// Prints the channel whose socket is at `path`, or if that is empty, all channels that this user
// may read.
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

int show_info(const InfoOptions& options) {
  if (options.channels || !options.channel.empty()) {
    return show_channels(options.channel, options.json);
  }
  if (options.bus.empty()) {
    return fail_usage("info needs one of --bus DIR, --channel PATH or --channels");
  }
  const absl::StatusOr<BusStatus> bus = gather(options.bus);
  if (!bus.ok()) return fail(bus.status());
  if (!bus->sessions.ok()) return fail(bus->sessions.status());
  if (options.json) {
    print_json(*bus);
  } else {
    print_text(*bus);
  }
  return kExitDone;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "info", kInfoAbout, show_info);
  CLI::Option* bus = command.add_option("--bus", options.bus, "directory of the bus");
  bus->type_name("DIR");
  CLI::Option* channel =
      command.add_option("--channel", options.channel, "channels of the socket at PATH");
  channel->type_name("PATH")->excludes(bus);
  command.add_flag("--channels", options.channels, "all channels that this user may read")
      ->excludes(bus)
      ->excludes(channel);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
