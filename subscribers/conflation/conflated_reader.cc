#include "lapwing/conflation.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/fold.h"
#include "os/kernel.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/latest_fold.h"

namespace lapwing {

absl::StatusOr<ConflationKey> latest_key(const std::string& schema) {
  absl::StatusOr<std::unique_ptr<Fold>> made = make_fold(kFoldLatest, schema);
  if (!made.ok()) {
    return make_error(errc_of(made.status()),
                      absl::StrCat("records of schema `", schema,
                                   "` have no key that is known: give ConflationOptions::key"));
  }
  std::shared_ptr<const Fold> fold = *std::move(made);
  const std::uint32_t key_bytes = fold->shape().key_bytes;
  return ConflationKey{key_bytes, [fold](std::span<const std::byte> record,
                                         std::span<std::byte> key) { fold->key_of(record, key); }};
}

ConflatedReader::ConflatedReader(Subscriber& subscriber, ConflationOptions options)
    : subscriber_(subscriber), options_([&] {
        options.interval_ns = std::max<std::uint64_t>(options.interval_ns, 1);
        if (!options.now_ns) options.now_ns = monotonic_ns;
        return std::move(options);
      }()) {}

Item ConflatedReader::poll() {
  for (;;) {
    if (const std::optional<Item> item = next()) return *item;
    if (take_batch()) continue;
    const Item item = subscriber_.poll();
    if (item.kind == ItemKind::kNothing) return {};
    take(item);
  }
}

Item ConflatedReader::wait(std::uint64_t deadline_ns) {
  for (;;) {
    if (const std::optional<Item> item = next()) return *item;
    const bool took = take_batch();
    const std::uint64_t now = monotonic_ns();
    if (took && now >= deadline_ns) return {};  // more is there, and waits for the next call
    if (took) continue;
    const std::uint64_t until = waiting() > 0 ? now + rest_ns() : deadline_ns;
    const Item item = subscriber_.wait(std::min(deadline_ns, until));
    if (item.kind != ItemKind::kNothing) {
      take(item);
    } else if (now >= deadline_ns) {
      return {};
    }
  }
}

std::uint64_t ConflatedReader::rest_ns() const {
  if (waiting() == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t now = options_.now_ns();
  return interval_over(now) ? 0 : ends_ns_ - now;
}

// A clock that was set back ends the interval too.
bool ConflatedReader::interval_over(std::uint64_t now) const {
  return now >= ends_ns_ || ends_ns_ - now > options_.interval_ns;
}

// What is due before the subscriber is asked again.
std::optional<Item> ConflatedReader::next() {
  for (;;) {
    put_batch();
    if (waiting() > 0 && interval_over(options_.now_ns())) delivering_ = true;
    if (delivering_ && waiting() > 0) return deliver();
    delivering_ = false;
    if (held_) {
      record_ = subscriber_.record();
      return std::exchange(held_, std::nullopt);
    }
    if (batch_at_ == batch_end_) break;
  }
  if (!failure_.ok()) return Item{ItemKind::kEnded, kNoSequence, {}};
  return std::nullopt;
}

Item ConflatedReader::deliver() {
  const ConflationTable::Waiting waiting = table_->take_front();
  record_ = waiting.record;
  conflated_ = waiting.conflated;
  ++counters_.delivered;
  return {ItemKind::kRecord, waiting.sequence, {}};
}

// As far as there is room for new keys.
void ConflatedReader::put_batch() {
  if (delivering_ || batch_at_ == batch_end_) return;
  if (waiting() == 0)
    ends_ns_ = (options_.now_ns() / options_.interval_ns + 1) * options_.interval_ns;
  const std::uint32_t waited = waiting();
  const std::size_t begin = batch_at_;
  const std::span<std::byte> key(key_bytes_);
  for (; batch_at_ < batch_end_; batch_at_ += record_bytes_, ++batch_next_) {
    const auto record = std::span<const std::byte>(batch_).subspan(batch_at_, record_bytes_);
    key_.of(record, key);
    if (table_->put(key, batch_next_, record)) continue;
    ++counters_.early;
    delivering_ = true;
    break;
  }
  const std::uint64_t put = (batch_at_ - begin) / record_bytes_;
  counters_.records += put;
  counters_.conflated += put - (waiting() - waited);
}

// What the subscriber has now, as far as an event. False: it has none, or has to say so itself.
bool ConflatedReader::take_batch() {
  if (!failure_.ok() || !is_prepared()) return false;
  const std::size_t count = subscriber_.poll_batch(batch_);
  batch_at_ = 0;
  batch_end_ = count * record_bytes_;
  batch_next_ = subscriber_.counters().last - count + 1;
  return count > 0;
}

void ConflatedReader::take(const Item& item) {
  if (item.kind != ItemKind::kRecord) {
    held_ = item;
    delivering_ = true;
    return;
  }
  if (!is_prepared()) failure_ = prepare();
  if (!failure_.ok()) return;
  const std::span<const std::byte> record = subscriber_.record();
  std::copy(record.begin(), record.end(), batch_.begin());
  batch_at_ = 0;
  batch_end_ = record_bytes_;
  batch_next_ = item.sequence;
}

bool ConflatedReader::is_prepared() const {
  return table_ && record_bytes_ == subscriber_.record_bytes() && schema_ == subscriber_.schema();
}

// For the first record, and for the first after a bus was replaced: nothing waits.
absl::Status ConflatedReader::prepare() {
  absl::StatusOr<ConflationKey> key =
      options_.key.of ? options_.key : latest_key(subscriber_.schema());
  if (!key.ok()) return key.status();
  schema_ = subscriber_.schema();
  record_bytes_ = subscriber_.record_bytes();
  key_ = *std::move(key);
  key_bytes_.resize(key_.key_bytes);
  batch_.resize(kConflationBatchRecords * record_bytes_);
  table_.emplace(key_.key_bytes, record_bytes_, options_.keys_max);
  return absl::OkStatus();
}

}  // namespace lapwing
