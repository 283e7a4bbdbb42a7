import pytest

import lapwing
from ends import pair
from quotes import publisher, quotes


@pytest.fixture
def bus(tmp_path):
    """The directory of a bus that was closed after 100 quotes."""
    with publisher(tmp_path / "bus") as opened:
        opened.publish(quotes(1, 100))
    return tmp_path / "bus"


@pytest.fixture
def ends(tmp_path):
    """A producer and its consumer."""
    consumer, producer = pair(tmp_path / "socket", lapwing.Consumer, lapwing.Producer)
    with consumer, producer:
        yield producer, consumer


@pytest.fixture
def duplexes(tmp_path):
    """A server and its client."""
    server, client = pair(tmp_path / "socket", lapwing.Duplex, lapwing.Duplex)
    with server, client:
        yield server, client
