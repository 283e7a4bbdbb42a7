// One bus in full, as `lapwing info` shows it: one BusMonitor reading and the
// contents of the bus's files.
//
// Writes nothing. Waits at most kPublisherAnswerNs for the publisher. The parts are read one after
// another while the bus continues, so they may reflect different moments.
//
// Thread safety: a free function.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/bus_monitor.h"
#include "monitor/journal_status.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing {

struct BusStatus {
  std::string directory;  // as given
  BusDescription description;
  RecordIdentity records;                               // from `description`, checked
  absl::StatusOr<RingStatus> ring;                      // this and the next: as in BusReading
  absl::StatusOr<PublisherStatus> publisher;            // queried regardless of the ring
  absl::StatusOr<std::vector<SessionRecord>> sessions;  // of the journal; none without a journal
  absl::StatusOr<std::vector<JournalStatus>> journals;  // oldest first; empty without a journal
};

// Errors: those of read_bus_description. Other problems are in each part's own status.
absl::StatusOr<BusStatus> gather(const std::string& directory);

}  // namespace lapwing
