#include "lapwing/subscriber.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/fold.h"
#include "os/fork.h"
#include "os/thread_placement.h"
#include "subscribers/item_delivery.h"
#include "subscribers/subscriber_access.h"

namespace lapwing {

struct Subscriber::State {
  State(SubscriberOptions options, Interrupt* interrupt)
      : delivery(std::move(options), interrupt), fork(*this, "subscriber") {}

  void on_child() noexcept { delivery.end_in_child(); }

  Event event_of(const Due& due);
  Result<Item> item_of(const Due& due);
  Result<Batch> read_further(const RowSpace& rows, Deadline deadline);

  ItemDelivery delivery;
  Event session;  // the last kSession or kReset delivered
  Event event;    // of the last item
  ForkWatch fork;
};

Event Subscriber::State::event_of(const Due& due) {
  const Stream& stream = delivery.stream();
  const SubscriberCounters& counters = stream.cursor.ledger.counters();
  const std::shared_ptr<const Fold>& fold = delivery.machine().fold();
  Event made;
  made.kind = due.event;
  made.sequence = due.sequence;
  made.gap = stream.outbox.gap();
  made.record_bytes = stream.cursor.record_bytes;
  made.schema_name = stream.records.schema;
  made.schema_note = stream.records.note;
  made.schema = stream.records.description;
  made.journal_id = stream.trail.journal_id();
  made.session_id = stream.current_session();
  made.is_first_session =
      due.event == EventKind::kSession && counters.records == 0 && counters.sessions <= 1;
  made.is_filtered = stream.filter.has_value();
  made.follows_journal = stream.follows_journal;
  made.on_gap = stream.options.on_gap;
  if (fold != nullptr) made.fold = fold->shape().name;
  if (due.event == EventKind::kSnapshotComplete) {
    made.state_entries = delivery.machine().state_size();
  }
  made.text = stream.outbox.text();
  if (due.event == EventKind::kSession || due.event == EventKind::kReset) session = made;
  return made;
}

// The event is kept until the next call.
[[gnu::noinline]] Result<Item> Subscriber::State::item_of(const Due& due) {
  if (due.kind == DueKind::kState) return Item{ItemKind::kState, due.sequence, due.record};
  event = event_of(due);
  return Item{.kind = ItemKind::kEvent, .sequence = due.sequence, .event = &event};
}

[[gnu::noinline]] Result<Batch> Subscriber::State::read_further(const RowSpace& rows,
                                                                Deadline deadline) {
  Due due;
  Result<Batch> batch = delivery.read(rows, deadline.monotonic_ns(), due);
  if (batch->kind == ItemKind::kEvent) {
    batch->event = std::make_shared<const Event>(event_of(due));
  }
  return batch;
}

namespace {

// Refuses settings that would have no effect.
absl::Status check_start(const Start& start, OnGap on_gap) {
  using Kind = Start::Kind;
  if ((start.kind == Kind::kAfter) != start.position.has_value()) {
    return make_error(Errc::kInvalidArgument,
                      "only Start::after(position) continues from a stored position");
  }
  if (start.value != 0 && start.kind != Kind::kSequence && start.kind != Kind::kTime) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("Start::value is ", start.value,
                     ", but only Start::sequence() and Start::time() use it. Remove it"));
  }
  const bool reads_history =
      start.kind == Kind::kOldest || start.kind == Kind::kSequence || start.kind == Kind::kTime;
  if (start.journal && !reads_history) {
    return make_error(Errc::kInvalidArgument,
                      "Start::journal is set, but Start::kind does not use it. Use it with "
                      "Start::oldest(), Start::sequence() or Start::time(), or leave it out");
  }
  const bool loads_state = start.kind == Kind::kSnapshot || on_gap == OnGap::kSnapshot;
  if (!loads_state && (start.own_fold != nullptr || !start.fold.empty())) {
    return make_error(Errc::kInvalidArgument,
                      "Start::fold or own_fold is set, but only Start::snapshot() and "
                      "OnGap::kSnapshot use it. Leave it out");
  }
  return check_fold_choice(start.fold, start.own_fold);
}

absl::Status check_options(const SubscriberOptions& options) {
  if (options.directory.empty()) {
    return make_error(Errc::kInvalidArgument, "a subscriber needs the directory of a bus");
  }
  for (const auto& [option, value] : {std::pair("behind_time", options.behind_time),
                                      std::pair("stale_after", options.stale_after)}) {
    if (value > std::chrono::nanoseconds::zero()) continue;
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(option, " is ", value.count(),
                                   " ns. Give a time above 0, or the value for \"never\""));
  }
  absl::Status valid = check_start(options.start, options.on_gap);
  if (valid.ok()) valid = check_instruments(options.instruments);
  if (valid.ok()) valid = check_placement(options.threads);
  return valid.ok() && options.expect ? options.expect->check() : valid;
}

}  // namespace

