// A relay's connection to a NATS server.
//
// Streams are JetStream's: the stream of a bus has one subject, file storage and limits, discards its
// oldest messages, and refuses to be purged or to delete single messages.
//
// The server needs a max_payload of kNatsPayloadBytesMin. The user that connects needs permission for
// the subjects of relay/names.h, for those of JetStream's API and for its own inbox (deploy/nats).
//
// Thread safety: connect_nats() may be called from any thread. Each connection has a thread,
// `lapwing-nats`, and libnats has three for all of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/waiting.h"
#include "proto/relay_frames.h"
#include "relay/names.h"
#include "relay/transport.h"

namespace lapwing {

inline constexpr std::size_t kNatsPayloadBytesMin = kRelayMessageBytesMax + 1024;  // with headers

struct NatsOptions {
  // nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ before the host if the server wants it.
  // Several URLs, separated by commas, are tried in random order.
  std::string urls;
  std::string client_name;       // shown by the server; may be empty
  std::string credentials_path;  // of a .creds file
  std::string nkey_path;         // of a file with a user's seed, SU…
  std::string tls_ca_path;       // certificates to trust instead of the system's
  std::string tls_certificate_path;
  std::string tls_key_path;
  std::string js_domain;  // of the stream; empty: the server's
  std::string inbox_prefix = "_INBOX";
};

// Key files must belong to this user, with mode 0600 or less.
// Errors: kInvalidArgument or kNotFound: an option or its file; kPeerGone: no server; kNotPermitted:
// wrong credentials, or a key file that others can read; kRefused: TLS; kLimit: max_payload is too
// small; kProtocol: not a NATS server; kTimedOut.
absl::StatusOr<std::unique_ptr<RelayTransport>> connect_nats(const NatsOptions& options,
                                                             const RelayNames& names,
                                                             Deadline deadline);

}  // namespace lapwing
