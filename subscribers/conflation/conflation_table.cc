#include "subscribers/conflation/conflation_table.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace lapwing {

ConflationTable::ConflationTable(std::uint32_t key_bytes, std::uint32_t record_bytes,
                                 std::uint32_t keys_max)
    : key_bytes_(key_bytes),
      record_bytes_(record_bytes),
      keys_max_(std::max(keys_max, 1U)),
      slots_(std::bit_ceil(std::size_t{2} * keys_max_)) {}

bool ConflationTable::put(std::span<const std::byte> key, Sequence sequence,
                          std::span<const std::byte> record) {
  Slot& slot = find_slot(key);
  if (slot.generation != generation_) {
    if (used_ == keys_max_) return false;
    slot = {generation_, add_node(key)};
  }
  Node& node = nodes_[slot.node];
  if (node.is_linked()) {
    ++node.conflated;
    queue_.erase(queue_.iterator_to(node));
  } else {
    node.conflated = 0;
  }
  queue_.push_back(node);
  node.sequence = sequence;
  std::memcpy(record_at(slot.node), record.data(), record_bytes_);
  return true;
}

ConflationTable::Waiting ConflationTable::take_front() {
  const Node& node = queue_.front();
  queue_.pop_front();
  if (queue_.empty()) forget_keys();
  return {node.sequence, {record_at(node.index), record_bytes_}, node.conflated};
}

ConflationTable::Slot& ConflationTable::find_slot(std::span<const std::byte> key) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = XXH3_64bits(key.data(), key_bytes_);; ++at) {
    Slot& slot = slots_[at & mask];
    if (slot.generation != generation_) return slot;
    if (std::memcmp(key_at(slot.node), key.data(), key_bytes_) == 0) return slot;
  }
}

std::uint32_t ConflationTable::add_node(std::span<const std::byte> key) {
  const std::uint32_t index = used_++;
  if (nodes_.size() < used_) {
    nodes_.resize(used_);
    keys_.resize(std::size_t{used_} * key_bytes_);
    records_.resize(std::size_t{used_} * record_bytes_);
  }
  nodes_[index].index = index;
  std::memcpy(key_at(index), key.data(), key_bytes_);
  return index;
}

void ConflationTable::forget_keys() {
  used_ = 0;
  if (++generation_ != 0) return;
  std::fill(slots_.begin(), slots_.end(), Slot{});
  generation_ = 1;
}

}  // namespace lapwing
