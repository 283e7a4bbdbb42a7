// A fold for tests, and checkpoints of it on a simulated disk. Test code only; not thread-safe.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_writer.h"
#include "testing/sim_disk.h"

namespace lapwing {

inline Id128 checkpoint_fixture_id(std::uint8_t tag) {
  Id128 id;
  id.bytes.fill(tag);
  return id;
}

// Entries of any size. The key is the first 8 bytes, or all bytes if there are fewer.
class FixtureFold final : public Fold {
 public:
  explicit FixtureFold(std::uint32_t entry_bytes, std::uint32_t version = 1) {
    shape_.name = "fixture";
    shape_.schema = "bytes";
    shape_.version = version;
    shape_.record_bytes = 56;
    shape_.entry_bytes = entry_bytes;
    shape_.key_bytes = std::min<std::uint32_t>(8, entry_bytes);
  }
  const FoldShape& shape() const override { return shape_; }
  void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const override {
    std::memcpy(key.data(), entry.data(), key.size());
  }
  void apply(Sequence, std::span<const std::byte>, FoldState&) const override {}
  void lose(const Gap&, FoldState&) const override {}
  bool settles(std::span<const std::byte>) const override { return true; }
  bool reads(std::span<const std::byte>, std::span<std::byte>) const override { return false; }

  std::vector<std::byte> key(std::uint64_t number) const {
    std::vector<std::byte> bytes(shape_.key_bytes);
    for (std::size_t i = bytes.size(); i-- > 0; number >>= 8) {
      bytes[i] = static_cast<std::byte>(number);
    }
    return bytes;
  }
  // `count` entries with keys first, first + 2, …; every byte depends on the key and on `salt`.
  std::vector<std::byte> entries(std::uint64_t first, std::uint64_t count,
                                 std::uint64_t salt = 0) const {
    std::vector<std::byte> bytes(count * shape_.entry_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::byte* const entry = bytes.data() + i * shape_.entry_bytes;
      for (std::size_t at = 0; at < shape_.entry_bytes; ++at) {
        const std::uint64_t word = (first + 2 * i + salt) * 0x9e3779b97f4a7c15u + at * 0x85ebca6bu;
        entry[at] = static_cast<std::byte>(word >> 21);
      }
      const auto its_key = key(first + 2 * i);
      std::memcpy(entry, its_key.data(), its_key.size());
    }
    return bytes;
  }

 private:
  FoldShape shape_;
};

inline CheckpointIdentity fixture_identity(Sequence sequence) {
  return {checkpoint_fixture_id(7), checkpoint_fixture_id(11), sequence};
}

inline absl::Status write_checkpoint(Disk& disk, const std::string& directory, const Fold& fold,
                                     const CheckpointIdentity& identity,
                                     std::span<const std::byte> entries) {
  constexpr std::size_t kWriteBytes = 4 * kCheckpointBlockBytes;  // small files also need several
  auto writer = CheckpointWriter::create(disk, directory, fold, identity, kWriteBytes);
  if (!writer.ok()) return writer.status();
  const absl::Status status = writer->append(entries);
  return status.ok() ? writer->commit() : status;
}

inline std::vector<std::byte> to_vector(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace lapwing
