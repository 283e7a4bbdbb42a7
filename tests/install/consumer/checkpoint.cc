// An external user's program: keeps the newest pair for each key on a closed bus, and finds it in
// the checkpoint.
#include <cstdint>
#include <cstring>
#include <iostream>

#include "lapwing/checkpointer.h"
#include "lapwing/checkpoints.h"
#include "lapwing/kv16.h"
#include "lapwing/publisher.h"

namespace {

constexpr std::chrono::seconds kPatience{30};

int fail(const absl::Status& status) {
  std::cerr << status << '\n';
  return 1;
}

absl::Status publish(const std::string& directory) {
  auto publisher = lapwing::Publisher::open({.directory = directory,
                                             .schema_name = lapwing::kv16::kSchema,
                                             .record_bytes = sizeof(lapwing::kv16::Record)});
  if (!publisher.ok()) return publisher.status();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (!publisher->publish(lapwing::kv16::Record{i % 10, i}).ok()) {
      return publisher->last_error();
    }
  }
  return publisher->close(kPatience);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  if (const absl::Status published = publish(directory); !published.ok()) return fail(published);
  auto checkpointer = lapwing::Checkpointer::open({.subscriber = {.directory = directory}});
  if (!checkpointer.ok()) return fail(checkpointer.status());
  while (!checkpointer->is_closed()) {
    if (const absl::Status run = checkpointer->run(kPatience); !run.ok()) return fail(run);
  }
  if (const absl::Status kept = checkpointer->finish(); !kept.ok()) return fail(kept);
  const auto checkpoint = lapwing::Checkpoint::open({.directory = directory});
  if (!checkpoint.ok()) return fail(checkpoint.status());
  std::cout << "as of " << checkpoint->info().as_of << ": " << checkpoint->size() << " entries\n";
  return checkpoint->size() == 10 && checkpoint->info().as_of == 1000 ? 0 : 1;
}
