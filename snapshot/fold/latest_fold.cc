#include "snapshot/fold/latest_fold.h"

#include <array>
#include <utility>

#include "proto/checkpoint_format.h"
#include "snapshot/schema/key_fields.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

class LatestFold : public Fold {
 public:
  LatestFold(const Schema& schema, KeyFields key) : key_(std::move(key)) {
    shape_.name = kFoldLatest;
    shape_.schema = schema.name;
    shape_.record_bytes = schema.record_bytes;
    shape_.entry_bytes = schema.record_bytes;
    shape_.key_bytes = key_.key_bytes();
    shape_.entry_record_bytes = schema.record_bytes;
  }

  const FoldShape& shape() const override { return shape_; }
  void key_of(Bytes entry, std::span<std::byte> key) const override {
    if (entry.size() != shape_.entry_bytes || key.size() != shape_.key_bytes) return;
    key_.write(entry, key.data());
  }
  void apply(Sequence, Bytes record, FoldState& state) const override {
    if (record.size() != shape_.record_bytes) return;
    std::array<std::byte, kKeyBytesMax> key;
    key_.write(record, key.data());
    state.put(Bytes(key).first(shape_.key_bytes), record);
  }
  void lose(const Gap&, FoldState&) const override {}
  bool settles(Bytes) const override { return true; }
  bool reads(Bytes, std::span<std::byte>) const override { return false; }

 private:
  const KeyFields key_;
  FoldShape shape_;
};

}  // namespace

std::unique_ptr<Fold> make_latest_fold(const Schema& schema) {
  KeyFields key(schema);
  if (key.key_bytes() == 0 || key.key_bytes() > kKeyBytesMax) return nullptr;
  return std::make_unique<LatestFold>(schema, std::move(key));
}

}  // namespace lapwing
