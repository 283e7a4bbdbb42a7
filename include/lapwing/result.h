// What a call of the fast path gives: an error number, and what it produced.
//
//   const lapwing::Result<lapwing::Sequence> read = subscriber->read_one(quote);
//   if (read.ok()) on_quote(*read, quote);
//   else if (read.error() == lapwing::Errc::kEventDue) on_event(*subscriber->read_event());
//
// Calls that open something, or that may talk to a disk or to another process, return absl::Status
// or absl::StatusOr, with words. Calls that are made for every record return a Result, without
// words: the object's status() has them.
#pragma once

#include <utility>

#include "lapwing/error.h"

namespace lapwing {

template <typename Value = void>
class [[nodiscard]] Result {
 public:
  constexpr Result() = default;
  constexpr Result(Value value) : value_(std::move(value)) {}
  // `value`: what was produced nevertheless, as the number of messages that were sent.
  constexpr Result(Errc error, Value value = {}) : error_(error), value_(std::move(value)) {}

  [[nodiscard]] constexpr bool ok() const { return error_ == Errc::kOk; }
  [[nodiscard]] constexpr Errc error() const { return error_; }
  // Without ok() it is empty, unless the call says otherwise.
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

// Of a call that produces nothing.
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
