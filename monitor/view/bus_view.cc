#include "monitor/view/bus_view.h"

#include <algorithm>
#include <limits>

#include "lapwing/conflation.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "monitor/bus_monitor.h"
#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "monitor/view/record_content.h"
#include "monitor/view/view_books.h"
#include "monitor/view/view_quotes.h"
#include "monitor/view/view_records.h"
#include "os/deadline.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing {
namespace {

constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();
constexpr std::uint32_t kConflatedKeysMax = 4096;

// kNoSequence: the bus currently has no ring, or no record yet.
Sequence head_of(const std::string& directory) {
  const absl::StatusOr<RingStatus> ring = read_ring_status(directory);
  return ring.ok() ? ring->head : kNoSequence;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BusView>> BusView::start(BusViewOptions options, Sink sink) {
  absl::StatusOr<StopEvent> stop = StopEvent::make();
  if (!stop.ok()) return stop.status();
  std::unique_ptr<BusView> view(new BusView(std::move(options), std::move(sink), *std::move(stop)));
  const absl::Status started =
      start_thread(view->thread_, "lapwing-view", [raw = view.get()] { raw->run(); });
  if (!started.ok()) return started;
  return view;
}

BusView::~BusView() {
  if (!thread_.joinable()) return;
  stop();
  thread_.join();
}

bool BusView::has_room_for(const std::string& instrument) const {
  const std::lock_guard lock(mutex_);
  return wanted_.size() < kViewedInstrumentsMax || wanted_.contains(instrument);
}

bool BusView::want(const std::string& instrument) {
  if (!has_room_for(instrument)) return false;
  const std::lock_guard lock(mutex_);
  wanted_.insert(instrument);
  return true;
}

void BusView::forget(const std::string& instrument) {
  const std::lock_guard lock(mutex_);
  wanted_.erase(instrument);
}

void BusView::stop() {
  stop_.set();
}

void BusView::run() {
  due_ns_ = monotonic_ns() + kViewIntervalNs;
  std::uint64_t retry_ns = kViewRetryNs;
  while (!stop_.is_set()) {
    was_live_ = false;
    const absl::Status ended = follow();
    if (was_live_) retry_ns = kViewRetryNs;
    if (source_) lost_before_ += source_->subscriber().counters().lost;
    source_.reset();
    content_.reset();
    if (stop_.is_set()) break;
    if (std::exchange(is_another_, false)) {
      uses_ring_alone_ = false;
      retry_ns = kViewRetryNs;
      continue;
    }
    if (errc_of(ended) == Errc::kNoJournal && !std::exchange(uses_ring_alone_, true)) continue;
    place_ = {.state = "ended", .why = std::string(ended.message()), .lost = lost_before_};
    const bool is_costly = errc_of(ended) == Errc::kLimit;
    const std::uint64_t again_ns = monotonic_ns() + retry_ns;
    retry_ns = is_costly ? std::min(2 * retry_ns, kViewRetryNsMax) : kViewRetryNs;
    while (!stop_.is_set() && monotonic_ns() < again_ns) {
      publish();
      stop_.wait(kViewIntervalNs);
    }
  }
  sink_({.is_last = true});
}

// Follows the bus until the view is stopped, the bus is replaced, or an error ends it.
absl::Status BusView::follow() {
  absl::StatusOr<RecordSource> source = open();
  if (!source.ok()) return source.status();
  source_.emplace(*std::move(source));
  while (!stop_.is_set() && !is_another_) {
    // Once a message is due, waits for the remaining records that belong together.
    const std::uint64_t until_ns =
        monotonic_ns() < due_ns_ ? due_ns_ : after_ns(due_ns_, kViewIntervalNs);
    const Result<Batch> batch = source_->read(rows_wanted(), Deadline::at_monotonic_ns(until_ns));
    if (const absl::Status taken = take(batch); !taken.ok()) return taken;
    if (is_due()) publish();
  }
  return absl::OkStatus();
}

// How a bus is followed and shown depends on its records and its journal. If these differ for the
// next publisher, the bus is opened again.
bool BusView::is_another_bus() const {
  const absl::StatusOr<BusDescription> now = read_bus_description(options_.directory);
  if (!now.ok()) return false;
  if (uses_ring_alone_ && now->session_id != bus_.session_id) return true;
  const RecordIdentity before = records_of(bus_);
  const RecordIdentity records = records_of(*now);
  const auto text_of = [](const RecordIdentity& identity) {
    return identity.description == nullptr ? "" : identity.description->text();
  };
  return now->journal_root != bus_.journal_root || records.schema != before.schema ||
         text_of(records) != text_of(before);
}

absl::StatusOr<RecordSource> BusView::open() {
  absl::StatusOr<BusDescription> bus = read_bus_description(options_.directory);
  if (!bus.ok()) return bus.status();
  bus_ = *std::move(bus);
  schema_ = bus_.schema;
  const RecordIdentity records = records_of(bus_);
  const bool has_books = records.schema == dbn::kSchemaMbo;
  const bool has_key = records.description != nullptr && latest_key(*records.description).ok();
  const bool has_quotes = !has_books && ViewQuotes::fits(records.description.get());
  const bool has_journal = !bus_.journal_root.empty() && !uses_ring_alone_;
  SubscriberOptions options;
  options.directory = options_.directory;
  options.name = "serve";
  options.observes = true;  // a page that misses records is not a problem
  options.reattach = std::chrono::nanoseconds::max();
  // With this setting, kLive is posted when the ring is reached again.
  options.behind_records = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(bus_.capacity / 2, 1, std::numeric_limits<std::uint32_t>::max()));
  options.on_gap = !has_journal ? OnGap::kSkip : has_books ? OnGap::kSnapshot : OnGap::kFill;
  if (has_books) {
    options.start = has_journal ? Start::snapshot(kFoldOrders) : Start::oldest();
    options.start.fold = has_journal ? kFoldOrders : "";
  } else if (has_key) {
    options.start = has_journal ? Start::snapshot(kFoldLatest) : Start::oldest();
  } else if (!has_journal) {
    options.start = Start::oldest();
  } else if (const Sequence head = head_of(options_.directory); head != kNoSequence) {
    options.start = Start::sequence(head);  // shows the newest record before the next one arrives
  }
  on_gap_ = options.on_gap;
  if (has_books || has_quotes) {
    if (has_books) {
      content_ = std::make_unique<ViewBooks>(options_.directory, options_.budget);
    } else {
      content_ = std::make_unique<ViewQuotes>(options_.directory);
    }
    absl::StatusOr<Subscriber> subscriber = Subscriber::open(std::move(options));
    if (!subscriber.ok()) return subscriber.status();
    return RecordSource(*std::move(subscriber));
  }
  content_ = std::make_unique<ViewRecords>();
  absl::StatusOr<ConflatedReader> reader = ConflatedReader::open(
      std::move(options), {.interval = std::chrono::nanoseconds(kViewIntervalNs),
                           .keys_max = kConflatedKeysMax,
                           .key = view_key(records.description.get())});
  if (!reader.ok()) return reader.status();
  return RecordSource(*std::move(reader));
}

// A message shows records that belong together: once it is due, records are read one by one until
// they are complete.
std::size_t BusView::rows_wanted() const {
  return monotonic_ns() < due_ns_ || content_->is_settled() ? kAllRows : 1;
}

bool BusView::is_due() const {
  const std::uint64_t now_ns = monotonic_ns();
  return now_ns >= due_ns_ &&
         (content_->is_settled() || now_ns >= after_ns(due_ns_, kViewIntervalNs));
}

absl::Status BusView::take(const Result<Batch>& read) {
  const Batch& batch = *read;
  if (!read.ok()) {
    return came_to_nothing(read.error()) ? absl::OkStatus() : source_->status();
  }
  const std::span<const std::byte> rows = source_->rows();
  switch (batch.kind) {
    case ItemKind::kEvent:
      take_event(*batch.event);
      return absl::OkStatus();
    case ItemKind::kState:
      for (std::size_t at = 0; at < rows.size(); at += batch.row_bytes) {
        const absl::Status taken =
            content_->take_state(rows.subspan(at, batch.row_bytes), *source_->subscriber().fold());
        if (!taken.ok()) return taken;
      }
      return absl::OkStatus();
    case ItemKind::kRecord:
      break;
  }
  return content_->take_records(batch.first, rows, batch.row_bytes);
}

void BusView::take_event(const Event& event) {
  const bool is_skipped = event.kind == EventKind::kGap && on_gap_ == OnGap::kSkip;
  content_->take_event(event, is_skipped);
  place_.take(event, is_skipped);
  was_live_ |= event.kind == EventKind::kLive;
  if (event.kind != EventKind::kSession && event.kind != EventKind::kReset) return;
  schema_ = event.schema_name;
  is_another_ = is_another_bus();
}

// `conflated`, which is different for each client, is inserted before it.
std::string BusView::message(const std::string& instrument) {
  nlohmann::ordered_json message = {{"version", options_.version},
                                    {"revision", options_.revision},
                                    {"time", time_text(wall_ns())},
                                    {"bus", bus_.name},
                                    {"directory", options_.directory},
                                    {"schema", schema_},
                                    {"state", place_.state}};
  message["why"] = or_null(place_.why, "");
  message["sequence"] = or_null(place_.sequence, kNoSequence);
  message["head"] = or_null(place_.head, kNoSequence);
  message["behind"] = place_.behind();
  message["lost"] = place_.lost;
  if (content_ != nullptr) {
    content_->add_to(message, instrument);
  } else {
    RecordContent::add_no_book(message);
    message["records"] = nullptr;
    message["quotes"] = nullptr;
  }
  return json_text(message);
}

void BusView::publish() {
  const std::uint64_t now_ns = monotonic_ns();
  due_ns_ = now_ns + kViewIntervalNs;
  if (source_) {
    const Subscriber& subscriber = source_->subscriber();
    place_.sequence = content_->sequence();
    place_.head = std::max({place_.head, subscriber.head(), place_.sequence});
    place_.lost = lost_before_ + subscriber.counters().lost;
    content_->prepare();
  }
  std::set<std::string> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = wanted_;
  }
  std::erase_if(sent_ns_, [&](const auto& sent) { return !wanted.contains(sent.first); });
  const bool is_new = place_ != published_;
  published_ = place_;
  ViewUpdate update{.behind = place_.behind()};
  for (const std::string& instrument : wanted) {
    const auto sent = sent_ns_.find(instrument);
    const bool is_due =
        sent == sent_ns_.end() || now_ns >= after_ns(sent->second, kViewSilenceNsMax);
    if (!is_new && !is_due) continue;
    sent_ns_[instrument] = now_ns;
    update.messages.emplace_back(instrument,
                                 std::make_shared<const std::string>(message(instrument)));
  }
  sink_(std::move(update));
}

}  // namespace lapwing
