// An order gateway for many clients on one thread, and a client. Orders and cancels are calls, a
// fill is a one-way message. Either side can be killed at any time: the client reconnects and sends
// all unsettled orders again, because the gateway forgets the orders of a disconnected client.
//
//   gateway serve /tmp/gateway.sock &
//   gateway trade /tmp/gateway.sock 1000          run any number of these at the same time
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "lapwing/duplex.h"
#include "lapwing/duplex_server.h"

namespace {

enum class Type : std::uint32_t { kNew = 1, kAccepted = 2, kCancel = 3, kCancelled = 4, kFill = 5 };
struct Order {
  std::uint64_t number;
  std::int64_t price;
};
using Orders = std::set<std::uint64_t>;
constexpr std::uint32_t kNoSuchOrder = 1;  // an error code
constexpr std::chrono::seconds kPatience{10};

int fail(const absl::Status& status) {
  std::cerr << "gateway: " << status.message() << '\n';
  return 1;
}

// This market fills orders at once, except every third one, which rests until it is cancelled.
bool rests(const Order& order) {
  return order.number % 3 == 0;
}

lapwing::Result<> answer(lapwing::DuplexServer& server, const lapwing::ServerEvent& event,
                         Orders& resting) {
  const auto order = event.message.as<Order>();
  const lapwing::CallId call = event.message.call;
  if (order && event.message.is(Type::kNew)) {
    if (rests(*order)) resting.insert(order->number);
    const auto accepted = server.try_reply(event.client, call, *order, Type::kAccepted);
    if (rests(*order) || !accepted.ok()) return accepted;
    return server.try_send(event.client, *order, Type::kFill);
  }
  if (order && event.message.is(Type::kCancel) && resting.erase(order->number) == 1) {
    return server.try_reply(event.client, call, *order, Type::kCancelled);
  }
  return server.try_reply_error(event.client, call, kNoSuchOrder, "no such order rests");
}

int serve(const std::string& path) {
  auto server = lapwing::DuplexServer::open(path, {.clients_max = 100});
  if (!server.ok()) return fail(server.status());
  std::map<lapwing::ClientId, Orders> resting;
  for (;;) {
    const lapwing::Result<lapwing::ServerEvent> event = server->wait();
    if (!event.ok()) {
      fail(server->status());  // could not accept a client; others are still served
    } else if (event->kind == lapwing::ServerEvent::Kind::kGone) {
      std::cout << "client " << event->client << ": " << lapwing::name_of(event->why) << std::endl;
      resting.erase(event->client);
    } else if (event->kind == lapwing::ServerEvent::Kind::kMessage &&
               answer(*server, *event, resting[event->client]) == lapwing::Errc::kWouldBlock) {
      // The client does not read its messages, and its channel is full. Another gateway might queue
      // them and send them at the event kRoom.
      if (server->drop(event->client).ok()) resting.erase(event->client);
    }
  }
}

struct Account {
  std::uint64_t next = 1;
  Orders open;
  std::uint64_t filled = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t in_doubt = 0;  // failed calls that may have been executed
  std::uint64_t unseen = 0;    // failed calls that were not executed

  std::uint64_t settled() const { return filled + cancelled; }
};

void take(lapwing::Duplex& gateway, const lapwing::Result<lapwing::Reply>& reply,
          Account& account) {
  const auto order = reply->as<Order>();
  if (!reply.ok()) {
    ++(reply->delivery == lapwing::Delivery::kTaken ? account.in_doubt : account.unseen);
  } else if (order && reply->is(Type::kCancelled)) {
    account.cancelled += account.open.erase(order->number);
  } else if (order && reply->is(Type::kAccepted) && rests(*order)) {
    (void)gateway.start(*order, Type::kCancel, kPatience);  // if it fails, the next wait fails
  }
}

// Trades over one connection until all orders are settled or the gateway has ended.
void trade(lapwing::Duplex& gateway, std::uint64_t count, Account& account) {
  constexpr std::size_t kOpenMax = 8;
  std::deque<std::uint64_t> to_send(account.open.begin(), account.open.end());
  while (account.settled() < count) {
    for (; account.open.size() < kOpenMax && account.next <= count; ++account.next) {
      account.open.insert(account.next);
      to_send.push_back(account.next);
    }
    for (; !to_send.empty(); to_send.pop_front()) {
      const Order order{to_send.front(), 100};
      if (!gateway.start(order, Type::kNew, kPatience).ok()) break;
    }
    // Waits for the next reply or fill.
    const lapwing::Result<lapwing::Arrival> arrival = gateway.wait_any(kPatience);
    if (!arrival.ok()) {
      fail(gateway.status());
      return;
    }
    if (arrival->kind == lapwing::Arrival::Kind::kReply) take(gateway, arrival->reply, account);
    const auto fill = arrival->incoming.as<Order>();
    if (fill && arrival->incoming.is(Type::kFill))
      account.filled += account.open.erase(fill->number);
  }
}

int trade(const std::string& path, std::uint64_t count) {
  Account account;
  while (account.settled() < count) {
    auto gateway = lapwing::Duplex::connect(path, {.retry = kPatience}, kPatience);
    if (!gateway.ok()) return fail(gateway.status());
    std::cout << "connected" << std::endl;
    trade(*gateway, count, account);
  }
  std::cout << account.filled << " filled, " << account.cancelled << " cancelled; "
            << account.in_doubt << " calls broke that may have been carried out, and "
            << account.unseen << " that were not\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve" && argc == 3) return serve(argv[2]);
  if (role == "trade" && argc == 4) return trade(argv[2], std::strtoull(argv[3], nullptr, 10));
  std::cerr << "usage: gateway serve PATH | gateway trade PATH ORDERS\n";
  return 2;
}
