// One connection: handles requests one after another, each with its limits, until it ends or
// becomes a stream client. Stream is a socket, or TLS on one.
//
// A connection lives as long as one of its operations is in progress, because handlers hold it. One
// timer guards these operations: when it fires, the socket's operations are cancelled.
//
// Thread safety: the server's I/O thread.
#pragma once

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/http/service.h"
#include "monitor/http/stream_clients.h"
#include "monitor/http/unproven.h"
#include "os/kernel.h"

namespace lapwing {

inline constexpr std::size_t kHeaderBytesMax = 8 * 1024;
inline constexpr std::size_t kBodyBytesMax = 4 * 1024;
inline constexpr std::size_t kBufferBytesMax = kHeaderBytesMax + kBodyBytesMax;
inline constexpr std::chrono::seconds kRequestTime{5};  // for the headers, and again for a body
inline constexpr std::chrono::seconds kIdleTime{30};    // between requests
inline constexpr std::chrono::seconds kTakingTime{30};  // for a client to take some data
inline constexpr std::chrono::seconds kLingerTime{1};   // for a client to read a refusal
// For a stream client that sends nothing, not even the answer to a ping.
inline constexpr std::chrono::seconds kSilenceTime{60};
// For a client to take a whole answer, because the answer keeps its reading in memory.
inline constexpr std::uint64_t kAnswerNsMax = 60'000'000'000;
inline constexpr std::size_t kLingerBytesMax = 256 * 1024;

namespace http_detail {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

using Socket = net::basic_stream_socket<net::generic::stream_protocol>;
using TlsSocket = beast::ssl_stream<Socket>;
using ErrorCode = boost::system::error_code;

// The body of an HttpAnswer: two buffers, the first of which is shared by all connections.
struct AnswerBody {
  struct value_type {
    std::shared_ptr<const std::string> shared;
    std::string own;
  };
  static std::uint64_t size(const value_type& body) {
    return (body.shared ? body.shared->size() : 0) + body.own.size();
  }
  class writer {
   public:
    using const_buffers_type = std::array<net::const_buffer, 2>;
    template <bool isRequest, class Fields>
    writer(const http::header<isRequest, Fields>&, const value_type& body) : body_(body) {}
    void init(ErrorCode& error) { error = {}; }
    boost::optional<std::pair<const_buffers_type, bool>> get(ErrorCode& error) {
      error = {};
      const net::const_buffer shared =
          body_.shared ? net::const_buffer(body_.shared->data(), body_.shared->size())
                       : net::const_buffer();
      return {{{shared, net::const_buffer(body_.own.data(), body_.own.size())}, false}};
    }

   private:
    const value_type& body_;
  };
};

// Shared by all connections; outlives them.
struct ConnectionContext {
  HttpService* service;
  UnprovenConnections* unproven;
};

// Counts a connection as long as it, or the stream that it has become, exists.
class ConnectionPlace {
 public:
  explicit ConnectionPlace(HttpCounts* counts) : counts_(counts) { ++counts_->connections; }
  ConnectionPlace(ConnectionPlace&& other) noexcept
      : counts_(std::exchange(other.counts_, nullptr)) {}
  ConnectionPlace& operator=(ConnectionPlace&&) = delete;
  ~ConnectionPlace() {
    if (counts_ != nullptr) --counts_->connections;
  }

