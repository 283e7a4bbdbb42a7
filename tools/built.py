"""What a script needs of a build.

    import built
    built.need("tuning", build / "lapwing")
"""

import os
import sys


def need(script, *programs):
    """Ends the script unless all of these are built, and says which command builds them."""
    missing = [str(path) for path in programs if not os.path.exists(path)]
    if missing:
        targets = " ".join(target_of(path) for path in missing)
        sys.exit(f"{script}: {', '.join(missing)}: not built. Run: "
                 f"cmake --preset release && cmake --build build/release --target {targets}")


def target_of(path):
    """CMake's name of what makes that file."""
    name = os.path.basename(path)
    return "lapwing_c" if name.startswith("liblapwing.so") else name
