// A directory for the length of one test, below the system's temporary directory; removed with all
// that is in it. Not thread-safe.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace lapwing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  explicit TemporaryDirectory(const std::filesystem::path& parent) {
    std::string pattern = (parent / "lapwing-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // Where files are memory and a sync costs nothing, for tests that sync thousands of times.
  static std::filesystem::path in_memory() {
    const std::filesystem::path shared_memory = "/dev/shm";
    return std::filesystem::is_directory(shared_memory) ? shared_memory
                                                        : std::filesystem::temp_directory_path();
  }

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace lapwing
