#include "monitor/http/unproven.h"

#include <catch2/catch.hpp>
#include <optional>

namespace lapwing {
namespace {

class Connection final : public UnprovenConnection {
 public:
  explicit Connection(UnprovenConnections& list) : UnprovenConnection(list) {}
  bool is_closed = false;

 private:
  void close_now() override { is_closed = true; }
};

TEST_CASE("The oldest connection without a token is closed, each once") {
  UnprovenConnections list;
  Connection first(list);
  Connection second(list);
  Connection third(list);
  second.leave();  // it has sent its token
  CHECK(list.close_oldest());
  CHECK(first.is_closed);
  CHECK_FALSE(third.is_closed);
  CHECK(list.close_oldest());
  CHECK(third.is_closed);
  CHECK_FALSE(list.close_oldest());
  CHECK_FALSE(second.is_closed);
}

TEST_CASE("A connection that has ended is not closed again") {
  UnprovenConnections list;
  std::optional<Connection> first(std::in_place, list);
  first.reset();
  CHECK_FALSE(list.close_oldest());
}

}  // namespace
}  // namespace lapwing
