// Turns records from a bus into orders that are executed exactly once, even if the publisher, the
// strategy and the gateway are killed with `kill -9` at any time and restarted:
//
//   lapwing publish --bus ./es --source synthetic:records=200000 --pace 20000 --resume &
//   order_gateway ./orders.sock ./orders.txt &
//   order_strategy ./es ./strategy.cursor ./orders.sock
//
// Three rules ensure this. The first two are implemented here, the third in the gateway:
//
// 1. An order has the id of the record that caused it. Decisions depend only on the records, so a
//    record that is read again causes the same order with the same id.
// 2. The cursor is committed after the gateway has released all orders up to that position. After a
//    kill, uncommitted records are read, decided and sent again.
// 3. The gateway writes an order to its file before it releases it, and skips known ids.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/exactly_once/order.h"
#include "lapwing/cursor.h"
#include "lapwing/dbn.h"
#include "lapwing/producer.h"
#include "lapwing/subscriber.h"

namespace {

using lapwing::Errc;
using lapwing::dbn::Action;
using lapwing::dbn::Side;

int fail(const absl::Status& status) {
  std::cerr << "strategy: " << status.message() << '\n';
  return 1;
}

// Buys next to every large bid.
std::optional<Order> decide(const lapwing::dbn::MboMsg& record) {
  constexpr std::uint32_t kLarge = 8;
  const bool is_new_bid = record.action == Action::kAdd && record.side == Side::kBid;
  if (!is_new_bid || record.size < kLarge) return std::nullopt;
  return Order{{}, {}, record.price, 1, record.hd.instrument_id};
}

bool is_gateway_gone(const absl::Status& status) {
  const Errc why = lapwing::errc_of(status);
  return why == Errc::kPeerGone || why == Errc::kClosed || why == Errc::kNoBus;
}

class Strategy {
 public:
  Strategy(lapwing::Subscriber bus, lapwing::Cursor& cursor, lapwing::ChannelProducer& gateway)
      : bus_(std::move(bus)), cursor_(cursor), gateway_(gateway) {}

  // Runs until the bus is closed (ok) or an error occurs.
  absl::Status run() {
    std::vector<lapwing::dbn::MboMsg> rows(256);
    for (;;) {
      const auto batch = bus_.read(std::as_writable_bytes(std::span(rows)));
      if (batch.error() == Errc::kClosed) return absl::OkStatus();
      if (!batch.ok()) return bus_.status();
      if (batch->is(lapwing::EventKind::kLost)) {
        return absl::DataLossError(batch->event->text + ": a person decides what now");
      }
      if (batch->is(lapwing::EventKind::kSession) &&
          batch->event->schema_name != lapwing::dbn::kSchemaMbo) {
        return absl::InvalidArgumentError("the bus carries " + batch->event->schema_name);
      }
      if (batch->kind != lapwing::ItemKind::kRecord) continue;
      const lapwing::Id128 journal_id = bus_.position().journal_id;
      for (std::size_t i = 0; i < batch->count; ++i) {
        std::optional<Order> order = decide(rows[i]);
        if (!order) continue;
        order->journal_id = journal_id;
        order->sequence = batch->first + i;
        if (!gateway_.send(std::as_bytes(std::span(&*order, 1)), kNewOrder).ok()) {
          return gateway_.status();
        }
      }
      if (!gateway_.drain().ok()) return gateway_.status();
      if (absl::Status done = cursor_.commit(bus_); !done.ok()) return done;
    }
  }

 private:
  lapwing::Subscriber bus_;
  lapwing::Cursor& cursor_;
  lapwing::ChannelProducer& gateway_;
};

int run(const std::string& directory, const std::string& cursor_path, const std::string& path) {
  auto cursor = lapwing::Cursor::open({.path = cursor_path}, std::chrono::seconds(10));
  if (!cursor.ok()) return fail(cursor.status());
  for (;;) {
    auto gateway = lapwing::ChannelProducer::connect(path, {.retry = std::chrono::minutes(1)},
                                                     std::chrono::minutes(1));
    if (!gateway.ok()) return fail(gateway.status());
    auto bus = lapwing::Subscriber::open(
        {.directory = directory,
         .name = "strategy",
         .start = lapwing::Start::resume(*cursor, lapwing::Start::oldest()),
         .end_at_close = true,
         .reattach = lapwing::kForever});
    if (!bus.ok()) return fail(bus.status());
    const absl::Status ended = Strategy(*std::move(bus), *cursor, *gateway).run();
    if (ended.ok()) return 0;
    // The gateway's successor receives all unreleased orders, from the cursor onwards.
    if (!is_gateway_gone(ended)) return fail(ended);
    std::cerr << "strategy: the gateway has ended; connecting again\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return run(argv[1], argv[2], argv[3]);
  std::cerr << "usage: order_strategy BUS CURSOR SOCKET\n";
  return 2;
}
