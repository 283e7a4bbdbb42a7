// A fold turns records into state by key, for example the last record of each instrument, or the
// resting orders. The checkpointer, late joiners and the order book use this interface. Implement
// it to add a fold for your own records. See docs/explanation/state.md for the shipped folds.
//
// The state is a set of entries of one fixed size, each with a key. FoldState holds it, in memory
// or in a store. An entry contains its key, which the fold extracts.
//
// Determinism: the same records from the same state produce the same entries, byte for byte, in any
// FoldState, even if the run was interrupted and resumed at any point. So a fold keeps no state of
// its own between two calls.
//
// Thread safety: that of the implementation. Several threads may share a fold that has no members.
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

// A set of entries. Keys are compared by memcmp. Keys have the fold's key_bytes, and entries its
// entry_bytes. Calls with a key or an entry of a different size find, put and erase nothing.
class FoldState {
 public:
  virtual ~FoldState() = default;
  // Returns the entry with that key, or nullptr. Valid until the next call to any function.
  virtual const std::byte* find(std::span<const std::byte> key) = 0;
  // `entry` must not be memory of this state: copy the result of find() before you put it.
  virtual void put(std::span<const std::byte> key, std::span<const std::byte> entry) = 0;
  virtual void erase(std::span<const std::byte> key) = 0;  // no effect if there is no entry
  // Erases every entry whose key begins with `prefix`.
  virtual void erase_prefix(std::span<const std::byte> prefix) = 0;
};

struct FoldShape {
  std::string name;                // of the directory and in files; lower case, up to 31 characters
  std::string schema;              // of the buses it folds
  std::uint32_t version = 1;       // increased if the meaning of the entries changes
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
  // Extracts the key of an entry. `key` has shape().key_bytes, `entry` has shape().entry_bytes.
  virtual void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const = 0;
  // Returns the bus sequence that an entry contains, for display and for late joiners, or
  // kNoSequence if entries do not contain one.
  virtual Sequence place_of([[maybe_unused]] std::span<const std::byte> entry) const {
    return kNoSequence;
  }
  // Folds one record, number `sequence` on the bus. The shipped folds ignore a record whose size is
  // not shape().record_bytes.
  virtual void apply(Sequence sequence, std::span<const std::byte> record,
                     FoldState& state) const = 0;
  // Handles the loss of the records in `gap`: a range between two records, or kMissingBeginning. An
  // empty gap is not a loss.
  virtual void lose(const Gap& gap, FoldState& state) const = 0;
  // Returns whether the state may be shown to others after this record: false inside a venue's
  // event.
  virtual bool settles(std::span<const std::byte> record) const = 0;
  // Writes the key that apply() will probably look up for this record, so that a store can prefetch
  // many entries at once. Returns false if there is none. `key` has shape().key_bytes.
  virtual bool reads(std::span<const std::byte> record, std::span<std::byte> key) const = 0;
};

// Makes the named fold for records with that description: `latest` for any description with a
// key, `orders` for dbn.mbo. Errors: kInvalidArgument; the message lists the available folds.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const Schema& schema);
// The same for the newest version of a schema that Lapwing ships.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const std::string& schema);

// Returns the fold that is used if none is named, for example by Start::snapshot(): `orders` for
// dbn.mbo, otherwise `latest`.
[[nodiscard]] std::string default_fold(const std::string& schema);

}  // namespace lapwing
