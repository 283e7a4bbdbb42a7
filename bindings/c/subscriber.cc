#include "lapwing/subscriber.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bindings/c/batch.h"
#include "bindings/c/call.h"
#include "bindings/c/positions.h"
#include "bindings/c/schema.h"
#include "bindings/c/structs.h"
#include "bindings/c/wait_sources.h"
#include "lapwing/conflation.h"
#include "lapwing/fold.h"
#include "subscribers/subscriber_access.h"

namespace lapwing::c {
namespace {

static_assert(LAPWING_BATCH_RECORDS == static_cast<int>(ItemKind::kRecord));
static_assert(LAPWING_BATCH_STATE == static_cast<int>(ItemKind::kState));
static_assert(LAPWING_BATCH_EVENT == static_cast<int>(ItemKind::kEvent));

constexpr int kArmAttemptsMax = 16;

bool gave_nothing(Errc result) {
  return result == Errc::kWouldBlock || result == Errc::kTimedOut || result == Errc::kInterrupted;
}

// A subscriber, or a conflated reader on top of one.
class Reads {
 public:
  Reads(Subscriber subscriber, bool is_sparse)
      : plain_(std::move(subscriber)), is_sparse_(is_sparse) {}
  explicit Reads(ConflatedReader reader) : conflated_(std::move(reader)), is_sparse_(true) {}

  // Reads a record that is available or arrives soon. Returns false if there is none; read_one()
  // then returns the reason. It does not read the clock and never waits, so it does not mark the
  // handle: see quick_call().
  bool read_at_hand(std::span<std::byte> record, std::int64_t timeout_ns,
                    std::uint64_t* const& sequence);
  Errc read_one(std::span<std::byte> record, std::int64_t timeout_ns, std::uint64_t& sequence);
  lapwing_result read(BatchOut out, std::int64_t timeout_ns, lapwing_error* error);
  absl::StatusOr<StoredPosition> position(Sequence sequence) const;
  absl::StatusOr<int> fd();
  // Errors: kMisuse before the first session, kNotFound, kTooSmall.
  absl::Status put_schema(const SchemaOut& out) const;
  absl::StatusOr<lapwing_ages> ages() const;
  lapwing_subscriber_info info() const;
  absl::StatusOr<SourceId> add_to(WaitSet& set, std::uint64_t token) {
    return plain_ ? set.add(*plain_, token) : set.add(*conflated_, token);
  }
  const absl::Status& status() const { return plain_ ? plain_->status() : conflated_->status(); }
  void interrupt() noexcept { plain_ ? plain_->interrupt() : conflated_->interrupt(); }

 private:
  struct Row {
    Errc result;
    Sequence sequence;
    std::uint64_t conflated;
  };

  const Subscriber& subscriber() const { return plain_ ? *plain_ : conflated_->subscriber(); }
  bool arm() { return plain_ ? plain_->arm() : conflated_->arm(); }
  bool is_covered(Errc result, int attempt);
  Errc arm_or_read(std::span<std::byte> record, Errc nothing, std::uint64_t& sequence);
  Row read_row(std::span<std::byte> record, Deadline deadline);
  Result<Batch> read_once(const BatchOut& out, std::span<std::byte> rows, Deadline deadline);
  Result<Batch> read_into(const BatchOut& out, Deadline deadline);
  Result<Batch> read_armed(const BatchOut& out, std::int64_t timeout_ns);

