// A Unix stream socket with both sides busy.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/peers/cpp/byte_stream.h"
#include "bench/peers/cpp/scenarios.h"

namespace lapwing::peers {
namespace {

constexpr int kBufferBytes = 4 * 1024 * 1024;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) fail("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connected_socket(const Options& options) {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) fail_with_errno("cannot make a socket");
  const sockaddr_un address = address_of(options.path("peer.sock"));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  int connected = made;
  if (options.sends_first()) {
    await_file(options, "socket.ready");
    if (connect(made, generic, sizeof address) != 0) fail_with_errno("cannot connect");
  } else {
    if (bind(made, generic, sizeof address) != 0) fail_with_errno("cannot bind");
    if (listen(made, 1) != 0) fail_with_errno("cannot listen");
    announce(options, "socket.ready");
    connected = accept4(made, nullptr, nullptr, SOCK_CLOEXEC);
    if (connected < 0) fail_with_errno("cannot accept");
    close(made);
  }
  setsockopt(connected, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  if (fcntl(connected, F_SETFL, O_NONBLOCK) != 0) fail_with_errno("cannot set O_NONBLOCK");
  return connected;
}

class UnixSocket : public ByteStream {
 public:
  explicit UnixSocket(const Options& options) : UnixSocket(options, connected_socket(options)) {}

 private:
  UnixSocket(const Options& options, int socket) : ByteStream(options.words(), socket, socket) {}
};

}  // namespace
}  // namespace lapwing::peers

int main(int count, char** arguments) {
  return lapwing::peers::run_peer<lapwing::peers::UnixSocket>(count, arguments);
}
