"""Tests XXH3-64 with known values, one for each of its code paths."""

import unittest

import xxh3

DATA = bytes((index * 31 + (index >> 8) * 7) & 255 for index in range(65536))
SEED = 0x123456789ABCDEF
# (bytes, seed, sum), created with the library that the program itself links.
KNOWN = (
    (0, 0, 0x2D06800538D394C2),
    (0, SEED, 0xCC1CA35A1B089C5C),
    (1, 0, 0xC44BDFF4074EECDB),
    (1, SEED, 0xD5DD68911C7F195D),
    (3, 0, 0x3698B80191E625F9),
    (3, SEED, 0x0FA9784A27C8EBBB),
    (8, 0, 0x60E1BAA91347A1F2),
    (8, SEED, 0x618706A051ABD078),
    (12, 0, 0xEB6097C8C38B66CD),
    (12, SEED, 0x7541DC693DBCA378),
    (16, 0, 0xF9FBD0260BA978DF),
    (16, SEED, 0x06BC6C42003C4F19),
    (24, 0, 0xC7DE809015C32755),
    (24, SEED, 0xCAE283A6478A735A),
    (36, 0, 0x3D4A146F508A9117),
    (36, SEED, 0x43FCAC8F46CCBF8A),
    (128, 0, 0x31CCF8DEC850D035),
    (128, SEED, 0xB9BE1917946BEC42),
    (129, 0, 0xC72AF4C6AC4DEA94),
    (129, SEED, 0x541B74AF44360656),
    (240, 0, 0xE315D53D5129EEDE),
    (240, SEED, 0x61BFB247E409654C),
    (241, 0, 0x18773C512B008A63),
    (241, SEED, 0x89FFF3D6CDE6684B),
    (504, 0, 0xD2EE00C640EDF45B),
    (504, SEED, 0x11AA0DADA40921D2),
    (1024, 0, 0xB2AC1D11FD7B209B),
    (1024, SEED, 0x26A2297913994AE9),
    (1025, 0, 0xC7FD981796D2137A),
    (1025, SEED, 0x81591E260162A594),
    (4088, 0, 0x8B057DA84226E962),
    (4088, SEED, 0x3E2D0CB170CF95B3),
    (65536, 0, 0xCEBB33EE246064E6),
    (65536, SEED, 0x150060EAF17834E9),
)

class Xxh3(unittest.TestCase):
    def test_the_sums_are_those_of_the_library(self):
        for size, seed, expected in KNOWN:
            for hash_of in (xxh3.xxh3_64, xxh3.in_python):
                self.assertEqual(hash_of(DATA[:size], seed), expected, (size, seed))


if __name__ == "__main__":
    unittest.main()
