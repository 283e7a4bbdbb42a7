#include "cli/program.h"

#include <string>

#include "cli/command_help.h"
#include "cli/exit_codes.h"
#include "cli/version.h"

namespace lapwing::cli {
namespace {

constexpr char kProgramAbout[] =
    "Lapwing: a broadcast bus for market data on one machine.\n\n"
    "One process publishes and any number of processes subscribe. Every record is also in a\n"
    "journal, so a subscriber that falls behind, crashes or joins late misses nothing.\n\n"
    "  lapwing publish --bus ./es --source synthetic:records=1000000 --linger 60s\n"
    "  lapwing tail    --bus ./es --from oldest\n"
    "  lapwing book    --bus ./es --follow\n"
    "  lapwing record  --bus ./es --from oldest --out es.dbn.zst --until-closed\n"
    "  lapwing info    --bus ./es\n\n"
    "Channels carry messages from one process to one other and never overwrite them:\n\n"
    "  lapwing pipe --listen /run/x.sock > copy\n"
    "  lapwing pipe --connect /run/x.sock < file";

}  // namespace

void add_program(CLI::App& app, Run& run) {
  app.name("lapwing");
  app.description(kProgramAbout);
  app.footer(
      std::string("`lapwing COMMAND --help` shows examples.\n\n"
                  "A DURATION has a unit: ns, us, ms, s, m, h or d, for example 250ms or 1h30m. "
                  "0 needs none.\n\n") +
      exit_codes_help());
  app.set_version_flag("--version", version_line(), "Print the version and exit");
  app.require_subcommand(1);
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
  add_events(app, run);
  add_symbols(app, run);
  add_cursors(app, run);
  add_pipe(app, run);
  add_ping(app, run);
  add_buses(app, run);
  add_top(app, run);
  add_serve(app, run);
  add_health(app, run);
  add_doctor(app, run);
  add_completion(app, run);
  add_manual(app, run);
}

}  // namespace lapwing::cli