absl::StatusOr<Subscriber> Subscriber::open(SubscriberOptions options) {
  if (absl::Status valid = check_options(options); !valid.ok()) return valid;
  return Subscriber(StateHandle(new State(std::move(options), nullptr)));
}

absl::StatusOr<Subscriber> SubscriberAccess::open(SubscriberOptions options, Interrupt& interrupt) {
  if (absl::Status valid = check_options(options); !valid.ok()) return valid;
  return Subscriber(Subscriber::StateHandle(new Subscriber::State(std::move(options), &interrupt)));
}

WaitSource* SubscriberAccess::wait_source(Subscriber& subscriber) {
  return subscriber.state_ == nullptr ? nullptr : &subscriber.state_->delivery;
}

Subscriber::Subscriber(StateHandle state)
    : state_(std::move(state)), path_(&state_->delivery.path()) {}
Subscriber::~Subscriber() = default;
void Subscriber::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&&) noexcept = default;

Result<Sequence> Subscriber::read_one_further(std::span<std::byte> record, Deadline deadline) {
  return state_->delivery.read_one(record, deadline.monotonic_ns());
}

Result<Event> Subscriber::read_event() {
  if (state_->fork.in_child()) return Errc::kForked;
  const Result<Due> due = state_->delivery.read_event();
  if (!due.ok()) return due.error();
  return state_->event_of(*due);
}

Result<Batch> Subscriber::read(std::span<std::byte> rows, Deadline deadline) {
  Result<Batch> batch = Batch{};
  if (!state_->delivery.read_records(rows, batch)) [[unlikely]] {
    batch = state_->read_further({.bytes = rows}, deadline);
  }
  return batch;
}

Result<Batch> Subscriber::read(std::span<std::byte> rows, std::span<Sequence> sequences,
                               Deadline deadline) {
  const RowSpace space{.bytes = rows, .sequences = sequences};
  Result<Batch> batch = Batch{};
  if (!state_->delivery.read_records(space, batch)) batch = state_->read_further(space, deadline);
  return batch;
}

Result<Item> Subscriber::next_further(Deadline deadline) {
  const Result<Due> due = state_->delivery.next(deadline.monotonic_ns());
  if (!due.ok()) return due.error();
  if (due->kind == DueKind::kRecord) return Item{ItemKind::kRecord, due->sequence, due->record};
  return state_->item_of(*due);
}

void Subscriber::interrupt() noexcept {
  state_->delivery.interrupt();
}

absl::StatusOr<int> Subscriber::fd() {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->delivery.descriptor();
}
bool Subscriber::arm() {
  return !state_->fork.in_child() && state_->delivery.arm();
}

const std::shared_ptr<const Fold>& Subscriber::fold() const {
  return state_->delivery.machine().fold();
}
std::uint64_t Subscriber::state_size() const {
  return state_->delivery.machine().state_size();
}
const std::string& Subscriber::schema_name() const {
  return state_->session.schema_name;
}
const std::shared_ptr<const Schema>& Subscriber::schema() const {
  return state_->session.schema;
}
std::uint32_t Subscriber::record_bytes() const {
  return state_->session.record_bytes;
}
Id128 Subscriber::session_id() const {
  const Stream& stream = state_->delivery.counted_stream();
  return stream.trail.empty() ? Id128{}
                              : stream.trail.session_of(stream.cursor.ledger.counters().last);
}
const absl::Status& Subscriber::status() const {
  return state_->fork.in_child() ? state_->fork.error() : state_->delivery.stream().status;
}
StoredPosition Subscriber::position() const {
  return state_->delivery.stream().position();
}
Sequence Subscriber::durable() const {
  return state_->fork.in_child() ? kNoSequence : state_->delivery.stream().durable();
}
Sequence Subscriber::head() const {
  return state_->fork.in_child() ? kNoSequence : state_->delivery.stream().head();
}
std::uint64_t Subscriber::lag() const {
  const Sequence head = this->head();
  const Sequence taken = path_->next - 1;
  return head > taken ? head - taken : 0;
}
SubscriberCounters Subscriber::counters() const {
  return state_->delivery.counted_stream().cursor.ledger.counters();
}
std::optional<Ages> Subscriber::ages() const {
  return state_->delivery.machine().upkeep().ages();
}

}  // namespace lapwing
