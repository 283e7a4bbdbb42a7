// The result of a call on the fast path: an error number, and a value.
//
//   const lapwing::Result<lapwing::Sequence> read = subscriber->read_one(quote);
//   if (read.ok()) on_quote(*read, quote);
//   else if (read.error() == lapwing::Errc::kEventDue) on_event(*subscriber->read_event());
//
// Calls that open something, or that may access a disk or another process, return absl::Status or
// absl::StatusOr, with a message. Calls that are made for every record return a Result, which has
// no message. The object's status() has the message.
#pragma once

#include <utility>

#include "lapwing/error.h"

namespace lapwing {

template <typename Value = void>
class [[nodiscard]] Result {
 public:
  constexpr Result() = default;
  constexpr Result(Value value) : value_(std::move(value)) {}
  // `value` is valid despite the error, for example the number of messages sent.
  constexpr Result(Errc error, Value value = {}) : error_(error), value_(std::move(value)) {}

  [[nodiscard]] constexpr bool ok() const { return error_ == Errc::kOk; }
  [[nodiscard]] constexpr Errc error() const { return error_; }
  // Empty if ok() is false, unless the call documents otherwise.
  constexpr const Value& operator*() const& { return value_; }
  constexpr Value& operator*() & { return value_; }
  constexpr Value&& operator*() && { return std::move(value_); }
  constexpr const Value* operator->() const { return &value_; }
  constexpr Value* operator->() { return &value_; }

  friend constexpr bool operator==(const Result& result, Errc error) {
    return result.error_ == error;
  }

 private:
  Errc error_ = Errc::kOk;
  Value value_ = {};
};

// The result of a call that returns no value.
template <>
class [[nodiscard]] Result<void> {
 public:
  constexpr Result(Errc error = Errc::kOk) : error_(error) {}

  [[nodiscard]] constexpr bool ok() const { return error_ == Errc::kOk; }
  [[nodiscard]] constexpr Errc error() const { return error_; }

  friend constexpr bool operator==(Result result, Errc error) { return result.error_ == error; }

 private:
  Errc error_;
};

}  // namespace lapwing
