// For tests: a TCP socket whose last close() blocks, as a hostile process could send it.
// Thread safety: none.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <utility>

#include "os/foreign_socket.h"
#include "os/kernel.h"
#include "os/unique_fd.h"

namespace lapwing {

struct LingeringSocket {
  UniqueFd fd;     // closing it blocks until `other` is closed, or for a long time
  UniqueFd other;  // reads nothing
};

inline LingeringSocket make_lingering_socket() {
  constexpr int kLingerSeconds = 600;
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(listener.get(), name, size) == 0);
  REQUIRE(listen(listener.get(), 1) == 0);
  REQUIRE(getsockname(listener.get(), name, &size) == 0);
  LingeringSocket made;
  made.fd = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(made.fd.get(), name, size) == 0);
  made.other = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(made.other.valid());
  const std::array<char, 65536> bytes{};
  while (send(made.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  const linger lingers{1, kLingerSeconds};
  REQUIRE(setsockopt(made.fd.get(), SOL_SOCKET, SO_LINGER, &lingers, sizeof lingers) == 0);
  return made;
}

// True if all descriptors that are closed asynchronously are closed within a minute.
inline bool end_closing_apart() {
  constexpr int kTurns = 60'000;
  for (int i = 0; i < kTurns && closing_apart() > 0; ++i) wait_readable(-1, 1'000'000);
  return closing_apart() == 0;
}

}  // namespace lapwing
