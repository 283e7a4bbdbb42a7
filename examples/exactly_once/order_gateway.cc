// Executes orders, each exactly once. Here it writes them to a file. See order_strategy.cc.
//
//   order_gateway ./orders.sock ./orders.txt
//
// It ends when a strategy has closed its channel, which happens at the end of the bus.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "examples/exactly_once/order.h"
#include "lapwing/consumer.h"
#include "lapwing/listener.h"

namespace {

using lapwing::Errc;

// One line per order. The file is the gateway's memory: it contains the executed orders.
class OrderFile {
 public:
  explicit OrderFile(const std::string& path) : path_(path) {}
  OrderFile(const OrderFile&) = delete;
  OrderFile& operator=(const OrderFile&) = delete;
  ~OrderFile() { close(file_); }

  // Reads the orders of an earlier run. Removes an incomplete line: its order was not released, so
  // it will arrive again.
  bool open() {
    std::ifstream written(path_, std::ios::binary);
    std::uintmax_t whole = 0;
    for (std::string line; std::getline(written, line) && !written.eof();) {
      std::istringstream words(line);
      std::string journal;
      lapwing::Sequence sequence = 0;
      words >> journal >> sequence;
      last_[journal] = sequence;
      whole += line.size() + 1;
    }
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return file_ >= 0 && ftruncate(file_, static_cast<off_t>(whole)) == 0;
  }

  // Skips orders that are already in the file. Orders of a journal arrive in ascending sequence, so
  // the last one of each journal is sufficient.
  void add(const Order& order) {
    lapwing::Sequence& last = last_[order.journal_id.hex()];
    if (order.sequence <= last) return;
    last = order.sequence;
    std::ostringstream line;
    line << order.journal_id.hex() << ' ' << order.sequence << ' ' << order.instrument_id << ' '
         << order.price << ' ' << order.size << '\n';
    pending_ += line.str();
  }

  // Writes and syncs all added orders.
  bool sync() {
    const bool is_written =
        write(file_, pending_.data(), pending_.size()) == static_cast<ssize_t>(pending_.size());
    pending_.clear();
    return is_written && fdatasync(file_) == 0;
  }

 private:
  std::string path_;
  int file_ = -1;
  std::map<std::string, lapwing::Sequence> last_;  // last order of each journal
  std::string pending_;
};

int fail(const std::string& why) {
  std::cerr << "gateway: " << why << '\n';
  return 1;
}

// Writes the orders of one strategy until its channel ends. Returns the reason.
Errc serve(lapwing::ChannelConsumer& strategy, OrderFile& file) {
  std::array<lapwing::Message, 64> messages;
  for (;;) {
    const auto peeked = strategy.peek_batch(messages);
    if (!peeked.ok()) return peeked.error();
    for (std::size_t i = 0; i < *peeked; ++i) {
      if (messages[i].type != kNewOrder || messages[i].payload.size() != sizeof(Order)) continue;
      Order order;
      std::memcpy(&order, messages[i].payload.data(), sizeof order);
      file.add(order);
    }
    if (!file.sync()) return Errc::kSystem;
    const auto released = strategy.release(messages, *peeked);
    if (!released.ok()) return released.error();
  }
}

int run(const std::string& path, const std::string& file_path) {
  OrderFile file(file_path);
  if (!file.open()) return fail(file_path + " cannot be opened for writing");
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(std::string(listener.status().message()));
  for (;;) {
    auto strategy = lapwing::ChannelConsumer::accept(*listener, {}, lapwing::Deadline::never());
    if (!strategy.ok()) return fail(std::string(strategy.status().message()));
    const Errc ended = serve(*strategy, file);
    if (ended == Errc::kClosed) return 0;
    if (ended != Errc::kPeerGone) {
      return fail(ended == Errc::kSystem ? file_path + " cannot be written"
                                         : std::string(strategy->status().message()));
    }
    std::cerr << "gateway: the strategy has ended; waiting for the next\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return run(argv[1], argv[2]);
  std::cerr << "usage: order_gateway SOCKET FILE\n";
  return 2;
}
