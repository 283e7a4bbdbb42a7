// Makes the status of a failed system call.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {

// Returns the remedy for an errno that is caused by a process limit, or an empty text.
constexpr const char* limit_remedy(int sys_errno) {
  switch (sys_errno) {
    case EMFILE:
      return "; raise the limit on open files (ulimit -n)";
    case EFBIG:
      return "; raise the limit on a file's size (ulimit -f)";
    case ENOMEM:
      return "; free memory, or raise the limit on it (ulimit -v)";
    default:
      return "";
  }
}

// Makes a status for a failed system call. The errno selects kNoSpace, kNotPermitted, kNotFound or
// kSystem, and its text and limit_remedy() end the message. `what` is the call's purpose and the
// path.
inline absl::Status make_system_error(int sys_errno, const std::string& what) {
  Errc code = Errc::kSystem;
  switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
      code = Errc::kNoSpace;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Errc::kNotPermitted;
      break;
    case ENOENT:
      code = Errc::kNotFound;
      break;
    default:
      break;
  }
  char text[128];
  absl::Status status = make_error(
      code,
      absl::StrCat(what, ": ", strerror_r(sys_errno, text, sizeof text), limit_remedy(sys_errno)));
  status.SetPayload(kErrnoPayload, detail::decimal_cord(sys_errno));
  return status;
}

}  // namespace lapwing
