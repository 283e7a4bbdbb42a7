#include "lapwing/cursor.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/positions.h"

struct lapwing_cursor : lapwing::c::Handle<lapwing::Cursor> {
  static constexpr char kWhat[] = "cursor";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

absl::StatusOr<Cursor> open_cursor(const char* path, std::uint32_t flags, std::int64_t timeout_ns) {
  if ((flags & ~std::uint32_t{LAPWING_CURSOR_DURABLE}) != 0) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("flags is ", flags, ". Give LAPWING_CURSOR_DURABLE or 0"));
  }
  return Cursor::open({.path = text_of(path), .durable = (flags & LAPWING_CURSOR_DURABLE) != 0},
                      deadline_in(timeout_ns));
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::Cursor;

extern "C" {

lapwing_result lapwing_cursor_open(const char* path, uint32_t flags, int64_t timeout_ns,
                                   lapwing_cursor** cursor, lapwing_error* error) {
  return open_into(cursor, error, [&] { return open_cursor(path, flags, timeout_ns); });
}

lapwing_result lapwing_cursor_position(lapwing_cursor* cursor, lapwing_position* position,
                                       uint64_t* output_bytes, uint64_t* output_file,
                                       lapwing_error* error) {
  return call(cursor, error, [&](Cursor& opened) {
    const std::optional<lapwing::StoredPosition> committed = opened.position();
    if (!committed) {
      return fail(error, lapwing::Errc::kNotFound, "nothing was committed to this cursor yet");
    }
    if (output_bytes != nullptr) *output_bytes = opened.output().bytes;
    if (output_file != nullptr) *output_file = opened.output().file;
    return position == nullptr ? success() : put_position(*committed, position, error);
  });
}

lapwing_result lapwing_cursor_commit(lapwing_cursor* cursor, const lapwing_position* position,
                                     uint64_t output_bytes, uint64_t output_file,
                                     lapwing_error* error) {
  return call(cursor, error, [&](Cursor& opened) {
    if (position == nullptr) {
      return fail(error, lapwing::Errc::kInvalidArgument, "position is NULL; give its address");
    }
    const absl::Status committed =
        opened.commit(position_of(*position), {output_bytes, output_file});
    return committed.ok() ? success() : fail(error, committed);
  });
}

void lapwing_cursor_destroy(lapwing_cursor** cursor) {
  destroy(cursor);
}

}  // extern "C"
