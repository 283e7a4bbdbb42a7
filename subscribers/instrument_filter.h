// Selects the records of chosen instruments, for SubscriberOptions::instruments and the commands'
// --instrument option.
//
// An instrument is chosen by its number, as id:5930, or by a symbol. The metadata of the record's
// session (snapshot/dbn/session_metadata.h) maps a symbol to numbers (lapwing/symbols.h); the
// record's time decides which of them applies. A name that consists of digits is a symbol. A
// record's instrument is its field instrument_id, or else the first unsigned number of its key.
//
// The symbols' numbers are looked up once for each day in the records' times, which allocates.
// Otherwise, a record costs two loads and a search in a sorted list.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/fold.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/symbols.h"
#include "snapshot/dbn/session_metadata.h"
#include "snapshot/schema/record_clock.h"

namespace lapwing {

class InstrumentFilter {
 public:
  // Takes names that check_instruments() accepts. Matches nothing before begin(). `option` names an
  // instrument in messages, for example "--instrument".
  explicit InstrumentFilter(const std::vector<std::string>& instruments,
                            std::string option = "instrument");

  // Call it before records of this session. They have this description, or none if it is null. If
  // an instrument is a symbol, the session's metadata is read. A symbol that only a later session
  // has matches nothing. After an error, nothing matches. Errors: kInvalidArgument (records without
  // an instrument; a number that the field cannot hold), kNotFound (a symbol that neither this
  // session nor a later one has), kBadInput (metadata that cannot be parsed); those of
  // SessionMetadata.
  absl::Status begin(const std::string& bus_directory, const Schema* description,
                     const Id128& session_id);

  // `record` has the size in its description; a record with another size does not match.
  bool matches(std::span<const std::byte> record);
  // The same for something that is not a record, such as an order book.
  bool matches(std::uint64_t instrument_id, std::uint64_t utc_ns);
  // Matches a fold's entry by the record that it begins with. An entry that does not begin with a
  // record matches, and so does the `orders` fold's entry for the whole bus.
  bool matches_entry(const FoldShape& shape, std::span<const std::byte> entry);

  // count_chosen() returns the number of these contiguous records before the first that does not
  // match, count_others() the number before the first that does.
  std::size_t count_chosen(std::span<const std::byte> records);
  std::size_t count_others(std::span<const std::byte> records);

 private:
  // The chosen numbers on a day, which is counted from 1970; ascending.
  struct Day {
    std::uint64_t day = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::uint64_t> chosen = {};
  };
  static constexpr std::size_t kDaysKept = 4;  // records around midnight, from several venues

  absl::Status find_field(const std::string& bus_directory, const Schema* description);
  absl::Status find_symbols(const std::string& bus_directory, const Id128& session_id);
  void turn_to(std::uint64_t day);
  bool is_chosen(std::span<const std::byte> record);
  template <bool kChosen>
  std::size_t count_leading(std::span<const std::byte> records);

  std::string option_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::string> names_;  // symbols

  // For the current records.
  std::size_t record_bytes_ = 0;  // 0: nothing matches
  Field field_;                   // of the instrument
  RecordClock clock_;
  std::optional<SessionMetadata> metadata_;
  Symbols symbols_;  // only those in names_
  std::array<Day, kDaysKept> days_;
  std::size_t now_ = 0;  // index in days_ of the last record's day
};

// Checks SubscriberOptions::instruments. Errors: kInvalidArgument, kLimit.
absl::Status check_instruments(const std::vector<std::string>& instruments);

}  // namespace lapwing
