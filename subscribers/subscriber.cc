#include "lapwing/subscriber.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/fold.h"
#include "os/fork.h"
#include "os/thread_placement.h"
#include "subscribers/follower.h"
#include "subscribers/instrument_filter.h"
#include "subscribers/snapshot_join.h"
#include "subscribers/subscriber_access.h"

namespace lapwing {

struct Subscriber::State {
  State(SubscriberOptions options, Interrupt* interrupt)
      : follower(std::move(options), interrupt), fork(*this, "subscriber") {
    end_in_child.kind = ItemKind::kEnded;
    end_in_child.text = std::string(fork.error().message());
  }

  void on_child() noexcept { follower.end_in_child(); }

  Event event_of(const Item& item);
  void add_event(Item& item);
  void read_further(std::span<std::byte> rows, Deadline deadline, Batch& batch);
  void read_further(const RowSpace& rows, Deadline deadline, Batch& batch);

  Follower follower;
  // As of the last kSession or kReset that was delivered.
  std::uint32_t record_bytes = 0;
  std::string schema;
  std::shared_ptr<const Schema> description;
  Event event;         // of the last item
  Event end_in_child;  // made before any fork: a child finds it whole
  ForkWatch fork;
};

Event Subscriber::State::event_of(const Item& item) {
  Event made;
  made.kind = item.kind;
  made.sequence = item.sequence;
  made.gap = follower.gap();
  made.record_bytes = follower.record_bytes();
  made.schema = follower.records().schema;
  made.schema_note = follower.records().note;
  made.description = follower.records().description;
  made.journal_id = follower.journal_id();
  made.session_id = follower.current_session();
  made.is_first_session = item.kind == ItemKind::kSession && follower.counters().records == 0 &&
                          follower.counters().sessions <= 1;
  made.is_filtered = follower.is_filtered();
  made.follows_journal = follower.follows_journal();
  made.on_gap = follower.on_gap();
  if (follower.fold() != nullptr) made.fold = follower.fold()->shape().name;
  if (item.kind == ItemKind::kSnapshotComplete) made.state_entries = follower.state_size();
  made.text = follower.text();
  if (item.kind == ItemKind::kSession || item.kind == ItemKind::kReset) {
    record_bytes = made.record_bytes;
    schema = made.schema;
    description = made.description;
  }
  return made;
}

// Kept until the next call. A child leaves alone what a call of its parent may have been changing.
[[gnu::noinline]] void Subscriber::State::add_event(Item& item) {
  if (item.kind == ItemKind::kNothing || item.kind == ItemKind::kState) return;
  if (fork.in_child()) {
    item.event = &end_in_child;
    return;
  }
  event = event_of(item);
  item.event = &event;
}

[[gnu::noinline]] void Subscriber::State::read_further(std::span<std::byte> rows, Deadline deadline,
                                                       Batch& batch) {
  read_further(RowSpace{.bytes = rows}, deadline, batch);
}

void Subscriber::State::read_further(const RowSpace& rows, Deadline deadline, Batch& batch) {
  Item due;
  follower.read(rows, deadline.monotonic_ns(), batch, due);
  if (batch.kind != Batch::Kind::kEvent) return;
  batch.event = std::make_shared<const Event>(fork.in_child() ? end_in_child : event_of(due));
}

namespace {

// What would be ignored is refused.
absl::Status check_start(const Start& start, OnGap on_gap) {
  using Kind = Start::Kind;
  if ((start.kind == Kind::kAfter) != start.position.has_value()) {
    return make_error(Errc::kInvalidArgument,
                      "a stored position is continued by Start::after(position), and by no other "
                      "start");
  }
  if (start.value != 0 && start.kind != Kind::kSequence && start.kind != Kind::kTime) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("Start::value is ", start.value,
                                   ", and Start::kind is not that of Start::at() or Start::time(), "
                                   "which alone go by it; leave it out"));
  }
  const bool reads_history =
      start.kind == Kind::kOldest || start.kind == Kind::kSequence || start.kind == Kind::kTime;
  if (start.journal && !reads_history) {
    return make_error(Errc::kInvalidArgument,
                      "Start::journal is set, and Start::kind does not use it. Use it with "
                      "Start::oldest(), Start::at() or Start::time(), or leave it out");
  }
  const bool loads_state = start.kind == Kind::kSnapshot || on_gap == OnGap::kSnapshot;
  if (!loads_state && (start.fold != nullptr || !start.fold_name.empty())) {
    return make_error(Errc::kInvalidArgument,
                      "Start::fold or fold_name is given, and Start::kind is not that of "
                      "Start::snapshot(), nor on_gap kSnapshot, which alone go by it; leave it "
                      "out");
  }
  return check_fold_choice(start.fold_name, start.fold);
}

