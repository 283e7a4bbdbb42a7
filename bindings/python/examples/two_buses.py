"""Follows two buses on one thread until both are closed.

    two_buses.py ./es ./nq
"""

import sys

import lapwing


def follow(one: str, other: str) -> None:
    records = {one: 0, other: 0}
    with (
        lapwing.Subscriber(one, start="oldest", wait="park", end_at_close=True) as first,
        lapwing.Subscriber(other, start="oldest", wait="park", end_at_close=True) as second,
        lapwing.WaitSet(wait="park") as waits,
    ):
        waits.add(first, token=one)
        waits.add(second, token=other)
        for ready in waits:  # ends when the set is empty
            try:
                item = ready.source.read(timeout=0)
            except lapwing.Closed:
                waits.remove(ready.source)
                continue
            if isinstance(item, lapwing.Records):
                records[ready.token] += len(item)
            else:
                print(f"{ready.token}: {item}")
    for bus, count in records.items():
        print(f"{bus}: {count} records")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: two_buses.py BUS BUS")
    follow(sys.argv[1], sys.argv[2])
