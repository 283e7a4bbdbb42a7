// Checks that a command can decode a bus's records.
//
// Thread safety: free function.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/schema/record_identity.h"

namespace lapwing::cli {

// Error: kRecordSize if the records do not match the description in the bus.
inline absl::StatusOr<RecordIdentity> checked_records(const BusDescription& bus) {
  RecordIdentity records = records_of(bus);
  if (records.schema == bus.schema) return records;
  return make_error(Errc::kRecordSize,
                    absl::StrCat(records.note, "; `lapwing tail` shows the bytes"));
}

}  // namespace lapwing::cli
