// The rates of C++, to which those of C are compared. See README.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/languages/rates.h"
#include "lapwing/consumer.h"
#include "lapwing/listener.h"
#include "lapwing/producer.h"
#include "lapwing/publisher.h"
#include "lapwing/subscriber.h"

namespace lapwing::bench {
namespace {

struct Record {
  std::uint64_t words[7];
};
constexpr std::size_t kMessageBytes = 32;
constexpr std::size_t kSentMessages = 32;    // per batch
constexpr std::size_t kTakenMessages = 256;  // maximum per call

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s failed\n", what);
  std::abort();
}
void must(bool good, const char* what) {
  if (!good) fail(what);
}
template <typename Value>
Value opened(absl::StatusOr<Value> value) {
  if (!value.ok()) fail(std::string(value.status().message()).c_str());
  return *std::move(value);
}

Subscriber subscriber_of(const std::string& directory) {
  return opened(Subscriber::open({.directory = directory,
                                  .start = Start::oldest(),
                                  .on_gap = OnGap::kSkip,
                                  .wait = WaitStrategy::kBusy}));
}

Publisher publisher_at(const std::string& directory, std::uint64_t capacity) {
  PublisherOptions options;
  options.directory = directory;
  options.record_bytes = sizeof(Record);
  options.capacity = capacity;
  options.journal = false;
  return opened(Publisher::open(options));
}

std::string read(const Step& step) {
  const std::uint64_t records = step.number("records");
  std::vector<std::byte> rows(step.number("rows") * sizeof(Record));
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    Subscriber subscriber = subscriber_of(step.text("directory"));
    timed([&] {
      for (std::uint64_t got = 0; got < records;) {
        const Result<Batch> batch = subscriber.read(rows, Deadline::never());
        must(batch.ok(), "read");
        got += batch->count;
      }
    });
  });
  return absl::StrFormat("ns=%.3f garbage=-", ns);
}

// Skips events.
void take(Subscriber& subscriber, Record& record) {
  for (;;) {
    const Result<Sequence> taken = subscriber.read_one(record, Deadline::never());
    if (taken.ok()) return;
    must(taken == Errc::kEventDue && subscriber.read_event().ok(), "read_one");
  }
}

std::string take_all(const Step& step) {
  const std::uint64_t records = step.number("records");
  Record record = {};
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    Subscriber subscriber = subscriber_of(step.text("directory"));
    timed([&] {
      for (std::uint64_t got = 0; got < records; ++got) {
        take(subscriber, record);
        asm volatile("" ::"r"(&record) : "memory");  // the program uses the record
      }
    });
  });
  return absl::StrFormat("ns=%.3f", ns);
}

constexpr std::uint64_t kCapacity = 1 << 20;

template <typename Publish>
std::string published(const Step& step, std::uint64_t rows, Publish publish) {
  const std::uint64_t records = step.number("records");
  Publisher publisher = publisher_at(step.text("directory"), kCapacity);
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    timed([&] {
      for (std::uint64_t done = 0; done < records; done += rows) {
        must(publish(publisher).ok(), "publish");
      }
    });
  });
  return absl::StrFormat("ns=%.3f", ns);
}

std::string publish_batches(const Step& step) {
  const std::vector<Record> batch(step.number("rows"), Record{{1}});
  return published(step, batch.size(), [&](Publisher& publisher) {
    return publisher.publish_batch(std::as_bytes(std::span(batch)));
  });
}

std::string publish_one_by_one(const Step& step) {
  const Record record = {{1}};
  return published(step, 1, [&](Publisher& publisher) { return publisher.publish(record); });
}

// One bus in each direction.
struct BothWays {
  explicit BothWays(const Step& step)
      : publisher(publisher_at(step.text("out"), 4096)),
        subscriber(subscriber_of(step.text("in"))) {}
  void publish() { must(publisher.publish(record).ok(), "publish"); }
  void take() { bench::take(subscriber, record); }

