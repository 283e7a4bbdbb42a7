// lapwing_bench: measures the rows of the table and prints them, as text or JSON.
//
// Exit code: 0 if every possible row was measured, regardless of the budgets; 1 if a promise was
// broken (a torn record) or a row could not be set up; 2 for wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/floor.h"
#include "bench/private_directory.h"
#include "bench/probe.h"
#include "bench/row_report.h"
#include "bench/rows.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

struct Arguments {
  std::vector<std::string> rows;
  std::string shm = "/dev/shm";
  std::string disk = ".";
  bool json = false;
  bool json_lines = false;
  bool probe = false;
  int trials_max = Setting{}.trials_max;
  bool quick = false;
  bool list = false;
};

int parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app(
      "Measures Lapwing relative to floors of this machine that are measured at the same time.");
  app.add_option("rows", arguments.rows, "rows to measure; default: all of them");
  app.add_option("--shm", arguments.shm, "directory of the rings, on a tmpfs")
      ->capture_default_str();
  app.add_option("--disk", arguments.disk, "directory on the measured disk")->capture_default_str();
  app.add_flag("--json", arguments.json, "print JSON with every trial instead of the table");
  app.add_flag("--json-lines", arguments.json_lines,
               "print each row as one line of JSON when it is done");
  app.add_option("--trials", arguments.trials_max, "maximum number of trials per row")
      ->check(CLI::PositiveNumber);
  app.add_flag("--probe", arguments.probe,
               "measure only the floors and the clock, once, and print one line of JSON");
  app.add_flag("--quick", arguments.quick,
               "run each row only briefly; the figures are meaningless");
  app.add_flag("--list", arguments.list, "print the names of the rows");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

const Row* find_row(const std::string& name) {
  for (const Row& row : all_rows()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

int run_rows(const Arguments& arguments, const std::vector<const Row*>& rows) {
  const PrivateDirectory shm(arguments.shm);
  const PrivateDirectory disk(arguments.disk);
  const Setting setting{shm.path(), disk.path(), arguments.quick, arguments.trials_max};
  std::vector<RowResult> results;
  for (const Row* row : rows) {
    const std::uint64_t start_ns = monotonic_ns();
    results.push_back(row->run(setting));
    results.back().seconds = static_cast<double>(monotonic_ns() - start_ns) / 1e9;
    if (arguments.json) continue;
    const bool lines = arguments.json_lines;
    const std::string text = lines ? to_json_line(results.back()) : to_text(results.back());
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  if (arguments.json) std::printf("%s\n", to_json(results).c_str());
  for (const RowResult& result : results) {
    if (!result.fault().empty()) return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  Arguments arguments;
  straight_placement();  // determines the cores before any thread is pinned
  if (const int exit_code = parse(argc, argv, arguments); exit_code >= 0) return exit_code;
  if (arguments.probe) {
    std::printf("%s\n", to_json_line(probe()).c_str());
    return 0;
  }
  std::vector<const Row*> rows;
  for (const Row& row : all_rows()) {
    if (arguments.list) std::printf("%s\n", row.name);
    if (arguments.rows.empty()) rows.push_back(&row);
  }
  if (arguments.list) return 0;
  for (const std::string& name : arguments.rows) {
    rows.push_back(find_row(name));
    if (rows.back() != nullptr) continue;
    std::fprintf(stderr, "lapwing_bench: unknown row %s. --list prints all rows.\n", name.c_str());
    return 2;
  }
  return run_rows(arguments, rows);
}

}  // namespace
}  // namespace lapwing::bench

int main(int argc, char** argv) {
  return lapwing::bench::run(argc, argv);
}
