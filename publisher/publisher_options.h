// The rules for a publisher's options. Every rule is checked here, before a start creates
// anything.
//
// Thread safety: free functions without state.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "lapwing/publisher.h"

namespace lapwing {

// An option that requires a journal.
struct JournalOption {
  const char* name;                               // the member of PublisherOptions
  bool (*is_set)(const PublisherOptions& given);  // to a value other than its default
};
std::span<const JournalOption> journal_options();

// Refuses `option` on a bus without a journal. Both arguments are in the user's terms: "resume" and
// "journal is false".
absl::Status requires_journal(const std::string& option, const std::string& why_none);

// Checks the options and completes them: paths become absolute, a description sets schema_name and
// record_bytes, a shipped schema gets its description, and `log` becomes callable. Errors:
// kInvalidArgument, kLimit (the text of the description), kRecordSize, kNotFound (a relative path
// without a working directory), those of check_placement.
absl::Status settle_options(PublisherOptions& options);

}  // namespace lapwing
