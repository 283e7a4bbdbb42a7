// lapwing doctor: finds settings on this machine that make a bus fail or slow it down.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/ring_directory.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/detail/slot_layout.h"
#include "lapwing/publisher.h"
#include "monitor/count_text.h"
#include "monitor/doctor/examination.h"
#include "monitor/json_text.h"
#include "monitor/status_json.h"
#include "proto/ring_layout.h"
#include "snapshot/bus_directory.h"

namespace lapwing::cli {
namespace {

constexpr char kDoctorAbout[] =
    "Examine this machine for settings that break or slow down a bus.\n\n"
    "  lapwing doctor\n"
    "  lapwing doctor --bus ./es            # also its ring's size, and its journal's disk\n"
    "  lapwing doctor --json\n\n"
    "Each line has a verdict, a property and its value; below it, why it matters and a command\n"
    "that changes it. Nothing is changed. Run it as the user who runs the bus.\n"
    "Exit code 1: there is a problem. If there is only advice, the exit code is 0.";

// The ring size with a publisher's default options.
std::uint64_t default_ring_bytes() {
  return kCapacityDefaultMax * slot_bytes_for(PublisherOptions().record_bytes);
}

struct DoctorOptions {
  std::string bus;
  bool json = false;
};

// The path as the mount list would contain it, even if its last component does not exist yet.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? path : found.string();
}

absl::StatusOr<Machine> machine_for(const std::string& bus) {
  Machine machine;
  machine.uid = geteuid();
  machine.ring_bytes = default_ring_bytes();
  machine.ring_directory = absolute(private_ring_directory_path({}));
  if (bus.empty()) return machine;
  const absl::StatusOr<BusDescription> description = read_bus_description(bus);
  if (!description.ok()) return description.status();
  machine.ring_bytes = description->capacity * description->slot_bytes;
  machine.ring_directory =
      absolute(std::filesystem::path(description->ring_path).parent_path().string());
  if (!description->journal_root.empty()) {
    machine.journal_directory = absolute(description->journal_root);
  }
  return machine;
}

void print_findings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << absl::StrFormat("%-8s %-20s %s\n", name_of(finding.verdict), finding.name,
                                 printable(finding.value));
    if (!finding.why.empty()) std::cout << "         " << finding.why << '\n';
    if (!finding.remedy.empty()) std::cout << "         > " << finding.remedy << '\n';
  }
}

std::uint64_t count_of(const std::vector<Finding>& findings, Verdict verdict) {
  return static_cast<std::uint64_t>(
      std::count_if(findings.begin(), findings.end(),
                    [=](const Finding& finding) { return finding.verdict == verdict; }));
}

int show_examination(const DoctorOptions& options) {
  const absl::StatusOr<Machine> machine = machine_for(options.bus);
  if (!machine.ok()) return fail(machine.status());
  const std::vector<Finding> findings = examine(*machine);
  const std::uint64_t problems = count_of(findings, Verdict::kProblem);
  if (options.json) {
    std::cout << json_text(findings_json(findings), 2) << '\n';
  } else {
    print_findings(findings);
    std::cout << count_text(problems, "problem") << ", "
              << count_text(count_of(findings, Verdict::kAdvice), "piece of advice",
                            "pieces of advice")
              << ", " << count_of(findings, Verdict::kUnknown) << " unknown\n";
  }
  if (problems == 0) return kExitDone;
  say(absl::StrCat("this machine has ", count_text(problems, "problem"),
                   problems == 1 ? "; its remedy is below it" : "; each has its remedy below it"));
  return kExitOther;
}

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "doctor", kDoctorAbout, show_examination);
  command
      .add_option("--bus", options.bus, "directory of a bus: also examine its ring and its disk")
      ->type_name("DIR");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
