// The scenarios, for any peer. Each process runs one role of one scenario and prints one line.
//
// A peer is a class for one side, constructed from Options. Its constructor connects as far as one
// side can.
//   std::uint64_t send(std::uint64_t first, std::uint64_t count)
//       writes records first, first + 1, … completely with fill(). Returns how many it took, 0 if
//       there is no room now. Never waits. A count of 0 only forwards records taken earlier.
//   std::uint64_t receive(F&& on_record)
//       calls on_record(const std::uint64_t* words) for available records, as many as are
//       efficient. Returns how many, 0 if there are none now. Never waits.
//   std::int64_t reported_lost() const
//       the number of lost records that the peer's interface reported, or -1.
//   std::uint64_t send_records_max() const
//       the best number of records per send, if enough are available.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/peers/cpp/histogram.h"
#include "bench/peers/cpp/numbered_record.h"
#include "bench/peers/cpp/options.h"
#include "bench/peers/cpp/report.h"
#include "bench/peers/cpp/silences.h"
#include "lapwing/detail/atomic_word.h"

namespace lapwing::peers {

inline constexpr std::uint64_t kBlockRoundTrips = 64;
inline constexpr std::uint64_t kWarmUpNsMax = 2'000'000'000;
inline constexpr std::uint64_t kSilenceNsMax = 200'000'000;
inline constexpr std::uint64_t kSteadyNs = 500'000'000;  // steady time before the reader is stopped
inline constexpr std::uint64_t kLooksBetweenClocks = 1024;
inline constexpr std::uint64_t kStuckNsMax = 60'000'000'000;

// A bounded wait for the other side, so that a crash there does not leave this process spinning.
class Patience {
 public:
  void pause() {
    spin_pause();
    if (++looks_ % (1 << 16) != 0) return;
    const std::uint64_t now = now_ns();
    if (since_ns_ == 0) since_ns_ = now;
    if (now - since_ns_ > kStuckNsMax) fail("the other side has been silent for a minute");
  }

 private:
  std::uint64_t looks_ = 0;
  std::uint64_t since_ns_ = 0;
};

template <typename Peer>
void send_one(Peer& peer, std::uint64_t number) {
  Patience patience;
  while (peer.send(number, 1) == 0) patience.pause();
}

template <typename Peer>
class RoundTrips {
 public:
  RoundTrips(const Options& options, Peer& peer) : options_(options), peer_(peer) {}

  void run() {
    warm_up();
    const std::uint64_t blocks = std::max<std::uint64_t>(1, options_.records / 2 / 64);
    Histogram block_ns;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const std::uint64_t start = now_ns();
      for (std::uint64_t trip = 0; trip < kBlockRoundTrips; ++trip) exchange();
      block_ns.add(now_ns() - start);
    }
    const std::uint64_t singles = blocks * kBlockRoundTrips;
    Histogram ns;
    for (std::uint64_t i = 0; i < singles; ++i) {
      const std::uint64_t start = now_ns();
      exchange();
      ns.add(now_ns() - start);
    }
    send_one(peer_, kEndNumber);
    print_round_trips(2 * singles, block_ns, ns, damaged_);
  }

 private:
  void warm_up() {
    const std::uint64_t deadline_ns = now_ns() + kWarmUpNsMax;
    while (number_ < options_.warm_up && now_ns() < deadline_ns) {
      for (std::uint64_t i = 0; i < kBlockRoundTrips; ++i) exchange();
    }
  }

  void exchange() {
    send_one(peer_, ++number_);
    Patience patience;
    while (peer_.receive([&](const std::uint64_t* record) {
      const bool good = is_whole(record, options_.words()) && record[0] == number_;
      damaged_ += good ? 0 : 1;
    }) == 0) {
      patience.pause();
    }
  }

  const Options& options_;
  Peer& peer_;
  std::uint64_t number_ = 0;
  std::uint64_t damaged_ = 0;
};

