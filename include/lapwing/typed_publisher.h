// A publisher of one struct that describes itself (lapwing/schema.h).
//
//   auto publisher = lapwing::TypedPublisher<Signal>::open({.directory = "./signals"});
//   if (!publisher.ok()) return fail(publisher.status());
//   if (!publisher->publish(signal).ok()) return (*publisher)->last_error();
//
// Use `->` for all functions of Publisher that do not take a record.
//
// A member that its LAPWING_RECORD marks kPublishTime is stamped: in each published record, the
// time at which publish() was called replaces the caller's value. In a batch, each group of
// kStampedAtOnce records has one time, and head advances after each group. A Publisher does not
// stamp records, so records from another source keep their times.
//
// Threads and fork: as for Publisher.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/detail/publish_clock.h"
#include "lapwing/publisher.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/waiting.h"

namespace lapwing {

namespace detail {

// Returns the offset of the record's publish time, or nullopt if its LAPWING_RECORD marks none.
template <typename Record>
constexpr std::optional<std::uint32_t> publish_time_offset() {
  if constexpr (DescribedRecord<Record>) {
    for (const FieldDescription& field :
         lapwing_record(static_cast<const Record*>(nullptr)).fields) {
      if (field.role == FieldRole::kPublishTime) return field.offset;
    }
  }
  return std::nullopt;
}

}  // namespace detail

// The number of records in a batch that share one stamp.
inline constexpr std::size_t kStampedAtOnce = 64;

template <PlainRecord Record>
class TypedPublisher {
 public:
  // Like Publisher::open, with schema_of<Record>() as the option `schema`. If the option contains a
  // different schema, it is refused. Errors: those of Publisher::open.
  [[nodiscard]] static absl::StatusOr<TypedPublisher> open(
      PublisherOptions options, Deadline deadline = std::chrono::seconds(10)) {
    const Schema schema = schema_of<Record>();
    if (options.schema && *options.schema != schema) {
      return make_error(Errc::kInvalidArgument,
                        "options.schema is not that of the publisher's type. Leave it out");
    }
    options.schema = schema;
    absl::StatusOr<Publisher> opened = Publisher::open(std::move(options), deadline);
    if (!opened.ok()) return opened.status();
    return TypedPublisher(*std::move(opened));
  }

  // Like Publisher::publish and publish_batch.
  [[nodiscard, gnu::always_inline]] Result<Sequence> publish(const Record& record) {
    if constexpr (kTimeOffset) {
      return publisher_.publish(stamped(record, clock_.utc_ns()));
    } else {
      return publisher_.publish(record);
    }
  }
  [[nodiscard]] Result<Sequence> publish(const Record& record, Deadline deadline) {
    if constexpr (kTimeOffset) {
      return publisher_.publish(stamped(record, clock_.utc_ns()), deadline);
    } else {
      return publisher_.publish(record, deadline);
    }
  }
  [[nodiscard]] Result<Sequence> publish_batch(std::span<const Record> records,
                                               Deadline deadline = Deadline::never()) {
    if constexpr (kTimeOffset) {
      return publish_stamped(records, deadline);
    } else {
      return publisher_.publish_batch(std::as_bytes(records), deadline);
    }
  }

  Publisher* operator->() { return &publisher_; }
  const Publisher* operator->() const { return &publisher_; }
  Publisher& operator*() { return publisher_; }

 private:
  static constexpr std::optional<std::uint32_t> kTimeOffset = detail::publish_time_offset<Record>();

  explicit TypedPublisher(Publisher publisher) : publisher_(std::move(publisher)) {}

  [[gnu::always_inline]] static Record stamped(Record record, std::uint64_t utc_ns) {
    std::memcpy(reinterpret_cast<std::byte*>(&record) + *kTimeOffset, &utc_ns, sizeof utc_ns);
    return record;
  }
  Result<Sequence> publish_stamped(std::span<const Record> records, Deadline deadline) {
    std::array<std::byte, kStampedAtOnce * sizeof(Record)> block;
    Sequence published = kNoSequence;
    for (;;) {
      const std::size_t count = std::min(records.size(), kStampedAtOnce);
      const auto bytes = std::span(block).first(count * sizeof(Record));
      std::ranges::copy(std::as_bytes(records.first(count)), bytes.begin());
      const std::uint64_t utc_ns = clock_.utc_ns();
      for (std::size_t at = *kTimeOffset; at < bytes.size(); at += sizeof(Record)) {
        std::memcpy(&bytes[at], &utc_ns, sizeof utc_ns);
      }
      const Result<Sequence> last = publisher_.publish_batch(bytes, deadline);
      if (*last != kNoSequence) published = *last;
      records = records.subspan(count);
      if (!last.ok() || records.empty()) return {last.error(), published};
    }
  }

  Publisher publisher_;
  detail::PublishClock clock_;  // of a record that is stamped
};

}  // namespace lapwing
