// Rings without a publisher: only the hot path of the bus.
//
// Thread safety: as for RingFile and RingMap. The name of a ring is removed with the ring.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"
#include "bus/ring_file.h"
#include "bus/ring_fill.h"
#include "bus/ring_map.h"
#include "bus/ring_reader.h"
#include "bus/ring_writer.h"
#include "lapwing/detail/read_path.h"
#include "os/kernel.h"

namespace lapwing::bench {

// The parameters of a ring that both processes need before it exists.
struct RingName {
  std::string directory;
  Id128 session_id;

  std::string path() const { return absl::StrCat(directory, "/", session_id.hex(), ".ring"); }
};

inline RingName new_ring_name(const std::string& directory) {
  return {directory, value_or_fail(random_id())};
}

class WrittenRing {
 public:
  WrittenRing(const RingName& name, std::uint64_t capacity, std::uint32_t record_bytes)
      : file_(value_or_fail(RingFile::create(spec_of(name, capacity, record_bytes)))),
        writer_(writer_of(file_)) {
    RingFill fill(file_);
    ok_or_fail(fill.step(fill.left()));
  }
  ~WrittenRing() { ok_or_fail(file_.unlink()); }
  WrittenRing(const WrittenRing&) = delete;
  WrittenRing& operator=(const WrittenRing&) = delete;

  void publish(Sequence n, const std::byte* record) {
    store_record(writer_, n, record);
    writer_.move_head(n);
  }
  // Publishes a record whose size is known at compile time.
  template <typename Record>
  void publish(Sequence n, const Record& record) {
    writer_.store<sizeof(Record)>(n, reinterpret_cast<const std::byte*>(&record));
    writer_.move_head(n);
  }

 private:
  static RingSpec spec_of(const RingName& name, std::uint64_t capacity,
                          std::uint32_t record_bytes) {
    RingSpec spec;
    spec.directory = name.directory;
    spec.session_id = name.session_id;
    spec.capacity = capacity;
    spec.record_bytes = record_bytes;
    spec.has_journal = false;
    return spec;
  }

  RingFile file_;
  detail::SlotWriter writer_;
};

class ReadRing {
 public:
  explicit ReadRing(const RingName& name)
      : map_(value_or_fail(RingMap::attach(name.path()))), reader_(map_) {}

  const RingReader& reader() const { return reader_; }
  // A read path from record 1, valid as long as this object.
  detail::ReadPath path() const {
    detail::ReadPath path;
    path.slots = reader_.slots();
    path.mask = reader_.capacity() - 1;
    path.slot_shift = reader_.slot_shift();
    path.record_bytes = reader_.record_bytes();
    path.limit = kSequenceMax;
    return path;
  }

 private:
  RingMap map_;
  RingReader reader_;
};

}  // namespace lapwing::bench
