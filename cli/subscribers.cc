// lapwing subscribers: who is attached, where they are, what they missed.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/control/client.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/publisher_query.h"
#include "cli/say.h"
#include "os/kernel.h"
#include "proto/text_field.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Show a bus's subscribers, how far behind each one is, and what it lost.\n\n"
    "  lapwing subscribers --bus ./es\n"
    "  lapwing subscribers --bus ./es --json";

struct SubscribersOptions {
  std::string bus;
  bool json = false;
};

const char* state_name(ClientState state) {
  switch (state) {
    case ClientState::kJoining:
      return "joining";
    case ClientState::kLive:
      return "live";
    case ClientState::kFilling:
      return "filling";
    case ClientState::kStopped:
      return "stopped";
  }
  return "unknown";
}

int print_json(const PublisherAnswer& answer) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SubscriberInfoFrame& info : answer.list.subscribers) {
    list.push_back({{"pid", info.pid},
                    {"uid", info.uid},
                    {"name", get_text(info.name)},
                    {"state", state_name(info.state)},
                    {"parks", info.may_park != 0},
                    {"position", info.position},
                    {"head_seen", info.head_seen},
                    {"records", info.records},
                    {"gaps", info.gaps},
                    {"lost", info.lost},
                    {"filled", info.filled},
                    {"connected_ns", info.connected_wall_ns},
                    {"reported_ns", info.reported_wall_ns}});
  }
  const nlohmann::ordered_json out = {{"head", answer.welcome.head},
                                      {"subscribers", list},
                                      {"refused", answer.list.end.refused},
                                      {"dropped", answer.list.end.dropped}};
  std::cout << json_text(out, 2) << '\n';
  return kExitDone;
}

int print_table(const PublisherAnswer& answer) {
  std::cout << absl::StrFormat("%8s %6s  %-16s %-8s %14s %10s %8s %8s %8s\n", "pid", "uid", "name",
                               "state", "position", "lag", "gaps", "lost", "filled");
  for (const SubscriberInfoFrame& info : answer.list.subscribers) {
    const Sequence head = answer.welcome.head;
    const Sequence behind = head > info.position ? head - info.position : 0;
    std::cout << absl::StrFormat("%8d %6d  %-16s %-8s %14d %10d %8d %8d %8d\n", info.pid, info.uid,
                                 printable(get_text(info.name)), state_name(info.state),
                                 info.position, behind, info.gaps, info.lost, info.filled);
  }
  std::cout << answer.list.subscribers.size() << " attached; " << answer.list.end.refused
            << " refused and " << answer.list.end.dropped << " disconnected so far\n";
  return kExitDone;
}

int show_subscribers(const SubscribersOptions& options) {
  const absl::StatusOr<PublisherAnswer> answer = ask_publisher(options.bus);
  if (!answer.ok()) return fail(answer.status());
  return options.json ? print_json(*answer) : print_table(*answer);
}

}  // namespace

void add_subscribers(CLI::App& app, Run& run) {
  auto options = std::make_shared<SubscribersOptions>();
  CLI::App& command = add_command(app, "subscribers", kAbout);
  add_bus_option(command, options->bus);
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &run] { run = [options] { return show_subscribers(*options); }; });
}

}  // namespace lapwing::cli
