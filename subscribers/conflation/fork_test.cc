// A conflated reader in a forked child.
#include <optional>

#include "lapwing/conflation.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"

namespace lapwing {
namespace {

TEST_CASE("Every call of a conflated reader returns forked in a child, and its parent continues") {
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
    REQUIRE(came(reader->next(Deadline::now())) != Came::kEnd);
  }
  ChildProcess child([&] {
    std::vector<std::byte> row(56);
    if (reader->next() != Errc::kForked) return __LINE__;
    if (reader->read_one(row, Deadline::never()).error() != Errc::kForked) return __LINE__;
    if (reader->read_event() != Errc::kForked) return __LINE__;
    if (reader->read(row, Deadline::never()) != Errc::kForked) return __LINE__;
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
  CHECK(came(reader->next(Deadline::now())) == ItemKind::kRecord);
  CHECK(reader->status().ok());
}

}  // namespace
}  // namespace lapwing
