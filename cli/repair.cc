// lapwing repair: heal what has a second copy, and end a journal that is damaged beyond that.
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bus/kernel.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/follow.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/verify_report.h"
#include "publisher/left_rings.h"
#include "snapshot/bus_directory.h"
#include "snapshot/exclusive_lock.h"
#include "snapshot/posix_io.h"
#include "snapshot/recovery/repair.h"

namespace lapwing::cli {
namespace {

constexpr char kAbout[] =
    "Heal a journal as far as that is possible without inventing anything.\n\n"
    "  lapwing repair --bus ./es\n\n"
    "Makes second copies and indexes anew. Damaged records stay as they are, and their journal is\n"
    "ended: the next publisher begins a new one at sequence 1. Needs the publisher to be down. "
    "Look\n"
    "first with verify.";

constexpr std::uint64_t kLockWaitNs = 1'000'000'000;

struct RepairOptions {
  std::string bus;
  bool json = false;
};

absl::StatusOr<RepairReport> run_repair(const std::string& bus) {
  const absl::StatusOr<std::string> root = journal_root_of(bus);
  if (!root.ok()) return root.status();
  const absl::StatusOr<ExclusiveLock> lock =
      ExclusiveLock::take(absl::StrCat(*root, "/", kLockFileName), kLockWaitNs);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  const absl::StatusOr<Id128> fresh = random_id();
  if (!fresh.ok()) return fresh.status();
  PosixDisk disk;
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(*root);
  if (!directory.ok()) return directory.status();
  LeftRings rings(*directory, {bus}, say);
  Progress progress;
  const absl::StatusOr<BusDescription> description = read_bus_description(bus);
  if (!description.ok()) return description.status();
  return repair_journal(
      disk, *lock,
      {*root, *boot, *fresh, rings.opener(), description->journal_id, description->session_id},
      [&](std::uint64_t done, std::uint64_t total) { progress.show("verified", done, total); });
}

int repair(const RepairOptions& options) {
  const absl::StatusOr<RepairReport> report = run_repair(options.bus);
  if (!report.ok()) return fail(report.status());
  if (options.json) {
    nlohmann::ordered_json json = {{"done", report->done},
                                   {"journal_ended", report->journal_ended},
                                   {"remaining", verify_json(report->remaining)}};
    std::cout << json_text(json, 2) << '\n';
  } else {
    for (const std::string& line : report->done) std::cout << printable(line) << '\n';
    if (report->done.empty()) std::cout << "nothing was to be done\n";
    print_verify(report->remaining);
  }
  return verify_exit_code(report->remaining);
}

}  // namespace

void add_repair(CLI::App& app, Run& run) {
  auto options = std::make_shared<RepairOptions>();
  CLI::App& command = add_command(app, "repair", kAbout);
  add_bus_option(command, options->bus);
  command.add_flag("--json", options->json, "as JSON");
  command.callback([options, &run] { run = [options] { return repair(*options); }; });
}

}  // namespace lapwing::cli
