// What a bus says of its records, as far as it can be true.
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
  // "bytes", too, where the bus says more than its records can be: `note` then says what, and is
  // empty otherwise. So code that interprets records by their schema's name or description
  // stays within them.
  std::string schema = {};
  std::string note = {};
  std::uint32_t record_bytes = 0;
  // Of `record_bytes` and named `schema`; null: they have no description.
  std::shared_ptr<const Schema> description = {};
  // Why a description that there should be is missing: kDamaged, kUnsupported, kNotPermitted …
  Errc undescribed = Errc::kOk;
  bool is_restamped = false;  // ts_recv is the time of publishing
};

// Records that the bus calls `schema`. `described`: what was found of their description; kNotFound
// where the bus names none.
RecordIdentity identify_records(std::string schema, std::uint32_t record_bytes,
                                absl::StatusOr<Schema> described);

// What bus.json alone says, before anything is attached.
RecordIdentity records_of(const BusDescription& bus);

// Whether a subscriber that knows `expected` reads these records rightly. Errors: kRecordSize, with
// the first field that differs; `undescribed`.
absl::Status check_expected(const Schema& expected, const RecordIdentity& found);

}  // namespace lapwing
