// A publisher of one struct that describes itself (lapwing/schema.h).
//
//   auto publisher = lapwing::TypedPublisher<Signal>::open({.directory = "./signals"});
//   if (!publisher.ok()) return fail(publisher.status());
//   if (publisher->publish(signal) == lapwing::kNoSequence) {
//     return fail((*publisher)->last_error());
//   }
//
// Everything that does not take a record is that of the Publisher, by `->`.
//
// Threads and fork: as of Publisher.
#pragma once

#include <chrono>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/publisher.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/waiting.h"

namespace lapwing {

template <PlainRecord Record>
class TypedPublisher {
 public:
  // As Publisher::open, with schema_of<Record>() for the options' description; a description that
  // is there already, another one, is refused. Errors: those of Publisher::open.
  [[nodiscard]] static absl::StatusOr<TypedPublisher> open(
      PublisherOptions options, Deadline deadline = std::chrono::seconds(10)) {
    const Schema schema = schema_of<Record>();
    if (options.description && *options.description != schema) {
      return make_error(Errc::kInvalidArgument,
                        "description is not that of the publisher's type: leave it out");
    }
    options.description = schema;
    absl::StatusOr<Publisher> opened = Publisher::open(std::move(options), deadline);
    if (!opened.ok()) return opened.status();
    return TypedPublisher(*std::move(opened));
  }

  // As Publisher::publish and publish_batch.
  [[nodiscard, gnu::always_inline]] Sequence publish(const Record& record) {
    return publisher_.publish(record);
  }
  [[nodiscard]] Sequence publish(const Record& record, Deadline deadline) {
    return publisher_.publish(record, deadline);
  }
  [[nodiscard]] Sequence publish_batch(std::span<const Record> records,
                                       Deadline deadline = Deadline::never()) {
    return publisher_.publish_batch(std::as_bytes(records), deadline);
  }

  Publisher* operator->() { return &publisher_; }
  const Publisher* operator->() const { return &publisher_; }
  Publisher& operator*() { return publisher_; }

 private:
  explicit TypedPublisher(Publisher publisher) : publisher_(std::move(publisher)) {}

  Publisher publisher_;
};

}  // namespace lapwing
