// For tests: a directory on tmpfs that is removed with its contents, and a small ring in it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "bus/ring_file.h"
#include "bus/ring_map.h"
#include "bus/ring_reader.h"
#include "bus/ring_writer.h"
#include "os/kernel.h"

namespace lapwing {

class TestDirectory {
 public:
  TestDirectory() {
    char path[] = "/dev/shm/lapwing-test-XXXXXX";
    REQUIRE(mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A ring with the given capacity or, by default, the minimum for the record size.
inline RingSpec test_spec(const std::string& directory, std::uint32_t record_bytes = 56,
                          std::uint64_t capacity = 0) {
  RingSpec spec;
  spec.directory = directory;
  spec.record_bytes = record_bytes;
  spec.capacity = capacity != 0 ? capacity : capacity_min(slot_bytes_for(record_bytes));
  spec.schema = "bytes";
  spec.bus_name = "test";
  spec.session_id = random_id().value();
  return spec;
}

inline RingFile make_ring(const RingSpec& spec) {
  absl::StatusOr<RingFile> file = RingFile::create(spec);
  INFO(file.status());
  REQUIRE(file.ok());
  return *std::move(file);
}

inline RingMap map_ring(const std::string& path) {
  absl::StatusOr<RingMap> map = RingMap::attach(path);
  INFO(map.status());
  REQUIRE(map.ok());
  return *std::move(map);
}

// Record n of every test: bytes that depend on n and on their offset.
inline std::vector<std::byte> record_of(Sequence n, std::size_t record_bytes) {
  std::vector<std::byte> record(record_bytes);
  for (std::size_t i = 0; i < record_bytes; ++i) {
    record[i] = static_cast<std::byte>((n * 0x9e3779b97f4a7c15 + i * 37) >> (8 * (i % 8)));
  }
  return record;
}

// A ring with its writer, and a reader with its own mapping.
struct TestRing {
  explicit TestRing(RingSpec spec)
      : file(make_ring(spec)), writer(writer_of(file)), map(map_ring(file.path())), reader(map) {}

  // Publishes first … last.
  void publish(Sequence first, Sequence last) {
    for (Sequence n = first; n <= last; ++n) {
      store_record(writer, n, record_of(n, writer.record_bytes()).data());
      writer.move_head(n);
    }
  }

  RingReadResult read(Sequence n) {
    copy.assign(reader.record_bytes(), std::byte{0xee});
    return reader.try_read(n, copy.data());
  }

  // True if the last read copied record n.
  bool copy_is(Sequence n) const { return copy == record_of(n, reader.record_bytes()); }

  RingFile file;
  detail::SlotWriter writer;
  RingMap map;
  RingReader reader;
  std::vector<std::byte> copy;
};

}  // namespace lapwing
