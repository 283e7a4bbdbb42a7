// Several sources on one thread: buses, channels from any number of producers, and a timer. While
// idle, the process sleeps and uses no processor time. It ends when every bus is closed and at
// least one producer has connected and all have ended.
//
//   many_sources /tmp/lines.sock ./es ./nq &
//   lapwing publish --bus ./es --source synthetic:records=20000 &
//   lapwing publish --bus ./nq --source synthetic:records=10000 &
//   seq 100 | lapwing pipe --connect /tmp/lines.sock --messages lines
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/consumer.h"
#include "lapwing/error.h"
#include "lapwing/listener.h"
#include "lapwing/subscriber.h"
#include "lapwing/wait_set.h"

namespace {

// Tokens identify the source that is ready. The program chooses their values.
constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kTick = 2;
constexpr std::uint64_t kFirstBus = 100;
constexpr std::uint64_t kFirstConsumer = 1000;

int fail(const std::string& why) {
  std::cerr << "many_sources: " << why << '\n';
  return 1;
}

struct Bus {
  std::string directory;
  lapwing::Subscriber subscriber;
  std::uint64_t records = 0;
  bool has_ended = false;
};

class Program {
 public:
  explicit Program(lapwing::ChannelListener listener, lapwing::WaitSet set)
      : listener_(std::move(listener)), set_(std::move(set)), rows_(64 * 1024) {}

  absl::Status add_bus(const std::string& directory) {
    auto subscriber = lapwing::Subscriber::open(
        {.directory = directory, .start = lapwing::Start::oldest(), .end_at_close = true});
    if (!subscriber.ok()) return subscriber.status();
    buses_.push_back({directory, *std::move(subscriber)});
    return absl::OkStatus();
  }

  absl::Status run() {
    for (std::size_t i = 0; i < buses_.size(); ++i) {
      const auto added = set_.add(buses_[i].subscriber, kFirstBus + i);
      if (!added.ok()) return added.status();
    }
    const auto listener = set_.add(listener_, kListener);
    if (!listener.ok()) return listener.status();
    const auto every = std::chrono::milliseconds(100);
    const auto timer = set_.add_timer(every, kTick, every);
    if (!timer.ok()) return timer.status();
    while (!has_finished()) {
      const lapwing::Result<lapwing::Ready> ready = set_.wait(lapwing::Deadline::never());
      if (!ready.ok()) {
        return lapwing::make_error(ready.error(), lapwing::name_of(ready.error()));
      }
      if (absl::Status served = serve(*ready); !served.ok()) return served;
    }
    return absl::OkStatus();
  }

  void print() const {
    for (const Bus& bus : buses_) std::cout << bus.directory << ": " << bus.records << " records\n";
    std::cout << lines_ << " lines, and the timer ticked " << (ticks_ > 0 ? "meanwhile" : "never")
              << '\n';
  }

 private:
  bool has_finished() const {
    for (const Bus& bus : buses_) {
      if (!bus.has_ended) return false;
    }
    return next_consumer_ > kFirstConsumer && consumers_.empty();
  }

  absl::Status serve(const lapwing::Ready& ready) {
    switch (ready.kind) {
      case lapwing::SourceKind::kSubscriber:
        return take_records(buses_[ready.token - kFirstBus], ready.source);
      case lapwing::SourceKind::kListener:
        return accept();
      case lapwing::SourceKind::kConsumer:
        return take_lines(ready.token);
      case lapwing::SourceKind::kTimer:
        ticks_ += ready.expirations;
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  // Reads once. Remaining records make the bus ready again after the other sources had their turn.
  absl::Status take_records(Bus& bus, lapwing::SourceId source) {
    const auto batch = bus.subscriber.read(rows_, lapwing::Deadline::now());
    bus.records += batch->count;
    if (batch.ok() || batch == lapwing::Errc::kWouldBlock) return absl::OkStatus();
    bus.has_ended = true;
    if (!set_.remove(source).ok()) return absl::InternalError("it was not there");
    return bus.subscriber.status();
  }

  // Accepts the next waiting producer.
  absl::Status accept() {
    auto consumer = lapwing::ChannelConsumer::accept(listener_, {}, lapwing::Deadline::now());
    if (lapwing::errc_of(consumer.status()) == lapwing::Errc::kWouldBlock) return absl::OkStatus();
    if (!consumer.ok()) return consumer.status();
    const std::uint64_t token = next_consumer_++;
    const auto place = consumers_.emplace(token, *std::move(consumer)).first;
    return set_.add(place->second, token).status();
  }

  // A destroyed consumer leaves the set.
  absl::Status take_lines(std::uint64_t token) {
    lapwing::ChannelConsumer& consumer = consumers_.at(token);
    const lapwing::Result<lapwing::Message> message = consumer.try_peek();
    if (message.ok()) {
      ++lines_;
      if (!consumer.release().ok()) return consumer.status();
    } else if (message.error() == lapwing::Errc::kClosed) {
      consumers_.erase(token);
    } else if (message.error() != lapwing::Errc::kWouldBlock) {
      return consumer.status();
    }
    return absl::OkStatus();
  }

  lapwing::ChannelListener listener_;
  lapwing::WaitSet set_;
  std::vector<std::byte> rows_;
  std::vector<Bus> buses_;
  std::map<std::uint64_t, lapwing::ChannelConsumer> consumers_;
  std::uint64_t next_consumer_ = kFirstConsumer;
  std::uint64_t lines_ = 0;
  std::uint64_t ticks_ = 0;
};

int run(const std::string& path, const std::vector<std::string>& directories) {
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(std::string(listener.status().message()));
  auto set = lapwing::WaitSet::open();
  if (!set.ok()) return fail(std::string(set.status().message()));
  Program program(*std::move(listener), *std::move(set));
  absl::Status done;
  for (const std::string& directory : directories) {
    if (done.ok()) done = program.add_bus(directory);
  }
  if (done.ok()) done = program.run();
  if (!done.ok()) return fail(std::string(done.message()));
  program.print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return run(argv[1], {argv + 2, argv + argc});
  std::cerr << "usage: many_sources SOCKET BUS...\n";
  return 2;
}
