// A session as it was given to a mirror, checked, with the files that must exist before its row.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "os/io.h"
#include "publisher/mirror/mirror.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

class GivenSession {
 public:
  // Errors: kInvalidArgument (sizes, names), kDamaged (description or metadata do not have their
  // hash), kUnsupported (a description of a later release).
  static absl::StatusOr<GivenSession> check(MirrorBegin begin);

  const RelaySession& session() const { return begin_.session; }
  const std::optional<Schema>& schema() const { return schema_; }  // nullopt: no description
  JournalFiles files(Disk& disk, const std::string& journal_root) const;

  // Writes the journal's directory, the description and the metadata, synced, and for a new journal
  // what is pruned. Errors: those of the disk.
  absl::Status keep(Disk& disk, const std::string& journal_root, bool is_new_journal) const;
  // Sets the options of the session. `capacity`: of its ring; 0: the origin's, if it fits.
  void describe(PublisherSetUp& options, std::uint64_t capacity) const;

 private:
  GivenSession(MirrorBegin begin, std::optional<Schema> schema)
      : begin_(std::move(begin)), schema_(std::move(schema)) {}

  MirrorBegin begin_;
  std::optional<Schema> schema_;
};

}  // namespace lapwing
