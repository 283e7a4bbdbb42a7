// When records were published, by the time index of the journal.
//
// Thread safety: one thread. Reads files and writes none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/posix_io.h"
#include "proto/journal_format.h"
#include "snapshot/journal/session_rules.h"

namespace lapwing {

class RecordTimes {
 public:
  explicit RecordTimes(std::string journal_root) : root_(std::move(journal_root)) {
    disk_.anchor(root_);
  }

  // UTC ns at which record n of that session's journal had been published: the first time in the
  // index that is not before it. Nullopt if the index has none, or cannot be read.
  std::optional<std::uint64_t> time_of(const SessionBegin& session, Sequence n);

 private:
  void load(const SessionBegin& session, std::uint64_t segment);

  PosixDisk disk_;
  const std::string root_;
  Id128 journal_id_;
  std::uint64_t segment_ = 0;
  std::uint64_t bytes_ = 0;         // of the index when it was read
  std::vector<TimeEntry> entries_;  // the valid ones of that segment
};

}  // namespace lapwing
