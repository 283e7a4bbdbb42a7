// For leak tests: the number of open descriptors of this process. Thread safety: free function.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace lapwing {

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace lapwing
