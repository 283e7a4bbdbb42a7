#include "bus/control_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "bus/test_control.h"

namespace lapwing {
namespace {

struct stat looked_at(const std::string& path) {
  struct stat found{};
  REQUIRE(lstat(path.c_str(), &found) == 0);
  return found;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

UniqueFd must_listen(const std::string& path) {
  auto listener = listen_control(path, 0600, std::nullopt);
  REQUIRE(listener.ok());
  return *std::move(listener);
}

Errc listen_error(const std::string& path) {
  return errc_of(listen_control(path, 0600, std::nullopt).status());
}

Errc connect_error(const std::string& path) {
  return errc_of(connect_control(path, far_deadline()).status());
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { umask(before_); }

 private:
  mode_t before_;
};

TEST_CASE("A file, a link, a directory and a foreign socket are refused and left untouched") {
  const TemporaryDirectory directory;
  const std::string path = socket_in(directory.path());
  const std::string target = directory.path() + "/precious";
  std::ofstream(target) << "precious";

  SECTION("a file") {
    REQUIRE(std::filesystem::copy_file(target, path));
  }
  SECTION("a link to a file") {
    REQUIRE(symlink(target.c_str(), path.c_str()) == 0);
  }
  SECTION("a link to nothing") {
    REQUIRE(symlink("/nonexistent/x", path.c_str()) == 0);
  }
  SECTION("a directory") {
    REQUIRE(mkdir(path.c_str(), 0700) == 0);
  }
  SECTION("a fifo") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  }

