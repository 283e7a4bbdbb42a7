"""The driver's timed steps say what the contract says; how much, bench/languages.sh compares."""

import re

import pytest

import driving
import lapwing

NUMBER = r"[0-9]+\.[0-9]{3}"
READ = "directory=../bus records=1000 passes=2"
PUBLISH = "directory=own records=1000 passes=2"
ANSWERS = {
    f"rate.read {READ} rows=64": rf"ok ns={NUMBER} garbage=-",
    f"rate.take {READ}": rf"ok ns={NUMBER}",
    "rate.to-arrow records=1000 passes=2": rf"ok ns={NUMBER} copy={NUMBER}",
    f"rate.publish {PUBLISH} rows=64": rf"ok ns={NUMBER}",
    f"rate.publish-one {PUBLISH}": rf"ok ns={NUMBER}",
}
PAIRS = {
    "buses": ("rate.echo in=there out=back count=3000", "rate.ping in=back out=there count=3000"),
    "channels": ("rate.channel-echo path=s count=3000", "rate.channel-ping path=s count=3000"),
}


@pytest.fixture
def folder(tmp_path):
    """The driver's; beside it is the bus `../bus` of 1,000 records of 56 bytes."""
    with lapwing.Publisher(tmp_path / "bus", record_bytes=56) as opened:
        opened.publish(bytes(56 * 1000))
        opened.flush()
        (tmp_path / "driver").mkdir()
        yield tmp_path / "driver"


def test_the_driver_times_one_side(folder):
    answers = driving.drive(folder, ANSWERS)
    for (answer,), expected in zip(answers, ANSWERS.values(), strict=True):
        assert re.fullmatch(expected, answer)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_driver_times_round_trips(tmp_path, pair):
    echo, ping = (driving.start(tmp_path, [step]) for step in PAIRS[pair])
    assert re.fullmatch(r"ok ns=[0-9]+\.[0-9]", driving.ended(ping)[0][0])
    assert driving.ended(echo) == [["ok"]]
