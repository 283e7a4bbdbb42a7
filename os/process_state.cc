#include "os/process_state.h"

#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "os/fork.h"

namespace lapwing {
namespace {

struct ProcessStat {
  char letter = '\0';
  std::uint64_t start_ticks = 0;
};

// Fields of /proc/PID/stat after the name, which may contain any characters, including parentheses.
// proc(5) counts from 1: there the letter is field 3, and the start time is field 22.
constexpr std::size_t kLetterField = 0;
constexpr std::size_t kStartField = 19;

std::optional<ProcessStat> read_stat(std::uint32_t pid) {
  const ForkHold hold;
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(name_end + 2), ' ');
  ProcessStat stat;
  if (fields[kLetterField].empty()) return std::nullopt;
  stat.letter = fields[kLetterField].front();
  if (fields.size() > kStartField && !absl::SimpleAtoi(fields[kStartField], &stat.start_ticks)) {
    stat.start_ticks = 0;
  }
  return stat;
}

std::uint64_t namespace_inode(const char* path) {
  struct stat info{};
  return ::stat(path, &info) == 0 ? info.st_ino : 0;
}

// An older peer does not report its namespaces. They are then assumed to be the same.
bool may_differ(std::uint64_t theirs, std::uint64_t ours) {
  return theirs != 0 && theirs != ours;
}

}  // namespace

ProcessNamespaces own_namespaces() {
  return {.pid = namespace_inode("/proc/self/ns/pid"),
          .time = namespace_inode("/proc/self/ns/time")};
}

ProcessIdentity identity_of(std::uint32_t pid) {
  const std::optional<ProcessStat> stat = read_stat(pid);
  return {.pid = pid, .start_ticks = stat ? stat->start_ticks : 0, .namespaces = own_namespaces()};
}

ProcessState state_of(const ProcessIdentity& process) {
  const ProcessNamespaces own = own_namespaces();
  if (process.pid == 0 || may_differ(process.namespaces.pid, own.pid)) {
    return ProcessState::kUnknown;
  }
  const std::optional<ProcessStat> stat = read_stat(process.pid);
  if (!stat) {
    const bool is_gone = ::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH;
    return is_gone ? ProcessState::kEnded : ProcessState::kUnknown;
  }
  const bool is_comparable = process.start_ticks != 0 && stat->start_ticks != 0 &&
                             !may_differ(process.namespaces.time, own.time);
  if (is_comparable && stat->start_ticks != process.start_ticks) return ProcessState::kEnded;
  switch (stat->letter) {
    case 'T':
    case 't':
      return ProcessState::kStopped;
    case 'Z':
    case 'X':
      return ProcessState::kEnded;
    default:
      return ProcessState::kRunning;
  }
}

bool is_stopped(std::uint32_t pid) {
  return state_of({.pid = pid, .start_ticks = 0, .namespaces = {}}) == ProcessState::kStopped;
}

bool has_ended(std::uint32_t pid) {
  return state_of({.pid = pid, .start_ticks = 0, .namespaces = {}}) == ProcessState::kEnded;
}

}  // namespace lapwing
