// lapwing: the one program. Parses, runs the command that was given, and turns errors into exit
// codes.
#include <csignal>
#include <exception>
#include <iostream>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace {

constexpr char kAbout[] =
    "Lapwing: a broadcast bus for market data on one machine.\n\n"
    "One process publishes, any number follow; every record is also in a journal, so whoever "
    "falls\n"
    "behind, crashes or comes late misses nothing.\n\n"
    "  lapwing publish --bus ./es --source synthetic:records=1000000 --linger 60\n"
    "  lapwing tail    --bus ./es --from start\n"
    "  lapwing book    --bus ./es --follow\n"
    "  lapwing record  --bus ./es --from start --out es.dbn.zst --until-closed\n"
    "  lapwing info    --bus ./es\n\n"
    "And channels, from one process to one other, which never overwrite:\n\n"
    "  lapwing pipe --listen /run/x.sock > copy\n"
    "  lapwing pipe --connect /run/x.sock < file";

// `lapwing pubish`: the parser would only say that a command is missing.
bool names_no_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  return app.get_subcommands([&](const CLI::App* command) { return command->check_name(argv[1]); })
      .empty();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lapwing::cli;
  std::signal(SIGPIPE,
              SIG_IGN);  // a closed pipe is an error of the write, not the end of the process
  CLI::App app(kAbout, "lapwing");
  app.footer(std::string("`lapwing COMMAND --help` shows examples.\n\n") + kExitCodesHelp);
  app.set_version_flag("--version", "lapwing " LAPWING_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  Run run;
  add_publish(app, run);
  add_tail(app, run);
  add_book(app, run);
  add_record(app, run);
  add_export(app, run);
  add_checkpoint(app, run);
  add_info(app, run);
  add_verify(app, run);
  add_repair(app, run);
  add_state(app, run);
  add_subscribers(app, run);
  add_pipe(app, run);
  add_ping(app, run);
  if (names_no_command(app, argc, argv)) {
    std::cerr << "lapwing: there is no command " << argv[1] << "; `lapwing --help` lists them\n";
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints the help or the error
    return code == 0 ? kExitDone : kExitUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << "lapwing: " << error.what() << '\n';
    return kExitOther;
  }
}
