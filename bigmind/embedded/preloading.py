"""What `bigmind up` loads before it copies itself: its copies share the memory, and their first calls find it there."""

import ctypes
import gc
import importlib
import sys
from threading import Thread

APPLICATION = "bigmind.asgi"
NEEDS_NO_DATABASE = ("bigmind.transports.mcp.endpoint", "bigmind.transports.request_limits", "bigmind.urls")


def begin_to_preload() -> Thread:
    """Load in a thread what needs no database, while it starts; join the thread before anything is copied."""
    # Imported here, because Django must be set up first.
    from bigmind.transports.fair_pool import SWITCH_SECONDS

    sys.setswitchinterval(SWITCH_SECONDS)
    thread = Thread(target=_load_without_database, daemon=True)
    thread.start()
    return thread


def preload() -> None:
    """Load what the processes need that are copied from this one: they share what none of them writes to."""
    _load_without_database()
    importlib.import_module(APPLICATION)
    if gc.isenabled():  # The database was migrated.
        gc.collect()
    _return_free_memory()
    gc.freeze()  # Looking for garbage writes to every object it looks at.
    gc.enable()


def _return_free_memory() -> None:
    """Give the system back what parsing took for a moment: 15 MB. Other C libraries than glibc do not offer that."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


def _load_without_database() -> None:
    for name in NEEDS_NO_DATABASE:
        importlib.import_module(name)
    from bigmind.warming import load_ahead

    load_ahead()