  const struct stat before = looked_at(path);
  CHECK(listen_error(path) == Errc::kNotALapwingFile);
  CHECK(connect_error(path) == Errc::kNotALapwingFile);
  const struct stat after = looked_at(path);
  CHECK(after.st_ino == before.st_ino);
  CHECK(after.st_mode == before.st_mode);
  CHECK(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  CHECK(content_of(target) == "precious");
  if (S_ISREG(before.st_mode)) CHECK(content_of(path) == "precious");
}

TEST_CASE("A link to a live socket is refused on both sides") {
  const TemporaryDirectory directory;
  const UniqueFd listener = must_listen(directory.path() + "/real.sock");
  REQUIRE(symlink("real.sock", socket_in(directory.path()).c_str()) == 0);
  CHECK(listen_error(socket_in(directory.path())) == Errc::kNotALapwingFile);
  CHECK(connect_error(socket_in(directory.path())) == Errc::kNotALapwingFile);
}

TEST_CASE("A live socket of another kind is not taken for a stale one") {
  const TemporaryDirectory directory;
  const std::string path = socket_in(directory.path());
  const UniqueFd stream(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(bind(stream.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(stream.get(), 1) == 0);
  const ino_t inode = looked_at(path).st_ino;
  CHECK(listen_error(path) == Errc::kNotALapwingFile);
  CHECK(connect_error(path) == Errc::kNotALapwingFile);
  CHECK(looked_at(path).st_ino == inode);
}

TEST_CASE("A live control socket means the bus is taken, also with a full backlog") {
  const TemporaryDirectory directory;
  const UniqueFd listener = must_listen(socket_in(directory.path()));
  const ino_t inode = looked_at(socket_in(directory.path())).st_ino;
  CHECK(listen_error(socket_in(directory.path())) == Errc::kBusTaken);
  REQUIRE(listen(listener.get(), 0) == 0);  // one more fits
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 3; ++i) {
    auto client = connect_control(socket_in(directory.path()), 0);
    if (client.ok()) waiting.push_back(*std::move(client));
  }
  REQUIRE(errc_of(connect_control(socket_in(directory.path()), 0).status()) == Errc::kTimedOut);
  CHECK(listen_error(socket_in(directory.path())) == Errc::kBusTaken);
  CHECK(looked_at(socket_in(directory.path())).st_ino == inode);
}

TEST_CASE("A stale socket of our own is replaced") {
  const TemporaryDirectory directory;
  must_listen(socket_in(directory.path()));  // closed at once; the name stays
  CHECK(connect_error(socket_in(directory.path())) == Errc::kPublisherGone);
  const UniqueFd listener = must_listen(socket_in(directory.path()));
  CHECK(connect_error(socket_in(directory.path())) == Errc::kOk);
}

TEST_CASE("Connecting where nothing is says that there is no bus") {
  const TemporaryDirectory directory;
  CHECK(connect_error(socket_in(directory.path())) == Errc::kNoBus);
  CHECK(connect_error(directory.path() + "/missing/" + kControlSocketName) == Errc::kNoBus);
  CHECK(connect_error(directory.path() + "/" + std::string(120, 'x') + "/" + kControlSocketName) ==
        Errc::kNoBus);
}

TEST_CASE("A bus directory longer than a socket's path works") {
  const TemporaryDirectory directory;
  const std::string deep =
      directory.path() + "/" + std::string(200, 'a') + "/" + std::string(200, 'b');
  REQUIRE(std::filesystem::create_directories(deep));
  const std::string path = deep + "/" + kControlSocketName;
  {
    const UniqueFd listener = must_listen(path);
    CHECK(S_ISSOCK(looked_at(path).st_mode));
    CHECK((looked_at(path).st_mode & 0777) == 0600);
    CHECK(connect_error(path) == Errc::kOk);
    CHECK(listen_error(path) == Errc::kBusTaken);
  }
  CHECK(connect_error(path) == Errc::kPublisherGone);
  const UniqueFd again = must_listen(path);
  CHECK(connect_error(path) == Errc::kOk);
}

TEST_CASE("A name that no socket can have is refused with the limit and the remedy") {
  const TemporaryDirectory directory;
  const std::string long_name = directory.path() + "/" + std::string(120, 'n');
  std::string long_path = directory.path();
  while (long_path.size() < 5000) long_path += "/" + std::string(200, 'p');
  for (const std::string& path : {long_name, long_path}) {
    const absl::Status listened = listen_control(path, 0600, std::nullopt).status();
    CHECK(errc_of(listened) == Errc::kPathTooLong);
    CHECK(listened.message().find("at most 107") != absl::string_view::npos);
    CHECK(listened.message().find("shorter bus directory") != absl::string_view::npos);
    CHECK(connect_error(path) == Errc::kPathTooLong);
  }
}

TEST_CASE("The socket has exactly the mode and group asked for, whatever the umask") {
  const TemporaryDirectory directory;
  const mode_t mask = GENERATE(as<mode_t>{}, 0, 022, 0777);
  const Umask masked(mask);
  const UniqueFd listener = must_listen(socket_in(directory.path()));
  CHECK((looked_at(socket_in(directory.path())).st_mode & 07777) == 0600);
  const std::string shared_path = directory.path() + "/shared.sock";
  auto shared = listen_control(shared_path, 0660, getegid());
  REQUIRE(shared.ok());
  CHECK((looked_at(shared_path).st_mode & 07777) == 0660);
  CHECK(looked_at(shared_path).st_gid == getegid());
}

// Looks at a path again and again while something else changes it.
class Watcher {
 public:
  Watcher(const std::string& path, const std::function<bool(const struct stat&)>& is_wrong)
      : thread_([this, path, is_wrong] {
          while (!stop_) {
            struct stat found{};
            if (lstat(path.c_str(), &found) != 0) continue;
            ++seen_;
            if (is_wrong(found)) ++seen_wrong_;
          }
        }) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    stop_ = true;
    thread_.join();
  }
  int seen() const { return seen_; }
  int seen_wrong() const { return seen_wrong_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> seen_{0};
  std::atomic<int> seen_wrong_{0};
  std::thread thread_;
};

// Makes the socket over and over until the watcher has seen it often enough.
void listen_watched(const std::string& path, mode_t mode, std::optional<unsigned> group,
                    const Watcher& watcher) {
  for (int i = 0; i < 200'000 && (i < 5'000 || watcher.seen() < 1'000); ++i) {
    const auto listener = listen_control(path, mode, group);
    unlink(path.c_str());
  }
  CHECK(watcher.seen() >= 1'000);
}

TEST_CASE("The socket never has a wider mode, not even while it is being made") {
  const TemporaryDirectory directory;
  const Umask open_to_all(0);
  const Watcher watcher(socket_in(directory.path()),
                        [](const struct stat& found) { return (found.st_mode & 0177) != 0; });
  listen_watched(socket_in(directory.path()), 0600, std::nullopt, watcher);
  CHECK(watcher.seen_wrong() == 0);
}

TEST_CASE("The socket is open to the group only once the group is the right one") {
  constexpr gid_t kGroup = 54399;
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  const Umask open_to_all(0);
  const Watcher watcher(socket_in(directory.path()), [](const struct stat& found) {
    return (found.st_mode & 0070) != 0 && found.st_gid != kGroup;
  });
  listen_watched(socket_in(directory.path()), 0660, kGroup, watcher);
  CHECK(watcher.seen_wrong() == 0);
}

TEST_CASE("A socket that cannot be given to the group leaves no name behind") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = socket_in(directory.path());
  const int result = run_in_child([&path] {
    if (setgroups(0, nullptr) != 0 || setgid(54321) != 0 || setuid(54321) != 0) return 1;
    const auto listener = listen_control(path, 0660, 54322);
    if (errc_of(listener.status()) != Errc::kNotPermitted) return 2;
    return access(path.c_str(), F_OK) == 0 ? 3 : 0;
  });
  CHECK(result == 0);
}

TEST_CASE("A stale socket of another user is refused and left") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  must_listen(socket_in(directory.path()));
  REQUIRE(chown(socket_in(directory.path()).c_str(), 54321, 54321) == 0);
  const ino_t inode = looked_at(socket_in(directory.path())).st_ino;
  CHECK(listen_error(socket_in(directory.path())) == Errc::kNotPermitted);
  CHECK(looked_at(socket_in(directory.path())).st_ino == inode);
}

TEST_CASE("A listener that is neither the directory's owner nor root gets no Hello") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  const std::string path = socket_in(directory.path());
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const uid_t owner = GENERATE(as<uid_t>{}, 54321, 54322);
  REQUIRE(chown(directory.path().c_str(), owner, owner) == 0);
  int made[2];
  int done[2];
  REQUIRE(pipe(made) == 0);
  REQUIRE(pipe(done) == 0);
  Errc connected = Errc::kOk;
  bool asked = false;
  const int result = run_in_child(
      [&] {
        close(done[1]);
        if (setgid(54321) != 0 || setuid(54321) != 0) return 1;
        const auto listener = listen_control(path, 0600, std::nullopt);
        if (!listener.ok() || write(made[1], "x", 1) != 1) return 2;
        char byte;
        return read(done[0], &byte, 1) == 0 ? 0 : 3;
      },
      [&] {
        char byte;
        if (asked || read(made[0], &byte, 1) != 1) return;
        asked = true;
        connected = connect_error(path);
        close(done[1]);
      });
  CHECK(result == 0);
  CHECK(asked);
  CHECK(connected == (owner == 54321 ? Errc::kOk : Errc::kNotPermitted));
  close(made[0]);
  close(made[1]);
  close(done[0]);
}

struct SocketPair {
  SocketPair() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    left.reset(fds[0]);
    right.reset(fds[1]);
  }
  UniqueFd left;
  UniqueFd right;
};

TEST_CASE("Exactly the frames with the right magic, version, type and length are taken") {
  for (std::uint16_t type = 0; type < 16; ++type) {
    const FrameType frame_type = static_cast<FrameType>(type);
    for (std::size_t size = 1; size <= kFrameBytesMax; ++size) {
      Packet packet{};
      packet.size = size;
      const FrameHeader header{kFrameMagic, kFrameVersion, frame_type,
                               static_cast<std::uint32_t>(size), 0};
      std::memcpy(packet.bytes, &header, sizeof header);
      const bool right = size == frame_bytes(frame_type);
      if (check_frame(packet).ok() != right) FAIL("type " << type << ", size " << size);
    }
  }
  Packet packet{};
  packet.size = sizeof(FlushFrame);
  FrameHeader header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.magic ^= 1;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
  header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.version = kFrameVersion + 1;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
  header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.length += 8;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
}

TEST_CASE("An empty packet is a violation, a closed peer is not") {
  SocketPair pair;
  Packet packet;
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kWouldBlock);
  REQUIRE(send(pair.left.get(), "", 0, 0) == 0);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kViolation);
  REQUIRE(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kSent);
  pair.left.reset();
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kFrame);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kClosed);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kClosed);
}

