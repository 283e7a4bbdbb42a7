// fold_dbn FILE SEQUENCE...: folds a market-by-order DBN file with the fold `orders`, like a bus
// that begins with the file, and prints the state after each of the sequences (ascending), in key
// order:
//
//   at SEQUENCE
//   book PUBLISHER INSTRUMENT good|stale MISFITS
//   order PUBLISHER INSTRUMENT ID SIDE PRICE SIZE PLACE
//   top PUBLISHER INSTRUMENT SIDE PRICE SIZE PLACE
//
// A test program: prints the first error and exits with 1.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lapwing/memory_state.h"
#include "snapshot/dbn/dbn_reader.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing {
namespace {

void print(const OrderEntry& entry) {
  const dbn::MboMsg& msg = entry.msg;
  const unsigned publisher = msg.hd.publisher_id;
  const unsigned instrument = msg.hd.instrument_id;
  const char side = static_cast<char>(msg.side);
  switch (kind_of(entry)) {
    case OrderEntryKind::kLoss:
      return;
    case OrderEntryKind::kBook:
      std::printf("book %u %u %s %u\n", publisher, instrument,
                  is_stale(entry, kNoSequence) ? "stale" : "good", msg.size);
      return;
    case OrderEntryKind::kOrder:
      std::printf("order %u %u %" PRIu64 " %c %" PRId64 " %u %" PRIu64 "\n", publisher, instrument,
                  msg.order_id, side, msg.price, msg.size, entry.place);
      return;
    case OrderEntryKind::kTop:
      std::printf("top %u %u %c %" PRId64 " %u %" PRIu64 "\n", publisher, instrument, side,
                  msg.price, msg.size, entry.place);
      return;
  }
}

void print(Sequence sequence, const MemoryState& state) {
  std::printf("at %" PRIu64 "\n", sequence);
  state.for_each([](std::span<const std::byte> bytes) {
    OrderEntry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    print(entry);
  });
}

absl::Status run(const char* path, const std::vector<Sequence>& looks) {
  auto reader = DbnReader::open(path);
  if (!reader.ok()) return reader.status();
  const OrderFold fold;
  MemoryState state(fold.shape());
  Sequence sequence = 0;
  for (const Sequence look : looks) {
    while (sequence < look) {
      const auto record = (*reader)->next();
      if (!record.ok()) return record.status();
      if (record->empty()) return absl::OutOfRangeError("the file ends before the last sequence");
      fold.apply(++sequence, *record, state);
    }
    print(sequence, state);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace lapwing

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: fold_dbn FILE SEQUENCE...\n", stderr);
    return 2;
  }
  std::vector<lapwing::Sequence> looks;
  for (int i = 2; i < argc; ++i) looks.push_back(std::strtoull(argv[i], nullptr, 10));
  const absl::Status status = lapwing::run(argv[1], looks);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
