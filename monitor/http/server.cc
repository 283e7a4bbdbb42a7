#include "monitor/http/server.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "monitor/http/connection.h"
#include "monitor/http/listener.h"
#include "monitor/http/sampler.h"
#include "monitor/http/service.h"
#include "monitor/http/views.h"
#include "os/start_thread.h"
#include "os/system_error.h"
#include "os/unique_fd.h"

namespace lapwing {
namespace {

using http_detail::ErrorCode;
namespace asio = boost::asio;

// Bytes that the kernel may buffer for a client that does not read. The kernel doubles the number.
constexpr int kSendBufferBytes = 32 * 1024;
constexpr std::chrono::milliseconds kAcceptPause{500};
constexpr int kAcceptsAtOnce = 64;
constexpr std::size_t kPemBytesMax = 1 << 20;

// The error after which a service manager must not restart the server: it would fail again.
absl::Status unusable(absl::string_view why) {
  return make_error(Errc::kInvalidArgument, std::string(why));
}

// The key's group may read it: on Debian, keys belong to the group ssl-cert.
absl::Status check_key_mode(const std::string& path, const struct stat& info) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return unusable(absl::StrCat("the key ", path, " belongs to user ", info.st_uid,
                                 ". It must belong to the user of this process or to root."));
  }
  if ((info.st_mode & (S_IWGRP | S_IROTH | S_IWOTH)) != 0) {
    return unusable(absl::StrCat("the key ", path,
                                 " is accessible to other users. Run `chmod g-w,o-rwx ", path,
                                 "`, and create a new key if someone may have read it."));
  }
  return absl::OkStatus();
}

// `what` names the file in messages: "the key key.pem".
absl::StatusOr<std::string> read_pem(const std::string& path, const std::string& what,
                                     bool is_key) {
  const UniqueFd file =
      UniqueFd::opened_by([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  struct stat info{};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) {
    return unusable(make_system_error(errno, what).message());
  }
  if (!S_ISREG(info.st_mode)) return unusable(absl::StrCat(what, " is not a regular file"));
  if (is_key) {
    if (absl::Status safe = check_key_mode(path, info); !safe.ok()) return safe;
  }
  std::string text(kPemBytesMax + 1, '\0');
  const ssize_t bytes = ::pread(file.get(), text.data(), text.size(), 0);
  if (bytes < 0) return unusable(make_system_error(errno, what).message());
  text.resize(static_cast<std::size_t>(bytes));
  if (text.size() > kPemBytesMax) {
    return unusable(absl::StrCat(what, " has more than ", kPemBytesMax, " bytes"));
  }
  return text;
}

// OpenSSL's reason for not accepting a file. asio returns only a number without a text.
std::string openssl_reason(const ErrorCode& error) {
  const unsigned long last = ERR_peek_last_error();
  const char* const reason =
      ERR_reason_error_string(last != 0 ? last : static_cast<unsigned long>(error.value()));
  return reason != nullptr ? reason : error.message();
}

absl::StatusOr<asio::ssl::context> tls_context(const HttpServerOptions& options) {
  const std::string certificate_file = absl::StrCat("the certificate ", options.tls_certificate);
  const std::string key_file = absl::StrCat("the key ", options.tls_key);
  const absl::StatusOr<std::string> certificate =
      read_pem(options.tls_certificate, certificate_file, /*is_key=*/false);
  if (!certificate.ok()) return certificate.status();
  const absl::StatusOr<std::string> key = read_pem(options.tls_key, key_file, /*is_key=*/true);
  if (!key.ok()) return key.status();
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
  // Without this, OpenSSL prompts for the passphrase at the terminal.
  context.set_password_callback(
      [](std::size_t, asio::ssl::context::password_purpose) { return std::string(); });
  ErrorCode error;
  context.use_certificate_chain(asio::buffer(*certificate), error);
  if (error) {
    return unusable(absl::StrCat(certificate_file, ": ", openssl_reason(error),
                                 ". Give a certificate chain in PEM."));
  }
  context.use_private_key(asio::buffer(*key), asio::ssl::context::pem, error);
  if (error) {
    return unusable(absl::StrCat(key_file, ": ", openssl_reason(error),
                                 ". Give a private key in PEM, without a passphrase, that fits the "
                                 "certificate."));
  }
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return unusable(
        absl::StrCat("the key ", options.tls_key, " does not match ", certificate_file));
  }
  return context;
}

}  // namespace

class HttpServer::State {
 public:
  State(HttpServerOptions options, HttpListener listener, std::optional<asio::ssl::context> tls)
      : options_(std::move(options)),
        port_(port_of(listener.fd.get())),
        views_({.version = options_.metrics.version, .revision = options_.metrics.revision},
               [this](std::function<void()> run) { asio::post(context_, std::move(run)); }),
        service_(options_.gate, views_, histories_, options_.metrics, options_.interval_ns),
        tls_(std::move(tls)),
        name_(std::move(listener.name)),
        listener_(context_, listener.fd.release()),
        pause_(context_),
        tick_(context_) {}

