#include "monitor/channel_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "channel/memory_file.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

// How /proc shows a file of kChannelFileName.
const std::string& link_text() {
  static const std::string text = absl::StrCat("/memfd:", kChannelFileName, " (deleted)");
  return text;
}

std::optional<pid_t> pid_of(const fs::path& entry) {
  pid_t pid = 0;
  if (!absl::SimpleAtoi(entry.filename().string(), &pid) || pid <= 0) return std::nullopt;
  return pid;
}

// The letter behind the name, which may itself hold brackets and blanks: "12 (a) b) T 1 …".
bool is_stopped(const fs::path& process) {
  std::ifstream file(process / "stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = text.rfind(") ");
  if (end == std::string::npos || end + 2 >= text.size()) return false;
  return text[end + 2] == 'T' || text[end + 2] == 't';
}

std::string absolute_path(const fs::path& process, const std::string& path) {
  std::error_code ignored;
  const fs::path directory = fs::read_symlink(process / "cwd", ignored);
  return (directory / path).lexically_normal().string();
}

bool read_words(int fd, ChannelWords& words) {
  return pread(fd, &words, sizeof words, kPageBytes) == static_cast<ssize_t>(sizeof words);
}

// Which file it is, whoever holds it.
using FileId = std::pair<dev_t, ino_t>;

class Census {
 public:
  absl::StatusOr<ChannelCensus> take();

 private:
  void look_at(const fs::path& process, pid_t pid);
  void look_at_file(const fs::path& link, const fs::path& process, pid_t pid);
  ChannelCensus pair_up();

  ChannelCensus census_;
  std::map<FileId, ChannelSide> sides_;
};

absl::StatusOr<ChannelCensus> Census::take() {
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto pid = pid_of(entry->path())) look_at(entry->path(), *pid);
  }
  if (error) return make_system_error(error.value(), "looking for channels in /proc");
  return pair_up();
}

void Census::look_at(const fs::path& process, pid_t pid) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(entry->path(), gone) != link_text()) continue;
    if (sides_.size() >= kCensusSidesMax) {
      census_.is_complete = false;
      return;
    }
    look_at_file(entry->path(), process, pid);
  }
  if (error.value() == EACCES || error.value() == EPERM) ++census_.processes_not_looked_at;
}

// What is no channel's file, or gone by now, is passed over.
void Census::look_at_file(const fs::path& link, const fs::path& process, pid_t pid) {
  const UniqueFd fd(open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found{};
  if (!fd.valid() || fstat(fd.get(), &found) != 0) return;
  const absl::StatusOr<ChannelHeader> header = read_channel_header(fd.get(), link.string());
  ChannelSide side;
  if (!header.ok() || !read_words(fd.get(), side.words)) return;
  const FileId id(found.st_dev, found.st_ino);
  const auto known = sides_.find(id);
  // A child that has not called exec has it, too: the one that says so is the owner.
  if (known != sides_.end() && header->pid != static_cast<std::uint32_t>(pid)) return;
  side.pid = pid;
  side.stopped = is_stopped(process);
  side.path = absolute_path(process, get_text(header->path));
  side.header = *header;
  sides_[id] = std::move(side);
}

ChannelCensus Census::pair_up() {
  std::map<Id128, CensusChannel> by_session;
  for (auto& [id, side] : sides_) {
    CensusChannel& channel = by_session[side.header.session_id];
    channel.session_id = side.header.session_id;
    channel.sides.push_back(std::move(side));
  }
  for (auto& [session_id, channel] : by_session) {
    std::stable_sort(channel.sides.begin(), channel.sides.end(),
                     [](const ChannelSide& a, const ChannelSide& b) {
                       return a.header.listens > b.header.listens;
                     });
    census_.channels.push_back(std::move(channel));
  }
  std::stable_sort(census_.channels.begin(), census_.channels.end(),
                   [](const CensusChannel& a, const CensusChannel& b) {
                     return a.sides.front().path < b.sides.front().path;
                   });
  return std::move(census_);
}

std::uint64_t above(std::uint64_t more, std::uint64_t less) {
  return more > less ? more - less : 0;
}

}  // namespace

absl::StatusOr<ChannelCensus> take_channel_census() {
  return Census().take();
}

ChannelBacklog backlog_of(const ChannelSide& sender, const ChannelSide& receiver) {
  return {above(sender.words.sent.messages, receiver.words.received.messages),
          above(sender.words.sent.position, receiver.words.received.position)};
}

}  // namespace lapwing
