"""What an export has of the trial kinds."""

from collections.abc import Sequence
from pathlib import Path

from accounts.actor import Actor
from bigmind.core.argument_types import Content, Moment, Project
from bigmind.core.export_section import ExportSection
from knowledge.transfer.import_receipts import MovedIn
from knowledge.transfer.parts import ExportedArchivable, MemoryPart

from .models import Rumour, Signpost
from .services import index_rumour


class ExportedRumour(ExportedArchivable):
    """One rumour."""

    text: Content
    project: Project = ""
    created_at: Moment


def _take(actor: Actor, told: Sequence[ExportedRumour], report: MovedIn) -> None:
    for one in told:
        rumour, is_new = Rumour.objects.get_or_create(
            user=actor.user, text=one.text, created_at=one.created_at, defaults=one.model_dump()
        )
        report.count("rumours", added=is_new, unchanged=not is_new)
        if is_new:
            index_rumour(rumour, made=True)


RUMOURS = MemoryPart(
    Rumour,
    ExportedRumour,
    lambda user: Rumour.objects.filter(user=user).order_by("created_at", "id"),
    _take,
    {"id": "Nothing refers to it.", "user": "A document has one owner.", "session": "Who heard it when is no matter."},
)


def _write(folder: Path) -> int:
    texts = list(Signpost.objects.order_by("pk").values_list("text", flat=True))
    (folder / "signposts.txt").write_text("\n".join(texts))
    return len(texts)


SIGNPOSTS = ExportSection("signposts", "where things are", _write, "nothing yet")
