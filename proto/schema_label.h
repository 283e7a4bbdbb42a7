// Identifies the records of a ring, a segment or a session: the schema's name, and the hash of its
// description.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "proto/text_field.h"

namespace lapwing {

struct SchemaLabel {
  SchemaLabel() = default;
  SchemaLabel(std::string schema_name, std::uint64_t description_hash = 0)
      : name(std::move(schema_name)), hash(description_hash) {}
  SchemaLabel(const char* schema_name) : name(schema_name) {}

  std::string name;
  std::uint64_t hash = 0;  // Schema::hash(); 0: the records are not described

  friend bool operator==(const SchemaLabel&, const SchemaLabel&) = default;
};

// For every header that has both members.
template <typename Header>
void set_schema(Header& header, const SchemaLabel& label) {
  set_text(header.schema, label.name);
  header.schema_hash = label.hash;
}

template <typename Header>
SchemaLabel get_schema(const Header& header) {
  return {get_text(header.schema), header.schema_hash};
}

}  // namespace lapwing
