#include "relay/nats/answer_subject.h"

#include <cstddef>
#include <cstdint>

#include "lapwing/sequence.h"
#include "relay/nats/jetstream.h"

namespace lapwing {

bool is_answer_subject(std::string_view subject) {
  constexpr std::size_t kIdCharacters = 32;
  constexpr std::string_view kChannel = ".q.";
  const std::size_t channel = subject.rfind(kChannel);
  // Something, a dot and the id are before the channel.
  if (channel == std::string_view::npos || channel < kIdCharacters + 2) return false;
  const std::size_t id = channel - kIdCharacters;
  std::uint64_t ask = 0;
  return subject[id - 1] == '.' && Id128::from_hex(subject.substr(id, kIdCharacters)) &&
         parse_number(subject.substr(channel + kChannel.size()), ask);
}

bool is_refused_answer(std::string_view error) {
  // … Violation for Publish to "<subject>"
  constexpr std::string_view kPublish = "Publish to \"";
  const std::size_t publish = error.find(kPublish);
  if (publish == std::string_view::npos) return false;
  error.remove_prefix(publish + kPublish.size());
  return is_answer_subject(error.substr(0, error.find('"')));
}

}  // namespace lapwing
