#include "relay/nats/jetstream.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/printable.h"
#include "snapshot/json_members.h"

namespace lapwing {
namespace {

using Json = nlohmann::json;

// Numbers of JetStream's errors (err_code).
constexpr std::uint64_t kWrongLastSequence = 10071;
constexpr std::uint64_t kStreamNotFound = 10059;
constexpr std::uint64_t kNoMessageFound = 10037;
constexpr std::uint64_t kNotEnabled[] = {10039, 10076};
// Resources, account's limits, memory, storage; the write of a file failed; more than an account may.
constexpr std::uint64_t kNoSpaceCodes[] = {10002, 10023, 10028, 10047, 10077, 10122};

template <std::size_t kCount>
bool is_one_of(std::uint64_t code, const std::uint64_t (&codes)[kCount]) {
  for (const std::uint64_t each : codes) {
    if (each == code) return true;
  }
  return false;
}

Json parse(std::span<const std::byte> bytes) {
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  return Json::parse(text, text + bytes.size(), nullptr, false);
}

// A member that is an object; an empty one if there is none.
Json object_at(const Json& parent, const char* key) {
  const auto found = parent.is_object() ? parent.find(key) : parent.end();
  return found != parent.end() && found->is_object() ? *found : Json::object();
}

struct ApiError {
  std::uint64_t code = 0;  // 0: none
  std::string text;
};
ApiError error_of(const Json& answer) {
  const Json error = object_at(answer, "error");
  if (error.empty()) return {};
  ApiError found{1, "without a reason"};
  take(error, "err_code", found.code);
  take(error, "description", found.text);
  found.text = printable(std::move(found.text));
  return found;
}

absl::Status status_of(const Json& answer) {
  if (!answer.is_object()) return make_error(Errc::kProtocol, "JetStream's answer is not JSON");
  const ApiError error = error_of(answer);
  if (error.code == 0) return absl::OkStatus();
  Errc code = Errc::kRefused;
  if (error.code == kStreamNotFound || error.code == kNoMessageFound) code = Errc::kNotFound;
  if (is_one_of(error.code, kNoSpaceCodes)) code = Errc::kNoSpace;
  if (is_one_of(error.code, kNotEnabled)) code = Errc::kUnsupported;
  return make_error(code, absl::StrCat("JetStream: ", error.text));
}

Json stream_config(const RelayNames& names, const RelayStreamOptions& options) {
  return {{"name", names.stream},
          {"subjects", Json::array({names.log})},
          {"storage", "file"},
          {"retention", "limits"},
          {"discard", "old"},
          {"max_bytes", options.bytes_max},
          {"max_age", options.age_max.count()},
          {"max_msgs", -1},
          {"max_msgs_per_subject", -1},
          {"max_msg_size", -1},
          {"max_consumers", -1},
          {"num_replicas", options.replicas},
          {"deny_delete", true},
          {"deny_purge", true},
          {"allow_rollup_hdrs", false}};
}

// Members that change what the stream contains or acknowledges. They are left out, false or empty.
constexpr const char* kUnwanted[] = {"mirror",
                                     "sources",
                                     "subject_transform",
                                     "no_ack",
                                     "sealed",
                                     "discard_new_per_subject",
                                     "allow_msg_counter",
                                     "persist_mode"};

bool is_nothing(const Json& value) {
  return value.is_null() || value == false || value == 0 || value == "" || value == "default" ||
         ((value.is_object() || value.is_array()) && value.empty());
}

std::string config_difference(const Json& found, const Json& wanted) {
  for (const auto& [key, value] : wanted.items()) {
    const auto member = found.find(key);
    // Servers leave out some members that have their default.
    const bool is_default = value == -1 || value == 0 || value == false;
    if (member == found.end() ? is_default : *member == value) continue;
    const std::string is = member == found.end() ? "unset" : printable(member->dump());
    return absl::StrCat(key, " is ", is, " and not ", value.dump());
  }
  for (const char* const key : kUnwanted) {
    const auto member = found.find(key);
    if (member == found.end() || is_nothing(*member)) continue;
    return absl::StrCat(key, " is ", printable(member->dump()), " and not unset");
  }
  return {};
}

}  // namespace

std::string api_subject(const std::string& domain, const char* call, const std::string& stream) {
  return absl::StrCat("$JS.", domain, domain.empty() ? "" : ".", "API.", call, ".", stream);
}

std::string make_stream_request(const RelayNames& names, const RelayStreamOptions& options) {
  return stream_config(names, options).dump();
}

std::string make_consumer_request(const RelayNames& names, const std::string& deliver_subject,
                                  std::uint64_t stream_sequence) {
  const Json config = {{"deliver_subject", deliver_subject},
                       {"deliver_policy", "by_start_sequence"},
                       {"opt_start_seq", stream_sequence == 0 ? 1 : stream_sequence},
                       {"ack_policy", "none"},
                       {"replay_policy", "instant"},
                       {"max_deliver", 1},
                       {"flow_control", true},
                       {"idle_heartbeat", kNatsHeartbeatNs},
                       {"num_replicas", 1},
                       {"mem_storage", true}};
  return Json{{"stream_name", names.stream}, {"config", config}}.dump();
}

std::string make_message_request(std::uint64_t stream_sequence) {
  return Json{{"seq", stream_sequence}}.dump();
}

absl::StatusOr<StreamState> parse_stream(std::span<const std::byte> answer, const RelayNames& names,
                                         const RelayStreamOptions& options) {
  const Json parsed = parse(answer);
  if (absl::Status status = status_of(parsed); !status.ok()) return status;
  const Json state = object_at(parsed, "state");
  StreamState found;
  if (!take(state, "first_seq", found.first) || !take(state, "last_seq", found.last) ||
      !take(state, "messages", found.messages)) {
    return make_error(Errc::kProtocol, "JetStream's answer about a stream has no state");
  }
  found.difference = config_difference(object_at(parsed, "config"), stream_config(names, options));
  return found;
}

absl::StatusOr<std::string> parse_consumer(std::span<const std::byte> answer) {
  const Json parsed = parse(answer);
  if (absl::Status status = status_of(parsed); !status.ok()) return status;
  std::string name;
  if (take(parsed, "name", name) && !name.empty()) return name;
  return make_error(Errc::kProtocol, "JetStream's answer about a consumer has no name");
}

absl::StatusOr<std::vector<std::byte>> parse_message_answer(std::span<const std::byte> answer) {
  const Json parsed = parse(answer);
  if (absl::Status status = status_of(parsed); !status.ok()) return status;
  std::string encoded;
  std::string decoded;
  take(object_at(parsed, "message"), "data", encoded);
  if (!absl::Base64Unescape(encoded, &decoded)) {
    return make_error(Errc::kProtocol, "JetStream's message is not base 64");
  }
  const auto bytes = std::as_bytes(std::span(decoded));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

RelayAck parse_ack(std::span<const std::byte> answer) {
  const Json parsed = parse(answer);
  RelayAck ack;
  ack.result = RelayAckResult::kRefused;
  if (const ApiError error = error_of(parsed); error.code != 0) {
    ack.reason = error.text;
    if (error.code == kWrongLastSequence) ack.result = RelayAckResult::kWrongLast;
    if (error.code == kStreamNotFound) ack.result = RelayAckResult::kNoStream;
    if (is_one_of(error.code, kNoSpaceCodes)) ack.result = RelayAckResult::kNoSpace;
  } else if (parsed.is_object() && take(parsed, "seq", ack.stream_sequence)) {
    ack.result = RelayAckResult::kStored;
  } else {
    ack.reason = "the answer is not one of JetStream";
  }
  return ack;
}

std::optional<ConsumerPosition> parse_consumer_position(std::string_view reply_to) {
  // $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>, or with
  // <domain>.<account> after ACK, and then perhaps more tokens at the end.
  std::array<std::string_view, 12> tokens;
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= reply_to.size() && count < tokens.size(); ++count) {
    const std::size_t end = std::min(reply_to.find('.', begin), reply_to.size());
    tokens[count] = reply_to.substr(begin, end - begin);
    begin = end + 1;
  }
  if (count < 9 || count == 10 || tokens[0] != "$JS" || tokens[1] != "ACK") return std::nullopt;
  const std::size_t first = count == 9 ? 5 : 7;
  ConsumerPosition position;
  if (!parse_number(tokens[first], position.stream_sequence) ||
      !parse_number(tokens[first + 1], position.consumer_sequence) ||
      !parse_number(tokens[first + 3], position.pending)) {
    return std::nullopt;
  }
  return position;
}

}  // namespace lapwing
