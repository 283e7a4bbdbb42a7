"""Tests recordings in a series of files split by time, and recordings that cannot be continued."""

import datetime
import pathlib
import shutil
import struct
import unittest
import zoneinfo

import harness
import recordings

DONE, USAGE, DAMAGED = 0, 2, 4
MBO_BYTES = 56
TS_EVENT_AT, FLAGS_AT, TS_RECV_AT = 8, 36, 40
FLAG_LAST = 0x80
MINUTE_NS = 60 * 10**9
YEAR_NS = 365 * 24 * 60 * MINUTE_NS
CHICAGO = "America/Chicago"


def utc_ns(text, zone="UTC"):
    """A local time as text, in ns since 1970."""
    local = datetime.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return int(local.timestamp()) * 10**9


class RotationTest(recordings.RecordingTest):
    def setUp(self):
        super().setUp()
        self.template = harness.Dbn(self.raw_dbn("synthetic:records=1"))

    def publish_times(self, times):
        """Creates a bus with one record, a complete event, for each of these times."""
        content = self.template.content
        record = bytearray(content[self.template.begin:self.template.begin + MBO_BYTES])
        record[FLAGS_AT] |= FLAG_LAST
        feed = bytearray(content[:self.template.begin])
        for time in times:
            struct.pack_into("<Q", record, TS_EVENT_AT, time)
            struct.pack_into("<Q", record, TS_RECV_AT, time)
            feed += record
        path = self.folder / "feed.dbn"
        path.write_bytes(feed)
        shutil.rmtree(self.bus, ignore_errors=True)
        self.run_to_end("publish", "publish", "--source", f"dbn:{path}")

    def recorded(self, out, *options):
        """The names of the files in the series, without the stem, each with its number of
        records."""
        recorder = self.record("recorder", self.folder / out, *options)
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        return [(file.name.split(".")[2], harness.Dbn(file.read_bytes()).records)
                for file in self.series(self.folder / out)]


class ByTime(RotationTest):
    BEGIN_NS = utc_ns("2026-01-05T10:00:00")

    def hours(self, count):
        return [self.BEGIN_NS + minute * 10 * MINUTE_NS for minute in range(count * 6)]

    def test_records_with_a_wrong_time_change_nothing_and_a_restart_neither(self):
        self.publish_times(self.hours(6))
        expected = self.recorded("right.dbn", "--rotate-every", "1h")
        self.assertEqual([records for _, records in expected], [6] * 6)
        for wrong in (0, 2**63 - 1, 2**63, 2**64 - 1, self.BEGIN_NS + YEAR_NS):
            with self.subTest(wrong=wrong):
                times = self.hours(6)
                times[9:9] = [wrong] * 3
                self.publish_times(times)
                out = f"wrong-{wrong}.dbn"
                files = self.recorded(out, "--rotate-every", "1h", "--count", 11)
                self.assertEqual(sum(records for _, records in files), 11)
                files = self.recorded(out, "--rotate-every", "1h")
                self.assertEqual([time for time, _ in files], [time for time, _ in expected])
                self.assertEqual([records for _, records in files], [6, 9, 6, 6, 6, 6])

    def test_a_day_begins_at_its_time_in_its_zone(self):
        # Around the Sunday when the clocks go forward: 24, 23 and 24 hours.
        first = utc_ns("2026-03-06T17:00:00", CHICAGO)
        self.publish_times([first + hour * 60 * MINUTE_NS for hour in range(24 + 23 + 24)])
        days = ("--rotate-at", "17:00", "--time-zone", CHICAGO)
        expected = [("20260306T230000Z", 24), ("20260307T230000Z", 23), ("20260308T220000Z", 24)]
        self.assertEqual(self.recorded("days.dbn", *days), expected)
        self.assertEqual(self.recorded("also.dbn", "--rotate-every", "day", *days), expected)
        for count in (1, 30, 46, 48):  # also in several runs
            self.recorded("runs.dbn", *days, "--count", count)
        self.assertEqual(self.recorded("runs.dbn", *days), expected)

    def test_weeks_and_months(self):
        days = [self.BEGIN_NS + day * 24 * 60 * MINUTE_NS for day in range(60)]  # from a Monday on
        self.publish_times(days)
        self.assertEqual([records for _, records in
                          self.recorded("weeks.dbn", "--rotate-every", "week")], [7] * 8 + [4])
        self.assertEqual(self.recorded("months.dbn", "--rotate-every", "month"),
                         [("20260105T100000Z", 27), ("20260201T100000Z", 28),
                          ("20260301T100000Z", 5)])
        sundays = self.recorded("sundays.dbn", "--rotate-every", "week", "--rotate-at",
                                "Sun 17:00", "--time-zone", CHICAGO)
        self.assertEqual([records for _, records in sundays], [7] * 8 + [4])

    def test_a_configuration_file_takes_the_same(self):
        self.publish_times([utc_ns("2026-01-05T16:59:00", CHICAGO),
                            utc_ns("2026-01-05T17:00:00", CHICAGO)])
        config = self.folder / "record.toml"
        config.write_text(f'rotate-at = "17:00"\ntime-zone = "{CHICAGO}"\n')
        self.assertEqual(self.recorded("toml.dbn", "--config", config),
                         [("20260105T225900Z", 1), ("20260105T230000Z", 1)])

    def test_a_wrong_rotation_is_refused_with_the_forms_there_are(self):
        for options, words in (
                (("--rotate-every", "fortnight"), "day, week or month"),
                (("--rotate-at", "5pm"), "HH:MM"),
                (("--rotate-at", "24:00"), "HH:MM"),
                (("--rotate-at", "Sonntag 17:00"), "Sun, Mon, Tue, Wed, Thu, Fri, Sat"),
                (("--rotate-every", "month", "--rotate-at", "Sun 17:00"), "--rotate-every week"),
                (("--rotate-every", "1h", "--rotate-at", "17:00"), "--rotate-every day"),
                (("--rotate-every", "1h", "--time-zone", CHICAGO), "--rotate-every day"),
                (("--time-zone", CHICAGO), "Use --rotate-at"),
                (("--rotate-at", "17:00", "--time-zone", "America/Chicgo"),
                 f'--time-zone: time zone "America/Chicgo" is unknown. Use a name of the IANA '
                 f"database, for example {CHICAGO}")):
            with self.subTest(options=options):
                refused = self.run_to_end("refused", "record", "--out", self.folder / "x.dbn",
                                          *options, expect=USAGE)
                self.assertIn(words, refused.err())
                self.assertEqual(list(self.folder.glob("x.*")), [])

    def test_a_machine_without_time_zones_is_named(self):
        empty = {"TZDIR": str(self.folder / "none"), "PATH": "/usr/bin:/bin"}
        refused = self.run_to_end("refused", "record", "--out", self.folder / "x.dbn",
                                  "--rotate-at", "17:00", "--time-zone", CHICAGO, expect=USAGE,
                                  env=empty)
        self.assertIn("Install the package tzdata", refused.err())


