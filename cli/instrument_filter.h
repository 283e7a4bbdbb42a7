// --instrument: a number, or a symbol looked up in the feed's metadata in the bus directory.
//
// The metadata is read when the first record arrives: by then the publisher has written it. A
// symbol that the metadata does not know matches nothing and says so once on standard error.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::cli {

class InstrumentFilter {
 public:
  InstrumentFilter(std::string bus, std::string instrument)
      : bus_(std::move(bus)), instrument_(std::move(instrument)) {}

  bool matches(std::optional<std::uint64_t> instrument_id);

 private:
  void look_up();

  std::string bus_;
  std::string instrument_;
  std::optional<std::vector<std::uint64_t>> ids_;
};

}  // namespace lapwing::cli
