#include "monitor/doctor/machine_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

// "/dev/shm" is in the mount "/dev/shm" and in "/dev", not in "/dev/sh".
bool is_in(const std::string& directory, const std::string& mount) {
  return directory == mount || mount == "/" || absl::StartsWith(directory, mount + "/");
}

}  // namespace

std::optional<std::string> MachineFiles::text(const std::string& path) const {
  std::ifstream file(std::filesystem::path(root_) / path);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return std::string(absl::StripTrailingAsciiWhitespace(content.str()));
}

std::optional<std::uint64_t> MachineFiles::number(const std::string& path) const {
  const std::optional<std::string> said = text(path);
  std::uint64_t value = 0;
  if (!said || !absl::SimpleAtoi(*said, &value)) return std::nullopt;
  return value;
}

std::vector<std::string> MachineFiles::names(const std::string& directory,
                                             const std::string& prefix) const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(root_) / directory, error)) {
    std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, prefix)) found.push_back(std::move(name));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::uint64_t> MachineFiles::line_of(const std::string& path,
                                                   const std::string& key) const {
  const std::string content = text(path).value_or("");
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    if (!absl::ConsumePrefix(&line, key + ":")) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    std::uint64_t value = 0;
    if (words.empty() || !absl::SimpleAtoi(words[0], &value)) return std::nullopt;
    return words.size() > 1 && words[1] == "kB" ? value * kKilobyte : value;
  }
  return std::nullopt;
}

std::vector<Mount> MachineFiles::mounts() const {
  std::vector<Mount> found;
  const std::string content = text("proc/self/mounts").value_or("");
  for (const absl::string_view line : absl::StrSplit(content, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() >= 4) found.push_back({words[1], words[2], words[3]});
  }
  return found;
}

// If several mounts have the same path, the last one hides the others.
std::optional<Mount> MachineFiles::mount_of(const std::string& directory) const {
  std::optional<Mount> deepest;
  for (Mount& mount : mounts()) {
    if (!is_in(directory, mount.directory)) continue;
    if (!deepest || mount.directory.size() >= deepest->directory.size()) deepest = mount;
  }
  return deepest;
}

}  // namespace lapwing
