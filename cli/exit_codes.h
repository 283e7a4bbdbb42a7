// What the process's exit code says; the same in every command, and part of what users script
// against.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/status.h"
#include "lapwing/error.h"

namespace lapwing::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitOther = 1,          // anything that has no number of its own
  kExitUsage = 2,          // wrong usage: arguments that cannot work, now or ever
  kExitStoppedAtGap = 3,   // --on-gap stop met a gap
  kExitDamaged = 4,        // damaged data: journal, recording or feed
  kExitPublisherGone = 5,  // the publisher is gone (or never came) and --reattach has passed
  kExitPeerGone = 5,       // the other side of a channel is gone
  kExitLost = 6,           // done, but records were lost on the way
};

constexpr int exit_code_for(Errc code) {
  switch (code) {
    case Errc::kOk:
      return kExitDone;
    case Errc::kInvalidArgument:
    case Errc::kRecordSize:
    case Errc::kPathTooLong:
      return kExitUsage;
    case Errc::kDamaged:
    case Errc::kBadInput:
    case Errc::kCorrupt:
      return kExitDamaged;
    case Errc::kPublisherGone:
      return kExitPublisherGone;
    case Errc::kPeerGone:
      return kExitPeerGone;
    default:
      return kExitOther;
  }
}

// Prints "lapwing: <message>" on standard error and returns the exit code that fits.
int fail(const absl::Status& status);

}  // namespace lapwing::cli
