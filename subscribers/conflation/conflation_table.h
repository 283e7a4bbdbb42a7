// The newest waiting record for each key, and how many older ones it replaced.
//
// Records leave in sequence order: a record that replaces another goes to the end of the queue.
// Memory is bounded by keys_max. Nothing is allocated once the number of waiting keys has reached
// its maximum.
//
// Thread safety: one thread.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "lapwing/sequence.h"

namespace lapwing {

class ConflationTable {
 public:
  // All keys have one size, and all records have one size. `keys_max` is at least 1 and below 2^31.
  ConflationTable(std::uint32_t key_bytes, std::uint32_t record_bytes, std::uint32_t keys_max);

  struct Waiting {
    Sequence sequence = kNoSequence;
    std::span<const std::byte> record;  // valid until the next put()
    std::uint64_t conflated = 0;        // older records of the same key that it replaced
  };

  // Returns false and changes nothing if the key is new and there is no room for it. In that case,
  // call take_front() until the table is empty.
  bool put(std::span<const std::byte> key, Sequence sequence, std::span<const std::byte> record);
  // Removes and returns the record whose key has been unchanged for the
  // longest time. Requires !empty().
  Waiting take_front();

  std::uint32_t size() const { return static_cast<std::uint32_t>(queue_.size()); }
  bool empty() const { return queue_.empty(); }

 private:
  // One key. Its node is kept after its record has been taken, until the table is empty.
  struct Node : boost::intrusive::list_base_hook<> {
    Sequence sequence = kNoSequence;
    std::uint64_t conflated = 0;
    std::uint32_t index = 0;
  };
  // A slot is empty if its generation differs from the table's.
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t node = 0;
  };

  Slot& find_slot(std::span<const std::byte> key);
  std::uint32_t add_node(std::span<const std::byte> key);
  void forget_keys();

  std::byte* key_at(std::uint32_t index) { return keys_.data() + std::size_t{index} * key_bytes_; }
  std::byte* record_at(std::uint32_t index) {
    return records_.data() + std::size_t{index} * record_bytes_;
  }

  const std::uint32_t key_bytes_;
  const std::uint32_t record_bytes_;
  const std::uint32_t keys_max_;
  std::vector<Slot> slots_;  // open addressing, at most half full
  std::uint32_t generation_ = 1;
  std::deque<Node> nodes_;  // addresses are stable; nodes in use come first
  std::vector<std::byte> keys_;
  std::vector<std::byte> records_;
  std::uint32_t used_ = 0;
  boost::intrusive::list<Node> queue_;  // of nodes_
};

}  // namespace lapwing
