// The publisher for bench/time_to_live.py. It publishes a backlog of synthetic market-by-order
// records as fast as possible, then continues at a fixed rate on request.
//
//   lapwing_backlog BUS RECORDS RATE
//
// Prints one line when the backlog is durable and waits for a line of input. Then publishes RATE
// records per second until its standard input ends, and closes the session.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "lapwing/publisher.h"
#include "publisher/feeds/feed.h"
#include "publisher/feeds/pacer.h"

namespace lapwing::bench {
namespace {

constexpr std::chrono::seconds kPatience{120};

// True if there is no input and the writer has closed it.
bool input_has_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) != 0;
}

absl::Status publish_next(Publisher& publisher, Feed& feed, Pacer& pacer) {
  const absl::StatusOr<FeedBatch> batch = feed.next();
  if (!batch.ok()) return batch.status();
  if (!pacer.wait(batch->time_ns, batch->records.size() / publisher.record_bytes())) return {};
  return !publisher.publish_batch(batch->records).ok() ? publisher.last_error() : absl::OkStatus();
}

absl::Status run(const std::string& directory, std::uint64_t backlog, const std::string& rate) {
  const absl::StatusOr<Pace> pace = parse_pace(rate);
  if (!pace.ok()) return pace.status();
  absl::StatusOr<std::unique_ptr<Feed>> feed = open_feed("synthetic:records=0", {});
  if (!feed.ok()) return feed.status();
  PublisherOptions options;
  options.directory = directory;
  options.schema_name = (*feed)->description().schema;
  options.record_bytes = (*feed)->description().record_bytes;
  options.metadata = (*feed)->description().metadata;
  options.source_id = (*feed)->description().source_id;
  absl::StatusOr<Publisher> opened = Publisher::open(std::move(options));
  if (!opened.ok()) return opened.status();
  Publisher& publisher = *opened;

  SystemPaceClock clock;
  Pacer at_once(Pace{}, clock, [] { return false; });
  while (publisher.head() < backlog) {
    if (absl::Status status = publish_next(publisher, **feed, at_once); !status.ok()) return status;
  }
  if (absl::Status status = publisher.flush(kPatience); !status.ok()) {
    return status;
  }
  std::cout << publisher.head() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  Pacer paced(*pace, clock, input_has_ended);
  while (!input_has_ended()) {
    if (absl::Status status = publish_next(publisher, **feed, paced); !status.ok()) return status;
  }
  return publisher.close();
}

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  std::uint64_t backlog = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &backlog)) {
    std::cerr << "usage: lapwing_backlog BUS RECORDS RATE\n";
    return 2;
  }
  const absl::Status status = lapwing::bench::run(argv[1], backlog, argv[3]);
  if (!status.ok()) std::cerr << "backlog: " << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
