#include "monitor/other_user.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "monitor/watched_users.h"

namespace lapwing {
namespace {

// Runs on the background thread.
class Reader {
 public:
  Reader(uid_t user, BusParts parts) : user_(user), parts_(parts) {}

  // Returns a reading every kOtherIntervalNs, and takes samples in between.
  std::optional<std::vector<BusReading>> turn(const std::vector<std::string>& directories,
                                              const StopEvent& stop) {
    follow(directories);
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns < due_ns_) {
      for (auto& [directory, bus] : buses_) bus.sample(monotonic_ns());
      stop.wait(std::min(kSampleNs, due_ns_ - now_ns));
      return std::nullopt;
    }
    due_ns_ = now_ns + kOtherIntervalNs;
    if (name_.empty()) name_ = user_name(user_);
    std::vector<BusReading> readings;
    for (auto& [directory, bus] : buses_) {
      if (stop.is_set()) return std::nullopt;
      BusReading& reading = readings.emplace_back(bus.read(monotonic_ns()));
      reading.user = name_;
    }
    return readings;
  }

 private:
  void follow(const std::vector<std::string>& directories) {
    for (const std::string& directory : directories)
      buses_.try_emplace(directory, directory, false, parts_);
    std::erase_if(buses_, [&](const auto& entry) {
      return std::ranges::find(directories, entry.first) == directories.end();
    });
  }

  const uid_t user_;
  const BusParts parts_;
  std::string name_;
  std::map<std::string, BusMonitor> buses_;
  std::uint64_t due_ns_ = 0;
};

}  // namespace

absl::StatusOr<OtherUser> OtherUser::start(uid_t user, BusParts parts) {
  auto wanted = std::make_shared<Wanted>();
  auto readings = Background<std::vector<BusReading>>::start(
      "lapwing-other", [wanted, reader = Reader(user, parts)](const StopEvent& stop) mutable {
        std::vector<std::string> directories;
        {
          const std::lock_guard lock(wanted->mutex);
          directories = wanted->directories;
        }
        return reader.turn(directories, stop);
      });
  if (!readings.ok()) return readings.status();
  return OtherUser(std::move(wanted), *std::move(readings));
}

void OtherUser::watch(const std::vector<std::string>& directories) {
  const std::lock_guard lock(wanted_->mutex);
  wanted_->directories = directories;
}

std::vector<std::string> OtherUser::wanted_directories() const {
  const std::lock_guard lock(wanted_->mutex);
  return wanted_->directories;
}

bool OtherUser::is_settled() const {
  const auto newest = readings_.newest();
  if (newest == nullptr) return false;
  return std::ranges::all_of(wanted_directories(), [&](const std::string& directory) {
    const auto read = std::ranges::find(newest->value, directory, &BusReading::directory);
    return read != newest->value.end() && read->is_settled();
  });
}

std::vector<BusReading> OtherUser::read(std::uint64_t now_ns) const {
  const std::vector<std::string> directories = wanted_directories();
  const auto newest = readings_.newest();
  const bool is_old = newest != nullptr && now_ns > newest->made_ns + kOtherOldNs;
  const absl::Status too_slow = make_error(
      Errc::kTimedOut,
      "reading the buses of this user takes longer than 10 s: a publisher or file system "
      "of that user is slow or does not respond");
  std::vector<BusReading> readings;
  for (const std::string& directory : directories) {
    BusReading& reading = readings.emplace_back();
    reading.directory = directory;
    absl::Status why = make_error(Errc::kNotFound, "this bus has not been read yet");
    if (newest != nullptr) {
      const auto read = std::ranges::find(newest->value, directory, &BusReading::directory);
      if (read != newest->value.end()) {
        reading = *read;
        why = is_old ? too_slow : absl::OkStatus();
      }
    }
    if (why.ok()) continue;
    reading.ring = why;
    reading.publisher = why;
  }
  return readings;
}

}  // namespace lapwing
