// A peer can only read the other side's memory. Every way to do more is tried on the
// descriptor from the handshake, on that file reopened in every way, and on the owner's own
// descriptors if the kernel permits access.
//
// Out of scope are ptrace, /proc/PID/mem and process_vm_writev, against which seals do not protect.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "channel/descriptors.h"
#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"
#include "testing/child_process.h"
#include "testing/other_user.h"

namespace lapwing {
namespace {

constexpr std::size_t kMapBytes = 4096;
constexpr off_t kDataAt = kChannelHeaderBytes;

// Runs `use` on a mapping of the file. False if it cannot be mapped.
bool on_map(int fd, int protection, const std::function<bool(void*)>& use) {
  void* const map = mmap(nullptr, kMapBytes, protection, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return false;
  const bool gained = use(map);
  munmap(map, kMapBytes);
  return gained;
}

// Makes a separate file with content to copy from.
UniqueFd make_source() {
  UniqueFd fd(memfd_create("source", MFD_CLOEXEC));
  if (write(fd.get(), "attack", 6) != 6) _exit(3);
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// A way to write to the file, change its size or remove its pages. True if it worked.
struct Attack {
  const char* name;
  bool (*works)(int fd);
};
const Attack kAttacks[] = {
    {"a writable map",
     [](int fd) { return on_map(fd, PROT_READ | PROT_WRITE, [](void*) { return true; }); }},
    {"a read-only map made writable",
     [](int fd) {
       return on_map(fd, PROT_READ, [](void* map) {
         return mprotect(map, kMapBytes, PROT_READ | PROT_WRITE) == 0;
       });
     }},
    {"a map of nothing made writable",
     [](int fd) {
       return on_map(fd, PROT_NONE, [](void* map) {
         return mprotect(map, kMapBytes, PROT_READ | PROT_WRITE) == 0;
       });
     }},
    {"taking the pages of a map away",
     [](int fd) {
       return on_map(fd, PROT_READ,
                     [](void* map) { return madvise(map, kMapBytes, MADV_REMOVE) == 0; });
     }},
    {"write", [](int fd) { return write(fd, "x", 1) == 1; }},
    {"pwrite", [](int fd) { return pwrite(fd, "x", 1, kDataAt) == 1; }},
    {"copy_file_range",
     [](int fd) {
       const UniqueFd source = make_source();
       off_t from = 0;
       off_t to = kDataAt;
       return copy_file_range(source.get(), &from, fd, &to, 6, 0) == 6;
     }},
    {"splice",
     [](int fd) {
       int ends[2];
       if (pipe(ends) != 0) return false;
       const bool spliced = write(ends[1], "x", 1) == 1 &&
                            splice(ends[0], nullptr, fd, nullptr, 1, SPLICE_F_NONBLOCK) == 1;
       close(ends[0]);
       close(ends[1]);
       return spliced;
     }},
    {"truncating it", [](int fd) { return ftruncate(fd, 100) == 0; }},
    {"growing it", [](int fd) { return ftruncate(fd, 1 << 20) == 0; }},
    {"allocating behind it", [](int fd) { return fallocate(fd, 0, 0, 1 << 20) == 0; }},
    {"punching a hole",
     [](int fd) {
       return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMapBytes) == 0;
     }},
    {"another seal", [](int fd) { return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0; }},
};

// An attacker's results.
struct Findings {
  std::atomic<bool> owner_ready{false};
  std::atomic<bool> done{false};
  pid_t owner = 0;
  std::uint64_t descriptors = 0;  // on which everything was tried
  std::uint64_t of_owner = 0;     // of these, reached through the owner's process
  Complaint complaint{};
};

// Tries everything on one descriptor. Returns 0 if nothing worked.
int attack(int fd, const std::string& how, Findings& findings) {
  ++findings.descriptors;
  for (const Attack& attack : kAttacks) {
    if (attack.works(fd)) return findings.complaint.say(std::string(attack.name) + " on " + how);
  }
  return 0;
}

// Tries everything on the reopened file, with and without write access.
int attack_opened(const std::string& name, Findings& findings, std::uint64_t& opened) {
  for (const int flags : {O_RDWR, O_RDONLY, O_WRONLY, O_RDWR | O_TRUNC}) {
    const UniqueFd fd(open(name.c_str(), flags | O_CLOEXEC));
    if (!fd.valid()) continue;
    ++opened;
    if (const int code = attack(fd.get(), name, findings); code != 0) return code;
  }
  return 0;
}

bool is_channel_memory(const std::filesystem::path& link) {
  std::error_code unreadable;
  const std::string target = std::filesystem::read_symlink(link, unreadable).string();
  return target.find(kChannelFileName) != std::string::npos;
}

// Tries everything on each descriptor of the file that the kernel shows for the owner's process.
int attack_owner(Findings& findings) {
  const std::string process = "/proc/" + std::to_string(findings.owner);
  for (const char* folder : {"/fd", "/map_files"}) {
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(process + folder, unreadable)) {
      if (!is_channel_memory(entry.path())) continue;
      const int code = attack_opened(entry.path().string(), findings, findings.of_owner);
      if (code != 0) return code;
    }
  }
  const UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, findings.owner, 0)));
  for (int number = 0; number < 64; ++number) {
    const UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, handle.get(), number, 0)));
    if (!fd.valid() || !is_channel_memory("/proc/self/fd/" + std::to_string(fd.get()))) continue;
    ++findings.of_owner;
    if (const int code = attack(fd.get(), "the owner's descriptor", findings); code != 0) {
      return code;
    }
  }
  return 0;
}

