// Silence is not death: a peer that is silent for a long time, or was stopped and continues, is
// still the peer. Nothing in the channel depends on a time longer than kChannelSleepNsMax; the
// silence here is several times as long.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "channel/side.h"
#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "monitor/channel_status.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/listening_child.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kHangNs = 60 * kNsPerSecond;
constexpr std::uint64_t kRingful = 16;  // messages of no bytes in the ring

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

std::uint64_t silence_ns() {
  return count_from("LAPWING_SILENT_SECONDS", 3) * kNsPerSecond;
}

ChannelOptions options_of(WaitStrategy wait) {
  ChannelOptions options{.capacity = 1024, .message_bytes_max = 48};
  options.wait = wait;
  return options;
}

struct Notes {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> stop{false};        // no more messages must be sent
  std::atomic<std::uint64_t> waits{0};  // of the other side, including the current wait
  std::uint64_t waited_ns = 0;          // the longest of them
  std::uint64_t sleeps = 0;
  Complaint complaint{};
};

// Waits until `count` has reached `value`.
bool reaches(const std::atomic<std::uint64_t>& count, std::uint64_t value) {
  const Deadline deadline = hang_deadline();
  while (count.load() < value && !deadline.has_passed()) wait_readable(-1, 100'000);
  return count.load() >= value;
}

// How often the other side of this process's channel has slept, seen from outside while it
// waits.
std::uint64_t sleeps_of_other(const Id128& connection_id) {
  const absl::StatusOr<ChannelList> list = gather_channel_status();
  if (!list.ok()) return 0;
  for (const ChannelStatus& channel : list->channels) {
    if (channel.connection_id != connection_id) continue;
    for (const ChannelSideStatus& side : channel.sides) {
      if (side.pid != getpid()) return side.sleeps;
    }
  }
  return 0;
}

// Several sleeps within one silence, even if part of it is spent spinning.
std::uint64_t sleeps_min() {
  return silence_ns() / kChannelSleepNsMax - 1;
}

// Does nothing from the other side's n-th wait until the time has passed. If the other side was
// stopped meanwhile, also waits until it has slept as often as required.
bool keep_silent(Notes& notes, std::uint64_t nth_wait, const Id128& connection_id) {
  if (!reaches(notes.waits, nth_wait)) return false;
  const std::uint64_t until_ns = monotonic_ns() + silence_ns();
  const std::uint64_t hang_ns = until_ns + kHangNs / 2;
  for (std::uint64_t now = monotonic_ns(); now < hang_ns; now = monotonic_ns()) {
    if (now >= until_ns && sleeps_of_other(connection_id) >= sleeps_min()) break;
    wait_readable(-1, now < until_ns ? until_ns - now : kNsPerSecond / 10);
  }
  return true;
}

template <typename Wait>
Errc timed(Notes& notes, const Wait& wait) {
  const std::uint64_t begin_ns = monotonic_ns();
  notes.waits.fetch_add(1);
  const Result<> result = wait(Deadline::at_monotonic_ns(begin_ns + silence_ns() + kHangNs));
  notes.waited_ns = std::max(notes.waited_ns, monotonic_ns() - begin_ns);
  return result.error();
}

int send_around_a_silence(const std::string& path, WaitStrategy wait, Notes& notes) {
  auto producer = ChannelProducer::connect(path, options_of(wait), hang_deadline());
  if (!producer.ok()) return notes.complaint.say(std::string(producer.status().message()));
  if (!producer->try_send({}, 1).ok()) return 1;
  if (!keep_silent(notes, 2, producer->connection_id())) return notes.complaint.say("nobody waits");
  const Result<> sent = producer->try_send({}, 2);
  if (!sent.ok()) return notes.complaint.say(name_of(sent.error()));
  return producer->drain(hang_deadline()).ok() ? 0 : 1;
}

int take_around_a_silence(ChannelListener& listener, WaitStrategy wait, Notes& notes) {
  auto consumer = ChannelConsumer::accept(listener, options_of(wait), hang_deadline());
  if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
  for (std::uint32_t type = 1; type <= 2; ++type) {
    Result<Message> peek = Errc::kOk;
    const Errc result = timed(notes, [&](Deadline deadline) {
      peek = consumer->peek(deadline);
      return peek.error();
    });
    if (result != Errc::kOk) return notes.complaint.say(name_of(result));
    if (peek->type != type) return notes.complaint.say("another message");
    if (!consumer->release().ok()) return notes.complaint.say("no release");
  }
  notes.sleeps = consumer->counters().sleeps;
  const Errc end = consumer->peek(hang_deadline()).error();
  return end == Errc::kClosed ? 0 : notes.complaint.say(name_of(end));
}

int release_after_a_silence(ChannelListener& listener, WaitStrategy wait, Notes& notes) {
  auto consumer = ChannelConsumer::accept(listener, options_of(wait), hang_deadline());
  if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
  if (!keep_silent(notes, kRingful + 1, consumer->connection_id())) {
    return notes.complaint.say("nobody waits");
  }
  for (;;) {
    const Errc result = consumer->peek(hang_deadline()).error();
    if (result == Errc::kClosed) break;
    if (result != Errc::kOk) return notes.complaint.say(name_of(result));
    notes.taken.fetch_add(1);
    if (!consumer->release().ok()) return notes.complaint.say("no release");
  }
  return notes.taken.load() == kRingful + 1 ? 0 : notes.complaint.say("not all of them");
}

int send_a_ringful_and_one(const std::string& path, WaitStrategy wait, Notes& notes) {
  auto producer = ChannelProducer::connect(path, options_of(wait), hang_deadline());
  if (!producer.ok()) return notes.complaint.say(std::string(producer.status().message()));
  for (std::uint64_t i = 0; i <= kRingful; ++i) {
    const Errc result =
        timed(notes, [&](Deadline deadline) { return producer->send({}, 1, deadline); });
    if (result != Errc::kOk) return notes.complaint.say(name_of(result));
  }
  notes.sleeps = producer->counters().sleeps;
  return producer->drain(hang_deadline()).ok() ? 0 : 1;
}

// Two processes, one of which is silent. The other waits the whole time, and sleeps several times
// if it parks.
struct Silence {
  const char* name;
  int (*connect)(const std::string& path, WaitStrategy wait, Notes& notes);
  int (*accept)(ChannelListener& listener, WaitStrategy wait, Notes& notes);
};
constexpr Silence kSilences[] = {
    {"a silent producer", send_around_a_silence, take_around_a_silence},
    {"a silent consumer", send_a_ringful_and_one, release_after_a_silence},
};
constexpr WaitStrategy kWaits[] = {WaitStrategy::kPark, WaitStrategy::kBackoff};

}  // namespace

