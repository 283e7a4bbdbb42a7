// A fold turns records into state by key: the last record of each instrument, the orders that rest.
// The interface by which the checkpointer, late joiners and the order book use one, and by which a
// user adds one for a record type of their own. docs/explanation/state.md has the rules of those that ship.
//
// The state is a set of entries of one fixed size, each with a key; FoldState holds it, in memory
// or in a store. An entry contains its key: the fold knows how to take it out.
//
// Determinism: the same records from the same state give the same entries, byte for byte, whatever
// holds them and wherever the run was cut and resumed. So a fold keeps nothing of its own between
// two calls.
//
// Thread safety: none of its own; a fold without members may be used by several threads.
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

// Where entries are. Keys are compared by memcmp and all have the fold's key_bytes, entries its
// entry_bytes: for a key or an entry of another size nothing is found, put or erased.
class FoldState {
 public:
  virtual ~FoldState() = default;
  // The entry of that key, or nullptr; valid until the next call of any function.
  virtual const std::byte* find(std::span<const std::byte> key) = 0;
  // `entry` is memory of the caller's: what find() returned has to be copied first.
  virtual void put(std::span<const std::byte> key, std::span<const std::byte> entry) = 0;
  virtual void erase(std::span<const std::byte> key) = 0;  // no effect where there is none
  // Erases every entry whose key begins with `prefix`.
  virtual void erase_prefix(std::span<const std::byte> prefix) = 0;
};

struct FoldShape {
  std::string name;                // of the directory and in files: lower case, 31 characters
  std::string schema;              // of the buses it folds
  std::uint32_t version = 1;       // another one where the same entries mean something else
  std::uint32_t record_bytes = 0;  // of those buses
  std::uint32_t entry_bytes = 0;   // at most 4,096
  std::uint32_t key_bytes = 0;     // at most 32
  // The leading bytes of an entry that are a record of the bus's schema, or 0 if entries are
  // something else.
  std::uint32_t entry_record_bytes = 0;
};

// For Fold::lose(), before sequence 1: the bus has an older journal whose records are missing from
// the state. Their number is unknown.
inline constexpr Gap kMissingBeginning{kNoSequence, kNoSequence, 1, GapCause::kSession, false};

class Fold {
 public:
  virtual ~Fold() = default;
  virtual const FoldShape& shape() const = 0;
  // The key of an entry. `key` has shape().key_bytes, and `entry` shape().entry_bytes.
  virtual void key_of(std::span<const std::byte> entry, std::span<std::byte> key) const = 0;
  // The bus sequence that an entry carries, for people and late joiners; kNoSequence where entries
  // have none.
  virtual Sequence place_of([[maybe_unused]] std::span<const std::byte> entry) const {
    return kNoSequence;
  }
  // Folds one record, number `sequence` of the bus. The folds that ship change nothing for a record
  // of another size than shape().record_bytes, which is none of theirs.
  virtual void apply(Sequence sequence, std::span<const std::byte> record,
                     FoldState& state) const = 0;
  // The records of `gap` are lost: a range between two records, or kMissingBeginning. An empty gap
  // is not a loss.
  virtual void lose(const Gap& gap, FoldState& state) const = 0;
  // Whether the state may be shown to others after this record: false inside a venue's event.
  virtual bool settles(std::span<const std::byte> record) const = 0;
  // The key that apply() will probably look up for this record, so that a store can read many of
  // them ahead at once. False if there is none. `key` has shape().key_bytes.
  virtual bool reads(std::span<const std::byte> record, std::span<std::byte> key) const = 0;
};

// The fold of that name for records of that description: `latest` for every one that has a key,
// `orders` for dbn.mbo. Errors: kInvalidArgument, with the folds that there are.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const Schema& schema);
// The same for a schema that Lapwing ships, of which the newest version is meant.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                              const std::string& schema);

// The fold that is meant where none is named, as by Start::snapshot(): orders for dbn.mbo, otherwise
// latest.
[[nodiscard]] std::string default_fold(const std::string& schema);

}  // namespace lapwing
