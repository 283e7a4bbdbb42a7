// What a command that takes records apart asks of a bus first.
//
// Thread safety: free function.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing::cli {

// kRecordSize for records that cannot be what the bus says of them.
inline absl::StatusOr<RecordIdentity> checked_records(const BusDescription& bus) {
  RecordIdentity records = records_of(bus);
  if (records.schema == bus.schema) return records;
  return make_error(Errc::kRecordSize,
                    absl::StrCat(records.note, "; `lapwing tail` shows the bytes"));
}

}  // namespace lapwing::cli
