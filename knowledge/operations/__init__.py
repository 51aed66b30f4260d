"""What the app of knowledge offers, a table for each noun: nothing is exposed that is not in one of them."""

from bigmind.core.operations import Operation

from . import (
    app_maps,
    capture,
    company,
    directory,
    entries,
    exports,
    facts,
    hypotheses,
    lessons,
    notes,
    recall,
    references,
    sessions,
    tidying,
    upkeep,
)
from . import (
    archive as asides,
)

OPERATIONS: tuple[Operation, ...] = (
    *sessions.OPERATIONS,
    *facts.OPERATIONS,
    *asides.OPERATIONS,
    *hypotheses.OPERATIONS,
    *notes.OPERATIONS,
    *entries.OPERATIONS,
    *lessons.OPERATIONS,
    *references.OPERATIONS,
    *company.OPERATIONS,
    *recall.OPERATIONS,
    *directory.OPERATIONS,
    *app_maps.OPERATIONS,
    *upkeep.OPERATIONS,
    *exports.OPERATIONS,
    *capture.OPERATIONS,
    *tidying.OPERATIONS,
)
