// A step of a scenario, and the output of drivers. See tests/conformance/bindings/README.md.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapwing.h"

namespace lapwing::conformance {

class Step {
 public:
  // Parses a line: an operation, and key=value pairs.
  static Step parse(const std::string& line);

  const std::string& operation() const { return operation_; }
  // Returns "" if the key is missing.
  const std::string& text(const std::string& key) const;
  // Returns nullptr if the key is missing, as the C interface expects.
  const char* text_or_null(const std::string& key) const;
  bool has(const std::string& key) const { return values_.count(key) != 0; }
  std::uint64_t number(const std::string& key, std::uint64_t missing = 0) const;
  std::int64_t ns(const std::string& key) const;  // converts from ms
  std::int64_t timeout_ns() const;
  // Keep the old value if the key is missing.
  template <typename Number>
  void set(const std::string& key, Number& option) const {
    if (has(key)) option = static_cast<Number>(number(key));
  }
  void set_ns(const std::string& key, std::int64_t& option) const {
    if (has(key)) option = ns(key);
  }
  std::vector<std::string> list(const std::string& key) const;
  // The index of a key's value in a list of names; `missing` if there is no such key.
  std::uint32_t choice(const std::string& key, std::initializer_list<const char*> names,
                       std::uint32_t first, std::uint32_t missing) const;

 private:
  std::string operation_;
  std::map<std::string, std::string> values_;
};

// A digest that is updated with bytes.
class Digest {
 public:
  void add(std::span<const std::byte> bytes);
  std::string text() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// The bytes of record n.
std::vector<std::byte> record_of(std::uint64_t n, std::size_t bytes);
std::string digest_of(std::span<const std::byte> bytes);

// The name of a result as the driver prints it; a wrong name if the test must fail.
std::string name_of_result(lapwing_result result);

}  // namespace lapwing::conformance
