"""The conformance driver keeps its contract: tests/conformance/bindings/README.md."""

from driving import drive


def test_a_bus_is_published_and_read(tmp_path):
    answers = drive(
        tmp_path,
        [
            "publisher.open as=p directory=a%20bus record_bytes=16",
            "publisher.publish on=p from=1 count=10",
            "publisher.inspect on=p",
            "subscriber.open as=s directory=a%20bus start=oldest end_at_close=1",
            "subscriber.read on=s rows=4 timeout_ms=forever",
            "subscriber.read on=s rows=1 timeout_ms=forever",
            "publisher.close on=p timeout_ms=forever",
            "subscriber.read-all on=s until=nothing timeout_ms=10000",
            "subscriber.destroy on=s",
            "subscriber.read on=s rows=1",
            "no.such-step",
        ],
    )
    assert answers[1] == ["ok last=10"]
    assert answers[2] == [
        "ok record_bytes=16 first=1 head=10 settled=fresh journal=good source_offset=0 void=0-0"
    ]
    assert answers[4] == ["ok event kind=session sequence=1 record_bytes=16 schema=bytes"]
    # FNV-1a of 01 00 00 00 00 00 00 00 09 0a 0b 0c 0d 0e 0f 10
    assert answers[5] == ["ok records first=1 last=1 count=1 row_bytes=16 digest=1877380fef0a1f4c"]
    assert answers[7][0].startswith("ok records first=2 last=10 count=9 row_bytes=16 digest=")
    assert answers[7][1].startswith("ok event kind=caught-up sequence=10")
    assert answers[7][-1] == "closed"
    assert answers[9] == ["misuse"] and answers[10] == ["unsupported-step"]


def test_steps_run_in_threads_and_calls_are_numbered(tmp_path):
    answers = drive(
        tmp_path,
        [
            "listener.open as=l path=socket",
            "begin a listener.accept on=l as=server role=duplex timeout_ms=forever",
            "channel.connect as=client path=socket role=duplex timeout_ms=forever",
            "end a",
            "channel.start on=client n=5 bytes=4 type=9 timeout_ms=forever",
            "channel.next on=server as=r timeout_ms=forever",
            "channel.reply on=server call=r error=7 text=no",
            "channel.finish on=client call=1",
            "channel.peek on=client max=1",
            "channel.destroy on=client",
        ],
    )
    assert answers[1] == answers[3] == ["ok"]
    assert answers[4] == ["ok call=1"]
    assert answers[5][0].startswith("ok call=1 type=9 bytes=4 digest=")
    assert answers[7][0].startswith("ok call=1 error=1 late=0 code=7 type=0 bytes=2 digest=")
    assert answers[8] == ["misuse"]


def test_rows_and_messages_come_from_files(tmp_path):
    (tmp_path / "rows").write_bytes(bytes(range(48)))
    answers = drive(
        tmp_path,
        [
            "publisher.open as=p directory=bus record_bytes=16",
            "publisher.publish on=p file=rows",
            "listener.open as=l path=socket",
            "begin a listener.accept on=l as=c role=consumer timeout_ms=forever",
            "channel.connect as=s path=socket role=producer timeout_ms=forever",
            "end a",
            "channel.send on=s file=rows bytes=20 type=1",
            "channel.peek on=c max=8",
        ],
    )
    assert answers[1] == ["ok last=3"] and answers[6] == ["ok sent=3"]
    messages = answers[7][0].partition("messages=")[2].split(",")
    assert [message.rpartition(":")[0] for message in messages] == ["1:20", "1:20", "1:8"]


def test_a_broken_driver_swaps_two_names(tmp_path):
    steps = [
        "publisher.open as=p directory=bus",
        "subscriber.open as=s directory=bus",
        "subscriber.read-all on=s until=caught-up timeout_ms=forever",
        "subscriber.read on=s rows=1",
    ]
    assert drive(tmp_path, steps)[3] == ["would-block"]
    assert drive(tmp_path, steps, LAPWING_CONFORMANCE_BREAK="1")[3] == ["timed-out"]
