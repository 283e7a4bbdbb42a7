#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace lapwing_python {

[[noreturn]] void raise_python() {
  nb::detail::raise_python_error();
  __builtin_unreachable();
}

namespace {

// An exception by its fields alone. Error.__init__ would be Python code under this frame, and a
// thread that is inside of it when the interpreter ends is unwound: see ~WithoutGil().
nb::object made_without_init(nb::handle type, const nb::tuple& arguments) {
  auto* const made_of = reinterpret_cast<PyTypeObject*>(type.ptr());
  PyObject* const error = made_of->tp_new(made_of, arguments.ptr(), nullptr);
  if (error == nullptr) raise_python();
  return nb::steal(error);
}

[[noreturn]] void raise_words(lapwing_result code, int sys_errno, const char* words,
                              Detail detail) {
  static const nb::handle type =
      nb::getattr(nb::module_::import_("lapwing.error"), "Error").release();
  const nb::str name = text_of(api.error_name(code));
  const nb::str message = text_of(words);
  const nb::object error = made_without_init(type, nb::make_tuple(code, name, message, sys_errno));
  error.attr("number") = code;
  error.attr("name") = name;
  error.attr("message") = message;
  error.attr("errno") = sys_errno;
  if (detail.name != nullptr) error.attr(detail.name) = detail.value;
  PyErr_SetObject(type.ptr(), error.ptr());
  raise_python();
}

}  // namespace

WithoutGil::~WithoutGil() {
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {
    // The interpreter is ending. Before 3.14 it unwinds the stack of a thread that takes the GIL,
    // and no destructor lets that pass: this thread waits for the end of the process, as in 3.14.
    for (;;) pause();
  }
}

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
    raise(LAPWING_ERROR_MISUSE,
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

namespace {

bool is_array(nb::handle memory) {
  static const nb::handle array = nb::getattr(nb::module_::import_("numpy"), "ndarray").release();
  return PyObject_TypeCheck(memory.ptr(), reinterpret_cast<PyTypeObject*>(array.ptr()));
}

nb::object dtype_of(nb::handle array) {
  static const nb::handle dtype = PyUnicode_InternFromString("dtype");
  return nb::getattr(array, dtype);
}

bool has_objects(nb::handle dtype) {
  static const nb::handle has_object = PyUnicode_InternFromString("hasobject");
  return nb::getattr(dtype, has_object).ptr() == Py_True;
}

// An array of Python's objects: their addresses are not bytes to publish, and bytes of records are
// not addresses.
void refuse_objects(nb::handle memory) {
  if (!is_array(memory) || !has_objects(dtype_of(memory))) return;
  raise(LAPWING_ERROR_INVALID_ARGUMENT,
        "the array holds Python objects. Pass one whose dtype is of plain fields");
}

// Memory that has no fields, as far as that is known at once.
bool is_plain(nb::handle memory) {
  if (PyBytes_Check(memory.ptr()) || PyByteArray_Check(memory.ptr())) return true;
  if (!PyMemoryView_Check(memory.ptr())) return false;
  const char* const format = PyMemoryView_GET_BUFFER(memory.ptr())->format;
  return format == nullptr || format[0] != 'T';
}

}  // namespace

bool RowCheck::accepts(nb::handle memory) {
  if (memory.is_none()) return false;
  if (!is_array(memory)) {
    if (check_.is_valid() && !is_plain(memory)) check_(memory);
    return false;
  }
  const nb::object dtype = dtype_of(memory);
  if (dtype.ptr() == accepted_.ptr()) return true;
  if (has_objects(dtype)) return false;
  if (check_.is_valid()) check_(memory);
  accepted_ = dtype;
  return true;
}

Memory::Memory(nb::handle object, Access access) {
  refuse_objects(object);
  if (!object.is_none()) open(object, access);
}

Memory::Memory(nb::handle object, Access access, RowCheck& rows) {
  if (!rows.accepts(object)) refuse_objects(object);
  if (!object.is_none()) open(object, access);
}

void Memory::open(nb::handle object, Access access) {
  const int flags = PyBUF_C_CONTIGUOUS | (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) raise_python();
}

Memory::~Memory() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

std::size_t Memory::item_bytes() const {
  return view_.ndim <= 1 ? static_cast<std::size_t>(view_.itemsize) : 1;
}

std::uint64_t* Memory::column() const {
  if (view_.obj == nullptr) return nullptr;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(std::uint64_t) == 0;
  if (view_.itemsize != sizeof(std::uint64_t) || !is_aligned) {
    raise(LAPWING_ERROR_INVALID_ARGUMENT,
          "a column holds 8-byte numbers. Pass numpy.empty(rows, numpy.uint64)");
  }
  return static_cast<std::uint64_t*>(view_.buf);
}

}  // namespace lapwing_python
