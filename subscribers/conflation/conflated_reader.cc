#include "lapwing/conflation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/fold.h"
#include "os/busy_flag.h"
#include "os/deadline.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/thread_words.h"
#include "os/wait_source.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/latest_fold.h"
#include "subscribers/conflation/conflation_access.h"
#include "subscribers/conflation/conflation_table.h"
#include "subscribers/subscriber_access.h"

namespace lapwing {
namespace {

constexpr std::size_t kConflationBatchRecords = 256;
constexpr int kBatchesPerCall = 16;  // for a call that does not wait
constexpr std::uint32_t kKeysMaxMax = (std::uint32_t{1} << 31) - 1;

absl::StatusOr<ConflationKey> key_of_fold(absl::StatusOr<std::unique_ptr<Fold>> made,
                                          const std::string& schema) {
  if (!made.ok()) {
    return make_error(errc_of(made.status()),
                      absl::StrCat("records of schema `", schema,
                                   "` have no known key. Set ConflationOptions::key"));
  }
  std::shared_ptr<const Fold> fold = *std::move(made);
  const std::uint32_t key_bytes = fold->shape().key_bytes;
  return ConflationKey{key_bytes, [fold](std::span<const std::byte> record,
                                         std::span<std::byte> key) { fold->key_of(record, key); }};
}

// The columns that read() fills in addition to the rows.
struct Columns {
  std::span<Sequence> sequences;
  std::span<std::uint64_t> conflated;

  std::size_t places() const { return std::min(sequences.size(), conflated.size()); }
  void set(std::size_t row, const Item& item) const {
    sequences[row] = item.sequence;
    conflated[row] = item.conflated;
  }
};

// The format and the key of the bus's records.
struct RecordFormat {
  std::string schema;
  std::shared_ptr<const Schema> description;
  std::uint32_t record_bytes = 0;
  ConflationKey key;
  std::vector<std::byte> key_bytes;  // space for one key

  bool is_of(const Subscriber& subscriber) const {
    return description == subscriber.schema() && record_bytes == subscriber.record_bytes() &&
           schema == subscriber.schema_name();
  }
  std::span<const std::byte> key_of(std::span<const std::byte> record) {
    key.of(record, key_bytes);
    return key_bytes;
  }
};

// Records that were read but are not in the table yet.
struct ReadRecords {
  std::vector<std::byte> rows;
  std::array<Sequence, kConflationBatchRecords> sequences = {};
  std::size_t next = 0;
  std::size_t end = 0;

  bool empty() const { return next == end; }
  void hold(std::size_t count) {
    next = 0;
    end = count;
  }
  std::span<const std::byte> front(std::size_t record_bytes) const {
    return std::span(rows).subspan(next * record_bytes, record_bytes);
  }
};

}  // namespace

absl::StatusOr<ConflationKey> latest_key(const Schema& schema) {
  return key_of_fold(make_fold(kFoldLatest, schema), schema.name);
}

absl::StatusOr<ConflationKey> latest_key(const std::string& schema) {
  return key_of_fold(make_fold(kFoldLatest, schema), schema);
}

struct ConflatedReader::State final : WaitSource {
  State(Subscriber opened, ConflationOptions given)
      : subscriber(std::move(opened)), options(std::move(given)) {
    if (!options.now_ns) options.now_ns = monotonic_ns;
  }

  Result<Item> next(Deadline deadline);
  std::optional<Item> due();
  Item deliver();
  Result<Batch> read(std::span<std::byte> rows, const Columns* columns, Deadline deadline);
  void put_back_item(const Item& item);
  void put_batch();
  bool take_batch();
  void hold(const Item& item);
  void hold_event(const Event& given);
  void take(const Item& item);
  bool is_prepared() const;
  absl::Status prepare();
  bool interval_over(std::uint64_t now) const;
  std::uint64_t interval_ns() const { return ns_of(options.interval); }
  std::uint32_t waiting() const { return (table ? table->size() : 0) + (record_is_back() ? 1 : 0); }
  bool record_is_back() const { return put_back && put_back->kind == ItemKind::kRecord; }
  Result<Item> rest(std::uint64_t until_ns);
  bool is_due() const;
  // Used by a wait set between calls. The next item waits in put_back.
  bool can_sleep() const override { return source.can_sleep(); }
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;
  std::uint64_t rest_ns() const;
  const absl::Status& status() const {
    if (fork.in_child()) return fork.error();
    return failure.ok() ? subscriber.status() : failure;
  }

  Subscriber subscriber;
  WaitSource& source = *SubscriberAccess::wait_source(subscriber);
  ConflationOptions options;

