"""Tests that error messages say what failed, where, and what to do, and that exit codes are as
documented."""

import json
import os
import pathlib
import random
import resource
import socket
import subprocess
import unittest

import feed_files
import harness
import seccomp

DONE, OTHER, USAGE, DAMAGED, GONE, LOST = 0, 1, 2, 4, 5, 6
NOBODY = 65_534
SNAPSHOT = "esh4-glbx-mdp3-20231224.mbo.dbn.zst"
TRADES = "futures_trades_2024-07-01T23-58_2024-07-02T00-02.dbn.zst"
QUIET = ("--format", "none", "--summary")
SMALL_TMPFS = "64m"
STARTS_AT_ONCE = 10
OF_A_RING = 500_000  # records: fewer than 2^19, but more than fit in 24 MiB of journal


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root")(test)


class Numbers(harness.BusTest):
    """Numeric options refuse numbers that wrap, and print their range."""

    WHOLE = (("book", "--depth"), ("book", "--at"), ("checkpoint", "--keep"), ("state", "--at"),
             ("state", "--limit"), ("tail", "--count"), ("export", "--first"),
             ("export", "--last"), ("publish", "--loop"), ("publish", "--await"),
             ("publish", "--capacity"))
    SIZES = (("record", "--rotate-bytes"), ("publish", "--segment-bytes"),
             ("publish", "--retain-bytes"))
    # A command, a duration option, and its other accepted values.
    DURATIONS = (("publish", "--linger", ""), ("tail", "--reattach", ", or forever"),
                 ("record", "--reattach", ", or forever"),
                 ("checkpoint", "--reattach", ", or forever"))
    ABOVE_ZERO = (("publish", "--sync-interval", ", or on-request"), ("tail", "--conflate", ""),
                  ("health", "--max-delay", ""))
    CHANNEL_DURATIONS = ("--interval", "--retry")
    UNITS = ". Use a number with a unit, such as 250ms, 10s, 5m, 1h or 1d"
    NEEDED = {"checkpoint": ("--fold", "orders"), "record": ("--out", "x.dbn"),
              "export": ("--out", "x.dbn"), "publish": ("--source", "synthetic:records=1")}

    def refuse(self, command, option, text, words):
        with self.subTest(command=command, option=option, text=text):
            refused = self.run_to_end("refused", command, f"{option}={text}",
                                      *self.NEEDED.get(command, ()), expect=USAGE)
            for word in (option, f"{text} {words}"):
                self.assertIn(word, refused.err())
            self.assertFalse(os.path.exists(self.bus))

    def test_what_is_no_number_is_refused_before_anything_is_done(self):
        for text in ("-1", "1.5", "many", "99999999999999999999"):
            for command, option in self.WHOLE:
                self.refuse(command, option, text, "is not a whole number from")
        for text in ("-1", "1.5G", "5Q", "16777216T"):
            for command, option in self.SIZES:
                self.refuse(command, option, text, "is not a size from")

    def test_a_duration_without_a_unit_is_refused_with_the_units(self):
        for text in ("10", "1e10", "0.5", "-1", "-1s", "soon", "nan", "inf", "0.5ns", "200000d"):
            for command, option, word in self.DURATIONS:
                self.refuse(command, option, text, f"is not a duration{self.UNITS}{word}.")
            for command, option, word in self.ABOVE_ZERO:
                self.refuse(command, option, text, f"is not a duration above 0{self.UNITS}{word}.")
            for option in self.CHANNEL_DURATIONS:
                done = subprocess.run([harness.program(), "ping", "x.sock", f"{option}={text}"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, USAGE)
                self.assertIn(f"{option}: {text} is not a duration{self.UNITS}.", done.stderr)

    def test_a_time_of_zero_is_refused_where_it_has_no_meaning(self):
        for text in ("0", "0s"):
            for command, option, word in self.ABOVE_ZERO:
                self.refuse(command, option, text, f"is not a duration above 0{self.UNITS}{word}.")

    def test_a_time_of_zero_needs_no_unit_where_it_has_a_meaning(self):
        for text in ("0", "0s"):
            bus = str(self.folder / text)
            self.run_to_end("publish", "publish", "--source", "synthetic:records=1",
                            "--linger", text, bus=bus)
            self.run_to_end("tail", "tail", "--reattach", text, expect=GONE)

    def test_durations_may_have_several_units(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=1",
                        "--linger", "1ms1us", "--sync-interval", "1h30m")

    def test_a_size_may_have_a_unit(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=3000",
                        "--segment-bytes", "64k", "--retain-bytes", "1GiB")
        files = list((pathlib.Path(self.bus) / "journal").rglob("*.jnl"))
        self.assertEqual(len(files), 3)  # 1,024 slots each


class Feeds(harness.BusTest):
    """Sources that are missing, foreign or damaged."""

    def refuse(self, source, code, *words, options=()):
        process = self.run_to_end("publish", "publish", "--source", source, *options, expect=code)
        self.assert_says(process, *words)
        self.assertFalse(os.path.exists(self.bus), "a bus was made for a feed that cannot be read")
        return process

    def assert_says(self, process, *words):
        for word in words:
            self.assertIn(word, process.err())

    def orders(self):
        return harness.Dbn(harness.decoded(harness.feed_file("mbo", SNAPSHOT)))

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_a_missing_file_is_named(self):
        self.refuse("dbn:/nowhere/es.dbn", OTHER, "/nowhere/es.dbn", "No such file")

    def test_an_unknown_source_is_wrong_usage_that_names_the_forms(self):
        self.refuse("csv:x", USAGE, "dbn:", "synthetic")

    def test_what_is_not_dbn_is_said_with_its_name(self):
        path = self.write("text.dbn", b"symbol,price\nESH4,4700.25\n" * 100)
        self.refuse(f"dbn:{path}", DAMAGED, str(path), "DBN")

    def test_a_schema_that_no_release_knows_is_refused(self):
        content = bytearray(harness.decoded(harness.feed_file("mbo", SNAPSHOT)))
        content[24:26] = (20).to_bytes(2, "little")
        path = self.write("unknown.dbn", bytes(content))
        self.refuse(f"dbn:{path}", USAGE, "schema unknown (20)", "does not support")

    def test_a_schema_is_chosen_of_what_has_it(self):
        path = self.write("mbo.dbn", harness.decoded(harness.feed_file("mbo", SNAPSHOT)))
        self.refuse(f"dbn:{path}", USAGE, "not of trades", options=("--schema", "trades"))
        self.refuse("synthetic:records=1", USAGE, "Remove --schema",
                    options=("--schema", "mbo"))

    def publish_damaged(self, path):
        publisher = self.run_to_end("publish", "publish", "--source", f"dbn:{path}", "--summary",
                                    expect=DAMAGED)
        self.assert_says(publisher, str(path), "record")
        published = publisher.summary()
        self.assertEqual(published["durable"], published["last"])
        follower = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *QUIET)
        self.assertEqual(follower.summary()["records"], published["records"])
        print("\n" + publisher.err().strip().splitlines()[-1])
        return published["records"]

    def test_of_a_truncated_file_what_came_before_is_published_and_the_place_said(self):
        dbn = self.orders()
        whole = dbn.records - 101
        path = self.write("cut.dbn", dbn.content[:dbn.end_of(whole) + dbn.record_bytes - 20])
        self.assertEqual(self.publish_damaged(path), whole)

    def test_of_a_corrupt_zstd_file_what_came_before_is_published_and_the_place_said(self):
        feed = harness.feed_file("mbo", "esh4-glbx-mdp3-20231225.mbo.dbn.zst")
        data = bytearray(pathlib.Path(feed).read_bytes())
        data[len(data) // 2] ^= 0xFF
        records = self.publish_damaged(self.write("bad.dbn.zst", bytes(data)))
        self.assertGreater(records, 0)

    def test_records_of_another_type_are_counted_and_not_squeezed_in(self):
        dbn = self.orders()
        foreign = bytes([4, 0x17]) + bytes(14)  # a header-only record of another type
        path = self.write("mixed.dbn", dbn.content + foreign * 3)
        publisher = self.run_to_end("publish", "publish", "--source", f"dbn:{path}", "--summary")
        self.assertEqual(publisher.summary()["records"], dbn.records)
        self.assertEqual(publisher.summary()["skipped"], 3)
        self.assert_says(publisher, "3 records whose type is not")

    def test_a_mixed_source_says_which_schemas_it_cannot_tell_apart(self):
        quotes = b"".join(map(feed_files.mbp1, range(3)))
        path = self.write("mixed.dbn", feed_files.metadata("mixed") + quotes)
        publisher = self.run_to_end("publish", "publish", "--source", f"dbn:{path}", "--schema",
                                    "tbbo", "--summary")
        self.assertEqual(publisher.summary()["records"], 3)
        self.assert_says(publisher, f"{path} mixes schemas", "tbbo and mbp-1 have the same type",
                         "both are published as dbn.tbbo")


class Buses(harness.BusTest):
    """Buses that are in use or foreign, or do not match."""

    def publish(self, *more, expect=DONE, name="publish", records=1000, **keywords):
        return self.run_to_end(name, "publish", "--source", f"synthetic:records={records}", *more,
                               expect=expect, **keywords)

    def hold(self, *more, **keywords):
        """A publisher that keeps running."""
        holder = self.start("holder", "publish", "--source", "synthetic:records=1000",
                            "--linger", "600s", *more, **keywords)
        self.until_head(1000, bus=keywords.get("bus"))
        return holder

    def assert_says(self, process, *words):
        for word in words:
            self.assertIn(word, process.err())

    def test_a_second_publisher_on_the_bus_is_refused_and_the_first_goes_on(self):
        holder = self.hold()
        second = self.publish(expect=OTHER, name="second")
        self.assert_says(second, str(holder.pid))
        self.assertTrue(holder.alive())
        self.assertEqual(holder.stop(), DONE)

    def test_of_two_publishers_that_start_at_once_exactly_one_publishes(self):
        pairs = {}
        for attempt in range(STARTS_AT_ONCE):
            bus = str(self.folder / f"bus-{attempt}")
            pairs[bus] = [self.start(f"{name}-{attempt}", "publish", "--source",
                                     "synthetic:records=1000", "--capacity", 1024, "--linger", "600s",
                                     bus=bus) for name in ("one", "other")]
        for bus, pair in pairs.items():
            self.until("one to end", lambda two=pair: not all(each.alive() for each in two))
            (refused,) = [each for each in pair if not each.alive()]
            (holder,) = [each for each in pair if each.alive()]
            self.assertEqual(refused.wait(), OTHER, refused.err())
            self.assert_says(refused, bus, str(holder.pid))
            self.until_head(1000, bus=bus)
            self.assertEqual(holder.stop(), DONE, holder.err())
            (session,) = self.info(bus)["sessions"]
            self.assertEqual((session["first"], session["last"]), (1, 1000))

    def test_a_second_publisher_on_the_journal_is_refused(self):
        journal = str(self.folder / "journal")
        holder = self.hold("--journal", journal)
        second = self.publish("--journal", journal, expect=OTHER, name="second",
                              bus=str(self.folder / "other"))
        self.assert_says(second, str(holder.pid), "journal")

    def test_a_second_publisher_on_another_bus_s_own_journal_is_refused(self):
        holder = self.hold()
        second = self.publish("--journal", self.bus + "/journal", expect=OTHER, name="second",
                              bus=str(self.folder / "other"))
        self.assert_says(second, str(holder.pid), "journal")
        self.assertTrue(holder.alive())

    def test_no_repair_while_a_publisher_runs_however_the_bus_is_named(self):
        holder = self.hold()
        for name, bus in (("absolute", self.bus), ("slash", self.bus + "/"), ("relative", "bus")):
            repair = self.run_to_end(name, "repair", bus=bus, cwd=self.folder, expect=OTHER)
            self.assert_says(repair, str(holder.pid))

    def test_a_capacity_that_is_no_power_of_two_is_wrong_usage(self):
        self.assert_says(self.publish("--capacity", 1000, expect=USAGE), "1000", "power of two")

    def test_another_record_size_than_the_journal_holds_is_refused(self):
        self.publish()
        feed = harness.feed_file("trades", TRADES)
        other = self.run_to_end("other", "publish", "--source", f"dbn:{feed}", expect=USAGE)
        self.assert_says(other, "56 bytes", "48 bytes", "another bus directory")

    def test_a_directory_whose_parent_is_missing_is_named(self):
        bus = str(self.folder / "no" / "where")
        refused = self.publish(bus=bus, expect=OTHER)
        self.assert_says(refused, bus, "make the one that is to hold it")

    @needs_root
    def test_a_directory_that_is_not_writable_or_not_owned_is_refused(self):
        os.chmod(self.folder, 0o755)
        locked = self.publish(expect=OTHER, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assert_says(locked, self.bus, "ermi")
        foreign = self.folder / "foreign"
        foreign.mkdir(mode=0o700)
        os.chown(foreign, NOBODY, NOBODY)
        self.hold(bus=str(self.folder / "own"))
        taken = self.publish(expect=OTHER, name="taken", bus=str(foreign), user=NOBODY + 1,
                             group=NOBODY + 1, extra_groups=[])
        self.assert_says(taken, str(foreign))

    def test_a_path_too_long_for_a_socket_is_good_for_a_bus(self):
        bus = str(self.folder / ("x" * 100) / ("y" * 100))
        os.makedirs(os.path.dirname(bus))
        holder = self.hold(bus=bus)
        live = self.run_to_end("tail", "tail", "--from", "start", "--count", 1000, *QUIET, bus=bus)
        self.assertEqual(live.summary()["records"], 1000)
        self.assertEqual(holder.stop(), DONE)

    def test_a_path_too_long_for_a_header_is_refused_with_the_limit(self):
        bus = str(self.folder.joinpath(*["x" * 200] * 3))
        os.makedirs(os.path.dirname(bus))
        refused = self.publish(bus=bus, expect=USAGE)
        self.assert_says(refused, bus, "bytes", "more than the 511 ", "Choose a shorter one")
        self.assertFalse(os.path.exists(bus + "/bus.json"))

    def test_a_socket_replaced_by_a_file_link_or_directory_is_left_untouched(self):
        self.publish()
        path = pathlib.Path(self.bus) / "control.sock"
        for make in (lambda: path.write_text("mine"), lambda: path.symlink_to("/etc/hostname"),
                     path.mkdir):
            make()
            before = path.lstat()
            refused = self.publish(expect=OTHER, name="refused")
            self.assert_says(refused, str(path))
            self.assertEqual(path.lstat(), before)
            follower = self.run_to_end("tail", "tail", "--from", "start", expect=OTHER)
            self.assert_says(follower, str(path), "not changed")
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
        self.publish(name="after")
        follower = self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *QUIET)
        self.assertEqual(follower.summary()["records"], 2000)

    def test_a_subscriber_of_another_abi_is_told_both_versions(self):
        self.publish()
        description = pathlib.Path(self.bus) / "bus.json"
        text = description.read_text()
        description.write_text(text.replace('"abi": 1', '"abi": 99').replace('"abi":1', '"abi":99'))
        self.assertNotEqual(description.read_text(), text)
        follower = self.run_to_end("tail", "tail", "--from", "start", "--reattach", "1s", *QUIET,
                                   expect=OTHER)
        self.assert_says(follower, "ABI 99, this program 1", "the same release")
        self.assertEqual(follower.summary()["records"], 0)

    def test_a_bus_that_never_comes_ends_with_5_after_reattach(self):
        follower = self.start("tail", "tail", "--from", "start", "--reattach", "500ms", *QUIET)
        self.assertEqual(follower.wait(), GONE)
        self.assert_says(follower, self.bus)

    def test_clients_that_send_garbage_half_frames_and_floods_disturb_nobody(self):
        holder = self.hold()
        path = self.bus + "/control.sock"
        chance = random.Random(5)
        for attack in range(200):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.connect(path)
                try:
                    for _ in range(1 + 100 * (attack % 2)):
                        client.send(chance.randbytes(chance.choice((0, 1, 15, 16, 96, 1224, 4000))))
                except OSError:
                    pass  # refused, as expected
        follower = self.run_to_end("tail", "tail", "--from", "start", "--count", "1000", *QUIET)
        self.assertEqual(follower.summary()["records"], 1000)
        told = json.loads(self.run_to_end("subscribers", "subscribers", "--json").out())
        self.assertEqual(told["dropped"], 200)
        self.assertEqual(holder.stop(), DONE)


class Usage(harness.BusTest):
    """Mistyped commands, and conflicting options."""

    def test_a_command_that_does_not_exist_is_named(self):
        done = subprocess.run([harness.program(), "pubish", "--bus", self.bus],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no command pubish", done.stderr)

    def test_who_has_the_records_it_asked_for_is_done_though_nothing_was_closed(self):
        self.run_to_end("publish", "publish", "--source", "synthetic:records=100")
        follower = self.run_to_end("tail", "tail", "--from", "start", "--count", "10",
                                   "--until-closed", *QUIET)
        self.assertEqual(follower.summary()["records"], 10)


class Space(harness.BusTest):
    """Memory and disks that are small, full, or restricted."""

    def mount_without_room(self):
        """A file system whose disk, a sparse file, has less space than it claims: writes fail."""
        small = self.mount(self.folder / "small", "-t", "tmpfs", "-o", "size=24m", "tmpfs")
        image = small / "disk.img"
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        page_bytes = resource.getpagesize()
        subprocess.run(["mkfs.ext4", "-q", "-b", str(page_bytes), "-O", "^has_journal", str(image)],
                       check=True)
        disk = self.mount(self.folder / "disk", "-o", "loop", str(image))
        # One page per request: if only part of a request fits, a loop device reports a complete
        # write.
        device = os.stat(disk).st_dev
        limit = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/"
                             "max_sectors_kb")
        self.addCleanup(limit.write_text, limit.read_text())
        limit.write_text(str(page_bytes >> 10))
        return disk

    def follow(self, bus=None):
        return self.run_to_end("tail", "tail", "--from", "start", "--until-closed", *QUIET, bus=bus)

    @needs_root
    def test_in_a_container_s_64_mib_of_shared_memory_a_default_ring_fits(self):
        self.ring_slots = None
        shm = self.mount(self.folder / "shm", "-t", "tmpfs", "-o", f"size={SMALL_TMPFS}", "tmpfs")
        self.run_to_end("publish", "publish", "--source", "synthetic:records=200000",
                        "--ring-dir", shm)
        self.assertEqual(self.follow().summary()["records"], 200_000)

    @needs_root
    def test_a_ring_that_does_not_fit_is_refused_with_the_bytes_needed_and_free(self):
        shm = self.mount(self.folder / "shm", "-t", "tmpfs", "-o", f"size={SMALL_TMPFS}", "tmpfs")
        refused = self.run_to_end("publish", "publish", "--source", "synthetic:records=10",
                                  "--ring-dir", shm, "--capacity", 1 << 21, expect=OTHER)
        for word in (str((1 << 21) * 64 + 8192), "free", "--capacity"):
            self.assertIn(word, refused.err())

    @needs_root
    def test_a_disk_that_is_full_at_the_start_is_said(self):
        disk = self.mount(self.folder / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs")
        refused = self.run_to_end("publish", "publish", "--source", "synthetic:records=10",
                                  "--ring-dir", self.shared_folder(), bus=str(disk / "bus"),
                                  expect=OTHER)
        self.assertIn("No space", refused.err())
        self.assertIn(str(disk), refused.err())

    def shared_folder(self):
        """The test's own folder in shared memory."""
        folder = pathlib.Path("/dev/shm") / self.folder.name
        folder.mkdir(mode=0o700)
        self.addCleanup(subprocess.run, ["rm", "-rf", str(folder)], check=False)
        return folder

    @needs_root
    def test_a_disk_that_fills_in_the_middle_ends_the_journal_and_live_goes_on(self):
        disk = self.mount(self.folder / "disk", "-t", "tmpfs", "-o", "size=24m", "tmpfs")
        bus = str(disk / "bus")
        publisher = self.start("publish", "publish", "--source", f"synthetic:records={OF_A_RING}",
                               "--pace", "300000", *self.small_segments(), bus=bus)
        live = self.start("live", "tail", "--from", "start", "--count", OF_A_RING, *QUIET, bus=bus)
        self.assertEqual(live.wait(), DONE, live.err())
        self.assert_lost_to_the_journal(publisher, OF_A_RING, "No space")
        self.assertEqual(live.summary()["records"], OF_A_RING)

    def small_segments(self):
        """Options for a ring that holds all records, so that slow readers find them there."""
        return ("--segment-bytes", 1 << 20, "--capacity", 1 << 19, "--ring-dir",
                self.shared_folder(), "--await", 1, "--summary")

    def assert_lost_to_the_journal(self, publisher, records, why):
        """Asserts that live publishing continued without the journal: exit code 6, with a
        message."""
        self.assertEqual(publisher.wait(), LOST, publisher.err())
        published = publisher.summary()
        self.assertEqual(published["records"], records)
        self.assertLess(published["durable"], records)
        lost = f"records {published['durable'] + 1} to {records} "
        for words in ("journal ended", why, lost):
            self.assertIn(words, publisher.err())

    def test_a_journal_that_is_shed_says_what_it_lost_and_live_goes_on(self):
        publisher = self.start("publish", "publish", "--source", "synthetic:records=300000",
                               "--capacity", 1024, "--on-journal-lag", "shed", "--summary")
        self.assert_lost_to_the_journal(publisher, 300_000, "too slow")

    @needs_root
    def test_a_recording_is_continued_in_a_session_whose_journal_has_failed(self):
        disk = self.mount(self.folder / "disk", "-t", "tmpfs", "-o", "size=24m", "tmpfs")
        bus = str(disk / "bus")
        out = self.folder / "recording.dbn"
        dbn = self.raw_dbn(f"synthetic:records={OF_A_RING}")
        flow = self.publish_flow("publish", dbn, *self.small_segments(), bus=bus)

        def record(name):
            return self.start(name, "record", "--from", "start", "--out", out, "--until-closed",
                              bus=bus)

        def committed():
            position = self.folder / "recording.dbn.position"
            told = json.loads(position.read_text()) if position.exists() else {}
            return told.get("records"), told.get("sequence", 0)

        killed = record("killed")
        head = 400_000  # more than fits on the disk
        flow.feed(head)
        self.until("the journal to fail", lambda: "journal ended" in flow.publisher.err())
        flow.feed(head + 50_000)
        self.until("a commit after that", lambda: committed()[1] > head)
        killed.kill()
        continued = record("continued")
        self.until("it to be live", lambda: "caught up" in continued.err())
        flow.feed(OF_A_RING)
        flow.end()
        self.assertEqual(continued.wait(), DONE, continued.err())
        self.assertEqual(flow.publisher.wait(), LOST)
        self.assertLess(flow.publisher.summary()["durable"], head)
        self.assertIn("continues after record", continued.err())
        self.assertNotIn("reset", continued.err())
        self.assertEqual(committed(), (OF_A_RING, OF_A_RING))

    @needs_root
    def test_a_disk_that_fills_stops_the_publisher_that_was_told_to_stop(self):
        disk = self.mount(self.folder / "disk", "-t", "tmpfs", "-o", "size=24m", "tmpfs")
        publisher = self.start("publish", "publish", "--source", "synthetic:records=3000000",
                               "--pace", "300000", "--segment-bytes", 1 << 20,
                               "--on-journal-failure", "stop", "--ring-dir", self.shared_folder(),
                               "--summary", bus=str(disk / "bus"))
        self.assertEqual(publisher.wait(), OTHER, publisher.err())
        published = publisher.summary()
        self.assertLess(published["records"], 3_000_000)
        self.assertIn(f"records {published['durable'] + 1} to {published['last']} ",
                      publisher.err())

    @needs_root
    def test_a_disk_whose_writes_and_syncs_fail_for_real_freezes_durable(self):
        bus = str(self.mount_without_room() / "bus")
        dbn = self.raw_dbn(f"synthetic:records={OF_A_RING}")
        flow = self.publish_flow("publish", dbn, *self.small_segments(), bus=bus)
        publisher = flow.publisher
        live = self.start("live", "tail", "--from", "start", "--count", OF_A_RING, *QUIET, bus=bus)
        flow.feed(10_000)
        self.until_durable(1, bus=bus)
        flow.feed(OF_A_RING)
        flow.end()
        self.assertEqual(live.wait(), DONE, live.err())
        self.assertEqual(publisher.wait(), LOST, publisher.err())
        self.assertIn("journal ended", publisher.err())
        self.assertRegex(publisher.err(), "cannot (write|sync).*(No space|Input/output error)")
        durable = publisher.summary()["durable"]
        self.assertEqual(publisher.summary()["records"], OF_A_RING)
        self.assertLess(durable, OF_A_RING)
        self.assertEqual(live.summary()["records"], OF_A_RING)
        kept = self.run_to_end("kept", "tail", "--from", "start", "--count", durable, *QUIET,
                               bus=bus)
        self.assertEqual((kept.summary()["records"], kept.summary()["last"]), (durable, durable))
        print(f"\n{publisher.err().strip().splitlines()[-1][:200]}; durable {durable}")

    def test_where_io_uring_is_forbidden_posix_writes_the_journal_and_says_so(self):
        publisher = self.run_to_end("publish", "publish", "--source", "synthetic:records=100000",
                                    "--summary",
                                    preexec_fn=lambda: seccomp.refuse("io_uring_setup"))
        self.assertIn("posix", publisher.err())
        self.assertEqual(publisher.summary()["durable"], 100_000)
        self.assertEqual(self.follow().summary()["records"], 100_000)

    def test_in_a_container_that_knows_no_newer_waiting_an_idle_publisher_still_sleeps(self):
        holder = self.start("holder", "publish", "--source", "synthetic:records=1000",
                            "--linger", "600s", preexec_fn=lambda: seccomp.refuse("epoll_pwait2"))
        self.until_head(1000)
        self.assert_idle(holder)
        self.assertEqual(holder.stop(), DONE)

    @needs_root
    def test_an_ordinary_user_without_locked_memory_publishes(self):
        os.chmod(self.folder, 0o777)
        publisher = self.run_to_end(
            "publish", "publish", "--source", "synthetic:records=100000", "--summary",
            user=NOBODY, group=NOBODY, extra_groups=[],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
        self.assertEqual(publisher.summary()["durable"], 100_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
