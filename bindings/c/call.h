// What every function of the C interface does around its work: it finds the handle good or refuses
// the call, lets no exception out, and writes down what failed.
//
//   lapwing_result lapwing_history_inspect(lapwing_history* history, …, lapwing_error* error) {
//     return call(history, error, [&](History& opened) { … return success(); });
//   }
//
// Thread safety: as lapwing.h says.
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

// A descriptor that may be -1, of what was closed or handed over.
lapwing_result put_fd(int fd, std::int32_t* out, lapwing_error* error);

// Write *error where it is not NULL, and return its number.
lapwing_result fail(lapwing_error* error, Errc code, std::string_view message,
                    int sys_errno = 0) noexcept;
lapwing_result fail(lapwing_error* error, const absl::Status& status);
// The answer of an operation that did not succeed: `status` says why where it is about that, and no
// more words are needed otherwise.
lapwing_result fail_with(lapwing_error* error, Errc result, const absl::Status& status);
// The words for an error that needs no more.
std::string_view words_of(Errc code);

// The exception that is being handled.
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
// An operation's answer: success, or why not, by the status() of the object.
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

// Runs what takes no handle.
template <typename Work>
lapwing_result run(lapwing_error* error, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return fail_by_exception(error);
  }
}

// What a handle is: an object, and whether a call is under way. `kWhat` names it in messages.
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

// Of a handle that may not be called.
template <typename HandleType>
[[gnu::cold, gnu::noinline]] lapwing_result refuse(const HandleType* handle,
                                                   lapwing_error* error) noexcept {
  const bool is_child = handle != nullptr && handle->made.in_child();
  const Errc why = is_child ? Errc::kForked : Errc::kMisuse;
  return refuse(error, why, HandleType::kWhat, handle == nullptr);
}

// work(handle->object), if the handle is good.
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

// The same for what never waits, and is over before a call that overlaps it could tell: it is refused
// where another one is under way, and does not mark itself.
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

// Checks where an open puts its handle, and empties it, before open() is called.
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
