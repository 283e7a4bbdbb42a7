"""This module parses lapwing.h into structs, enumerations, constants and functions.

The header uses a few forms, which the patterns below match. Any other form ends the program with a
message. Constants lose the prefix "LAPWING_". All other names are those in C.
"""

import re
import sys
from collections import namedtuple
from dataclasses import dataclass
from os.path import commonprefix

# Sizes in bytes on 64-bit Linux. Each type is aligned to its size.
SCALARS = {"char": 1, "uint8_t": 1, "uint16_t": 2, "int32_t": 4, "uint32_t": 4,
           "int64_t": 8, "uint64_t": 8, "size_t": 8}

DECLARATION = re.compile(r"""
    (typedef\s(?P<scalar>\w+)\s(?P<enum>\w+);\s)?enum\s{(?P<members>[^}]+)};
  | typedef\sstruct\s(?P<handle>\w+)\s(?P=handle);
  | typedef\sstruct\s(?P<struct>\w+)\s{(?P<fields>[^}]*);\s}\s(?P=struct);
  | typedef\svoid\s\(\*(?P<callback>\w+)\)\([^)]*\);
  | LAPWING_API(_V)?\s(?P<result>[\w\s*]+)\((?P<parameters>[^)]*)\);""", re.X)
VALUE = re.compile(r"(const )?(\w+) ((?:\*(?:const )?)*)(\w+)(?:\[(\d+)\])?")

Enum = namedtuple("Enum", "name members prefix")  # if the name is None, the members are flags
Struct = namedtuple("Struct", "name fields size")
Function = namedtuple("Function", "name result parameters")


@dataclass
class Value:
    """A field or a parameter, or a function's result, which has the function's name."""
    name: str
    type: str  # a key of SCALARS, "void", or the name of a struct, a handle or a callback
    stars: int
    count: int  # of an array, else 0
    kind: str  # "text" (const char *), "handle", "callback", or ""
    offset: int = 0  # of a field


def refuse(text, advice="Write it like others of its kind, or extend bindings/header/parse.py."):
    sys.exit(f"emit.py: '{text.strip()[:80]}' in the header has an unknown form. {advice}")


class Header:
    def __init__(self, text):
        self.constants, self.durations = [], []  # (name, value); durations are of 64 bits
        self.enums, self.structs, self.functions = [], [], []
        self.aliases = {}  # the scalar type of each enumeration
        self.kinds = {}  # "handle" or "callback", by type
        self.layouts = {name: (size, size) for name, size in SCALARS.items()}  # (size, alignment)
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
        text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.S | re.M)
        for name, value in re.findall(r"^#define LAPWING_(\w+) +(\S.*)$", text, flags=re.M):
            self.add_macro(name, value.strip())
        text = re.sub(r"\s+", " ", re.sub(r"^#.*", "", text, flags=re.M)).strip()
        while text:
            found = DECLARATION.match(text) or refuse(text)
            self.add_declaration(found)
            text = text[found.end():].lstrip()

    def add_macro(self, name, value):
        found = re.fullmatch(r"(\d+)|INT64_C\((-?\d+)\)", value)
        if found:
            (self.constants if found[1] else self.durations).append((name, found[1] or found[2]))
        elif not re.fullmatch(r"API|API_V|\w+_INIT", name):
            refuse(f"#define LAPWING_{name} {value}")

    def add_declaration(self, found):
        if found["members"]:
            self.aliases[found["enum"]] = found["scalar"]
            self.add_enum(found["enum"], found["members"].strip(" ,").split(","))
        elif found["handle"]:
            self.kinds[found["handle"]] = "handle"
        elif found["struct"]:
            self.add_struct(found["struct"], found["fields"].split(";"))
        elif found["callback"]:
            self.kinds[found["callback"]] = "callback"
        else:
            result = self.value(found["result"])
            parameters = found["parameters"].split(",") if found["parameters"] != "void" else []
            values = list(map(self.value, parameters))
            self.functions.append(Function(result.name, result, values))

    def add_enum(self, name, declarations):
        members = [(re.fullmatch(r" *LAPWING_(\w+) = (\d+) *", one) or refuse(one)).groups()
                   for one in declarations]
        shared = commonprefix([member for member, _ in members if member != "OK"])
        self.enums.append(Enum(name, members, shared[:shared.rfind("_") + 1]))

    def add_struct(self, name, declarations):
        fields, end, alignment, is_padded = list(map(self.value, declarations)), 0, 1, False
        for field in fields:
            size, align = (8, 8) if field.stars else self.layouts[field.type]
            is_padded |= end % align != 0
            field.offset = end
            end += size * (field.count or 1)
            alignment = max(alignment, align)
        if is_padded or end % alignment:
            refuse(name, "It has unused bytes. Fill them with a field named reserved.")
        self.layouts[name] = end, alignment
        self.structs.append(Struct(name, fields, end))

    def value(self, declaration):
        found = VALUE.fullmatch(declaration.strip()) or refuse(declaration)
        type_ = self.aliases.get(found[2], found[2])
        kind = self.kinds.get(type_, "")
        stars = 1 if kind == "callback" else found[3].count("*")
        if type_ not in ("void", *self.layouts, *self.kinds):
            refuse(declaration)
        if found[5] and (stars or SCALARS.get(type_) != 1):
            refuse(declaration, "Only char and uint8_t can be arrays.")
        if found[1] and type_ == "char" and stars == 1:
            kind = "text"
        return Value(found[4], type_, stars, int(found[5] or 0), kind)
