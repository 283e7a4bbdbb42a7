// A disk that passes every call to another one, for code that owns its disk. Test code only; as
// thread-safe as the other disk.
#pragma once

#include <string>
#include <vector>

#include "os/io.h"

namespace lapwing {

class BorrowedDisk : public Disk {
 public:
  explicit BorrowedDisk(Disk& disk) : disk_(disk) {}

  absl::StatusOr<FileHandle> open(const std::string& path, const OpenOptions& options) override {
    return disk_.open(path, options);
  }
  void close(FileHandle file) override { disk_.close(file); }
  absl::StatusOr<std::size_t> read_at(FileHandle file, std::uint64_t offset,
                                      std::span<std::byte> out) override {
    return disk_.read_at(file, offset, out);
  }
  absl::Status write_at(FileHandle file, std::uint64_t offset,
                        std::span<const std::byte> bytes) override {
    return disk_.write_at(file, offset, bytes);
  }
  absl::Status allocate(FileHandle file, std::uint64_t bytes) override {
    return disk_.allocate(file, bytes);
  }
  absl::Status truncate(FileHandle file, std::uint64_t bytes) override {
    return disk_.truncate(file, bytes);
  }
  absl::Status punch_hole(FileHandle file, std::uint64_t offset, std::uint64_t bytes) override {
    return disk_.punch_hole(file, offset, bytes);
  }
  absl::Status sync(FileHandle file) override { return disk_.sync(file); }
  absl::StatusOr<std::uint64_t> size(FileHandle file) override { return disk_.size(file); }
  absl::StatusOr<std::uint64_t> allocated_bytes(FileHandle file) override {
    return disk_.allocated_bytes(file);
  }
  std::uint32_t direct_alignment(FileHandle file) override { return disk_.direct_alignment(file); }
  absl::Status rename(const std::string& from, const std::string& to) override {
    return disk_.rename(from, to);
  }
  absl::Status remove(const std::string& path) override { return disk_.remove(path); }
  absl::Status make_directory(const std::string& path, unsigned permissions) override {
    return disk_.make_directory(path, permissions);
  }
  absl::Status sync_directory(const std::string& path) override {
    return disk_.sync_directory(path);
  }
  absl::StatusOr<std::vector<std::string>> list(const std::string& directory) override {
    return disk_.list(directory);
  }
  absl::StatusOr<bool> exists(const std::string& path) override { return disk_.exists(path); }
  absl::StatusOr<std::uint64_t> free_bytes(const std::string& path) override {
    return disk_.free_bytes(path);
  }
  absl::StatusOr<bool> names(const std::string& path, FileHandle file) override {
    return disk_.names(path, file);
  }

 private:
  Disk& disk_;
};

}  // namespace lapwing
