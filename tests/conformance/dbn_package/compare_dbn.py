#!/usr/bin/env python3
"""Compares DBN files with the package databento-dbn: metadata, then each record, byte by byte.

    compare_dbn.py A B [C …]

Files may be raw or zstd, in one frame or several. With more than two, A is compared with the
combined contents of the others: a series of files, each with A's metadata and its own start. Prints
"N records equal", or the first difference. Exit: 0 equal, 1 different, 2 a file that cannot be read
as DBN. venv.sh creates the environment that it needs.
"""

import itertools
import sys

import databento_dbn
import zstandard

CHUNK_BYTES = 1 << 20
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class NotDbn(Exception):
    """A file that the package cannot read, or that ends in the middle of a record."""


def open_decoded(path):
    """The file's bytes as a stream, decompressed if they are zstd."""
    file = open(path, "rb")
    magic = file.read(len(ZSTD_MAGIC))
    file.seek(0)
    if magic != ZSTD_MAGIC:
        return file
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)


def decode(path):
    """Yields the metadata, then every record, as the package reads them, unconverted."""
    decoder = databento_dbn.DBNDecoder(
        upgrade_policy=databento_dbn.VersionUpgradePolicy.AS_IS,
        compression=databento_dbn.Compression.NONE,
    )
    try:
        with open_decoded(path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                decoder.write(chunk)
                yield from decoder.decode()
    except (databento_dbn.DBNError, zstandard.ZstdError, OSError) as error:
        raise NotDbn(f"{path}: {error}") from error
    if decoder.buffer():
        raise NotDbn(f"{path}: {len(decoder.buffer())} bytes after its last whole record")


def decode_series(paths):
    """Yields the common metadata with A's times, then every record of each file."""
    for number, path in enumerate(paths):
        records = decode(path)
        metadata = next(records)
        first = next(records, None)
        if first is None:
            raise NotDbn(f"{path}: a file of a series without records")
        if (metadata.start, metadata.end) != (first.ts_recv, None):
            raise NotDbn(f"{path}: says {metadata.start}..{metadata.end}, begins {first.ts_recv}")
        if number == 0:
            yield metadata
        yield from itertools.chain([first], records)


def without_times(metadata):
    """The metadata fields that all files in a series share."""
    names = ("version", "dataset", "schema", "stype_in", "stype_out", "limit", "ts_out", "symbols",
             "partial", "not_found", "mappings")
    return {name: getattr(metadata, name) for name in names}


def first_difference(path_a, *paths_b):
    """(equal records, None), or (equal records before it, the first difference)."""
    ends = object()
    path_b, *more = paths_b
    in_b = decode_series(paths_b) if more else decode(path_b)
    pairs = itertools.zip_longest(decode(path_a), in_b, fillvalue=ends)
    metadata_a, metadata_b = next(pairs, (None, None))
    if more:
        metadata_a, metadata_b = without_times(metadata_a), without_times(metadata_b)
    if metadata_a != metadata_b:
        return 0, f"metadata\n  {path_a}: {metadata_a}\n  {path_b}: {metadata_b}"
    count = 0
    for a, b in pairs:
        if a is ends or b is ends:
            shorter = path_a if a is ends else path_b
            return count, f"{shorter} ends after {count} records, the other goes on"
        if bytes(a) != bytes(b):
            return count, f"record {count + 1}\n  {path_a}: {a}\n  {path_b}: {b}"
        count += 1
    return count, None


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        count, difference = first_difference(*sys.argv[1:])
    except NotDbn as error:
        print(error, file=sys.stderr)
        return 2
    if difference is not None:
        print(f"{count} records equal, then they differ: {difference}")
        return 1
    print(f"{count} records equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
