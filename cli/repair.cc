// lapwing repair: restores data from its second copy, and ends a journal that cannot be restored in
// this way.
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/verify_report.h"
#include "monitor/json_text.h"
#include "os/exclusive_lock.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "publisher/left_rings.h"
#include "snapshot/bus_directory.h"
#include "snapshot/recovery/repair.h"

namespace lapwing::cli {
namespace {

constexpr char kRepairAbout[] =
    "Repair a journal as far as possible without inventing records.\n\n"
    "  lapwing repair --bus ./es\n\n"
    "Restores second copies and indexes. Damaged records stay as they are, and their journal is\n"
    "ended: the next publisher begins a new one at sequence 1. No publisher may be running. Run\n"
    "verify first.";

constexpr std::uint64_t kLockWaitNs = 1'000'000'000;

struct RepairOptions {
  std::string bus;
  std::string journal;
  bool json = false;
};

// bus.json contains the journal's path, and may be untrusted. A journal outside the bus directory
// is changed only if the user names it.
absl::Status check_journal_is_meant(const RepairOptions& options, const std::string& root) {
  std::error_code none;  // ignored: a path that cannot be resolved does not match
  const std::string named = options.journal.empty()
                                ? absl::StrCat(options.bus, "/", kJournalDirectoryName)
                                : options.journal;
  const bool is_link = std::filesystem::is_symlink(named, none);
  if (!is_link && std::filesystem::equivalent(root, named, none)) return absl::OkStatus();
  const std::string said =
      absl::StrCat(options.bus, "/", kBusFileName, " gives the path of the journal as ", root);
  if (!std::filesystem::exists(root, none)) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(said,
                                   ", which does not exist. Put it back if it was moved, or start "
                                   "a publisher, which begins a new one"));
  }
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(said, " and repair would change it. Add --journal ", root,
                                 " if that is this bus's journal"));
}

absl::StatusOr<RepairReport> run_repair(const RepairOptions& options) {
  const absl::StatusOr<std::string> root = journal_root_of(options.bus);
  if (!root.ok()) return root.status();
  if (absl::Status meant = check_journal_is_meant(options, *root); !meant.ok()) return meant;
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.bus);
  if (!bus.ok()) return bus.status();
  const absl::StatusOr<ExclusiveLock> lock =
      ExclusiveLock::take(absl::StrCat(*root, "/", kLockFileName), kLockWaitNs,
                          {"publishes or repairs here; end it, then repair again"});
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<DirectoryIdentity> directory = directory_identity(*root);
  if (!directory.ok()) return directory.status();
  // Check for a running publisher even if its lock file is missing.
  LeftRings rings(*directory, {options.bus}, [](const LogEntry& entry) { say(entry); });
  absl::Status free = check_no_control(absl::StrCat(options.bus, "/", kControlSocketName));
  if (free.ok()) free = rings.check_none_held(bus->ring_path);
  if (!free.ok()) return free;
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return boot.status();
  const absl::StatusOr<Id128> fresh = random_id();
  if (!fresh.ok()) return fresh.status();
  PosixDisk disk;
  Progress progress;
  return repair_journal(
      disk, *lock,
      {*root, *boot, *fresh, rings.opener(), bus->journal_id, bus->session_id, bus->description},
      [&](std::uint64_t done, std::uint64_t total) { progress.show("verified", done, total); });
}

int repair(const RepairOptions& options) {
  const absl::StatusOr<RepairReport> report = run_repair(options);
  if (!report.ok()) return fail(report.status());
  if (options.json) {
    nlohmann::ordered_json json = {{"done", report->done},
                                   {"journal_ended", report->journal_ended},
                                   {"remaining", verify_json(report->remaining)}};
    std::cout << json_text(json, 2) << '\n';
  } else {
    for (const std::string& line : report->done) std::cout << printable(line) << '\n';
    if (report->done.empty()) std::cout << "nothing to repair\n";
    print_verify(report->remaining);
  }
  return verify_exit_code(report->remaining);
}

}  // namespace

void add_repair(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "repair", kRepairAbout, repair);
  add_bus_option(command, options.bus);
  command
      .add_option("--journal", options.journal,
                  "directory of the journal, if it is not in the bus directory")
      ->option_text("DIR");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
