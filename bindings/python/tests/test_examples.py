"""Runs the examples the way a user does."""

import subprocess
import sys
from pathlib import Path

import lapwing
from mbo import INSTRUMENT, PRICE, PUBLISHER, publish
from quotes import follower, publisher, quotes

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_top_of_book_follows_the_best_prices(tmp_path):
    publish(tmp_path / "bus")
    # Each side appears, then a better bid is added and cancelled.
    assert run("top_of_book.py", tmp_path / "bus", INSTRUMENT, PUBLISHER) == (
        "4 changes of the best prices over 6 records; "
        f"the last are {99 * PRICE} and {101 * PRICE}\n"
    )


def test_two_buses_are_followed_in_one_thread(tmp_path):
    buses = [tmp_path / name for name in ("es", "nq")]
    for number, directory in enumerate(buses, 1):
        with publisher(directory) as opened:
            opened.publish(quotes(1, 1000 * number))
    said = run("two_buses.py", *buses).splitlines()
    assert said[-2:] == [f"{buses[0]}: 1000 records", f"{buses[1]}: 2000 records"]
    assert {f"{directory}: session 1" for directory in buses} <= set(said)


def test_publish_publishes_described_quotes(tmp_path):
    said = run("publish.py", tmp_path / "bus", 10_000)
    assert said == "published up to 10000, durable up to 10000\n"
    with follower(tmp_path / "bus") as subscriber:
        records = [item for item in subscriber if isinstance(item, lapwing.Records)]
    assert sum(map(len, records)) == 10_000
    assert records[0].schema.name == "desk.quote"
    assert records[-1].rows["price"][-1] == (4500 + 9999) * PRICE


def test_the_client_gets_squares_from_the_server(tmp_path):
    path = tmp_path / "squares.sock"
    server = subprocess.Popen([sys.executable, "-W", "error", EXAMPLES / "call_server.py", path])
    try:
        assert run("call_client.py", path, 7, 2**32 - 1) == (
            f"7 * 7 = 49\n{2**32 - 1} * {2**32 - 1} = {(2**32 - 1) ** 2}\n"
        )
        assert server.wait(timeout=30) == 0
    finally:
        server.kill()
        server.wait()
