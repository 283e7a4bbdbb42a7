#include "cli/thread_options.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/option_checks.h"
#include "lapwing/detail/enum_names.h"
#include "os/cpu_list.h"

namespace lapwing::cli {
namespace {

std::string why_no_nice_value(const std::string& text) {
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= -20 && value <= 19) return {};
  return absl::StrCat(text, " is not a whole number from -20 to 19");
}

}  // namespace

void add_thread_options(CLI::App& command, ThreadPlacement& threads) {
  static constexpr detail::EnumName<SchedulingPolicy> kPolicies[] = {
      {SchedulingPolicy::kOther, "other"},
      {SchedulingPolicy::kBatch, "batch"},
      {SchedulingPolicy::kIdle, "idle"},
      {SchedulingPolicy::kFifo, "fifo"},
      {SchedulingPolicy::kRoundRobin, "rr"}};
  command
      .add_option_function<std::string>(
          "--thread-cpus",
          [&threads](const std::string& text) { threads.cpus = *parse_cpu_list(text); },
          "processors that Lapwing's own threads run on, such as 2-3,8 (default: as the command); "
          "place the publishing thread with taskset")
      ->check(parsed_by(parse_cpu_list))
      ->type_name("LIST");
  command
      .add_option_function<int>(
          "--thread-nice", [&threads](const int& nice) { threads.nice = nice; },
          "nice value of Lapwing's own threads, -20 to 19 (default: as the command)")
      ->check(CLI::Validator(why_no_nice_value, ""))
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--thread-policy",
          [&threads](const std::string& name) { threads.policy = value_in(kPolicies, name); },
          "scheduling policy of Lapwing's own threads (default: as the command)")
      ->check(CLI::IsMember(names_in(kPolicies)));
  command
      .add_option("--thread-priority", threads.priority,
                  "real-time priority of Lapwing's own threads, 1 to 99, with fifo and rr")
      ->check(whole_number(1, 99))
      ->type_name("N");
}

}  // namespace lapwing::cli
