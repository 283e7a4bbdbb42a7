// For tests: a nats-server on 127.0.0.1, with a free port and temporary storage. It ends with the
// test.
//
// Set LAPWING_NATS_SERVER to the program; the default is nats-server in PATH or /usr/sbin.
//
// Thread safety: one thread.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "os/unique_fd.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/is_readable.h"
#include "testing/temporary_directory.h"

namespace lapwing {

class NatsServer {
 public:
  // Empty if there is none.
  static std::string program() {
    if (const char* const named = std::getenv("LAPWING_NATS_SERVER")) return named;
    const char* const path = std::getenv("PATH");
    std::stringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string candidate = folder + "/nats-server";
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return {};
  }

  // `configuration` is added to that of the port. $STORE in it is the storage.
  explicit NatsServer(std::string configuration = "jetstream { store_dir: $STORE }")
      : configuration_(std::move(configuration)) {
    start();
  }

  // Starts it again after stop() or kill(), with the same port and storage.
  void start() {
    write_configuration();
    const std::string program_path = program();
    const std::string log_path = directory_.file("log");
    const std::string configuration_path = directory_.file("server.conf");
    child_ = ChildProcess([&] {
      const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::execl(program_path.c_str(), "nats-server", "-c", configuration_path.c_str(), nullptr);
      return EXIT_FAILURE;
    });
    wait_until_ready();
  }
  void send(int signal) const { child_.send(signal); }
  // The server closes its files.
  void stop() {
    child_.send(SIGINT);
    child_.wait();
  }
  void kill() {
    child_.send(SIGKILL);
    child_.wait();
  }
  // The server is stopped on return.
  void pause() const { child_.stop(); }

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "nats://" + address(); }
  std::string store() const { return directory_.file("store"); }
  std::string log() const {
    std::ifstream file(directory_.file("log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  void write_configuration() const {
    std::ofstream file(directory_.file("server.conf"));
    file << "listen: \"127.0.0.1:" << (port_ == 0 ? -1 : port_) << "\"\n"
         << "ports_file_dir: \"" << directory_.path() << "\"\n";
    // A variable that is not used is an error.
    if (configuration_.find("$STORE") != std::string::npos) {
      file << "STORE: \"" << store() << "\"\n";
    }
    file << configuration_ << "\n";
  }
  // The server writes a file with its ports once it listens.
  void wait_until_ready() {
    const std::string path =
        directory_.file("nats-server_" + std::to_string(child_.pid()) + ".ports");
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child_.pid(), 0)));
    const Deadline hang = kHang;
    for (;;) {
      // {"nats":["nats://127.0.0.1:4222"],…}, or tls://
      std::ifstream file(path);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      const std::string host = "://127.0.0.1:";
      const std::size_t found = text.find(host, text.find("\"nats\":"));
      if (found != std::string::npos && text.find('}') != std::string::npos) {
        port_ = std::atoi(text.c_str() + found + host.size());
        return;
      }
      INFO("the server's log: " << log());
      REQUIRE_FALSE(is_readable(process.get(), 5));  // it has ended
      REQUIRE_FALSE(hang.has_passed());
    }
  }

  TemporaryDirectory directory_;
  std::string configuration_;
  int port_ = 0;
  ChildProcess child_;
};

}  // namespace lapwing
