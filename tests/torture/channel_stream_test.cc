// Sends gigabytes from one process to another, byte for byte, in every form of sending and
// receiving. The producer and the consumer take turns at being faster.
//
// Both sides draw sizes and forms from random numbers. Those for the sizes are the same, so that
// the consumer can predict each message. A byte's value depends on its offset in the stream.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lapwing/consumer.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/listening_child.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kHangNs = 60'000'000'000;
constexpr std::uint32_t kEndOfStream = 0xffffffff;    // type of the last message
constexpr std::uint64_t kSlowEveryBytes = 64 * 1024;  // or once per ringful, if that is more
constexpr std::uint64_t kSlowNs = 500'000;
constexpr std::uint64_t kSlowNsMax = 2'000'000'000;
constexpr std::size_t kBatch = 7;

enum class Slow { kNobody, kConsumer, kProducer };

struct Run {
  const char* name;
  ChannelOptions options;
  std::uint64_t bytes;  // of payload
  Slow slow;
};

struct Told {
  std::atomic<std::uint64_t> waits{0};  // waits for the other side so far
  std::uint64_t bytes = 0;
  ChannelCounters counters{};
  Complaint complaint{};
};

struct Report {
  Told producer;
  Told consumer;
};

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

// The stream's bytes from `offset` on, computed as words, because single bytes would be the slowest
// part.
std::uint64_t word_at(std::uint64_t index) {
  const std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15;
  return mixed ^ mixed >> 29;
}

void fill(std::span<std::byte> payload, std::uint64_t offset) {
  std::size_t at = 0;
  for (; at + 8 <= payload.size(); at += 8) {
    const std::uint64_t word = word_at(offset + at);
    std::memcpy(payload.data() + at, &word, 8);
  }
  const std::uint64_t last = word_at(offset + at);
  std::memcpy(payload.data() + at, &last, payload.size() - at);
}

bool is_filled(std::span<const std::byte> payload, std::uint64_t offset) {
  std::uint64_t wrong = 0;
  std::size_t at = 0;
  for (; at + 8 <= payload.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, payload.data() + at, 8);
    wrong |= word ^ word_at(offset + at);
  }
  const std::uint64_t last = word_at(offset + at);
  return wrong == 0 && std::memcmp(payload.data() + at, &last, payload.size() - at) == 0;
}

// The sizes of the messages, the same on both sides: 0 to the maximum, with small ones as frequent
// as large ones.
class Sizes {
 public:
  explicit Sizes(std::uint32_t message_bytes_max) : max_(message_bytes_max) {}

  std::size_t next() {
    const std::uint64_t kind = random_() % 16;
    if (kind == 0) return max_;
    if (kind == 1) return 0;
    const std::uint64_t bits = random_() % 31;
    return random_() % (std::min<std::uint64_t>(max_, (std::uint64_t{1} << bits) - 1) + 1);
  }

 private:
  std::uint64_t max_;
  std::minstd_rand random_{20260};
};

// Shared by both sides: the messages in order, and the pace.
class Party {
 public:
  Party(const Run& run, bool is_slow, Told& told, const Told& other)
      : run_(run),
        is_slow_(is_slow),
        told_(told),
        other_(other),
        sizes_(run.options.message_bytes_max) {}

 protected:
  bool done() const { return bytes_ >= run_.bytes; }
  void count(std::size_t size, const ChannelCounters& counters) {
    bytes_ += size;
    told_.waits.store(counters.full_waits + counters.empty_waits, std::memory_order_relaxed);
    ++type_;
    if (!is_slow_ || bytes_ < slow_at_) return;
    slow_at_ = bytes_ + std::max(kSlowEveryBytes, run_.options.capacity);
    be_slow();
  }
  int fail(const std::string& what) {
    return told_.complaint.say("message " + std::to_string(type_) + ": " + what);
  }

  // Makes this side slower than the other at any speed, because the other side must have waited
  // since the last time.
  void be_slow() {
    const std::uint64_t waits = other_.waits.load(std::memory_order_relaxed);
    slow_ns_ = waits == waits_seen_ ? std::min(2 * slow_ns_, kSlowNsMax) : kSlowNs;
    waits_seen_ = waits;
    const std::uint64_t until_ns = monotonic_ns() + slow_ns_;
    while (monotonic_ns() < until_ns) spin_pause();
  }

