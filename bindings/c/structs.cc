#include "bindings/c/structs.h"

#include "absl/strings/str_cat.h"

namespace lapwing::c {

absl::Status check_struct(const void* given, std::uint32_t struct_size, const char* what) {
  if (given == nullptr) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(what, " is NULL; give its address"));
  }
  if (struct_size < kStructBytesMin) {
    return make_error(Errc::kInvalidArgument, absl::StrCat(what, " has struct_size ", struct_size,
                                                           "; set it to sizeof before the call"));
  }
  return absl::OkStatus();
}

absl::Status check_tail(const void* given, std::uint32_t struct_size, std::size_t known,
                        const char* what) {
  const char* const bytes = static_cast<const char*>(given);
  for (std::size_t i = known; i < struct_size; ++i) {
    if (bytes[i] != 0) {
      return make_error(
          Errc::kInvalidArgument,
          absl::StrCat("byte ", i, " of ", what, " is not zero, but this library knows ", known,
                       " bytes of it; use a library that is as new as the header"));
    }
  }
  return absl::OkStatus();
}

absl::Status check_duration(const char* field, std::int64_t ns) {
  if (ns >= 0 || ns == LAPWING_FOREVER) return absl::OkStatus();
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("options.", field, " is ", ns,
                                 ". Give a number of nanoseconds, or what lapwing.h names for it"));
}

}  // namespace lapwing::c
