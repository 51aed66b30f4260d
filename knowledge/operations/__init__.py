"""What the app of knowledge offers, a table for each noun: nothing is exposed that is not in one of them."""

from bigmind.core.operations import Operation

from . import asides, entries, exports, facts, hypotheses, notes, recall, sessions, upkeep

OPERATIONS: tuple[Operation, ...] = (
    *sessions.OPERATIONS,
    *facts.OPERATIONS,
    *asides.OPERATIONS,
    *hypotheses.OPERATIONS,
    *notes.OPERATIONS,
    *entries.OPERATIONS,
    *recall.OPERATIONS,
    *upkeep.OPERATIONS,
    *exports.OPERATIONS,
)
