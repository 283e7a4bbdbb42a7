// A progress line on standard error, redrawn a few times per second. Shown only on a terminal.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "lapwing/log.h"

namespace lapwing::cli {

class Progress {
 public:
  Progress();
  ~Progress();  // ends the line
  // `total` is 0 if unknown. Reads the clock; call it once per batch.
  void show(const std::string& verb, std::uint64_t count, std::uint64_t total,
            const std::string& things = "records");
  // Removes the line before a message is printed. The next show() draws it again.
  void clear();
  // Prints a message instead of the line.
  void say(const LogEntry& entry);

 private:
  bool terminal_;
  bool drawn_ = false;
  std::uint64_t began_ns_;
  std::uint64_t next_ns_ = 0;
};

}  // namespace lapwing::cli
