// Small messages one way at the maximum rate: one by one, and in batches.
#include <atomic>
#include <cstring>
#include <vector>

#include "bench/bench_channel.h"
#include "bench/floor.h"
#include "bench/rows.h"
#include "bench/two_processes.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kMessages = 8'000'000;
constexpr std::size_t kBatchMessages = 32;   // staged together
constexpr std::size_t kTakenMessages = 256;  // maximum per peek_batch

// The consumer's results, returned through shared memory.
struct Arrived {
  double messages_per_second = 0;
  std::uint64_t damaged = 0;
};

// Every word of message n is n.
void write(std::span<std::byte> payload, std::uint64_t n) {
  const std::uint64_t words[kMessageWords] = {n, n, n, n};
  std::memcpy(payload.data(), words, kMessageBytes);
}

std::uint64_t differences(std::span<const std::byte> payload, std::uint64_t n) {
  std::uint64_t words[kMessageWords];
  std::memcpy(words, payload.data(), kMessageBytes);
  std::uint64_t found = 0;
  for (const std::uint64_t word : words) found |= word ^ n;
  return found;
}

// Receives `total` messages with take(n), which returns the number it took from the n-th on. Times
// all messages after the first lap.
template <typename Take>
void receive(std::size_t total, Arrived& arrived, Take&& take) {
  std::size_t n = 0;
  while (n < kChannelLines) n += take(n + 1);
  const std::size_t warm_up = n;
  const std::uint64_t start_ns = monotonic_ns();
  while (n < total) n += take(n + 1);
  arrived.messages_per_second =
      static_cast<double>(total - warm_up) * 1e9 / static_cast<double>(monotonic_ns() - start_ns);
}

void receive_singly(ChannelConsumer& in, std::size_t total, Arrived& arrived) {
  receive(total, arrived, [&](std::size_t n) {
    const Result<Message> peek = in.peek();
    ok_or_fail(peek, in);
    arrived.damaged |= differences(peek->payload, n);
    ok_or_fail(in.release(), in);
    return std::size_t{1};
  });
}

void receive_batches(ChannelConsumer& in, std::size_t total, Arrived& arrived) {
  std::vector<Message> messages(kTakenMessages);
  receive(total, arrived, [&](std::size_t n) {
    const Result<std::size_t> batch = in.peek_batch(messages);
    ok_or_fail(batch, in);
    for (std::size_t i = 0; i < *batch; ++i) {
      arrived.damaged |= differences(messages[i].payload, n + i);
    }
    ok_or_fail(in.release(), in);
    return *batch;
  });
}

void send_singly(ChannelProducer& out, std::size_t total) {
  for (std::size_t n = 1; n <= total; ++n) {
    const auto claim = out.claim(kMessageBytes);
    ok_or_fail(claim, out);
    write(*claim, n);
    ok_or_fail(out.commit(kMessageBytes, kMessageType), out);
  }
}

void send_batches(ChannelProducer& out, std::size_t total) {
  for (std::size_t n = 0; n < total;) {
    for (std::size_t i = 0; i < kBatchMessages; ++i) {
      const auto claim = out.claim(kMessageBytes);
      ok_or_fail(claim, out);
      write(*claim, ++n);
      ok_or_fail(out.stage(kMessageBytes, kMessageType), out);
    }
    ok_or_fail(out.commit_staged(), out);
  }
}

// One pair of functions for sending and receiving.
struct Manner {
  void (*send)(ChannelProducer& out, std::size_t total);
  void (*receive)(ChannelConsumer& in, std::size_t total, Arrived& arrived);
};

Arrived measure(const Setting& setting, Placement placement, const Manner& manner,
                std::size_t messages, bool membarrier) {
  ChannelOptions options = channel_options(WaitStrategy::kBusy);
  options.membarrier = membarrier;
  const std::size_t total = kChannelLines + messages;
  ChannelPlace place(setting);
  const Shared<Arrived> arrived;
  Child consumer(placement.second, [&] {
    auto in = place.connect<ChannelConsumer>(options);
    manner.receive(in, total, *arrived);
  });
  pin_to_core(placement.first);
  auto out = place.accept<ChannelProducer>(options);
  manner.send(out, total);
  consumer.join();
  return *arrived;
}

RowResult run(const Setting& setting, const char* name, const char* what, const Manner& manner) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "stream";
  spec.unit = "million a second";
  spec.bound = Bound::kAtLeast;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t messages = setting.count(kMessages) / kBatchMessages * kBatchMessages;
  return measure_row(
      spec,
      [&](Placement placement) {
        return stream_per_second(placement, kChannelLines, messages) / 1e6;
      },
      [&](Placement placement) {
        const Arrived arrived = measure(setting, placement, manner, messages, true);
        const Arrived fenced = measure(setting, placement, manner, messages, false);
        Measurement measurement;
        measurement.figure = arrived.messages_per_second / 1e6;
        measurement.details = {
            {"with fences", fenced.messages_per_second / 1e6, "million a second"}};
        if ((arrived.damaged | fenced.damaged) != 0) measurement.fault = "a message was damaged";
        return measurement;
      });
}

}  // namespace

RowResult run_channel_messages(const Setting& setting) {
  return run(setting, "channel-messages",
             "32-byte messages, claimed, committed and received one by one",
             {send_singly, receive_singly});
}

RowResult run_channel_messages_batch(const Setting& setting) {
  return run(setting, "channel-messages-batch", "the same, committed and received in batches",
             {send_batches, receive_batches});
}

}  // namespace lapwing::bench
