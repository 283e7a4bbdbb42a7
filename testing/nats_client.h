// For tests: requests and messages that no relay sends.
//
// Thread safety: free functions.
#pragma once

#include <nats/nats.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "testing/nats_server.h"

namespace lapwing {

class NatsClient {
 public:
  explicit NatsClient(const NatsServer& server) {
    REQUIRE(natsConnection_ConnectTo(&connection_, server.url().c_str()) == NATS_OK);
  }
  NatsClient(const NatsClient&) = delete;
  NatsClient& operator=(const NatsClient&) = delete;
  ~NatsClient() { natsConnection_Destroy(connection_); }

  // Returns the answer.
  std::string request(const std::string& subject, const std::string& body = {}) const {
    natsMsg* answer = nullptr;
    const natsStatus status =
        natsConnection_RequestString(&answer, connection_, subject.c_str(), body.c_str(), 10'000);
    INFO(natsStatus_GetText(status));
    REQUIRE(status == NATS_OK);
    std::string text(natsMsg_GetData(answer),
                     static_cast<std::size_t>(natsMsg_GetDataLength(answer)));
    natsMsg_Destroy(answer);
    return text;
  }
  void publish(const std::string& subject, const std::string& reply_to,
               const std::string& body) const {
    REQUIRE(natsConnection_PublishRequestString(connection_, subject.c_str(), reply_to.c_str(),
                                                body.c_str()) == NATS_OK);
  }

 private:
  natsConnection* connection_ = nullptr;
};

}  // namespace lapwing
