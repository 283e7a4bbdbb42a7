// Builds a journal's files for tests directly from the format description, without the
// archiver or its helpers, as an independent check of every byte. Small geometry: 64 slots per
// block, 1,024 per segment. Test code only; not thread-safe.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lapwing/sequence.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "proto/journal_format.h"
#include "proto/schema_label.h"
#include "proto/text_field.h"
#include "snapshot/dbn/kept_metadata.h"
#include "snapshot/journal/journal_geometry.h"
#include "snapshot/journal/session_log.h"
#include "testing/temporary_directory.h"

namespace lapwing {

inline Id128 fixture_id(std::uint8_t tag) {
  Id128 id;
  id.bytes.fill(tag);
  return id;
}

// The bytes of a complete file, and functions that damage them.
inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(in.good());
  return bytes;
}

// Makes a finished file writable, to damage it. Root may write to it anyway.
inline void make_writable(const std::string& path) {
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
}

inline void put_bytes(const std::string& path, std::uint64_t offset, const void* bytes,
                      std::size_t count) {
  make_writable(path);
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(offset));
  out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  out.flush();
  REQUIRE(out.good());
}

inline void flip_bit(const std::string& path, std::uint64_t offset, unsigned bit) {
  make_writable(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ (1 << bit));
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  file.flush();
  REQUIRE(file.good());
}

class JournalFixture {
 public:
  explicit JournalFixture(JournalGeometry geometry = {64, 56, 1024}) : geometry_(geometry) {
    std::filesystem::create_directory(journal_directory());
  }

  const std::string& root() const { return directory_.path(); }
  std::string journal_directory() const { return root() + "/" + current_.hex(); }
  std::string file(std::uint64_t segment, const char* suffix) const {
    return numbered_path(journal_directory(), segment, suffix);
  }
  PosixDisk& disk() { return disk_; }
  const JournalGeometry& geometry() const { return geometry_; }
  static Id128 journal_id() { return fixture_id(7); }  // of the first journal
  const Id128& current_journal_id() const { return current_; }
  static Id128 boot_id() { return fixture_id(99); }

  // Record n. Every byte depends on n.
  std::vector<std::byte> record(Sequence n) const {
    std::vector<std::byte> bytes(geometry_.record_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>((n * 0x9e3779b97f4a7c15u + i * 0x85ebca6bu) >> 13);
    }
    if (mark) mark(n, bytes);
    return bytes;
  }
  // Overwrites parts of record n. Set it before the first record.
  std::function<void(Sequence n, std::span<std::byte> record)> mark = {};
  std::string metadata = {};  // feed metadata of the next sessions
  bool is_mirror = false;     // the sessions repeat those of an origin; set it before the first one
  std::vector<std::byte> slot(Sequence n) const {
    std::vector<std::byte> bytes(geometry_.slot_bytes);
    const std::uint64_t stamp = 2 * n;
    std::memcpy(bytes.data(), &stamp, sizeof stamp);
    const auto content = record(n);
    std::copy(content.begin(), content.end(), bytes.begin() + 8);
    return bytes;
  }

  // Changes values in the header of a segment, with a valid checksum.
  void set_created_wall_ns(const Id128& journal, std::uint64_t segment, std::uint64_t wall_ns,
                           const std::string& schema = "") const {
    const std::string path = numbered_path(root() + "/" + journal.hex(), segment, "jnl");
    SegmentHeader header{};
    const std::string bytes = file_bytes(path);
    std::memcpy(&header, bytes.data(), sizeof header);
    header.created_wall_ns = wall_ns;
    set_text(header.schema, schema);
    header.checksum = XXH3_64bits(&header, 4088);
    put_bytes(path, 0, &header, sizeof header);
  }
  // Removes the current journal's segments with their companion files.
  void remove_segments() const {
    std::filesystem::remove_all(journal_directory());
    std::filesystem::create_directory(journal_directory());
  }

