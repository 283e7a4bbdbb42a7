// The requests and answers of JetStream that a relay uses, as JSON and as headers.
//
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/names.h"
#include "relay/transport.h"

namespace lapwing {

inline constexpr std::uint64_t kNatsHeartbeatNs = 500'000'000;  // of an idle consumer
// libnats takes an expected sequence of 0 as unset, so this header is set by hand.
inline constexpr char kExpectedLastHeader[] = "Nats-Expected-Last-Sequence";

// The whole text is a decimal number.
inline bool parse_number(std::string_view text, std::uint64_t& out) {
  const char* const end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, out);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// Subjects of the API. `domain` may be empty.
std::string api_subject(const std::string& domain, const char* call, const std::string& stream);

// Bodies of requests.
std::string make_stream_request(const RelayNames& names, const RelayStreamOptions& options);
std::string make_consumer_request(const RelayNames& names, const std::string& deliver_subject,
                                  std::uint64_t stream_sequence);
std::string make_message_request(std::uint64_t stream_sequence);

// Answers to requests. Errors: kNotFound, kNoSpace, kUnsupported or kRefused if the answer reports an
// error; kProtocol if it is invalid.

// Of STREAM.INFO and STREAM.CREATE.
struct StreamState {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t messages = 0;
  std::string difference;  // from the configuration of make_stream_request(); empty: none
};
absl::StatusOr<StreamState> parse_stream(std::span<const std::byte> answer, const RelayNames& names,
                                         const RelayStreamOptions& options);
// Returns the name of the consumer.
absl::StatusOr<std::string> parse_consumer(std::span<const std::byte> answer);
// kNotFound: the message is discarded.
absl::StatusOr<std::vector<std::byte>> parse_message_answer(std::span<const std::byte> answer);

// Result, sequence and reason.
RelayAck parse_ack(std::span<const std::byte> answer);

// From the reply subject of a consumer's message.
struct ConsumerPosition {
  std::uint64_t stream_sequence = 0;
  std::uint64_t consumer_sequence = 0;  // 1, 2, … in the order of delivery
  std::uint64_t pending = 0;
};
std::optional<ConsumerPosition> parse_consumer_position(std::string_view reply_to);

}  // namespace lapwing
