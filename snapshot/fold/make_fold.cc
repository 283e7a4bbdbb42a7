#include <optional>

#include "absl/strings/str_cat.h"
#include "lapwing/dbn.h"
#include "lapwing/error.h"
#include "lapwing/fold.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/latest_fold.h"
#include "snapshot/fold/order_fold.h"
#include "snapshot/schema/known_schemas.h"

namespace lapwing {

absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name,
                                                const std::string& schema) {
  if (const std::optional<Schema> shipped = known_schema(schema)) return make_fold(name, *shipped);
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat(
          "no fold `", name, "` for a bus of schema `", schema,
          "`, which does not describe its records: describe them "
          "(docs/reference/records.md), or provide your own fold (docs/explanation/state.md)"));
}

absl::StatusOr<std::unique_ptr<Fold>> make_fold(const std::string& name, const Schema& schema) {
  if (absl::Status valid = schema.check(); !valid.ok()) return valid;
  std::unique_ptr<Fold> latest = make_latest_fold(schema);
  if (latest == nullptr) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("no fold `", name, "` for a bus of schema `", schema.name,
                     "`: its description has no key, or one of more than ", kKeyBytesMax,
                     " bytes; provide your own fold "
                     "(docs/explanation/state.md)"));
  }
  if (name == kFoldLatest) return latest;
  const bool has_orders = schema.name == dbn::kSchemaMbo;
  if (has_orders && name == kFoldOrders) return std::make_unique<OrderFold>();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("no fold `", name, "` for a bus of schema `", schema.name, "`: it has ",
                   kFoldLatest, has_orders ? absl::StrCat(" and ", kFoldOrders) : ""));
}

std::string default_fold(const std::string& schema) {
  return schema == dbn::kSchemaMbo ? kFoldOrders : kFoldLatest;
}

}  // namespace lapwing
