// A late joiner that knows everything at once: the orders that rest on a bus of market by order,
// and then each change as it comes.
//
//   lapwing publish --bus /tmp/es --source dbn:es.mbo.dbn.zst --loop 0 --pace 20000
//   lapwing checkpoint --bus /tmp/es --fold orders
//   late_joiner /tmp/es 1000
//
// Ends after so many records (1000 in this line), or when the bus is closed.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "lapwing/load_state.h"
#include "os/kernel.h"

namespace {

constexpr std::uint64_t kPatienceNs = 30'000'000'000;

int fail(const absl::Status& status) {
  std::cerr << "late_joiner: " << status.message() << '\n';
  return 1;
}

void show(const lapwing::LoadedState& loaded) {
  std::cout << "as of " << loaded.as_of() << ": " << loaded.state().size() << " entries, digest "
            << std::hex << loaded.state().digest() << std::dec << std::endl;
}

int follow(const std::string& bus, std::uint64_t count) {
  lapwing::SubscriberOptions options;
  options.directory = bus;
  options.name = "late_joiner";
  // The newest checkpoint that is good. Without one the state is made of all records that are kept,
  // which takes longer and is the same.
  options.start = lapwing::Start::snapshot("orders");
  // Everything up to now, in one call: 10 ms or a minute, depending on how old the checkpoint is.
  auto loaded = lapwing::load_state(options, lapwing::monotonic_ns() + kPatienceNs);
  if (!loaded.ok()) return fail(loaded.status());
  std::cout << "begins with " << loaded->origin() << '\n';
  show(*loaded);

  // From here on the state changes with every item, and nothing was missed in between.
  const lapwing::Sequence last = loaded->as_of() + count;
  while (loaded->as_of() < last) {
    const std::uint64_t soon_ns = lapwing::monotonic_ns() + kPatienceNs;
    const lapwing::Item item = loaded->subscriber().wait(soon_ns);
    loaded->take(item);
    if (item.kind == lapwing::ItemKind::kClosed) break;
    if (item.kind == lapwing::ItemKind::kEnded) return fail(loaded->subscriber().status());
    // Every book that the loss may have touched is stale now; the fold knows which.
    if (item.kind == lapwing::ItemKind::kLost) std::cout << loaded->subscriber().text() << '\n';
    // The publisher's history is another one: the state began anew with it.
    if (item.kind == lapwing::ItemKind::kReset) std::cout << loaded->subscriber().text() << '\n';
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
