// lapwing completion: prints a script with which a shell completes commands, options and values.
#include <iostream>
#include <memory>
#include <string>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/help/command_tree.h"
#include "cli/help/completion.h"

namespace lapwing::cli {
namespace {

constexpr char kCompletionAbout[] =
    "Print a script that makes a shell complete the commands and options of this program.\n\n"
    "  source <(lapwing completion bash)\n"
    "  lapwing completion zsh > ~/.zfunc/_lapwing    # a folder of fpath\n"
    "  lapwing completion fish > ~/.config/fish/completions/lapwing.fish\n\n"
    "An installation puts all three where shells search.";

int print_completion(const CLI::App& app, const std::string& shell) {
  const ProgramText program = text_of(app);
  if (shell.empty()) {
    return fail_usage("for which shell: bash, zsh or fish?");
  }
  if (shell == "bash") {
    std::cout << bash_completion(program);
  } else if (shell == "zsh") {
    std::cout << zsh_completion(program);
  } else {
    std::cout << fish_completion(program);
  }
  return kExitDone;
}

}  // namespace

void add_completion(CLI::App& app, Run& run) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(app, "completion", kCompletionAbout);
  command.add_option("shell", *shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.callback(
      [&app, shell, &run] { run = [&app, shell] { return print_completion(app, *shell); }; });
}

}  // namespace lapwing::cli
