#include "monitor/http/views.h"

#include <poll.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "testing/far_deadline.h"
#include "testing/process_threads.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

// The test acts as the I/O thread.
class TestViews {
 public:
  explicit TestViews(std::uint64_t linger_ns = kViewLingerNs)
      : views({.version = "1", .revision = "2", .linger_ns = linger_ns},
              [this](std::function<void()> run) {
                const std::lock_guard lock(mutex_);
                posted_.push_back(std::move(run));
              }) {}

  bool until(const std::function<bool()>& is_it) {
    const std::uint64_t deadline_ns = far_deadline();
    while (!is_it()) {
      if (monotonic_ns() > deadline_ns) return false;
      std::vector<std::function<void()>> due;
      {
        const std::lock_guard lock(mutex_);
        due.swap(posted_);
      }
      for (const auto& run : due) run();
      ::poll(nullptr, 0, 1);
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;

 public:
  Views views;
};

class Client final : public StreamClient {
 public:
  void offer(const StreamMessage& message) override { messages.push_back(message); }
  void close() override {}
  std::vector<StreamMessage> messages;
};

std::size_t view_threads() {
  return threads_named("lapwing-view").size();
}

TEST_CASE("Clients of one instrument get the same bytes, and a late one the newest at once") {
  TemporaryDirectory directory;
  TestViews own;
  const auto stream = own.views.open(directory.path(), "");
  REQUIRE(stream.ok());
  const auto first = std::make_shared<Client>();
  (*stream)->add(first);
  REQUIRE(own.until([&] { return !first->messages.empty(); }));
  const auto again = own.views.open(directory.path(), "");
  REQUIRE(again.ok());
  CHECK(*again == *stream);
  const auto second = std::make_shared<Client>();
  (*again)->add(second);
  REQUIRE(second->messages.size() == 1);
  CHECK(second->messages.back() == first->messages.back());
  CHECK(nlohmann::json::parse(*first->messages.back())["state"] == "ended");
  const auto other = own.views.open(directory.path(), "7");
  REQUIRE(other.ok());
  CHECK(*other != *stream);
  CHECK(own.views.counts().size() == 1);
}

TEST_CASE("The thread of a view begins with its first client and ends after its last") {
  TemporaryDirectory directory;
  TestViews own(/*linger_ns=*/1);
  REQUIRE(own.until([] { return view_threads() == 0; }));
  {
    const auto stream = own.views.open(directory.path(), "");
    REQUIRE(stream.ok());
    const auto client = std::make_shared<Client>();
    (*stream)->add(client);
    REQUIRE(own.until([&] { return client->messages.size() > 1; }));
    CHECK(view_threads() == 1);
  }
  CHECK(own.until([] { return view_threads() == 0; }));
  CHECK(own.views.counts().empty());
  CHECK(own.views.open(directory.path(), "").ok());
}

TEST_CASE("A view stays for a while without clients") {
  TemporaryDirectory directory;
  TestViews own;
  CHECK(own.views.open(directory.path(), "").ok());
  int updates = 0;
  const std::uint64_t silence_ns = monotonic_ns() + 3 * kViewIntervalNs;
  CHECK(own.until([&] { return ++updates > 0 && monotonic_ns() > silence_ns; }));
  CHECK(view_threads() == 1);
  CHECK(own.views.counts().size() == 1);
}

TEST_CASE("A limited number of buses is viewed at once") {
  TemporaryDirectory directory;
  TestViews own;
  std::vector<std::shared_ptr<StreamClients>> wanted;
  for (std::size_t i = 0; i < kViewsMax; ++i) {
    const auto stream = own.views.open(directory.file(absl::StrCat(i).c_str()), "");
    REQUIRE(stream.ok());
    wanted.push_back(*stream);
  }
  const std::string beyond = directory.file("beyond");
  CHECK(errc_of(own.views.check_room(beyond, "")) == Errc::kLimit);
  CHECK(errc_of(own.views.open(beyond, "").status()) == Errc::kLimit);
  CHECK(own.views.open(directory.file("0"), "7").ok());
  own.views.close();
  CHECK(own.views.counts().empty());
}

TEST_CASE("Of too many views the one that nobody has wanted for longest gives way") {
  TemporaryDirectory directory;
  TestViews own;
  std::vector<std::shared_ptr<StreamClients>> wanted;
  const auto path = [&](std::size_t i) { return directory.file(absl::StrCat(i).c_str()); };
  for (std::size_t i = 0; i < kViewsMax; ++i) {
    const auto stream = own.views.open(path(i), "");
    REQUIRE(stream.ok());
    wanted.push_back(*stream);
  }
  const auto is_viewed = [&](std::size_t i) {
    return std::ranges::count(own.views.counts(), path(i), &ViewCounts::bus) == 1;
  };
  wanted[5].reset();
  CHECK(own.views.open(path(0), "").ok());  // this call detects that view 5 is unwanted
  wanted[3].reset();
  CHECK(own.views.check_room(directory.file("beyond"), "").ok());
  const auto beyond = own.views.open(directory.file("beyond"), "");
  REQUIRE(beyond.ok());
  CHECK_FALSE(is_viewed(5));
  CHECK(is_viewed(3));
  const auto another = own.views.open(directory.file("another"), "");
  REQUIRE(another.ok());
  CHECK_FALSE(is_viewed(3));
  CHECK(errc_of(own.views.open(path(5), "").status()) == Errc::kLimit);
  CHECK(own.until([] { return view_threads() == kViewsMax; }));
}

TEST_CASE("An instrument that nobody wants any more makes room for another one") {
  TemporaryDirectory directory;
  TestViews own;
  std::vector<std::shared_ptr<StreamClients>> wanted;
  for (std::size_t i = 0; i < kViewedInstrumentsMax; ++i) {
    const auto stream = own.views.open(directory.path(), absl::StrCat(i));
    REQUIRE(stream.ok());
    wanted.push_back(*stream);
  }
  CHECK(errc_of(own.views.open(directory.path(), "one more").status()) == Errc::kLimit);
  wanted.pop_back();
  CHECK(own.views.open(directory.path(), "one more").ok());
}

}  // namespace
}  // namespace lapwing
