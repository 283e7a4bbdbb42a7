// describe_dbn FILE: prints, as JSON, how our reader reads a DBN file: the metadata, and the number
// of records of each length and type. A test program: prints the first error and exits with 1.
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "snapshot/dbn/dbn_reader.h"

namespace lapwing {
namespace {

nlohmann::json describe(const dbn::Metadata& metadata) {
  nlohmann::json mappings = nlohmann::json::object();
  for (const dbn::SymbolMapping& mapping : metadata.mappings) {
    for (const dbn::MappingInterval& interval : mapping.intervals) {
      mappings[mapping.raw_symbol].push_back(
          {interval.start_date, interval.end_date, interval.symbol});
    }
  }
  return {{"version", metadata.version},
          {"dataset", metadata.dataset},
          {"schema", dbn::schema_name(metadata.schema)},
          {"start", metadata.start},
          {"end", metadata.end},
          {"limit", metadata.limit},
          {"stype_in", metadata.stype_in},
          {"stype_out", metadata.stype_out},
          {"ts_out", metadata.ts_out},
          {"symbols", metadata.symbols},
          {"partial", metadata.partial},
          {"not_found", metadata.not_found},
          {"mappings", mappings}};
}

absl::StatusOr<nlohmann::json> describe(const std::string& path) {
  const auto reader = DbnReader::open(path);
  if (!reader.ok()) return reader.status();
  nlohmann::json description = describe((*reader)->metadata());
  std::map<std::string, std::uint64_t> counts;
  for (;;) {
    const auto record = (*reader)->next();
    if (!record.ok()) return record.status();
    if (record->empty()) break;
    ++counts[std::to_string(static_cast<int>((*record)[offsetof(dbn::RecordHeader, rtype)])) + "/" +
             std::to_string(record->size())];
  }
  description["records"] = counts;  // "record type/bytes"
  return description;
}

}  // namespace
}  // namespace lapwing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: describe_dbn FILE\n", stderr);
    return 2;
  }
  const auto description = lapwing::describe(argv[1]);
  if (description.ok()) {
    std::cout << *description << "\n";
    return 0;
  }
  std::cerr << description.status().message() << "\n";
  return 1;
}
