// Every row runs for a moment. Nothing is asserted about time: only that there is a ratio, or a
// stated reason why not, and that no promise was broken.
#include "bench/rows.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "bench/private_directory.h"
#include "bench/row_report.h"

namespace lapwing::bench {
namespace {

TEST_CASE("Every row gives a ratio or says why it cannot") {
  const PrivateDirectory shm("/dev/shm");
  const PrivateDirectory disk(std::filesystem::temp_directory_path().string());
  const Setting setting{shm.path(), disk.path(), true};
  for (const Row& row : all_rows()) {
    const RowResult result = row.run(setting);
    CAPTURE(row.name, to_text(result));
    CHECK(result.spec.name == row.name);
    CHECK(result.fault().empty());
    if (!result.skipped.empty()) {
      WARN("SKIPPED: " << row.name << ": " << result.skipped);
      continue;
    }
    CHECK(std::isfinite(result.median_ratio()));
    CHECK(result.median_ratio() >= 0);
  }
}

}  // namespace
}  // namespace lapwing::bench
