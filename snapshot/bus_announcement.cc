#include "snapshot/bus_announcement.h"

#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/json_members.h"

namespace lapwing {

std::string BusAnnouncement::file_name() const {
  return absl::StrCat(absl::Hex(XXH3_64bits(directory.data(), directory.size()), absl::kZeroPad16),
                      kAnnouncementExtension);
}

absl::StatusOr<std::string> BusAnnouncement::text() const {
  const nlohmann::ordered_json object = {{"directory", directory},
                                         {"name", name},
                                         {"ring_path", ring_path},
                                         {"publisher_pid", publisher_pid},
                                         {"started_wall_ns", started_wall_ns}};
  try {
    return object.dump(2) + "\n";
  } catch (const nlohmann::json::exception&) {
    return make_error(Errc::kInvalidArgument, absl::StrCat("the name or a path of the bus at ",
                                                           directory, " is not UTF-8"));
  }
}

absl::StatusOr<BusAnnouncement> BusAnnouncement::parse(const std::string& text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  BusAnnouncement bus;
  const bool complete = object.is_object() && take(object, "directory", bus.directory) &&
                        take(object, "name", bus.name) &&
                        take(object, "ring_path", bus.ring_path) &&
                        take(object, "publisher_pid", bus.publisher_pid) &&
                        take(object, "started_wall_ns", bus.started_wall_ns);
  if (!complete || bus.directory.empty() || bus.directory.front() != '/') {
    return make_error(Errc::kDamaged, "it is not the announcement of a bus");
  }
  return bus;
}

}  // namespace lapwing
