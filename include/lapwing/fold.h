// A fold turns records into state by key, for example the last record of each instrument, or the
// resting orders. The checkpointer, late joiners and the order book use this interface. Implement
// it to add a fold for your own records. See docs/explanation/state.md for the shipped folds.
//
// The state is a set of entries of one fixed size, each with a key. FoldState holds it, in memory
// or in a store. An entry contains its key, which the fold extracts.
//
// Determinism: the same records from the same state give the same entries, byte for byte, in any
// FoldState and wherever the run was interrupted and resumed. So a fold keeps no state of its own
// between two calls.
//
// Thread safety: that of the implementation. Several threads may use a fold without members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/gap.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"

namespace lapwing {

// The folds that Lapwing ships.
inline constexpr char kFoldLatest[] = "latest";
inline constexpr char kFoldOrders[] = "orders";

// A set of entries. Keys are compared by memcmp. All keys have the fold's key_bytes, and all
// entries its entry_bytes. For a key or an entry of another size, nothing is found, put or erased.
class FoldState {
 public:
  virtual ~FoldState() = default;
  // The entry of that key, or nullptr; valid until the next call of any function.
  virtual const std::byte* find(std::span<const std::byte> key) = 0;
  // `entry` is the caller's memory. Copy the result of find() before you put it.
  virtual void put(std::span<const std::byte> key, std::span<const std::byte> entry) = 0;
  virtual void erase(std::span<const std::byte> key) = 0;  // no effect if there is none
  // Erases every entry whose key begins with `prefix`.
  virtual void erase_prefix(std::span<const std::byte> prefix) = 0;
};

struct FoldShape {
  std::string name;                // of the directory and in files; lower case, 31 characters
  std::string schema;              // of the buses it folds
  std::uint32_t version = 1;       // changes if the same entries get another meaning
  std::uint32_t record_bytes = 0;  // of those buses
  std::uint32_t entry_bytes = 0;   // at most 4,096
  std::uint32_t key_bytes = 0;     // at most 32
  // The number of leading bytes of an entry that are a record of the bus's schema. 0: entries do
  // not begin with a record.
  std::uint32_t entry_record_bytes = 0;
};

// For Fold::lose(), before sequence 1: the bus has an older journal whose records are missing from
// the state. Their number is unknown.
inline constexpr Gap kMissingBeginning{kNoSequence, kNoSequence, 1, GapCause::kSession, false};

class Fold {
 public:
  virtual ~Fold() = default;
  virtual const FoldShape& shape() const = 0;
  // Extracts the key of an entry. `key` has shape().key_bytes, and `entry` shape().entry_bytes.
  virtual void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const = 0;
  // The bus sequence that an entry contains, for display and for late joiners. kNoSequence if
  // entries have none.
  virtual Sequence place_of([[maybe_unused]] std::span<const std::byte> entry) const {
    return kNoSequence;
  }
  // Folds one record, number `sequence` of the bus. The shipped folds ignore a record whose size is
  // not shape().record_bytes.
  virtual void apply(Sequence sequence, std::span<const std::byte> record,
                     FoldState& state) const = 0;
  // The records of `gap` are lost: a range between two records, or kMissingBeginning. An empty gap
  // is not a loss.
  virtual void lose(const Gap& gap, FoldState& state) const = 0;
  // Whether the state may be shown to others after this record: false inside a venue's event.
  virtual bool settles(std::span<const std::byte> record) const = 0;
  // The key that apply() will probably find for this record, so that a store can read many of them
  // ahead at once. False if there is none. `key` has shape().key_bytes.
  virtual bool reads(std::span<const std::byte> record, std::span<std::byte> key) const = 0;
};

// Makes the fold of that name for records of that description: `latest` for every description that
// has a key, `orders` for dbn.mbo. Errors: kInvalidArgument; the message lists the available folds.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const Schema& schema);
// The same for the newest version of a schema that Lapwing ships.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const std::string& schema);

// The fold that is used if none is named, for example by Start::snapshot(): orders for dbn.mbo,
// otherwise latest.
[[nodiscard]] std::string default_fold(const std::string& schema);

}  // namespace lapwing
