#include <nanobind/stl/string.h>
#include <native/bind.h>
#include <native/call.h>
#include <native/functions.h>

#include <algorithm>
#include <string>

namespace lapwing_python {

namespace {

// A batch up to this size is published with the GIL held, unless the call has to wait.
constexpr std::size_t kQuickBytesMax = 64 * 1024;

class Publisher : public Handle {
 public:
  Publisher(const lapwing_publisher_options& options, std::int64_t timeout_ns) {
    Failure failure;
    lapwing_result result = LAPWING_OK;
    {
      const WithoutGil released;
      result = api.publisher_open(&options, timeout_ns, &publisher_, &failure);
    }
    check(result, failure);
    const lapwing_publisher_info info = inspect();
    record_bytes_ = info.record_bytes;
    last_ = info.first - 1;
  }
  ~Publisher() override { api.publisher_destroy(&publisher_); }

  bool is_open() const override { return publisher_ != nullptr; }
  void interrupt_now() noexcept override {
    if (publisher_ != nullptr) api.publisher_interrupt(publisher_);
  }
  void free_now() override {
    lapwing_publisher* freed = std::exchange(publisher_, nullptr);
    const WithoutGil released;
    api.publisher_destroy(&freed);
  }

  void check_rows(nb::object check) { rows_.set(std::move(check)); }

  std::uint64_t publish(nb::handle records, std::int64_t timeout_ns) {
    const Use use(*this);
    const Memory memory("records", records, Memory::Access::kRead, rows_);
    const std::size_t item = memory.item_bytes();
    const std::size_t row_bytes = item > 1 ? item : record_bytes_;
    if (row_bytes == 0 || memory.bytes() % row_bytes != 0) {
      raise(LAPWING_ERROR_INVALID_ARGUMENT,
            "the bytes are not a whole number of records. Pass an array of the bus's record type, "
            "or bytes of a multiple of record_bytes");
    }
    const std::size_t count = memory.bytes() / row_bytes;
    const auto* const rows = static_cast<const unsigned char*>(memory.data());
    Failure failure;
    std::size_t done = 0;
    std::uint64_t last = 0;
    const Gil gil = memory.bytes() <= kQuickBytesMax ? Gil::kHeld : Gil::kReleased;
    const lapwing_result result = wait(*this, timeout_ns, gil, [&](std::int64_t left) {
      std::uint64_t now = 0;
      const lapwing_result published = api.publisher_publish(
          publisher_, rows + done * row_bytes, count - done, row_bytes, left, &now, &failure);
      if (now != 0) {  // sequences of a session are consecutive
        done += now - last_;
        last = last_ = now;
      }
      return published;
    });
    check(result, failure, {"last", last});
    return last;
  }

  std::uint64_t flush(std::int64_t timeout_ns) {
    const Use use(*this);
    Failure failure;
    std::uint64_t durable = 0;
    check(wait(*this, timeout_ns, Gil::kReleased,
               [&](std::int64_t left) {
                 return api.publisher_flush(publisher_, left, &durable, &failure);
               }),
          failure, {"durable", durable});
    return durable;
  }

  lapwing_publisher_info inspect() {
    const Use use(*this);
    Failure failure;
    lapwing_publisher_info info = {};
    info.struct_size = sizeof info;
    check(api.publisher_inspect(publisher_, &info, &failure), failure);
    return info;
  }

  void close(std::int64_t timeout_ns) {
    const Use use(*this);
    Failure failure;
    check(call_whole(
              *this, timeout_ns,
              [&](std::int64_t left) { return api.publisher_close(publisher_, left, &failure); }),
          failure);
  }

 private:
  lapwing_publisher* publisher_ = nullptr;
  RowCheck rows_;
  std::size_t record_bytes_ = 0;
  std::uint64_t last_ = 0;  // last published sequence
};

void open(Publisher* self, const std::string& directory, const std::string& name,
          const std::string& schema_name, const std::string& schema, std::uint32_t record_bytes,
          std::uint64_t capacity, const std::string& ring_directory,
          const std::string& journal_directory, std::uint64_t segment_bytes,
          std::int64_t sync_interval_ns, std::uint64_t retain_bytes, std::int64_t retain_age_ns,
          std::uint32_t on_journal_lag, std::uint32_t on_journal_failure, const nb::bytes& metadata,
          std::uint64_t source_id, std::uint64_t source_offset, std::uint32_t flags,
          std::uint32_t group, std::int64_t timeout_ns) {
  lapwing_publisher_options options = default_options(api.publisher_options_init);
  options.flags = flags;
  options.directory = directory.c_str();
  options.name = or_null(name);
  options.schema_name = or_null(schema_name);
  options.schema = or_null(schema);
  options.record_bytes = record_bytes;
  options.group = group;
  options.capacity = capacity;
  options.ring_directory = or_null(ring_directory);
  options.journal_directory = or_null(journal_directory);
  options.segment_bytes = segment_bytes;
  options.sync_interval_ns = sync_interval_ns;
  options.retain_bytes = retain_bytes;
  options.retain_age_ns = retain_age_ns;
  options.on_journal_lag = on_journal_lag;
  options.on_journal_failure = on_journal_failure;
  options.metadata = metadata.size() == 0 ? nullptr : metadata.c_str();
  options.metadata_bytes = metadata.size();
  options.source_id = source_id;
  options.source_offset = source_offset;
  new (self) Publisher(options, timeout_ns);
}

}  // namespace

void bind_publisher(nb::module_& module) {
  using nb::arg;
  nb::class_<Publisher, Handle>(module, "Publisher")
      .def("__init__", &open, nb::kw_only(), arg("directory"), arg("name"), arg("schema_name"),
           arg("schema"), arg("record_bytes"), arg("capacity"), arg("ring_directory"),
           arg("journal_directory"), arg("segment_bytes"), arg("sync_interval_ns"),
           arg("retain_bytes"), arg("retain_age_ns"), arg("on_journal_lag"),
           arg("on_journal_failure"), arg("metadata"), arg("source_id"), arg("source_offset"),
           arg("flags"), arg("group"), arg("timeout_ns"))
      .def("check_rows", &Publisher::check_rows, arg("check").none(), nb::sig(kCheckRowsSignature))
      .def("publish", &Publisher::publish, arg("records").none(), arg("timeout_ns"))
      .def("flush", &Publisher::flush, arg("timeout_ns"))
      .def("inspect", &Publisher::inspect)
      .def("close", &Publisher::close, arg("timeout_ns"));
}

}  // namespace lapwing_python
