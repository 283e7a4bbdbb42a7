// Round trips over two channels: one message in each direction, with both consumers busy.
#include <cstring>

#include "bench/bench_channel.h"
#include "bench/floor.h"
#include "bench/ping_pong.h"
#include "bench/rows.h"
#include "bench/two_processes.h"
#include "lapwing/detail/frame_reader.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/duplex.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRoundTrips = 320'000;

// The message: every word is the number of the round trip.
struct Ball {
  std::uint64_t words[kMessageWords];

  static Ball of(std::uint64_t n) { return {{n, n, n, n}}; }
};
static_assert(sizeof(Ball) == kMessageBytes);

void check(const Ball& ball, std::uint64_t n) {
  if (ball.words[0] != n || ball.words[kMessageWords - 1] != n)
    fail("a reply does not match its request");
}

// Only the frame protocol: no socket, no waiting and no detection of a closed connection.
class BareFrames {
 public:
  BareFrames() : memory_(kChannelHeaderBytes + kChannelCapacity) {
    header_.capacity = kChannelCapacity;
    header_.message_bytes_max = ChannelOptions().message_bytes_max;
    header_.payload_offset = kPayloadOffsetPacked;
  }

  FrameWriter writer(const BareFrames& back) const {
    return FrameWriter(data(), header_, words(), back.words());
  }
  FrameReader reader(const BareFrames& back) const {
    return FrameReader(data(), header_, back.words());
  }

 private:
  std::byte* data() const { return memory_.data() + kChannelHeaderBytes; }
  ChannelWords& words() const {
    return *reinterpret_cast<ChannelWords*>(memory_.data() + kPageBytes);
  }

  ChannelHeader header_{};
  SharedMemory memory_;
};

void put(FrameWriter& out, const Ball& ball) {
  if (out.claim(kMessageBytes) != FrameWriter::Room::kYes) fail("found no space for a message");
  std::memcpy(out.payload().data(), &ball, kMessageBytes);
  out.commit(kMessageBytes, kMessageType);
}

Ball ball_in(const Message& message) {
  Ball ball;
  std::memcpy(&ball, message.payload.data(), kMessageBytes);
  return ball;
}

Message await(const FrameReader& in) {
  Message message;
  spin_until([&] { return in.look(in.position(), message) == FrameReader::Look::kMessage; });
  return message;
}

double frames_round_trip_ns(const Setting&, Placement placement, std::size_t round_trips) {
  const BareFrames ping;
  const BareFrames pong;
  Child echo(placement.second, [&] {
    FrameWriter out = pong.writer(ping);
    FrameReader in = ping.reader(pong);
    for (std::size_t n = 1; n <= kChannelLines + round_trips; ++n) {
      const Message message = await(in);
      put(out, ball_in(message));
      in.release(message.end, 1);
    }
  });
  pin_to_core(placement.first);
  FrameWriter out = ping.writer(pong);
  FrameReader in = pong.reader(ping);
  const double median = median_round_trip_ns(kChannelLines, round_trips, [&](std::uint64_t n) {
    put(out, Ball::of(n));
    const Message message = await(in);
    check(ball_in(message), n);
    in.release(message.end, 1);
  });
  echo.join();
  return median;
}

// Two channels with the public interface.
void put(ChannelProducer& out, const Ball& ball) {
  const auto claim = out.claim(kMessageBytes);
  ok_or_fail(claim, out);
  std::memcpy(claim->data(), &ball, kMessageBytes);
  ok_or_fail(out.commit(kMessageBytes, kMessageType), out);
}

Ball await(ChannelConsumer& in) {
  const Result<Message> peek = in.peek();
  ok_or_fail(peek, in);
  return ball_in(*peek);
}