TEST_CASE("A peer that is silent for long is not taken for dead") {
  struct Pair {
    Pair(const Silence& silence, WaitStrategy wait)
        : name(silence.name),
          path(directory.file("channel.sock")),
          accepting(listening_child(path,
                                    [&, wait](ChannelListener& listener) {
                                      return silence.accept(listener, wait, *notes);
                                    })),
          connecting([&, wait] { return silence.connect(path, wait, *notes); }) {}
    const char* name;
    TemporaryDirectory directory;
    std::string path;
    Shared<Notes> notes;
    ChildProcess accepting;
    ChildProcess connecting;
  };
  std::vector<std::unique_ptr<Pair>> pairs;  // all of them are silent at the same time
  for (const Silence& silence : kSilences) {
    for (const WaitStrategy wait : kWaits) {
      pairs.push_back(std::make_unique<Pair>(silence, wait));
    }
  }
  const int patience_ms = static_cast<int>(silence_ns() / 1'000'000) + kChildHangMs;
  for (const auto& pair : pairs) {
    const int accepted = pair->accepting.wait(patience_ms);
    const int connected = pair->connecting.wait(patience_ms);
    INFO(pair->name << ": " << pair->notes->complaint.text);
    CHECK(accepted == 0);
    CHECK(connected == 0);
    CHECK(pair->notes->waited_ns >= silence_ns());
    CHECK(pair->notes->sleeps >= sleeps_min());
    std::printf("%s: waited for %.1f s, slept %llu times\n", pair->name,
                static_cast<double>(pair->notes->waited_ns) * 1e-9,
                static_cast<unsigned long long>(pair->notes->sleeps));
  }
}

