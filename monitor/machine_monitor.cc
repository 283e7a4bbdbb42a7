#include "monitor/machine_monitor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/printable.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kFirstSearchNs = 1'000'000'000;
constexpr std::uint64_t kSearchRestFactor = 10;  // searches take at most 1/10 of the time

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return printable(name.data());
}

absl::StatusOr<Background<FoundBuses>> start_search(const WatchedUsers& users) {
  return Background<FoundBuses>::start(
      "lapwing-search", [users, again_ns = std::uint64_t{0}](const StopEvent& stop) mutable {
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns < again_ns) {
          stop.wait(again_ns - now_ns);
          return std::optional<FoundBuses>();
        }
        std::optional<FoundBuses> found = find_buses(users);
        const std::uint64_t took_ns = monotonic_ns() - now_ns;
        again_ns = now_ns + std::max(kSearchNs, kSearchRestFactor * took_ns);
        return found;
      });
}

}  // namespace

absl::StatusOr<MachineMonitor> MachineMonitor::start(MachineOptions options) {
  if (!options.directories.empty()) return MachineMonitor(std::move(options), std::nullopt);
  absl::StatusOr<Search> search = start_search(options.users);
  if (!search.ok()) return search.status();
  search->wait_for_first(kFirstSearchNs);
  return MachineMonitor(std::move(options), *std::move(search));
}

MachineMonitor::MachineMonitor(MachineOptions options, std::optional<Search> search)
    : options_(std::move(options)), search_(std::move(search)) {
  found_.host = host_name();
  if (search_) found_.left_out.beyond_limit = 1;  // until the first search has ended
  for (const uid_t user : {::geteuid(), uid_t{0}}) trusted_names_[user] = user_name(user);
}

MachineMonitor::~MachineMonitor() {
  for (auto& [user, other] : others_) other.request_stop();
}

// If two users announce the same directory, a trusted user's announcement counts.
void MachineMonitor::take_search(std::uint64_t now_ns) {
  if (!search_) return look_up_named(now_ns);
  const auto newest = search_->newest();
  if (newest == nullptr || newest->made_ns == searched_ns_) return;
  searched_ns_ = newest->made_ns;
  const FoundBuses& found = newest->value;
  found_.left_out = found.left_out;
  Owners owners;
  announcements_.clear();
  for (const FoundBus& bus : found.buses) {
    const std::string& directory = bus.announcement.directory;
    const bool is_new = !owners.contains(directory);
    if (!is_new && !is_trusted_user(bus.owner)) continue;
    owners[directory] = bus.owner;
    announcements_[directory] = bus.announcement;
  }
  follow(owners);
}

// A directory that cannot be looked up counts as trusted, because it contains nothing yet.
void MachineMonitor::look_up_named(std::uint64_t now_ns) {
  if (searched_ns_ != 0 && now_ns < searched_ns_ + kSearchNs) return;
  searched_ns_ = now_ns;
  found_.left_out.beyond_limit = 0;
  Owners owners;
  for (const std::string& directory : options_.directories) {
    struct stat info{};
    const bool is_there = ::stat(directory.c_str(), &info) == 0;
    owners[directory] = is_there ? info.st_uid : ::geteuid();
  }
  follow(owners);
}

void MachineMonitor::follow(const Owners& owners) {
  owners_ = owners;
  std::map<uid_t, std::vector<std::string>> of_others;
  for (const auto& [directory, owner] : owners_) {
    if (is_trusted_user(owner)) {
      trusted_.try_emplace(directory, directory, true, options_.parts);
    } else {
      of_others[owner].push_back(directory);
    }
  }
  std::erase_if(trusted_, [&](const auto& entry) {
    const auto known = owners_.find(entry.first);
    return known == owners_.end() || !is_trusted_user(known->second);
  });
  std::erase_if(others_, [&](const auto& entry) { return !of_others.contains(entry.first); });
  for (const auto& [user, directories] : of_others) {
    auto known = others_.find(user);
    if (known == others_.end()) {
      if (others_.size() >= kOtherUsersMax) {
        found_.left_out.beyond_limit += directories.size();
        continue;
      }
      absl::StatusOr<OtherUser> other = OtherUser::start(user, options_.parts);
      if (!other.ok()) {
        found_.left_out.beyond_limit += directories.size();
        continue;
      }
      known = others_.emplace(user, *std::move(other)).first;
    }
    known->second.watch(directories);
  }
}

void MachineMonitor::sample(std::uint64_t now_ns) {
  take_search(now_ns);
  for (auto& [directory, bus] : trusted_) bus.sample(now_ns);
}

bool MachineMonitor::is_settled() {
  return searched_ns_ != 0 &&
         std::ranges::all_of(trusted_, [](auto& entry) { return entry.second.is_settled(); }) &&
         std::ranges::all_of(others_, [](const auto& entry) { return entry.second.is_settled(); });
}

void MachineMonitor::finish(BusReading& reading, const Owners::value_type& bus) {
  const auto announced = announcements_.find(reading.directory);
  if (announced != announcements_.end()) reading.announcement = announced->second;
  reading.uid = bus.second;
  const bool is_trusted = is_trusted_user(bus.second);
  if (is_trusted) reading.user = trusted_names_[bus.second];
  reading.label =
      labels_.label(reading.directory, is_trusted ? "" : reading.user, reading.description.name);
}

MachineReading MachineMonitor::read(std::uint64_t now_ns, std::uint64_t wall_ns) {
  take_search(now_ns);
  MachineReading reading = found_;
  reading.wall_ns = wall_ns;
  for (auto& [directory, bus] : trusted_) {
    BusReading& one = reading.buses.emplace_back(bus.read(now_ns));
    finish(one, *owners_.find(directory));
  }
  for (const auto& [user, other] : others_) {
    for (BusReading& one : other.read(now_ns)) {
      if (one.user.empty()) one.user = absl::StrCat(user);
      finish(one, *owners_.find(one.directory));
      reading.buses.push_back(std::move(one));
    }
  }
  if (options_.directories.empty()) return reading;
  const auto place = [&](const BusReading& one) {
    return std::ranges::find(options_.directories, one.directory) - options_.directories.begin();
  };
  std::ranges::stable_sort(reading.buses, {}, place);
  return reading;
}

}  // namespace lapwing
