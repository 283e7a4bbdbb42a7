// Shared by the steps of the C interface's driver.
//
// Thread safety: a step runs on one thread. A mutex protects the tables of handles, because steps
// started with `begin` run concurrently.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lapwing.h"
#include "testing/c_structs.h"
#include "tests/conformance/bindings/c/step.h"

namespace lapwing::conformance {

using Lines = std::vector<std::string>;
using Operations = std::map<std::string, std::function<Lines(const Step&)>>;

// Handles by their names in a scenario. A destroyed or unknown name is a NULL handle.
template <typename Handle>
class Handles {
 public:
  Handle* at(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(name);
    return found == handles_.end() ? nullptr : found->second;
  }
  Handle* of(const Step& step) { return at(step.text("on")); }
  void put(const std::string& name, Handle* handle) {
    const std::lock_guard lock(mutex_);
    handles_[name] = handle;
  }
  Handle* take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(name);
    if (found == handles_.end()) return nullptr;
    Handle* const handle = found->second;
    handles_.erase(found);
    return handle;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Handle*> handles_;
};

// A result, followed by `more` if it is ok.
inline Lines line(lapwing_result result, const std::string& more = "") {
  const std::string name = name_of_result(result);
  return {result == LAPWING_OK && !more.empty() ? name + " " + more : name};
}

// Destroys an existing handle, or tests misuse.
template <typename Handle>
Lines destroy(Handles<Handle>& handles, const Step& step, void (*destroy_handle)(Handle**)) {
  Handle* handle = handles.take(step.text("on"));
  if (handle == nullptr) return line(LAPWING_ERROR_MISUSE);
  destroy_handle(&handle);
  return line(handle == nullptr ? LAPWING_OK : LAPWING_ERROR_SYSTEM);
}

template <typename Handle>
Lines interrupt(Handles<Handle>& handles, const Step& step, void (*interrupt_handle)(Handle*)) {
  Handle* const handle = handles.of(step);
  if (handle == nullptr) return line(LAPWING_ERROR_MISUSE);
  interrupt_handle(handle);
  return line(LAPWING_OK);
}

Handles<lapwing_subscriber>& subscribers();
Handles<const lapwing_position>& positions();
Handles<lapwing_listener>& listeners();
Handles<lapwing_channel>& channels();

// A batch with its own memory.
struct ReadBatch {
  ReadBatch(std::size_t rows_max, std::size_t bytes);
  lapwing_batch batch;
  std::vector<std::byte> rows;
  std::vector<std::uint64_t> sequences;
  std::vector<std::uint64_t> conflated;
};
std::string rows_line(const lapwing_batch& batch);
std::string event_line(const lapwing_event& event);
const char* event_name(std::uint32_t kind);

Operations library_operations();
Operations publisher_operations();
Operations subscriber_operations();
Operations history_operations();
Operations books_operations();
Operations channel_operations();
Operations misuse_operations();

}  // namespace lapwing::conformance
