"""Looking at what is remembered, and mending it by the services that everyone uses.

What people wrote is theirs: here it is read, set aside, restored and erased, never reworded. Its wording also stands in
the index of passages, which a change made past the services would leave behind.
"""

from . import app_maps, entries, exposures, gaps, index, memory, references
from .base import ReadOnlyAdmin

__all__ = ["ReadOnlyAdmin", "app_maps", "entries", "exposures", "gaps", "index", "memory", "references"]
