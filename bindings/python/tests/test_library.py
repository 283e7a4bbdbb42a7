"""Checks which library is loaded, and that it is complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing
from lapwing import _native

HEADER = Path(__file__).parents[3] / "include" / "lapwing.h"


def import_with(library):
    return subprocess.run(
        [sys.executable, "-c", "import lapwing; print(lapwing.LIBRARY, lapwing.ABI)"],
        env=os.environ | {"LAPWING_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_library(folder, source):
    path = folder / "libfake.so"
    compile_it = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(compile_it, input=source, text=True, check=True)
    return path


def version_source(major, minor):
    return (
        "const char *lapwing_version(unsigned *abi) "
        f'{{ if (abi) *abi = {major}u << 16 | {minor}u; return "9.9"; }}'
    )


def test_every_function_of_the_header_is_called_by_name():
    declared = re.findall(r"^LAPWING_API(?:_V)? .*?\b(lapwing_\w+)\(", HEADER.read_text(), re.M)
    assert len(declared) == 88
    assert sorted(declared) == sorted(_native.function_names())


def test_the_chosen_library_is_the_one_in_use():
    done = import_with(lapwing.LIBRARY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{lapwing.LIBRARY} {lapwing.ABI}"


def test_a_library_that_is_missing_is_named(tmp_path):
    done = import_with(tmp_path / "nothing.so")
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert str(tmp_path / "nothing.so") in done.stderr
    assert "LAPWING_LIBRARY" in done.stderr


def test_another_major_version_is_refused_in_words(tmp_path):
    done = import_with(fake_library(tmp_path, version_source(2, 0)))
    assert done.returncode == 1
    assert "the library has interface version 2.0, but this package needs 1.0" in done.stderr


def test_a_library_that_lacks_a_function_is_refused(tmp_path):
    done = import_with(fake_library(tmp_path, version_source(1, 7)))
    assert done.returncode == 1
    assert "lacks lapwing_error_name" in done.stderr


def test_a_library_of_another_kind_is_refused(tmp_path):
    done = import_with(fake_library(tmp_path, "int something_else;"))
    assert done.returncode == 1
    assert "this is not a Lapwing library" in done.stderr


def test_errors_have_their_stable_names():
    assert lapwing.error_name(0) == "ok"
    assert lapwing.error_name(13) == "timed-out"
    assert lapwing.error_name(35) == "no-answer"
    assert lapwing.error_name(36) == "unknown"


def test_an_error_has_its_number_name_and_errno(tmp_path):
    with pytest.raises(lapwing.Error) as raised:
        lapwing.History(tmp_path / "nothing")
    assert (raised.value.number, raised.value.name) == (2, "no-bus")
    assert isinstance(raised.value.errno, int)
    assert str(tmp_path / "nothing") in raised.value.message
    assert str(raised.value) == f"{raised.value.message} [no-bus]"


def test_a_word_that_is_no_option_is_an_error_that_lists_the_words(tmp_path):
    with pytest.raises(lapwing.Error, match="on_gap is 'jump'; it can be: fill, skip, stop"):
        lapwing.Subscriber(tmp_path, on_gap="jump")


def test_the_package_has_its_types():
    folder = Path(lapwing.__file__).parent
    assert (folder / "py.typed").exists()
    stubs = (folder / "_native.pyi").read_text()
    assert "class Subscriber(Handle):" in stubs
    assert stubs.count("def __buffer__(") == 3  # a message, a claim and a view
