// Error numbers, one for every way in which an operation can fail, and statuses that carry them.
//
//   if (lapwing::errc_of(status) == lapwing::Errc::kInUse) ...
//
// Errors are values. Cold paths return absl::Status or absl::StatusOr with a number whose meaning
// never changes between releases (docs/reference/abi-policy.md). The message states what happened,
// where, and what to do next. A gap in the data is not an error: see lapwing/gap.h.
//
// Thread safety: everything here is a pure function.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lapwing {

enum class Errc : std::uint32_t {
  kOk = 0,
  kInvalidArgument = 1,  // the arguments contradict each other or violate a stated limit
  kNoBus = 2,            // no bus in this directory, nothing left of it to read, no such channel
  kInUse = 3,            // another process holds this bus, journal, path, recording or cursor
  kNotPermitted = 4,     // refused by the kernel or by an ownership check
  kNoSpace = 5,          // the disk or the tmpfs is full, before or while writing
  kSystem = 6,           // any other failed system call; the message contains errno
  kDamaged = 7,          // durable bytes differ from those that were written
  kAbiMismatch = 8,      // the other side has a different ABI version
  kNotALapwingFile = 9,  // the path is a file, link, directory or socket of a different kind
  kJournalFailed = 10,   // a write or sync of the journal failed; final for that journal
  kNoJournal = 11,       // the request needs a journal, but this bus has none
  kPruned = 12,          // the journal no longer keeps that sequence
  kTimedOut = 13,        // a deadline passed while the call waited for the other side
  kPublisherGone = 14,   // the publisher's process ended without closing
  kRefused = 15,         // the other side refused the connection; the message contains its reason
  kProtocol = 16,        // the other side violates the protocol of a control socket or a channel
  kBadInput = 17,        // a feed's bytes violate its format
  kRecordSize = 18,      // records of this size or type do not fit this bus
  kPathTooLong = 19,     // the path is too long for a socket or a frame
  kClosed = 20,          // the bus, the channel or the publisher was closed cleanly
  kReset = 21,           // a stored position belongs to a history this journal does not contain
  kUnsupported = 22,     // not supported by this kernel, container or file system
  kLimit = 23,           // a named limit is exhausted
  kNotFound = 24,        // the requested file, symbol or sequence does not exist
  kStoppedAtGap = 25,    // there was a gap, and the policy is to stop at one
  kPeerGone = 26,        // a channel's other side has ended, or no process listens at its path
  kCorrupt = 27,         // a channel's other side wrote data that the protocol does not allow
  kWouldBlock = 28,      // nothing is available, and the call does not wait (Deadline::now())
  kMisuse = 29,          // invalid use, such as two calls at a time on one object; no effect
  kInterrupted = 30,     // interrupt() ended the wait
  kTooSmall = 31,        // the caller's memory is too small for a row or message; none was taken
  kNoMemory = 32,        // memory could not be allocated
  kForked = 33,          // the object belongs to the parent of this forked process
  kEventDue = 34,        // an event or a state entry comes before the next record: read it first
  kNoAnswer = 35,        // the publisher did not answer a joining subscriber, which then ended
};

struct ErrorName {
  Errc code;
  const char* name;  // stable identifier, shown by commands and in JSON
  absl::StatusCode status;
};

