// A subscriber to records of one struct that describes itself (lapwing/schema.h). It ends, in words
// that name the field, at a bus whose records are others.
//
//   auto subscriber = lapwing::TypedSubscriber<Signal>::open({.directory = "./signals"});
//   Signal signal;
//   while (true) {
//     const auto sequence = subscriber->read_one(signal);
//     …  // as of Subscriber::read_one
//   }
//
// Everything that does not take a record is that of the Subscriber, by `->`.
//
// Threads and fork: as of Subscriber.
#pragma once

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/schema.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"

namespace lapwing {

template <ReadableRecord Record>
class TypedSubscriber {
 public:
  // As Subscriber::open, with schema_of<Record>() for the options' `expect`; another one there is
  // refused. Errors: kInvalidArgument.
  [[nodiscard]] static absl::StatusOr<TypedSubscriber> open(SubscriberOptions options) {
    const Schema schema = schema_of<Record>();
    if (options.expect && *options.expect != schema) {
      return make_error(Errc::kInvalidArgument,
                        "expect is not the description of the subscriber's type: leave it out");
    }
    options.expect = schema;
    absl::StatusOr<Subscriber> opened = Subscriber::open(std::move(options));
    if (!opened.ok()) return opened.status();
    return TypedSubscriber(*std::move(opened));
  }

  // As Subscriber::read_one and read; the rows of a state are none of these records: read them by `->`.
  [[nodiscard, gnu::always_inline]] Result<Sequence> read_one(
      Record& record, Deadline deadline = Deadline::never()) {
    return subscriber_.read_one(record, deadline);
  }
  [[nodiscard]] Result<Batch> read(std::span<Record> records,
                                   Deadline deadline = Deadline::never()) {
    return subscriber_.read(std::as_writable_bytes(records), deadline);
  }
  [[nodiscard]] Result<Batch> read(std::span<Record> records, std::span<Sequence> sequences,
                                   Deadline deadline = Deadline::never()) {
    return subscriber_.read(std::as_writable_bytes(records), sequences, deadline);
  }

  Subscriber* operator->() { return &subscriber_; }
  const Subscriber* operator->() const { return &subscriber_; }
  Subscriber& operator*() { return subscriber_; }

 private:
  explicit TypedSubscriber(Subscriber subscriber) : subscriber_(std::move(subscriber)) {}

  Subscriber subscriber_;
};

}  // namespace lapwing
