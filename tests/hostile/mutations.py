"""Ways to damage a file or directory. Each takes a path, and returns a description."""

import os
import pathlib
import shutil
import socket
import stat


def _writable(path):
    os.chmod(path, os.stat(path).st_mode | 0o600)
    return open(path, "r+b")


def _position(rng, size):
    """An offset in a file, usually near its start or end."""
    choice = rng.random()
    if choice < 0.35:
        return rng.randrange(min(size, 512))
    if choice < 0.5:
        return size - 1 - rng.randrange(min(size, 512))
    return rng.randrange(size)


def flip_bit(path, rng, _):
    size = os.path.getsize(path)
    if size == 0:
        return None
    at, bit = _position(rng, size), rng.randrange(8)
    with _writable(path) as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << bit)]))
    return f"flipped bit {bit} of byte {at}"


def overwrite(path, rng, _):
    size = os.path.getsize(path)
    if size == 0:
        return None
    at = _position(rng, size)
    count = min(size - at, rng.choice((1, 4, 8, 100, 512, 4096)))
    what = rng.choice((b"\0" * count, b"\xff" * count, rng.randbytes(count)))
    with _writable(path) as file:
        file.seek(at)
        file.write(what)
    return f"overwrote {count} bytes at {at} by {what[:4].hex()}…"


def cut(path, rng, _):
    size = os.path.getsize(path)
    keep = rng.choice((0, 0, 1, size // 2, max(0, size - 1), _position(rng, size) if size else 0))
    os.truncate(path, keep)
    return f"cut to {keep} bytes"


def extend(path, rng, _):
    what = rng.choice((b"\0" * 100, b"x", b"\xff" * 4096, rng.randbytes(512)))
    os.chmod(path, os.stat(path).st_mode | 0o200)
    with open(path, "ab") as file:
        file.write(what)
    return f"added {len(what)} bytes at the end"


def extend_sparse(path, rng, _):
    size = rng.choice((1 << 40, 1 << 32, (1 << 31) - 1, 1 << 24))
    try:
        os.truncate(path, size)
    except OSError:
        os.truncate(path, size := 1 << 24)
    return f"extended to {size} bytes, a hole"


def delete(path, _, __):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    return "deleted"


def _put_in_place(path, make):
    delete(path, None, None)
    make(path)


def link_to_itself_elsewhere(path, _, place):
    kept = place.folder / f"moved-{os.path.basename(path)}"
    os.rename(path, kept)
    os.symlink(kept, path)
    return "moved away, a link to it left"


def link_to_sentinel(path, rng, place):
    target = place.sentinels.directory if os.path.isdir(path) else rng.choice(
        (place.sentinels.file, place.sentinels.folder / "sentinel-killed" / "bus.json"))
    _put_in_place(path, lambda name: os.symlink(target, name))
    return "replaced by a link to a sentinel"


def link_to_device(path, rng, _):
    target = rng.choice(("/dev/zero", "/dev/null", "/dev/full", "/dev/urandom"))
    _put_in_place(path, lambda name: os.symlink(target, name))
    return f"replaced by a link to {target}"


def link_to_nothing(path, rng, place):
    target = rng.choice((path, str(place.folder / "nothing"), "/proc/self/fd/0", "/"))
    _put_in_place(path, lambda name: os.symlink(target, name))
    return "replaced by a link to itself, to nothing, or to elsewhere"


def replace_by_fifo(path, _, __):
    _put_in_place(path, lambda name: os.mkfifo(name, 0o600))
    return "replaced by a FIFO"


def replace_by_socket(path, _, __):
    def make(name):
        with socket.socket(socket.AF_UNIX) as listener:
            folder = os.open(os.path.dirname(name), os.O_PATH)
            listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(name)}")
            os.close(folder)
    _put_in_place(path, make)
    return "replaced by a dead socket"


def replace_by_directory(path, rng, _):
    _put_in_place(path, lambda name: os.mkdir(name, 0o700))
    if rng.random() < 0.5:
        (pathlib.Path(path) / "within").write_text("kept\n")
    return "replaced by a directory"


def replace_by_device(path, rng, _):
    minor = rng.choice((3, 5, 7))
    _put_in_place(path, lambda name: os.mknod(name, stat.S_IFCHR | 0o600, os.makedev(1, minor)))
    return f"replaced by the device 1:{minor}"


def replace_by_text(path, rng, _):
    what = rng.choice((b"", b"\n", b"{}", b"null", b"[" * 5000, b'{"abi": 1}', b"\xff\xfe" * 40))
    _put_in_place(path, lambda name: pathlib.Path(name).write_bytes(what))
    return f"replaced by the text {what[:12]!r}"


def change_mode(path, rng, _):
    mode = rng.choice((0, 0o400, 0o666, 0o777, 0o4755, 0o1777))
    os.chmod(path, mode)
    return f"its mode made {mode:o}"


def change_owner(path, _, place):
    os.chown(path, place.stranger_uid, place.stranger_uid)
    return "given to another user"


def rename(path, rng, _):
    suffix = rng.choice((".new", ".tmp", ".old", "\x1b[31m"))
    os.rename(path, str(path) + suffix)
    return f"renamed to end in {suffix!r}"


def swap_with_another(path, rng, place):
    """Swaps it with a file of the same kind, from this bus or another."""
    others = [other for other in place.same_kind if str(other) != str(path)]
    if not others:
        return None
    other = rng.choice(others)
    held = str(path) + ".held"
    os.rename(path, held)
    os.rename(other, path)
    os.rename(held, other)
    return f"swapped with {os.path.basename(other)}"


def replace_by_anothers(path, rng, place):
    """Replaces it with the file of that name in another base."""
    found = [file for file in place.of_other_bases(path) if file.is_file()]
    if not found:
        return None
    shutil.copy2(source := rng.choice(found), held := str(path) + ".held")
    delete(path, rng, place)
    os.rename(held, path)
    return f"replaced by that of the base {source.relative_to(place.kept).parts[0]}"


OF_FILES = (flip_bit, overwrite, cut, extend, extend_sparse, delete, link_to_itself_elsewhere,
            link_to_sentinel, link_to_device, link_to_nothing, replace_by_fifo, replace_by_socket,
            replace_by_directory, replace_by_device, replace_by_text, change_mode, change_owner,
            rename, swap_with_another, replace_by_anothers)
OF_DIRECTORIES = (delete, link_to_itself_elsewhere, link_to_sentinel, link_to_nothing,
                  replace_by_fifo, replace_by_text, replace_by_device, change_mode, change_owner,
                  rename)
