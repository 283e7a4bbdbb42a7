// Helpers with which every method calls the library. They allow one thread at a time, raise errors
// as lapwing.Error, and release the GIL while they wait. A signal ends the wait.
//
// The members of a Handle, except the library's handle, change only with the GIL held.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace lapwing_python {

namespace nb = nanobind;

// Throws the pending Python error as nanobind's exception.
[[noreturn]] void raise_python();

// The library writes the error of a failed call here.
struct Failure : lapwing_error {
  Failure() : lapwing_error{} { struct_size = sizeof(lapwing_error); }
};

// A number that a failed call returns with its error. It becomes an attribute of lapwing.Error.
struct Detail {
  const char* name = nullptr;  // null: none
  std::uint64_t value = 0;
};

// Raises the subclass of lapwing.Error for `code`, with the library's message or with `why`.
[[noreturn]] void raise(lapwing_result code, const lapwing_error& failure, Detail detail = {});
[[noreturn]] void raise(lapwing_result code, const char* why);

inline void check(lapwing_result code, const lapwing_error& failure, Detail detail = {}) {
  if (code != LAPWING_OK) raise(code, failure, detail);
}

// Raises TypeError: the argument `name` has the wrong type. `wanted` describes the right one.
[[noreturn]] void raise_type(const char* name, nb::handle value, const char* wanted);

// Converts the argument `name`, an int or an object with __index__, to a number from 0 to `most`.
std::uint64_t whole(const char* name, nb::handle value, std::uint64_t most = UINT64_MAX);
inline std::uint32_t whole32(const char* name, nb::handle value) {
  return static_cast<std::uint32_t>(whole(name, value, UINT32_MAX));
}

// A library object that can be freed immediately. Some kinds can be waited on.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  virtual ~Handle() = default;

  virtual bool is_open() const = 0;
  // Frees the library's handle, without the GIL. Only Use and the destructors call it.
  virtual void free_now() = 0;
  // Ends the current wait, or the next one. Also called in signal handlers.
  virtual void interrupt_now() noexcept {}
  // Raises if memory of the handle is still in use.
  virtual void check_unused() {}
  // Adds the library's handle to a wait set. `bytes` is for producers.
  virtual lapwing_result add_to(lapwing_wait_set* set, std::size_t bytes, std::uint64_t* source,
                                lapwing_error* failure);

  void interrupt() {
    is_interrupted = true;
    interrupt_now();
  }
  void destroy();

  bool is_busy = false;
  bool is_interrupted = false;  // interrupt() was called and has not ended a wait yet
};

// Marks a handle as in use by a call. Raises misuse if another thread is inside a call.
class Use {
 public:
  explicit Use(Handle& handle);
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { handle_.is_busy = false; }

 private:
  Handle& handle_;
};

// While it exists, a signal that has a Python handler ends the main thread's wait on `handle`.
class Armed {
 public:
  explicit Armed(Handle& handle);
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
  ~Armed();

 private:
  Handle* before_;
};

// Releases the GIL for its scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil();

 private:
  PyThreadState* state_;
};

// Python handles signals only on the main thread.
bool is_main_thread();

// Called after a call ended with `interrupted`. Returns true if interrupt() ended it, and false if
// a signal did and its handler has returned. Raises the exception of a handler.
bool was_interrupted(Handle& handle);

// Whether the first attempt, which does not wait, holds the GIL. It may do so only if it is short.
enum class Gil { kHeld, kReleased };

// Length of the first wait. Only longer waits pay for the signal handlers.
constexpr std::int64_t kShortWaitNs = 1'000'000;

// The part of `timeout_ns` that is left since construction. A negative timeout stays as it is.
class Timeout {
 public:
  explicit Timeout(std::int64_t timeout_ns) : timeout_ns_(timeout_ns) {}
  std::int64_t left() const {
    if (timeout_ns_ < 0) return timeout_ns_;
    const std::int64_t passed = (std::chrono::steady_clock::now() - begin_).count();
    return passed < timeout_ns_ ? timeout_ns_ - passed : 0;
  }

