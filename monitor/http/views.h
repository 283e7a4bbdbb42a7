// The buses that are currently being viewed. Each bus has a thread, which starts with its first
// client and ends some time after its last, and a stream for each of its instruments.
//
// A stream belongs to its clients: it receives messages as long as another object holds it. A view
// whose file system hangs never reports its end, but it does not occupy another view's slot.
//
// Thread safety: the server's I/O thread. After that has ended, another thread may call close() and
// the destructor.
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
#include "monitor/view/memory_budget.h"

namespace lapwing {

inline constexpr std::size_t kViewsMax = 16;                    // buses at one time
inline constexpr std::size_t kViewsEndingMax = 16;              // views that have not ended after …
inline constexpr std::uint64_t kViewEndNs = 2'000'000'000;      // … this time
inline constexpr std::uint64_t kViewLingerNs = 60'000'000'000;  // then a view without clients ends

struct ViewsOptions {
  std::string version;
  std::string revision;
  std::uint64_t linger_ns = kViewLingerNs;
  std::uint64_t book_bytes_max = kViewBookBytesMax;  // for all views together
};

class Views {
 public:
  // Runs the function later, on the I/O thread. Called by the view threads.
  using Post = std::function<void(std::function<void()>)>;

  Views(ViewsOptions options, Post post)
      : options_(std::move(options)),
        post_(std::move(post)),
        budget_(std::make_shared<MemoryBudget>(options_.book_bytes_max)) {}
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  ~Views() { close(); }

  // Returns the stream for an instrument, named as for BusView::want(). If there are too many
  // views, the one that has been without clients the longest is ended. Errors: kLimit, kSystem.
  absl::StatusOr<std::shared_ptr<StreamClients>> open(const std::string& directory,
                                                      const std::string& instrument);
  // Returns ok if open() would find a free slot. Errors: kLimit.
  absl::Status check_room(const std::string& directory, const std::string& instrument) const;
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

    bool is_wanted() const;
  };
  struct Ending {
    std::unique_ptr<BusView> view;
    std::uint64_t since_ns = 0;
  };
  using ViewMap = std::map<std::uint64_t, Viewed>;

  absl::StatusOr<Viewed*> start(const std::string& directory);
  void take(std::uint64_t id, const ViewUpdate& update);
  // Releases the streams that no client holds.
  static void settle(Viewed& viewed);
  void make_room();
  void end(ViewMap::iterator view);

  const ViewsOptions options_;
  const Post post_;
  const std::shared_ptr<MemoryBudget> budget_;
  ViewMap views_;
  std::map<std::uint64_t, Ending> ending_;  // until they report their end
  std::uint64_t last_id_ = 0;
};

}  // namespace lapwing