  ~State() {
    if (name_) name_->unlink().IgnoreError();  // first, because the rest may wait for a file system
    sampler_.reset();
    if (thread_.joinable()) {
      asio::post(context_, [this] { context_.stop(); });
      thread_.join();
    }
    views_.close();
  }

  absl::Status start() {
    accept();
    if (options_.tick) tick();
    const absl::Status started = start_thread(thread_, "lapwing-http", [this] {
      const auto work = asio::make_work_guard(context_);
      context_.run();
    });
    if (!started.ok()) return started;
    absl::StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::start(
        {.machine = options_.machine,
         .interval_ns = options_.interval_ns,
         .metrics = options_.metrics},
        histories_, [this](std::shared_ptr<const Snapshot> snapshot) {
          asio::post(context_,
                     [this, snapshot = std::move(snapshot)] { service_.set_snapshot(snapshot); });
        });
    if (!sampler.ok()) return sampler.status();
    sampler_ = *std::move(sampler);
    return absl::OkStatus();
  }

  std::uint16_t port() const { return port_; }

  // Open connections keep the old certificate.
  absl::Status reload_tls() {
    if (options_.tls_certificate.empty()) {
      return make_error(Errc::kUnsupported,
                        "there is no certificate to reload: this server was started without "
                        "--tls-cert and --tls-key");
    }
    absl::StatusOr<asio::ssl::context> context = tls_context(options_);
    if (!context.ok()) return context.status();
    asio::post(context_, [this, tls = std::make_shared<asio::ssl::context>(*std::move(context))] {
      tls_ = std::move(*tls);
    });
    return absl::OkStatus();
  }

 private:
  // Called by start() before the thread exists, then on that thread.
  void tick() {
    options_.tick();
    tick_.expires_after(std::chrono::nanoseconds(options_.tick_ns));
    tick_.async_wait([this](ErrorCode stopped) {
      if (!stopped) tick();
    });
  }

  void accept() {
    listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](ErrorCode error) {
      if (error) return;
      if (accept_some()) return accept();
      // No descriptor or memory is left for the next connection, which waits in the backlog.
      service_.counts().reject("out_of_descriptors");
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](ErrorCode stopped) {
        if (!stopped) accept();
      });
    });
  }

  // Returns false if the process is at a limit.
  bool accept_some() {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int fd =
          accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        serve(fd);
        continue;
      }
      switch (errno) {
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
          return false;
        case EAGAIN:
          return true;
        default:
          break;  // the client has already closed the connection
      }
    }
    return true;
  }

  void serve(int fd) {
    const std::uint64_t connections = service_.counts().connections;
    if (connections >= kConnectionsMax + kRefusalsMax) {
      service_.counts().reject("connections");
      close(fd);
      return;
    }
    bool is_refused = connections >= kConnectionsMax;
    if (is_refused && unproven_.close_oldest()) {
      service_.counts().reject("no_token_yet");
      is_refused = false;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
    std::string local_address = local_address_of(fd);
    const int family = options_.listen.is_local()                     ? AF_UNIX
                       : local_address.find(':') != std::string::npos ? AF_INET6
                                                                      : AF_INET;
    http_detail::Socket socket(context_);
    ErrorCode error;
    socket.assign(asio::generic::stream_protocol(family, 0), fd, error);
    if (error) {
      close(fd);
      return;
    }
    const http_detail::ConnectionContext context{&service_, &unproven_};
    if (tls_) {
      std::make_shared<http_detail::Connection<http_detail::TlsSocket>>(
          http_detail::TlsSocket(std::move(socket), *tls_), context, std::move(local_address),
          is_refused)
          ->start();
    } else {
      std::make_shared<http_detail::Connection<http_detail::Socket>>(
          std::move(socket), context, std::move(local_address), is_refused)
          ->start();
    }
  }

  const HttpServerOptions options_;
  const std::uint16_t port_;
  Views views_;
  Histories histories_;
  HttpService service_;
  UnprovenConnections unproven_;
  std::optional<asio::ssl::context> tls_;
  const std::optional<NamedFile> name_;
  // Declared after everything that connections use, because its destructor ends them.
  asio::io_context context_{1};
  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;
  asio::steady_timer tick_;
  std::thread thread_;
  std::unique_ptr<Sampler> sampler_;
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

absl::StatusOr<HttpServer> HttpServer::open(HttpServerOptions options) {
  std::optional<asio::ssl::context> tls;
  if (!options.tls_certificate.empty()) {
    absl::StatusOr<asio::ssl::context> context = tls_context(options);
    if (!context.ok()) return context.status();
    tls = *std::move(context);
    options.gate.is_encrypted = true;
  }
  absl::StatusOr<HttpListener> listener = listen_at(options.listen);
  if (!listener.ok()) return listener.status();
  return HttpServer(
      std::make_unique<State>(std::move(options), *std::move(listener), std::move(tls)));
}

absl::Status HttpServer::start() {
  return state_->start();
}

absl::Status HttpServer::reload_tls() {
  return state_->reload_tls();
}

std::uint16_t HttpServer::port() const {
  return state_->port();
}

}  // namespace lapwing
