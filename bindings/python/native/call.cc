#include <native/call.h>
#include <native/functions.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace lapwing_python {

[[noreturn]] void raise_python() {
  nb::detail::raise_python_error();
  __builtin_unreachable();
}

namespace {

[[noreturn]] void raise_words(lapwing_result code, int sys_errno, const char* words,
                              Detail detail) {
  static const nb::handle type =
      nb::getattr(nb::module_::import_("lapwing.error"), "Error").release();
  const nb::object error = type(code, api.error_name(code), words, sys_errno);
  if (detail.name != nullptr) error.attr(detail.name) = detail.value;
  PyErr_SetObject(type.ptr(), error.ptr());
  raise_python();
}

}  // namespace

void raise(lapwing_result code, const lapwing_error& failure, Detail detail) {
  raise_words(code, failure.sys_errno, failure.message, detail);
}

void raise(lapwing_result code, const char* why) {
  raise_words(code, 0, why, {});
}

void Handle::destroy() {
  const Use use(*this);
  check_unused();
  free_now();
}

Use::Use(Handle& handle) : handle_(handle) {
  if (handle.is_busy) {
    raise(LAPWING_MISUSE,
          "another thread is inside a call of this object. One thread at a time may use it: end "
          "the other one's wait with interrupt()");
  }
  handle.is_busy = true;
}

// ---- signals --------------------------------------------------------------------------
//
// Python's handler in C only notes a signal; the one in Python runs when the interpreter goes on.
// So this one stands before it, and ends the wait. It stays once it is installed, and passes every
// signal on. Where a program sets another handler later, the next long wait puts it in front again.

namespace {

constexpr int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,
                            SIGALRM, SIGTERM, SIGCHLD, SIGWINCH};

struct sigaction passed_on[NSIG];
Handle* waited_on = nullptr;  // the main thread writes it, and reads it in its signal handlers

void on_signal(int number, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  if (is_main_thread() && waited_on != nullptr) waited_on->interrupt_now();
  const struct sigaction& next = passed_on[number];
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(number, info, context);
  } else {
    next.sa_handler(number);
  }
  errno = kept_errno;
}

void stand_before_handlers() {
  for (const int number : kSignals) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    const bool is_ours = (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
    if (is_ours || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    passed_on[number] = action;
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = on_signal;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

bool is_main_thread() {
  return gettid() == getpid();
}

Armed::Armed(Handle& handle) : before_(std::exchange(waited_on, &handle)) {
  stand_before_handlers();
}

Armed::~Armed() {
  waited_on = before_;
}

bool was_interrupted(Handle& handle) {
  if (PyErr_CheckSignals() != 0) {
    // Two reasons may have ended the one wait: the other one stands.
    if (handle.is_interrupted) handle.interrupt_now();
    raise_python();
  }
  return std::exchange(handle.is_interrupted, false);
}

// ---- memory ---------------------------------------------------------------------------

Memory::Memory(nb::handle object, Access access) {
  if (object.is_none()) return;
  const int flags = PyBUF_C_CONTIGUOUS | (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) raise_python();
}

Memory::~Memory() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

std::size_t Memory::item_bytes() const {
  return view_.ndim <= 1 ? static_cast<std::size_t>(view_.itemsize) : 1;
}

}  // namespace lapwing_python
