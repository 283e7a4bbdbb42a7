#include "monitor/http/views.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

auto find_view(auto& views, const std::string& directory) {
  return std::ranges::find_if(views,
                              [&](const auto& view) { return view.second.directory == directory; });
}

}  // namespace

bool Views::Viewed::is_wanted() const {
  return std::ranges::any_of(streams,
                             [](const auto& stream) { return stream.second.use_count() > 1; });
}

absl::Status Views::check_room(const std::string& directory, const std::string& instrument) const {
  if (const auto found = find_view(views_, directory); found != views_.end()) {
    if (found->second.view->has_room_for(instrument)) return absl::OkStatus();
    return make_error(Errc::kLimit, absl::StrCat(kViewedInstrumentsMax,
                                                 " instruments of this bus are viewed already"));
  }
  const std::uint64_t now_ns = monotonic_ns();
  const auto hangs = std::ranges::count_if(ending_, [&](const auto& ending) {
    return now_ns >= after_ns(ending.second.since_ns, kViewEndNs);
  });
  if (static_cast<std::size_t>(hangs) >= kViewsEndingMax) {
    return make_error(
        Errc::kLimit,
        absl::StrCat(kViewsEndingMax,
                     " views have not ended: a file system of their buses does not respond"));
  }
  const auto wanted = [](const auto& view) { return view.second.is_wanted(); };
  if (views_.size() < kViewsMax || !std::ranges::all_of(views_, wanted)) return absl::OkStatus();
  return make_error(Errc::kLimit, absl::StrCat(kViewsMax, " buses are viewed already"));
}

absl::StatusOr<Views::Viewed*> Views::start(const std::string& directory) {
  const std::uint64_t id = ++last_id_;
  auto view = BusView::start({.directory = directory,
                              .version = options_.version,
                              .revision = options_.revision,
                              .budget = budget_},
                             [this, id](ViewUpdate update) {
                               post_([this, id, update = std::move(update)] { take(id, update); });
                             });
  if (!view.ok()) return view.status();
  Viewed& viewed = views_[id];
  viewed.directory = directory;
  viewed.view = *std::move(view);
  return &viewed;
}

absl::StatusOr<std::shared_ptr<StreamClients>> Views::open(const std::string& directory,
                                                           const std::string& instrument) {
  for (auto& [id, viewed] : views_) settle(viewed);
  if (const absl::Status room = check_room(directory, instrument); !room.ok()) return room;
  const auto found = find_view(views_, directory);
  Viewed* viewed = found != views_.end() ? &found->second : nullptr;
  if (viewed == nullptr) {
    make_room();
    const absl::StatusOr<Viewed*> started = start(directory);
    if (!started.ok()) return started.status();
    viewed = *started;
  }
  viewed->view->want(instrument);
  std::shared_ptr<StreamClients>& stream = viewed->streams[instrument];
  if (stream == nullptr) stream = std::make_shared<StreamClients>(viewed->counts);
  viewed->unwanted_since_ns = 0;
  return stream;
}

void Views::take(std::uint64_t id, const ViewUpdate& update) {
  if (update.is_last) {
    ending_.erase(id);
    return;
  }
  const auto found = views_.find(id);
  if (found == views_.end()) return;
  Viewed& viewed = found->second;
  viewed.behind = update.behind;
  for (const auto& [instrument, message] : update.messages) {
    const auto stream = viewed.streams.find(instrument);
    if (stream != viewed.streams.end()) stream->second->offer(message);
  }
  settle(viewed);
  if (viewed.unwanted_since_ns == 0) return;
  if (monotonic_ns() >= after_ns(viewed.unwanted_since_ns, options_.linger_ns)) end(found);
}

void Views::settle(Viewed& viewed) {
  std::erase_if(viewed.streams, [&](const auto& stream) {
    if (stream.second.use_count() > 1) return false;
    viewed.view->forget(stream.first);
    return true;
  });
  if (!viewed.streams.empty()) {
    viewed.unwanted_since_ns = 0;
  } else if (viewed.unwanted_since_ns == 0) {
    viewed.unwanted_since_ns = monotonic_ns();
  }
}

void Views::make_room() {
  if (views_.size() < kViewsMax) return;
  auto longest = views_.end();
  for (auto view = views_.begin(); view != views_.end(); ++view) {
    const std::uint64_t since_ns = view->second.unwanted_since_ns;
    if (since_ns == 0) continue;
    if (longest == views_.end() || since_ns < longest->second.unwanted_since_ns) longest = view;
  }
  if (longest != views_.end()) end(longest);
}

void Views::end(ViewMap::iterator view) {
  view->second.view->stop();
  ending_.emplace(view->first, Ending{std::move(view->second.view), monotonic_ns()});
  views_.erase(view);
}

std::vector<ViewCounts> Views::counts() const {
  std::vector<ViewCounts> counts;
  for (const auto& [id, viewed] : views_) {
    counts.push_back({viewed.directory, *viewed.counts, viewed.behind});
  }
  return counts;
}

void Views::close() {
  while (!views_.empty()) end(views_.begin());
  ending_.clear();
}

}  // namespace lapwing