template <typename Peer>
void run_echo(const Options& options, Peer& peer) {
  for (;;) {
    std::uint64_t number = 0;
    Patience patience;
    while (peer.receive([&](const std::uint64_t* record) {
      number = is_whole(record, options.words()) ? record[0] : record[0] | kDamagedBit;
    }) == 0) {
      patience.pause();
    }
    if (number == kEndNumber) return;
    send_one(peer, number);
  }
}

// Announces that all records have been published, and stays until they are received. Records that
// were taken may not have been sent yet, and the memory may disappear with this side.
template <typename Peer>
void announce_and_stay(const Options& options, Peer& peer) {
  announce(options, "published");
  Patience until_received;
  for (std::uint64_t looks = 0;; ++looks) {
    peer.send(0, 0);
    if (looks % kLooksBetweenClocks == 0 && is_announced(options, "received")) return;
    until_received.pause();
  }
}

template <typename Peer>
void run_saturating_publisher(const Options& options, Peer& peer) {
  const std::uint64_t together = peer.send_records_max();
  const std::uint64_t start_ns = now_ns();
  Patience patience;
  for (std::uint64_t number = 1; number <= options.records;) {
    const std::uint64_t count = std::min(together, options.records - number + 1);
    const std::uint64_t sent = peer.send(number, count);
    number += sent;
    if (sent == 0) {
      patience.pause();
    } else {
      patience = Patience();
    }
  }
  print_published(options.records, now_ns() - start_ns);
  announce_and_stay(options, peer);
}

template <typename Peer>
void run_saturated_subscriber(const Options& options, Peer& peer) {
  Arrivals arrivals(options.words());
  std::uint64_t first_ns = 0;
  std::uint64_t first_count = 0;  // records received by then
  std::uint64_t last_ns = 0;
  std::uint64_t over_ns = 0;  // since when all records are known to be published
  std::uint64_t empty_looks = 0;
  const std::uint64_t opened_ns = now_ns();
  while (arrivals.last() < options.records) {
    const std::uint64_t count =
        peer.receive([&](const std::uint64_t* record) { arrivals.add(record); });
    if (count != 0) {
      if (first_ns == 0) {
        first_ns = now_ns();
        first_count = count;
      }
      empty_looks = 0;
      continue;
    }
    spin_pause();
    if (++empty_looks % kLooksBetweenClocks != 0) continue;
    const std::uint64_t now = now_ns();
    if (empty_looks == kLooksBetweenClocks) last_ns = now;
    if (now - std::max(last_ns, over_ns) > kSilenceNsMax) {
      if (over_ns != 0) break;
      // An earlier silence may be this side's fault, if it was not running then.
      if (is_announced(options, "published")) over_ns = now_ns();
    }
    if (now - std::max(last_ns, opened_ns) > kStuckNsMax) fail("the publisher has been silent");
  }
  if (arrivals.last() >= options.records) last_ns = now_ns();
  announce(options, "received");
  print_arrivals(arrivals, options.records, {arrivals.received() - first_count, last_ns - first_ns},
                 peer.reported_lost());
}

// Publishes at a steady rate: record n is due at start + n / rate.
template <typename Peer>
class SteadyPublisher {
 public:
  SteadyPublisher(const Options& options, Peer& peer)
      : options_(options), peer_(peer), interval_ns_(1e9 / options.rate) {}

  void run() {
    publish_for(kSteadyNs);
    announce(options_, "publisher.ready");
    await_file(options_, "go");
    steady_ = SteadyFigures();
    publish_for(static_cast<std::uint64_t>(options_.seconds * 1e9));
    print_steady(options_.seconds, steady_);
    if (options_.has_witness()) announce_and_stay(options_, peer_);
  }

 private:
  void publish_for(std::uint64_t duration_ns) {
    const std::uint64_t start_ns = now_ns();
    const std::uint64_t end_ns = start_ns + duration_ns;
    for (;; ++steady_.due) {
      const auto due_ns =
          start_ns + static_cast<std::uint64_t>(static_cast<double>(steady_.due) * interval_ns_);
      if (due_ns >= end_ns) break;
      steady_.add_latency(publish_one(due_ns, end_ns) - due_ns);
    }
  }

