// How every method calls the library: one thread at a time, errors as lapwing.Error, waits without
// the GIL that end at a signal.
//
// What stands in a Handle changes only with the GIL held, but for the library's own handle.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace lapwing_python {

namespace nb = nanobind;

// The Python error that is set goes on as nanobind's exception.
[[noreturn]] void raise_python();

// What the library writes into when a call fails.
struct Failure : lapwing_error {
  Failure() : lapwing_error{} { struct_size = sizeof(lapwing_error); }
};

// A number that a failed call gives besides its error, an attribute of lapwing.Error.
struct Detail {
  const char* name = nullptr;  // null: none
  std::uint64_t value = 0;
};

// The class of lapwing.Error for that number, with the library's words or with `why`.
[[noreturn]] void raise(lapwing_result code, const lapwing_error& failure, Detail detail = {});
[[noreturn]] void raise(lapwing_result code, const char* why);

inline void check(lapwing_result code, const lapwing_error& failure, Detail detail = {}) {
  if (code != LAPWING_OK) raise(code, failure, detail);
}

// TypeError: the argument `name` is of a wrong type. `wanted` says what to give.
[[noreturn]] void raise_type(const char* name, nb::handle value, const char* wanted);

// The argument `name` as a whole number from 0 to `most`, of an int or what has __index__.
std::uint64_t whole(const char* name, nb::handle value, std::uint64_t most = UINT64_MAX);
inline std::uint32_t whole32(const char* name, nb::handle value) {
  return static_cast<std::uint32_t>(whole(name, value, UINT32_MAX));
}

// An object of the library's that can be freed at once, and perhaps be waited on.
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  virtual ~Handle() = default;

  virtual bool is_open() const = 0;
  // Frees the library's handle, without the GIL. Only Use and the destructors call it.
  virtual void free_now() = 0;
  // Ends the wait under way or the next one. Also called in signal handlers.
  virtual void interrupt_now() noexcept {}
  // Raises, where memory of the handle is still in use.
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
  bool is_interrupted = false;  // by interrupt(), and no wait has ended by it yet
};

// A call under way on a handle. Raises misuse where another thread is inside of one.
class Use {
 public:
  explicit Use(Handle& handle);
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { handle_.is_busy = false; }

 private:
  Handle& handle_;
};

// While it lives, a signal that has a handler of Python's ends the main thread's wait on `handle`.
class Armed {
 public:
  explicit Armed(Handle& handle);
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
  ~Armed();

 private:
  Handle* before_;
};

// Without the GIL for its scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil();

 private:
  PyThreadState* state_;
};

// Signals reach Python on this thread alone.
bool is_main_thread();

// A call that ended with `interrupted`: true, it was interrupt(); false, a signal whose handler
// has returned. Raises what a handler raised.
bool was_interrupted(Handle& handle);

// Whether what is there already is taken with the GIL held: only where that is short.
enum class Gil { kHeld, kReleased };

// The first wait is this short, so that only longer ones pay for the handlers of signals.
constexpr std::int64_t kShortWaitNs = 1'000'000;

// What of `timeout_ns` is left since the object was made.
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

// call(timeout_ns) without the GIL, up to its result, the timeout or interrupt(). In the main
// thread a signal ends the call, and it is made again if the signal's handler returns.
template <typename Call>
lapwing_result call_whole(Handle& handle, std::int64_t timeout_ns, Call&& call) {
  const Timeout timeout(timeout_ns);
  for (std::int64_t left = timeout_ns;;) {
    lapwing_result result = LAPWING_OK;
    if (is_main_thread()) {
      const Armed armed(handle);
      if (PyErr_CheckSignals() != 0) raise_python();  // one that came before
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

// The same for a call that can be made several times: first without a wait, which costs the least,
// then with a short one.
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

// Refuses arrays whose fields differ from those of a bus's records. Remembers the dtype that was
// checked last, so the next array of that dtype costs one comparison.
class RowCheck {
 public:
  // check(memory) raises an error unless the memory is accepted. None: nothing is checked.
  void set(nb::object check) {
    check_ = check.is_none() ? nb::object() : std::move(check);
    accepted_.reset();
  }
  // True: the memory is an array of a dtype without Python objects.
  bool accepts(nb::handle memory);

 private:
  nb::object check_;
  nb::object accepted_;  // a dtype
};

// Memory of a Python object, contiguous, for the time of a call.
class Memory {
 public:
  // With …OrNone the object may be None, which is no memory.
  enum class Access { kRead, kWrite, kReadOrNone, kWriteOrNone };
  // `name` is the argument's. TypeError: it has no memory.
  Memory(const char* name, nb::handle object, Access access);
  Memory(const char* name, nb::handle object, Access access, RowCheck& rows);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* data() const { return view_.buf; }
  std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  // Of one element, where the object is a list of elements; 1: it is plain bytes.
  std::size_t item_bytes() const;
  // As a column of 8-byte numbers; null if the object is None. Raises if it is not a column.
  std::uint64_t* column() const;
  std::size_t column_rows() const { return bytes() / sizeof(std::uint64_t); }

 private:
  void open(const char* name, nb::handle object, Access access);

  Py_buffer view_ = {};
};

constexpr const char* kCheckRowsSignature =
    "def check_rows(self, check: collections.abc.Callable[[object], None] | None) -> None";

// The defaults of the library; init is the function of that name.
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
