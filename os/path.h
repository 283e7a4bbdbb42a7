// Paths as text, without asking the file system.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing {

// The directory that `path` is in; "." if it has none.
inline std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What `path` is called there.
inline std::string name_in_directory(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// "<directory>/00000000000000000042.<suffix>", and the number in such a name; false if it is none
// with this suffix.
std::string numbered_path(const std::string& directory, std::uint64_t number, const char* suffix);
bool parse_numbered_name(const std::string& name, const char* suffix, std::uint64_t& number);

}  // namespace lapwing
