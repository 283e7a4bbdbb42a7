#include "tests/conformance/bindings/c/step.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace lapwing::conformance {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out.push_back(static_cast<char>(std::strtoul(text.substr(i + 1, 2).c_str(), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

Step Step::parse(const std::string& line) {
  Step step;
  std::istringstream words(line);
  words >> step.operation_;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    step.values_[word.substr(0, equals)] = decoded(word.substr(equals + 1));
  }
  return step;
}

const std::string& Step::text(const std::string& key) const {
  static const std::string empty;
  const auto found = values_.find(key);
  return found == values_.end() ? empty : found->second;
}

const char* Step::text_or_null(const std::string& key) const {
  return has(key) ? text(key).c_str() : nullptr;
}

std::uint64_t Step::number(const std::string& key, std::uint64_t missing) const {
  return has(key) ? std::strtoull(text(key).c_str(), nullptr, 10) : missing;
}

std::int64_t Step::ns(const std::string& key) const {
  return static_cast<std::int64_t>(number(key)) * kNsPerMs;
}

std::int64_t Step::timeout_ns() const {
  const std::string& given = text("timeout_ms");
  return given == "forever" ? LAPWING_FOREVER : ns("timeout_ms");
}

std::vector<std::string> Step::list(const std::string& key) const {
  if (text(key).empty()) return {};
  return absl::StrSplit(text(key), ',');
}

std::uint32_t Step::choice(const std::string& key, std::initializer_list<const char*> names,
                           std::uint32_t first, std::uint32_t missing) const {
  if (!has(key)) return missing;
  const auto found = std::find(names.begin(), names.end(), text(key));
  return first + static_cast<std::uint32_t>(found - names.begin());
}

void Digest::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    value_ ^= std::to_integer<std::uint64_t>(byte);
    value_ *= 0x100000001b3;
  }
}

std::string Digest::text() const {
  return absl::StrFormat("%016x", value_);
}

std::vector<std::byte> record_of(std::uint64_t n, std::size_t bytes) {
  std::vector<std::byte> record(bytes);
  for (std::size_t k = 0; k < bytes; ++k) {
    record[k] = static_cast<std::byte>(k < 8 ? n >> (8 * k) : n + k);
  }
  return record;
}

std::string digest_of(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.text();
}

std::string name_of_result(lapwing_result result) {
  static const bool broken = std::getenv("LAPWING_CONFORMANCE_BREAK") != nullptr;
  if (broken && result == LAPWING_ERROR_TIMED_OUT)
    return lapwing_error_name(LAPWING_ERROR_WOULD_BLOCK);
  if (broken && result == LAPWING_ERROR_WOULD_BLOCK)
    return lapwing_error_name(LAPWING_ERROR_TIMED_OUT);
  return lapwing_error_name(result);
}

}  // namespace lapwing::conformance
