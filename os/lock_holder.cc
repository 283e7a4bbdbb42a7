#include "os/lock_holder.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "os/posix_io.h"

namespace lapwing {
namespace {

constexpr char kProc[] = "/proc/";

// A line of /proc/locks, or of fdinfo after "lock:":
//   1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF
struct LockLine {
  std::string kind;
  std::string access;
  pid_t pid = 0;
  std::string file;
};

// Returns nullopt for a waiter ("1: -> FLOCK …") and for a line in another form.
std::optional<LockLine> parse(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  LockLine lock;
  if (words.size() < 8 || !absl::SimpleAtoi(words[4], &lock.pid)) return std::nullopt;
  lock.kind = words[1];
  lock.access = words[3];
  lock.file = words[5];
  return lock;
}

// Returns the file's name in /proc: device and inode.
std::optional<std::string> file_of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return absl::StrFormat("%02x:%02x:%u", major(info.st_dev), minor(info.st_dev), info.st_ino);
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

LockHolder process(pid_t pid) {
  LockHolder holder;
  holder.pid = pid;
  const std::string path = absl::StrCat(kProc, pid);
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) holder.user = info.st_uid;
  holder.command = first_line(path + "/comm");
  return holder;
}

bool holds_write_lock(const std::string& fdinfo, const std::string& file) {
  std::ifstream in(fdinfo);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("lock:")) continue;
    const std::optional<LockLine> lock = parse(line.substr(sizeof "lock:" - 1));
    if (lock && lock->kind == "OFDLCK" && lock->access == "WRITE" && lock->file == file)
      return true;
  }
  return false;
}

bool holds_write_lock(pid_t pid, const std::string& file) {
  const std::string folder = absl::StrCat(kProc, pid, "/fdinfo");
  const auto names = PosixDisk().list(folder);
  if (!names.ok()) return false;  // another user's process, or one that has ended
  return std::ranges::any_of(*names, [&](const std::string& name) {
    return holds_write_lock(absl::StrCat(folder, "/", name), file);
  });
}

}  // namespace

std::optional<LockHolder> flock_holder(int fd) {
  const std::optional<std::string> file = file_of(fd);
  if (!file) return std::nullopt;
  std::ifstream in("/proc/locks");
  for (std::string line; std::getline(in, line);) {
    const std::optional<LockLine> lock = parse(line);
    if (lock && lock->kind == "FLOCK" && lock->file == *file && lock->pid > 0) {
      return process(lock->pid);
    }
  }
  return std::nullopt;
}

std::optional<LockHolder> write_lock_holder(int fd) {
  const std::optional<std::string> file = file_of(fd);
  if (!file) return std::nullopt;
  const auto names = PosixDisk().list(kProc);
  if (!names.ok()) return std::nullopt;
  for (const std::string& name : *names) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(name, &pid) && holds_write_lock(pid, *file)) return process(pid);
  }
  return std::nullopt;
}

std::string text_of(const LockHolder& holder) {
  if (holder.command.empty()) return absl::StrCat("process ", holder.pid);
  return absl::StrCat("process ", holder.pid, " (", holder.command, ", user ", holder.user, ")");
}

std::string ended_text(const std::string& who, pid_t pid) {
  return absl::StrCat("the last ", who, " (pid ", pid,
                      ") has ended, and the kernel is still finishing its writes. Try again in a "
                      "moment; if it runs in another container, end it there");
}

bool has_ended(pid_t pid) {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  // 12 (a command) Z …; the command may contain parentheses.
  const std::string stat = first_line(absl::StrCat(kProc, pid, "/stat"));
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() &&
         (stat[end + 2] == 'Z' || stat[end + 2] == 'X');
}

}  // namespace lapwing
