#include "monitor/bus_status.h"

#include <utility>

namespace lapwing {

absl::StatusOr<BusStatus> gather(const std::string& directory) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(directory);
  if (!bus.ok()) return bus.status();
  BusMonitor monitor(directory, /*is_trusted=*/true, BusParts::kPublisher);
  settle(monitor);
  BusReading reading = monitor.read(monotonic_ns());
  absl::StatusOr<std::vector<SessionRecord>> sessions = read_sessions(bus->journal_root);
  absl::StatusOr<std::vector<JournalStatus>> journals = read_journals(bus->journal_root, sessions);
  return BusStatus{.directory = directory,
                   .description = *bus,
                   .records = records_of(*bus),
                   .ring = std::move(reading.ring),
                   .publisher = std::move(reading.publisher),
                   .sessions = std::move(sessions),
                   .journals = std::move(journals)};
}

}  // namespace lapwing
