// The program `lapwing`. Parses the arguments, runs the command, and converts errors to exit codes.
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/process_start.h"
#include "cli/say.h"
#include "cli/standard_streams.h"
#include "cli/stop_signal.h"

namespace lapwing::cli {
namespace {

// True for `lapwing pubish`, for which the parser would only report a missing command.
bool names_no_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  return app.get_subcommands([&](const CLI::App* command) { return command->check_name(argv[1]); })
      .empty();
}

// The first --bus of the command.
std::string bus_of(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const CLI::Option* const bus =
      commands.empty() ? nullptr : commands.front()->get_option_no_throw("--bus");
  return bus == nullptr || bus->results().empty() ? "" : bus->results().front();
}

// Help and version go to standard output, argument errors to standard error.
int answer_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kExitDone : kExitOther;
  std::cerr << printable(error.what()) << "\nRun with --help for more information.\n";
  return kExitUsage;
}

int run_program(int argc, char** argv) {
  CLI::App app;
  Run run;
  add_program(app, run);
  if (names_no_command(app, argc, argv)) {
    say(absl::StrCat("there is no command ", argv[1], "; `lapwing --help` lists them"));
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return answer_parse(app, error);
  }
  set_log_bus(bus_of(app));
  return run();
}

// Flushes the output of a command that ended with `code`, and returns the exit code.
int settle(int code) {
  const absl::Status output = told_of_lost_output() ? absl::OkStatus() : flush_output();
  // It is not an error if the reader, for example `head`, has closed the pipe.
  const bool is_lost = !output.ok() && !is_output_unread();
  if (is_lost) fail(output);
  return code == kExitDone && (is_lost || out_of_processor_time()) ? kExitOther : code;
}

}  // namespace
}  // namespace lapwing::cli

int main(int argc, char** argv) {
  using namespace lapwing::cli;
  reserve_standard_streams();
  report_unexpected_end();
  prepare_signals();
  try {
    return settle(run_program(argc, argv));
  } catch (const std::bad_alloc&) {
    std::terminate();  // the stack is unwound; the handler prints a message
  } catch (const std::exception& error) {
    say(lapwing::LogEntry{lapwing::LogLevel::kError, "error",
                          absl::StrCat("unexpected error: ", error.what(),
                                       ". Durable records are safe, and the next run continues as "
                                       "after a kill")});
    return kExitOther;
  }
}
