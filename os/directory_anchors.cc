#include "os/directory_anchors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lapwing {
namespace {

constexpr int kHeld = O_PATH | O_DIRECTORY | O_CLOEXEC;

bool is_below(const std::string& path, const std::string& directory) {
  return path.size() >= directory.size() && path.compare(0, directory.size(), directory) == 0 &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Returns the components of a path that follow the anchor's path.
std::vector<std::string> components_of(const std::string& path) {
  std::vector<std::string> components;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string component = path.substr(begin, end - begin);
    if (!component.empty() && component != ".") components.push_back(component);
    begin = end + 1;
  }
  return components;
}

}  // namespace

// The directory itself may be a link, because an operator may have put the journal on another disk.
void DirectoryAnchors::add(const std::string& directory) {
  UniqueFd fd = UniqueFd::opened_by([&] { return ::open(directory.c_str(), kHeld); });
  const std::lock_guard lock(mutex_);
  std::erase_if(anchors_, [&](const Anchor& anchor) { return anchor.path == directory; });
  if (fd.valid()) anchors_.push_back({directory, std::make_shared<const UniqueFd>(std::move(fd))});
}

DirectoryAnchors::Anchor DirectoryAnchors::find(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  Anchor found;
  for (const Anchor& anchor : anchors_) {
    if (is_below(path, anchor.path) && anchor.path.size() > found.path.size()) found = anchor;
  }
  return found;
}

PathPlace DirectoryAnchors::place_of(const std::string& path) const {
  const Anchor anchor = find(path);
  if (anchor.path.empty()) return {nullptr, path};
  const std::vector<std::string> components = components_of(path.substr(anchor.path.size()));
  // A path that leaves the anchor would not move with it.
  if (std::ranges::find(components, "..") != components.end()) return {nullptr, path, EXDEV};
  if (components.empty()) return {anchor.directory, "."};
  PathPlace place{anchor.directory, components.back()};
  for (std::size_t i = 0; i + 1 < components.size(); ++i) {
    UniqueFd fd = UniqueFd::opened_by(
        [&] { return ::openat(place.at(), components[i].c_str(), kHeld | O_NOFOLLOW); });
    if (!fd.valid()) return {nullptr, path, errno};
    place.directory = std::make_shared<const UniqueFd>(std::move(fd));
  }
  return place;
}

AnchorState DirectoryAnchors::state_of(const std::string& path) const {
  const Anchor anchor = find(path);
  struct stat held;
  if (anchor.path.empty() || ::fstat(anchor.directory->get(), &held) != 0) {
    return AnchorState::kStands;
  }
  if (held.st_nlink == 0) return AnchorState::kRemoved;
  struct stat named;
  const bool same = ::stat(anchor.path.c_str(), &named) == 0 && named.st_dev == held.st_dev &&
                    named.st_ino == held.st_ino;
  return same ? AnchorState::kStands : AnchorState::kMoved;
}

}  // namespace lapwing
