// The result of a verification as text and as JSON, shared by `verify` and `repair`.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "snapshot/recovery/verify.h"

namespace lapwing::cli {

nlohmann::ordered_json verify_json(const VerifyReport& report);
void print_verify(const VerifyReport& report);

// kExitDamaged if there are findings, otherwise kExitDone.
int verify_exit_code(const VerifyReport& report);

// The directory of `bus`'s journal. Errors: kNoBus, kNoJournal.
absl::StatusOr<std::string> journal_root_of(const std::string& bus);

}  // namespace lapwing::cli
