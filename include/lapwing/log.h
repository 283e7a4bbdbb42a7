// The log of a publisher or a checkpointer: entries for operators and for programs.
//
//   options.log = [](const lapwing::LogEntry& entry) {
//     if (entry.level >= lapwing::LogLevel::kWarning) std::cerr << entry.message << '\n';
//   };
//
// A message is one line: what happened, where, and what to do next. Messages may change between
// releases, but events and the keys of fields do not. See docs/reference/events.md for the events.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lapwing {

enum class LogLevel : std::uint8_t {
  kInfo,     // normal operation
  kWarning,  // work continues; an operator should know
  kError,    // a guarantee no longer holds
};

enum class LogEvent : std::uint8_t {
  // Publisher.
  kJournalBegins,
  kJournalContinues,
  kJournalRecovered,
  kJournalCut,
  kJournalAbandoned,
  kJournalKeptAside,
  kJournalWriter,
  kJournalLagging,
  kJournalFailed,
  kJournalTrouble,
  kDiskSilent,
  kRingForeign,
  kRingStays,
  kRingDeleted,
  kLockRemoved,
  kNotAnnounced,
  kCloseFailed,
  kClientRefused,
  kClientDropped,
  kClientsOmitted,
  // Checkpointer.
  kStoreBegins,
  kNotDurable,
  kCheckpointerTrouble,
  kCheckpointerRecovered,
};

struct LogEventFacts {
  const char* name;
  LogLevel level;
};

// Returns an event's name and level in logs. The name never changes.
constexpr LogEventFacts facts_of(LogEvent event) {
  switch (event) {
    case LogEvent::kJournalBegins:
      return {"journal-begins", LogLevel::kInfo};
    case LogEvent::kJournalContinues:
      return {"journal-continues", LogLevel::kInfo};
    case LogEvent::kJournalRecovered:
      return {"journal-recovered", LogLevel::kWarning};
    case LogEvent::kJournalCut:
      return {"journal-cut", LogLevel::kWarning};
    case LogEvent::kJournalAbandoned:
      return {"journal-abandoned", LogLevel::kWarning};
    case LogEvent::kJournalKeptAside:
      return {"journal-kept-aside", LogLevel::kWarning};
    case LogEvent::kJournalWriter:
      return {"journal-writer", LogLevel::kInfo};
    case LogEvent::kJournalLagging:
      return {"journal-lagging", LogLevel::kWarning};
    case LogEvent::kJournalFailed:
      return {"journal-failed", LogLevel::kError};
    case LogEvent::kJournalTrouble:
      return {"journal-trouble", LogLevel::kWarning};
    case LogEvent::kDiskSilent:
      return {"disk-silent", LogLevel::kError};
    case LogEvent::kRingForeign:
      return {"ring-foreign", LogLevel::kWarning};
    case LogEvent::kRingStays:
      return {"ring-stays", LogLevel::kWarning};
    case LogEvent::kRingDeleted:
      return {"ring-deleted", LogLevel::kError};
    case LogEvent::kLockRemoved:
      return {"lock-removed", LogLevel::kWarning};
    case LogEvent::kNotAnnounced:
      return {"not-announced", LogLevel::kWarning};
    case LogEvent::kCloseFailed:
      return {"close-failed", LogLevel::kError};
    case LogEvent::kClientRefused:
      return {"client-refused", LogLevel::kWarning};
    case LogEvent::kClientDropped:
      return {"client-dropped", LogLevel::kWarning};
    case LogEvent::kClientsOmitted:
      return {"clients-omitted", LogLevel::kWarning};
    case LogEvent::kStoreBegins:
      return {"store-begins", LogLevel::kInfo};
    case LogEvent::kNotDurable:
      return {"not-durable", LogLevel::kWarning};
    case LogEvent::kCheckpointerTrouble:
      return {"checkpointer-trouble", LogLevel::kWarning};
    case LogEvent::kCheckpointerRecovered:
      return {"checkpointer-recovered", LogLevel::kInfo};
  }
  return {"unknown", LogLevel::kError};
}

constexpr const char* name_of(LogLevel level) {
  if (level == LogLevel::kInfo) return "info";
  return level == LogLevel::kWarning ? "warning" : "error";
}

struct LogField {
  std::string key;
  std::variant<std::uint64_t, std::string> value;
};

struct LogEntry {
  LogLevel level = LogLevel::kInfo;
  std::string event;
  std::string message;
  std::vector<LogField> fields = {};

  // For a hook that uses only the line.
  operator const std::string&() const { return message; }  // NOLINT(google-explicit-constructor)
};

using LogHook = std::function<void(const LogEntry& entry)>;

inline LogEntry log_entry(LogEvent event, std::string message, std::vector<LogField> fields = {}) {
  const LogEventFacts facts = facts_of(event);
  return {facts.level, facts.name, std::move(message), std::move(fields)};
}

}  // namespace lapwing
