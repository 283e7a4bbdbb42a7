// known_schemas: prints the text of every schema that Lapwing ships, in each version, one per line.
// A test program.
#include "snapshot/schema/known_schemas.h"

#include <iostream>

int main() {
  constexpr std::uint32_t kVersionMax = 3;
  for (const std::string_view name : lapwing::known_schema_names()) {
    for (std::uint32_t version = 1; version <= kVersionMax; ++version) {
      if (const auto schema = lapwing::known_schema(name, version)) {
        std::cout << schema->text() << "\n";
      }
    }
  }
  return std::cout.flush().good() ? 0 : 1;
}