class AnotherFile(RotationTest):
    """A recorder continues only a file that it has recorded itself."""

    def setUp(self):
        super().setUp()
        self.publish_times([utc_ns("2026-01-05T10:00:00") + n for n in range(1000)])
        self.out = self.folder / "es.dbn"

    def run_recorder(self, *options, expect=DONE):
        return self.run_to_end("recorder", "record", "--from", "start", "--out", self.out,
                               "--until-closed", *options, expect=expect)

    def kept(self):
        """The content of the recording and its position."""
        return {path.name: path.read_bytes() for path in self.folder.glob("es.dbn*")
                if path.suffix != ".lock"}

    def assert_refused(self, *words):
        before = self.kept()
        refused = self.run_recorder(expect=DAMAGED)
        for word in (str(self.out), "up to record 200", f"{self.out}.position", "after:", *words):
            self.assertIn(word, refused.err())
        self.assertEqual(self.kept(), before)

    def test_is_refused(self):
        self.run_recorder("--count", 100)
        older = self.out.read_bytes()
        self.run_recorder("--count", 100)
        newer = self.out.read_bytes()
        self.out.write_bytes(older)
        self.assert_refused(f"has only {len(older)} bytes", "older copy")
        self.out.write_bytes(older + older)
        self.assert_refused("has other content", "checksum")
        self.out.unlink()
        self.assert_refused("is missing")
        self.out.write_bytes(newer)
        self.run_recorder()
        self.assertEqual(harness.Dbn(self.out.read_bytes()).records, 1000)

    def test_what_the_message_names_continues_after_the_last_record(self):
        self.run_recorder("--count", 200)
        self.out.unlink()
        position = self.run_recorder(expect=DAMAGED).err().split("after:")[1].split()[0]
        pathlib.Path(f"{self.out}.position").unlink()
        self.run_to_end("again", "record", "--from", f"after:{position}", "--out", self.out,
                        "--until-closed")
        self.assertEqual(harness.Dbn(self.out.read_bytes()).records, 800)


if __name__ == "__main__":
    unittest.main()
