"""The records that a reader of a bus may receive: the line of every record, by sequence.

A history is one journal id: sequences from 1 on, in one or more sessions, each with a feed whose
n-th record is known. A bus has one history, or several after resets.
"""

import itertools
import json

MASK64 = 0xFFFFFFFFFFFFFFFF


def kv16_content(seed, count):
    """The output of `tail --format json` for the feed `kv16:seed=SEED`, after the sequence."""
    contents = []
    for number in range(count):
        mixed = seed + number + 0x9E3779B97F4A7C15 & MASK64
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK64
        contents.append(b'"key":%d,"value":%d}' % (mixed ^ (mixed >> 31), number + 1))
    return contents


def dbn_records(data):
    """The records of a raw DBN file as bytes, without an incomplete last one."""
    if len(data) < 8 or data[:3] != b"DBN":
        return []
    at = 8 + int.from_bytes(data[4:8], "little")
    records = []
    while at < len(data):
        size = 4 * data[at]
        if size == 0 or at + size > len(data):
            break
        records.append(data[at:at + size])
        at += size
    return records


class Feed:
    """The content of a feed's records, as `tail --format json` prints them after the sequence. If a
    DBN file can hold them, also as bytes, with the metadata at the start of the file."""

    def __init__(self, source, contents, records=None, metadata=b""):
        self.source, self.contents = source, contents
        self.records, self.metadata = records or [], metadata

    def __len__(self):
        return len(self.contents)


class Expected:
    """Histories, oldest first, each as lines of JSON and as records of a DBN file."""

    def __init__(self):
        self.histories = []
        self.files = []

    def copy(self):
        other = Expected()
        other.histories = [dict(history) for history in self.histories]
        other.files = [dict(file) for file in self.files]
        return other

    def add_session(self, first, feed, new_history=False, count=None):
        """A session of the feed's first `count` records, from sequence `first` on."""
        if new_history or not self.histories:
            self.histories.append({})
            self.files.append({})
        for sequence, content in enumerate(feed.contents[:count], first):
            self.histories[-1][sequence] = b'{"seq":%d,' % sequence + content
        for sequence, record in enumerate(feed.records[:count], first):
            self.files[-1][sequence] = record

    @property
    def published(self):
        """The newest sequence in the newest history."""
        return max(self.histories[-1], default=0) if self.histories else 0


class TailCheck:
    """Checks the output of `tail --from start --format json`, line by line."""

    def __init__(self, expected, known_gone=()):
        """known_gone: ranges that a reader from the start need not report, because other commands
        do: those removed by retention, and voids."""
        self.expected = expected
        self.known_gone = list(known_gone)
        self.faults = []
        self.candidates = list(range(len(expected.histories)))
        self.next = 1
        self.delivered = 0
        self.told_lost = []  # reported by an event
        self.told = False  # any loss was reported

    def fault(self, text):
        if len(self.faults) < 3:
            self.faults.append(text)

    def record(self, line):
        sequence = int(line[7:line.index(b",", 7)])
        if sequence < self.next:
            self.fault(f"record {sequence} was delivered again, or out of order: "
                       f"{self.next} was due")
        elif sequence > self.next:
            self.silent(self.next, sequence - 1)
        matching = [index for index in self.candidates
                    if self.expected.histories[index].get(sequence) == line]
        if matching:
            self.candidates = matching
        else:
            self.fault(f"record {sequence} is not what was published: {line[:120].decode()}")
        self.next = sequence + 1
        self.delivered += 1

    def silent(self, first, last):
        """Checks skipped sequences: each must be unpublished or reported."""
        gone = self.told_lost + (self.known_gone if first == 1 else [])
        for lost_first, lost_last in sorted(gone):
            if lost_first <= first <= lost_last:
                first = lost_last + 1
        if first <= last:
            self.fault(f"records {first} to {last} were passed over in silence")

    def event(self, event):
        kind = event.get("event")
        if kind in ("gap", "lost") and not event.get("fillable"):
            self.told_lost.append((event["first"], event["last"]))
            self.told = True
        if kind == "reset":
            self.candidates = list(range(len(self.expected.histories)))
            self.next = event.get("seq") or 1
            self.told_lost = []
            self.told = True

    def read(self, outcome):
        """Checks a finished command's output. Exit code 0 means that nothing is missing."""
        if outcome.hung:
            return []  # the hang is the fault
        for line in outcome.out.split(b"\n"):
            if line.startswith(b'{"seq":'):
                self.record(line)
            elif line.startswith(b'{"event"'):
                self.event(json.loads(line))
        newest = self.expected.histories[-1] if self.expected.histories else {}
        if outcome.code == 0 and newest and not self.told:
            if self.candidates and self.candidates[-1] != len(self.expected.histories) - 1:
                self.fault("exit code 0, but the records are of an older history")
            elif any(first <= self.next and self.expected.published <= last
                     for first, last in self.known_gone):
                pass
            elif self.next <= self.expected.published:
                self.fault(f"exit code 0, but nothing was said of {self.next} to "
                           f"{self.expected.published}")
        return self.faults


def check_file(expected, data, outcome):
    """The faults of a raw DBN file written by `export --summary`."""
    lines = [line for line in outcome.out.splitlines() if line.startswith(b"{")]
    summary = json.loads(lines[-1]) if lines else {}
    records = dbn_records(data)
    by_content = [{content: sequence for sequence, content in history.items()}
                  for history in expected.files]
    faults = []
    for places in reversed(by_content):
        sequences = [places.get(record) for record in records]
        if None not in sequences:
            break
    else:
        unknown = next((n for n, record in enumerate(records)
                        if not any(record in places for places in by_content)), None)
        if unknown is None and b"reset" in outcome.err:
            return []
        return [f"record number {unknown} of the file is not one that was published"
                if unknown is not None else "the file mixes records of two histories"]
    if b"reset" in outcome.err:  # the file continues with another history, as reported
        return faults
    if any(later <= earlier for earlier, later in itertools.pairwise(sequences)):
        faults.append("the file has records twice or out of order")
    if outcome.code == 0 and summary.get("lost") == 0:
        if sequences and sequences != list(range(sequences[0], sequences[-1] + 1)):
            faults.append("the file has a hole, and the summary says that nothing was lost")
        if summary.get("records") != len(records):
            faults.append(f"the summary says {summary.get('records')} records, the file has "
                          f"{len(records)}")
    return faults