  // Returns the time when it was published, or the end.
  std::uint64_t publish_one(std::uint64_t due_ns, std::uint64_t end_ns) {
    std::uint64_t began_ns = now_ns();
    while (began_ns < due_ns) {
      spin_pause();
      began_ns = now_ns();
    }
    if (began_ns >= end_ns) return end_ns;
    for (std::uint64_t now = began_ns; now < end_ns; now = now_ns()) {
      if (peer_.send(number_ + 1, 1) != 0) {
        ++number_;
        now = now_ns();
        steady_.add_published(now - began_ns);
        return now;
      }
      spin_pause();
    }
    steady_.add_stall(end_ns - began_ns);
    steady_.blocked_at_end = true;
    return end_ns;
  }

  const Options& options_;
  Peer& peer_;
  double interval_ns_;
  std::uint64_t number_ = 0;
  SteadyFigures steady_;
};

template <typename Peer>
void run_discarding_subscriber(Peer& peer) {
  for (;;) {  // until it is killed
    const std::uint64_t count = peer.receive([](const std::uint64_t*) {});
    if (count == 0) spin_pause();
  }
}

// Receives records after number `last` until `file` exists and no record has arrived for a
// while.
template <typename Peer>
Heard listen_until(const Options& options, Peer& peer, const std::string& file,
                   std::uint64_t last) {
  const auto stuck_ns = kStuckNsMax + static_cast<std::uint64_t>(options.seconds * 1e9);
  std::uint64_t now = now_ns();
  Heard heard(options.words(), last, now);
  std::uint64_t quiet_since_ns = now;
  std::uint64_t empty_looks = 0;
  for (bool over = false;;) {
    const auto add = [&](const std::uint64_t* record) { heard.arrivals.add(record); };
    if (peer.receive(add) != 0) {
      quiet_since_ns = now_ns();
      heard.silences.add_sound(quiet_since_ns);
      continue;
    }
    spin_pause();
    if (++empty_looks % kLooksBetweenClocks != 0) continue;
    now = now_ns();
    if (!over && is_announced(options, file)) {
      over = true;
      heard.silences.end(now);
      quiet_since_ns = now_ns();  // before that, this side may not have been running
    }
    if (over && now > quiet_since_ns + kSilenceNsMax) return heard;
    if (now > quiet_since_ns + stuck_ns) fail("the publisher has been silent");
  }
}

// Measures what arrives while another reader is stopped, and the silences.
template <typename Peer>
void run_witness(const Options& options, Peer& peer) {
  const std::uint64_t last = listen_until(options, peer, "publisher.ready", 0).arrivals.last();
  announce(options, "witness.counts");
  const Heard heard = listen_until(options, peer, "published", last);
  announce(options, "received");
  print_witness(heard.arrivals, heard.silences.longest_ns());
}

// The main function of a peer's program.
template <typename Peer>
int run_peer(int argument_count, char** arguments) {
  if (argument_count == 2 && std::string(arguments[1]) == "histogram") {
    print_histogram_of_input();
    return 0;
  }
  const Options options = parse_options(argument_count, arguments);
  Peer peer(options);
  pin_to_core(options.core);
  switch (options.role) {
    case Role::kInitiator:
      await_file(options, "echo.ready");
      RoundTrips<Peer>(options, peer).run();
      break;
    case Role::kEcho:
      announce(options, "echo.ready");
      run_echo(options, peer);
      break;
    case Role::kPublisher:
      for (const std::string& reader : options.readers()) await_file(options, reader + ".ready");
      if (options.scenario == "saturation") {
        run_saturating_publisher(options, peer);
      } else {
        SteadyPublisher<Peer>(options, peer).run();
      }
      break;
    case Role::kSubscriber:
      announce(options, "subscriber.ready");
      if (options.scenario == "saturation") {
        run_saturated_subscriber(options, peer);
      } else {
        run_discarding_subscriber(peer);
      }
      break;
    case Role::kWitness:
      announce(options, "witness.ready");
      run_witness(options, peer);
      break;
    case Role::kDriver:
      fail("this peer has no driver");
  }
  return 0;
}

}  // namespace lapwing::peers
