#include "snapshot/roster.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

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
          {"missing", subscriber.state == ClientState::kMissing},
          {"missing_since_wall_ns", subscriber.missing_since_wall_ns}};
}

bool take_entry(const json& object, SubscriberInfoFrame& out) {
  out.role = ClientRole::kSubscriber;
  std::string name;
  bool is_missing = false;
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
      take(object, "missing", is_missing) &&
      take(object, "missing_since_wall_ns", out.missing_since_wall_ns);
  if (!complete) return false;
  out.state = is_missing ? ClientState::kMissing : ClientState::kJoining;
  set_text(out.name, name);
  out.pid_is_claimed = is_claimed ? 1 : 0;
  out.may_park = parks ? 1 : 0;
  return true;
}

bool take_sessions(const json& object, std::vector<Id128>& out) {
  const auto list = object.find("sessions");
  if (list == object.end() || !list->is_array()) return false;
  for (const json& entry : *list) {
    const auto id = entry.is_string() ? Id128::from_hex(entry.get<std::string>()) : std::nullopt;
    if (!id) return false;
    out.push_back(*id);
  }
  return true;
}

ProcessState process_state_of(const SubscriberInfoFrame& subscriber,
                              const ProcessNamespaces& namespaces) {
  if (subscriber.pid_is_claimed != 0) return ProcessState::kUnknown;
  return state_of(ProcessIdentity{
      .pid = subscriber.pid, .start_ticks = subscriber.process_start, .namespaces = namespaces});
}

// Keeps the owner's and root's subscribers first, then the ones missing the longest.
std::vector<SubscriberInfoFrame> without_crowds(std::vector<SubscriberInfoFrame> subscribers,
                                                uid_t owner) {
  const auto rank = [&](const SubscriberInfoFrame& one) {
    const bool is_trusted = one.uid == owner || one.uid == 0;
    const bool is_missing = one.state == ClientState::kMissing;
    return std::tuple(!is_trusted, !is_missing, one.missing_since_wall_ns);
  };
  std::ranges::stable_sort(subscribers, {}, rank);
  std::map<uid_t, std::size_t> counts;
  std::erase_if(subscribers, [&](const SubscriberInfoFrame& one) {
    const bool is_trusted = one.uid == owner || one.uid == 0;
    return !is_trusted && ++counts[one.uid] > kExpectedOfOtherMax;
  });
  if (subscribers.size() > kMissingMax) subscribers.resize(kMissingMax);
  return subscribers;
}

}  // namespace

bool Roster::is_of(const Id128& session, std::uint64_t inode) const {
  return inode == directory_inode && std::ranges::find(sessions, session) != sessions.end();
}

std::string Roster::text() const {
  ordered_json list = ordered_json::array();
  for (const SubscriberInfoFrame& subscriber : subscribers) list.push_back(entry_json(subscriber));
  ordered_json ids = ordered_json::array();
  for (const Id128& session : sessions) ids.push_back(session.hex());
  const ordered_json object = {
      {"sessions", std::move(ids)},        {"directory_inode", directory_inode},
      {"boot_id", boot_id.hex()},          {"pid_namespace", namespaces.pid},
      {"time_namespace", namespaces.time}, {"closed", closed},
      {"subscribers", std::move(list)}};
  // Peers choose their names, which may be invalid UTF-8.
  return object.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Roster> Roster::parse(const std::string& text) {
  const absl::Status damaged = make_error(Errc::kDamaged, "it is not the roster of a bus");
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  Roster roster;
  if (!object.is_object() || !take_sessions(object, roster.sessions) ||
      !take(object, "directory_inode", roster.directory_inode) ||
      !take(object, "boot_id", roster.boot_id) ||
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

absl::Status remove_roster(Disk& disk, const std::string& directory) {
  const absl::Status removed = disk.remove(absl::StrCat(directory, "/", kRosterFileName));
  return errc_of(removed) == Errc::kNotFound ? absl::OkStatus() : removed;
}

bool is_expected_back(const SubscriberInfoFrame& subscriber) {
  return subscriber.observes == 0 && subscriber.name[0] != '\0';
}

std::vector<SubscriberInfoFrame> left_by_close(const std::vector<SubscriberInfoFrame>& subscribers,
                                               Sequence head, const ProcessNamespaces& namespaces) {
  std::vector<SubscriberInfoFrame> left;
  std::ranges::copy_if(subscribers, std::back_inserter(left), [&](const SubscriberInfoFrame& one) {
    const bool is_silent = one.position < head && one.report_age_ns >= kSilentAtCloseNs;
    return one.state == ClientState::kMissing || is_silent ||
           process_state_of(one, namespaces) == ProcessState::kStopped;
  });
  return left;
}

std::vector<SubscriberInfoFrame> expected_by(const Roster& roster, const Id128& boot_id,
                                             uid_t owner) {
  const bool is_same_boot = roster.boot_id == boot_id;
  const ProcessNamespaces own = own_namespaces();
  std::vector<SubscriberInfoFrame> expected;
  for (SubscriberInfoFrame subscriber : roster.subscribers) {
    if (!is_same_boot || roster.namespaces.pid != own.pid) subscriber.pid_is_claimed = 1;
    if (roster.namespaces.time != own.time) subscriber.process_start = 0;
    const bool was_missing = subscriber.state == ClientState::kMissing;
    if (roster.closed && !was_missing &&
        (subscriber.pid_is_claimed != 0 ||
         process_state_of(subscriber, roster.namespaces) == ProcessState::kEnded)) {
      continue;
    }
    expected.push_back(subscriber);
  }
  return without_crowds(std::move(expected), owner);
}

}  // namespace lapwing
