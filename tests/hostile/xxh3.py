"""XXH3-64 according to its specification, so that crafted files can have valid sums.

Other modules only need `xxh3_64(data, seed)`. It calls the system's libxxhash if there is one.
Otherwise a page takes about a millisecond.
"""

import ctypes
import ctypes.util
import struct

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF

PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
PRIME64_3, PRIME64_4 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63
PRIME64_5 = 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)

STRIPE_BYTES = 64
SECRET_STEP_BYTES = 8
STRIPES_OF_BLOCK = (len(SECRET) - STRIPE_BYTES) // SECRET_STEP_BYTES


def _u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def _u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _rotate_left(value, bits):
    return ((value << bits) | (value >> (64 - bits))) & MASK64


def _swap(value):
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def _fold(left, right):
    """The two halves of the product of two 64-bit numbers, combined."""
    product = left * right
    return (product & MASK64) ^ (product >> 64)


def _avalanche(value):
    value ^= value >> 37
    value = value * PRIME_MX1 & MASK64
    return value ^ (value >> 32)


def _avalanche_xxh64(value):
    value ^= value >> 33
    value = value * PRIME64_2 & MASK64
    value ^= value >> 29
    value = value * PRIME64_3 & MASK64
    return value ^ (value >> 32)


def _up_to_16(data, seed):
    size = len(data)
    if size > 8:
        flip_low = (_u64(SECRET, 24) ^ _u64(SECRET, 32)) + seed & MASK64
        flip_high = (_u64(SECRET, 40) ^ _u64(SECRET, 48)) - seed & MASK64
        low = _u64(data, 0) ^ flip_low
        high = _u64(data, size - 8) ^ flip_high
        return _avalanche(size + _swap(low) + high + _fold(low, high) & MASK64)
    if size >= 4:
        seed ^= int.from_bytes((seed & MASK32).to_bytes(4, "little"), "big") << 32
        keyed = _u32(data, size - 4) + (_u32(data, 0) << 32)
        keyed ^= (_u64(SECRET, 8) ^ _u64(SECRET, 16)) - seed & MASK64
        keyed ^= _rotate_left(keyed, 49) ^ _rotate_left(keyed, 24)
        keyed = keyed * PRIME_MX2 & MASK64
        keyed ^= (keyed >> 35) + size
        keyed = keyed * PRIME_MX2 & MASK64
        return keyed ^ (keyed >> 28)
    if size > 0:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_xxh64(combined ^ ((_u32(SECRET, 0) ^ _u32(SECRET, 4)) + seed & MASK64))
    return _avalanche_xxh64(seed ^ _u64(SECRET, 56) ^ _u64(SECRET, 64))


def _mix_16(data, at, secret_at, seed):
    return _fold(_u64(data, at) ^ (_u64(SECRET, secret_at) + seed & MASK64),
                 _u64(data, at + 8) ^ (_u64(SECRET, secret_at + 8) - seed & MASK64))


def _up_to_128(data, seed):
    size = len(data)
    total = size * PRIME64_1
    for pair in range((size - 1) // 32, -1, -1):
        total += _mix_16(data, 16 * pair, 32 * pair, seed)
        total += _mix_16(data, size - 16 * (pair + 1), 32 * pair + 16, seed)
    return _avalanche(total & MASK64)


def _up_to_240(data, seed):
    size = len(data)
    total = size * PRIME64_1
    for part in range(8):
        total += _mix_16(data, 16 * part, 16 * part, seed)
    total = _avalanche(total & MASK64)
    for part in range(8, size // 16):
        total += _mix_16(data, 16 * part, 16 * (part - 8) + 3, seed)
    total += _mix_16(data, size - 16, 136 - 17, seed)
    return _avalanche(total & MASK64)


def _seeded_secret(seed):
    if seed == 0:
        return SECRET
    words = struct.unpack("<24Q", SECRET)
    return struct.pack("<24Q", *((word - seed if index % 2 else word + seed) & MASK64
                                 for index, word in enumerate(words)))


def _accumulate(lanes, data, at, secret, secret_at):
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", secret, secret_at)
    for lane in range(8):
        keyed = values[lane] ^ keys[lane]
        lanes[lane ^ 1] += values[lane]
        lanes[lane] = lanes[lane] + (keyed & MASK32) * (keyed >> 32)
    for lane in range(8):
        lanes[lane] &= MASK64


def _long(data, seed):
    secret = _seeded_secret(seed)
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3,
             PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    size = len(data)
    scramble_keys = struct.unpack_from("<8Q", secret, len(secret) - STRIPE_BYTES)
    for stripe in range((size - 1) // STRIPE_BYTES):
        turn = stripe % STRIPES_OF_BLOCK
        _accumulate(lanes, data, stripe * STRIPE_BYTES, secret, turn * SECRET_STEP_BYTES)
        if turn == STRIPES_OF_BLOCK - 1:
            lanes = [(lane ^ (lane >> 47) ^ key) * PRIME32_1 & MASK64
                     for lane, key in zip(lanes, scramble_keys, strict=True)]
    _accumulate(lanes, data, size - STRIPE_BYTES, secret, len(secret) - STRIPE_BYTES - 7)
    total = size * PRIME64_1
    for pair in range(4):
        total += _fold(lanes[2 * pair] ^ _u64(secret, 11 + 16 * pair),
                       lanes[2 * pair + 1] ^ _u64(secret, 19 + 16 * pair))
    return _avalanche(total & MASK64)


def in_python(data, seed=0):
    """The sum of bytes as a 64-bit number."""
    data = bytes(data)
    if len(data) <= 16:
        return _up_to_16(data, seed)
    if len(data) <= 128:
        return _up_to_128(data, seed)
    return _up_to_240(data, seed) if len(data) <= 240 else _long(data, seed)


def _of_library():
    """The function of libxxhash, or None."""
    name = ctypes.util.find_library("xxhash")
    try:
        hash_of = ctypes.CDLL(name).XXH3_64bits_withSeed if name else None
    except (OSError, AttributeError):
        return None
    if hash_of:
        hash_of.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
        hash_of.restype = ctypes.c_uint64
    return hash_of


_library = _of_library()


def xxh3_64(data, seed=0):
    """The same sum, computed by the library if there is one."""
    data = bytes(data)
    return _library(data, len(data), seed) if _library else in_python(data, seed)
