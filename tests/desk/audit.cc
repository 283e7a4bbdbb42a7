// Audits the desk's journals. Exits with 1 if something is missing, duplicated, or based on old
// data.
//   audit numbers BUS        each record's number, or order, is its sequence
//   audit fills BUS          each trader's orders occur once, in order
//   audit made BUS FILE FIRST…  no quote of the strategy in FILE was made on old data; FIRST: the
//                              first records of sessions
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lapwing/dbn.h"
#include "lapwing/history.h"
#include "tests/desk/desk.h"

namespace {

using Use = std::function<bool(lapwing::Sequence, std::span<const std::byte>)>;

template <typename Record>
Record record_of(std::span<const std::byte> bytes) {
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

// Reads every record of the journal. Returns false if one is missing, or if `use` rejects it.
bool for_each(lapwing::History& history, const Use& use) {
  const std::uint32_t record_bytes = history.info().record_bytes;
  std::vector<std::byte> rows(std::size_t{1024} * record_bytes);
  for (lapwing::Sequence next = 1;;) {
    const auto batch = history.read(next, rows);
    if (batch == lapwing::Errc::kWouldBlock) break;
    if (batch->count == 0) {
      std::cerr << "record " << next << " is not in the journal\n";
      return false;
    }
    for (std::size_t i = 0; i < batch->count; ++i, ++next) {
      const auto record = std::span(rows).subspan(i * record_bytes, record_bytes);
      if (use(next, record)) continue;
      std::cerr << "record " << next << " is not as it has to be\n";
      return false;
    }
  }
  std::cout << history.info().archived << std::endl;
  return true;
}

bool are_numbered(lapwing::Sequence sequence, std::span<const std::byte> record) {
  if (record.size() == sizeof(lapwing::dbn::MboMsg)) {
    return record_of<lapwing::dbn::MboMsg>(record).order_id == sequence;
  }
  return record_of<desk::Quote>(record).number == sequence;
}

bool check_fills(lapwing::History& history) {
  std::map<std::uint64_t, std::uint64_t> last;  // of each trader
  return for_each(history, [&](lapwing::Sequence, std::span<const std::byte> record) {
    const auto order = record_of<desk::Order>(record);
    return order.number == ++last[order.trader];
  });
}

// One record may already have its time but not yet be in the ring. The clock of the stamp and the
// strategy's clock may be steered differently. A strategy that still reads a killed publisher's
// records cannot know the records of its successor, so such quotes are not judged.
bool check_made(lapwing::History& history, const char* path,
                const std::set<std::uint64_t>& firsts) {
  constexpr std::uint64_t kClocksNs = 1'000'000;
  std::vector<std::uint64_t> sent = {0};
  const bool whole = for_each(history, [&](lapwing::Sequence, std::span<const std::byte> record) {
    sent.push_back(record_of<desk::Quote>(record).sent);
    return true;
  });
  std::ifstream file(path, std::ios::binary);
  desk::MadeQuote made{};
  std::uint64_t quotes = 0;
  std::uint64_t old = 0;
  while (file.read(reinterpret_cast<char*>(&made), sizeof made)) {
    ++quotes;
    const std::uint64_t unknown = made.on + desk::kBehindMax + 2;
    const auto next_first = firsts.upper_bound(made.on);
    if (next_first != firsts.end() && *next_first <= unknown) continue;
    if (unknown < sent.size() && sent[unknown] + kClocksNs < made.looked_ns) ++old;
  }
  std::cout << quotes << " quotes, " << old << " on old data" << std::endl;
  return whole && quotes > 0 && old == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  auto history = lapwing::History::open(argc > 2 ? argv[2] : "");
  if (!history.ok()) return desk::fail(history.status());
  bool good = false;
  if (what == "numbers") good = for_each(*history, are_numbered);
  if (what == "fills") good = check_fills(*history);
  if (what == "made" && argc >= 4) {
    std::set<std::uint64_t> firsts;
    for (int i = 4; i < argc; ++i) firsts.insert(std::strtoull(argv[i], nullptr, 10));
    good = check_made(*history, argv[3], firsts);
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
