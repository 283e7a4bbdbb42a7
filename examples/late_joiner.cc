// A late joiner that loads the complete state immediately: the resting orders of a market-by-order
// bus, then each change.
//
//   lapwing publish --bus /tmp/es --source dbn:es.mbo.dbn.zst --loop 0 --pace 20000
//   lapwing checkpoint --bus /tmp/es --fold orders
//   late_joiner /tmp/es 1000
//
// It ends after the given number of records, or when the bus is closed.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "lapwing/load_state.h"

namespace {

int fail(const absl::Status& status) {
  std::cerr << "late_joiner: " << status.message() << '\n';
  return 1;
}

void show(const lapwing::LoadedState& loaded) {
  std::cout << "as of " << loaded.as_of() << ": " << loaded.state().size() << " entries, digest "
            << std::hex << loaded.state().digest() << std::dec << std::endl;
}

int follow(const std::string& bus, std::uint64_t count) {
  // Loads everything up to now in one call, from the newest valid checkpoint. This takes 10 ms to a
  // minute, depending on its age. Without a checkpoint the same state is built from all retained
  // records, which takes longer.
  auto loaded = lapwing::load_state(
      {.directory = bus, .name = "late_joiner", .start = lapwing::Start::snapshot("orders")},
      std::chrono::seconds(30));
  if (!loaded.ok()) return fail(loaded.status());
  std::cout << "begins with " << loaded->origin() << '\n';
  show(*loaded);

  // From here on each item changes the state, without a gap in between.
  const lapwing::Sequence last = loaded->as_of() + count;
  while (loaded->as_of() < last) {
    const auto item = loaded->next();
    if (item->is(lapwing::EventKind::kClosed)) break;
    if (!item.ok()) return fail(loaded->subscriber().status());
    // The fold marks every book that the loss may affect as stale.
    if (item->is(lapwing::EventKind::kLost)) std::cout << item->event->text << '\n';
    // The publisher has a new history, so the state has been cleared.
    if (item->is(lapwing::EventKind::kReset)) std::cout << item->event->text << '\n';
  }
  show(*loaded);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return follow(argv[1], std::strtoull(argv[2], nullptr, 10));
  std::cerr << "usage: late_joiner BUS COUNT\n";
  return 2;
}