  std::optional<Subscriber> plain_;
  std::optional<ConflatedReader> conflated_;
  bool is_sparse_;  // rows are not consecutive
  bool has_fd_ = false;
  std::vector<std::uint64_t> conflated_rows_;  // for a batch without that column
  // As of the last session or reset event.
  std::shared_ptr<const Schema> schema_;
  bool is_introduced_ = false;
  // The sequences of the last batch of records.
  Sequence first_ = kNoSequence;
  Sequence last_ = kNoSequence;
};

Reads::Row Reads::read_row(std::span<std::byte> record, Deadline deadline) {
  if (plain_) {
    const Result<Sequence> read = plain_->read_one(record, deadline);
    return {read.error(), *read, 0};
  }
  const Result<ConflatedSequence> read = conflated_->read_one(record, deadline);
  return {read.error(), read->sequence, read->conflated};
}

[[gnu::always_inline]] inline bool Reads::read_at_hand(std::span<std::byte> record,
                                                       std::int64_t timeout_ns,
                                                       std::uint64_t* const& sequence) {
  if (!plain_) [[unlikely]]
    return false;
  lapwing::detail::ReadPath& path = SubscriberAccess::path(*plain_);
  if (record.size() != path.record_bytes ||
      !path.take_bytes(record.data(), timeout_ns < 0 ? path.looks : 0)) [[unlikely]] {
    return false;
  }
  *sequence = path.next - 1;
  return true;
}

Errc Reads::read_one(std::span<std::byte> record, std::int64_t timeout_ns,
                     std::uint64_t& sequence) {
  const Row row = read_row(record, deadline_in(timeout_ns));
  sequence = row.sequence;
  if (!has_fd_ || !gave_nothing(row.result)) return row.result;
  return arm_or_read(record, row.result, sequence);
}

// Returns whether the descriptor covers a call that found nothing: it is armed, or still readable.
// Limits the number of attempts, so that conflated records and those of other instruments do not
// delay the call.
bool Reads::is_covered(Errc result, int attempt) {
  if (!has_fd_ || !gave_nothing(result)) return true;
  return arm() || result == Errc::kInterrupted || attempt == kArmAttemptsMax;
}

Errc Reads::arm_or_read(std::span<std::byte> record, Errc nothing, std::uint64_t& sequence) {
  for (int attempt = 1; !is_covered(nothing, attempt); ++attempt) {
    const Row row = read_row(record, Deadline::now());
    if (row.result == Errc::kWouldBlock) continue;
    sequence = row.sequence;
    nothing = row.result;
  }
  return nothing;
}

// Reads rows that are not consecutive into one batch only if there is a column for their sequences.
Result<Batch> Reads::read_once(const BatchOut& out, std::span<std::byte> rows, Deadline deadline) {
  const std::span<Sequence> sequences = out.sequences();
  if (!is_sparse_ || sequences.empty()) {
    return plain_ ? plain_->read(rows, deadline) : conflated_->read(rows, deadline);
  }
  return plain_ ? plain_->read(rows, sequences, deadline)
                : conflated_->read(rows, sequences, out.conflated(conflated_rows_), deadline);
}

// State entries are larger than records, so their batch may need memory beyond rows_max
// records.
Result<Batch> Reads::read_into(const BatchOut& out, Deadline deadline) {
  Result<Batch> batch = read_once(out, out.room(subscriber().record_bytes()), deadline);
  if (batch == Errc::kTooSmall) {
    const std::span<std::byte> room = out.room(batch->row_bytes);
    if (room.size() >= batch->row_bytes) batch = read_once(out, room, deadline);
  }
  return batch;
}

// Like arm_or_read(), for a batch.
Result<Batch> Reads::read_armed(const BatchOut& out, std::int64_t timeout_ns) {
  Result<Batch> batch = read_into(out, deadline_in(timeout_ns));
  for (int attempt = 1; !is_covered(batch.error(), attempt); ++attempt) {
    Result<Batch> again = read_into(out, Deadline::now());
    if (again != Errc::kWouldBlock) batch = std::move(again);
  }
  return batch;
}

lapwing_result Reads::read(BatchOut out, std::int64_t timeout_ns, lapwing_error* error) {
  const Result<Batch> read = read_armed(out, timeout_ns);
  const Batch& batch = *read;
  if (!read.ok()) {
    out.set_row_bytes(batch.row_bytes);
    return fail_with(error, read.error(), status());
  }
  if (batch.is(EventKind::kSession) || batch.is(EventKind::kReset)) {
    schema_ = batch.event->schema;
    is_introduced_ = true;
  }
  const bool by_columns = is_sparse_ && !out.sequences().empty();
  by_columns ? out.set_sparse(batch, conflated_.has_value()) : out.set(batch);
  if (batch.kind != ItemKind::kRecord) return success();
  first_ = batch.first;
  last_ = by_columns ? out.sequences()[batch.count - 1] : batch.first + batch.count - 1;
  return success();
}

absl::StatusOr<StoredPosition> Reads::position(Sequence sequence) const {
  StoredPosition position = subscriber().position();
  if (sequence == kNoSequence) return position;
  if (first_ == kNoSequence || sequence < first_ || sequence > last_) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("record ", sequence, " is not of the last batch, which had ",
                                   first_, " to ", last_));
  }
  position.sequence = sequence;
  return position;
}

absl::StatusOr<int> Reads::fd() {
  absl::StatusOr<int> fd = plain_ ? plain_->fd() : conflated_->fd();
  has_fd_ = fd.ok();
  return fd;
}

absl::Status Reads::put_schema(const SchemaOut& out) const {
  if (!is_introduced_) {
    return make_error(
        Errc::kMisuse,
        "no session was delivered yet. Read first: the event of a session has the schema");
  }
  if (schema_ == nullptr) {
    return make_error(Errc::kNotFound, "the records of this session are not described");
  }
  return out.put(*schema_);
}

