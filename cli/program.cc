// The command line of `lapwing`, from which the manual is generated.
#include <string>

#include "cli/command_help.h"
#include "cli/commands.h"
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
  for (AddCommand* const add :
       {add_publish, add_tail,    add_book,   add_record,     add_export,      add_checkpoint,
        add_info,    add_verify,  add_repair, add_state,      add_subscribers, add_events,
        add_symbols, add_cursors, add_pipe,   add_ping,       add_buses,       add_top,
        add_serve,   add_health,  add_doctor, add_completion, add_manual}) {
    add(app, run);
  }
}

}  // namespace lapwing::cli
