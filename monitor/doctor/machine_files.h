// The files in which a machine describes itself: /proc, /sys and a few in /etc, below a root. With
// a different root, a test can simulate a machine.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lapwing {

struct Mount {
  std::string directory;
  std::string type;     // "ext4"
  std::string options;  // "rw,size=65536k"
};

class MachineFiles {
 public:
  explicit MachineFiles(std::string root = "/") : root_(std::move(root)) {}

  // Paths begin without a slash. Returns the text without trailing blanks and newlines; nullopt if
  // the file does not exist or cannot be read.
  std::optional<std::string> text(const std::string& path) const;
  // nullopt if the text is not a number, for example the limit `max`.
  std::optional<std::uint64_t> number(const std::string& path) const;
  // Names in a directory that begin with `prefix`, ascending.
  std::vector<std::string> names(const std::string& directory, const std::string& prefix) const;
  // The value in a line `key: value unit` of a file such as proc/meminfo, in bytes if the unit is
  // kB.
  std::optional<std::uint64_t> line_of(const std::string& path, const std::string& key) const;
  std::vector<Mount> mounts() const;
  // The mount that `directory` (absolute, without links) is in.
  std::optional<Mount> mount_of(const std::string& directory) const;

 private:
  std::string root_;
};

}  // namespace lapwing
