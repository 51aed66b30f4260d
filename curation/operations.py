"""What the app of company knowledge offers: nothing yet."""

from bigmind.core.operations import Operation

OPERATIONS: tuple[Operation, ...] = ()
