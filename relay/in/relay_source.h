// Where a message came from, for messages to operators.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace lapwing {

struct RelaySource {
  enum class Kind : std::uint32_t { kJournal, kLog, kLive, kStream, kMirrors, kOrigin };

  Kind kind = Kind::kJournal;
  std::uint64_t number = 0;  // kStream: the stream sequence

  std::string text() const {
    switch (kind) {
      case Kind::kJournal:
        return "the mirror's own journal";
      case Kind::kLog:
        return "a message on log";
      case Kind::kLive:
        return "a message on live";
      case Kind::kStream:
        return absl::StrCat("message ", number, " of the stream");
      case Kind::kMirrors:
        return "a mirror's answer";
      case Kind::kOrigin:
        return "the origin's answer";
    }
    return "";
  }
  friend bool operator==(const RelaySource&, const RelaySource&) = default;
};

}  // namespace lapwing
