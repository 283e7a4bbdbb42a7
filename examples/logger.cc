// A logger that writes the records of a bus to a file. The file is the same, byte for byte,
// regardless of when the logger is killed.
//
//   logger /tmp/es /tmp/es.log
//
// It ends when the bus is closed. The next run continues at the position in /tmp/es.log.cursor.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>

#include "lapwing/cursor.h"
#include "lapwing/subscriber.h"

namespace {

int fail(const std::string& why) {
  std::cerr << "logger: " << why << '\n';
  return 1;
}

int fail(const absl::Status& status) {
  return fail(std::string(status.message()));
}

int write_log(const std::string& bus, const std::string& path) {
  auto cursor = lapwing::Cursor::open({.path = path + ".cursor"});
  if (!cursor.ok()) return fail(cursor.status());

  // Truncate records that a killed run wrote but did not commit. They are delivered again.
  std::uint64_t bytes = cursor->output().bytes;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  std::error_code error;
  const bool is_short = std::filesystem::file_size(path, error) < bytes;
  if (!is_short) std::filesystem::resize_file(path, bytes, error);
  if (is_short || error) return fail(path + " cannot be continued. Remove it and its cursor");

  auto subscriber =
      lapwing::Subscriber::open({.directory = bus,
                                 .name = "logger",
                                 .start = lapwing::Start::resume(*cursor, lapwing::Start::oldest()),
                                 .end_at_close = true});
  if (!subscriber.ok()) return fail(subscriber.status());
  for (;;) {
    const auto item = subscriber->next();
    if (!item.ok()) {
      return subscriber->status().ok() ? 0 : fail(subscriber->status());
    }
    if (item->kind != lapwing::ItemKind::kRecord) continue;
    // First write the record, then its position. One commit for several read()s costs as much as
    // for one.
    file.write(reinterpret_cast<const char*>(item->record.data()),
               static_cast<std::streamsize>(item->record.size()));
    if (!file.flush()) return fail("cannot write " + path);
    bytes += item->record.size();
    const absl::Status done = cursor->commit(*subscriber, {.bytes = bytes});
    if (!done.ok()) return fail(done);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return write_log(argv[1], argv[2]);
  std::cerr << "usage: logger BUS FILE\n";
  return 2;
}
