"""What clients start before a tool, before a prompt and after a tool. The program is a module: compiled once."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        from bigmind_triggers.program import main  # type: ignore[import-not-found]

        main(sys.argv[1:])
    except Exception:  # noqa: BLE001 - a client must never see this program fail
        sys.stdout.write("{}")
