// A subscriber to records of one struct that describes itself (lapwing/schema.h). If the records of
// the bus differ, it ends with an error whose message names the field.
//
//   auto subscriber = lapwing::TypedSubscriber<Signal>::open({.directory = "./signals"});
//   Signal signal;
//   while (true) {
//     const auto sequence = subscriber->read_one(signal);
//     …  // as with Subscriber::read_one
//   }
//
// Use `->` for all functions of Subscriber that do not take a record.
//
// Threads and fork: as for Subscriber.
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
  // Like Subscriber::open, with schema_of<Record>() as the option `expect`. If the option contains
  // a different description, it is refused. Errors: kInvalidArgument.
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

  // Like Subscriber::read_one and read. State entries are not of this type: read them through
  // `->`.
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
