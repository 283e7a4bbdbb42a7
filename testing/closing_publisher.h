// A publisher whose destructor closes its session, so that a test can check the files afterwards.
// (Publisher's own destructor does not wait.)
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/publisher.h"

namespace lapwing {

struct CloseFirst {
  void operator()(Publisher* publisher) const {
    publisher->close().IgnoreError();
    delete publisher;
  }
};

using ClosingPublisher = std::unique_ptr<Publisher, CloseFirst>;

inline absl::StatusOr<ClosingPublisher> closing(absl::StatusOr<Publisher> opened) {
  if (!opened.ok()) return opened.status();
  return ClosingPublisher(new Publisher(*std::move(opened)));
}

}  // namespace lapwing
