// A late joiner that knows everything at once: the orders that rest on a bus of market by order,
// and then each change as it comes.
//
//   lapwing publish --bus /tmp/es --source dbn:es.mbo.dbn.zst --loop 0 --pace 20000
//   lapwing checkpoint --bus /tmp/es --fold orders
//   late_joiner /tmp/es 1000
//
// Ends after so many records (1000 in this line), or when the bus is closed.
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
  // Everything up to now, in one call: 10 ms or a minute, depending on how old the checkpoint is.
  // It is the newest one that is good. Without one the state is made of all records that are kept,
  // which takes longer and is the same.
  auto loaded = lapwing::load_state(
      {.directory = bus, .name = "late_joiner", .start = lapwing::Start::snapshot("orders")},
      std::chrono::seconds(30));
  if (!loaded.ok()) return fail(loaded.status());
  std::cout << "begins with " << loaded->origin() << '\n';
  show(*loaded);

  // From here on the state changes with every item, and nothing was missed in between.
  const lapwing::Sequence last = loaded->as_of() + count;
  while (loaded->as_of() < last) {
    const auto item = loaded->next();
    if (item->is(lapwing::EventKind::kClosed)) break;
    if (!item.ok()) return fail(loaded->subscriber().status());
    // Every book that the loss may have touched is stale now; the fold knows which.
    if (item->is(lapwing::EventKind::kLost)) std::cout << item->event->text << '\n';
    // The publisher's history is another one: the state began anew with it.
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
