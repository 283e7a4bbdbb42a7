#include "bindings/c/call.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

constexpr struct {
  Errc code;
  const char* words;
} kWords[] = {
    {Errc::kClosed, "it was closed cleanly, and everything was delivered"},
    {Errc::kWouldBlock, "nothing can be done now, and the call does not wait"},
    {Errc::kTimedOut, "the timeout passed"},
    {Errc::kInterrupted, "interrupt ended the wait"},
    {Errc::kMisuse, "another call with this handle is under way; one thread at a time uses it"},
    {Errc::kRecordSize, "the records of this bus have another size; inspect() returns it"},
    {Errc::kTooSmall, "the memory does not hold one row; row_bytes is the size of a row"},
    {Errc::kEventDue, "an event or a state comes before the next record; read it first"},
    {Errc::kForked, "the handle is of the process that forked this one; open another one here"},
    {Errc::kNoMemory, "there is no memory left"},
};

}  // namespace

std::string_view words_of(Errc code) {
  for (const auto& entry : kWords) {
    if (entry.code == code) return entry.words;
  }
  return name_of(code);
}

lapwing_result fail(lapwing_error* error, Errc code, std::string_view message,
                    int sys_errno) noexcept {
  constexpr std::size_t kHead = offsetof(lapwing_error, message);
  if (error == nullptr || error->struct_size < kHead) return number_of(code);
  error->code = number_of(code);
  error->sys_errno = sys_errno;
  error->reserved = 0;
  const std::size_t room = std::min<std::size_t>(error->struct_size, sizeof *error) - kHead;
  if (room > 0) put_text(error->message, room, message);
  return number_of(code);
}

lapwing_result fail(lapwing_error* error, const absl::Status& status) {
  const auto message = status.message();
  return fail(error, errc_of(status), {message.data(), message.size()}, errno_of(status));
}

lapwing_result put_fd(int fd, std::int32_t* out, lapwing_error* error) {
  if (out == nullptr) return fail(error, Errc::kInvalidArgument, "fd is NULL; give its address");
  *out = fd;
  return fd >= 0 ? success() : fail(error, Errc::kClosed, "it was closed, and has no descriptor");
}

lapwing_result fail_with(lapwing_error* error, Errc result, const absl::Status& status) {
  // After the program's own close(), the message of a misuse is about that close.
  const bool was_closed = result == Errc::kMisuse && errc_of(status) == Errc::kClosed;
  if (was_closed) {
    const auto message = status.message();
    return fail(error, result, {message.data(), message.size()});
  }
  return errc_of(status) == result ? fail(error, status) : fail(error, result, words_of(result));
}

lapwing_result fail_by_exception(lapwing_error* error) noexcept {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    return fail(error, Errc::kNoMemory, words_of(Errc::kNoMemory));
  } catch (const std::length_error&) {  // from a container larger than the address space
    return fail(error, Errc::kNoMemory, words_of(Errc::kNoMemory));
  } catch (const std::exception& thrown) {
    return fail(error, Errc::kSystem, thrown.what());
  } catch (...) {
    return fail(error, Errc::kSystem, "an exception of an unknown type was thrown");
  }
}

lapwing_result refuse(lapwing_error* error, Errc why, const char* what, bool is_null) noexcept {
  std::string_view message = words_of(why);
  char text[96];
  if (is_null) {
    put_text(text, sizeof text, "this ");
    append_text(text, sizeof text, what);
    append_text(text, sizeof text, " is NULL: it was not opened, or it was destroyed");
    message = text;
  }
  return fail(error, why, message);
}

}  // namespace lapwing::c
