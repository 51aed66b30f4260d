"""`bigmind partition`: hash partitions by owner of passages and vectors, what is shared apart."""

from dataclasses import asdict
from typing import Any

from bigmind.backup.programs import running_database
from bigmind.embedded.home import free_bytes
from bigmind.environment import environment
from bigmind.management.base import DRY_RUN, YES, OperatorCommand, Refused, argument
from knowledge.search.partitions.planning import (
    USUAL,
    PartitionPlan,
    Repartitioned,
    change_partitions,
    plan_partitions,
)

AGREED = "all updated"
QUESTION = (
    "What runs a BigMind from before this command cannot write into partitions: update every process first, on all"
    f" machines.\nType “{AGREED}” to go on: "
)


class Command(OperatorCommand):
    """Divide the tables of passages and vectors into partitions by owner, one more for what is shared; or undo it.

    Everybody reads and writes meanwhile: new tables are filled beside the old ones and then take their place, for which
    everybody waits a moment. The disk must hold both for that time. May be killed at any point: run it again.
    Exit code 1: something is in the way.
    """

    examples = ("bigmind partition --dry-run", "bigmind partition --partitions 32", "bigmind partition --undo")
    arguments = (
        argument("--partitions", type=int, default=USUAL, metavar="N", help="For owners: 2 to 64 (default: 16)."),
        argument("--undo", action="store_true", help="Make plain tables of them again."),
        DRY_RUN,
        YES,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = 0 if options["undo"] else options["partitions"]
        with running_database():
            own = environment()
            plan = plan_partitions(wanted, free_bytes=free_bytes(own.home) if own.is_embedded else None)
            if options["dry_run"]:
                self.reply(asdict(plan), _plan_text(plan))
                return
            if plan.refusals:
                raise Refused(" ".join(plan.refusals))
            if wanted and not options["yes"]:
                self.ask(QUESTION, AGREED, otherwise="Nothing was changed.")
            done = change_partitions(wanted, tell=self.remark)
        self.reply(asdict(done), _result_text(done))


def _shape_text(partitions: int) -> str:
    return f"{partitions} partitions by owner, and one of what is shared" if partitions else "plain tables"


def _plan_text(plan: PartitionPlan) -> str:
    lines = [f"Now: {_shape_text(plan.partitions)}. Wanted: {_shape_text(plan.wanted)}."]
    lines += [f"{one.table}: about {one.rows:,} rows, {one.bytes / 2**20:,.0f} MB." for one in plan.tables]
    if plan.partitions != plan.wanted:
        free = f" It has {plan.free_bytes / 2**20:,.0f} MB." if plan.free_bytes is not None else ""
        lines.append(f"The disk of the database must have {plan.needs_bytes / 2**20:,.0f} MB free meanwhile.{free}")
    if plan.left_over:
        lines.append(f"A run was interrupted: the next one clears or finishes {', '.join(plan.left_over)}.")
    return "\n".join([*lines, *(f"Refused: {one}" for one in plan.refusals)])


def _result_text(done: Repartitioned) -> str:
    if not done.changed:
        return f"Nothing to do: {_shape_text(done.partitions)}."
    return f"Now: {_shape_text(done.partitions)}. Everybody waited for {done.held_seconds * 1000:,.0f} ms."
