"""What a start costs when much is remembered, against when little is."""

from benchmarks.memories import remember_much
from benchmarks.rows import milliseconds, row
from knowledge.context.sessions import start_session
from knowledge.models import Session

TIMES = 60


def measure() -> list[str]:
    """Measure `memory_start_session` with 10,000 facts and 1,000 sessions against 100 and 10."""
    little = remember_much("little", facts=100, sessions=10)
    much = remember_much("much", facts=10_000, sessions=1_000)
    took: dict[str, float] = {}
    for actor in (little, much, little, much):
        before = took.get(actor.user.username, float("inf"))
        took[actor.user.username] = min(before, milliseconds(lambda: _start(actor), times=TIMES))  # noqa: B023
    ratio = took["much"] / took["little"]
    measured = f"p50 {took['much']:.1f} ms against {took['little']:.1f} ms, in the process"
    what = "`memory_start_session` with 10,000 facts and 1,000 sessions, against 100 and 10"
    return [row(what, f"{ratio:.2f} ×", "≤ 2 ×", measured, met=ratio <= 2)]


def _start(actor: object) -> None:
    started = start_session(actor, project="pi")  # type: ignore[arg-type]
    assert started.context.markdown
    Session.objects.filter(pk=started.session_id).delete()
