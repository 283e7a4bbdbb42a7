#include "snapshot/fold/latest_fold.h"

#include <array>
#include <cstring>
#include <string>

#include "lapwing/dbn.h"
#include "lapwing/kv16.h"
#include "proto/checkpoint_format.h"
#include "snapshot/fold/key_bytes.h"

namespace lapwing {
namespace {

using Bytes = std::span<const std::byte>;

// How the key is taken out of a record.
using WriteKey = void (*)(Bytes record, std::byte* key);

constexpr std::uint32_t kInstrumentKeyBytes = 6;
constexpr std::uint32_t kSideKeyBytes = kInstrumentKeyBytes + 1;

void write_instrument(Bytes record, std::byte* key) {
  dbn::RecordHeader header;
  std::memcpy(&header, record.data(), sizeof header);
  write_big_endian(header.publisher_id, key);
  write_big_endian(header.instrument_id, key + sizeof header.publisher_id);
}

void write_instrument_and_side(Bytes record, std::byte* key) {
  write_instrument(record, key);
  key[kInstrumentKeyBytes] = record[offsetof(dbn::MboMsg, side)];
}

void write_kv16_key(Bytes record, std::byte* key) {
  std::uint64_t number = 0;
  std::memcpy(&number, record.data(), sizeof number);
  write_big_endian(number, key);
}

struct LatestKey {
  const char* schema;
  std::uint32_t record_bytes;
  std::uint32_t key_bytes;
  WriteKey write;
};
constexpr LatestKey kLatestKeys[] = {
    {dbn::kSchemaMbo, sizeof(dbn::MboMsg), kSideKeyBytes, write_instrument_and_side},
    {dbn::kSchemaTrades, sizeof(dbn::TradeMsg), kInstrumentKeyBytes, write_instrument},
    {dbn::kSchemaMbp1, sizeof(dbn::Mbp1Msg), kInstrumentKeyBytes, write_instrument},
    {kv16::kSchema, sizeof(kv16::Record), sizeof(kv16::Record::key), write_kv16_key},
};

class LatestFold : public Fold {
 public:
  explicit LatestFold(const LatestKey& key) : write_key_(key.write) {
    shape_.name = kFoldLatest;
    shape_.schema = key.schema;
    shape_.record_bytes = key.record_bytes;
    shape_.entry_bytes = key.record_bytes;
    shape_.key_bytes = key.key_bytes;
    shape_.entry_record_bytes = key.record_bytes;
  }

  const FoldShape& shape() const override { return shape_; }
  void key_of(Bytes entry, std::span<std::byte> key) const override {
    if (entry.size() != shape_.entry_bytes || key.size() != shape_.key_bytes) return;
    write_key_(entry, key.data());
  }
  void apply(Sequence, Bytes record, FoldState& state) const override {
    if (record.size() != shape_.record_bytes) return;
    std::array<std::byte, kKeyBytesMax> key;
    write_key_(record, key.data());
    state.put(Bytes(key).first(shape_.key_bytes), record);
  }
  void lose(const Gap&, FoldState&) const override {}
  bool settles(Bytes) const override { return true; }
  bool reads(Bytes, std::span<std::byte>) const override { return false; }

 private:
  const WriteKey write_key_;
  FoldShape shape_;
};

}  // namespace

std::unique_ptr<Fold> make_latest_fold(std::string_view schema) {
  for (const LatestKey& key : kLatestKeys) {
    if (schema == key.schema) return std::make_unique<LatestFold>(key);
  }
  return nullptr;
}

}  // namespace lapwing
