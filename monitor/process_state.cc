#include "monitor/process_state.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "os/fork.h"

namespace lapwing {
namespace {

// The letter behind the name in /proc/PID/stat; 0: there is no such process, or it is not said. The
// name may have anything in it, also brackets.
char state_letter(std::uint32_t pid) {
  const ForkHold hold;
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '\0' : text[name_end + 2];
}

}  // namespace

bool has_ended(std::uint32_t pid) {
  const char letter = state_letter(pid);
  if (letter == 'Z' || letter == 'X') return true;
  return letter == '\0' && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

bool is_stopped(std::uint32_t pid) {
  const char letter = state_letter(pid);
  return letter == 'T' || letter == 't';
}

}  // namespace lapwing
