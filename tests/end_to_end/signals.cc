// signals BUS RECORDS [stamped|live]: publishes that many records of a struct that describes
// itself, and closes. With `stamped` the struct has a publish time, which the last record lacks.
// With `live` it publishes stamped records, one per millisecond, until standard input ends, and
// ignores RECORDS. described_records_test.py and monitoring_test.py show its records with the
// program's commands.
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lapwing/typed_publisher.h"
#include "os/kernel.h"
#include "testing/signal_record.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kInstruments = 3;

// A function of the number, except for the time.
Signal signal(std::uint32_t n) {
  Signal made{};
  made.ts_recv = wall_ns();
  made.instrument = n % kInstruments;
  made.weight = 0.1F;
  made.fair_value = n + 0.25;
  made.price = n == 2 ? INT64_MAX : std::int64_t{4'500'250'000'000} - n;
  made.side = n % 2 == 0 ? SignalSide::kSell : SignalSide::kBuy;
  std::memcpy(made.venue, "X,\"1\"", 5);
  return made;
}

struct Fill {
  std::uint64_t time;
  std::uint64_t sent;
  std::uint64_t instrument;
};
LAPWING_RECORD(Fill, "desk.fill", 1, (time, kTime), (sent, kPublishTime), (instrument, kKey));

constexpr std::uint64_t kFillTime = 1'000'000'000'000'000'000;  // 2001

int publish_fills(const char* bus, std::uint32_t records) {
  auto publisher = TypedPublisher<Fill>::open({.directory = bus});
  if (!publisher.ok()) {
    std::fprintf(stderr, "signals: %s\n", publisher.status().ToString().c_str());
    return EXIT_FAILURE;
  }
  for (std::uint32_t n = 1; n < records; ++n) {
    const Fill fill{.time = kFillTime, .sent = 0, .instrument = n % kInstruments};
    if (!publisher->publish(fill).ok()) return EXIT_FAILURE;
  }
  const Fill unstamped{.time = kFillTime, .sent = 0, .instrument = 0};
  if (!(*publisher)->publish(unstamped).ok()) return EXIT_FAILURE;
  return (*publisher)->close().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int publish_live(const char* bus) {
  auto publisher = TypedPublisher<Fill>::open({.directory = bus});
  if (!publisher.ok()) {
    std::fprintf(stderr, "signals: %s\n", publisher.status().ToString().c_str());
    return EXIT_FAILURE;
  }
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  for (std::uint32_t n = 0; poll(&input, 1, 1) == 0; ++n) {
    const Fill fill{.time = kFillTime, .sent = 0, .instrument = n % kInstruments};
    if (!publisher->publish(fill).ok()) return EXIT_FAILURE;
  }
  return (*publisher)->close().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int publish(const char* bus, std::uint32_t records) {
  auto publisher = TypedPublisher<Signal>::open({.directory = bus});
  if (!publisher.ok()) {
    std::fprintf(stderr, "signals: %s\n", publisher.status().ToString().c_str());
    return EXIT_FAILURE;
  }
  for (std::uint32_t n = 1; n <= records; ++n) {
    if (!publisher->publish(signal(n)).ok()) return EXIT_FAILURE;
  }
  return (*publisher)->close().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace lapwing

int main(int count, char** arguments) {
  if (count != 3 && count != 4) return EXIT_FAILURE;
  const auto records = static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10));
  if (count == 4 && std::strcmp(arguments[3], "live") == 0) {
    return lapwing::publish_live(arguments[1]);
  }
  const bool stamped = count == 4 && std::strcmp(arguments[3], "stamped") == 0;
  return stamped ? lapwing::publish_fills(arguments[1], records)
                 : lapwing::publish(arguments[1], records);
}
