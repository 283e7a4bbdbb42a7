// For fork tests: the descriptors and mappings of a process.
//
// Thread safety: any thread. It may miss descriptors that other threads are opening.
#pragma once

#include <dirent.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "testing/temporary_directory.h"

namespace lapwing {

inline std::set<int> descriptor_numbers() {
  std::set<int> numbers;
  DIR* const stream = opendir("/proc/self/fd");
  if (stream == nullptr) return numbers;
  while (const dirent* const entry = readdir(stream)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(stream)) numbers.insert(number);
  }
  closedir(stream);
  return numbers;
}

inline bool is_subset(const std::set<int>& some, const std::set<int>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The descriptors whose link in /proc contains `text`.
inline std::vector<int> descriptors_of(const std::string& text) {
  std::vector<int> found;
  for (const int number : descriptor_numbers()) {
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(link, ignored).string();
    if (target.find(text) != std::string::npos) found.push_back(number);
  }
  return found;
}

// Duplicates of these descriptors, which a forked child inherits.
inline std::vector<int> duplicates_of(const std::string& text) {
  std::vector<int> duplicates = descriptors_of(text);
  for (int& number : duplicates) {
    number = dup(number);
    REQUIRE(number >= 0);
  }
  return duplicates;
}

// Address where this process has mapped a file whose name contains `text`; null if there is none.
inline void* mapping_of(const std::string& text) {
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    if (line.find(text) == std::string::npos) continue;
    return reinterpret_cast<void*>(std::stoul(line, nullptr, 16));
  }
  return nullptr;
}
inline bool maps(const std::string& text) {
  return mapping_of(text) != nullptr;
}

// A page in a child at an address where its parent has a mapping that the child lacks.
class PageInPlace {
 public:
  explicit PageInPlace(void* place)
      : place_(place),
        page_(mmap(place, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                   0)) {}
  // Returns false if the page has been unmapped, or if the address was in use.
  bool stands() const {
    unsigned char resident = 0;
    return page_ == place_ && mincore(page_, 4096, &resident) == 0;
  }

 private:
  void* place_;
  void* page_;
};

// The descriptors of a program executed by this process, one per line.
inline std::string descriptors_of_program() {
  const TemporaryDirectory directory;
  const std::string command = "ls /proc/self/fd > " + directory.file("seen");
  const char* const arguments[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t child = -1;
  REQUIRE(posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(arguments),
                      environ) == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  std::ifstream file(directory.file("seen"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace lapwing