TEST_CASE("A packet larger than any frame is a violation, also if it starts like one") {
  SocketPair pair;
  std::vector<std::byte> large(kFrameBytesMax + 1);
  const WelcomeFrame welcome = make_frame<WelcomeFrame>(FrameType::kWelcome);
  std::memcpy(large.data(), &welcome, sizeof welcome);
  REQUIRE(send(pair.left.get(), large.data(), large.size(), 0) > 0);
  Packet packet;
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kViolation);
}

TEST_CASE("What a peer sent before it reset the connection is still received") {
  SocketPair pair;
  REQUIRE(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kSent);
  REQUIRE(send_frame(pair.right.get(), flush_frame(3, 4)) == SendOutcome::kSent);
  pair.right.reset();  // without having read the first: the left end sees a reset
  Packet packet;
  REQUIRE(receive_frame(pair.left.get(), packet) == ReceiveOutcome::kFrame);
  CHECK(packet.as<FlushFrame>().tag == 3);
  CHECK(receive_frame(pair.left.get(), packet) == ReceiveOutcome::kClosed);
}

TEST_CASE("A send to a full socket would block, to a closed one is refused without a signal") {
  SocketPair pair;
  SendOutcome outcome = SendOutcome::kSent;
  int sent = 0;
  for (; outcome == SendOutcome::kSent && sent < 1'000'000; ++sent) {
    outcome = send_frame(pair.left.get(), flush_frame(1, 2));
  }
  CHECK(outcome == SendOutcome::kWouldBlock);
  pair.right.reset();
  CHECK(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kClosed);
}

TEST_CASE("Text from the other side holds no control characters") {
  CHECK(printable("es-sub 1~") == "es-sub 1~");
  CHECK(printable("a\x1b[2J\r\n\t\x7f\xc2\x9b") == "a?[2J??????");
}

}  // namespace
}  // namespace lapwing
