// The rates of the C interface, to which bench/languages.sh compares other languages. See
// README.md.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/languages/rates.h"
#include "lapwing.h"
#include "testing/c_structs.h"

namespace lapwing::bench {
namespace {

constexpr std::uint32_t kRecordBytes = 56;
constexpr std::size_t kMessageBytes = 32;
constexpr std::size_t kSentMessages = 32;    // per batch
constexpr std::size_t kTakenMessages = 256;  // maximum per call

void must(lapwing_result result, const char* what) {
  if (result == LAPWING_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, lapwing_error_name(result));
  std::abort();
}

// A batch with its own memory.
struct ReadBatch {
  explicit ReadBatch(std::size_t bytes) : batch(sized<lapwing_batch>()), rows(bytes) {
    batch.rows = rows.data();
    batch.rows_bytes = rows.size();
  }
  lapwing_batch batch;
  std::vector<std::byte> rows;
};

lapwing_subscriber* subscriber_of(const std::string& directory) {
  auto options = sized<lapwing_subscriber_options>();
  options.directory = directory.c_str();
  options.start = LAPWING_START_OLDEST;
  options.on_gap = LAPWING_ON_GAP_SKIP;
  options.wait = LAPWING_WAIT_BUSY;
  lapwing_subscriber* opened = nullptr;
  must(lapwing_subscriber_open(&options, &opened, nullptr), "subscriber");
  return opened;
}

lapwing_publisher* publisher_at(const std::string& directory, std::uint64_t capacity) {
  auto options = sized<lapwing_publisher_options>();
  options.directory = directory.c_str();
  options.record_bytes = kRecordBytes;
  options.capacity = capacity;
  options.flags = LAPWING_PUBLISHER_NO_JOURNAL;
  lapwing_publisher* opened = nullptr;
  must(lapwing_publisher_open(&options, 0, &opened, nullptr), "publisher");
  return opened;
}

std::string read(const Step& step) {
  const std::uint64_t records = step.number("records");
  ReadBatch into(step.number("rows") * kRecordBytes);
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    lapwing_subscriber* subscriber = subscriber_of(step.text("directory"));
    timed([&] {
      for (std::uint64_t got = 0; got < records;) {
        must(lapwing_subscriber_read(subscriber, &into.batch, LAPWING_FOREVER, nullptr), "read");
        got += into.batch.count;
      }
    });
    lapwing_subscriber_destroy(&subscriber);
  });
  return absl::StrFormat("ns=%.3f garbage=-", ns);
}

std::string take(const Step& step) {
  const std::uint64_t records = step.number("records");
  alignas(64) std::byte record[kRecordBytes];
  ReadBatch events(kRecordBytes);
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    lapwing_subscriber* subscriber = subscriber_of(step.text("directory"));
    timed([&] {
      for (std::uint64_t got = 0; got < records;) {
        std::uint64_t sequence;
        const lapwing_result result = lapwing_subscriber_read_one(
            subscriber, record, kRecordBytes, LAPWING_FOREVER, &sequence, nullptr);
        if (result == LAPWING_OK) {
          ++got;
        } else {
          must(result == LAPWING_ERROR_EVENT_DUE ? LAPWING_OK : result, "read_one");
          must(lapwing_subscriber_read(subscriber, &events.batch, 0, nullptr), "read");
        }
      }
    });
    lapwing_subscriber_destroy(&subscriber);
  });
  return absl::StrFormat("ns=%.3f", ns);
}

std::string publish_by(const Step& step, std::uint64_t rows) {
  constexpr std::uint64_t kCapacity = 1 << 20;
  const std::uint64_t records = step.number("records");
  const std::vector<std::byte> batch(rows * kRecordBytes, std::byte{1});
  lapwing_publisher* publisher = publisher_at(step.text("directory"), kCapacity);
  const double ns = median_pass_ns(step.number("passes"), records, [&](auto timed) {
    timed([&] {
      for (std::uint64_t done = 0; done < records; done += rows) {
        must(lapwing_publisher_publish(publisher, batch.data(), rows, kRecordBytes, 0, nullptr,
                                       nullptr),
             "publish");
      }
    });
  });
  lapwing_publisher_destroy(&publisher);
  return absl::StrFormat("ns=%.3f", ns);
}

// One bus in each direction: this side's publisher, and a subscriber of the other side's bus.
class BothWays {
 public:
  explicit BothWays(const Step& step)
      : publisher_(publisher_at(step.text("out"), 4096)),
        subscriber_(subscriber_of(step.text("in"))) {}
  ~BothWays() {
    lapwing_subscriber_destroy(&subscriber_);
    lapwing_publisher_destroy(&publisher_);
  }
  void publish() {
    must(lapwing_publisher_publish(publisher_, record_, 1, kRecordBytes, LAPWING_FOREVER, nullptr,
                                   nullptr),
         "publish");
  }
  void take() {
    for (;;) {
      std::uint64_t sequence;
      const lapwing_result result = lapwing_subscriber_read_one(
          subscriber_, record_, kRecordBytes, LAPWING_FOREVER, &sequence, nullptr);
      if (result == LAPWING_OK) return;
      must(result == LAPWING_ERROR_EVENT_DUE ? LAPWING_OK : result, "read_one");
      must(lapwing_subscriber_read(subscriber_, &events_.batch, 0, nullptr), "read");
    }
  }

