#include "relay/in/fetched_checkpoint.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>

#include "lapwing/error.h"
#include "proto/text_field.h"
#include "snapshot/wide_xxh3.h"
#include "testing/sim_disk.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

std::string checkpoint_with(const std::function<void(CheckpointHeader&)>& change = {}) {
  CheckpointHeader header{};
  header.magic = kCheckpointMagic;
  header.sequence = 4'711;
  set_text(header.fold, "book");
  if (change) change(header);
  header.checksum = XXH3_64bits(&header, offsetof(CheckpointHeader, checksum));
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + "entries";
}

}  // namespace

TEST_CASE("A fetched checkpoint is kept under its fold and sequence") {
  SimDisk disk(kSimRoot, 1);
  const absl::StatusOr<std::string> path = keep_checkpoint(disk, kSimRoot, checkpoint_with());
  INFO(path.status().ToString());
  REQUIRE(path.ok());
  CHECK(*path == "/sim/checkpoint/book/00000000000000004711.ckpt");
  CHECK(*disk.exists(*path));
}

TEST_CASE("A fetched file that is not a checkpoint is not kept") {
  SimDisk disk(kSimRoot, 1);
  const auto refused = [&](const std::string& file, const std::string& what) {
    const absl::Status status = keep_checkpoint(disk, kSimRoot, file).status();
    CHECK(errc_of(status) == Errc::kDamaged);
    CHECK(says(status, what));
  };
  refused("short", "shorter than its header");
  refused(checkpoint_with([](CheckpointHeader& h) { h.magic = 1; }), "the magic");
  refused(checkpoint_with([](CheckpointHeader& h) { set_text(h.fold, "../../x"); }),
          "invalid name");
  refused(checkpoint_with([](CheckpointHeader& h) { set_text(h.fold, ""); }), "invalid name");
  std::string changed = checkpoint_with();
  changed[100] ^= 1;
  refused(changed, "its checksum");
  CHECK_FALSE(*disk.exists("/sim/checkpoint"));
}

}  // namespace lapwing
