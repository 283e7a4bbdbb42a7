#include "os/local_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <thread>

#include "lapwing/error.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr SocketKind kTestSocket{.name = "test socket",
                                 .listener = "listener",
                                 .place = "place",
                                 .listener_gone = Errc::kPeerGone};
constexpr char kName[] = "test.sock";

std::string path_in(const TemporaryDirectory& directory) {
  return directory.path() + "/" + kName;
}

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
  auto listener = listen_local(path, 0600, std::nullopt, kTestSocket);
  REQUIRE(listener.ok());
  return *std::move(listener);
}

Errc listen_error(const std::string& path) {
  return errc_of(listen_local(path, 0600, std::nullopt, kTestSocket).status());
}

Errc connect_error(const std::string& path) {
  return errc_of(connect_local(path, far_deadline(), kTestSocket).status());
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
  const std::string path = path_in(directory);
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
  REQUIRE(symlink("real.sock", path_in(directory).c_str()) == 0);
  CHECK(listen_error(path_in(directory)) == Errc::kNotALapwingFile);
  CHECK(connect_error(path_in(directory)) == Errc::kNotALapwingFile);
}

TEST_CASE("A live socket of another kind is not taken for a stale one") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
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

TEST_CASE("A live socket means that the path is taken, also with a full backlog") {
  const TemporaryDirectory directory;
  const UniqueFd listener = must_listen(path_in(directory));
  const ino_t inode = looked_at(path_in(directory)).st_ino;
  CHECK(listen_error(path_in(directory)) == Errc::kInUse);
  REQUIRE(listen(listener.get(), 0) == 0);  // one more fits
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 3; ++i) {
    auto client = connect_local(path_in(directory), 0, kTestSocket);
    if (client.ok()) waiting.push_back(*std::move(client));
  }
  REQUIRE(errc_of(connect_local(path_in(directory), 0, kTestSocket).status()) == Errc::kTimedOut);
  CHECK(listen_error(path_in(directory)) == Errc::kInUse);
  CHECK(looked_at(path_in(directory)).st_ino == inode);
}

TEST_CASE("A stale socket of our own is replaced") {
  const TemporaryDirectory directory;
  must_listen(path_in(directory));  // closed at once; the name remains
  CHECK(connect_error(path_in(directory)) == Errc::kPeerGone);
  const UniqueFd listener = must_listen(path_in(directory));
  CHECK(connect_error(path_in(directory)) == Errc::kOk);
}

TEST_CASE("Connecting where nothing is says so") {
  const TemporaryDirectory directory;
  CHECK(connect_error(path_in(directory)) == Errc::kNoBus);
  CHECK(connect_error(directory.path() + "/missing/" + kName) == Errc::kNoBus);
  CHECK(connect_error(directory.path() + "/" + std::string(120, 'x') + "/" + kName) ==
        Errc::kNoBus);
}

TEST_CASE("A directory longer than a socket's path works") {
  const TemporaryDirectory directory;
  const std::string deep =
      directory.path() + "/" + std::string(200, 'a') + "/" + std::string(200, 'b');
  REQUIRE(std::filesystem::create_directories(deep));
  const std::string path = deep + "/" + kName;
  {
    const UniqueFd listener = must_listen(path);
    CHECK(S_ISSOCK(looked_at(path).st_mode));
    CHECK((looked_at(path).st_mode & 0777) == 0600);
    CHECK(connect_error(path) == Errc::kOk);
    CHECK(listen_error(path) == Errc::kInUse);
  }
  CHECK(connect_error(path) == Errc::kPeerGone);
  const UniqueFd again = must_listen(path);
  CHECK(connect_error(path) == Errc::kOk);
}

TEST_CASE("A name that no socket can have is refused with the limit and the remedy") {
  const TemporaryDirectory directory;
  const std::string long_name = directory.path() + "/" + std::string(120, 'n');
  std::string long_path = directory.path();
  while (long_path.size() < 5000) long_path += "/" + std::string(200, 'p');
  for (const std::string& path : {long_name, long_path}) {
    const absl::Status listened = listen_local(path, 0600, std::nullopt, kTestSocket).status();
    CHECK(errc_of(listened) == Errc::kPathTooLong);
    CHECK(listened.message().find("at most 107") != absl::string_view::npos);
    CHECK(listened.message().find("shorter place") != absl::string_view::npos);
    CHECK(connect_error(path) == Errc::kPathTooLong);
  }
}

TEST_CASE("The socket has exactly the mode and group asked for, whatever the umask") {
  const TemporaryDirectory directory;
  const mode_t mask = GENERATE(as<mode_t>{}, 0, 022, 0777);
  const Umask masked(mask);
  const UniqueFd listener = must_listen(path_in(directory));
  CHECK((looked_at(path_in(directory)).st_mode & 07777) == 0600);
  const std::string shared_path = directory.path() + "/shared.sock";
  auto shared = listen_local(shared_path, 0660, getegid(), kTestSocket);
  REQUIRE(shared.ok());
  CHECK((looked_at(shared_path).st_mode & 07777) == 0660);
  CHECK(looked_at(shared_path).st_gid == getegid());
}

