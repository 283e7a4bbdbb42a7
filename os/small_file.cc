#include "os/small_file.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/whole_file.h"

namespace lapwing {

absl::Status replace_file(const std::string& directory, const std::string& name,
                          const std::string& content, std::optional<unsigned> group) {
  PosixDisk disk(group);
  return replace_file(disk, directory, name, content);
}

absl::Status replace_file(Disk& disk, const std::string& directory, const std::string& name,
                          const std::string& content) {
  return write_whole_file(disk, absl::StrCat(directory, "/", name), content);
}

absl::StatusOr<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
  PosixDisk disk;
  return read_small_file(disk, path, bytes_max);
}

absl::StatusOr<std::string> read_small_file(Disk& disk, const std::string& path,
                                            std::size_t bytes_max) {
  const auto file = open_file(disk, path, {OpenMode::kRead});
  if (!file.ok()) return file.status();
  const auto size = disk.size(file->get());
  if (!size.ok()) return size.status();
  if (*size > bytes_max) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(path, " has ", *size, " bytes, more than ", bytes_max));
  }
  std::string content(*size, '\0');
  const auto read = disk.read_at(file->get(), 0, std::as_writable_bytes(std::span(content)));
  if (!read.ok()) return read.status();
  content.resize(*read);
  return content;
}

}  // namespace lapwing
