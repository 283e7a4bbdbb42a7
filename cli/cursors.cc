// lapwing cursors: shows the positions that programs keep in cursors.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "monitor/json_text.h"
#include "monitor/time_text.h"
#include "os/posix_io.h"
#include "snapshot/cursor/cursor_file.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kCursorsAbout[] =
    "Show cursors: the positions up to which programs have processed a bus.\n\n"
    "  lapwing cursors es.log.cursor\n"
    "  lapwing cursors *.cursor --json\n\n"
    "A cursor is a file in which a program keeps its position on a bus. It is only read, and the\n"
    "program may run meanwhile. `output` is what the program has committed with the position:\n"
    "where its own output ended. `--from after:POSITION` of other commands continues after it.\n"
    "The exit code is 4 if a cursor is damaged; the others are still shown.";

struct CursorsOptions {
  std::vector<std::string> paths;
  bool json = false;
};

bool has_position(const CursorCommit& commit) {
  return commit.position.sequence != kNoSequence;
}

Json cursor_json(const std::string& path, const CursorContents& contents) {
  const CursorCommit& newest = contents.newest;
  Json json = {{"path", path}, {"position", nullptr}};
  if (has_position(newest)) {
    json["position"] = newest.position.text();
    json["journal"] = newest.position.journal_id.hex();
    json["session"] = newest.position.session_id.hex();
    json["sequence"] = newest.position.sequence;
  }
  json["output_bytes"] = newest.output.bytes;
  json["output_file"] = newest.output.file;
  json["generation"] = newest.generation;
  json["written_ns"] = newest.written_wall_ns;
  json["one_copy_is_damaged"] = contents.one_copy_is_damaged;
  return json;
}

Json error_json(const std::string& path, const absl::Status& status) {
  return {
      {"path", path}, {"error", name_of(errc_of(status))}, {"why", std::string(status.message())}};
}

void print_cursor(const std::string& path, const CursorContents& contents) {
  const CursorCommit& newest = contents.newest;
  std::cout << "cursor " << printable(path) << "\n  position    ";
  if (has_position(newest)) {
    std::cout << newest.position.text() << "\n  output      " << newest.output.bytes
              << " bytes, file " << newest.output.file;
  } else {
    std::cout << "none: nothing was committed yet";
  }
  std::cout << "\n  generation  " << newest.generation << ", written "
            << time_text(newest.written_wall_ns) << '\n';
  if (contents.one_copy_is_damaged) {
    std::cout << "  damaged     one of its two copies, as after a commit that was cut short; the "
                 "other one is shown\n";
  }
}

int show_cursors(const CursorsOptions& options) {
  if (options.paths.empty()) {
    return fail_usage("cursors needs the PATH of a cursor, or more");
  }
  PosixDisk disk;
  Json cursors = Json::array();
  int code = kExitDone;
  for (const std::string& path : options.paths) {
    const absl::StatusOr<CursorContents> contents = read_cursor(disk, path);
    if (!contents.ok()) {
      // A damaged cursor determines the exit code, because it has the highest code.
      code = std::max(code, fail(contents.status()));
      cursors.push_back(error_json(path, contents.status()));
    } else if (options.json) {
      cursors.push_back(cursor_json(path, *contents));
    } else {
      print_cursor(path, *contents);
    }
  }
  if (options.json) {
    const Json json = {{"cursors", cursors}};
    std::cout << json_text(json, 2) << '\n';
  }
  return code;
}

}  // namespace

void add_cursors(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "cursors", kCursorsAbout, show_cursors);
  command.add_option("path", options.paths, "files of cursors")->type_name("PATH");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
