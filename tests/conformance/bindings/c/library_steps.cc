#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr lapwing_result kUnknownResult = 36;

Lines version(const Step&) {
  std::uint32_t abi = 0;
  (void)lapwing_version(&abi);
  return line(LAPWING_OK, absl::StrCat("abi=", abi >> 16, ".", abi & 0xffff));
}

Lines errors(const Step&) {
  std::string names;
  for (lapwing_result number = 0; number <= kUnknownResult; ++number) {
    absl::StrAppend(&names, number == 0 ? "" : ",", number, "=", name_of_result(number));
  }
  return line(LAPWING_OK, names);
}

Lines schema(const Step& step) {
  lapwing_schema found = sized<lapwing_schema>();
  std::vector<lapwing_field> fields(512);
  const lapwing_result result =
      lapwing_schema_fields(step.text_or_null("directory"), step.text_or_null("name"), &found,
                            fields.data(), fields.size(), nullptr, 0, nullptr);
  std::string all;
  for (std::size_t i = 0; i < found.field_count; ++i) {
    const lapwing_field& field = fields[i];
    absl::StrAppend(&all, i == 0 ? "" : ",", field.name, ":", field.type, ":", field.offset, ":",
                    field.bytes, ":", field.unit, ":", field.role);
  }
  return line(result, absl::StrCat("name=", found.name, " version=", found.version,
                                   " record_bytes=", found.record_bytes, " fields=", all));
}

}  // namespace

Operations library_operations() {
  return {{"library.version", version}, {"library.errors", errors}, {"library.schema", schema}};
}

}  // namespace lapwing::conformance
