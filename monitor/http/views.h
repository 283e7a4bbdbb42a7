// The buses that are viewed now: each one's thread, which begins with its first client and ends some
// time after its last, and the stream of each of its instruments.
//
// A stream belongs to its clients: as long as somebody besides this object holds it, it gets its
// messages.
//
// Thread safety: the server's I/O thread; close() and the destructor may run where that has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/http/counts.h"
#include "monitor/http/stream_clients.h"
#include "monitor/view/bus_view.h"

namespace lapwing {

inline constexpr std::size_t kViewsMax = 16;                    // buses at once
inline constexpr std::uint64_t kViewLingerNs = 60'000'000'000;  // without a client

struct ViewsOptions {
  std::string version;
  std::string revision;
  std::uint64_t linger_ns = kViewLingerNs;
};

class Views {
 public:
  // Runs what it is given in the I/O thread, later. Called by the views' threads.
  using Post = std::function<void(std::function<void()>)>;

  Views(ViewsOptions options, Post post) : options_(std::move(options)), post_(std::move(post)) {}
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  ~Views() { close(); }

  // The stream of that instrument, as BusView::want() knows it. Errors: kLimit, kSystem.
  absl::StatusOr<std::shared_ptr<StreamClients>> open(const std::string& directory,
                                                      const std::string& instrument);
  std::vector<ViewCounts> counts() const;
  // Ends all threads, and waits for them.
  void close();

 private:
  struct Viewed {
    std::string directory;
    std::unique_ptr<BusView> view;
    std::shared_ptr<StreamCounts> counts = std::make_shared<StreamCounts>();
    std::map<std::string, std::shared_ptr<StreamClients>> streams;  // by instrument
    std::uint64_t behind = 0;
    std::uint64_t unwanted_since_ns = 0;  // 0: it has clients
    bool is_ending = false;
  };

  absl::StatusOr<Viewed*> find_or_start(const std::string& directory);
  void take(std::uint64_t id, const ViewUpdate& update);

  const ViewsOptions options_;
  const Post post_;
  std::map<std::uint64_t, Viewed> views_;
  std::uint64_t last_id_ = 0;
};

}  // namespace lapwing
