// A directory for one test, below the system's temporary directory. It is removed with its
// contents, and with ring files in shared memory that killed publishers of its buses have left
// behind. Not thread-safe.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
    for (std::filesystem::recursive_directory_iterator entry(path_, ignored), end;
         !ignored && entry != end; entry.increment(ignored)) {
      const bool regular = std::filesystem::is_regular_file(entry->symlink_status(ignored));
      if (regular && entry->path().filename() == "bus.json") remove_ring_of(entry->path());
    }
    std::filesystem::remove_all(path_, ignored);
  }

  // A directory in memory, where a sync costs nothing, for tests that sync thousands of times.
  static std::filesystem::path in_memory() {
    const std::filesystem::path shared_memory = "/dev/shm";
    return std::filesystem::is_directory(shared_memory) ? shared_memory
                                                        : std::filesystem::temp_directory_path();
  }

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  static void remove_ring_of(const std::filesystem::path& description) {
    std::ifstream file(description);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr char kKey[] = "\"ring_path\": \"";
    const std::size_t key = text.find(kKey);
    if (key == std::string::npos) return;
    const std::size_t begin = key + sizeof kKey - 1;
    const std::filesystem::path ring = text.substr(begin, text.find('"', begin) - begin);
    std::error_code ignored;
    std::filesystem::remove(ring, ignored);
    std::filesystem::remove(ring.parent_path(), ignored);  // if it is empty
  }

  std::string path_;
};

}  // namespace lapwing
