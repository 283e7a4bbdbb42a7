#include "monitor/checkpoint_status.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "lapwing/error.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"

namespace lapwing {
namespace {

struct ArchivedBus : TestBus {
  ArchivedBus() {
    start();
    publish(900);
    archive(900);
  }
  std::vector<CheckpointStatus> read() {
    auto found = read_checkpoints(directory());
    REQUIRE(found.ok());
    return *std::move(found);
  }
};

TEST_CASE("The newest checkpoint of each fold is found by its header") {
  ArchivedBus bus;
  CHECK(bus.read().empty());
  const TestFold last;
  const TestFold other(sizeof(TestFold::Entry), "other");
  write_checkpoint(bus, last, 300);
  const std::string newest = write_checkpoint(bus, last, 700);
  write_checkpoint(bus, other, 500);
  const std::vector<CheckpointStatus> found = bus.read();
  REQUIRE(found.size() == 2);
  CHECK(found[0].fold == "last");
  CHECK(found[0].as_of == 700);
  CHECK(found[0].usable.ok());
  CHECK(found[0].bytes == std::filesystem::file_size(newest));
  CHECK(found[0].entries > 0);
  CHECK(found[0].written_wall_ns > 0);
  CHECK(found[1].fold == "other");
  CHECK(found[1].as_of == 500);
}

TEST_CASE("A newest file that is no checkpoint is said, and what is no directory is no fold") {
  ArchivedBus bus;
  const TestFold last;
  const std::string path = write_checkpoint(bus, last, 700);
  std::filesystem::resize_file(path, 5'000);
  std::ofstream(bus.directory() + "/checkpoint/notes.txt") << "mine";
  const std::vector<CheckpointStatus> found = bus.read();
  REQUIRE(found.size() == 1);
  CHECK(errc_of(found[0].usable) == Errc::kDamaged);
  CHECK(found[0].as_of == 700);
  CHECK(found[0].bytes == 0);
}

}  // namespace
}  // namespace lapwing