  RecordFormat format;
  std::optional<ConflationTable> table;
  ReadRecords read_records;

  bool delivering = false;   // delivers all waiting records before taking more
  std::optional<Item> held;  // an event or a state entry that follows the waiting records
  Event held_event;          // the event of `held`
  std::vector<std::byte> held_row;
  bool loads_state = false;      // after a gap, until the end of the state is held
  Event event;                   // the last one that was delivered
  std::optional<Item> put_back;  // the next item, found by a call that does not return it
  std::uint64_t ends_ns = 0;     // end of the interval, while records wait
  ConflationCounters counters;
  absl::Status failure;
  InterruptFlag interrupts;  // raised together with the subscriber's
  BusyFlag resting;
  bool refused = false;  // the last call overlapped a waiting one
  ForkWatch fork{"conflated reader"};
};

Result<Item> ConflatedReader::State::next(Deadline deadline) {
  if (fork.in_child()) return Errc::kForked;
  if (resting.is_taken()) {
    refused = true;
    return Errc::kMisuse;
  }
  refused = false;
  if (put_back) {
    if (record_is_back()) ++counters.delivered;
    return *std::exchange(put_back, std::nullopt);
  }
  const std::uint64_t deadline_ns = deadline.monotonic_ns();
  // A call that must not wait must return even if the feed never pauses.
  for (int batches = 0;; ++batches) {
    if (const std::optional<Item> item = due()) return *item;
    if (!failure.ok()) return errc_of(failure);
    const bool took = take_batch();
    const std::uint64_t now = deadline_ns == 0 ? 0 : monotonic_ns();
    const bool is_over = deadline_ns == 0 ? batches >= kBatchesPerCall : now >= deadline_ns;
    if (took && is_over) return nothing_by(deadline);  // leave the rest for the next call
    if (took || held) continue;
    const std::uint64_t until = waiting() > 0 ? now + rest_ns() : deadline_ns;
    const Result<Item> item = rest(std::min(deadline_ns, until));
    if (item.ok()) {
      take(*item);
    } else if (item == Errc::kInterrupted) {
      interrupts.take();
      return item;
    } else if (!came_to_nothing(item.error())) {
      return item;
    } else if (now >= deadline_ns) {
      return nothing_by(deadline);
    } else if (interrupts.take()) {
      return Errc::kInterrupted;
    }
  }
}

// Other calls are refused while this one waits.
Result<Item> ConflatedReader::State::rest(std::uint64_t until_ns) {
  if (!resting.try_take()) {
    refused = true;
    return Errc::kMisuse;
  }
  Result<Item> item = subscriber.next(Deadline::at_monotonic_ns(until_ns));
  refused = false;  // by a call that overlapped this one
  resting.release();
  return item;
}

std::uint64_t ConflatedReader::State::rest_ns() const {
  if (waiting() == 0) return std::numeric_limits<std::uint64_t>::max();
  if (record_is_back()) return 0;
  const std::uint64_t now = options.now_ns();
  return interval_over(now) ? 0 : ends_ns - now;
}

// True if there is something to deliver before the subscriber is polled again, apart from the end
// of the interval.
bool ConflatedReader::State::is_due() const {
  return put_back || held || delivering || !read_records.empty();
}

// Takes the subscriber's available items, as a call does.
bool ConflatedReader::State::is_ready() {
  if (fork.in_child() || put_back) return true;
  const bool is_over = waiting() > 0 && interval_over(options.now_ns());
  if (!is_due() && !is_over && failure.ok() && !source.is_ready()) return false;
  const Result<Item> item = next(Deadline::now());
  if (item.ok()) put_back_item(*item);
  return !came_to_nothing(item.error());  // the caller's own call reports an end or misuse
  return true;
}

std::optional<WakeUp> ConflatedReader::State::prepare_wait() {
  if (!resting.try_take()) return std::nullopt;
  std::optional<WakeUp> wake_up = source.prepare_wait();
  if (!wake_up) {
    resting.release();
    return std::nullopt;
  }
  if (waiting() > 0) {
    wake_up->wake_by_ns = std::min(wake_up->wake_by_ns, after_ns(monotonic_ns(), rest_ns()));
  }
  return wake_up;
}

void ConflatedReader::State::finish_wait() {
  source.finish_wait();
  refused = false;  // by a call that overlapped the wait
  resting.release();
}

// The interval also ends if the clock was set back.
bool ConflatedReader::State::interval_over(std::uint64_t now) const {
  return now >= ends_ns || ends_ns - now > interval_ns();
}

// Returns the item that is due before the subscriber is polled again.
std::optional<Item> ConflatedReader::State::due() {
  for (;;) {
    put_batch();
    if (waiting() > 0 && interval_over(options.now_ns())) delivering = true;
    if (delivering && waiting() > 0) return deliver();
    delivering = false;
    if (held) {
      Item item = *std::exchange(held, std::nullopt);
      if (item.event != nullptr) {
        event = std::move(held_event);
        item.event = &event;
      }
      return item;
    }
    if (read_records.empty()) break;
  }
  return std::nullopt;
}

Item ConflatedReader::State::deliver() {
  const ConflationTable::Waiting waiting = table->take_front();
  ++counters.delivered;
  return {.kind = ItemKind::kRecord,
          .sequence = waiting.sequence,
          .record = waiting.record,
          .conflated = waiting.conflated};
}

// Makes the item wait again.
void ConflatedReader::State::put_back_item(const Item& item) {
  if (item.kind == ItemKind::kRecord) --counters.delivered;
  put_back = item;
}

// Puts the batch into the table, as far as there is room for new keys.
void ConflatedReader::State::put_batch() {
  if (delivering || read_records.empty()) return;
  if (waiting() == 0) ends_ns = (options.now_ns() / interval_ns() + 1) * interval_ns();
  const std::uint32_t waited = waiting();
  const std::size_t begin = read_records.next;
  for (; !read_records.empty(); ++read_records.next) {
    const std::span<const std::byte> record = read_records.front(format.record_bytes);
    const Sequence sequence = read_records.sequences[read_records.next];
    if (table->put(format.key_of(record), sequence, record)) continue;
    ++counters.early;
    delivering = true;
    break;
  }
  const std::uint64_t put = read_records.next - begin;
  counters.records += put;
  counters.conflated += put - (waiting() - waited);
}

// Takes the subscriber's available records, up to an event. Returns false if it took none: there
// are none, or the subscriber's next() must report the reason. A state is also left to next(),
// because its entries are not records.
bool ConflatedReader::State::take_batch() {
  if (!failure.ok() || !is_prepared() || loads_state) return false;
  const Result<Batch> read =
      subscriber.read(read_records.rows, read_records.sequences, Deadline::now());
  if (read->event) {
    hold_event(*read->event);
    return false;
  }
  if (!read.ok() || read->kind != ItemKind::kRecord) return false;
  read_records.hold(read->count);
  return true;
}

void ConflatedReader::State::hold(const Item& item) {
  held = item;
  delivering = true;
}

void ConflatedReader::State::hold_event(const Event& given) {
  held_event = given;
  const bool ends_state =
      given.kind == EventKind::kSnapshotComplete || given.kind == EventKind::kNoSnapshot;
  if (given.kind == EventKind::kGap) loads_state = given.on_gap == OnGap::kSnapshot;
  if (ends_state) loads_state = false;
  hold({.kind = ItemKind::kEvent, .sequence = held_event.sequence, .event = &held_event});
}

void ConflatedReader::State::take(const Item& item) {
  if (item.kind == ItemKind::kState) {
    held_row.assign(item.record.begin(), item.record.end());
    hold(item);
    held->record = held_row;
    return;
  }
  if (item.kind != ItemKind::kRecord) return hold_event(*item.event);
  if (!is_prepared()) failure = prepare();
  if (!failure.ok()) return;
  std::copy(item.record.begin(), item.record.end(), read_records.rows.begin());
  read_records.sequences[0] = item.sequence;
  read_records.hold(1);
}

bool ConflatedReader::State::is_prepared() const {
  return table && format.is_of(subscriber);
}

// Called for the first record, also after a bus was replaced. No record is waiting at that time.
absl::Status ConflatedReader::State::prepare() {
  format.description = subscriber.schema();
  absl::StatusOr<ConflationKey> found = options.key.of       ? options.key
                                        : format.description ? latest_key(*format.description)
                                                             : latest_key(subscriber.schema_name());
  if (!found.ok()) return found.status();
  format.schema = subscriber.schema_name();
  format.record_bytes = subscriber.record_bytes();
  format.key = *std::move(found);
  format.key_bytes.resize(format.key.key_bytes);
  read_records.rows.resize(kConflationBatchRecords * format.record_bytes);
  table.emplace(format.key.key_bytes, format.record_bytes, options.keys_max);
  return absl::OkStatus();
}

absl::StatusOr<ConflatedReader> ConflatedReader::open(SubscriberOptions subscriber,
                                                      ConflationOptions options) {
  if (options.interval.count() <= 0) {
    return make_error(Errc::kInvalidArgument, "the interval of conflation must be above 0");
  }
  if (options.keys_max == 0 || options.keys_max > kKeysMaxMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("keys_max is ", options.keys_max, "; give 1 to ", kKeysMaxMax));
  }
  if (options.key.key_bytes != 0 && !options.key.of) {
    return make_error(Errc::kInvalidArgument,
                      "key.key_bytes is set without key.of, the function that makes the key. Set "
                      "both, or neither to use the key of the bus's schema");
  }
  absl::StatusOr<Subscriber> opened = Subscriber::open(std::move(subscriber));
  if (!opened.ok()) return opened.status();
  return ConflatedReader(StateHandle(new State(*std::move(opened), std::move(options))));
}

