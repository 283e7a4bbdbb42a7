// A producer, a consumer or a duplex, and the listener that serves them.
#pragma once

#include <lapwing.h>
#include <native/borrowed.h>
#include <native/call.h>
#include <native/functions.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace lapwing_python {

struct Message : BorrowedMemory {};
struct Claim : BorrowedMemory {};

// lapwing_channel_options from keyword arguments; `name` must outlive it.
lapwing_channel_options channel_options(const std::string& name, std::uint64_t capacity,
                                        std::uint32_t message_bytes_max, std::uint32_t call_window,
                                        std::uint32_t wait, std::uint32_t numa_node,
                                        std::uint32_t peer_uid, std::int64_t retry_ns,
                                        std::uint32_t flags);

class Channel : public Handle {
 public:
  explicit Channel(lapwing_channel* channel) : channel_(channel) {}
  ~Channel() override { api.channel_destroy(&channel_); }

  bool is_open() const override { return channel_ != nullptr; }
  void interrupt_now() noexcept override {
    if (channel_ != nullptr) api.channel_interrupt(channel_);
  }
  lapwing_result add_to(lapwing_wait_set* set, std::size_t bytes, std::uint64_t* source,
                        lapwing_error* failure) override {
    return api.wait_set_add_channel(set, channel_, bytes, 0, source, failure);
  }
  void check_unused() override;
  void free_now() override;

  Claim claim(nb::handle self, nb::handle bytes, std::int64_t timeout_ns);
  void commit(nb::handle bytes, nb::handle type);
  void abort();
  void send(nb::handle payload, nb::handle type, std::int64_t timeout_ns);
  std::size_t send_many(const nb::list& messages, std::int64_t timeout_ns);
  void drain(std::int64_t timeout_ns);
  nb::list peek(nb::handle self, nb::handle max, std::int64_t timeout_ns);
  void release(nb::handle count);

  std::uint64_t start(nb::handle payload, nb::handle type, std::int64_t timeout_ns);
  nb::tuple finish(nb::handle call);
  nb::tuple finish_any(std::int64_t timeout_ns);
  void cancel(nb::handle call);
  nb::tuple next(std::int64_t timeout_ns);
  void reply(std::uint64_t call, nb::handle payload, nb::handle type, bool is_error,
             nb::handle code, std::int64_t timeout_ns);

  bool arm(nb::handle bytes);
  std::int32_t fileno();
  lapwing_channel_info inspect();
  void close();

 private:
  std::size_t send_all(const lapwing_message* messages, std::size_t count, std::int64_t timeout_ns);
  void check_claim() const;
  void end_claim();

  lapwing_channel* channel_ = nullptr;
  std::shared_ptr<Borrowed> claimed_;
  std::deque<std::shared_ptr<Borrowed>> peeked_;  // starts with the oldest unreleased message
  std::vector<lapwing_message> messages_;
};

}  // namespace lapwing_python
