// For tests of relay in: an origin, a network, and a mirror in memory, in the time of the network.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lapwing/error.h"
#include "relay/in/relay_in.h"
#include "testing/fake_mirror.h"
#include "testing/relay_network.h"
#include "testing/test_origin.h"

namespace lapwing {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

struct RelayInWorld {
  static constexpr std::uint64_t kTickNs = 5'000'000;

  explicit RelayInWorld(std::uint64_t seed = 1) : network(seed), origin(network, seed) {
    options.seed = seed;
    options.mirror_wait = std::chrono::nanoseconds(0);
    options.log = [this](const std::string& line) { lines.push_back(line); };
  }

  void open_stream() {
    origin.transport();
    REQUIRE(origin.transport()->open_stream({}, Deadline::now()).ok());
  }
  // A new process on the mirror's host.
  void start() {
    in = std::make_unique<RelayIn>(options, [this] { return network.connect("mirror"); }, mirror);
  }
  // A mirror that serves, with what the origin has now.
  void add_helper() {
    helper = std::make_unique<TestOrigin>(origin, "helper");
    helper->set_role(TestOrigin::Role::kServingMirror);
    helper->transport();
  }
  // Time passes: everybody does what is due.
  absl::Status tick() {
    network.advance(kTickNs);
    if (beats && network.now_ns() >= beat_due_ns) {
      origin.beat(publisher);
      beat_due_ns = network.now_ns() + kBeatIntervalNs;
    }
    origin.serve();
    if (helper) helper->serve();
    if (status.ok() && in != nullptr) status = in->step(network.now_ns());
    return status;
  }
  void run(std::uint64_t ns) {
    for (const std::uint64_t until = network.now_ns() + ns; network.now_ns() < until;) {
      if (!tick().ok()) return;
    }
  }
  bool run_until(const std::function<bool()>& done, std::uint64_t ns = 60'000'000'000) {
    for (const std::uint64_t until = network.now_ns() + ns; network.now_ns() < until;) {
      if (done()) return true;
      if (!tick().ok()) return false;
    }
    return done();
  }
  // The mirror has every session and record of the origin that is sent.
  bool is_complete() const {
    const RelaySession& newest = origin.session();
    const std::vector<RelaySession>& ours = mirror.sessions();
    if (ours.empty() || ours.back().session_id != newest.session_id) return false;
    if (ours.back().how != newest.how) return false;
    return newest.how != SessionEnd::kNone && newest.how != SessionEnd::kFailed
               ? true
               : mirror.next() == origin.head() + 1;
  }
  void require_complete() {
    const bool complete = run_until([this] { return is_complete(); });
    INFO(status.ToString());
    INFO("next " << mirror.next() << " of " << origin.head());
    INFO("refusal " << in->status(network.now_ns()).counts.refused);
    for (const std::string& violation : mirror.violations()) UNSCOPED_INFO(violation);
    REQUIRE(complete);
    REQUIRE(status.ok());
  }
  // Each record of the origin once, at its place; absent only what the origin lost.
  void check_content() const {
    CHECK(mirror.violations() == std::vector<std::string>{});
    for (const FakeMirror::Journal& journal : mirror.journals()) check_journal(journal);
    check_sessions();
  }
  void check_journal(const FakeMirror::Journal& journal) const {
    const auto is_absent = [&](Sequence n) {
      return std::ranges::any_of(
          journal.absent, [&](const auto& each) { return each.first <= n && n <= each.last; });
    };
    std::uint64_t wrong = 0;
    for (const RelaySession& session : origin.sessions()) {
      if (session.journal_id != journal.id) continue;
      const Sequence last = session.how == SessionEnd::kNone
                                ? std::min(origin.head(), mirror.next() - 1)
                                : session.last;
      for (Sequence n = std::max(session.first, journal.oldest); n <= last; ++n) {
        const auto record = journal.records.find(n);
        const bool has_it = record != journal.records.end();
        if (has_it && record->second != TestOrigin::record(session.session_id, n)) ++wrong;
        if (has_it == is_absent(n)) ++wrong;
        if (!has_it && !origin.is_gone(journal.id, n)) ++wrong;
        if (wrong == 1) {
          UNSCOPED_INFO("first wrong record " << n << ", there " << has_it << ", absent "
                                              << is_absent(n) << ", gone at the origin "
                                              << origin.is_gone(journal.id, n));
        }
      }
    }
    CHECK(wrong == 0);
    // Nothing that is in no session.
    for (const auto& [n, record] : journal.records) {
      const auto session = origin.session_of(journal.id, n);
      if (!session) ++wrong;
    }
    CHECK(wrong == 0);
  }
  void check_sessions() const {
    const std::vector<RelaySession>& ours = mirror.sessions();
    for (const RelaySession& session : ours) {
      const auto same = std::ranges::find_if(origin.sessions(), [&](const RelaySession& each) {
        return each.session_id == session.session_id;
      });
      REQUIRE(same != origin.sessions().end());
      CHECK(session_difference(session, *same).empty());
    }
  }
  const FakeMirror::Journal& journal() const { return mirror.journals().back(); }
  RelayInStatus in_status() const { return in->status(network.now_ns()); }

  RelayNetwork network;
  TestOrigin origin;
  std::unique_ptr<TestOrigin> helper;  // a mirror that serves
  FakeMirror mirror;
  RelayInOptions options;
  std::unique_ptr<RelayIn> in;
  std::vector<std::string> lines;
  absl::Status status;
  bool beats = true;
  std::uint64_t beat_due_ns = 0;
  RelayPublisherState publisher = RelayPublisherState::kAlive;
};

// A mirror that follows an open session from its first record on.
struct Following : RelayInWorld {
  explicit Following(std::uint64_t seed = 1, bool stream = true) : RelayInWorld(seed) {
    if (stream) open_stream();
    origin.begin_session();
    origin.add_records(1'000);
    origin.send();
    start();
    require_complete();
  }
};

}  // namespace lapwing