WaitSource* ConflationAccess::wait_source(ConflatedReader& reader) {
  return reader.state_.get();
}

ConflatedReader::ConflatedReader(StateHandle state) : state_(std::move(state)) {}
ConflatedReader::ConflatedReader(ConflatedReader&&) noexcept = default;
ConflatedReader& ConflatedReader::operator=(ConflatedReader&&) noexcept = default;
ConflatedReader::~ConflatedReader() = default;
void ConflatedReader::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}

Result<Item> ConflatedReader::next(Deadline deadline) {
  return state_->next(deadline);
}

Result<ConflatedSequence> ConflatedReader::read_one(std::span<std::byte> record,
                                                    Deadline deadline) {
  const Result<Item> item = state_->next(deadline);
  if (!item.ok()) return item.error();
  const bool is_record = item->kind == ItemKind::kRecord;
  if (!is_record || item->record.size() != record.size()) {
    state_->put_back_item(*item);
    return is_record ? Errc::kRecordSize : Errc::kEventDue;
  }
  std::copy(item->record.begin(), item->record.end(), record.begin());
  return ConflatedSequence{item->sequence, item->conflated};
}

Result<Event> ConflatedReader::read_event() {
  const Result<Item> item = state_->next(Deadline::now());
  if (!item.ok()) return item.error();
  if (item->event != nullptr) return *item->event;
  state_->put_back_item(*item);
  return item->kind == ItemKind::kState ? Errc::kEventDue : Errc::kWouldBlock;
}

