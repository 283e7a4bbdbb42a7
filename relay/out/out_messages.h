// The messages of an origin: records, sessions, bus and beats, with the values that their headers
// have now.
//
// Thread safety: one thread. Reads the bus and writes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/message.h"
#include "relay/out/origin_watch.h"
#include "relay/out/record_feed.h"
#include "relay/out/record_times.h"
#include "relay/out/session_rows.h"

namespace lapwing {

// Rows in one sessions message.
inline constexpr std::size_t kRelaySessionsMax = 1000;

class OutMessages {
 public:
  // `name`: of the bus, as the messages state it. Errors: kNoBus; kNoJournal; those of look() and of
  // SessionRows::open.
  static absl::StatusOr<OutMessages> open(const std::string& directory, const std::string& name,
                                          std::uint64_t now_ns);

  // Reads bus.json and `sessions` again. After an error, everything is as it was.
  absl::Status refresh(std::uint64_t now_ns);
  const OriginReading& update() { return watch_.update(); }
  const OriginReading& state() const { return watch_.state(); }
  const SessionRows& rows() const { return rows_; }
  const BusDescription& bus() const { return watch_.bus(); }
  // The position in rows() of the session that the bus has now.
  std::size_t newest_session() const;

  // Errors: kNotFound if the session of the records is not listed.
  MadeMessage records(const FedRecords& records, std::uint64_t wall_ns, RelayBuffer& buffer);
  MadeMessage sessions(std::size_t first, std::size_t count, std::uint64_t wall_ns,
                       RelayBuffer& buffer);
  MadeMessage bus_message(std::uint64_t wall_ns, RelayBuffer& buffer);
  // `sent`: the newest record that was sent, if there is one.
  MadeMessage beat(const std::optional<StoredPosition>& sent, std::uint64_t wall_ns,
                   RelayBuffer& buffer);
  // Header of an answer.
  RelayOrigin origin(std::uint64_t wall_ns);

 private:
  OutMessages(std::string name, OriginWatch watch, SessionRows rows)
      : name_(std::move(name)),
        watch_(std::move(watch)),
        rows_(std::move(rows)),
        times_(std::make_unique<RecordTimes>(watch_.bus().journal_root)) {}

  RelayOrigin origin_of(std::size_t session, std::uint64_t wall_ns);

  std::string name_;
  OriginWatch watch_;
  SessionRows rows_;
  std::unique_ptr<RecordTimes> times_;
};

}  // namespace lapwing
