#include "monitor/http/views.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {

absl::StatusOr<Views::Viewed*> Views::find_or_start(const std::string& directory) {
  for (auto& [id, viewed] : views_) {
    if (viewed.directory == directory && !viewed.is_ending) return &viewed;
  }
  if (views_.size() >= kViewsMax) {
    return make_error(Errc::kLimit,
                      absl::StrCat(kViewsMax, " buses are viewed already; a view ends ",
                                   options_.linger_ns / kNsPerSecond, " s after its last client"));
  }
  const std::uint64_t id = ++last_id_;
  auto view = BusView::start(
      {.directory = directory, .version = options_.version, .revision = options_.revision},
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
  const absl::StatusOr<Viewed*> viewed = find_or_start(directory);
  if (!viewed.ok()) return viewed.status();
  if (!(*viewed)->view->want(instrument)) {
    return make_error(Errc::kLimit, absl::StrCat(kViewedInstrumentsMax,
                                                 " instruments of this bus are viewed already"));
  }
  std::shared_ptr<StreamClients>& stream = (*viewed)->streams[instrument];
  if (stream == nullptr) stream = std::make_shared<StreamClients>((*viewed)->counts);
  (*viewed)->unwanted_since_ns = 0;
  return stream;
}

void Views::take(std::uint64_t id, const ViewUpdate& update) {
  const auto found = views_.find(id);
  if (found == views_.end()) return;
  if (update.is_last) {
    views_.erase(found);
    return;
  }
  Viewed& viewed = found->second;
  viewed.behind = update.behind;
  for (const auto& [instrument, message] : update.messages) {
    const auto stream = viewed.streams.find(instrument);
    if (stream != viewed.streams.end()) stream->second->offer(message);
  }
  std::erase_if(viewed.streams, [&](const auto& stream) {
    if (stream.second.use_count() > 1) return false;
    viewed.view->forget(stream.first);
    return true;
  });
  if (!viewed.streams.empty() || viewed.is_ending) return;
  const std::uint64_t now_ns = monotonic_ns();
  if (viewed.unwanted_since_ns == 0) viewed.unwanted_since_ns = now_ns;
  if (now_ns < after_ns(viewed.unwanted_since_ns, options_.linger_ns)) return;
  viewed.is_ending = true;
  viewed.view->stop();
}

std::vector<ViewCounts> Views::counts() const {
  std::vector<ViewCounts> counts;
  for (const auto& [id, viewed] : views_) {
    if (viewed.is_ending) continue;
    counts.push_back({viewed.directory, *viewed.counts, viewed.behind});
  }
  return counts;
}

void Views::close() {
  for (auto& [id, viewed] : views_) viewed.view->stop();
  views_.clear();
}

}  // namespace lapwing
