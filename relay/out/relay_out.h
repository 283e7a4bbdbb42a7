// Sends a bus to mirrors on other hosts: `lapwing relay out`.
//
//   auto relay = RelayOut::open({.directory = "./es"}, connect);
//   if (!relay.ok()) return relay.status();
//   const absl::Status ended = (*relay)->run();
//
// It is a subscriber with policy `fill` and stores nothing: where it continues is in the stream. So
// the publisher never waits for it, and it may be killed at any time. docs/explanation/relay.md
// describes what it sends.
//
// Thread safety: stop() and counts() may be called from any thread, everything else from one. A
// second thread answers the asks of mirrors.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/stop_event.h"
#include "relay/out/answer_thread.h"
#include "relay/out/out_machine.h"
#include "relay/out/relay_out_options.h"

namespace lapwing {

class RelayOut {
 public:
  // Errors: kNoBus; kNoJournal; kInvalidArgument; those of reading the bus; kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<RelayOut>> open(RelayOutOptions options,
                                                        RelayConnect connect);

  // Runs until stop(), or with until_closed until the stream has everything. A lost connection is
  // made again. Errors: kInvalidArgument if the stream is another bus's or has another
  // configuration; kNoJournal; kTimedOut if the bus is closed and the stream does not store its last
  // records; those of Subscriber::status().
  absl::Status run();
  void stop() const { stop_.set(); }
  RelayOutCounts counts() const;
  const std::string& name() const { return name_; }

 private:
  RelayOut(StopEvent stop, std::unique_ptr<AnswerThread> answers, std::string name)
      : stop_(std::move(stop)), answers_(std::move(answers)), name_(std::move(name)) {}
  void wait(std::uint64_t until_ns);

  const StopEvent stop_;
  const std::unique_ptr<AnswerThread> answers_;
  const std::string name_;
  std::unique_ptr<OutMachine> machine_;
  mutable std::mutex mutex_;
  RelayOutCounts counts_;  // by mutex_
};

}  // namespace lapwing
