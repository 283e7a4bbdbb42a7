#include "lapwing/checkpointer.h"

#include <utility>

#include "lapwing/error.h"
#include "os/fork.h"
#include "snapshot/bus_directory.h"
#include "subscribers/checkpointer/checkpointer_core.h"
#include "subscribers/snapshot_join.h"

namespace lapwing {
namespace {

// What the bus carries says which fold a name means.
absl::StatusOr<std::shared_ptr<const Fold>> named_fold(const CheckpointerOptions& options) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.subscriber.directory);
  if (!bus.ok()) return bus.status();
  return choose_fold(nullptr, options.fold, records_of(*bus));
}

}  // namespace

struct Checkpointer::State {
  const std::unique_ptr<CheckpointerCore> core;
  const ForkWatch fork{"checkpointer"};
};

absl::StatusOr<Checkpointer> Checkpointer::open(CheckpointerOptions options) {
  if (absl::Status valid = check_fold_choice(options.fold, options.own_fold); !valid.ok()) {
    return valid;
  }
  if (options.own_fold == nullptr) {
    absl::StatusOr<std::shared_ptr<const Fold>> named = named_fold(options);
    if (!named.ok()) return named.status();
    options.own_fold = *std::move(named);
  }
  absl::StatusOr<std::unique_ptr<CheckpointerCore>> core =
      CheckpointerCore::open({std::move(options)});
  if (!core.ok()) return core.status();
  return Checkpointer(StateHandle(new State{*std::move(core)}));
}

Checkpointer::Checkpointer(StateHandle state) : state_(std::move(state)) {}
Checkpointer::Checkpointer(Checkpointer&&) noexcept = default;
Checkpointer& Checkpointer::operator=(Checkpointer&&) noexcept = default;
Checkpointer::~Checkpointer() = default;
void Checkpointer::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}

absl::Status Checkpointer::run(Deadline deadline) {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->core->run_until(deadline.monotonic_ns());
}

void Checkpointer::interrupt() noexcept {
  state_->core->interrupt();
}

bool Checkpointer::is_closed() const {
  return state_->core->is_closed();
}

absl::Status Checkpointer::finish() {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->core->finish();
}

const Fold& Checkpointer::fold() const {
  return state_->core->fold();
}

Sequence Checkpointer::folded_through() const {
  return state_->core->folded_through();
}

std::optional<StoredPosition> Checkpointer::committed() const {
  if (!state_->core->committed()) return std::nullopt;
  return state_->core->committed()->at;
}

const CheckpointerCounters& Checkpointer::counters() const {
  return state_->core->counters();
}

absl::StatusOr<std::uint64_t> Checkpointer::digest() const {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->core->digest();
}

}  // namespace lapwing
