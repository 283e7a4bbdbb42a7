// For tests: a fold for the records of a TestBus, checkpoints of it, and a consumer that keeps its
// state. Test code only; not thread-safe.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lapwing/memory_state.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_writer.h"
#include "testing/bus_fixture.h"

namespace lapwing {

// The last record of each of kKeys keys, and the losses. An entry is larger than a record.
class TestFold : public Fold {
 public:
  static constexpr std::uint64_t kKeys = 300;
  static constexpr std::uint64_t kLossKey = kKeys;
  struct Entry {
    std::uint64_t key;
    std::uint64_t place;
    std::byte record[56];
  };

  // `entry_bytes` may exceed the size of an entry, for a state that takes longer to load.
  explicit TestFold(std::uint32_t entry_bytes = sizeof(Entry), std::string name = "last") {
    shape_.name = std::move(name);
    shape_.schema = "bytes";
    shape_.record_bytes = 56;
    shape_.entry_bytes = entry_bytes;
    shape_.key_bytes = 2;
  }
  // Lets a test change the fold's meaning or the buses that it matches.
  FoldShape& shape_to_spoil() { return shape_; }

  const FoldShape& shape() const override { return shape_; }
  void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const override {
    Entry own;
    std::memcpy(&own, entry.data(), sizeof own);
    key[0] = static_cast<std::byte>(own.key >> 8);
    key[1] = static_cast<std::byte>(own.key);
  }
  Sequence place_of(std::span<const std::byte> entry) const override {
    Entry own;
    std::memcpy(&own, entry.data(), sizeof own);
    return own.place;
  }
  void apply(Sequence sequence, std::span<const std::byte> record,
             FoldState& state) const override {
    Entry entry{sequence % kKeys, sequence, {}};
    std::memcpy(entry.record, record.data(), sizeof entry.record);
    put(entry, state);
  }
  void lose(const Gap& gap, FoldState& state) const override {
    put({kLossKey, gap.last, {}}, state);
  }
  bool settles(std::span<const std::byte>) const override { return true; }
  bool reads(std::span<const std::byte>, std::span<std::byte>) const override { return false; }

 private:
  void put(const Entry& entry, FoldState& state) const {
    std::vector<std::byte> bytes(shape_.entry_bytes);
    std::memcpy(bytes.data(), &entry, sizeof entry);
    std::byte key[2];
    key_of(bytes, key);
    state.put(key, bytes);
  }
  FoldShape shape_;
};

// The state of records 1 … last of a bus without losses.
inline MemoryState state_of(const Fold& fold, const TestBus& bus, Sequence last) {
  MemoryState state(fold.shape());
  for (Sequence n = 1; n <= last; ++n) fold.apply(n, bus.journal.record(n), state);
  return state;
}

inline CheckpointIdentity identity_at(const TestBus& bus, Sequence as_of) {
  return {bus.journal.current_journal_id(), bus.ring->header().session_id, as_of};
}

// Writes the checkpoint that a checkpointer would write. Returns the file.
inline std::string write_checkpoint(const TestBus& bus, const Fold& fold, const MemoryState& state,
                                    const CheckpointIdentity& identity) {
  PosixDisk disk;
  const auto directory = make_checkpoint_directory(disk, bus.directory(), fold.shape().name);
  REQUIRE(directory.ok());
  auto writer = CheckpointWriter::create(disk, *directory, fold, identity);
  REQUIRE(writer.ok());
  state.for_each([&](std::span<const std::byte> entry) { REQUIRE(writer->append(entry).ok()); });
  REQUIRE(writer->commit().ok());
  return checkpoint_path(*directory, identity.sequence);
}
inline std::string write_checkpoint(const TestBus& bus, const Fold& fold, Sequence as_of) {
  return write_checkpoint(bus, fold, state_of(fold, bus, as_of), identity_at(bus, as_of));
}

}  // namespace lapwing
