// lapwing info: what a bus or a channel is, where it stands, and whether it is well.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bus/ring_map.h"
#include "cli/channel_info.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/publisher_query.h"
#include "cli/say.h"
#include "cli/time_text.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "proto/ring_words.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/session_log.h"
#include "subscribers/described_ring.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Show the state of a bus or of channels.\n\n"
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

using Json = nlohmann::ordered_json;

const char* end_name(const std::optional<SessionEntry>& end) {
  if (!end) return "open";
  switch (end->how) {
    case SessionEnd::kNone:
      return "unknown";
    case SessionEnd::kClosed:
      return "closed";
    case SessionEnd::kRecovered:
      return "recovered";
    case SessionEnd::kCut:
      return "cut";
    case SessionEnd::kFailed:
      return "failed";
  }
  return "unknown";
}

const char* journal_name(JournalState state) {
  switch (state) {
    case JournalState::kNone:
      return "none";
    case JournalState::kGood:
      return "good";
    case JournalState::kFailed:
      return "failed";
    case JournalState::kShed:
      return "shed";
  }
  return "unknown";
}

Json describe_ring(const RingMap& ring) {
  const RingWords& words = ring.words();
  const JournalCondition journal = load_journal_condition(words);
  const std::uint64_t beat = load_heartbeat(words);
  const std::uint64_t now = monotonic_ns();
  return {{"path", ring.path()},
          {"publisher_pid", ring.header().publisher_pid},
          {"state", load_ring_state(words) == RingState::kRunning ? "running" : "closed"},
          {"heartbeat_age_ms", now > beat ? (now - beat) / 1'000'000 : 0},
          {"session_first", ring.header().session_first_sequence},
          {"head", load_head(words)},
          {"archived", load_archived(words)},
          {"durable", load_durable(words)},
          {"oldest", load_oldest(words)},
          {"journal", journal_name(journal.state)},
          {"journal_errno", journal.sys_errno}};
}

Json describe_sessions(const SessionLog& log) {
  Json sessions = Json::array();
  for (const SessionRecord& session : log.sessions()) {
    Json entry = {
        {"session", session.begin.session_id.hex()},    {"journal", session.begin.journal_id.hex()},
        {"began", time_text(session.begin.wall_ns)},    {"first", session.begin.first},
        {"reserved_through", session.reserved_through}, {"end", end_name(session.end)}};
    if (session.end) entry["last"] = session.end->last;
    if (session.end && session.end->void_first != 0) {
      entry["void"] = {session.end->void_first, session.end->void_last};
    }
    sessions.push_back(entry);
  }
  return sessions;
}

void add_ring(Json& info, const std::string& bus, const BusDescription& description) {
  const absl::StatusOr<OpenRing> ring = open_described_ring(bus, description);
  const absl::StatusOr<RingMap> map = ring.ok() ? RingMap::attach(*ring) : ring.status();
  if (map.ok()) {
    info["ring"] = describe_ring(*map);
    return;
  }
  info["ring"] = nullptr;
  info["ring_why"] =
      description.closed ? "the session was closed" : std::string(map.status().message());
}

void add_publisher(Json& info, const std::string& bus) {
  const absl::StatusOr<PublisherAnswer> answer = ask_publisher(bus);
  if (answer.ok()) {
    info["publisher"] = "alive";
    info["subscribers"] = answer->list.subscribers.size();
    return;
  }
  info["publisher"] = nullptr;
  info["publisher_why"] = std::string(answer.status().message());
}

absl::StatusOr<Json> gather(const std::string& bus) {
  const absl::StatusOr<BusDescription> description = read_bus_description(bus);
  if (!description.ok()) return description.status();
  Json info = {{"bus", bus},
               {"name", description->name},
               {"schema", description->schema},
               {"record_bytes", description->record_bytes},
               {"slot_bytes", description->slot_bytes},
               {"capacity", description->capacity},
               {"session", description->session_id.hex()},
               {"journal_id", description->journal_id.hex()},
               {"journal_root", description->journal_root},
               {"journal_writer", description->journal_writer}};
  add_ring(info, bus, *description);
  add_publisher(info, bus);
  if (description->journal_root.empty()) return info;
  PosixDisk disk;
  const absl::StatusOr<SessionLog> log =
      SessionLog::open_read_only(disk, description->journal_root);
  if (!log.ok()) return log.status();
  info["sessions"] = describe_sessions(*log);
  return info;
}

// What a file, a peer or an argument says, for a table.
std::string text(const Json& json) {
  return printable(json.get<std::string>());
}

void print_ring(const Json& info) {
  if (info["ring"].is_null()) {
    std::cout << "  ring       none: " << text(info["ring_why"]) << '\n';
    return;
  }
  const Json& ring = info["ring"];
  std::cout << "  ring       " << text(ring["path"]) << ", " << ring["state"].get<std::string>()
            << ", heartbeat " << ring["heartbeat_age_ms"] << " ms ago\n"
            << "  head       " << ring["head"] << "\n  archived   " << ring["archived"]
            << "\n  durable    " << ring["durable"] << "\n  oldest     " << ring["oldest"]
            << "\n  journal    " << ring["journal"].get<std::string>() << ", written by "
            << text(info["journal_writer"]);
  if (ring["journal_errno"] != 0) std::cout << ", errno " << ring["journal_errno"];
  std::cout << '\n';
}

void print_session(const Json& session) {
  std::cout << "    " << session["began"].get<std::string>() << "  from " << session["first"];
  if (session.contains("last")) std::cout << " to " << session["last"];
  std::cout << ", " << session["end"].get<std::string>();
  if (session.contains("void")) {
    std::cout << ", void " << session["void"][0] << ".." << session["void"][1];
  }
  std::cout << '\n';
}

void print_text(const Json& info) {
  std::cout << "bus " << text(info["name"]) << " at " << text(info["bus"]) << "\n  records    "
            << text(info["schema"]) << ", " << info["record_bytes"] << " bytes in slots of "
            << info["slot_bytes"] << ", ring of " << info["capacity"] << '\n';
  if (info["publisher"].is_null()) {
    std::cout << "  publisher  none: " << text(info["publisher_why"]) << '\n';
  } else {
    std::cout << "  publisher  alive, " << info["subscribers"] << " subscribers\n";
  }
  print_ring(info);
  if (!info.contains("sessions")) return;
  std::cout << "  sessions\n";
  for (const Json& session : info["sessions"]) print_session(session);
}

int show_info(const InfoOptions& options) {
  if (options.channels || !options.channel.empty()) {
    return show_channels(options.channel, options.json);
  }
  if (options.bus.empty()) {
    return fail(make_error(Errc::kInvalidArgument,
                           "info needs one of --bus DIR, --channel PATH or --channels"));
  }
  const absl::StatusOr<Json> info = gather(options.bus);
  if (!info.ok()) return fail(info.status());
  if (options.json) {
    std::cout << json_text(*info, 2) << '\n';
  } else {
    print_text(*info);
  }
  return kExitDone;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& command = add_command(app, "info", kAbout);
  CLI::Option* bus = command.add_option("--bus", options->bus, "directory of the bus");
  bus->type_name("DIR");
  CLI::Option* channel =
      command.add_option("--channel", options->channel, "channels of the socket at PATH");
  channel->type_name("PATH")->excludes(bus);
  command.add_flag("--channels", options->channels, "all channels that this user may read")
      ->excludes(bus)
      ->excludes(channel);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &run] { run = [options] { return show_info(*options); }; });
}

}  // namespace lapwing::cli