  const Run& run_;
  const bool is_slow_;
  Told& told_;
  const Told& other_;
  Sizes sizes_;
  std::minstd_rand random_{static_cast<std::uint32_t>(getpid())};
  std::uint64_t bytes_ = 0;
  std::uint64_t slow_at_ = 0;
  std::uint64_t slow_ns_ = kSlowNs;
  std::uint64_t waits_seen_ = 0;  // of the other side
  std::uint32_t type_ = 0;        // number of the next message
};

class Sender : Party {
 public:
  Sender(const Run& run, ChannelProducer& producer, Report& report)
      : Party(run, run.slow == Slow::kProducer, report.producer, report.consumer),
        producer_(producer) {}

  int go() {
    while (!done()) {
      if (const Errc result = send_some(); result != Errc::kOk) {
        return fail(name_of(result));
      }
    }
    const Result<> ended = producer_.send({}, kEndOfStream, hang_deadline());
    if (!ended.ok()) return fail(name_of(ended.error()));
    const Result<> drained = producer_.drain(hang_deadline());
    told_.bytes = bytes_;
    told_.counters = producer_.counters();
    return drained.ok() ? 0 : fail(name_of(drained.error()));
  }

 private:
  Errc send_some() {
    switch (random_() % 6) {
      case 0:
        return claim_and_commit(0);
      case 1:
        return claim_and_commit(random_() % 100);
      case 2:
        return send_tight();
      case 3:
        return send_batch();
      case 4:
        return stage_some();
      default:
        return send_copied();
    }
  }

  // Sometimes claims more than it commits, and occasionally aborts a claim.
  Errc claim_and_commit(std::size_t surplus) {
    const std::size_t size = sizes_.next();
    const std::size_t claimed =
        std::min<std::size_t>(size + surplus, run_.options.message_bytes_max);
    if (surplus % 10 == 1 && producer_.try_claim(claimed).ok()) {
      if (const Result<> aborted = producer_.abort(); !aborted.ok()) return aborted.error();
    }
    const auto claim = producer_.claim(claimed, hang_deadline());
    if (!claim.ok()) return claim.error();
    fill(claim->first(size), bytes_);
    const Errc committed = producer_.commit(size, type_).error();
    count(size, producer_.counters());
    return committed;
  }

  Errc stage_some() {
    for (std::size_t left = 1 + random_() % kBatch; left > 0; --left) {
      const std::size_t size = sizes_.next();
      const auto claim = producer_.claim(size, hang_deadline());
      if (!claim.ok()) return claim.error();
      fill(*claim, bytes_);
      if (!producer_.stage(size, type_).ok()) return Errc::kMisuse;
      count(size, producer_.counters());
    }
    return producer_.commit_staged().error();
  }

  std::span<const std::byte> next_payload(std::size_t slot) {
    buffers_[slot].resize(sizes_.next());
    fill(buffers_[slot], bytes_ + batched_);
    batched_ += buffers_[slot].size();
    return buffers_[slot];
  }

  void count_batch(std::size_t sent) {
    for (std::size_t i = 0; i < sent; ++i) count(buffers_[i].size(), producer_.counters());
    batched_ = 0;
  }

  Errc send_copied() {
    const Errc result = producer_.send(next_payload(0), type_, hang_deadline()).error();
    count_batch(1);
    return result;
  }

  // Without waiting: retries until there is room.
  Errc send_tight() {
    const std::span<const std::byte> payload = next_payload(0);
    const Deadline deadline = hang_deadline();
    Errc result = Errc::kWouldBlock;
    while (result == Errc::kWouldBlock && !deadline.has_passed()) {
      result = producer_.try_send(payload, type_).error();
    }
    count_batch(1);
    return result;
  }

