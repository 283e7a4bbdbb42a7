// What the options say of the records, made to agree: schema, record_bytes and description.
//
// Thread safety: a pure function.
#pragma once

#include "absl/status/status.h"
#include "lapwing/publisher.h"

namespace lapwing {

// A description gives the other two; a schema that Lapwing ships gets its description.
// Errors: kInvalidArgument (a description that is none, or that contradicts the other two, or one
// that Lapwing ships), kLimit (its text), kRecordSize.
absl::Status settle_record_options(PublisherOptions& options);

}  // namespace lapwing
