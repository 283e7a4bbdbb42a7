#include "cli/thread_options.h"

#include <map>
#include <string>

#include "cli/number_option.h"
#include "os/cpu_list.h"

namespace lapwing::cli {
namespace {

CLI::Validator a_cpu_list() {
  const auto check = [](const std::string& text) {
    return std::string(parse_cpu_list(text).status().message());
  };
  return CLI::Validator(check, "");
}

}  // namespace

void add_thread_options(CLI::App& command, ThreadPlacement& threads) {
  static const std::map<std::string, SchedulingPolicy> kPolicies = {
      {"other", SchedulingPolicy::kOther},
      {"batch", SchedulingPolicy::kBatch},
      {"idle", SchedulingPolicy::kIdle},
      {"fifo", SchedulingPolicy::kFifo},
      {"rr", SchedulingPolicy::kRoundRobin}};
  command
      .add_option_function<std::string>(
          "--thread-cpus",
          [&threads](const std::string& text) { threads.cpus = *parse_cpu_list(text); },
          "processors that Lapwing's own threads run on, such as 2-3,8 (default: as the command); "
          "the publishing thread is placed by taskset")
      ->check(a_cpu_list())
      ->type_name("LIST");
  command
      .add_option_function<int>(
          "--thread-nice", [&threads](const int& nice) { threads.nice = nice; },
          "nice value of Lapwing's own threads, -20 to 19 (default: as the command)")
      ->check(signed_number(-20, 19))
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--thread-policy",
          [&threads](const std::string& name) { threads.policy = kPolicies.at(name); },
          "scheduling policy of Lapwing's own threads (default: as the command)")
      ->check(CLI::IsMember({"other", "batch", "idle", "fifo", "rr"}));
  command
      .add_option("--thread-priority", threads.priority,
                  "real-time priority of Lapwing's own threads, 1 to 99, with fifo and rr")
      ->check(whole_number(1, 99))
      ->type_name("N");
}

}  // namespace lapwing::cli