absl::StatusOr<lapwing_ages> Reads::ages() const {
  const std::optional<Ages> measured = subscriber().ages();
  if (!measured || measured->age_ns.count() == 0) {
    return make_error(
        Errc::kNotFound,
        "no age was measured: options.measure_every is 0, or no record with a time of "
        "publishing was delivered");
  }
  lapwing_ages ages{};
  ages.count = measured->age_ns.count();
  ages.negative = measured->negative;
  ages.unstamped = measured->unstamped;
  ages.p50_ns = measured->age_ns.percentile(0.5);
  ages.p90_ns = measured->age_ns.percentile(0.9);
  ages.p99_ns = measured->age_ns.percentile(0.99);
  ages.p999_ns = measured->age_ns.percentile(0.999);
  ages.max_ns = measured->age_ns.max();
  return ages;
}

lapwing_subscriber_info Reads::info() const {
  const Subscriber& subscriber = this->subscriber();
  const SubscriberCounters counters = subscriber.counters();
  const StoredPosition position = subscriber.position();
  lapwing_subscriber_info info{};
  info.record_bytes = subscriber.record_bytes();
  put_text(info.schema_name, subscriber.schema_name());
  if (subscriber.fold() != nullptr) put_text(info.fold, subscriber.fold()->shape().name);
  info.journal_id = id_of(position.journal_id);
  info.session_id = id_of(position.session_id);
  info.head = subscriber.head();
  info.lag = subscriber.lag();
  info.durable = subscriber.durable();
  info.is_live = subscriber.live() ? 1 : 0;
  info.is_described = subscriber.schema() != nullptr ? 1 : 0;
  info.records = counters.records;
  info.first = counters.first;
  info.last = counters.last;
  info.gaps = counters.gaps;
  info.lost = counters.lost;
  info.in_state = counters.in_state;
  info.filled = counters.filled;
  info.duplicates = counters.duplicates;
  info.out_of_order = counters.out_of_order;
  info.sessions = counters.sessions;
  info.reattached = counters.reattached;
  info.state_entries = counters.state;
  info.filtered = counters.filtered;
  if (conflated_) {
    info.conflated = conflated_->counters().conflated;
    info.waiting = conflated_->waiting();
  }
  return info;
}

constexpr std::uint32_t kSubscriberFlags =
    LAPWING_SUBSCRIBER_END_AT_CLOSE | LAPWING_SUBSCRIBER_CONFLATE | LAPWING_SUBSCRIBER_OBSERVES;

// Refuses options that would be ignored.
absl::Status check_subscriber_choices(const lapwing_subscriber_options& given) {
  const auto refused = [](const char* field, std::uint64_t value, const char* why) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("options.", field, " is ", value, ", ", why));
  };
  if ((given.flags & ~kSubscriberFlags) != 0) {
    return refused("flags", given.flags,
                   "which is not a sum of LAPWING_SUBSCRIBER_END_AT_CLOSE, CONFLATE and OBSERVES");
  }
  if (given.start > LAPWING_START_AFTER) {
    return refused("start", given.start,
                   "which is not LAPWING_START_LIVE, OLDEST, SEQUENCE, TIME, SNAPSHOT or AFTER");
  }
  if (given.on_gap < LAPWING_ON_GAP_FILL || given.on_gap > LAPWING_ON_GAP_SNAPSHOT) {
    return refused("on_gap", given.on_gap,
                   "which is not LAPWING_ON_GAP_FILL, SKIP, STOP or SNAPSHOT");
  }
  if (given.wait < LAPWING_WAIT_BUSY || given.wait > LAPWING_WAIT_PARK) {
    return refused("wait", given.wait, "which is not LAPWING_WAIT_BUSY, BACKOFF or PARK");
  }
  const bool has_value = given.start == LAPWING_START_SEQUENCE || given.start == LAPWING_START_TIME;
  if (!has_value && given.start_value != 0) {
    return refused("start_value", given.start_value, "but start is neither a sequence nor a time");
  }
  if (given.start != LAPWING_START_AFTER && given.start_position.sequence != 0) {
    return refused("start_position.sequence", given.start_position.sequence,
                   "but start is not a position");
  }
  for (const auto& [field, ns] : {std::pair("reattach_ns", given.reattach_ns),
                                  std::pair("flush_timeout_ns", given.flush_timeout_ns),
                                  std::pair("stale_after_ns", given.stale_after_ns),
                                  std::pair("behind_time_ns", given.behind_time_ns)}) {
    if (absl::Status good = check_duration(field, ns); !good.ok()) return good;
  }
  const lapwing_subscriber_options unset = LAPWING_SUBSCRIBER_OPTIONS_INIT;
  if ((given.flags & LAPWING_SUBSCRIBER_CONFLATE) == 0 &&
      (given.conflate_interval_ns != unset.conflate_interval_ns ||
       given.conflate_keys_max != unset.conflate_keys_max)) {
    return make_error(Errc::kInvalidArgument,
                      "options.conflate_interval_ns or conflate_keys_max is set without the flag "
                      "LAPWING_SUBSCRIBER_CONFLATE");
  }
  if (given.instruments == nullptr && given.instrument_count != 0) {
    return refused("instrument_count", given.instrument_count, "and instruments is NULL");
  }
  return absl::OkStatus();
}

