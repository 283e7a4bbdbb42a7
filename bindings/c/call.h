// The wrapper around every function in the C interface: it refuses calls with an invalid handle,
// catches all exceptions, and fills in the error.
//
//   lapwing_result lapwing_history_inspect(lapwing_history* history, …, lapwing_error* error) {
//     return call(history, error, [&](History& opened) { … return success(); });
//   }
//
// Thread safety: see lapwing.h.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "lapwing.h"
#include "lapwing/error.h"
#include "lapwing/waiting.h"
#include "os/busy_flag.h"
#include "os/fork.h"

namespace lapwing::c {

inline lapwing_result number_of(Errc code) {
  return static_cast<lapwing_result>(code);
}
inline lapwing_result success() {
  return LAPWING_OK;
}

// Returns a descriptor to the caller, or kClosed if it is -1 because the object was closed or
// handed over.
lapwing_result put_fd(int fd, std::int32_t* out, lapwing_error* error);

// Fill in *error, if it is not NULL, and return its number.
lapwing_result fail(lapwing_error* error, Errc code, std::string_view message,
                    int sys_errno = 0) noexcept;
lapwing_result fail(lapwing_error* error, const absl::Status& status);
// Returns the error of a failed operation. Uses the message of `status` if it belongs to `result`,
// otherwise that of words_of().
lapwing_result fail_with(lapwing_error* error, Errc result, const absl::Status& status);
// Returns the message for an error that needs no details.
std::string_view words_of(Errc code);

// Returns the error for the exception that is being handled.
lapwing_result fail_by_exception(lapwing_error* error) noexcept;

template <typename Object>
[[gnu::cold, gnu::noinline]] lapwing_result fail_of(lapwing_error* error, Errc result,
                                                    const Object& object) noexcept {
  try {
    return fail_with(error, result, object.status());
  } catch (...) {
    return fail_by_exception(error);
  }
}
// Returns the result of an operation: success, or the error with the message of the object's
// status().
template <typename Object>
[[gnu::always_inline]] inline lapwing_result answer(lapwing_error* error, Errc result,
                                                    const Object& object) noexcept {
  if (result == Errc::kOk) [[likely]]
    return success();
  return fail_of(error, result, object);
}

inline Deadline deadline_in(std::int64_t timeout_ns) {
  if (timeout_ns == 0) return Deadline::now();
  if (timeout_ns < 0) return Deadline::never();
  return Deadline(std::chrono::nanoseconds(timeout_ns));
}

inline std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// Runs a function that does not take a handle.
template <typename Work>
lapwing_result run(lapwing_error* error, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return fail_by_exception(error);
  }
}

// A handle: an object, and a mark for a call under way. `kWhat` is its name in messages.
template <typename Object>
struct Handle {
  explicit Handle(Object opened) : object(std::move(opened)) {}

  bool is_free() const { return mark.is_free_in(lapwing::detail::fork_generation); }

  Object object;
  UseMark mark{lapwing::detail::fork_generation};
  const ForkMark made;
};

class InCall {
 public:
  explicit InCall(UseMark& mark) : mark_(mark) { mark_.set(); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  ~InCall() { mark_.clear(); }

 private:
  UseMark& mark_;
};

template <typename HandleType>
bool may_call(const HandleType* handle) {
  return handle != nullptr && handle->is_free();
}
lapwing_result refuse(lapwing_error* error, Errc why, const char* what, bool is_null) noexcept;

// Refuses a call with a handle that must not be used.
template <typename HandleType>
[[gnu::cold, gnu::noinline]] lapwing_result refuse(const HandleType* handle,
                                                   lapwing_error* error) noexcept {
  const bool is_child = handle != nullptr && handle->made.in_child();
  const Errc why = is_child ? Errc::kForked : Errc::kMisuse;
  return refuse(error, why, HandleType::kWhat, handle == nullptr);
}

// Calls work(handle->object) if the handle is valid and free.
template <typename HandleType, typename Work>
lapwing_result call(HandleType* handle, lapwing_error* error, Work&& work) noexcept {
  if (!may_call(handle)) [[unlikely]]
    return refuse(handle, error);
  const InCall under_way(handle->mark);
  try {
    return work(handle->object);
  } catch (...) {
    return fail_by_exception(error);
  }
}

// The same for work that never waits, and ends before an overlapping call could detect it. The call
// is refused if another one is under way, but does not mark the handle.
template <typename HandleType, typename Work>
[[gnu::always_inline]] inline lapwing_result quick_call(HandleType* handle, lapwing_error* error,
                                                        Work&& work) noexcept {
  if (!may_call(handle)) [[unlikely]]
    return refuse(handle, error);
  try {
    return work(handle->object);
  } catch (...) {
    return fail_by_exception(error);
  }
}

// Checks the address for the new handle, and sets the handle to NULL, before it calls open().
template <typename HandleType, typename Open>
lapwing_result open_into(HandleType** place, lapwing_error* error, Open&& open) noexcept {
  if (place == nullptr) {
    return fail(error, Errc::kInvalidArgument,
                "the address for the handle is NULL: give the address of a pointer");
  }
  *place = nullptr;
  return run(error, [&]() -> lapwing_result {
    auto opened = open();
    if (!opened.ok()) return fail(error, opened.status());
    *place = new HandleType(*std::move(opened));
    return success();
  });
}

template <typename HandleType>
void destroy(HandleType** handle) noexcept {
  if (handle == nullptr) return;
  delete std::exchange(*handle, nullptr);
}

}  // namespace lapwing::c
