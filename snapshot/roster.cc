#include "snapshot/roster.h"

#include <nlohmann/json.hpp>
#include <span>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/small_file.h"
#include "os/whole_file.h"
#include "proto/text_field.h"
#include "snapshot/json_members.h"

namespace lapwing {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json entry_json(const SubscriberInfoFrame& subscriber) {
  return {{"name", get_text(subscriber.name)},
          {"uid", subscriber.uid},
          {"pid", subscriber.pid},
          {"pid_is_claimed", subscriber.pid_is_claimed != 0},
          {"process_start", subscriber.process_start},
          {"parks", subscriber.may_park != 0},
          {"wait", subscriber.wait},
          {"on_gap", subscriber.on_gap},
          {"position", subscriber.position},
          {"records", subscriber.records},
          {"gaps", subscriber.gaps},
          {"lost", subscriber.lost},
          {"filled", subscriber.filled},
          {"connected_wall_ns", subscriber.connected_wall_ns},
          {"reported_wall_ns", subscriber.reported_wall_ns},
          {"missing_since_wall_ns", subscriber.missing_since_wall_ns}};
}

bool take_entry(const json& object, SubscriberInfoFrame& out) {
  out.role = ClientRole::kSubscriber;
  out.state = ClientState::kMissing;
  std::string name;
  bool is_claimed = false;
  bool parks = false;
  const bool complete =
      object.is_object() && take(object, "name", name) && take(object, "uid", out.uid) &&
      take(object, "pid", out.pid) && take(object, "pid_is_claimed", is_claimed) &&
      take(object, "process_start", out.process_start) && take(object, "parks", parks) &&
      take(object, "wait", out.wait) && take(object, "on_gap", out.on_gap) &&
      take(object, "position", out.position) && take(object, "records", out.records) &&
      take(object, "gaps", out.gaps) && take(object, "lost", out.lost) &&
      take(object, "filled", out.filled) &&
      take(object, "connected_wall_ns", out.connected_wall_ns) &&
      take(object, "reported_wall_ns", out.reported_wall_ns) &&
      take(object, "missing_since_wall_ns", out.missing_since_wall_ns);
  if (!complete) return false;
  set_text(out.name, name);
  out.pid_is_claimed = is_claimed ? 1 : 0;
  out.may_park = parks ? 1 : 0;
  return true;
}

}  // namespace

std::string Roster::text() const {
  ordered_json list = ordered_json::array();
  for (const SubscriberInfoFrame& subscriber : subscribers) list.push_back(entry_json(subscriber));
  const ordered_json object = {{"boot_id", boot_id.hex()},
                               {"pid_namespace", namespaces.pid},
                               {"time_namespace", namespaces.time},
                               {"closed", closed},
                               {"subscribers", std::move(list)}};
  // A name is what a peer sent.
  return object.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Roster> Roster::parse(const std::string& text) {
  const absl::Status damaged = make_error(Errc::kDamaged, "it is not the roster of a bus");
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  Roster roster;
  if (!object.is_object() || !take(object, "boot_id", roster.boot_id) ||
      !take(object, "pid_namespace", roster.namespaces.pid) ||
      !take(object, "time_namespace", roster.namespaces.time) ||
      !take(object, "closed", roster.closed)) {
    return damaged;
  }
  const auto list = object.find("subscribers");
  if (list == object.end() || !list->is_array()) return damaged;
  for (const json& entry : *list) {
    SubscriberInfoFrame subscriber{};
    if (!take_entry(entry, subscriber)) return damaged;
    roster.subscribers.push_back(subscriber);
  }
  return roster;
}

absl::StatusOr<Roster> read_roster(Disk& disk, const std::string& directory) {
  const absl::StatusOr<std::string> text =
      read_small_file(disk, absl::StrCat(directory, "/", kRosterFileName), kRosterBytesMax);
  if (!text.ok()) return text.status();
  return Roster::parse(*text);
}

absl::Status write_roster(Disk& disk, const std::string& directory, const Roster& roster) {
  const std::string path = absl::StrCat(directory, "/", kRosterFileName);
  const std::string text = roster.text();
  const auto file = create_unfinished(disk, path);
  if (!file.ok()) return file.status();
  absl::Status status = disk.write_at(file->get(), 0, std::as_bytes(std::span(text)));
  if (status.ok()) status = disk.rename(path + kUnfinishedSuffix, path);
  if (!status.ok()) disk.remove(path + kUnfinishedSuffix).IgnoreError();
  return status;
}

std::vector<SubscriberInfoFrame> expected_by(const Roster& roster, const Id128& boot_id,
                                             std::uint64_t now_wall_ns) {
  const bool is_same_boot = roster.boot_id == boot_id;
  const bool are_pids_valid = is_same_boot && roster.namespaces.pid == own_namespaces().pid;
  std::vector<SubscriberInfoFrame> expected;
  for (SubscriberInfoFrame subscriber : roster.subscribers) {
    if (!are_pids_valid) subscriber.pid_is_claimed = 1;
    if (roster.closed) {
      if (subscriber.pid_is_claimed != 0) continue;
      const ProcessIdentity process{.pid = subscriber.pid,
                                    .start_ticks = subscriber.process_start,
                                    .namespaces = roster.namespaces};
      if (state_of(process) == ProcessState::kEnded) continue;
    }
    if (subscriber.missing_since_wall_ns == 0) subscriber.missing_since_wall_ns = now_wall_ns;
    expected.push_back(subscriber);
  }
  return expected;
}

}  // namespace lapwing
