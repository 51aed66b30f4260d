"""Moving in whole: what an importer read becomes memory, and what everybody should know becomes proposals."""

from django.db import transaction

from accounts.actor import Actor, acts
from bigmind.core.errors import BigMindError
from bigmind.core.operations import carry_out
from knowledge.importers import Format
from knowledge.importers.drafts import CompanyDraft, Reading
from knowledge.services.moving_in import MovedIn, company_drafts, move_in, report_of

from .proposals import promote_to_global


class _DryRun(Exception):
    """Rolls an import back after it has been counted."""


def import_reading(actor: Actor, reading: Reading, format: Format, *, source: str, dry_run: bool = False) -> MovedIn:
    """Bring in what an importer read: the caller owns all of it, and proposes what was company knowledge.

    Args:
        source: What the file is called; a later import of it is known by that.
    """
    report = report_of(reading, format, dry_run=dry_run)
    try:
        with transaction.atomic():
            importer = move_in(actor, reading, format, source=source, report=report)
            with acts(importer):
                for place, draft in company_drafts(reading):
                    _propose(importer, place, draft, report)
            if dry_run:
                raise _DryRun
    except _DryRun:
        report.agent = None
    return report


def _propose(importer: Actor, place: str, draft: CompanyDraft, report: MovedIn) -> None:
    told = {**draft.model_dump(), "origin": "imported", "evidence": f"Imported: {place}."}
    try:
        with transaction.atomic():
            proposal = carry_out(promote_to_global, importer, told)
    except BigMindError as error:
        report.refused.append(f"{place}: {error}")
    else:
        report.count("proposals", added=not proposal.duplicate, unchanged=proposal.duplicate)
