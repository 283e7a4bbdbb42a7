// lapwing manual: writes the manual pages, generated from the program's help.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/help/command_tree.h"
#include "cli/help/manual_page.h"
#include "cli/say.h"
#include "cli/version.h"
#include "os/posix_io.h"
#include "os/whole_file.h"

namespace lapwing::cli {
namespace {

constexpr char kManualAbout[] =
    "Print a manual page, for man(1).\n\n"
    "  lapwing manual | man -l -\n"
    "  lapwing manual tail | man -l -\n"
    "  lapwing manual --into /usr/share/man/man1      # every page, as a file\n\n"
    "An installation puts them there: man lapwing, man lapwing-tail.";

struct ManualOptions {
  std::string command;
  std::string into;
};

const ManualEdition& edition() {
  static const ManualEdition made{release(), release_date()};
  return made;
}

constexpr unsigned kPagePermissions = 0644;  // man(1) runs as any user

absl::Status write_page(const std::string& path, const std::string& page) {
  PosixDisk disk;
  return write_whole_file(disk, path, page, {.permissions = kPagePermissions});
}

int write_pages(const ProgramText& program, const std::string& directory) {
  absl::Status written =
      write_page(directory + "/lapwing.1", manual_of_program(program, edition()));
  for (const CommandText& command : program.commands) {
    if (!written.ok()) break;
    written = write_page(absl::StrCat(directory, "/lapwing-", command.name, ".1"),
                         manual_of_command(command, edition()));
  }
  return written.ok() ? kExitDone : fail(written);
}

int print_page(const ProgramText& program, const std::string& name) {
  if (name.empty()) {
    std::cout << manual_of_program(program, edition());
    return kExitDone;
  }
  for (const CommandText& command : program.commands) {
    if (command.name != name) continue;
    std::cout << manual_of_command(command, edition());
    return kExitDone;
  }
  say(absl::StrCat("there is no command ", printable(name), "; `lapwing --help` lists them"));
  return kExitUsage;
}

}  // namespace

void add_manual(CLI::App& app, Run& run) {
  auto options = std::make_shared<ManualOptions>();
  CLI::App& command = add_command(app, "manual", kManualAbout);
  CLI::Option* name =
      command
          .add_option("command", options->command,
                      "print the page of this command (default: the page of the program)")
          ->type_name("COMMAND");
  command.add_option("--into", options->into, "write every page into this directory")
      ->type_name("DIR")
      ->excludes(name);
  command.callback([&app, options, &run] {
    run = [&app, options] {
      const ProgramText program = text_of(app);
      return options->into.empty() ? print_page(program, options->command)
                                   : write_pages(program, options->into);
    };
  });
}

}  // namespace lapwing::cli