inline constexpr ErrorName kErrorNames[] = {
    {Errc::kOk, "ok", absl::StatusCode::kOk},
    {Errc::kInvalidArgument, "invalid-argument", absl::StatusCode::kInvalidArgument},
    {Errc::kNoBus, "no-bus", absl::StatusCode::kNotFound},
    {Errc::kInUse, "in-use", absl::StatusCode::kAlreadyExists},
    {Errc::kNotPermitted, "not-permitted", absl::StatusCode::kPermissionDenied},
    {Errc::kNoSpace, "no-space", absl::StatusCode::kResourceExhausted},
    {Errc::kSystem, "system", absl::StatusCode::kInternal},
    {Errc::kDamaged, "damaged", absl::StatusCode::kDataLoss},
    {Errc::kAbiMismatch, "abi-mismatch", absl::StatusCode::kFailedPrecondition},
    {Errc::kNotALapwingFile, "not-a-lapwing-file", absl::StatusCode::kFailedPrecondition},
    {Errc::kJournalFailed, "journal-failed", absl::StatusCode::kDataLoss},
    {Errc::kNoJournal, "no-journal", absl::StatusCode::kFailedPrecondition},
    {Errc::kPruned, "pruned", absl::StatusCode::kOutOfRange},
    {Errc::kTimedOut, "timed-out", absl::StatusCode::kDeadlineExceeded},
    {Errc::kPublisherGone, "publisher-gone", absl::StatusCode::kUnavailable},
    {Errc::kRefused, "refused", absl::StatusCode::kUnavailable},
    {Errc::kProtocol, "protocol", absl::StatusCode::kInternal},
    {Errc::kBadInput, "bad-input", absl::StatusCode::kDataLoss},
    {Errc::kRecordSize, "record-size", absl::StatusCode::kInvalidArgument},
    {Errc::kPathTooLong, "path-too-long", absl::StatusCode::kInvalidArgument},
    {Errc::kClosed, "closed", absl::StatusCode::kOutOfRange},
    {Errc::kReset, "reset", absl::StatusCode::kFailedPrecondition},
    {Errc::kUnsupported, "unsupported", absl::StatusCode::kUnimplemented},
    {Errc::kLimit, "limit", absl::StatusCode::kResourceExhausted},
    {Errc::kNotFound, "not-found", absl::StatusCode::kNotFound},
    {Errc::kStoppedAtGap, "stopped-at-gap", absl::StatusCode::kAborted},
    {Errc::kPeerGone, "peer-gone", absl::StatusCode::kUnavailable},
    {Errc::kCorrupt, "corrupt", absl::StatusCode::kDataLoss},
    {Errc::kWouldBlock, "would-block", absl::StatusCode::kUnavailable},
    {Errc::kMisuse, "misuse", absl::StatusCode::kFailedPrecondition},
    {Errc::kInterrupted, "interrupted", absl::StatusCode::kCancelled},
    {Errc::kTooSmall, "too-small", absl::StatusCode::kInvalidArgument},
    {Errc::kNoMemory, "no-memory", absl::StatusCode::kResourceExhausted},
    {Errc::kForked, "forked", absl::StatusCode::kFailedPrecondition},
    {Errc::kEventDue, "event-due", absl::StatusCode::kFailedPrecondition},
    {Errc::kNoAnswer, "no-answer", absl::StatusCode::kUnavailable},
};

// The absl::Status payload that contains the library's error number, in decimal.
inline constexpr char kErrorPayload[] = "lapwing.error";
// The absl::Status payload that contains the errno of a failed system call, in decimal.
inline constexpr char kErrnoPayload[] = "lapwing.errno";

constexpr const char* name_of(Errc code) {
  for (const ErrorName& entry : kErrorNames) {
    if (entry.code == code) return entry.name;
  }
  return "unknown";
}

namespace detail {

// Through string_view: clang 19 and gcc 12 mangle Cord's constructor from std::string differently.
inline absl::Cord decimal_cord(std::int64_t number) {
  const std::string text = absl::StrCat(number);
  return absl::Cord(absl::string_view(text));
}

}  // namespace detail

// Makes a status with number `code`. `message` states what happened, where, and what to do next.
[[nodiscard]] inline absl::Status make_error(Errc code, const std::string& message) {
  for (const ErrorName& entry : kErrorNames) {
    if (entry.code != code) continue;
    absl::Status status(entry.status, message);
    status.SetPayload(kErrorPayload, detail::decimal_cord(static_cast<std::uint32_t>(code)));
    return status;
  }
  return absl::InternalError(message);
}

// Returns the number in a status, or kSystem for a status that was not made by make_error.
[[nodiscard]] inline Errc errc_of(const absl::Status& status) {
  if (status.ok()) return Errc::kOk;
  const auto payload = status.GetPayload(kErrorPayload);
  std::uint32_t number = 0;
  if (payload && absl::SimpleAtoi(std::string(*payload), &number)) return static_cast<Errc>(number);
  return Errc::kSystem;
}

// Returns the errno of the failed system call, or 0 if none failed.
inline int errno_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrnoPayload);
  int number = 0;
  if (payload && absl::SimpleAtoi(std::string(*payload), &number)) return number;
  return 0;
}

}  // namespace lapwing
