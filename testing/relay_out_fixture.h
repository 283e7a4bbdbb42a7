// For tests of relay out: machines that send a bus over a network in memory, and what its stream and
// its listeners have got. Test code only; not thread-safe.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/kernel.h"
#include "relay/message.h"
#include "relay/out/answers.h"
#include "relay/out/out_machine.h"
#include "testing/far_deadline.h"
#include "testing/relay_network.h"

namespace lapwing {

// A message that arrived, parsed and with its own bytes.
struct Relayed {
  explicit Relayed(std::span<const std::byte> message) : bytes(message.begin(), message.end()) {
    auto read = parse_message(bytes);
    INFO(read.status().ToString());
    REQUIRE(read.ok());
    parsed = *std::move(read);
  }
  const RelayHeader& header() const { return parsed.header; }
  bool is(RelayKind kind) const { return header().kind == kind; }
  Sequence last() const { return header().first + header().count - 1; }

  std::vector<std::byte> bytes;
  RelayMessage parsed;
};
using RelayedList = std::vector<std::unique_ptr<Relayed>>;

// A connection of its own that listens to a bus.
class Listener {
 public:
  Listener(RelayNetwork& network, const std::vector<RelaySubject>& subjects) {
    auto made = network.connect("listener");
    REQUIRE(made.ok());
    transport_ = *std::move(made);
    REQUIRE(transport_->listen(subjects).ok());
  }

  RelayTransport& transport() { return *transport_; }
  // Takes what has arrived.
  const RelayedList& take() {
    for (;;) {
      const auto taken = transport_->take(Deadline::now());
      REQUIRE(taken.ok());
      if (!*taken) return messages;
      messages.push_back(std::make_unique<Relayed>((*taken)->message));
    }
  }
  // The newest record of a records message that has arrived.
  Sequence newest() {
    for (take(); seen_ < messages.size(); ++seen_) {
      const Relayed& message = *messages[seen_];
      if (message.is(RelayKind::kRecords)) newest_ = std::max(newest_, message.last());
    }
    return newest_;
  }

  RelayedList messages;

 private:
  std::unique_ptr<RelayTransport> transport_;
  std::size_t seen_ = 0;  // messages that newest_ covers
  Sequence newest_ = kNoSequence;
};

// Everything that the stream has.
inline RelayedList stream_of(RelayNetwork& network) {
  RelayedList messages;
  auto transport = network.connect("reader");
  REQUIRE(transport.ok());
  const auto tail = (*transport)->tail(kHang);
  if (!tail.ok() || tail->message.empty()) return messages;
  REQUIRE((*transport)->read_from(1, kHang).ok());
  for (std::uint64_t at = 0; at < tail->last;) {
    network.advance(1'000'000);
    const auto taken = (*transport)->take(Deadline::now());
    REQUIRE(taken.ok());
    if (!*taken) continue;
    at = (*taken)->stream_sequence;
    messages.push_back(std::make_unique<Relayed>((*taken)->message));
  }
  return messages;
}

// Consecutive sequences: the first and the last one. Records that come twice, or out of order, begin
// another run.
struct Run {
  Sequence first = kNoSequence;
  Sequence last = kNoSequence;

  friend bool operator==(const Run&, const Run&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Run& run) {
    return out << run.first << ".." << run.last;
  }
};
using Runs = std::vector<Run>;

inline Runs runs_of(const RelayedList& messages) {
  Runs runs;
  for (const auto& message : messages) {
    if (!message->is(RelayKind::kRecords)) continue;
    if (runs.empty() || runs.back().last + 1 != message->header().first) {
      runs.push_back({message->header().first, message->last()});
    }
    runs.back().last = message->last();
  }
  return runs;
}
inline std::uint64_t records_in(const RelayedList& messages) {
  std::uint64_t count = 0;
  for (const auto& message : messages) {
    if (message->is(RelayKind::kRecords)) count += message->header().count;
  }
  return count;
}

// Each record's session was announced before it, with the record's size, and has it.
inline void require_announced(const RelayedList& messages) {
  std::vector<RelaySession> sessions;
  for (const auto& message : messages) {
    if (message->is(RelayKind::kSessions)) {
      for (std::size_t i = 0; i < message->header().count; ++i) {
        sessions.push_back(message->parsed.session(i));
      }
    }
    if (!message->is(RelayKind::kRecords)) continue;
    const RelayHeader& header = message->header();
    const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const auto& session) {
      return session.session_id == header.session_id && session.journal_id == header.journal_id;
    });
    REQUIRE(found != sessions.end());
    REQUIRE(found->first <= header.first);
    REQUIRE(found->record_bytes == header.record_bytes);
  }
}

// One relay out. Time is that of the network; each turn takes a millisecond of it, unless the
// machine has more to do.
class OutBench {
 public:
  OutBench(RelayNetwork& network, RelayOutOptions options, std::string host = "origin")
      : network_(network), host_(std::move(host)), options_(std::move(options)) {
    if (options_.name.empty()) options_.name = "es";
    auto messages = OutMessages::open(options_.directory, options_.name, now_ns());
    INFO(messages.status().ToString());
    REQUIRE(messages.ok());
    answers.emplace(options_.directory, options_.name, 0);
    machine.emplace(
        options_, *std::move(messages), [this] { return network_.connect(host_); },
        [this](const std::shared_ptr<RelayTransport>& transport, std::string_view reply_to,
               std::span<const std::byte> ask) {
          const auto send = [&](std::span<const std::byte> message) {
            return transport->answer(reply_to, message);
          };
          REQUIRE(answers->answer(ask, {now_ns(), wall_ns()}, send).ok());
          return true;
        },
        1);
  }

  // One turn. Errors of the machine are in `status`.
  void turn() {
    const auto turned = machine->turn(now_ns(), wall_ns());
    status = turned.status();
    if (!turned.ok() || turned->has_more) return;
    wait_for_records();
    network_.advance(1'000'000);
  }
  // Turns until that is true. `step` runs before each turn.
  template <typename Done>
  bool until(Done done, const std::function<void()>& step = [] {}) {
    const Deadline hang = kHang;
    while (status.ok() && !done()) {
      if (hang.has_passed()) return false;
      step();
      turn();
    }
    return done();
  }
  // For that time of the network.
  void run_for(std::uint64_t ns, const std::function<void()>& step = [] {}) {
    const std::uint64_t end_ns = network_.now_ns() + ns;
    REQUIRE(until([&] { return network_.now_ns() >= end_ns; }, step));
  }
  bool until_in_step(const std::function<void()>& step = [] {}) {
    return until([&] { return machine->is_in_step() && log_is_empty(); }, step);
  }

  std::uint64_t now_ns() const { return base_ns_ + network_.now_ns(); }

  std::optional<OutMachine> machine;
  std::optional<Answers> answers;
  absl::Status status;

 private:
  bool log_is_empty() { return machine->is_stored(); }
  // A subscriber joins in real time: the network's time does not run away meanwhile.
  void wait_for_records() {
    for (Lane* const lane : {&machine->log_lane(), &machine->live_lane()}) {
      if (!lane->is_open() || lane->is_closed || !machine->wants_records(*lane)) continue;
      Subscriber& subscriber = lane->feed->subscriber();
      const auto fd = subscriber.fd();
      REQUIRE(fd.ok());
      if (subscriber.arm()) wait_readable(*fd, kNsPerMs / 5);
    }
  }

  RelayNetwork& network_;
  const std::string host_;
  RelayOutOptions options_;
  const std::uint64_t base_ns_ = monotonic_ns();
};

}  // namespace lapwing
