// Calls: requests with replies, over a Duplex. The client has several calls in progress, each with
// a deadline. The server replies in any order, and refuses invalid requests.
//
//   calls serve /tmp/roots.sock &
//   calls ask /tmp/roots.sock
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <span>
#include <string>

#include "lapwing/duplex.h"
#include "lapwing/listener.h"

namespace {

constexpr std::uint32_t kSquareRoot = 1;  // the program defines the types of requests and replies
constexpr std::uint32_t kResult = 2;
constexpr std::uint32_t kNoSuchRoot = 33;  // and the error codes

int fail(const absl::Status& status) {
  std::cerr << "calls: " << status.message() << '\n';
  return 1;
}

std::string text_of(std::span<const std::byte> payload) {
  return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
}

double number_of(std::span<const std::byte> payload) {
  double number = 0;
  if (payload.size() == sizeof number) std::memcpy(&number, payload.data(), sizeof number);
  return number;
}

lapwing::Result<> answer(lapwing::Duplex& duplex, const lapwing::Incoming& incoming) {
  const double number = number_of(incoming.payload);
  if (incoming.type != kSquareRoot || number < 0) {
    return duplex.reply_error(incoming.call, kNoSuchRoot, "there is no such root");
  }
  const double root = std::sqrt(number);
  return duplex.reply(incoming.call, std::as_bytes(std::span(&root, 1)), kResult);
}

int serve(const std::string& path) {
  auto listener = lapwing::ChannelListener::listen(path);
  if (!listener.ok()) return fail(listener.status());
  auto duplex = lapwing::Duplex::accept(*listener, {}, lapwing::Deadline::never());
  if (!duplex.ok()) return fail(duplex.status());
  for (;;) {
    // Receives the next call or one-way message. Its payload is valid until next() is called
    // again.
    const lapwing::Result<lapwing::Incoming> incoming = duplex->next();
    if (incoming.error() == lapwing::Errc::kClosed) return 0;
    if (!incoming.ok()) return fail(duplex->status());
    if (!incoming->is_call()) {
      std::cout << "one-way: " << text_of(incoming->payload) << std::endl;
      continue;
    }
    // A reply may be sent at any time and in any order. Here it is sent immediately.
    const lapwing::Result<> replied = answer(*duplex, *incoming);
    if (replied.error() == lapwing::Errc::kClosed) return 0;
    if (!replied.ok()) return fail(duplex->status());
  }
}

// A call ends with a reply, an error from the server, or a missed deadline. Returns false if the
// server has ended, which ends all calls in progress.
bool print(double number, const lapwing::Result<lapwing::Reply>& reply) {
  std::cout << "root of " << number << ": ";
  if (reply.error() == lapwing::Errc::kTimedOut) {
    std::cout << "no reply in time\n";
  } else if (!reply.ok()) {
    std::cout << "unknown\n";
    return false;
  } else if (reply->is_error) {
    std::cout << "error " << reply->code << ", " << text_of(reply->payload) << '\n';
  } else {
    std::cout << number_of(reply->payload) << '\n';
  }
  return true;
}

int ask(const std::string& path) {
  auto duplex = lapwing::Duplex::connect(path, {}, std::chrono::seconds(10));
  if (!duplex.ok()) return fail(duplex.status());

  // One call and its reply.
  const double two = 2;
  const lapwing::Result<lapwing::Reply> reply =
      duplex->call(std::as_bytes(std::span(&two, 1)), kSquareRoot, std::chrono::seconds(1));
  if (!print(two, reply)) return fail(duplex->status());

  // Several calls in progress. They are handled in the order in which they end.
  std::map<lapwing::CallId, double> asked;
  for (const double number : {4.0, 9.0, -1.0}) {
    const lapwing::Result<lapwing::CallId> started =
        duplex->start(std::as_bytes(std::span(&number, 1)), kSquareRoot, std::chrono::seconds(1));
    if (!started.ok()) return fail(duplex->status());
    asked[*started] = number;
  }
  while (!asked.empty()) {
    const lapwing::Result<lapwing::Reply> next = duplex->finish_any();
    const double number = asked[next->call];
    asked.erase(next->call);
    if (!print(number, next)) return fail(duplex->status());
  }

  // A one-way message has no reply.
  const std::string text = "goodbye";
  if (!duplex->send(std::as_bytes(std::span(text)), 0).ok()) return fail(duplex->status());
  duplex->close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve" && argc == 3) return serve(argv[2]);
  if (role == "ask" && argc == 3) return ask(argv[2]);
  std::cerr << "usage: calls serve PATH | calls ask PATH\n";
  return 2;
}
