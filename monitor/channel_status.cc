#include "monitor/channel_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "channel/memory_file.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/process_state.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

// The link in /proc to a file named kChannelFileName.
const std::string& link_text() {
  static const std::string text = absl::StrCat("/memfd:", kChannelFileName, " (deleted)");
  return text;
}

std::optional<pid_t> pid_of(const fs::path& entry) {
  pid_t pid = 0;
  if (!absl::SimpleAtoi(entry.filename().string(), &pid) || pid <= 0) return std::nullopt;
  return pid;
}

std::string absolute_path(const fs::path& process, const std::string& path) {
  std::error_code ignored;
  const fs::path directory = fs::read_symlink(process / "cwd", ignored);
  return (directory / path).lexically_normal().string();
}

bool read_words(int fd, ChannelWords& words) {
  return pread(fd, &words, sizeof words, kPageBytes) == static_cast<ssize_t>(sizeof words);
}

// The identity of a file, whichever process has it open.
using FileId = std::pair<dev_t, ino_t>;

// The contents of one memory file.
struct FoundSide {
  Id128 connection_id;
  std::string path;
  std::uint64_t created_wall_ns = 0;
  ChannelSideStatus side;
  ChannelDirectionStatus sends;  // its receiver is not set
  MessageCount received;
};

FoundSide side_of(const ChannelHeader& header, const ChannelWords& words, pid_t pid) {
  FoundSide found;
  found.connection_id = header.connection_id;
  found.created_wall_ns = header.created_wall_ns;
  found.side = {.pid = pid,
                .claimed_pid = header.pid,
                .name = get_text(header.name),
                .role = header.role,
                .state = static_cast<ChannelState>(words.state.value),
                .listens = header.listens == 1,
                .stopped = false,
                .parked = words.ticket.value % 2 != 0,
                .call_window = header.call_window,
                .full_waits = words.full_waits.value,
                .empty_waits = words.empty_waits.value,
                .sleeps = words.sleeps.value,
                .wakes = words.wakes.value};
  found.sends.sender = pid;
  found.sends.capacity = header.capacity;
  found.sends.message_bytes_max = header.message_bytes_max;
  found.sends.aligned = header.payload_offset == kPayloadOffsetAligned;
  found.sends.sent = {words.sent.messages, words.sent.position};
  found.received = {words.received.messages, words.received.position};
  return found;
}

std::uint64_t above(std::uint64_t more, std::uint64_t less) {
  return more > less ? more - less : 0;
}

// `sides` are the sides of one connection, at least one.
ChannelStatus status_of(const std::vector<FoundSide>& sides, std::uint64_t now_wall_ns) {
  ChannelStatus channel;
  channel.connection_id = sides.front().connection_id;
  channel.path = sides.front().path;
  channel.age_ns = above(now_wall_ns, sides.front().created_wall_ns);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    channel.sides.push_back(sides[i].side);
    if (sides[i].sends.capacity == 0) continue;
    ChannelDirectionStatus& direction = channel.directions.emplace_back(sides[i].sends);
    if (sides.size() != 2) continue;
    const FoundSide& other = sides[1 - i];
    direction.receiver = other.side.pid;
    direction.received = other.received;
    direction.in_flight = {above(direction.sent.messages, other.received.messages),
                           above(direction.sent.frame_bytes, other.received.frame_bytes)};
  }
  return channel;
}

class Census {
 public:
  absl::StatusOr<ChannelList> take();

 private:
  void look_at(const fs::path& process, pid_t pid);
  void look_at_file(const fs::path& link, const fs::path& process, pid_t pid);
  void pair_up();

  ChannelList list_;
  std::map<FileId, FoundSide> sides_;
};

absl::StatusOr<ChannelList> Census::take() {
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto pid = pid_of(entry->path())) look_at(entry->path(), *pid);
  }
  if (error) return make_system_error(error.value(), "searching /proc for channels");
  pair_up();
  return std::move(list_);
}

void Census::look_at(const fs::path& process, pid_t pid) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(entry->path(), gone) != link_text()) continue;
    if (sides_.size() >= kChannelSidesMax) {
      list_.is_complete = false;
      return;
    }
    look_at_file(entry->path(), process, pid);
  }
  if (error.value() == EACCES || error.value() == EPERM) ++list_.processes_not_looked_at;
}

// Skips a file that does not belong to a channel or no longer exists.
void Census::look_at_file(const fs::path& link, const fs::path& process, pid_t pid) {
  const UniqueFd fd = UniqueFd::opened_by(
      [&] { return open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  struct stat found{};
  if (!fd.valid() || fstat(fd.get(), &found) != 0) return;
  const absl::StatusOr<ChannelHeader> header = read_channel_header(fd.get(), link.string());
  ChannelWords words{};
  if (!header.ok() || !read_words(fd.get(), words)) return;
  const FileId id(found.st_dev, found.st_ino);
  const auto known = sides_.find(id);
  // A child process that has not called exec also has the file open. The owner is the process whose
  // pid is in the header.
  if (known != sides_.end() && header->pid != static_cast<std::uint32_t>(pid)) return;
  FoundSide side = side_of(*header, words, pid);
  side.side.stopped = is_stopped(static_cast<std::uint32_t>(pid));
  side.path = absolute_path(process, get_text(header->path));
  sides_[id] = std::move(side);
}

void Census::pair_up() {
  const std::uint64_t now = wall_ns();
  std::map<Id128, std::vector<FoundSide>> by_connection;
  for (auto& [id, side] : sides_) by_connection[side.connection_id].push_back(std::move(side));
  for (auto& [connection_id, sides] : by_connection) {
    std::stable_sort(sides.begin(), sides.end(), [](const FoundSide& a, const FoundSide& b) {
      return a.side.listens > b.side.listens;
    });
    list_.channels.push_back(status_of(sides, now));
  }
  std::stable_sort(list_.channels.begin(), list_.channels.end(),
                   [](const ChannelStatus& a, const ChannelStatus& b) { return a.path < b.path; });
}

}  // namespace

absl::StatusOr<ChannelList> gather_channel_status() {
  return Census().take();
}

}  // namespace lapwing