  Publisher publisher;
  Subscriber subscriber;
  Record record = {};
};

std::string echo(const Step& step) {
  BothWays ways(step);
  for (std::uint64_t left = step.number("count"); left > 0; --left) {
    ways.take();
    ways.publish();
  }
  return "";
}

std::string ping(const Step& step) {
  BothWays ways(step);
  const double ns = median_round_trip_ns(step.number("count"), [&] {
    ways.publish();
    ways.take();
  });
  return absl::StrFormat("ns=%.1f", ns);
}

// One channel in each direction.
struct Channels {
  ChannelProducer out;
  ChannelConsumer in;
  alignas(64) std::byte bytes[kMessageBytes] = {};

  void send() {
    const auto claim = out.claim(kMessageBytes);
    must(claim.ok(), "claim");
    std::memcpy(claim->data(), bytes, kMessageBytes);
    must(out.commit(kMessageBytes, 1).ok(), "commit");
  }
  void receive() {
    const Result<Message> peek = in.peek();
    must(peek.ok(), "peek");
    std::memcpy(bytes, peek->payload.data(), kMessageBytes);
    must(in.release().ok(), "release");
  }
};

ChannelOptions busy_channel() {
  ChannelOptions options;
  options.wait = WaitStrategy::kBusy;
  return options;
}

std::string channel_echo(const Step& step) {
  ChannelListener listener = opened(ChannelListener::listen(step.text("path")));
  ChannelConsumer in = opened(ChannelConsumer::accept(listener, busy_channel(), Deadline::never()));
  ChannelProducer out =
      opened(ChannelProducer::accept(listener, busy_channel(), Deadline::never()));
  Channels channels{std::move(out), std::move(in)};
  for (std::uint64_t left = step.number("count"); left > 0; --left) {
    channels.receive();
    channels.send();
  }
  (void)channels.out.drain();
  return "";
}

template <typename End>
End connected(const std::string& path) {
  return opened(End::connect(path, busy_channel(), std::chrono::seconds(10)));
}

std::string channel_ping(const Step& step) {
  ChannelProducer out = connected<ChannelProducer>(step.text("path"));
  Channels channels{std::move(out), connected<ChannelConsumer>(step.text("path"))};
  const double ns = median_round_trip_ns(step.number("count"), [&] {
    channels.send();
    channels.receive();
  });
  return absl::StrFormat("ns=%.1f", ns);
}

std::string channel_take(const Step& step) {
  ChannelListener listener = opened(ChannelListener::listen(step.text("path")));
  ChannelConsumer in = opened(ChannelConsumer::accept(listener, busy_channel(), Deadline::never()));
  std::vector<Message> messages(kTakenMessages);
  for (std::uint64_t left = step.number("count"); left > 0;) {
    const Result<std::size_t> count = in.peek_batch(messages);
    must(count.ok(), "peek");
    must(in.release().ok(), "release");
    left -= *count;
  }
  return "";
}

std::string channel_send(const Step& step) {
  ChannelProducer out = connected<ChannelProducer>(step.text("path"));
  const Record record = {};
  const std::vector<Outgoing> batch(kSentMessages, {std::as_bytes(std::span(&record, 1)), 1});
  const double ns = median_round_trip_ns(step.number("count") / kSentMessages,
                                         [&] { must(out.send_batch(batch).ok(), "send"); });
  must(out.drain().ok(), "drain");
  return absl::StrFormat("ns=%.3f", ns / kSentMessages);
}

const Rates kRates = {
    {"read", read},
    {"take", take_all},
    {"publish", publish_batches},
    {"publish-one", publish_one_by_one},
    {"echo", echo},
    {"ping", ping},
    {"channel-echo", channel_echo},
    {"channel-ping", channel_ping},
    {"channel-take", channel_take},
    {"channel-send", channel_send},
};

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  return lapwing::bench::run_rate(lapwing::bench::kRates, argc, argv);
}
