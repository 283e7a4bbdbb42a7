#include "relay/nats/jetstream.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "lapwing/error.h"
#include "testing/relay_fixture.h"

namespace lapwing {
namespace {

using Json = nlohmann::json;

const RelayNames kEsNames = relay_names("es").value();

// An answer of a server about the stream of make_stream_request().
Json info() {
  RelayStreamOptions options;
  Json answer;
  answer["type"] = "io.nats.jetstream.api.v1.stream_info_response";
  answer["config"] = Json::parse(make_stream_request(kEsNames, options));
  answer["config"]["duplicate_window"] = 120'000'000'000;
  answer["config"]["allow_direct"] = false;
  answer["config"]["metadata"] = {{"_nats.req.level", "0"}};
  answer["config"]["persist_mode"] = "default";
  answer["state"] = {{"messages", 3}, {"bytes", 100}, {"first_seq", 5}, {"last_seq", 7}};
  return answer;
}
absl::StatusOr<StreamState> parsed(const Json& answer) {
  const std::string text = answer.dump();
  return parse_stream(message(text), kEsNames, {});
}

TEST_CASE("JetStream: the stream that is asked for has no difference") {
  const auto state = parsed(info());
  REQUIRE(state.ok());
  CHECK(state->difference.empty());
  CHECK(state->first == 5);
  CHECK(state->last == 7);
  CHECK(state->messages == 3);
  // Servers leave out what has its default.
  Json short_one = info();
  for (const char* const key : {"allow_rollup_hdrs", "max_msg_size", "max_age"}) {
    short_one["config"].erase(key);
  }
  CHECK(parsed(short_one)->difference.empty());
}

TEST_CASE("JetStream: each difference of a stream is named") {
  const struct {
    const char* key;
    Json value;
    const char* difference;
  } kCases[] = {
      {"name", "OTHER", "name is \"OTHER\" and not \"LAPWING_es\""},
      {"subjects",
       {"lapwing.log.es", "x"},
       "subjects is [\"lapwing.log.es\",\"x\"] and not [\"lapwing.log.es\"]"},
      {"storage", "memory", "storage is \"memory\" and not \"file\""},
      {"retention", "workqueue", "retention is \"workqueue\" and not \"limits\""},
      {"discard", "new", "discard is \"new\" and not \"old\""},
      {"max_bytes", -1, "max_bytes is -1 and not 68719476736"},
      {"max_age", 5, "max_age is 5 and not 0"},
      {"max_msgs", 10, "max_msgs is 10 and not -1"},
      {"max_msgs_per_subject", 1, "max_msgs_per_subject is 1 and not -1"},
      {"max_msg_size", 100, "max_msg_size is 100 and not -1"},
      {"max_consumers", 1, "max_consumers is 1 and not -1"},
      {"num_replicas", 3, "num_replicas is 3 and not 1"},
      {"deny_delete", false, "deny_delete is false and not true"},
      {"deny_purge", false, "deny_purge is false and not true"},
      {"allow_rollup_hdrs", true, "allow_rollup_hdrs is true and not false"},
      {"mirror", {{"name", "X"}}, "mirror is {\"name\":\"X\"} and not unset"},
      {"sources", {{{"name", "X"}}}, "sources is [{\"name\":\"X\"}] and not unset"},
      {"subject_transform", {{"src", ">"}}, "subject_transform is {\"src\":\">\"} and not unset"},
      {"no_ack", true, "no_ack is true and not unset"},
      {"sealed", true, "sealed is true and not unset"},
      {"discard_new_per_subject", true, "discard_new_per_subject is true and not unset"},
      {"allow_msg_counter", true, "allow_msg_counter is true and not unset"},
      {"persist_mode", "async", "persist_mode is \"async\" and not unset"},
  };
  for (const auto& each : kCases) {
    Json answer = info();
    answer["config"][each.key] = each.value;
    CHECK(parsed(answer)->difference == each.difference);
  }
  Json answer = info();
  answer["config"].erase("deny_purge");
  CHECK(parsed(answer)->difference == "deny_purge is unset and not true");
  answer.erase("config");
  CHECK_FALSE(parsed(answer)->difference.empty());
}

TEST_CASE("JetStream: errors are told apart by their numbers") {
  const struct {
    std::uint64_t code;
    Errc errc;
    RelayAckResult result;
  } kCases[] = {
      {10059, Errc::kNotFound, RelayAckResult::kNoStream},
      {10037, Errc::kNotFound, RelayAckResult::kRefused},
      {10039, Errc::kUnsupported, RelayAckResult::kRefused},
      {10076, Errc::kUnsupported, RelayAckResult::kRefused},
      {10023, Errc::kNoSpace, RelayAckResult::kNoSpace},
      {10047, Errc::kNoSpace, RelayAckResult::kNoSpace},
      {10077, Errc::kNoSpace, RelayAckResult::kNoSpace},
      {10071, Errc::kRefused, RelayAckResult::kWrongLast},
      {10009, Errc::kRefused, RelayAckResult::kRefused},
  };
  for (const auto& each : kCases) {
    const std::string text =
        Json{{"error", {{"code", 400}, {"err_code", each.code}, {"description", "because\n"}}},
             {"stream", "S"},
             {"seq", 0}}
            .dump();
    INFO(text);
    CHECK(errc_of(parse_stream(message(text), kEsNames, {}).status()) == each.errc);
    CHECK(errc_of(parse_consumer(message(text)).status()) == each.errc);
    CHECK(errc_of(parse_message_answer(message(text)).status()) == each.errc);
    const RelayAck ack = parse_ack(message(text));
    CHECK(ack.result == each.result);
    CHECK(ack.reason == "because?");
  }
}

TEST_CASE("JetStream: an ack has the sequence") {
  const RelayAck ack =
      parse_ack(message(R"({"stream":"S","domain":"hub","seq":18446744073709551615})"));
  CHECK(ack.result == RelayAckResult::kStored);
  CHECK(ack.stream_sequence == UINT64_MAX);
  for (const char* const wrong : {"", "{", "null", "[]", "{}", R"({"seq":"7"})", R"({"seq":-1})",
                                  R"({"error":{}})", R"({"error":7})"}) {
    CHECK(parse_ack(message(wrong)).result == RelayAckResult::kRefused);
  }
}

TEST_CASE("JetStream: answers that are not what was asked for are refused") {
  for (const char* const wrong :
       {"", "x", "null", "7", "[]", "{}", R"({"config":{}})", R"({"state":7,"config":7})",
        R"({"name":7})", R"({"name":""})", R"({"message":{"data":"*"}})"}) {
    INFO(wrong);
    CHECK(errc_of(parse_stream(message(wrong), kEsNames, {}).status()) == Errc::kProtocol);
    CHECK(errc_of(parse_consumer(message(wrong)).status()) == Errc::kProtocol);
  }
  CHECK(errc_of(parse_message_answer(message(R"({"message":{"data":"*"}})")).status()) ==
        Errc::kProtocol);
  CHECK(text_of(*parse_message_answer(message(R"({"message":{"data":"eHk="}})"))) == "xy");
  CHECK(parse_message_answer(message(R"({"message":{"seq":7}})"))->empty());
}

TEST_CASE("JetStream: a consumer's position, with and without a domain") {
  auto position = parse_consumer_position("$JS.ACK.S.c.1.77.5.1700000000000000000.9");
  REQUIRE(position);
  CHECK(position->stream_sequence == 77);
  CHECK(position->consumer_sequence == 5);
  CHECK(position->pending == 9);
  for (const char* const more : {"", ".x", ".x.y.z"}) {
    position = parse_consumer_position(std::string("$JS.ACK.hub.hash.S.c.1.77.5.17.9") + more);
    REQUIRE(position);
    CHECK(position->stream_sequence == 77);
    CHECK(position->consumer_sequence == 5);
    CHECK(position->pending == 9);
  }
  for (const char* const wrong :
       {"", "$JS.ACK", "$JS.FC.S.c.x", "$JS.ACK.S.c.1.77.5.17", "$JS.ACK.d.S.c.1.77.5.17.9",
        "$JS.NAK.S.c.1.77.5.17.9", "$JS.ACK.S.c.1.x.5.17.9", "$JS.ACK.S.c.1.77..17.9"}) {
    INFO(wrong);
    CHECK_FALSE(parse_consumer_position(wrong));
  }
}

TEST_CASE("JetStream: subjects of the API, with and without a domain") {
  CHECK(api_subject("", "STREAM.INFO", "S") == "$JS.API.STREAM.INFO.S");
  CHECK(api_subject("hub", "STREAM.INFO", "S") == "$JS.hub.API.STREAM.INFO.S");
}

}  // namespace
}  // namespace lapwing
