// The metadata with which each session's records on a bus were published. So old records keep their
// symbols, even if later feeds have different ones.
//
//   SessionMetadata metadata("./es");
//   absl::StatusOr<std::string> raw = metadata.of(event.session_id);
//
// Version 1 sessions, those made by `lapwing repair` and those without a journal have no metadata
// hash. They get the metadata of the bus's newest session (read_feed_metadata).
//
// The list of sessions is read again only if it does not contain a requested session.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"

namespace lapwing {

class SessionMetadata {
 public:
  explicit SessionMetadata(std::string bus_directory) : bus_directory_(std::move(bus_directory)) {}

  // Raw DBN metadata; empty: its feed had none. Errors: kDamaged, kNotPermitted, kSystem.
  absl::StatusOr<std::string> of(const Id128& session_id);
  // True if `is_true` holds for any later session's metadata, including sessions of later journals.
  // Tries the newest metadata first, and identical metadata only once. Errors: those of of().
  absl::StatusOr<bool> is_later(const Id128& session_id,
                                const std::function<bool(const std::string& metadata)>& is_true);

 private:
  // A session's entry in the list.
  struct Row {
    Id128 session_id;
    bool names_metadata = false;
    std::uint64_t metadata_hash = 0;
  };

  absl::StatusOr<const Row*> find(const Id128& session_id);  // null if it is not listed
  const Row* find_in_list(const Id128& session_id);
  absl::Status read_list();
  absl::StatusOr<std::string> read(const Row& row);

  std::string bus_directory_;
  std::string journal_root_;
  std::vector<Row> rows_;
  std::size_t found_ = 0;        // index of the last row found
  std::uint64_t read_hash_ = 0;  // of read_; 0: nothing was read yet
  std::string read_;
};

}  // namespace lapwing