Result<Batch> ConflatedReader::State::read(std::span<std::byte> rows, const Columns* columns,
                                           Deadline deadline) {
  const Result<Item> first = next(deadline);
  if (!first.ok()) return first.error();
  if (first->event != nullptr) {
    return Batch{.kind = ItemKind::kEvent, .event = std::make_shared<const Event>(*first->event)};
  }
  const bool is_state = first->kind == ItemKind::kState;
  const std::size_t row_bytes = first->record.size();
  const std::size_t places = std::min(rows.size() / row_bytes, columns ? columns->places() : 1);
  Batch answer{.kind = first->kind,
               .first = is_state ? kNoSequence : first->sequence,
               .row_bytes = static_cast<std::uint32_t>(row_bytes)};
  if (places == 0) {
    put_back_item(*first);
    return {Errc::kTooSmall, {.row_bytes = answer.row_bytes}};
  }
  for (Item item = *first;; item = deliver()) {
    std::copy(item.record.begin(), item.record.end(),
              rows.subspan(answer.count * row_bytes).begin());
    if (columns != nullptr) columns->set(answer.count, item);
    answer.conflated += item.conflated;
    ++answer.count;
    if (answer.count == places || is_state || !delivering || waiting() == 0) return answer;
  }
}

Result<Batch> ConflatedReader::read(std::span<std::byte> rows, Deadline deadline) {
  return state_->read(rows, nullptr, deadline);
}

Result<Batch> ConflatedReader::read(std::span<std::byte> rows, std::span<Sequence> sequences,
                                    std::span<std::uint64_t> conflated, Deadline deadline) {
  const Columns columns{sequences, conflated};
  return state_->read(rows, &columns, deadline);
}

void ConflatedReader::interrupt() noexcept {
  state_->interrupts.raise();
  state_->subscriber.interrupt();
}

std::uint32_t ConflatedReader::waiting() const {
  return state_->fork.in_child() ? 0 : state_->waiting();
}
std::chrono::nanoseconds ConflatedReader::interval_left() const {
  if (waiting() == 0) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(state_->rest_ns());
}
ConflationCounters ConflatedReader::counters() const {
  return state_->counters;
}
const absl::Status& ConflatedReader::status() const {
  return state_->status();
}
const Subscriber& ConflatedReader::subscriber() const {
  return state_->subscriber;
}
absl::StatusOr<int> ConflatedReader::fd() {
  return state_->subscriber.fd();
}
bool ConflatedReader::arm() {
  return !state_->is_due() && state_->subscriber.arm();
}

}  // namespace lapwing
