// ZeroMQ over ipc://: a pair for round trips, otherwise publish and subscribe, where a publisher
// with a full queue drops the newest records. Its own threads transfer the bytes. Both sides
// busy-poll.
#include <unistd.h>
#include <zmq.h>

#include <vector>

#include "bench/peers/cpp/scenarios.h"

namespace lapwing::peers {
namespace {

constexpr std::uint64_t kSendRecordsMax = 32;
constexpr int kLingerMs = 1000;  // maximum time to send remaining data at the end

[[noreturn]] void fail_with_zmq(const char* what) {
  fail(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

class ZeroMq {
 public:
  explicit ZeroMq(const Options& options) : words_(options.words()), record_(options.words()) {
    context_ = zmq_ctx_new();
    if (context_ == nullptr) fail_with_zmq("cannot make a context");
    const int sending = options.both_ways() ? ZMQ_PAIR : ZMQ_PUB;
    const int receiving = options.both_ways() ? ZMQ_PAIR : ZMQ_SUB;
    socket_ = zmq_socket(context_, options.sends_first() ? sending : receiving);
    if (socket_ == nullptr) fail_with_zmq("cannot make a socket");
    const int high_water_mark = static_cast<int>(options.capacity);
    set(ZMQ_SNDHWM, high_water_mark);
    set(ZMQ_RCVHWM, high_water_mark);
    set(ZMQ_LINGER, kLingerMs);
    const std::string endpoint = "ipc://" + options.path("zeromq.sock");
    if (options.sends_first()) {
      if (zmq_bind(socket_, endpoint.c_str()) != 0) fail_with_zmq("cannot bind");
      announce(options, "zeromq.ready");
      if (!options.both_ways()) prime(options);
    } else {
      await_file(options, "zeromq.ready");
      if (receiving == ZMQ_SUB) zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "", 0);
      if (zmq_connect(socket_, endpoint.c_str()) != 0) fail_with_zmq("cannot connect");
      if (receiving == ZMQ_SUB) await_first(options);
    }
  }

  ~ZeroMq() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  ZeroMq(const ZeroMq&) = delete;
  ZeroMq& operator=(const ZeroMq&) = delete;

  std::uint64_t send_records_max() const { return kSendRecordsMax; }
  std::int64_t reported_lost() const { return -1; }

  std::uint64_t send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t sent = 0; sent < count; ++sent) {
      fill(record_.data(), words_, first + sent);
      if (zmq_send(socket_, record_.data(), record_bytes(), ZMQ_DONTWAIT) >= 0) continue;
      if (zmq_errno() != EAGAIN) fail_with_zmq("cannot send");
      return sent;
    }
    return count;
  }

  template <typename F>
  std::uint64_t receive(F&& on_record) {
    const int got = zmq_recv(socket_, record_.data(), record_bytes(), ZMQ_DONTWAIT);
    if (got < 0 && zmq_errno() == EAGAIN) return 0;
    if (got < 0) fail_with_zmq("cannot receive");
    // Skip records sent before the subscription arrived.
    if (record_[0] == 0) return 0;
    on_record(record_.data());
    return 1;
  }

 private:
  // A subscription takes time, and a publisher is not notified of it. Therefore record 0 is sent
  // until each subscriber has confirmed it.
  void prime(const Options& options) {
    for (const std::string& reader : options.readers()) {
      while (!is_announced(options, "zeromq.subscribed." + reader)) {
        send(0, 1);
        usleep(1000);
      }
    }
  }
  void await_first(const Options& options) {
    const std::uint64_t deadline_ns = now_ns() + kStuckNsMax;
    while (zmq_recv(socket_, record_.data(), record_bytes(), ZMQ_DONTWAIT) < 0) {
      if (now_ns() > deadline_ns) fail("no subscription within a minute");
    }
    announce(options, "zeromq.subscribed." + options.role_name);
  }
  void set(int option, int value) {
    if (zmq_setsockopt(socket_, option, &value, sizeof value) != 0) fail_with_zmq("option");
  }
  std::size_t record_bytes() const { return words_ * sizeof(std::uint64_t); }

  std::size_t words_;
  std::vector<std::uint64_t> record_;
  void* context_ = nullptr;
  void* socket_ = nullptr;
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::ZeroMq>(count, arguments);
}
