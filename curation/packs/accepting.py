"""Accepting an update of a pack, rejecting it, taking it back, and ending a subscription: each line is a decision."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.audit import audit
from bigmind.core.advisory_locks import wait_for_turn
from bigmind.core.errors import Conflict
from bigmind.core.text import digest, echo, one_line
from curation.decisions.deciding import Losing, approve_at_once, wait_for_pairs
from curation.decisions.history import entry_to_change, record
from curation.decisions.preconditions import fields_of_decision, fields_of_verification
from curation.decisions.undoing import fields_before
from curation.decisions.who_may_decide import FOUR_EYES_FROM
from curation.models import Action, GoldenQuestion, Pack, PackKey, PackLine, PackVersion, Review
from curation.services.golden_questions import MOST, pin_golden_question, require_golden_questions
from knowledge.models import CompanyEntry, Kind, Status
from knowledge.services.feedback import settle_complaints

from .documents import LineKey, PackName, PackVersionName, document_of
from .publishing import LOCK
from .reviewing import CARRIED, LineChange, import_documentation, read_lines, target_of, waiting_version
from .subscriptions import find_subscription

Keys = Annotated[list[LineKey], Field(max_length=300)]


@dataclass(frozen=True)
class LeftAsIs:
    """An entry or a question of a pack that was left as it is, and why."""

    title: str
    why: str

    def __str__(self) -> str:
        return f"{self.title}: {self.why}"


@dataclass
class PackOutcome:
    """What was done: how many entries were approved, changed and archived, and what was left as it is, with why."""

    pack: Pack
    version: str
    added: int = 0
    changed: int = 0
    withdrawn: int = 0
    left: list[LeftAsIs] = field(default_factory=list)
    waits_for_second: bool = False
    differs_from: str = ""
    """Who had accepted other lines of it first, and has to accept these, too."""


@transaction.atomic
def accept_update(
    actor: Actor,
    *,
    name: PackName,
    version: PackVersionName,
    keep: Keys | None = None,
    anyway: Keys | None = None,
    losing: Losing | None = None,
) -> PackOutcome:
    """Accept the version that waits, as a curator who has reviewed it: its lines are company knowledge from now on.

    Each line becomes a decision in the history of its entry. In an enterprise two curators accept what is important,
    and the same lines of it: who accepts others than the first one did is the first to accept these.

    Args:
        keep: Lines that stay as they are here, such as one's own edits.
        anyway: Lines to accept although they read like instructions to agents; others of that sort stay out.
        losing: Golden questions that may lose what they must find.

    Raises:
        Conflict: another version waits, its key is not trusted any more, or it loses what is not named.
    """
    actor.require("curate")
    wait_for_turn(LOCK, name)
    wait_for_pairs()
    pack = find_subscription(name)
    waiting = waiting_version(pack, version)
    _require_still_trusted(pack, waiting)
    outcome = PackOutcome(pack, waiting.version)
    lines = list(_lines_to_carry_out(actor, pack, waiting, outcome, set(keep or ()), set(anyway or ())))
    if _waits_for_second(actor, waiting, lines, outcome):
        return outcome
    before = pack.accepted
    # First: a question that this version drops must not refuse it, and its item is found by what is here still.
    _unpin_questions(pack, before, waiting)
    steps = [_carry_out(actor, pack, waiting, line, outcome) for line in _in_order(lines)]
    _require_golden(steps, losing or ())
    import_documentation(actor, pack, waiting, before)
    _pin_questions(actor, pack, waiting, outcome)
    _note_accepted(actor, pack, waiting, steps)
    audit("pack_accepted", pack=name, version=version, entries=_counts(outcome))
    return outcome


def _note_accepted(actor: Actor, pack: Pack, waiting: PackVersion, steps: Sequence[Review]) -> None:
    waiting.state, waiting.steps = PackVersion.State.ACCEPTED, [step.pk for step in steps]
    waiting.decided_by, waiting.decided_at = actor.user, timezone.now()
    waiting.save()
    pack.title = document_of(waiting).title
    pack.save(update_fields=["title"])


@transaction.atomic
def reject_update(actor: Actor, *, name: PackName, version: PackVersionName) -> PackVersion:
    """Reject the version that waits, as a curator. Nothing changes; the next version is offered again."""
    actor.require("curate")
    wait_for_turn(LOCK, name)
    waiting = waiting_version(find_subscription(name), version)
    waiting.state, waiting.decided_by, waiting.decided_at = PackVersion.State.REJECTED, actor.user, timezone.now()
    waiting.save()
    audit("pack_rejected", pack=name, version=version)
    return waiting


@transaction.atomic
def roll_back(actor: Actor, *, name: PackName, losing: Losing | None = None) -> PackOutcome:
    """Roll back the last accepted update, as a curator: each entry is restored, including edits made here.

    What was changed since is left as it is, and listed. It goes one step back.

    Raises:
        Conflict: nothing was accepted, or it was rolled back already.
    """
    actor.require("curate")
    wait_for_turn(LOCK, name)
    wait_for_pairs()
    pack = find_subscription(name)
    versions = pack.versions.exclude(state=PackVersion.State.WAITING).order_by("-numbers")
    newest, last = versions.first(), pack.accepted
    if last is None or newest is None or newest.state == PackVersion.State.ROLLED_BACK:
        raise Conflict(f"{name} goes back one step, and there is none to take back.", hint="Edit the entries instead.")
    before = versions.filter(state=PackVersion.State.ACCEPTED).exclude(pk=last.pk).first()
    outcome, note = PackOutcome(pack, last.version), f"Rolled back: pack {name} {last.version}."
    _unpin_questions(pack, last, before)
    # The steps are taken back, not the older document applied: it knows nothing of edits made here (decision 66). The
    # last step first, because it may have taken the text that an earlier one gave up.
    made = Review.objects.filter(pk__in=last.steps).order_by("-pk")
    steps = [taken for step in made if (taken := _take_back(actor, step, note, outcome))]
    _require_golden(steps, losing or ())
    import_documentation(actor, pack, before, last)
    last.state, last.decided_by, last.decided_at = PackVersion.State.ROLLED_BACK, actor.user, timezone.now()
    last.save()
    _pin_questions(actor, pack, before, outcome)
    audit("pack_rolled_back", pack=name, version=last.version, entries=_counts(outcome))
    return outcome


@transaction.atomic
def unsubscribe(
    actor: Actor, *, name: PackName, keep_entries: bool = False, losing: Losing | None = None
) -> PackOutcome:
    """End a subscription, as a curator. The pack's entries are archived, or kept as the instance's own.

    Those edited here are archived too; their history can restore them.
    """
    actor.require("curate")
    wait_for_turn(LOCK, name)
    wait_for_pairs()
    pack = find_subscription(name)
    outcome = PackOutcome(pack, pack.accepted.version if pack.accepted else "")
    pack.versions.filter(state=PackVersion.State.WAITING).delete()
    if not keep_entries:
        note = f"Unsubscribed from the pack {name}."
        _unpin_questions(pack, pack.accepted)
        entries = CompanyEntry.objects.approved().filter(pack_line__pack=pack).order_by("pk")
        steps = [_archive(actor, entry_to_change(entry.pk), note) for entry in entries]
        outcome.withdrawn = len(steps)
        _require_golden(steps, losing or ())
        import_documentation(actor, pack, None, pack.accepted)
        pack.lines.all().delete()
        pack.versions.filter(state=PackVersion.State.ACCEPTED).update(state=PackVersion.State.ROLLED_BACK)
    pack.ended_at, pack.address = timezone.now(), ""
    pack.save()
    audit("pack_unsubscribed", pack=name, entries=_counts(outcome))
    return outcome


def _lines_to_carry_out(
    actor: Actor, pack: Pack, version: PackVersion, outcome: PackOutcome, keep: set[str], anyway: set[str]
) -> Iterable[LineChange]:
    for line in read_lines(actor, pack, version, document_of(version)):
        why = line.left or ("kept as it is" if line.key in keep else "")
        if not why and line.is_dangerous and line.key not in anyway:
            why = "it reads like an instruction to agents"
        if why:
            outcome.left.append(LeftAsIs(echo(line.title), why))
        else:
            yield line


def _in_order(lines: Iterable[LineChange]) -> list[LineChange]:
    """Withdrawals come first: another line may now have the text that one gives up."""
    return sorted(lines, key=lambda line: ("withdrawn", "changed", "added").index(line.kind))


def _carry_out(actor: Actor, pack: Pack, version: PackVersion, line: LineChange, outcome: PackOutcome) -> Review:
    note = f"Pack {pack.name} {version.version}."
    if line.kind == "withdrawn":
        outcome.withdrawn += 1
        return _archive(actor, entry_to_change(line.entry.pk), f"Withdrawn by the publisher. {note}")
    assert line.after is not None
    if line.kind == "changed":
        outcome.changed += 1
        return _edit(actor, line.after, note)
    outcome.added += 1
    entry = line.after
    # Its number was one to try it with (`reviewing.NOT_STORED`); to be stored it is proposed, then approved, like any.
    entry.pk, entry.status, entry.owner = None, Status.PENDING, actor.user
    entry.verified_at = entry.decided_at = None
    record(actor, entry, Action.PROPOSE, notes=f"It came in. {note}", batch=uuid4())
    PackLine.objects.update_or_create(pack=pack, key=line.key, defaults={"entry": entry})
    return approve_at_once(actor, entry, notes=note)


def _edit(actor: Actor, after: CompanyEntry, note: str) -> Review:
    entry = entry_to_change(after.pk)
    changes: dict[str, Any] = {name: getattr(after, name) for name in (*CARRIED, "brought_by")}
    if changes["triggers"] != entry.triggers:
        changes["trigger_levels"] = {}  # they were decided for other triggers
    changes |= fields_of_verification(entry)
    step = record(actor, entry, Action.EDIT, notes=note, changes=changes)
    settle_complaints(Kind.COMPANY, entry.pk)
    return step


def _archive(actor: Actor, entry: CompanyEntry, note: str) -> Review:
    changes = fields_of_decision(actor, status=Status.DEPRECATED, notes=note)
    step = record(actor, entry, Action.DEPRECATE, notes=note, changes=changes)
    settle_complaints(Kind.COMPANY, entry.pk)
    return step


def _take_back(actor: Actor, step: Review, note: str, outcome: PackOutcome) -> Review | None:
    entry = entry_to_change(step.entry_id)
    if entry.revision != step.after["revision"]:
        outcome.left.append(LeftAsIs(f"{echo(entry.title)} ({entry.handle})", "changed since"))
        return None
    if step.action == Action.APPROVE:
        outcome.withdrawn += 1
        PackLine.objects.filter(entry=entry).delete()
        return _archive(actor, entry, note)
    outcome.changed += step.action == Action.EDIT
    outcome.added += step.action == Action.DEPRECATE
    return record(actor, entry, Action.UNDO, notes=note, changes=fields_before(step), undoes=step)


def _require_still_trusted(pack: Pack, version: PackVersion) -> None:
    if not PackKey.objects.filter(public_key=version.public_key, signer=pack.signer).exists():
        raise Conflict(
            f"The key that signed {pack.name} {version.version} is not trusted any more.",
            hint="An admin trusts it again, or you unsubscribe.",
        )


def _waits_for_second(actor: Actor, version: PackVersion, lines: Iterable[LineChange], outcome: PackOutcome) -> bool:
    """Record the first approval of what two people must approve; return whether the second is missing.

    An approval of other lines counts for nothing here, as one of another text of an entry does.

    Raises:
        Conflict: it is the same curator again.
    """
    important = any(max(line.entry.importance, line.after.importance) >= FOUR_EYES_FROM for line in lines if line.after)
    if settings.BIGMIND_MODE != "enterprise" or not important:
        return False
    keys = sorted(line.key for line in lines)
    if version.endorsed_by_id and version.endorsed_lines == keys:
        if version.endorsed_by_id == actor.user.pk:
            raise Conflict("You have accepted it already.", hint="A second curator has to agree.")
        return False
    if version.endorsed_by_id != actor.user.pk:
        outcome.differs_from = str(version.endorsed_by or "")
    version.endorsed_by, version.endorsed_lines = actor.user, keys
    version.save(update_fields=["endorsed_by", "endorsed_lines"])
    outcome.waits_for_second = True
    return True


def _require_golden(steps: Iterable[Review], losing: Collection[int]) -> None:
    entries = [step.entry for step in steps]
    if entries:
        require_golden_questions([entry.pk for entry in entries], [entry.text for entry in entries], losing)


def _pin_questions(actor: Actor, pack: Pack, version: PackVersion | None, outcome: PackOutcome) -> None:
    """Pin the golden questions of a version, as far as there is room."""
    for one in document_of(version).questions if version else []:
        target = target_of(pack, one.finds)
        if target is None:
            continue
        if GoldenQuestion.objects.count() >= MOST:
            outcome.left.append(LeftAsIs(echo(one.question), f"there are {MOST} golden questions already"))
            continue
        pin_golden_question(actor, question=one.question, kind=target[0], id=target[1], within=one.within)


def _unpin_questions(pack: Pack, version: PackVersion | None, after: PackVersion | None = None) -> None:
    """Take away the golden questions of a version that the version after it does not have."""
    kept = {(one.question, one.finds) for one in document_of(after).questions} if after else set()
    for one in document_of(version).questions if version else []:
        target = target_of(pack, one.finds)
        if target and (one.question, one.finds) not in kept:
            text = digest(one_line(one.question).casefold())
            GoldenQuestion.objects.filter(digest=text, kind=target[0], source_id=target[1]).delete()


def _counts(outcome: PackOutcome) -> dict[str, int]:
    return {"added": outcome.added, "changed": outcome.changed, "archived": outcome.withdrawn}