absl::Status check_options(const SubscriberOptions& options) {
  if (options.directory.empty()) {
    return make_error(Errc::kInvalidArgument, "a subscriber needs the directory of a bus");
  }
  if (options.behind_time < std::chrono::nanoseconds::zero()) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("behind_time is ", options.behind_time.count(),
                                   " ns; give a time above 0, or 0 for no limit by time"));
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
  return subscriber.state_ == nullptr ? nullptr : &subscriber.state_->follower;
}

Subscriber::Subscriber(StateHandle state)
    : state_(std::move(state)), path_(&state_->follower.path()) {}
Subscriber::~Subscriber() = default;
void Subscriber::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&&) noexcept = default;

Taken Subscriber::take_further(std::span<std::byte> record, Deadline deadline) {
  return state_->follower.take(record, deadline.monotonic_ns());
}

std::optional<Event> Subscriber::take_event() {
  if (state_->fork.in_child()) return state_->end_in_child;
  const std::optional<Item> due = state_->follower.take_event();
  return due ? std::optional(state_->event_of(*due)) : std::nullopt;
}

Batch Subscriber::read(std::span<std::byte> rows, Deadline deadline) {
  Batch batch;
  if (!state_->follower.read_records(rows, batch)) [[unlikely]] {
    state_->read_further(rows, deadline, batch);
  }
  return batch;
}

Batch Subscriber::read(std::span<std::byte> rows, std::span<Sequence> sequences,
                       Deadline deadline) {
  const RowSpace space{.bytes = rows, .sequences = sequences};
  Batch batch;
  if (!state_->follower.read_records(space, batch)) state_->read_further(space, deadline, batch);
  return batch;
}

Item Subscriber::wait_further(Deadline deadline) {
  Item item = state_->follower.wait(deadline.monotonic_ns());
  if (item.kind != ItemKind::kRecord) state_->add_event(item);
  return item;
}

void Subscriber::interrupt() noexcept {
  state_->follower.interrupt();
}

absl::StatusOr<int> Subscriber::fd() {
  if (state_->fork.in_child()) return state_->fork.error();
  return state_->follower.descriptor();
}
bool Subscriber::arm() {
  return !state_->fork.in_child() && state_->follower.arm();
}

const std::shared_ptr<const Fold>& Subscriber::fold() const {
  return state_->follower.fold();
}
std::uint64_t Subscriber::state_size() const {
  return state_->follower.state_size();
}
const std::string& Subscriber::schema() const {
  return state_->schema;
}
const std::shared_ptr<const Schema>& Subscriber::description() const {
  return state_->description;
}
std::uint32_t Subscriber::record_bytes() const {
  return state_->record_bytes;
}
Id128 Subscriber::session_id() const {
  return state_->follower.session_id();
}
const absl::Status& Subscriber::status() const {
  return state_->fork.in_child() ? state_->fork.error() : state_->follower.status();
}
StoredPosition Subscriber::position() const {
  return state_->follower.position();
}
Sequence Subscriber::durable() const {
  return state_->fork.in_child() ? kNoSequence : state_->follower.durable();
}
Sequence Subscriber::head() const {
  return state_->fork.in_child() ? kNoSequence : state_->follower.head();
}
std::uint64_t Subscriber::lag() const {
  const Sequence head = this->head();
  const Sequence taken = state_->follower.next() - 1;
  return head > taken ? head - taken : 0;
}
SubscriberCounters Subscriber::counters() const {
  return state_->follower.counters_now();
}
std::optional<Ages> Subscriber::ages() const {
  return state_->follower.ages();
}

}  // namespace lapwing
