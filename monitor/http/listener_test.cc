#include "monitor/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A client that comes by IPv4 to an IPv6 socket has come to an IPv4 address") {
  const UniqueFd listening(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(listening.get() >= 0);
  const int v6_only = 0;
  REQUIRE(setsockopt(listening.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only) == 0);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  REQUIRE(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr) == 1);
  REQUIRE(bind(listening.get(), reinterpret_cast<const sockaddr*>(&mapped), sizeof mapped) == 0);
  REQUIRE(listen(listening.get(), 1) == 0);
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(port_of(listening.get()));
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(client.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) ==
          0);
  const UniqueFd accepted(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(local_address_of(accepted.get()) == "127.0.0.1");
}

}  // namespace
}  // namespace lapwing
