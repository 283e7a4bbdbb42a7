// Waits for several sources on one thread.
//
// A wait releases the GIL, and other threads must not free a source during it. Therefore each
// source is marked as used during the wait.
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>

#include <map>
#include <memory>
#include <vector>

namespace lapwing_python {

namespace {

class WaitSet : public Handle {
 public:
  explicit WaitSet(std::uint32_t wait) {
    Failure failure;
    check(api.wait_set_open(wait, &set_, &failure), failure);
  }
  ~WaitSet() override { api.wait_set_destroy(&set_); }

  bool is_open() const override { return set_ != nullptr; }
  void interrupt_now() noexcept override {
    if (set_ != nullptr) api.wait_set_interrupt(set_);
  }
  void free_now() override {
    lapwing_wait_set* freed = std::exchange(set_, nullptr);
    {
      const WithoutGil released;
      api.wait_set_destroy(&freed);
    }
    sources_.clear();
  }

  std::uint64_t add(Handle& source, nb::handle object, std::size_t bytes) {
    const Use use(*this);
    const Use source_use(source);
    Failure failure;
    std::uint64_t id = 0;
    check(source.add_to(set_, bytes, &id, &failure), failure);
    sources_.emplace(id, Source{&source, nb::borrow(object)});
    return id;
  }

  std::uint64_t add_fd(std::int32_t fd, std::uint32_t events) {
    const Use use(*this);
    Failure failure;
    std::uint64_t id = 0;
    check(api.wait_set_add_fd(set_, fd, events, 0, &id, &failure), failure);
    return id;
  }

  std::uint64_t add_timer(std::int64_t in_ns, std::int64_t every_ns) {
    const Use use(*this);
    Failure failure;
    std::uint64_t id = 0;
    check(api.wait_set_add_timer(set_, in_ns, every_ns, 0, &id, &failure), failure);
    return id;
  }

  void set_timer(std::uint64_t id, std::int64_t in_ns, std::int64_t every_ns) {
    const Use use(*this);
    Failure failure;
    check(api.wait_set_set_timer(set_, id, in_ns, every_ns, &failure), failure);
  }

  void remove(std::uint64_t id) {
    const Use use(*this);
    Failure failure;
    check(api.wait_set_remove(set_, id, &failure), failure);
    sources_.erase(id);
  }

  // Returns (source, kind, expirations, events). `source` is its number, `kind` LAPWING_SOURCE_….
  nb::tuple wait_for_one(std::int64_t timeout_ns) {
    const Use use(*this);
    std::erase_if(sources_, [](const auto& source) { return !source.second.handle->is_open(); });
    const AllUsed all_used(sources_);
    Failure failure;
    lapwing_ready ready = {};
    ready.struct_size = sizeof ready;
    check(wait(*this, timeout_ns, Gil::kReleased,
               [&](std::int64_t left) { return api.wait_set_wait(set_, &ready, left, &failure); }),
          failure);
    return nb::make_tuple(ready.source, ready.kind, ready.expirations, ready.events);
  }

 private:
  struct Source {
    Handle* handle;
    nb::object object;  // keeps the handle alive
  };
  using Sources = std::map<std::uint64_t, Source>;

  // Marks all sources as used while it exists. Raises misuse if one is in use.
  class AllUsed {
   public:
    explicit AllUsed(Sources& sources) {
      for (auto& [id, source] : sources) uses_.push_back(std::make_unique<Use>(*source.handle));
    }

   private:
    std::vector<std::unique_ptr<Use>> uses_;
  };

  lapwing_wait_set* set_ = nullptr;
  Sources sources_;
};

}  // namespace

void bind_wait_set(nb::module_& module) {
  using nb::arg;
  nb::class_<WaitSet, Handle>(module, "WaitSet")
      .def(nb::init<std::uint32_t>(), arg("wait"))
      .def(
          "add",
          [](WaitSet& self, nb::handle source, std::size_t bytes) {
            return self.add(*nb::cast<Handle*>(source), source, bytes);
          },
          arg("source"), arg("bytes"), nb::sig("def add(self, source: Handle, bytes: int) -> int"))
      .def("add_fd", &WaitSet::add_fd, arg("fd"), arg("events"))
      .def("add_timer", &WaitSet::add_timer, arg("in_ns"), arg("every_ns"))
      .def("set_timer", &WaitSet::set_timer, arg("timer"), arg("in_ns"), arg("every_ns"))
      .def("remove", &WaitSet::remove, arg("source"))
      .def("wait", &WaitSet::wait_for_one, arg("timeout_ns"),
           nb::sig("def wait(self, timeout_ns: int) -> tuple[int, int, int, int]"));
}

}  // namespace lapwing_python