 private:
  lapwing_publisher* publisher_;
  lapwing_subscriber* subscriber_;  // waits for the other bus
  ReadBatch events_{kRecordBytes};
  alignas(64) std::byte record_[kRecordBytes] = {};
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

struct Channels {
  lapwing_channel* in = nullptr;
  lapwing_channel* out = nullptr;

  Channels() = default;
  Channels(const Channels&) = delete;
  ~Channels() {
    lapwing_channel_destroy(&in);
    lapwing_channel_destroy(&out);
  }
  // Sends one message with the bytes of the last received one.
  void send() {
    void* payload = nullptr;
    must(lapwing_channel_claim(out, kMessageBytes, LAPWING_FOREVER, &payload, nullptr), "claim");
    std::memcpy(payload, bytes_, kMessageBytes);
    must(lapwing_channel_commit(out, kMessageBytes, 1, nullptr), "commit");
  }
  void receive() {
    lapwing_message message;
    std::size_t count;
    must(lapwing_channel_peek(in, &message, 1, LAPWING_FOREVER, &count, nullptr), "peek");
    std::memcpy(bytes_, message.payload, kMessageBytes);
    must(lapwing_channel_release(in, 1, nullptr), "release");
  }

 private:
  alignas(64) std::byte bytes_[kMessageBytes] = {};
};

lapwing_channel_options busy_channel() {
  constexpr std::int64_t kTenSeconds = 10'000'000'000;
  auto options = sized<lapwing_channel_options>();
  options.wait = LAPWING_WAIT_BUSY;
  options.retry_ns = kTenSeconds;
  return options;
}

lapwing_listener* listen_at(const std::string& path) {
  lapwing_listener* listener = nullptr;
  must(lapwing_listener_open(path.c_str(), nullptr, &listener, nullptr), "listen");
  return listener;
}

void accept(lapwing_listener* listener, lapwing_channel_role role, lapwing_channel** channel) {
  const lapwing_channel_options options = busy_channel();
  must(lapwing_listener_accept(listener, role, &options, LAPWING_FOREVER, channel, nullptr),
       "accept");
}

std::string channel_echo(const Step& step) {
  lapwing_listener* listener = listen_at(step.text("path"));
  Channels channels;
  accept(listener, LAPWING_CHANNEL_ROLE_CONSUMER, &channels.in);
  accept(listener, LAPWING_CHANNEL_ROLE_PRODUCER, &channels.out);
  for (std::uint64_t left = step.number("count"); left > 0; --left) {
    channels.receive();
    channels.send();
  }
  (void)!lapwing_channel_drain(channels.out, LAPWING_FOREVER, nullptr);
  lapwing_listener_destroy(&listener);
  return "";
}

std::string channel_ping(const Step& step) {
  const lapwing_channel_options options = busy_channel();
  const std::string& path = step.text("path");
  Channels channels;
  must(lapwing_channel_connect(path.c_str(), LAPWING_CHANNEL_ROLE_PRODUCER, &options,
                               LAPWING_FOREVER, &channels.out, nullptr),
       "connect");
  must(lapwing_channel_connect(path.c_str(), LAPWING_CHANNEL_ROLE_CONSUMER, &options,
                               LAPWING_FOREVER, &channels.in, nullptr),
       "connect");
  const double ns = median_round_trip_ns(step.number("count"), [&] {
    channels.send();
    channels.receive();
  });
  return absl::StrFormat("ns=%.1f", ns);
}

std::string channel_take(const Step& step) {
  lapwing_listener* listener = listen_at(step.text("path"));
  Channels channels;
  accept(listener, LAPWING_CHANNEL_ROLE_CONSUMER, &channels.in);
  std::vector<lapwing_message> messages(kTakenMessages);
  for (std::uint64_t left = step.number("count"); left > 0;) {
    std::size_t count = 0;
    must(lapwing_channel_peek(channels.in, messages.data(), messages.size(), LAPWING_FOREVER,
                              &count, nullptr),
         "peek");
    must(lapwing_channel_release(channels.in, count, nullptr), "release");
    left -= count;
  }
  lapwing_listener_destroy(&listener);
  return "";
}

std::string channel_send(const Step& step) {
  const lapwing_channel_options options = busy_channel();
  Channels channels;
  must(lapwing_channel_connect(step.text("path").c_str(), LAPWING_CHANNEL_ROLE_PRODUCER, &options,
                               LAPWING_FOREVER, &channels.out, nullptr),
       "connect");
  const std::byte record[kRecordBytes] = {};
  const std::vector<lapwing_message> batch(kSentMessages, {record, sizeof record, 1, 0});
  const double ns = median_round_trip_ns(step.number("count") / kSentMessages, [&] {
    must(lapwing_channel_send(channels.out, batch.data(), batch.size(), LAPWING_FOREVER, nullptr,
                              nullptr),
         "send");
  });
  must(lapwing_channel_drain(channels.out, LAPWING_FOREVER, nullptr), "drain");
  return absl::StrFormat("ns=%.3f", ns / kSentMessages);
}

const Rates kRates = {{"read", read},
                      {"take", take},
                      {"publish", [](const Step& s) { return publish_by(s, s.number("rows")); }},
                      {"publish-one", [](const Step& s) { return publish_by(s, 1); }},
                      {"echo", echo},
                      {"ping", ping},
                      {"channel-echo", channel_echo},
                      {"channel-ping", channel_ping},
                      {"channel-take", channel_take},
                      {"channel-send", channel_send}};

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  return lapwing::bench::run_rate(lapwing::bench::kRates, argc, argv);
}
