"""The output of `lapwing tail` for a record, derived from the package databento-dbn.

This table defines the package's value for each shown value:

  field of DBN         the package                    JSON and CSV     text
  -------------------  -----------------------------  ---------------  --------------------------
  every field          by its name in `_dtypes`, in   by that name,    likewise
                       the order of the record        in that order
  level N              bid_px_NN, ask_px_NN, …        likewise         likewise
  length               record_size() / 4: the class   the number       the number
                       hides the field
  rtype                RType                          its number       its number
  prices               integers of 1e-9; as text      the integer      the package's decimals,
                       decimals, none for undefined                    without zeros at the end;
                                                                       - for undefined
  times                integers, UTC ns; as text      the integer      the package's text;
                       ISO 8601 to the ns, none for                    - for undefined
                       undefined
  flags                an integer                     the integer      the names of the bits, as
                                                                       the constants F_… have them
  letters with names   members of enumerations, or    the letter       the letter
  (action, side, …)    the letter as str
  is_trading, …        True, False, None for Y, N     the letter       the letter
                       and all others; its JSON has
                       the letter
  numbers with names   members of enumerations        the number       the number
  (stat_type, …)
  undefined sizes and  the number (UNDEF_ORDER_SIZE,  the number       the number
  quantities           UNDEF_STAT_QUANTITY)
  texts                str                            the text         the text
  other than           the character                  JSON: likewise;  an escape: \\x00
  printable ASCII                                     CSV: an escape
  spare bytes          hidden                         not shown        not shown

Reasons: JSON and CSV are for programs and contain the values of the record, so that nothing is lost
and no number is rounded; numbers are those in DBN's documentation. Text is for users, who want
decimals, dates and the names of bits. Spare bytes have no meaning.

Therefore JSON is compared with the attributes of the package's records, and text is compared with
the package's own JSON for users (pretty prices and times). ODDITIES lists contradictions between
these two, or between the package and its documentation.
"""

import json
import re
from typing import NamedTuple

import databento_dbn as dbn

import record_classes

LENGTH_UNIT = 4
NOT_JSON = re.compile(r"(?<!\\)\\x(\w\w)")  # how the package escapes control characters
PRICE_MIN = -2**63
EPOCH = "1970-01-01T00:00:00.000000000Z"
FLAG_NAMES = {
    dbn.F_LAST: "last",
    dbn.F_TOB: "top_of_book",
    dbn.F_SNAPSHOT: "snapshot",
    dbn.F_MBP: "market_by_price",
    dbn.F_BAD_TS_RECV: "bad_ts_recv",
    dbn.F_MAYBE_BAD_BOOK: "maybe_bad_book",
    dbn.F_PUBLISHER_SPECIFIC: "publisher_specific",
}

# Contradictions within the package.
ODDITIES = {
    "a": "its JSON for people has null for a time of 0, which its records have as a time",
    "b": "its text of the smallest price is --9223372036.-854775808",
    "c": "its JSON has null for a zero in the place of a letter, and \\x01, which is no JSON, for"
         " others that are not printable",
    "d": "is_trading, is_quoting, is_short_sell_restricted: None for every letter but Y and N",
    "e": "security_update_action and user_defined_instrument: a letter that has no name is read as"
         " another one, so such letters are not available, and are not compared",
    "f": "a class of one level is made with that level, not with a list of one as its types say",
}


class ShownField(NamedTuple):
    name: str
    json: object  # an int or a str
    csv: str
    text: str


def oddities(made):
    """The keys of ODDITIES that apply to a class's records."""
    names = [name for name, _, _ in record_classes.layout(made)]
    has_letters = any(dtype == "S1" and not record_classes.is_spare(name)
                      for name, _, dtype in record_classes.layout(made))
    seen = {"a": True, "b": bool(made._price_fields), "c": has_letters, "d": "is_trading" in names,
            "e": made in (dbn.InstrumentDefMsgV1, dbn.InstrumentDefMsgV2),
            "f": "bid_px_00" in names and "bid_px_01" not in names}
    return [oddity for oddity, is_seen in seen.items() if is_seen]


def fields_in_json(line):
    """A record as the package's JSON, with the field names of its class."""
    fields = {}
    for name, value in json.loads(NOT_JSON.sub(r"\\u00\1", line)).items():
        if name == "hd":
            fields.update(value)
        elif name == "levels":
            for number, level in enumerate(value):
                fields.update({f"{part}_{number:02}": of for part, of in level.items()})
        else:
            fields[name] = value
    return fields


def escaped(text):
    """The ASCII text with non-printable characters escaped."""
    if all(" " <= letter <= "~" for letter in text):
        return text
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
    return "".join(named.get(letter, letter if " " <= letter <= "~" else f"\\x{ord(letter):02x}")
                   for letter in text)


def flags_text(bits):
    names = [name for bit, name in FLAG_NAMES.items() if bits & bit]
    unnamed = bits & ~sum(FLAG_NAMES)
    return "|".join(names + ([f"0x{unnamed:x}"] if unnamed else [])) or "0"


def price_text(value, pretty):
    if value == dbn.UNDEF_PRICE:
        return "-"
    return "-9223372036.854775808" if value == PRICE_MIN else pretty.rstrip("0").rstrip(".")


def time_text(value, pretty):
    if value == dbn.UNDEF_TIMESTAMP:
        return "-"
    return EPOCH if value == 0 else pretty


def value_of(record, name, dtype, plain):
    """The value of a field as an int or a str. `plain` is the record in the package's JSON."""
    if name == "length":
        return record.record_size() // LENGTH_UNIT
    value = getattr(record, name)
    if value is None or isinstance(value, bool):
        return plain[name] or "\0"
    return str(value) if dtype[0] == "S" else int(value)


def shown_fields(record, plain, pretty):
    """Each field of a record. `plain`, `pretty`: fields_in_json(), the second one for users."""
    for name, _, dtype in record_classes.layout(type(record)):
        if record_classes.is_spare(name):
            continue
        value = value_of(record, name, dtype, plain)
        letters = escaped(value) if isinstance(value, str) else str(value)
        text = letters
        if name in record._price_fields:
            text = price_text(value, pretty[name])
        elif name in record._timestamp_fields:
            text = time_text(value, pretty[name])
        elif name == "flags":
            text = flags_text(value)
        yield ShownField(name, value, letters, text)
