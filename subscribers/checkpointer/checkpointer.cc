#include "lapwing/checkpointer.h"

#include <utility>

#include "lapwing/error.h"
#include "snapshot/bus_directory.h"
#include "subscribers/checkpointer/checkpointer_core.h"

namespace lapwing {
namespace {

// What the bus carries says which fold a name means.
absl::StatusOr<std::shared_ptr<const Fold>> named_fold(const CheckpointerOptions& options) {
  const absl::StatusOr<BusDescription> bus = read_bus_description(options.subscriber.directory);
  if (!bus.ok()) return bus.status();
  const std::string& name = options.fold_name;
  absl::StatusOr<std::unique_ptr<Fold>> made =
      make_fold(name.empty() ? default_fold(bus->schema) : name, bus->schema);
  if (!made.ok()) return made.status();
  return std::shared_ptr<const Fold>(*std::move(made));
}

}  // namespace

absl::StatusOr<Checkpointer> Checkpointer::open(CheckpointerOptions options) {
  if (options.fold == nullptr) {
    absl::StatusOr<std::shared_ptr<const Fold>> named = named_fold(options);
    if (!named.ok()) return named.status();
    options.fold = *std::move(named);
  }
  absl::StatusOr<std::unique_ptr<CheckpointerCore>> core =
      CheckpointerCore::open({std::move(options)});
  if (!core.ok()) return core.status();
  return Checkpointer(*std::move(core));
}

Checkpointer::Checkpointer(std::unique_ptr<CheckpointerCore> core) : core_(std::move(core)) {}
Checkpointer::Checkpointer(Checkpointer&&) noexcept = default;
Checkpointer& Checkpointer::operator=(Checkpointer&&) noexcept = default;
Checkpointer::~Checkpointer() = default;

absl::Status Checkpointer::run(Deadline deadline) {
  return core_->run_until(deadline.monotonic_ns());
}

bool Checkpointer::is_closed() const {
  return core_->is_closed();
}

absl::Status Checkpointer::finish() {
  return core_->finish();
}

const Fold& Checkpointer::fold() const {
  return core_->fold();
}

Sequence Checkpointer::folded_through() const {
  return core_->folded_through();
}

std::optional<StoredPosition> Checkpointer::committed() const {
  if (!core_->committed()) return std::nullopt;
  return core_->committed()->at;
}

const CheckpointerCounters& Checkpointer::counters() const {
  return core_->counters();
}

absl::StatusOr<std::uint64_t> Checkpointer::digest() const {
  return core_->digest();
}

}  // namespace lapwing
