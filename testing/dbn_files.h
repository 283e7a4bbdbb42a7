// For tests of DBN: small valid files created in memory, and the folder of real ones.
//
// Thread safety: pure functions.
#pragma once

#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "lapwing/dbn.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing {

// The folder of real files, or "" after a message about the tests that are skipped without it.
inline std::string test_data_folder(const char* skipped) {
  const char* folder = std::getenv("LAPWING_TEST_DATA");
  if (folder != nullptr && *folder != '\0') return folder;
  std::cerr << "\n*** SKIPPED: " << skipped
            << "\n*** Set LAPWING_TEST_DATA to the folder of real files.\n";
  return "";
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string mbo_metadata() {
  dbn::Metadata metadata;
  metadata.dataset = "XTST.BOOK";
  metadata.schema = dbn::SchemaId::kMbo;
  metadata.symbols = {"ESH4"};
  metadata.mappings = {{"ESH4", {{20240101, 20250101, "7"}}}};
  return *dbn::encode_metadata(metadata);
}

inline dbn::MboMsg mbo_record(std::uint64_t number) {
  dbn::MboMsg record{};
  record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbo, 1, 7, 1'000 * number};
  record.order_id = number;
  record.price = 4'000 * dbn::kPriceScale;
  record.size = 1;
  record.action = dbn::Action::kAdd;
  record.side = dbn::Side::kBid;
  record.ts_recv = 1'000 * number + 1;
  return record;
}

// A symbol mapping record as sent by a gateway for a subscription to `in`. In version 1 it has 80
// bytes and no types.
struct MappingRecord {
  std::string in;
  std::string out;
  std::uint32_t instrument_id = 0;
  std::uint64_t ts_event = 0;
  std::uint8_t stype_out = 255;
  std::uint64_t start_ts = dbn::kUndefTimestamp;
  std::uint64_t end_ts = dbn::kUndefTimestamp;
};

inline std::string mapping_record(const MappingRecord& mapping, std::uint8_t version = 3) {
  const bool v1 = version == 1;
  const auto symbol = [v1](std::string text) {
    text.resize(v1 ? dbn::kSymbolBytesV1 : dbn::kSymbolBytes);
    return text;
  };
  std::string record(sizeof(dbn::RecordHeader), '\0');
  if (!v1) record += static_cast<char>(255);
  record += symbol(mapping.in);
  if (!v1) record += static_cast<char>(mapping.stype_out);
  record += symbol(mapping.out);
  if (v1) record.append(4, '\0');
  for (const std::uint64_t time_ns : {mapping.start_ts, mapping.end_ts}) {
    record.append(reinterpret_cast<const char*>(&time_ns), sizeof time_ns);
  }
  const dbn::RecordHeader header{static_cast<std::uint8_t>(record.size() / dbn::kLengthUnit),
                                 dbn::RType{0x16}, 0, mapping.instrument_id, mapping.ts_event};
  std::memcpy(record.data(), &header, sizeof header);
  return record;
}

// Records numbered first … first + count - 1, packed.
inline std::string mbo_records(std::uint64_t first, std::uint64_t count) {
  std::string out;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const dbn::MboMsg record = mbo_record(number);
    out.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return out;
}

// One zstd frame, with a checksum at its end.
inline std::string zstd_frame(const std::string& bytes) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// Sets block `index` of the frame to the reserved block type, which no zstd can decode.
inline void damage_block(std::string& frame, int index) {
  const auto descriptor = static_cast<unsigned char>(frame[4]);
  const bool single_segment = (descriptor & 0x20) != 0;
  const unsigned content_size_field = descriptor >> 6;
  std::size_t at = 5 + (single_segment ? 0 : 1) +
                   (content_size_field != 0 ? std::size_t{1} << content_size_field
                                            : static_cast<std::size_t>(single_segment));
  for (;; --index) {
    std::uint32_t header = 0;
    std::memcpy(&header, frame.data() + at, 3);
    if (index == 0) break;
    at += 3 + (header >> 3);
  }
  frame[at] = static_cast<char>(frame[at] | 0x06);
}

}  // namespace lapwing