std::string content_of(int fd) {
  std::string content(kChannelHeaderBytes + 1024, '\0');
  const ssize_t got = pread(fd, content.data(), content.size(), 0);
  content.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return content;
}

// Performs the handshake manually, so that the attacker keeps the owner's descriptor.
UniqueFd receive_memory(const std::string& path, UniqueFd& connection) {
  ChannelHeader header{};
  header.role = ChannelRole::kConsumer;
  header.connection_id = *random_id();
  const auto own = OwnMemory::create(header, false, {});
  connection = *connect_local(path, soon().monotonic_ns(), kChannelSocket);
  auto hello = make_frame<ChannelHelloFrame>(FrameType::kChannelHello);
  hello.abi_version = kChannelAbiVersion;
  hello.role = header.role;
  hello.connection_id = header.connection_id;
  const int descriptor = own->fd();
  send_with_descriptors(connection.get(), std::as_bytes(std::span(&hello, 1)),
                        std::span(&descriptor, 1));
  wait_readable(connection.get(), kChannelTestNs);
  Packet packet;
  std::vector<UniqueFd> received;
  receive_with_descriptors(connection.get(), packet, received);
  return received.size() == 1 ? std::move(received.front()) : UniqueFd();
}

// Becomes the user, and permits access by processes of the same user, as is normal outside a test.
bool become(uid_t user) {
  if (geteuid() != user &&
      (setgroups(0, nullptr) != 0 || setgid(kTestGroup) != 0 || setuid(user) != 0)) {
    return false;
  }
  return prctl(PR_SET_DUMPABLE, 1) == 0;
}

int own(const std::string& path, uid_t owner, uid_t attacker, Findings& findings) {
  if (!become(owner)) return 2;
  findings.owner = getpid();
  auto listener = ChannelListener::listen(path, attacker);
  if (!listener.ok()) return findings.complaint.say(std::string(listener.status().message()));
  findings.owner_ready.store(true);
  auto producer =
      ChannelProducer::accept(*listener, {.capacity = 1024, .message_bytes_max = 100}, soon());
  if (!producer.ok()) return findings.complaint.say(std::string(producer.status().message()));
  const Result<> sent = producer->send(bytes_of("precious"), 1);
  while (!findings.done.load()) wait_readable(-1, 1'000'000);
  return sent.ok() ? 0 : 1;
}

int attack_as(const std::string& path, uid_t user, Findings& findings) {
  if (!become(user)) return 2;
  while (!findings.owner_ready.load()) wait_readable(-1, 1'000'000);
  UniqueFd connection;
  const UniqueFd memory = receive_memory(path, connection);
  if (!memory.valid()) return findings.complaint.say("no descriptor came");
  while (content_of(memory.get()).find("precious") == std::string::npos) {
    wait_readable(-1, 1'000'000);
  }
  const std::string before = content_of(memory.get());
  if (const int code = attack(memory.get(), "the descriptor", findings); code != 0) return code;
  fchmod(memory.get(), 0666);  // its owner may do this, but it gives no access
  std::uint64_t opened = 0;
  const std::string name = "/proc/self/fd/" + std::to_string(memory.get());
  if (const int code = attack_opened(name, findings, opened); code != 0) return code;
  if (const int code = attack_owner(findings); code != 0) return code;
  if (content_of(memory.get()) != before) return findings.complaint.say("the content changed");
  findings.done.store(true);
  return 0;
}

void check(uid_t owner, uid_t attacker) {
  INFO("user " << attacker << " attacks the memory of user " << owner);
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = directory.file("channel.sock");
  const Shared<Findings> findings;
  ChildProcess owning([&] { return own(path, owner, attacker, *findings); });
  ChildProcess attacking([&] { return attack_as(path, attacker, *findings); });
  const int attacked = attacking.wait();
  findings->done.store(true);
  const int owned = owning.wait();
  INFO(findings->complaint.text);
  CHECK(attacked == 0);
  CHECK(owned == 0);
  std::printf("user %u against user %u: %llu descriptors, %llu of them through its process\n",
              attacker, owner, static_cast<unsigned long long>(findings->descriptors),
              static_cast<unsigned long long>(findings->of_owner));
  const bool reaches_owner = attacker == 0 || attacker == owner;
  CHECK(findings->descriptors >= 1);
  CHECK((findings->of_owner > 0) == reaches_owner);
}

}  // namespace

TEST_CASE("The attacks on a peer's memory work on memory that is not sealed") {
  for (const Attack& attack : kAttacks) {
    INFO(attack.name);
    const UniqueFd fd(memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(ftruncate(fd.get(), kChannelHeaderBytes + 1024) == 0);
    CHECK(attack.works(fd.get()));
  }
}

TEST_CASE("The other side's memory cannot be written by its own user, another user or root") {
  check(geteuid(), geteuid());
  if (geteuid() != 0) LAPWING_SKIP("it takes root to become other users");
  check(kTestUser, 0);
  check(kTestUser, kTestUser);
  check(kTestUser, kOtherTestUser);
  check(0, kTestUser);
}

}  // namespace lapwing