 private:
  std::int64_t timeout_ns_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Runs call(timeout_ns) without the GIL until it returns, times out or is interrupted by
// interrupt(). On the main thread a signal ends the call; it is repeated if the handler returns.
template <typename Call>
lapwing_result call_whole(Handle& handle, std::int64_t timeout_ns, Call&& call) {
  const Timeout timeout(timeout_ns);
  for (std::int64_t left = timeout_ns;;) {
    lapwing_result result = LAPWING_OK;
    if (is_main_thread()) {
      const Armed armed(handle);
      if (PyErr_CheckSignals() != 0) raise_python();  // a signal that arrived earlier
      const WithoutGil released;
      result = call(left);
    } else {
      const WithoutGil released;
      result = call(left);
    }
    if (result != LAPWING_ERROR_INTERRUPTED || was_interrupted(handle)) return result;
    left = timeout.left();
    if (left == 0) return timeout_ns == 0 ? LAPWING_ERROR_WOULD_BLOCK : LAPWING_ERROR_TIMED_OUT;
  }
}

// The same for a call that can be repeated. It first tries without waiting, which costs the least,
// then waits for a short time, then calls call_whole().
template <typename Call>
lapwing_result wait(Handle& handle, std::int64_t timeout_ns, Gil gil, Call&& call) {
  lapwing_result result = LAPWING_OK;
  if (gil == Gil::kHeld) {
    result = call(std::int64_t{0});
  } else {
    const WithoutGil released;
    result = call(std::int64_t{0});
  }
  if (result == LAPWING_ERROR_INTERRUPTED) {
    if (was_interrupted(handle)) return result;
  } else if (result != LAPWING_ERROR_WOULD_BLOCK || timeout_ns == 0) {
    return result;
  }
  const bool is_short = timeout_ns >= 0 && timeout_ns <= kShortWaitNs;
  const Timeout timeout(timeout_ns);
  {
    const WithoutGil released;
    result = call(is_short ? timeout_ns : kShortWaitNs);
  }
  if (result == LAPWING_ERROR_INTERRUPTED) {
    if (was_interrupted(handle)) return result;
  } else if (result != LAPWING_ERROR_TIMED_OUT || is_short) {
    return result;
  }
  const std::int64_t left = timeout.left();
  return left == 0 ? LAPWING_ERROR_TIMED_OUT : call_whole(handle, left, call);
}

// Refuses arrays whose fields differ from those of a bus's records. Remembers the last dtype
// checked, so the next array of that dtype costs one comparison.
class RowCheck {
 public:
  // check(memory) raises an error unless the memory is accepted. Without a check, any memory is.
  void set(nb::object check) {
    check_ = check.is_none() ? nb::object() : std::move(check);
    accepted_.reset();
  }
  // Returns true if the memory is an array whose dtype contains no Python objects. Otherwise the
  // caller checks for objects.
  bool accepts(nb::handle memory);

 private:
  nb::object check_;
  nb::object accepted_;  // a dtype
};

// The contiguous memory of a Python object, held during a call.
class Memory {
 public:
  // With …OrNone the object may be None, which means no memory.
  enum class Access { kRead, kWrite, kReadOrNone, kWriteOrNone };
  // `name` is the name of the argument. Raises TypeError if the object is not a buffer.
  Memory(const char* name, nb::handle object, Access access);
  Memory(const char* name, nb::handle object, Access access, RowCheck& rows);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* data() const { return view_.buf; }
  std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  // Element size of a one-dimensional array; 1 for more dimensions.
  std::size_t item_bytes() const;
  // The memory as a column of aligned 8-byte numbers; null if the object is None. Raises if it is
  // not such a column.
  std::uint64_t* column() const;
  std::size_t column_rows() const { return bytes() / sizeof(std::uint64_t); }

 private:
  void open(const char* name, nb::handle object, Access access);

  Py_buffer view_ = {};
};

constexpr const char* kCheckRowsSignature =
    "def check_rows(self, check: collections.abc.Callable[[object], None] | None) -> None";

// Returns the library's default options. `init` is the library's init function for them.
template <typename Options>
Options default_options(void (*init)(Options*, std::uint32_t)) {
  Options options;
  init(&options, sizeof options);
  return options;
}

// NULL for an empty text, which is each option's default.
inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace lapwing_python
