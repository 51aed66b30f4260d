"""Reads every file in a folder as an importer does, within limits, and says what came of it and what it took.

As a program of its own, so that nothing but the reading is measured:
`python -m tests.knowledge.importers.reader FOLDER`.
"""

import json
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

MEMORY = 256 * 1024 * 1024


def main(folder: Path) -> None:
    """Read every case, and print what came of it."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "bigmind.settings"
    django.setup()
    # What is asked for is more than what is used: the peak is judged, and this only keeps the machine safe.
    resource.setrlimit(resource.RLIMIT_DATA, (2 * MEMORY, 2 * MEMORY))
    told = {path.name: _read(path) for path in sorted(folder.iterdir()) if path.suffix != ".secret"}
    print(json.dumps({"cases": told, "peak": _peak()}))


def _read(path: Path) -> dict[str, Any]:
    from bigmind.core.errors import Invalid
    from knowledge.parsers.archives import bundle_of
    from knowledge.transfer.readers.formats import format_of, read

    name = "chatgpt" if path.suffix == ".zip" or path.name == "cycle.json" else "auto"
    name = {"deep_list.json": "mem0", "deep_object.json": "mem0"}.get(path.name, name)
    started = time.monotonic()
    try:
        bundle = bundle_of(path)
        reading = read(bundle, format_of(bundle, name))
        came = {"read": [str(one.draft) for one in reading.drafts[:5]], "count": len(reading.drafts)}
        came |= {"refused": reading.refused[:5]}
    except Invalid as error:
        came = {"invalid": str(error)}
    return {**came, "seconds": time.monotonic() - started}


def _peak() -> int:
    """The most memory this process had at once, in bytes. `ru_maxrss` would count what it was forked from."""
    told = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", told)[1]) * 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]))
