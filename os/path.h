// Functions for paths as text, without access to the file system.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing {

// Returns the directory that contains `path`, or "." if `path` has no directory.
inline std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Returns the last component of `path`.
inline std::string name_in_directory(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Makes "<directory>/00000000000000000042.<suffix>", and parses the number in such a name. Parsing
// returns false for any other name.
std::string numbered_path(const std::string& directory, std::uint64_t number, const char* suffix);
bool parse_numbered_name(const std::string& name, const char* suffix, std::uint64_t& number);

}  // namespace lapwing