// Checks a path repeatedly while it is changed. A wrong state counts only if the next check finds
// the same state, because one check may see the mode at one moment and the group at another.
class Watcher {
 public:
  Watcher(const std::string& path, const std::function<bool(const struct stat&)>& is_wrong)
      : thread_([this, path, is_wrong] {
          while (!stop_) {
            struct stat found{};
            if (lstat(path.c_str(), &found) != 0) continue;
            ++seen_;
            if (is_wrong(found) && is_the_same(path, found)) ++seen_wrong_;
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
  static bool is_the_same(const std::string& path, const struct stat& found) {
    struct stat again{};
    return lstat(path.c_str(), &again) == 0 && again.st_ino == found.st_ino &&
           again.st_mode == found.st_mode && again.st_gid == found.st_gid;
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> seen_{0};
  std::atomic<int> seen_wrong_{0};
  std::thread thread_;
};

// Makes the socket repeatedly until the watcher has seen it often enough.
void listen_watched(const std::string& path, mode_t mode, std::optional<unsigned> group,
                    const Watcher& watcher) {
  const std::uint64_t deadline_ns = far_deadline();
  for (int i = 0; i < 5'000 || (watcher.seen() < 1'000 && monotonic_ns() < deadline_ns); ++i) {
    const auto listener = listen_local(path, mode, group, kTestSocket);
    unlink(path.c_str());
  }
  CHECK(watcher.seen() >= 1'000);
}

TEST_CASE("The socket never has a wider mode, not even while it is being made") {
  const TemporaryDirectory directory;
  const Umask open_to_all(0);
  const Watcher watcher(path_in(directory),
                        [](const struct stat& found) { return (found.st_mode & 0177) != 0; });
  listen_watched(path_in(directory), 0600, std::nullopt, watcher);
  CHECK(watcher.seen_wrong() == 0);
}

TEST_CASE("The socket is open to the group only once the group is the right one") {
  constexpr gid_t kGroup = 54399;
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  const Umask open_to_all(0);
  const Watcher watcher(path_in(directory), [](const struct stat& found) {
    return (found.st_mode & 0070) != 0 && found.st_gid != kGroup;
  });
  listen_watched(path_in(directory), 0660, kGroup, watcher);
  CHECK(watcher.seen_wrong() == 0);
}

TEST_CASE("A socket that cannot be given to the group leaves no name behind") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = path_in(directory);
  ChildProcess child([&path] {
    if (setgroups(0, nullptr) != 0 || setgid(54321) != 0 || setuid(54321) != 0) return 1;
    const auto listener = listen_local(path, 0660, 54322, kTestSocket);
    if (errc_of(listener.status()) != Errc::kNotPermitted) return 2;
    return access(path.c_str(), F_OK) == 0 ? 3 : 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("A stale socket of another user is refused and left") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  must_listen(path_in(directory));
  REQUIRE(chown(path_in(directory).c_str(), 54321, 54321) == 0);
  const ino_t inode = looked_at(path_in(directory)).st_ino;
  CHECK(listen_error(path_in(directory)) == Errc::kNotPermitted);
  CHECK(looked_at(path_in(directory)).st_ino == inode);
}

TEST_CASE("Credentials come with the packets of a kind that wants them, and of no other") {
  const TemporaryDirectory directory;
  SocketKind kind = kTestSocket;
  kind.passes_credentials = GENERATE(false, true);
  const auto listener = listen_local(path_in(directory), 0600, std::nullopt, kind);
  REQUIRE(listener.ok());
  const auto client = connect_local(path_in(directory), far_deadline(), kind);
  REQUIRE(client.ok());
  const UniqueFd accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(send(client->get(), "x", 1, MSG_NOSIGNAL) == 1);
  char byte;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  REQUIRE(recvmsg(accepted.get(), &message, 0) == 1);
  CHECK(((message.msg_flags & MSG_CTRUNC) != 0) == kind.passes_credentials);
}

TEST_CASE("Both ends do not block and are closed on exec") {
  const TemporaryDirectory directory;
  const UniqueFd listener = must_listen(path_in(directory));
  const auto client = connect_local(path_in(directory), far_deadline(), kTestSocket);
  REQUIRE(client.ok());
  for (const int fd : {listener.get(), client->get()}) {
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("Messages are in the words of the socket's kind") {
  const TemporaryDirectory directory;
  const std::string path = path_in(directory);
  const auto connect_message = [&path] {
    return std::string(connect_local(path, far_deadline(), kTestSocket).status().message());
  };
  CHECK(connect_message() ==
        "no listener runs at " + path + ": there is no test socket; start one there");
  {
    const UniqueFd listener = must_listen(path);
    CHECK(listen_local(path, 0600, std::nullopt, kTestSocket).status().message() ==
          "a process is listening on " + path + "; stop that listener or choose another place");
  }
  CHECK(connect_message() ==
        "no process listens on " + path +
            ": the listener has ended (start it again) or is about to listen (try again)");
}

}  // namespace
}  // namespace lapwing
