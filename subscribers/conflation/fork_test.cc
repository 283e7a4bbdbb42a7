// A conflated reader in a forked child.
#include <optional>

#include "lapwing/conflation.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"

namespace lapwing {
namespace {

TEST_CASE("Every call of a conflated reader is forked in a child, and its parent reads on") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  std::uint64_t now_ns = 1;
  ConflationOptions options;
  options.interval = std::chrono::nanoseconds(1000);
  options.now_ns = [&] { return now_ns; };
  options.key = {8, [](auto record, auto key) { std::copy_n(record.begin(), 8, key.begin()); }};
  auto opened = ConflatedReader::open(bus.options(), options);
  REQUIRE(opened.ok());
  std::optional<ConflatedReader> reader(*std::move(opened));
  while (reader->waiting() == 0) {
    bus.turn();
    REQUIRE(reader->wait(Deadline::now()).kind != ItemKind::kEnded);
  }
  ChildProcess child([&] {
    std::vector<std::byte> row(56);
    const Item item = reader->wait(Deadline::never());
    if (item.kind != ItemKind::kEnded || item.event == nullptr) return __LINE__;
    if (reader->take(row, Deadline::never()).result != Errc::kForked) return __LINE__;
    const std::optional<Event> event = reader->take_event();
    if (!event || event->kind != ItemKind::kEnded) return __LINE__;
    const Batch batch = reader->read(row, Deadline::never());
    if (batch.result != Errc::kForked || batch.event->kind != ItemKind::kEnded) return __LINE__;
    if (errc_of(reader->status()) != Errc::kForked) return __LINE__;
    if (errc_of(reader->subscriber().status()) != Errc::kForked) return __LINE__;
    if (errc_of(reader->fd().status()) != Errc::kForked || reader->arm()) return __LINE__;
    if (reader->waiting() != 0) return __LINE__;
    reader->interrupt();
    reader.reset();
    return 0;
  });
  CHECK(child.wait() == 0);
  now_ns += 1000;
  CHECK(reader->wait(Deadline::now()).kind == ItemKind::kRecord);
  CHECK(reader->status().ok());
}

}  // namespace
}  // namespace lapwing
