// A publisher that has closed its session when it goes, so that a test may look at the files right
// after. (Publisher's own destructor waits for nothing.)
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