Start start_of(const lapwing_subscriber_options& given) {
  const auto kind = [&given] {
    switch (given.start) {
      case LAPWING_START_OLDEST:
        return Start::oldest();
      case LAPWING_START_SEQUENCE:
        return Start::sequence(given.start_value);
      case LAPWING_START_TIME:
        return Start::time(given.start_value);
      case LAPWING_START_SNAPSHOT:
        return Start::snapshot();
      case LAPWING_START_AFTER:
        return Start::after(position_of(given.start_position));
      default:
        return Start::live();
    }
  };
  Start start = kind();
  start.fold = text_of(given.fold);
  return start;
}

absl::StatusOr<SubscriberOptions> subscriber_options(const lapwing_subscriber_options& given) {
  if (absl::Status good = check_subscriber_choices(given); !good.ok()) return good;
  SubscriberOptions options;
  options.directory = text_of(given.directory);
  options.name = text_of(given.name);
  options.start = start_of(given);
  if (given.expect != nullptr) {
    absl::StatusOr<Schema> expected = Schema::parse(given.expect);
    if (!expected.ok()) return expected.status();
    options.expect = *std::move(expected);
  }
  for (std::size_t i = 0; i < given.instrument_count; ++i) {
    options.instruments.push_back(text_of(given.instruments[i]));
  }
  options.on_gap = OnGap{given.on_gap};
  options.wait = WaitStrategy{given.wait};
  options.end_at_close = (given.flags & LAPWING_SUBSCRIBER_END_AT_CLOSE) != 0;
  options.observes = (given.flags & LAPWING_SUBSCRIBER_OBSERVES) != 0;
  options.reattach = duration_of(given.reattach_ns);
  options.flush_timeout = duration_of(given.flush_timeout_ns);
  options.stale_after = duration_of(given.stale_after_ns);
  options.behind_records = given.behind_records;
  options.behind_time = duration_of(given.behind_time_ns);
  options.measure_every = given.measure_every;
  return options;
}

absl::StatusOr<Reads> open_subscriber(const lapwing_subscriber_options* given) {
  lapwing_subscriber_options taken = LAPWING_SUBSCRIBER_OPTIONS_INIT;
  if (given == nullptr) {
    return make_error(Errc::kInvalidArgument, "options is NULL; a subscriber needs a directory");
  }
  if (absl::Status read = copy_in(given, "options", taken); !read.ok()) return read;
  absl::StatusOr<SubscriberOptions> options = subscriber_options(taken);
  if (!options.ok()) return options.status();
  if ((taken.flags & LAPWING_SUBSCRIBER_CONFLATE) == 0) {
    const bool is_sparse = !options->instruments.empty();
    absl::StatusOr<Subscriber> opened = Subscriber::open(*std::move(options));
    if (!opened.ok()) return opened.status();
    return Reads(*std::move(opened), is_sparse);
  }
  ConflationOptions conflation;
  conflation.interval = duration_of(taken.conflate_interval_ns);
  conflation.keys_max = taken.conflate_keys_max;
  absl::StatusOr<ConflatedReader> opened =
      ConflatedReader::open(*std::move(options), std::move(conflation));
  if (!opened.ok()) return opened.status();
  return Reads(*std::move(opened));
}

}  // namespace
}  // namespace lapwing::c

