#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <native/batch.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>
#include <native/schema.h>

#include <string>
#include <vector>

namespace lapwing_python {

namespace {

class Subscriber : public Handle {
 public:
  explicit Subscriber(const lapwing_subscriber_options& options) {
    Failure failure;
    check(api.subscriber_open(&options, &subscriber_, &failure), failure);
  }
  ~Subscriber() override { api.subscriber_destroy(&subscriber_); }

  bool is_open() const override { return subscriber_ != nullptr; }
  void interrupt_now() noexcept override {
    if (subscriber_ != nullptr) api.subscriber_interrupt(subscriber_);
  }
  void free_now() override {
    lapwing_subscriber* freed = std::exchange(subscriber_, nullptr);
    const WithoutGil released;
    api.subscriber_destroy(&freed);
  }

  lapwing_result add_to(lapwing_wait_set* set, std::size_t, std::uint64_t* source,
                        lapwing_error* failure) override {
    return api.wait_set_add_subscriber(set, subscriber_, 0, source, failure);
  }

  void check_rows(nb::object check) { rows_.set(std::move(check)); }

  nb::tuple read(nb::handle rows, nb::handle sequences, nb::handle conflated,
                 std::int64_t timeout_ns) {
    const Use use(*this);
    Batch into(rows, sequences, conflated, rows_);
    Failure failure;
    // Even the first attempt releases the GIL, because filling a gap may read from disk.
    const lapwing_result result = wait(*this, timeout_ns, Gil::kReleased, [&](std::int64_t left) {
      return api.subscriber_read(subscriber_, &into.batch, left, &failure);
    });
    check(result, failure, {"row_bytes", into.batch.row_bytes});
    return into.result();
  }

  std::uint64_t read_one(nb::handle record, std::int64_t timeout_ns) {
    const Use use(*this);
    const Memory memory("record", record, Memory::Access::kWrite, rows_);
    Failure failure;
    std::uint64_t sequence = 0;
    const lapwing_result result = wait(*this, timeout_ns, Gil::kHeld, [&](std::int64_t left) {
      return api.subscriber_read_one(subscriber_, memory.data(), memory.bytes(), left, &sequence,
                                     &failure);
    });
    check(result, failure);
    return sequence;
  }

  // The schema as of the last delivered session or reset event.
  nb::tuple schema() {
    const Use use(*this);
    return described([&](SchemaOut& out, lapwing_error& failure) {
      return api.subscriber_schema(subscriber_, &out.schema, out.fields.data(), out.fields.size(),
                                   out.text.data(), out.text.size(), &failure);
    });
  }

  lapwing_ages ages() {
    const Use use(*this);
    Failure failure;
    lapwing_ages ages = {};
    ages.struct_size = sizeof ages;
    check(api.subscriber_ages(subscriber_, &ages, &failure), failure);
    return ages;
  }

  lapwing_subscriber_info inspect() {
    const Use use(*this);
    Failure failure;
    lapwing_subscriber_info info = {};
    info.struct_size = sizeof info;
    check(api.subscriber_inspect(subscriber_, &info, &failure), failure);
    return info;
  }

  lapwing_position position(std::uint64_t sequence) {
    const Use use(*this);
    Failure failure;
    lapwing_position position = {};
    check(api.subscriber_position(subscriber_, sequence, &position, &failure), failure);
    return position;
  }

  std::int32_t fileno() {
    const Use use(*this);
    Failure failure;
    std::int32_t fd = -1;
    check(api.subscriber_fd(subscriber_, &fd, &failure), failure);
    return fd;
  }

 private:
  lapwing_subscriber* subscriber_ = nullptr;
  RowCheck rows_;
};

void open(Subscriber* self, const std::string& directory, const std::string& name,
          std::uint32_t start, std::uint64_t start_value, const nb::object& start_position,
          std::uint32_t on_gap, std::uint32_t wait, const std::string& fold,
          const std::string& expect, const std::vector<std::string>& instruments,
          std::int64_t reattach_ns, std::int64_t flush_timeout_ns, std::int64_t stale_after_ns,
          std::uint32_t behind_records, std::int64_t behind_time_ns,
          std::int64_t conflate_interval_ns, std::uint32_t conflate_keys_max,
          std::uint32_t measure_every, std::uint32_t flags) {
  std::vector<const char*> symbols;
  for (const std::string& instrument : instruments) symbols.push_back(instrument.c_str());
  lapwing_subscriber_options options = default_options(api.subscriber_options_init);
  options.flags = flags;
  options.directory = directory.c_str();
  options.name = or_null(name);
  options.start = start;
  options.on_gap = on_gap;
  options.wait = wait;
  options.behind_records = behind_records;
  options.start_value = start_value;
  if (!start_position.is_none()) {
    options.start_position = nb::cast<lapwing_position>(start_position);
  }
  options.fold = or_null(fold);
  options.expect = or_null(expect);
  options.instruments = symbols.empty() ? nullptr : symbols.data();
  options.instrument_count = symbols.size();
  options.reattach_ns = reattach_ns;
  options.flush_timeout_ns = flush_timeout_ns;
  options.stale_after_ns = stale_after_ns;
  options.behind_time_ns = behind_time_ns;
  options.conflate_interval_ns = conflate_interval_ns;
  options.conflate_keys_max = conflate_keys_max;
  options.measure_every = measure_every;
  new (self) Subscriber(options);
}

}  // namespace

void bind_subscriber(nb::module_& module) {
  using nb::arg;
  nb::class_<Subscriber, Handle>(module, "Subscriber")
      .def("__init__", &open, nb::kw_only(), arg("directory"), arg("name"), arg("start"),
           arg("start_value"), arg("start_position").none(), arg("on_gap"), arg("wait"),
           arg("fold"), arg("expect"), arg("instruments"), arg("reattach_ns"),
           arg("flush_timeout_ns"), arg("stale_after_ns"), arg("behind_records"),
           arg("behind_time_ns"), arg("conflate_interval_ns"), arg("conflate_keys_max"),
           arg("measure_every"), arg("flags"))
      .def("check_rows", &Subscriber::check_rows, arg("check").none(), nb::sig(kCheckRowsSignature))
      .def("read", &Subscriber::read, arg("rows").none(), arg("sequences").none(),
           arg("conflated").none(), arg("timeout_ns"), nb::sig(kReadSignature))
      .def("read_one", &Subscriber::read_one, arg("record").none(), arg("timeout_ns"))
      .def("schema", &Subscriber::schema, nb::sig(kSchemaSignature))
      .def("ages", &Subscriber::ages)
      .def("inspect", &Subscriber::inspect)
      .def("position", &Subscriber::position, arg("sequence"))
      .def("fileno", &Subscriber::fileno);
}

}  // namespace lapwing_python
