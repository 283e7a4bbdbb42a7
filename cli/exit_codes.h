// The exit codes of `lapwing`. Each has one meaning in all commands, and scripts rely on them.
// docs/reference/exit-codes.md lists them. Every command's help is generated from kExitCodes.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "lapwing/error.h"

namespace lapwing::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitOther = 1,
  kExitUsage = 2,
  kExitStoppedAtGap = 3,
  kExitDamaged = 4,
  kExitGone = 5,
  kExitLost = 6,
};

struct ExitCodeMeaning {
  ExitCode code;
  const char* meaning;
};

inline constexpr ExitCodeMeaning kExitCodes[] = {
    {kExitDone, "done"},
    {kExitOther, "failed: any other error, or a check found a problem"},
    {kExitUsage, "wrong arguments"},
    {kExitStoppedAtGap, "stopped at a gap"},
    {kExitDamaged, "damaged data"},
    {kExitGone, "the bus, its publisher or the peer of a channel is absent, or does not answer"},
    {kExitLost, "records or messages were lost, or are not in the journal"},
};

constexpr ExitCode exit_code_for(Errc code) {
  switch (code) {
    case Errc::kOk:
      return kExitDone;
    case Errc::kInvalidArgument:
    case Errc::kRecordSize:
    case Errc::kPathTooLong:
      return kExitUsage;
    case Errc::kStoppedAtGap:
      return kExitStoppedAtGap;
    case Errc::kDamaged:
    case Errc::kBadInput:
    case Errc::kCorrupt:
      return kExitDamaged;
    case Errc::kNoBus:
    case Errc::kPublisherGone:
    case Errc::kPeerGone:
    case Errc::kTimedOut:
      return kExitGone;
    default:
      return kExitOther;
  }
}

// The codes and their meanings, one per line, for the end of a help text.
std::string exit_codes_help();

// Prints "lapwing: <message>" on standard error and returns the matching exit code.
int fail(const absl::Status& status);
// Like fail(), for invalid arguments.
int fail_usage(const std::string& why);

}  // namespace lapwing::cli