struct lapwing_subscriber : lapwing::c::Handle<lapwing::c::Reads> {
  static constexpr char kWhat[] = "subscriber";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

// Arguments that a read needs only if it finds no record. If they were in registers, every read
// would save and restore them around the search.
struct ReadOneRest {
  std::int64_t timeout_ns;
  std::uint64_t* sequence;
  lapwing_error* error;
};

[[gnu::noinline]] lapwing_result read_one_further(lapwing_subscriber* subscriber, void* record,
                                                  std::size_t record_bytes,
                                                  const ReadOneRest& rest) noexcept {
  return call(subscriber, rest.error, [&](Reads& opened) -> lapwing_result {
    if (record == nullptr || rest.sequence == nullptr) {
      return fail(rest.error, Errc::kInvalidArgument,
                  "record or sequence is NULL; give its address");
    }
    const std::span row(static_cast<std::byte*>(record), record_bytes);
    const Errc read = opened.read_one(row, rest.timeout_ns, *rest.sequence);
    return read == Errc::kOk ? success() : fail_with(rest.error, read, opened.status());
  });
}

}  // namespace

lapwing_result add_to(WaitSet& set, lapwing_subscriber* subscriber, std::uint64_t token,
                      std::uint64_t* source, lapwing_error* error) {
  return call(subscriber, error,
              [&](Reads& opened) { return put_source(opened.add_to(set, token), source, error); });
}

}  // namespace lapwing::c

using namespace lapwing::c;

extern "C" {

void lapwing_subscriber_options_init(lapwing_subscriber_options* options, uint32_t struct_size) {
  set_defaults(lapwing_subscriber_options LAPWING_SUBSCRIBER_OPTIONS_INIT, options, struct_size);
}

lapwing_result lapwing_subscriber_open(const lapwing_subscriber_options* options,
                                       lapwing_subscriber** subscriber, lapwing_error* error) {
  return open_into(subscriber, error, [&] { return open_subscriber(options); });
}

lapwing_result lapwing_subscriber_read(lapwing_subscriber* subscriber, lapwing_batch* batch,
                                       int64_t timeout_ns, lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) {
    if (absl::Status good = BatchOut::check(batch); !good.ok()) return fail(error, good);
    return opened.read(BatchOut(*batch), timeout_ns, error);
  });
}

lapwing_result lapwing_subscriber_read_one(lapwing_subscriber* subscriber, void* record,
                                           size_t record_bytes, int64_t timeout_ns,
                                           uint64_t* sequence, lapwing_error* error) {
  ReadOneRest rest{timeout_ns, sequence, error};
  if (may_call(subscriber) && record != nullptr && sequence != nullptr) [[likely]] {
    const std::span row(static_cast<std::byte*>(record), record_bytes);
    if (subscriber->object.read_at_hand(row, timeout_ns, rest.sequence)) [[likely]]
      return success();
  }
  return read_one_further(subscriber, record, record_bytes, rest);
}

lapwing_result lapwing_subscriber_schema(lapwing_subscriber* subscriber, lapwing_schema* schema,
                                         lapwing_field* fields, size_t fields_max, char* text,
                                         size_t text_bytes_max, lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) -> lapwing_result {
    const SchemaOut out{schema, fields, fields_max, text, text_bytes_max};
    if (absl::Status fits = out.check(); !fits.ok()) return fail(error, fits);
    const absl::Status put = opened.put_schema(out);
    return put.ok() ? success() : fail(error, put);
  });
}

lapwing_result lapwing_subscriber_ages(lapwing_subscriber* subscriber, lapwing_ages* ages,
                                       lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) -> lapwing_result {
    const absl::StatusOr<lapwing_ages> measured = opened.ages();
    if (!measured.ok()) return fail(error, measured.status());
    return fill(ages, "ages", error, [&] { return *measured; });
  });
}

lapwing_result lapwing_subscriber_inspect(lapwing_subscriber* subscriber,
                                          lapwing_subscriber_info* info, lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) {
    return fill(info, "info", error, [&] { return opened.info(); });
  });
}

lapwing_result lapwing_subscriber_position(lapwing_subscriber* subscriber, uint64_t sequence,
                                           lapwing_position* position, lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) {
    return put_position(opened.position(sequence), position, error);
  });
}

lapwing_result lapwing_subscriber_fd(lapwing_subscriber* subscriber, int32_t* fd,
                                     lapwing_error* error) {
  return call(subscriber, error, [&](Reads& opened) -> lapwing_result {
    if (fd == nullptr) {
      return fail(error, lapwing::Errc::kInvalidArgument, "fd is NULL; give its address");
    }
    *fd = -1;
    const absl::StatusOr<int> opened_fd = opened.fd();
    if (!opened_fd.ok()) return fail(error, opened_fd.status());
    *fd = *opened_fd;
    return success();
  });
}

void lapwing_subscriber_interrupt(lapwing_subscriber* subscriber) {
  if (subscriber != nullptr) subscriber->object.interrupt();
}

void lapwing_subscriber_destroy(lapwing_subscriber** subscriber) {
  destroy(subscriber);
}

}  // extern "C"
