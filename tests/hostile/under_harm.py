"""Runs one command while its process is harmed, then uses the bus without harm."""

import json

import use_bus

SEED, RECORDS = 800, 1200  # for the feed that is published under harm


def commands(world, trial, bus):
    """{name: arguments} of all commands for an idle bus."""
    out = trial.folder / "limited.dbn"
    feed = world.bases.feed(bus.schema, SEED, RECORDS)
    follow = ("--until-closed", "--reattach", "0")
    named = {
        "publish": ("publish", "--bus", bus.directory, "--source", feed.source,
                    "--segment-bytes", "64K", "--capacity", "4096", "--summary"),
        "tail": ("tail", "--bus", bus.directory, "--from", "start", *follow),
        "verify": ("verify", "--bus", bus.directory),
        "info": ("info", "--bus", bus.directory),
        "state": ("state", "--bus", bus.directory),
        "repair": ("repair", "--bus", bus.directory),
        "checkpoint": ("checkpoint", "--bus", bus.directory, "--fold", bus.fold, *follow,
                       "--summary"),
        "help": ("publish", "--help"), "version": ("--version",)}
    if bus.schema != "kv16":
        named |= {
            "record": ("record", "--bus", bus.directory, "--from", "start", "--out", out,
                       "--summary", *follow),
            "export": ("export", "--bus", bus.directory, "--out",
                       trial.folder / "limited.dbn.zst", "--summary"),
            "book": ("book", "--bus", bus.directory, "--reattach", "0")}
    return named


def run_one(world, trial, before_exec, name=None, expect_words=True):
    """Runs one command under harm, then uses the bus without harm."""
    bus = world.bases.place(trial.rng.choice(("clean", "kv16", "group")), trial)
    named = commands(world, trial, bus)
    name = name or trial.rng.choice(sorted(named) + ["publish", "checkpoint", "publish"])
    before = sessions_of(trial, bus)
    outcome = trial.run(*named.get(name, named["checkpoint"]), before_exec=before_exec,
                        expect_words=expect_words)
    use = use_bus.Use(trial, bus, world.bases)
    if name == "publish":
        _publish_after(world, trial, bus, use, before)
    else:
        use.publisher()
    use.readers()
    return outcome


def sessions_of(trial, bus):
    done = trial.run("info", "--json", "--bus", bus.directory)
    return json.loads(done.out).get("sessions", []) if done.code == 0 else []


def _publish_after(world, trial, bus, use, before):
    """Runs another publisher, and checks the harmed publisher's records: a prefix of its feed, as
    long as its session's end says."""
    lines, records = bus.expected.histories[-1], bus.expected.files[-1]
    after = sessions_of(trial, bus)
    use.may_begin_anew = bool(after) and after[-1]["end"] == "failed"
    use.publisher()
    known = {session["session"] for session in before}
    fresh = [session for session in sessions_of(trial, bus) if session["session"] not in known][:-1]
    feed = world.bases.feed(bus.schema, SEED, RECORDS)
    for session in fresh:
        first = session["first"]
        for n in range(min(session.get("last", 0) - first + 1, RECORDS)):
            lines[first + n] = b'{"seq":%d,' % (first + n) + feed.contents[n]
            if feed.records:
                records[first + n] = feed.records[n]
