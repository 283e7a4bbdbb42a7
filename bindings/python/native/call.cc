#include <nanobind/stl/string.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace lapwing_python {

[[noreturn]] void raise_python() {
  nb::detail::raise_python_error();
  __builtin_unreachable();
}

namespace {

// Creates an exception without calling Error.__init__. That would run Python code under this frame,
// and a thread inside Python code is unwound when the interpreter ends: see ~WithoutGil().
nb::object made_without_init(nb::handle type, const nb::tuple& arguments) {
  auto* const made_of = reinterpret_cast<PyTypeObject*>(type.ptr());
  PyObject* const error = made_of->tp_new(made_of, arguments.ptr(), nullptr);
  if (error == nullptr) raise_python();
  return nb::steal(error);
}

// Returns null if this package does not know the number.
nb::handle class_of(lapwing_result code) {
  static const nb::handle classes =
      nb::getattr(nb::module_::import_("lapwing.error"), "CLASSES").release();
  PyObject* const found = PyDict_GetItemWithError(classes.ptr(), nb::int_(code).ptr());
  if (found == nullptr && PyErr_Occurred() != nullptr) raise_python();
  return found;
}

[[noreturn]] void raise_words(lapwing_result code, int sys_errno, const char* words,
                              Detail detail) {
  static const nb::handle base =
      nb::getattr(nb::module_::import_("lapwing.error"), "Error").release();
  const nb::handle known = class_of(code);
  const nb::handle type = known.is_valid() ? known : base;
  const nb::str message = text_of(words);
  const nb::object error = made_without_init(type, nb::make_tuple(message));
  if (!known.is_valid()) {
    error.attr("number") = code;
    error.attr("name") = text_of(api.error_name(code));
  }
  error.attr("args") =
      sys_errno == 0 ? nb::make_tuple(message) : nb::make_tuple(message, sys_errno);
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
    // The interpreter is ending. Before 3.14 it unwinds the stack of a thread that takes the GIL.
    // Destructors must not throw, so this thread waits for the process to end, as 3.14 does.
    for (;;) pause();
  }
}

void raise(lapwing_result code, const lapwing_error& failure, Detail detail) {
  raise_words(code, failure.sys_errno, failure.message, detail);
}

void raise(lapwing_result code, const char* why) {
  raise_words(code, 0, why, {});
}

void raise_type(const char* name, nb::handle value, const char* wanted) {
  PyErr_Format(PyExc_TypeError, "%s is of %s. Give %s", name, Py_TYPE(value.ptr())->tp_name,
               wanted);
  raise_python();
}

std::uint64_t whole(const char* name, nb::handle value, std::uint64_t most) {
  const bool is_bool = PyBool_Check(value.ptr());
  PyObject* const index =
      is_bool || !PyIndex_Check(value.ptr()) ? nullptr : PyNumber_Index(value.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    raise_type(name, value, "an int");
  }
  const std::uint64_t number = PyLong_AsUnsignedLongLong(index);
  Py_DECREF(index);
  const bool is_beyond = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (is_beyond || number > most) {
    const std::string why = std::string(name) + " is " + nb::cast<std::string>(nb::repr(value)) +
                            ". Give an int from 0 to " + std::to_string(most);
    raise(LAPWING_ERROR_INVALID_ARGUMENT, why.c_str());
  }
  return number;
}

lapwing_result Handle::add_to(lapwing_wait_set*, std::size_t, std::uint64_t*, lapwing_error*) {
  PyErr_SetString(
      PyExc_TypeError,
      "a wait set cannot wait for this source. Give a subscriber, a channel or a listener");
  raise_python();
}

void Handle::destroy() {
  const Use use(*this);
  check_unused();
  free_now();
}

Use::Use(Handle& handle) : handle_(handle) {
  if (handle.is_busy) {
    raise(LAPWING_ERROR_MISUSE,
          "another thread is calling a method of this object. Only one thread at a time may use "
          "it. End the wait of the other thread with interrupt()");
  }
  handle.is_busy = true;
}

// ---- signals --------------------------------------------------------------------------
//
// Python's C handler only records a signal; the Python handler runs when the interpreter resumes.
// The handler here is installed in front of it and ends the wait. It stays installed and forwards
// every signal. If a program sets another handler later, the next long wait reinstalls this one.

namespace {

constexpr int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,
                            SIGALRM, SIGTERM, SIGCHLD, SIGWINCH};

struct sigaction passed_on[NSIG];
Handle* waited_on = nullptr;  // used only by the main thread, including its signal handlers

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
    // interrupt() and a signal may both have ended this wait. Keep the interrupt for the next one.
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

// Raises if `memory` is an array of Python objects. Its elements are addresses, which must not be
// published or overwritten with bytes of records.
void refuse_objects(nb::handle memory) {
  if (!is_array(memory) || !has_objects(dtype_of(memory))) return;
  raise(LAPWING_ERROR_INVALID_ARGUMENT,
        "the array holds Python objects. Pass an array whose dtype has only plain fields");
}

// Whether a cheap check shows that the memory has no fields.
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

Memory::Memory(const char* name, nb::handle object, Access access) {
  refuse_objects(object);
  open(name, object, access);
}

Memory::Memory(const char* name, nb::handle object, Access access, RowCheck& rows) {
  if (!rows.accepts(object)) refuse_objects(object);
  open(name, object, access);
}

void Memory::open(const char* name, nb::handle object, Access access) {
  if (object.is_none() && access >= Access::kReadOrNone) return;
  if (!PyObject_CheckBuffer(object.ptr())) raise_type(name, object, "an array, or bytes");
  const bool is_written = access == Access::kWrite || access == Access::kWriteOrNone;
  const int flags = PyBUF_C_CONTIGUOUS | (is_written ? PyBUF_WRITABLE : 0);
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
          "a column must be an array of 8-byte numbers. Pass numpy.empty(rows, numpy.uint64)");
  }
  return static_cast<std::uint64_t*>(view_.buf);
}

}  // namespace lapwing_python