namespace {

// Runs as long as the test needs. It may be stopped for any length of time.
int send_numbers(const std::string& path, Notes& notes) {
  auto producer = ChannelProducer::connect(path, options_of(WaitStrategy::kPark), hang_deadline());
  if (!producer.ok()) return notes.complaint.say(std::string(producer.status().message()));
  for (std::uint64_t i = 0; !notes.stop.load(); ++i) {
    const Result<> result = producer->send({}, static_cast<std::uint32_t>(i), hang_deadline());
    if (!result.ok()) return notes.complaint.say(name_of(result.error()));
    notes.sent.store(i + 1);
  }
  return producer->drain(hang_deadline()).ok() ? 0 : 1;
}

int take_numbers(ChannelListener& listener, Notes& notes) {
  auto consumer =
      ChannelConsumer::accept(listener, options_of(WaitStrategy::kPark), hang_deadline());
  if (!consumer.ok()) return notes.complaint.say(std::string(consumer.status().message()));
  for (std::uint64_t i = 0;; ++i) {
    const Result<Message> peek = consumer->peek(hang_deadline());
    if (peek.error() == Errc::kClosed) return 0;
    if (!peek.ok()) return notes.complaint.say(name_of(peek.error()));
    if (peek->type != static_cast<std::uint32_t>(i)) return notes.complaint.say("another number");
    if (!consumer->release().ok()) return notes.complaint.say("no release");
    notes.taken.store(i + 1);
  }
}

}  // namespace

TEST_CASE("A side that was stopped goes on where it was, and the other side waits for it") {
  constexpr std::uint64_t kMessagesBefore = 10'000;
  constexpr int kStops = 5;
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Notes> notes;
  ChildProcess consumer = listening_child(
      path, [&](ChannelListener& listener) { return take_numbers(listener, *notes); });
  ChildProcess producer([&] { return send_numbers(path, *notes); });
  REQUIRE(reaches(notes->taken, kMessagesBefore));
  for (int i = 0; i < kStops; ++i) {
    INFO("stop " << i << "; somebody says: " << notes->complaint.text);
    // Each side counts slightly late, so one message may be in transit.
    consumer.stop();
    const std::uint64_t taken = notes->taken.load();
    CHECK(reaches(notes->sent, taken + kRingful));
    if (i == 0) wait_readable(-1, 2 * kChannelSleepNsMax);  // longer than any sleep
    const std::uint64_t sent = notes->sent.load();
    CHECK(sent <= taken + kRingful + 1);
    consumer.send(SIGCONT);
    CHECK(reaches(notes->sent, sent + 2));

    producer.stop();
    const std::uint64_t sent_last = notes->sent.load();
    CHECK(reaches(notes->taken, sent_last));
    if (i == 0) wait_readable(-1, 2 * kChannelSleepNsMax);
    const std::uint64_t taken_last = notes->taken.load();
    CHECK(taken_last <= sent_last + 1);
    producer.send(SIGCONT);
    CHECK(reaches(notes->taken, taken_last + 2));
  }
  notes->stop.store(true);
  const int producer_code = producer.wait();
  const int consumer_code = consumer.wait();
  INFO("somebody says: " << notes->complaint.text);
  CHECK(producer_code == 0);
  CHECK(consumer_code == 0);
  CHECK(notes->taken.load() == notes->sent.load());
}

}  // namespace lapwing