double channel_round_trip_ns(const Setting& setting, Placement placement, std::size_t round_trips,
                             const ChannelOptions& options) {
  ChannelPlace place(setting);
  Child echo(placement.second, [&] {
    auto in = place.connect<ChannelConsumer>(options);
    auto out = place.connect<ChannelProducer>(options);
    for (std::size_t n = 1; n <= kChannelLines + round_trips; ++n) {
      put(out, await(in));
      ok_or_fail(in.release(), in);
    }
  });
  pin_to_core(placement.first);
  auto out = place.accept<ChannelProducer>(options);
  auto in = place.accept<ChannelConsumer>(options);
  const double median = median_round_trip_ns(kChannelLines, round_trips, [&](std::uint64_t n) {
    put(out, Ball::of(n));
    check(await(in), n);
    ok_or_fail(in.release(), in);
  });
  echo.join();
  return median;
}

double with_membarrier(const Setting& setting, Placement placement, std::size_t round_trips) {
  return channel_round_trip_ns(setting, placement, round_trips,
                               channel_options(WaitStrategy::kBusy));
}

double with_fences(const Setting& setting, Placement placement, std::size_t round_trips) {
  ChannelOptions options = channel_options(WaitStrategy::kBusy);
  options.membarrier = false;
  return channel_round_trip_ns(setting, placement, round_trips, options);
}

// A call and its reply.
double call_round_trip_ns(const Setting& setting, Placement placement, std::size_t round_trips) {
  const ChannelOptions options = channel_options(WaitStrategy::kBusy);
  ChannelPlace place(setting);
  Child server(placement.second, [&] {
    auto duplex = place.connect<Duplex>(options);
    for (std::size_t n = 1; n <= kChannelLines + round_trips; ++n) {
      const Result<Incoming> in = duplex.next();
      ok_or_fail(in, duplex);
      ok_or_fail(duplex.reply(in->call, in->payload, in->type), duplex);
    }
    // The client closes after reading the reply. Until then this side stays open.
    if (duplex.next().error() != Errc::kClosed) fail("received an unexpected call");
  });
  pin_to_core(placement.first);
  auto duplex = place.accept<Duplex>(options);
  const double median = median_round_trip_ns(kChannelLines, round_trips, [&](std::uint64_t n) {
    const Ball ball = Ball::of(n);
    const Result<Reply> reply = duplex.call(std::as_bytes(std::span(ball.words)), kMessageType);
    ok_or_fail(reply, duplex);
    Ball back;
    std::memcpy(&back, reply->payload.data(), kMessageBytes);
    check(back, n);
  });
  duplex.close();
  server.join();
  return median;
}

using RoundTrip = double (*)(const Setting&, Placement, std::size_t round_trips);

RowSpec spec_of(const Setting& setting, const char* name, const char* what) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "walk";
  spec.floor_shows_distance = true;
  spec.unit = "ns";
  spec.trials = setting.trials(10);
  return spec;
}

// `beside` is an alternative that the row also shows.
RowResult run(const Setting& setting, const RowSpec& spec, RoundTrip round_trip,
              const char* beside_name, RoundTrip beside) {
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t round_trips = setting.count(kRoundTrips);
  return measure_row(
      spec, [&](Placement placement) { return walk_ns(placement, kChannelLines, round_trips); },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = round_trip(setting, placement, round_trips);
        measurement.details.push_back({beside_name, beside(setting, placement, round_trips), "ns"});
        return measurement;
      });
}

double line_round_trip_ns(const Setting&, Placement placement, std::size_t round_trips) {
  return line_ns(placement, round_trips);
}

}  // namespace

RowResult run_channel_round_trip(const Setting& setting) {
  RowSpec spec = spec_of(setting, "channel-round-trip",
                         "round trip over two channels, two processes, 32-byte messages, busy");
  spec.budget = 1.08;
  return run(setting, spec, with_membarrier, "with fences", with_fences);
}

RowResult run_channel_round_trip_frames(const Setting& setting) {
  RowSpec spec = spec_of(setting, "channel-round-trip-frames",
                         "the same over two bare rings of frames: only the frame protocol");
  spec.budget = 1.05;
  return run(setting, spec, frames_round_trip_ns, "line", line_round_trip_ns);
}

RowResult run_channel_call(const Setting& setting) {
  const RowSpec spec = spec_of(setting, "channel-call",
                               "call and reply over a duplex, two processes, 32 bytes each, busy");
  return run(setting, spec, call_round_trip_ns, "line", line_round_trip_ns);
}

}  // namespace lapwing::bench
