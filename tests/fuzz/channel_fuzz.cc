// Fuzz target: the input contains a hostile peer's writes, and the victim's simultaneous
// actions.
//
//   tests/fuzz/run.sh channel_fuzz SECONDS
//
// The first byte selects the victim: the reader of frames, their writer, or the receiver of a
// memory file. The data is in a heap block of its exact size, so that the address sanitizer detects
// accesses outside it. The victim's answers are also checked.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "channel/memory_file.h"
#include "testing/channel_frames.h"

namespace lapwing {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// Ends the run with the failed claim. The fuzzer keeps the input that caused it.
void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", claim);
  std::abort();
}

// Values from the input, then zeros once it is used up.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_used_up() const { return bytes_.empty(); }
  template <typename T>
  T take() {
    T value{};
    take_into(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void take_into(std::span<std::byte> target) {
    const std::size_t size = std::min(target.size(), bytes_.size());
    if (size != 0) std::memcpy(target.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

ChannelHeader any_geometry(Input& input) {
  constexpr std::uint32_t kOffsets[] = {kPayloadOffsetPacked, kPayloadOffsetCalls,
                                        kPayloadOffsetAligned};
  const std::uint64_t capacity = kChannelCapacityMin << input.take<std::uint8_t>() % 3;
  const std::uint32_t offset = kOffsets[input.take<std::uint8_t>() % 3];
  const std::uint32_t largest = largest_message(capacity, offset);
  return frame_header(capacity, input.take<std::uint16_t>() % (largest + 1), offset);
}

void touch(std::span<const std::byte> payload) {
  [[maybe_unused]] volatile std::byte last{};
  for (const std::byte byte : payload) last = byte;
}

// --- A reader of a hostile producer's data

class HostileData {
 public:
  HostileData(Input& input, const ChannelHeader& header)
      : input_(input),
        header_(header),
        heads_(header.capacity),
        memory_(header.capacity),
        reader_(data(), header, own_) {
    std::memset(data(), 0, header.capacity);
  }

  bool is_over() const { return is_over_; }  // after the channel is corrupt

  void step() {
    switch (input_.take<std::uint8_t>() % 4) {
      case 0:  // a frame at the reader's next position, or after what it borrowed
        return write(next_, any_head(next_), input_.take<std::uint32_t>());
      case 1:  // a frame anywhere, with any head
        return write(input_.take<std::uint64_t>(), input_.take<std::uint64_t>(),
                     input_.take<std::uint32_t>());
      case 2:
        return look();
      default:
        return release();
    }
  }

 private:
  std::byte* data() { return memory_.bytes().data(); }

  // A head with the lap of that position.
  Word any_head(ChannelPosition at) {
    const auto kind = static_cast<FrameKind>(input_.take<std::uint8_t>() & kHeadKindMask);
    return heads_.at(at, kind, input_.take<std::uint8_t>(), input_.take<std::uint8_t>());
  }
  void write(ChannelPosition at, Word head, std::uint64_t second) {
    const std::uint64_t place = at % header_.capacity / kFrameAlign * kFrameAlign;
    store(data() + place, head, second);
    if (kind_of(head) == FrameKind::kPadding) write_behind_padding(at);
  }
  void write_behind_padding(ChannelPosition at) {
    store(data(), any_head((at / header_.capacity + 1) * header_.capacity),
          input_.take<std::uint32_t>());
  }
  static void store(std::byte* frame, Word head, std::uint64_t second) {
    std::memcpy(frame, &head, sizeof head);
    std::memcpy(frame + 8, &second, sizeof second);
  }

  void look() {
    Message message;
    const FrameReader::Look seen = reader_.look(next_, message);
    is_over_ = seen == FrameReader::Look::kCorrupt;
    if (seen != FrameReader::Look::kMessage) return;
    require(lies_in(message.payload, memory_.bytes()), "a payload lies in the data");
    require(message.payload.size() <= header_.message_bytes_max, "no message above the maximum");
    require(message.end > next_ && message.end % kFrameAlign == 0, "frames follow each other");
    require(message.end - reader_.position() <= header_.capacity, "no more than the ring holds");
    touch(message.payload);
    next_ = message.end;
  }
  void release() {
    if (next_ != reader_.position()) reader_.release(next_, 1);
    require(own_.received.position == next_, "what was released is said");
  }

  Input& input_;
  ChannelHeader header_;
  FrameHeads heads_;
  FrameMemory memory_;
  ChannelWords own_{};
  FrameReader reader_;
  ChannelPosition next_ = 0;  // end of the borrowed messages
  bool is_over_ = false;
};

// --- A writer with a hostile consumer

class HostileWords {
 public:
  HostileWords(Input& input, const ChannelHeader& header)
      : input_(input),
        header_(header),
        memory_(header.capacity),
        writer_(memory_.bytes().data(), header, own_, peer_) {
    std::memset(memory_.bytes().data(), 0, memory_.bytes().size());
  }

  bool is_over() const { return is_over_; }

  void step() {
    switch (input_.take<std::uint8_t>() % 9) {
      case 0:
        peer_.received.position = input_.take<std::uint64_t>();
        return;
      case 1:  // like a correct consumer
        peer_.received.position = own_.sent.position;
        return;
      case 2:
        peer_.received.position += kFrameAlign * (input_.take<std::uint8_t>() - std::uint64_t{128});
        return;
      case 3:
      case 4:
        return claim();
      case 5:
        return writer_.has_claim() ? finish(&FrameWriter::stage) : claim();
      case 8:
        return writer_.has_claim() ? finish(&FrameWriter::commit) : claim();
      case 6:
        return writer_.abort();
      default:
        if (writer_.has_staged()) writer_.publish();
        return;
    }
  }

 private:
  void claim() {
    const ChannelPosition seen = writer_.received();
    const std::uint32_t size = input_.take<std::uint16_t>() % (header_.message_bytes_max + 1);
    const FrameWriter::Room room = writer_.claim(size);
    if (room == FrameWriter::Room::kCorrupt) {
      const ChannelPosition said = peer_.received.position;
      require(said < seen || said > own_.sent.position || said % kFrameAlign != 0,
              "a position that a consumer may have is not corrupt");
      is_over_ = true;
    }
    if (room != FrameWriter::Room::kYes) return;
    require(writer_.received() >= seen, "positions do not decrease");
    require(writer_.received() % kFrameAlign == 0, "positions are those of frames");
    require(
        lies_in(writer_.payload(), memory_.bytes()) || lies_in(writer_.payload(), writer_.line()),
        "a claim lies in the data, or in the writer's own line");
    std::memset(writer_.payload().data(), input_.take<std::uint8_t>(), size);
  }
  void finish(void (FrameWriter::*how)(std::uint32_t actual, std::uint32_t type)) {
    (writer_.*how)(input_.take<std::uint16_t>() % (writer_.claim_bytes() + 1), 0);
    require(writer_.position() <= writer_.received() + header_.capacity,
            "no more than the ring holds");
  }

  Input& input_;
  ChannelHeader header_;
  FrameMemory memory_;
  ChannelWords own_{};
  ChannelWords peer_{};
  FrameWriter writer_;
  bool is_over_ = false;
};

// --- A memory file created by a hostile peer

// A valid header except for the words that the input changes, or a header taken completely from the
// input.
ChannelHeader any_header(Input& input) {
  ChannelHeader header{};
  if (input.take<std::uint8_t>() % 2 == 0) header = any_geometry(input);
  header.magic = kChannelMagic;
  header.abi_version = kChannelAbiVersion;
  header.header_bytes = kChannelHeaderBytes;
  for (std::uint8_t changes = input.take<std::uint8_t>() % 4; changes > 0; --changes) {
    const std::size_t word = input.take<std::uint8_t>() % 14;  // up to connection_id
    input.take_into(std::as_writable_bytes(std::span(&header, 1)).subspan(word * 4, 4));
  }
  return header;
}

UniqueFd make_file(const ChannelHeader& header, std::size_t size) {
  std::vector<std::byte> content(std::max(size, sizeof header));
  std::memcpy(content.data(), &header, sizeof header);
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  require(write(fd.get(), content.data(), size) == static_cast<ssize_t>(size) &&
              fcntl(fd.get(), F_ADD_SEALS, kSeals) == 0,
          "a memory file can be made");
  return fd;
}

void map_hostile_file(Input& input) {
  const ChannelHeader header = any_header(input);
  const std::size_t size = input.take<std::uint8_t>() % 2 == 0
                               ? input.take<std::uint16_t>()
                               : kChannelHeaderBytes + header.capacity % (std::uint64_t{1} << 16);
  const absl::StatusOr<PeerMemory> memory = PeerMemory::map(make_file(header, size), "the fuzzer");
  if (!memory.ok()) return;
  const ChannelHeader& mapped = memory->header();
  require(kChannelHeaderBytes + mapped.capacity == size, "a file has the size that it says");
  if (mapped.capacity == 0) return;
  require(
      check_channel_geometry(mapped.capacity, mapped.message_bytes_max, mapped.payload_offset).ok(),
      "a ring takes its largest message");
  touch({memory->data(), mapped.capacity});
}

template <typename Hostile>
void torment(Input& input) {
  Hostile hostile(input, any_geometry(input));
  while (!input.is_used_up() && !hostile.is_over()) hostile.step();
}

void run(Input input) {
  switch (input.take<std::uint8_t>() % 8) {
    case 0:
      return map_hostile_file(input);
    case 1:
    case 2:
    case 3:
      return torment<HostileWords>(input);
    default:
      return torment<HostileData>(input);
  }
}

}  // namespace
}  // namespace lapwing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  lapwing::run(lapwing::Input({bytes, size}));
  return 0;
}
