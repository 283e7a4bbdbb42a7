// Messages from 64 bytes to 4 MiB, with every byte written and read, compared with Unix sockets.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/bench_channel.h"
#include "bench/rows.h"
#include "bench/socket_pair.h"
#include "bench/two_processes.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 30;  // per run
constexpr std::size_t kMessagesMin = 50;
constexpr std::size_t kSocketMessagesMax = 400'000;  // each costs a system call

struct Arrived {
  double bytes_per_second = 0;
  std::uint64_t damaged = 0;
};

// Word i of message n is n + i.
void write(std::byte* payload, std::size_t bytes, std::uint64_t n) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = n + at / 8;
    std::memcpy(payload + at, &word, 8);
  }
}

// Returns 0 if this is the message that arrived.
std::uint64_t read(const std::byte* payload, std::size_t bytes, std::uint64_t n) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, payload + at, 8);
    sum += word;
  }
  const std::uint64_t words = bytes / 8;
  return sum - (words * n + words * (words - 1) / 2);
}

// The messages of a run, after a warm-up that fills the channel.
struct Load {
  std::size_t message_bytes;
  std::size_t messages;
  std::size_t warm_up;

  std::size_t total() const { return warm_up + messages; }
};

// Receives messages with take(n), and times those after the warm-up.
template <typename Take>
void receive(const Load& load, Arrived& arrived, Take&& take) {
  std::size_t n = 0;
  std::uint64_t damaged = 0;
  while (n < load.warm_up) damaged |= take(++n);
  const std::uint64_t start_ns = monotonic_ns();
  while (n < load.total()) damaged |= take(++n);
  arrived.bytes_per_second = static_cast<double>(load.messages * load.message_bytes) * 1e9 /
                             static_cast<double>(monotonic_ns() - start_ns);
  arrived.damaged = damaged;
}

// The users' defaults, except for a capacity that fits the message.
ChannelOptions options_for(std::size_t message_bytes) {
  ChannelOptions options;
  options.message_bytes_max = static_cast<std::uint32_t>(message_bytes);
  options.capacity = std::max(
      options.capacity, channel_capacity_for(options.message_bytes_max, kPayloadOffsetPacked));
  return options;
}

Arrived over_channel(const Setting& setting, Placement placement, const Load& load) {
  const ChannelOptions options = options_for(load.message_bytes);
  ChannelPlace place(setting);
  const Shared<Arrived> arrived;
  Child consumer(placement.second, [&] {
    auto in = place.connect<ChannelConsumer>(options);
    receive(load, *arrived, [&](std::size_t n) {
      const Result<Message> peek = in.peek();
      ok_or_fail(peek, in);
      const std::uint64_t damaged = read(peek->payload.data(), load.message_bytes, n);
      ok_or_fail(in.release(), in);
      return damaged;
    });
  });
  pin_to_core(placement.first);
  auto out = place.accept<ChannelProducer>(options);
  for (std::size_t n = 1; n <= load.total(); ++n) {
    const auto claim = out.claim(load.message_bytes);
    ok_or_fail(claim, out);
    write(claim->data(), load.message_bytes, n);
    ok_or_fail(out.commit(load.message_bytes, kMessageType), out);
  }
  consumer.join();
  return *arrived;
}

Arrived over_socket(int type, Placement placement, const Load& load) {
  const SocketPair sockets(type, options_for(load.message_bytes).capacity);
  const Shared<Arrived> arrived;
  Child receiver(placement.second, [&] {
    std::vector<std::byte> message(load.message_bytes);
    receive(load, *arrived, [&](std::size_t n) {
      sockets.receive(message.data(), message.size());
      return read(message.data(), message.size(), n);
    });
  });
  pin_to_core(placement.first);
  std::vector<std::byte> message(load.message_bytes);
  for (std::size_t n = 1; n <= load.total(); ++n) {
    write(message.data(), message.size(), n);
    sockets.send(message.data(), message.size());
  }
  receiver.join();
  return *arrived;
}

double gigabytes(const Arrived& arrived) {
  return arrived.bytes_per_second / 1e9;
}

RowResult run(const Setting& setting, const char* name, std::size_t message_bytes) {
  RowSpec spec;
  spec.name = name;
  spec.what =
      absl::StrCat("messages of ", message_bytes,
                   " bytes, each byte written and read; sockets: one send and one receive each");
  spec.floor = "stream socket";
  spec.unit = "GB/s";
  spec.bound = Bound::kAtLeast;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t capacity = options_for(message_bytes).capacity;
  const std::size_t messages =
      std::max(setting.count(kBytes) / message_bytes, setting.count(kMessagesMin));
  const Load load{message_bytes, messages, capacity / message_bytes};
  Load socket_load = load;
  socket_load.messages = std::min(messages, setting.count(kSocketMessagesMax));
  const bool packets = SocketPair(SOCK_SEQPACKET, capacity).takes(message_bytes);
  std::uint64_t damaged = 0;
  const auto socket = [&](int type, Placement placement) {
    const Arrived arrived = over_socket(type, placement, socket_load);
    damaged |= arrived.damaged;
    return gigabytes(arrived);
  };
  return measure_row(
      spec, [&](Placement placement) { return socket(SOCK_STREAM, placement); },
      [&](Placement placement) {
        const Arrived arrived = over_channel(setting, placement, load);
        Measurement measurement;
        measurement.figure = gigabytes(arrived);
        if (packets) {
          measurement.details.push_back(
              {"packet socket", socket(SOCK_SEQPACKET, placement), "GB/s"});
        }
        if ((arrived.damaged | damaged) != 0) measurement.fault = "a message was damaged";
        return measurement;
      });
}

}  // namespace

RowResult run_channel_64(const Setting& setting) {
  return run(setting, "channel-64", 64);
}
RowResult run_channel_512(const Setting& setting) {
  return run(setting, "channel-512", 512);
}
RowResult run_channel_4k(const Setting& setting) {
  return run(setting, "channel-4k", 4 << 10);
}
RowResult run_channel_32k(const Setting& setting) {
  return run(setting, "channel-32k", 32 << 10);
}
RowResult run_channel_256k(const Setting& setting) {
  return run(setting, "channel-256k", 256 << 10);
}
RowResult run_channel_1m(const Setting& setting) {
  return run(setting, "channel-1m", 1 << 20);
}
RowResult run_channel_4m(const Setting& setting) {
  return run(setting, "channel-4m", 4 << 20);
}

}  // namespace lapwing::bench
