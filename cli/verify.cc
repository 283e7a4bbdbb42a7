// lapwing verify: checks every byte that the journal covers.
#include <iostream>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "cli/verify_report.h"
#include "monitor/json_text.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "publisher/left_rings.h"
#include "snapshot/recovery/verify.h"

namespace lapwing::cli {
namespace {

constexpr char kVerifyAbout[] =
    "Check every header, checksum and stamp of a bus's journal, and that a publisher can start.\n\n"
    "  lapwing verify --bus ./es\n"
    "  lapwing verify --bus ./es --json\n\n"
    "Changes nothing, and may run beside a publisher. The exit code is 4 if anything is\n"
    "damaged; each finding says what to do about it.";

struct VerifyOptions {
  std::string bus;
  bool json = false;
};

int verify(const VerifyOptions& options) {
  const absl::StatusOr<std::string> root = journal_root_of(options.bus);
  if (!root.ok()) return fail(root.status());
  const absl::StatusOr<Id128> boot = boot_id();
  if (!boot.ok()) return fail(boot.status());
  const auto directory =
      directory_identity(*root);  // verify_journal reports errors about the directory
  LeftRings rings(directory.value_or(DirectoryIdentity{}), {options.bus}, nullptr);
  PosixDisk disk;
  Progress progress;
  const absl::StatusOr<VerifyReport> report = verify_journal(
      disk, *root,
      [&](std::uint64_t done, std::uint64_t total) { progress.show("verified", done, total); },
      {*boot, rings.opener()});
  progress.clear();
  if (!report.ok()) return fail(report.status());
  if (options.json) {
    std::cout << json_text(verify_json(*report), 2) << '\n';
  } else {
    print_verify(*report);
  }
  return verify_exit_code(*report);
}

}  // namespace

void add_verify(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "verify", kVerifyAbout, verify);
  add_bus_option(command, options.bus);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
