// The log. Lines go to the library's queue or to a pipe.
//
// The library's threads never call a Python function. It would wait for the GIL while the log's
// lock is held, and os.fork() waits for that lock while it holds the GIL.
#include <limits.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/values.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace lapwing_python {

namespace {

constexpr std::size_t kLineBytesMax = PIPE_BUF - 1;  // so that lines do not mix

// Writes a line to a non-blocking pipe. A line that does not fit is dropped.
void write_line(void* user, const char* line) {
  char newline = '\n';
  const iovec parts[] = {
      {.iov_base = const_cast<char*>(line), .iov_len = std::min(std::strlen(line), kLineBytesMax)},
      {.iov_base = &newline, .iov_len = 1}};
  [[maybe_unused]] const ssize_t written =
      writev(static_cast<int>(reinterpret_cast<std::intptr_t>(user)), parts, 2);
}

// Sends lines to the pipe `fd`, or drops them if `fd` is -1.
void set_log(int fd) {
  const WithoutGil released;
  api.log_set(fd < 0 ? nullptr : &write_line, reinterpret_cast<void*>(std::intptr_t{fd}));
}

void queue_log() {
  const WithoutGil released;
  api.log_queue();
}

nb::tuple read_log() {
  char line[PIPE_BUF] = {};
  std::uint64_t dropped = 0;
  const lapwing_result result = api.log_read(line, sizeof line, &dropped);
  if (result != LAPWING_OK) raise(result, "the log's queue is empty");
  return nb::make_tuple(text_of(line), dropped);
}

}  // namespace

void bind_log(nb::module_& module) {
  module.def("log_set", &set_log, nb::arg("fd"));
  module.def("log_queue", &queue_log);
  module.def("log_read", &read_log, nb::sig("def log_read() -> tuple[str, int]"));
}

}  // namespace lapwing_python
