"""Creates and parses frames of a bus's control socket (docs/reference/file-formats.md)."""

import struct

MAGIC, FRAME_VERSION, CONTROL_VERSION = 0x4657504C, 1, 4
HEADER = struct.Struct("<IHHII")  # magic, version, type, length, reserved
BYTES_MAX = 2048
SUBSCRIBER, TOOL = 1, 2  # roles

TYPES = {"Hello": 1, "Welcome": 2, "Report": 7, "ListSubscribers": 8, "SubscriberInfo": 9,
         "EndOfList": 10, "ListEvents": 13, "EventInfo": 14, "EndOfEvents": 15, "Forget": 17,
         "Forgotten": 18}
BYTES = {"Hello": 112, "Welcome": 1248, "Report": 96, "ListSubscribers": 24,
         "SubscriberInfo": 216, "EndOfList": 112, "ListEvents": 32, "EventInfo": 304,
         "EndOfEvents": 40, "Forget": 96, "Forgotten": 40}
TAGS = {"ListSubscribers": 16, "SubscriberInfo": 160, "EndOfList": 40, "ListEvents": 16,
        "EventInfo": 16, "EndOfEvents": 16, "Forget": 16}

FIELDS = {
    "Hello": {"abi": (16, "I"), "role": (20, "I"), "pid": (24, "I"), "may_park": (28, "I"),
              "name": (32, "64s"), "version": (96, "I"), "min_version": (100, "I"),
              "observes": (104, "I")},
    "Welcome": {"session_id": (16, "16s"), "journal_id": (32, "16s"), "session_first": (48, "Q"),
                "durable": (56, "Q"), "head": (64, "Q"), "capacity": (72, "Q"),
                "slot_bytes": (80, "I"), "record_bytes": (84, "I"), "has_journal": (88, "I"),
                "journal_state": (92, "I"), "version": (100, "I"), "schema": (104, "32s"),
                "bus_name": (136, "64s"), "ring_path": (200, "512s"),
                "journal_path": (712, "512s"), "schema_hash": (1224, "Q"),
                "pid_namespace": (1232, "Q"), "time_namespace": (1240, "Q")},
    "Report": {"position": (16, "Q"), "records": (24, "Q"), "gaps": (32, "Q"), "lost": (40, "Q"),
               "filled": (48, "Q"), "state": (56, "I"), "head": (64, "Q"), "wait": (72, "I"),
               "on_gap": (76, "I"), "gaps_before": (80, "Q"), "lost_before": (88, "Q")},
    "ListSubscribers": {"tag": (16, "Q")},
    "SubscriberInfo": {"pid": (16, "I"), "uid": (20, "I"), "role": (24, "I"), "state": (28, "I"),
                       "may_park": (32, "I"), "reported": (36, "I"), "position": (40, "Q"),
                       "records": (48, "Q"), "gaps": (56, "Q"), "lost": (64, "Q"),
                       "filled": (72, "Q"), "connected_wall_ns": (80, "Q"),
                       "reported_wall_ns": (88, "Q"), "name": (96, "64s"), "tag": (160, "Q"),
                       "head_seen": (168, "Q"), "wait": (176, "I"), "on_gap": (180, "I"),
                       "observes": (184, "I"), "pid_is_claimed": (188, "I"),
                       "process_start": (192, "Q"), "report_age_ns": (200, "Q"),
                       "missing_since_wall_ns": (208, "Q")},
    "EndOfList": {"count": (16, "Q"), "refused": (24, "Q"), "dropped": (32, "Q"),
                  "tag": (40, "Q")},
    "ListEvents": {"tag": (16, "Q"), "after": (24, "Q")},
    "EventInfo": {"tag": (16, "Q"), "number": (24, "Q"), "wall_ns": (32, "Q"), "kind": (40, "I"),
                  "reason": (44, "I"), "sys_errno": (48, "i"), "pid": (52, "I"), "uid": (56, "I"),
                  "position": (64, "Q"), "records": (72, "Q"), "lost": (88, "Q"),
                  "count": (104, "Q"), "name": (112, "64s"), "text": (176, "128s")},
    "EndOfEvents": {"tag": (16, "Q"), "count": (24, "Q"), "newest": (32, "Q")},
    "Forget": {"tag": (16, "Q"), "all": (24, "I"), "name": (32, "64s")},
    "Forgotten": {"tag": (16, "Q"), "count": (24, "Q"), "error": (32, "I")},
}
_NAMES = {number: kind for kind, number in TYPES.items()}


def frame(kind, /, **values):
    """The bytes of a frame. Fields not given are 0."""
    data = bytearray(BYTES[kind])
    HEADER.pack_into(data, 0, MAGIC, FRAME_VERSION, TYPES[kind], len(data), 0)
    for name, value in values.items():
        at, form = FIELDS[kind][name]
        struct.pack_into("<" + form, data, at, value)
    return bytes(data)


def kind_of(packet):
    """The kind of a packet, or None if it is unknown."""
    if len(packet) < HEADER.size:
        return None
    return _NAMES.get(HEADER.unpack_from(packet)[2])


def get(packet, kind, field):
    at, form = FIELDS[kind][field]
    return struct.unpack_from("<" + form, packet, at)[0]


def tag_of(packet):
    """The tag of a request or answer; 0 if it has none."""
    at = TAGS.get(kind_of(packet), len(packet))
    return struct.unpack_from("<Q", packet, at)[0] if at + 8 <= len(packet) else 0
