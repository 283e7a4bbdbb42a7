// A DBN feed handler: publishes market-by-order records, and resumes like handler.cc.
//   dbn_handler BUS
#include <thread>

#include "lapwing/dbn.h"
#include "lapwing/publisher.h"
#include "tests/desk/desk.h"

int main(int, char** argv) {
  using lapwing::dbn::MboMsg;
  auto publisher = lapwing::Publisher::open({.directory = argv[1],
                                             .schema_name = lapwing::dbn::kSchemaMbo,
                                             .record_bytes = sizeof(MboMsg),
                                             .capacity = 16'384});
  if (!publisher.ok()) return desk::fail(publisher.status());
  MboMsg order{};
  order.hd = {sizeof order / lapwing::dbn::kLengthUnit, lapwing::dbn::RType::kMbo, 1, 7, 0};
  order.action = lapwing::dbn::Action::kAdd;
  order.side = lapwing::dbn::Side::kBid;
  order.flags = lapwing::dbn::kFlagLast;
  order.size = 1;
  for (std::uint64_t n = publisher->first();; ++n) {
    order.order_id = n;
    order.price = static_cast<std::int64_t>(n % 1000) * lapwing::dbn::kPriceScale;
    order.hd.ts_event = order.ts_recv = desk::utc_ns();
    if (!publisher->publish(order).ok()) {
      return desk::fail(publisher->last_error());
    }
    // Limits the feed to about 100,000 records per second.
    if (n % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
