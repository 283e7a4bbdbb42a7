// Answers what mirrors ask of the origin: records, sessions, files, a flush, the bus.
//
// Records come from the journal. Ranges that the journal does not have and never will are answered
// by `gone`: pruned, damaged, or never archived because the journal had failed. Damage counts once it
// is found a second time, kDamageNs later, because a missing file may return. A void is not gone: it
// is in the end of its session. A range that the journal may still get is left out, and the outcome
// says so.
//
// Thread safety: one thread. Reads the bus; a flush waits for the publisher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/control/client.h"
#include "lapwing/history.h"
#include "relay/message.h"
#include "relay/out/out_messages.h"
#include "relay/out/record_times.h"

namespace lapwing {

class Answers {
 public:
  static constexpr std::uint64_t kDamageNs = 2'000'000'000;
  static constexpr std::uint64_t kFlushNsMax = 1'000'000'000;
  // Bodies of one answer, if the ask leaves it to this side.
  static constexpr std::uint64_t kAnswerBytes = std::uint64_t{4} << 20;

  // Sends one message of the answer. After an error, the rest is not sent.
  using Send = std::function<absl::Status(std::span<const std::byte> message)>;
  struct Clock {
    std::uint64_t now_ns = 0;
    std::uint64_t wall_ns = 0;  // UTC
  };

  // `name`: of the bus, as the messages state it.
  Answers(std::string directory, std::string name, int zstd_level)
      : directory_(std::move(directory)), name_(std::move(name)), buffer_(zstd_level) {}

  // Answers one ask. Messages that are not an ask are ignored. Errors: those of `send`.
  absl::Status answer(std::span<const std::byte> ask, Clock clock, const Send& send);

 private:
  struct Reply {
    RelayOutcome outcome = RelayOutcome::kOk;
    std::uint64_t total = 0;
  };
  using Replied = absl::StatusOr<Reply>;

  absl::Status refresh();
  Replied reply(const RelayMessage& ask, const Send& send);
  Replied records(const Id128& journal_id, const RelayAsk& ask, const Send& send);
  Replied read_records(const Id128& journal_id, const RelayAsk& ask, const Send& send);
  // Skips what lies at `next` outside of a session's records. False: nothing can follow yet.
  bool skip_outside(const Id128& journal_id, Sequence last, Sequence& next);
  bool note_lost(const Id128& journal_id, const Gap& gap, Sequence last);
  void add_gone(Sequence first, Sequence last, RelayAbsence cause);
  absl::Status send_gone(const Id128& journal_id, const Send& send);
  absl::StatusOr<History*> history_of(const Id128& journal_id);
  Replied sessions(const RelayAsk& ask, const Send& send);
  Replied file(const RelayAsk& ask, const Send& send);
  std::string path_of(const RelayAsk& ask);
  std::string checkpoint_of(std::uint64_t checksum);
  Replied flush(const Id128& journal_id, const RelayAsk& ask);
  bool flush_origin(Sequence through);
  Replied bus(const Send& send);

  const std::string directory_;
  const std::string name_;
  RelayBuffer buffer_;
  Clock clock_;
  PosixDisk disk_;
  std::optional<OutMessages> messages_;
  std::optional<History> history_;
  std::optional<ControlClient> control_;
  std::vector<RelayAbsent> gone_;  // of the answer that is made
  // Damage by journal and last sequence: when it was found first.
  std::map<std::pair<Id128, Sequence>, std::uint64_t> damage_;
};

}  // namespace lapwing
