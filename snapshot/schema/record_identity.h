// What a bus declares about its records, to the extent that it can be true.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/error.h"
#include "lapwing/schema.h"
#include "snapshot/bus_directory.h"

namespace lapwing {

struct RecordIdentity {
  // Also "bytes" if the bus declares a schema that its records cannot have. In that case `note`
  // describes the contradiction; otherwise it is empty. So code that interprets records by their
  // schema's name or description never reads beyond them.
  std::string schema = {};
  std::string note = {};
  std::uint32_t record_bytes = 0;
  // Its size is `record_bytes` and its name `schema`; null: the records are not described.
  std::shared_ptr<const Schema> description = {};
  // Why an expected description is missing: kDamaged, kUnsupported, kNotPermitted …
  Errc undescribed = Errc::kOk;
  bool is_restamped = false;  // ts_recv is the publish time
};

// Identifies records that the bus calls `schema`. `described`: their description, or why none was
// found; kNotFound if the bus does not name one.
RecordIdentity identify_records(std::string schema, std::uint32_t record_bytes,
                                absl::StatusOr<Schema> described);

// The records as declared by bus.json alone, before a session is attached.
RecordIdentity records_of(const BusDescription& bus);

// Ok if a subscriber that expects `expected` reads these records correctly. Errors: kRecordSize,
// with the first field that differs; `undescribed`.
absl::Status check_expected(const Schema& expected, const RecordIdentity& found);

}  // namespace lapwing
