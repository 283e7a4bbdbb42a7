// What a verification found, as text and as JSON; `verify` and `repair` show it alike.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "snapshot/recovery/verify.h"

namespace lapwing::cli {

nlohmann::ordered_json verify_json(const VerifyReport& report);
void print_verify(const VerifyReport& report);

// kExitDamaged if there is anything to report, else kExitDone.
int verify_exit_code(const VerifyReport& report);

// Where `bus` keeps its journal. Errors: kNoBus, kNoJournal.
absl::StatusOr<std::string> journal_root_of(const std::string& bus);

}  // namespace lapwing::cli