 private:
  HttpCounts* counts_;
};

template <typename Stream>
class StreamSession final : public StreamClient,
                            public std::enable_shared_from_this<StreamSession<Stream>> {
 public:
  StreamSession(Stream&& stream, ConnectionContext context, ConnectionPlace place,
                std::shared_ptr<StreamClients> clients)
      : ws_(std::move(stream)),
        context_(context),
        place_(std::move(place)),
        clients_(std::move(clients)) {}
  ~StreamSession() override {
    if (is_counted_) --clients_->counts().clients;
  }

  void start(const http::request<http::string_body>& request) {
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = kRequestTime;
    timeout.idle_timeout = kSilenceTime;
    timeout.keep_alive_pings = true;
    ws_.set_option(timeout);
    ws_.read_message_max(kBodyBytesMax);
    ws_.auto_fragment(false);
    ws_.text(true);
    ws_.async_accept(request, [self = this->shared_from_this()](ErrorCode error) {
      if (error) return;
      self->is_counted_ = true;
      ++self->clients_->counts().clients;
      self->read();
      self->clients_->add(self);
    });
  }

  void offer(const StreamMessage& message) override {
    if (!under_way_) return write(message);
    if (monotonic_ns() > after_ns(began_ns_, ns_of(kTakingTime))) return end(beast::error::timeout);
    if (waiting_) {
      ++conflated_;
      ++clients_->counts().conflated;
    }
    waiting_ = message;
  }

  void close() override {
    ErrorCode ignored;
    beast::get_lowest_layer(ws_).close(ignored);
  }

 private:
  // A timeout ends both the read and the write, but counts only once.
  void end(ErrorCode error) {
    if (std::exchange(has_ended_, true)) return;
    if (error == beast::error::timeout) context_.service->counts().reject("takes_nothing");
    close();
  }

  // Writes the client's own count, followed by the bytes that all clients share.
  void write(StreamMessage message) {
    under_way_ = std::move(message);
    began_ns_ = monotonic_ns();
    head_ = absl::StrCat("{\"conflated\":", conflated_, ",");
    const std::string& json = *under_way_;
    const std::array<net::const_buffer, 2> buffers = {
        net::buffer(head_), net::const_buffer(json.data() + 1, json.size() - 1)};
    ws_.async_write(buffers, [self = this->shared_from_this()](ErrorCode error, std::size_t) {
      if (error) return self->end(error);
      self->under_way_.reset();
      ++self->clients_->counts().messages;
      if (self->waiting_) self->write(std::exchange(self->waiting_, nullptr));
    });
  }

  // Data from the client is ignored. Reading is needed only for its pongs and its close.
  void read() {
    ws_.async_read(buffer_, [self = this->shared_from_this()](ErrorCode error, std::size_t) {
      if (error) return self->end(error);
      self->buffer_.clear();
      self->read();
    });
  }

  websocket::stream<Stream> ws_;
  ConnectionContext context_;
  ConnectionPlace place_;
  const std::shared_ptr<StreamClients> clients_;
  bool is_counted_ = false;
  bool has_ended_ = false;
  beast::flat_buffer buffer_{kBodyBytesMax};
  StreamMessage under_way_;
  StreamMessage waiting_;
  std::uint64_t began_ns_ = 0;  // when the current message began
  std::uint64_t conflated_ = 0;
  std::string head_;
};

template <typename Stream>
class Connection final : public UnprovenConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  // `is_refused`: there are too many connections, so the first request is answered with 503.
  Connection(Stream&& stream, ConnectionContext context, std::string local_address, bool is_refused)
      : UnprovenConnection(*context.unproven),
        stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        context_(context),
        place_(&context.service->counts()),
        local_address_(std::move(local_address)),
        is_refused_(is_refused) {}

  void start() {
    if constexpr (std::is_same_v<Stream, TlsSocket>) {
      arm(kRequestTime);
      stream_.async_handshake(net::ssl::stream_base::server,
                              [self = this->shared_from_this()](ErrorCode error) {
                                self->disarm();
                                if (!error) self->read_header();
                              });
    } else {
      read_header();
    }
  }

 private:
  Socket& socket() { return beast::get_lowest_layer(stream_); }

  // Pending handlers get an error, and release the connection.
  void close_now() override {
    disarm();
    ErrorCode ignored;
    socket().close(ignored);
  }

  void arm(std::chrono::seconds time) {
    timed_out_ = false;
    timer_.expires_after(time);
    timer_.async_wait([weak = this->weak_from_this()](ErrorCode error) {
      const auto self = weak.lock();
      if (error || !self || self->timer_.expiry() > net::steady_timer::clock_type::now()) return;
      self->timed_out_ = true;
      ErrorCode ignored;
      self->socket().cancel(ignored);
    });
  }
  void disarm() { timer_.cancel(); }