  // Writes slots and sums of first … last, as after a sync.
  void write(Sequence first, Sequence last) {
    write_slots(first, last);
    write_sums(first, last);
  }
  // Writes only slots: archived, not durable.
  void write_slots(Sequence first, Sequence last) {
    for (Sequence n = first; n <= last; ++n) {
      const std::uint64_t segment = (n - 1) / geometry_.segment_slots;
      prepare(segment);
      const auto bytes = slot(n);
      put_bytes(file(segment, "jnl"),
                4096 + (n - 1) % geometry_.segment_slots * geometry_.slot_bytes, bytes.data(),
                bytes.size());
    }
  }
  // Writes the sums of every block from that of `first`, the last one for its slots up to `last`.
  void write_sums(Sequence first, Sequence last) {
    const std::uint64_t slots = 4096 / geometry_.slot_bytes;
    for (std::uint64_t block = (first - 1) / slots; block * slots < last; ++block) {
      const Sequence block_last = std::min(last, (block + 1) * slots);
      write_sum(block, static_cast<std::uint32_t>(block_last - block * slots));
    }
  }
  void write_sum(std::uint64_t block, std::uint32_t count) {
    const std::uint64_t slots = 4096 / geometry_.slot_bytes;
    const std::uint64_t segment = block * slots / geometry_.segment_slots;
    const std::uint64_t in_segment = block % (geometry_.segment_slots / slots);
    const std::string bytes =
        file_bytes(file(segment, "jnl")).substr(4096 + in_segment * 4096, 4096);
    struct {
      Id128 journal;
      std::uint64_t block;
      std::uint64_t sum;
      std::uint32_t count;
    } checked{current_, block, XXH3_64bits(bytes.data(), count * geometry_.slot_bytes), count};
    const auto check = static_cast<std::uint32_t>(XXH3_64bits(&checked, 36));
    const SumEntry entry{checked.sum, count, check == 0 ? 1 : check};
    put_bytes(file(segment, "sum"), in_segment * sizeof entry, &entry, sizeof entry);
  }
  // Appends an entry to the index of the sequence's segment.
  void write_time(Sequence sequence, std::uint64_t wall_ns) {
    TimeEntry entry{sequence, wall_ns, 0, 0};
    std::uint64_t seed;
    std::memcpy(&seed, &current_, sizeof seed);
    entry.check = XXH3_64bits_withSeed(&entry, 24, seed);
    std::ofstream out(file((sequence - 1) / geometry_.segment_slots, "idx"),
                      std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  // Later writes belong to a new journal in the same root.
  void begin_journal(const Id128& id) {
    current_ = id;
    std::filesystem::create_directory(journal_directory());
  }
  // An empty segment: header, zeros, zero sums.
  void prepare(std::uint64_t segment) {
    if (std::filesystem::exists(file(segment, "jnl"))) return;
    SegmentHeader header{};
    header.magic = 0x314c4e4a57504c;
    header.version = 1;
    header.header_bytes = 4096;
    header.journal_id = current_;
    header.segment = segment;
    header.first_sequence = segment * geometry_.segment_slots + 1;
    header.slot_count = geometry_.segment_slots;
    header.slot_bytes = geometry_.slot_bytes;
    header.record_bytes = geometry_.record_bytes;
    header.checksum = XXH3_64bits(&header, 4088);
    std::ofstream(file(segment, "jnl"), std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), sizeof header);
    std::filesystem::resize_file(file(segment, "jnl"),
                                 4096 + geometry_.segment_slots * geometry_.slot_bytes);
    std::ofstream(file(segment, "sum"), std::ios::binary);
    std::filesystem::resize_file(file(segment, "sum"),
                                 geometry_.segment_slots * geometry_.slot_bytes / 4096 * 16);
  }

  // Appends a range to the list of what the origin does not have.
  void write_absent(Sequence first, Sequence last, GapCause cause) const {
    AbsentEntry entry{first, last, cause, 0, 0};
    std::uint64_t seed;
    std::memcpy(&seed, &current_, sizeof seed);
    entry.check = XXH3_64bits_withSeed(&entry, 24, seed);
    for (const char* suffix : {"", ".copy"}) {
      std::ofstream out(absent_file() + suffix, std::ios::binary | std::ios::app);
      out.write(reinterpret_cast<const char*>(&entry), sizeof entry);
    }
  }
  std::string absent_file() const { return journal_directory() + "/absent"; }

  // Simulates retention: removes every segment below this one.
  void retain_from_segment(std::uint64_t segment) const {
    record_retention(segment);
    for (std::uint64_t gone = 0; gone < segment; ++gone) {
      for (const char* suffix : {"jnl", "sum", "idx"}) std::filesystem::remove(file(gone, suffix));
    }
  }
  // `published`: the last published record of the last session of a failed journal.
  void record_retention(std::uint64_t segment, Sequence published = 0) const {
    RetentionEntry entry{};
    entry.version = 1;
    entry.journal_id = current_;
    entry.oldest = segment * geometry_.segment_slots + 1;
    entry.published = published;
    entry.checksum = XXH3_64bits(&entry, 504);
    std::ofstream out(retention_file(), std::ios::binary);
    for (int copy = 0; copy < 2; ++copy) {
      out.write(reinterpret_cast<const char*>(&entry), sizeof entry);
    }
  }
  std::string retention_file() const { return journal_directory() + "/retention"; }

  void begin(std::uint8_t session, Sequence first, std::uint64_t source_id = 0,
             std::uint64_t source_offset = 0, const SchemaLabel& schema = "bytes") {
    SessionEntry entry = session_entry(SessionEntryKind::kBegin, session);
    entry.first = first;
    entry.slot_bytes = geometry_.slot_bytes;
    entry.record_bytes = geometry_.record_bytes;
    entry.segment_slots = geometry_.segment_slots;
    entry.source_id = source_id;
    entry.source_offset = source_offset;
    set_schema(entry, schema);
    if (!is_mirror) {
      entry.boot_id = boot_id();
      set_text(entry.ring_path, "ring-" + std::to_string(session));
    }
    if (!metadata.empty()) REQUIRE(keep_metadata(disk_, root(), metadata).ok());
    entry.metadata_hash = metadata_hash_of(metadata);
    append(entry);
  }
  // A session's progress. If `archived` is at most `durable`, nothing beyond `durable` is
  // archived.
  struct Reach {
    Sequence reserved = 0;
    Sequence durable = 0;
    Sequence archived = 0;
  };
  // A session that has not ended, with its records.
  void session(std::uint8_t session, Sequence first, const Reach& reach) {
    begin(session, first);
    reserve(session, reach.reserved);
    if (reach.durable >= first) write(first, reach.durable);
    write_slots(std::max(first, reach.durable + 1), reach.archived);
  }
  // Does nothing in a mirror, which has no reservations.
  void reserve(std::uint8_t session, Sequence through) {
    if (is_mirror) return;
    SessionEntry entry = session_entry(SessionEntryKind::kReserve, session);
    entry.through = through;
    append(entry);
  }
  void end(std::uint8_t session, Sequence last, SessionEnd how, Sequence void_last = 0) {
    SessionEntry entry = session_entry(SessionEntryKind::kEnd, session);
    entry.last = last;
    entry.how = how;
    entry.void_first = void_last == 0 ? 0 : last + 1;
    entry.void_last = void_last;
    append(entry);
  }

 private:
  SessionEntry session_entry(SessionEntryKind kind, std::uint8_t session) const {
    SessionEntry entry{};
    entry.kind = kind;
    entry.journal_id = current_;
    entry.session_id = fixture_id(session);
    entry.origin_hash = is_mirror ? 1'000 + session : 0;
    return entry;
  }
  void append(const SessionEntry& entry) {
    auto log = is_mirror ? SessionLog::open_mirror(disk_, root()) : SessionLog::open(disk_, root());
    REQUIRE(log.ok());
    const absl::Status appended = log->append(entry);
    INFO(appended);
    REQUIRE(appended.ok());
  }

  TemporaryDirectory directory_{TemporaryDirectory::in_memory()};
  PosixDisk disk_;
  JournalGeometry geometry_;
  Id128 current_ = journal_id();
};

}  // namespace lapwing
