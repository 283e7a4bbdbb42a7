// The view of a bus with quotes or trades: the newest record of each publisher's instruments, and
// the last trade.
//
// Thread safety: the view's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "monitor/view/book_format.h"
#include "monitor/view/quote_layout.h"
#include "monitor/view/record_content.h"

namespace lapwing {

inline constexpr std::size_t kViewQuotesMax = 256;     // in a message
inline constexpr std::size_t kQuotesKeptMax = 65'536;  // beyond this, the view ends with kLimit

class ViewQuotes final : public RecordContent {
 public:
  // True if this view can show records with this description.
  static bool fits(const Schema* schema);

  explicit ViewQuotes(std::string bus) : bus_(std::move(bus)), symbols_(bus_) {}

  void prepare() override;
  void add_to(nlohmann::ordered_json& message, const std::string& instrument) override;

 private:
  struct Kept {
    Sequence sequence = kNoSequence;  // kNoSequence: from a state without sequences
    std::uint64_t changes = 0;
    std::uint64_t seen_ns = 0;  // when it was last taken, CLOCK_MONOTONIC
    std::vector<std::byte> record;
    std::optional<QuoteSide> trade;
    char trade_side = 'N';
  };
  using Key = std::uint64_t;  // publisher, instrument

  absl::Status put(Sequence sequence, std::span<const std::byte> record) override;
  void forget_records() override { kept_.clear(); }
  void begin_session(const Event& session) override;
  nlohmann::ordered_json quote_json(const Kept& kept, std::uint64_t now_ns);

  const std::string bus_;
  BookFormat symbols_;  // of this session
  std::optional<QuoteLayout> layout_;
  absl::flat_hash_map<Key, Kept> kept_;

  // Prepared for the messages of one interval.
  nlohmann::ordered_json quotes_;
  nlohmann::ordered_json records_;
};

}  // namespace lapwing
