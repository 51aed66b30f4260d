"""What `bigmind up` loads before it copies itself: its copies share the memory, and their first calls find it there."""

import gc
import importlib
import sys
from threading import Thread

APPLICATION = "bigmind.asgi"
NEEDS_NO_DATABASE = ("bigmind.transports.mcp.endpoint", "bigmind.transports.web", "bigmind.urls")

_threads: list[Thread] = []


def begin_to_preload() -> None:
    """Load in threads what needs no database, while it starts."""
    # Imported here, because Django must be set up first.
    from bigmind.transports.fair_pool import SWITCH_SECONDS
    from knowledge.services.near_duplicates import load_models

    sys.setswitchinterval(SWITCH_SECONDS)
    for work in (load_models, _load_without_database):
        thread = Thread(target=work, daemon=True)
        thread.start()
        _threads.append(thread)


def preload() -> None:
    """Finish loading: afterwards this process has one thread, and may be copied."""
    while _threads:
        _threads.pop().join()
    _load_without_database()
    importlib.import_module(APPLICATION)
    if gc.isenabled():  # The database was migrated.
        gc.collect()
    gc.freeze()  # Looking for garbage writes to every object it looks at.
    gc.enable()


def _load_without_database() -> None:
    for name in NEEDS_NO_DATABASE:
        importlib.import_module(name)
    from bigmind.warming import load_ahead

    load_ahead()