  Errc send_batch() {
    std::array<Outgoing, kBatch> batch;
    const std::size_t size = 1 + random_() % kBatch;
    for (std::size_t i = 0; i < size; ++i) {
      const auto number = static_cast<std::uint32_t>(i);
      batch[i] = {next_payload(i), type_ + number};
    }
    // Sends as many as there is room for, then waits for the rest.
    const std::span whole = std::span(batch).first(size);
    const Result<std::size_t> tried = producer_.try_send_batch(whole);
    const Result<std::size_t> rest = producer_.send_batch(whole.subspan(*tried), hang_deadline());
    count_batch(size);
    if (*tried + *rest != size) return Errc::kMisuse;
    return rest.error();
  }

  ChannelProducer& producer_;
  std::array<std::vector<std::byte>, kBatch> buffers_;
  std::uint64_t batched_ = 0;  // bytes in the buffers
};

class Taker : Party {
 public:
  Taker(const Run& run, ChannelConsumer& consumer, Report& report)
      : Party(run, run.slow == Slow::kConsumer, report.consumer, report.producer),
        consumer_(consumer),
        buffer_(run.options.message_bytes_max) {}

  int go() {
    while (!ended_) {
      if (const int code = take_some(); code != 0) return code;
    }
    told_.bytes = bytes_;
    told_.counters = consumer_.counters();
    if (!done()) return fail("the end came too early");
    const Errc left = consumer_.peek(hang_deadline()).error();
    return left == Errc::kClosed ? 0 : fail(name_of(left));
  }

 private:
  int take_some() {
    switch (random_() % 4) {
      case 0:
        return take_in_place(consumer_.peek(hang_deadline()));
      case 1:
        return take_batch();
      case 2:
        return take_copied(consumer_.receive(buffer_, hang_deadline()));
      default:
        break;
    }
    const Result<Message> peek = consumer_.try_peek();
    return peek.error() == Errc::kWouldBlock ? 0 : take_in_place(peek);
  }

  int check(std::uint32_t type, std::span<const std::byte> payload) {
    if (type == kEndOfStream && done()) {
      ended_ = true;
      return 0;
    }
    if (type != type_) return fail("its number is " + std::to_string(type));
    const std::size_t size = sizes_.next();
    if (payload.size() != size) {
      return fail(std::to_string(payload.size()) + " bytes instead of " + std::to_string(size));
    }
    if (run_.options.aligned_payloads &&
        reinterpret_cast<std::uintptr_t>(payload.data()) % 64 != 0 &&
        payload.data() != buffer_.data()) {
      return fail("it is not aligned");
    }
    if (!is_filled(payload, bytes_)) return fail("other bytes than were sent");
    count(size, consumer_.counters());
    return 0;
  }

  int take_in_place(const Result<Message>& peek) {
    if (!peek.ok()) return fail(name_of(peek.error()));
    if (const int code = check(peek->type, peek->payload); code != 0) return code;
    const Result<> released = consumer_.release();
    return released.ok() ? 0 : fail(name_of(released.error()));
  }

  int take_copied(const Result<Received>& received) {
    if (!received.ok()) return fail(name_of(received.error()));
    return check(received->type, std::span(buffer_).first(received->size));
  }

  // Releases only part of the borrowed messages, or all of them in two steps.
  int take_batch() {
    std::array<Message, kBatch> batch;
    const Result<std::size_t> peeked = consumer_.peek_batch(batch, hang_deadline());
    if (!peeked.ok()) return fail(name_of(peeked.error()));
    const std::size_t kept = random_() % (*peeked + 1);
    for (std::size_t i = 0; i < kept; ++i) {
      if (const int code = check(batch[i].type, batch[i].payload); code != 0) return code;
    }
    std::span<const Message> left = std::span(batch).first(kept);
    while (!left.empty()) {
      const std::size_t step = 1 + random_() % left.size();
      const Result<> released = consumer_.release(left, step);
      if (!released.ok()) return fail(name_of(released.error()));
      left = left.subspan(step);
    }
    return 0;
  }

  ChannelConsumer& consumer_;
  std::vector<std::byte> buffer_;
  bool ended_ = false;
};

