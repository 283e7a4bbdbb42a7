// The origin's sessions in the form in which a relay sends them.
//
// Thread safety: one thread. Reads files and writes none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/posix_io.h"
#include "relay/message.h"
#include "snapshot/journal/session_log.h"

namespace lapwing {

// The newest begin or end row of `sessions`. It identifies all rows before it.
struct SessionRowMark {
  std::uint64_t index = 0;
  std::uint64_t hash = 0;

  friend bool operator==(const SessionRowMark&, const SessionRowMark&) = default;
};

class SessionRows {
 public:
  // Errors: kNoJournal if the journal has no session yet; those of SessionLog::open_read_only.
  static absl::StatusOr<SessionRows> open(const std::string& journal_root);

  // Reads the rows that were appended since. Errors: those of SessionLog::refresh.
  absl::Status refresh() { return log_.refresh(); }

  std::size_t count() const { return log_.sessions().size(); }
  const SessionRecord& session(std::size_t i) const { return log_.sessions()[i]; }
  RelaySession row(std::size_t i) const;
  SessionRowMark newest() const;
  // Nullopt if the session is not listed.
  std::optional<std::size_t> position_of(const Id128& session_id) const;
  bool lists_journal(const Id128& journal_id) const {
    return !log_.sessions_of(journal_id).empty();
  }
  // The session of that journal that has sequence n, in its records or in its void.
  std::optional<std::size_t> session_at(const Id128& journal_id, Sequence n) const;
  const SessionLog& log() const { return log_; }

  // The fields of a header that come from the sessions: those of session i, and the newest row.
  RelayOrigin origin_of(std::size_t i) const;

 private:
  SessionRows(std::unique_ptr<PosixDisk> disk, SessionLog log)
      : disk_(std::move(disk)), log_(std::move(log)) {}

  std::unique_ptr<PosixDisk> disk_;  // declared before the log, which borrows it
  SessionLog log_;
};

}  // namespace lapwing
