#include "relay/out/relay_out.h"

#include <poll.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "relay/names.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<RelayOut>> RelayOut::open(RelayOutOptions options,
                                                         RelayConnect connect) {
  if (options.name.empty()) {
    const absl::StatusOr<BusDescription> bus = read_bus_description(options.directory);
    if (!bus.ok()) return bus.status();
    options.name = bus->name;
  }
  if (const absl::Status named = relay_names(options.name).status(); !named.ok()) return named;
  absl::StatusOr<OutMessages> messages =
      OutMessages::open(options.directory, options.name, monotonic_ns());
  if (!messages.ok()) return messages.status();
  absl::StatusOr<StopEvent> stop = StopEvent::make();
  if (!stop.ok()) return stop.status();
  absl::StatusOr<std::unique_ptr<AnswerThread>> answers = AnswerThread::start(options);
  if (!answers.ok()) return answers.status();
  const absl::StatusOr<Id128> chance = random_id();
  if (!chance.ok()) return chance.status();
  std::uint64_t seed = 0;
  std::memcpy(&seed, chance->bytes.data(), sizeof seed);
  std::unique_ptr<RelayOut> relay(
      new RelayOut(*std::move(stop), *std::move(answers), options.name));
  AnswerThread* const thread = relay->answers_.get();
  const AskSink sink = [thread](const std::shared_ptr<RelayTransport>& transport,
                                std::string_view reply_to, std::span<const std::byte> ask) {
    return thread->put(transport, reply_to, ask);
  };
  relay->machine_ = std::make_unique<OutMachine>(std::move(options), *std::move(messages),
                                                 std::move(connect), sink, seed);
  return relay;
}

absl::Status RelayOut::run() {
  while (!stop_.is_set() && !machine_->is_done()) {
    const absl::StatusOr<OutMachine::Turn> turn = machine_->turn(monotonic_ns(), wall_ns());
    {
      const std::lock_guard lock(mutex_);
      counts_ = machine_->counts();
    }
    if (!turn.ok()) return turn.status();
    if (!turn->has_more && !machine_->is_done()) wait(turn->next_ns);
  }
  return absl::OkStatus();
}

// Until the connection or the bus has something, a stop is requested, or that time.
void RelayOut::wait(std::uint64_t until_ns) {
  std::vector<pollfd> entries = {stop_.entry()};
  if (machine_->transport() != nullptr) {
    entries.push_back({machine_->transport()->fd(), POLLIN, 0});
  }
  for (Lane* const lane : {&machine_->log_lane(), &machine_->live_lane()}) {
    if (!lane->is_open() || lane->is_closed || !machine_->wants_records(*lane)) continue;
    Subscriber& subscriber = lane->feed->subscriber();
    const absl::StatusOr<int> fd = subscriber.fd();
    if (!fd.ok() || !subscriber.arm()) return;
    entries.push_back({*fd, POLLIN, 0});
  }
  wait_any_readable(entries, until_ns);
}

RelayOutCounts RelayOut::counts() const {
  RelayOutCounts counts;
  {
    const std::lock_guard lock(mutex_);
    counts = counts_;
  }
  counts.asks = answers_->asks();
  counts.answer_bytes = answers_->bytes();
  return counts;
}

}  // namespace lapwing
