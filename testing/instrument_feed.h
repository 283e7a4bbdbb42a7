// For tests: a desk.signal bus with records of five instruments in turn. Test code only.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "snapshot/dbn/dbn_metadata.h"
#include "testing/bus_fixture.h"
#include "testing/signal_record.h"

namespace lapwing {

class InstrumentFeed : public TestBus {
 public:
  static constexpr std::uint32_t kInstruments = 5;
  static constexpr std::uint64_t kDayNs = 86'400'000'000'000;
  static constexpr std::uint64_t kJan1 = 19'723;  // 2024-01-01, in days since 1970

  // Returns the day of record n.
  using DayOf = std::function<std::uint64_t(Sequence n)>;

  explicit InstrumentFeed(
      bool with_journal = true, DayOf day_of = [](Sequence) { return kJan1; })
      : TestBus(with_journal) {
    describe_as(schema_of<Signal>());
    journal.mark = [day = std::move(day_of)](Sequence n, std::span<std::byte> record) {
      const std::uint64_t time_ns = day(n) * kDayNs;
      const std::uint32_t instrument = instrument_of(n);
      std::memcpy(record.data() + offsetof(Signal, ts_recv), &time_ns, sizeof time_ns);
      std::memcpy(record.data() + offsetof(Signal, instrument), &instrument, sizeof instrument);
    };
  }

  // Applies to the next session.
  void describe_as(const Schema& description) {
    schema = {description.name, description.hash()};
    described_as = description.text();
  }

  static std::uint32_t instrument_of(Sequence n) {
    return static_cast<std::uint32_t>(n % kInstruments);
  }
  // The sequences in first … last with these instruments.
  static std::vector<Sequence> sequences_of(std::initializer_list<std::uint32_t> instruments,
                                            Sequence first, Sequence last) {
    std::vector<Sequence> sequences;
    for (Sequence n = first; n <= last; ++n) {
      for (const std::uint32_t instrument : instruments) {
        if (instrument_of(n) == instrument) sequences.push_back(n);
      }
    }
    return sequences;
  }

  SubscriberOptions choosing(std::vector<std::string> instruments,
                             Start start = Start::oldest()) const {
    SubscriberOptions chosen = options(std::move(start));
    chosen.instruments = std::move(instruments);
    return chosen;
  }
};

// Writes the symbols as the publisher of such a feed does. Applies to the next sessions.
inline void write_symbols(TestBus& bus, std::vector<dbn::SymbolMapping> mappings) {
  dbn::Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  metadata.schema = dbn::SchemaId::kMbo;
  metadata.stype_in = dbn::SType::kRawSymbol;
  metadata.stype_out = dbn::SType::kInstrumentId;
  metadata.mappings = std::move(mappings);
  const absl::StatusOr<std::string> bytes = dbn::encode_metadata(metadata);
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  bus.journal.metadata = *bytes;
  REQUIRE(write_feed_metadata(bus.directory(), *bytes, std::nullopt).ok());
}

}  // namespace lapwing
