// Converts positions for the C interface.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"
#include "lapwing/subscriber.h"

namespace lapwing::c {

inline StoredPosition position_of(const lapwing_position& position) {
  return {id_of(position.journal_id), id_of(position.session_id), position.sequence};
}

inline lapwing_result put_position(const absl::StatusOr<StoredPosition>& position,
                                   lapwing_position* out, lapwing_error* error) {
  if (out == nullptr) {
    return fail(error, Errc::kInvalidArgument, "position is NULL; give its address");
  }
  if (!position.ok()) return fail(error, position.status());
  *out = {id_of(position->journal_id), id_of(position->session_id), position->sequence};
  return success();
}

}  // namespace lapwing::c