  void wait_for_request() {
    if (buffer_.size() > 0) return read_header();
    arm(kIdleTime);
    stream_.async_read_some(buffer_.prepare(1024),
                            [self = this->shared_from_this()](ErrorCode error, std::size_t bytes) {
                              self->disarm();
                              if (error || self->timed_out_) return;
                              self->buffer_.commit(bytes);
                              self->read_header();
                            });
  }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(kHeaderBytesMax);
    parser_->body_limit(kBodyBytesMax);
    arm(kRequestTime);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](ErrorCode error, std::size_t) {
                              self->disarm();
                              if (error) return self->refuse(error);
                              self->read_body();
                            });
  }

  void read_body() {
    if (is_refused_) return write(context_.service->refusal(503, "connections"), true);
    began_ns_ = monotonic_ns();
    arm(kRequestTime);
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](ErrorCode error, std::size_t) {
                       self->disarm();
                       if (error) return self->refuse(error);
                       self->answer();
                     });
  }

  void refuse(ErrorCode error) {
    HttpService& service = *context_.service;
    began_ns_ = monotonic_ns();
    if (timed_out_) {
      write(
          is_refused_ ? service.refusal(503, "connections") : service.refusal(408, "slow_request"),
          true);
    } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      write(service.refusal(431, "large_header"), true);
    } else if (error == http::error::body_limit) {
      write(service.refusal(413, "large_body"), true);
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      // The request is not HTTP. After any other error, the connection has ended.
      write(service.refusal(400, "bad_request"), true);
    }
  }

  static absl::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

  void answer() {
    request_ = parser_->release();
    const HttpRequest request{
        .method = view(request_.method_string()),
        .target = view(request_.target()),
        .local_address = local_address_,
        .credentials = {.host = view(request_[http::field::host]),
                        .origin = view(request_[http::field::origin]),
                        .authorization = view(request_[http::field::authorization]),
                        .cookie = view(request_[http::field::cookie])},
        .if_none_match = view(request_[http::field::if_none_match]),
        .body = request_.body(),
        .asks_for_websocket = websocket::is_upgrade(request_)};
    HttpAnswer answer = context_.service->answer(request, monotonic_ns());
    if (answer.shows_token) leave();
    if (!answer.stream) {
      return write(std::move(answer), !request_.keep_alive(),
                   request_.method() == http::verb::head);
    }
    context_.service->counts().add(answer.route, answer.status, monotonic_ns() - began_ns_);
    std::make_shared<StreamSession<Stream>>(std::move(stream_), context_, std::move(place_),
                                            std::move(answer.stream))
        ->start(request_);
  }

  void write(HttpAnswer answer, bool closes, bool is_head = false) {
    response_.emplace();
    response_->result(answer.status);
    response_->version(11);
    response_->keep_alive(!closes);
    response_->set(http::field::content_type, answer.content_type);
    response_->set("X-Content-Type-Options", "nosniff");
    response_->set("Referrer-Policy", "no-referrer");
    bool has_cache_rule = false;
    bool has_policy = false;
    for (const auto& [name, value] : answer.headers) {
      response_->insert(name, value);
      has_cache_rule |= name == "Cache-Control";
      has_policy |= name == "Content-Security-Policy";
    }
    if (!has_cache_rule) response_->set(http::field::cache_control, "no-store");
    if (!has_policy) {
      response_->set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    }
    if (answer.status != 204 && answer.status != 304) {
      response_->content_length(answer.body_bytes());
    }
    if (!is_head) response_->body() = {std::move(answer.shared), std::move(answer.own)};
    serializer_.emplace(*response_);
    context_.service->counts().add(answer.route, answer.status, monotonic_ns() - began_ns_);
    closes_ = closes;
    began_ns_ = monotonic_ns();
    write_some();
  }
  void write_some() {
    arm(kTakingTime);
    http::async_write_some(stream_, *serializer_,
                           [self = this->shared_from_this()](ErrorCode error, std::size_t) {
                             self->disarm();
                             self->written(error);
                           });
  }

  void written(ErrorCode error) {
    const bool is_slow = monotonic_ns() > after_ns(began_ns_, kAnswerNsMax);
    if (timed_out_ || (is_slow && !serializer_->is_done())) {
      context_.service->counts().reject("takes_nothing");
      return;
    }
    if (error) return;
    if (!serializer_->is_done()) return write_some();
    serializer_.reset();
    response_.reset();
    if (!closes_) return wait_for_request();
    ErrorCode ignored;
    socket().shutdown(Socket::shutdown_send, ignored);
    buffer_.clear();
    arm(kLingerTime);
    linger();
  }

  // Reads the remaining data. Closing before that would reset the connection, and the client might
  // never read its answer.
  void linger() {
    socket().async_read_some(
        buffer_.prepare(4096), [self = this->shared_from_this()](ErrorCode error, std::size_t n) {
          self->lingered_bytes_ += n;
          if (!error && !self->timed_out_ && self->lingered_bytes_ < kLingerBytesMax) {
            self->linger();
          }
        });
  }

  Stream stream_;
  net::steady_timer timer_;
  ConnectionContext context_;
  ConnectionPlace place_;
  const std::string local_address_;
  const bool is_refused_;
  bool timed_out_ = false;
  bool closes_ = false;
  std::uint64_t began_ns_ = 0;
  std::size_t lingered_bytes_ = 0;
  beast::flat_buffer buffer_{kBufferBytesMax};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::request<http::string_body> request_;
  std::optional<http::response<AnswerBody>> response_;
  std::optional<http::response_serializer<AnswerBody>> serializer_;
};

}  // namespace http_detail
}  // namespace lapwing
