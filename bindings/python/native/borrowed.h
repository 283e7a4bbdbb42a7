// Library memory that is lent to Python. It is not returned while a view of it is alive. The buffer
// protocol counts the views.
#pragma once

#include <lapwing.h>
#include <nanobind/nanobind.h>
#include <native/call.h>

#include <cstdint>
#include <memory>

namespace lapwing_python {

struct Borrowed {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t type = 0;  // message type
  bool is_writable = false;
  bool is_ended = false;  // returned
  int views = 0;          // live views
};

// A Python object's reference to it. `owner` keeps the memory mapped.
struct BorrowedMemory {
  std::shared_ptr<Borrowed> borrowed;
  nb::object owner;
};

// For classes whose C++ type derives from BorrowedMemory.
template <typename T>
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  Borrowed& borrowed = *nb::inst_ptr<T>(self)->borrowed;
  if (borrowed.is_ended) {
    PyErr_SetString(PyExc_BufferError, "the memory was returned by release, commit or close");
    return -1;
  }
  const Py_ssize_t bytes = static_cast<Py_ssize_t>(borrowed.bytes);
  if (PyBuffer_FillInfo(view, self, borrowed.data, bytes, borrowed.is_writable ? 0 : 1, flags) !=
      0) {
    return -1;
  }
  ++borrowed.views;
  return 0;
}

template <typename T>
void release_buffer(PyObject* self, Py_buffer*) noexcept {
  --nb::inst_ptr<T>(self)->borrowed->views;
}

template <typename T>
PyType_Slot kBufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer<T>)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer<T>)},
                              {0, nullptr}};

// Raises misuse with the message `why` while a view is alive.
inline void check_no_view(const Borrowed& borrowed, const char* why) {
  if (borrowed.views > 0) raise(LAPWING_ERROR_MISUSE, why);
}

}  // namespace lapwing_python