int produce(const Run& run, const std::string& path, Report& report) {
  auto producer = ChannelProducer::connect(path, run.options, hang_deadline());
  if (!producer.ok()) {
    return report.producer.complaint.say(std::string(producer.status().message()));
  }
  return Sender(run, *producer, report).go();
}

int consume(const Run& run, ChannelListener& listener, Report& report) {
  auto consumer = ChannelConsumer::accept(listener, run.options, hang_deadline());
  if (!consumer.ok()) {
    return report.consumer.complaint.say(std::string(consumer.status().message()));
  }
  return Taker(run, *consumer, report).go();
}

void check(const Run& run) {
  INFO(run.name);
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const Shared<Report> report;
  const std::uint64_t begin_ns = monotonic_ns();
  ChildProcess consumer = listening_child(
      path, [&](ChannelListener& listener) { return consume(run, listener, *report); });
  ChildProcess producer([&] { return produce(run, path, *report); });
  const int producer_code = producer.wait();
  const int consumer_code = consumer.wait();
  const double seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  const ChannelCounters& sent = report->producer.counters;
  const ChannelCounters& taken = report->consumer.counters;
  const auto shown = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%-44s %7.1f MiB in %5.1f s, %llu messages; full %llu (slept %llu), "
      "empty %llu (slept %llu)\n",
      run.name, static_cast<double>(report->consumer.bytes) / (1 << 20), seconds,
      shown(taken.messages_received), shown(sent.full_waits), shown(sent.sleeps),
      shown(taken.empty_waits), shown(taken.sleeps));
  INFO("the producer says: " << report->producer.complaint.text);
  INFO("the consumer says: " << report->consumer.complaint.text);
  CHECK(consumer_code == 0);
  CHECK(producer_code == 0);
  CHECK(report->consumer.bytes >= run.bytes);
  CHECK(report->consumer.bytes == report->producer.bytes);
  CHECK(taken.messages_received == sent.messages_sent);
  // Void unless the slower side made the other side wait, and sleep if it does not spin first.
  const std::uint64_t sleeps = run.options.wait == WaitStrategy::kPark ? 10 : 0;
  if (run.slow == Slow::kConsumer) {
    CHECK(sent.full_waits > 10);
    CHECK(sent.sleeps >= sleeps);
    CHECK(taken.wakes >= sleeps);
  }
  if (run.slow == Slow::kProducer) {
    CHECK(taken.empty_waits > 10);
    CHECK(taken.sleeps >= sleeps);
    CHECK(sent.wakes >= sleeps);
  }
}

}  // namespace

TEST_CASE("Gigabytes arrive byte for byte, whichever side is the slower one") {
  const std::uint64_t mib = std::uint64_t{1} << 20;
  const std::uint64_t all = count_from("LAPWING_CHANNEL_MIB", 512) * mib;
  ChannelOptions large{.capacity = mib, .message_bytes_max = 300'000};
  ChannelOptions fenced = large;
  fenced.membarrier = false;
  fenced.aligned_payloads = true;
  fenced.wait = WaitStrategy::kPark;
  check({"nobody is slow", large, all / 2, Slow::kNobody});
  check({"the consumer is slow", large, all / 8, Slow::kConsumer});
  check({"the producer is slow", large, all / 8, Slow::kProducer});
  check({"the consumer is slow; park, fences, aligned", fenced, all / 8, Slow::kConsumer});
  check({"the producer is slow; park, fences, aligned", fenced, all / 8, Slow::kProducer});
}

TEST_CASE("Messages arrive byte for byte through a ring that holds hardly two") {
  const std::uint64_t bytes = count_from("LAPWING_CHANNEL_MIB", 512) << 11;
  for (const bool aligned : {false, true}) {
    ChannelOptions options{.capacity = 1024, .message_bytes_max = aligned ? 400U : 490U};
    options.aligned_payloads = aligned;
    for (const WaitStrategy wait : {WaitStrategy::kBackoff, WaitStrategy::kPark}) {
      options.wait = wait;
      check({"a ring for two, the consumer is slow", options, bytes, Slow::kConsumer});
      check({"a ring for two, the producer is slow", options, bytes, Slow::kProducer});
    }
  }
}

}  // namespace lapwing
