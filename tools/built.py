"""Checks that the programs that a script needs are built.

    import built
    built.need("tuning", build / "lapwing")
"""

import os
import sys


def need(script, *programs):
    """Ends the script unless all programs are built, and prints the command that builds them."""
    missing = [str(path) for path in programs if not os.path.exists(path)]
    if missing:
        targets = " ".join(target_of(path) for path in missing)
        sys.exit(f"{script}: {', '.join(missing)}: not built. Run: "
                 f"cmake --preset release && cmake --build build/release --target {targets}")


def target_of(path):
    """The CMake target that builds the file."""
    name = os.path.basename(path)
    return "lapwing_c" if name.startswith("liblapwing.so") else name
