"""Removing one text from everything that is stored, with a preview before it and a note for restores behind it."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import Alert, User
from accounts.services.alerts import tell
from accounts.services.audit import audit
from accounts.services.erasure_reports import Erased, report_erasure
from accounts.services.idempotency import forget_kept_replies
from bigmind.core.errors import Forbidden, Invalid
from bigmind.database.rls import rls_bypass, rls_scope
from bigmind.text.hygiene import clean_name, texts_in
from curation.decisions.withdrawn_sources import tell_owners
from curation.models import Comparison, Scrub
from curation.models.scrubs import WHY_CHARS
from knowledge.exposures.exposures import Exposure
from knowledge.exposures.sent_lines import forget_texts_of_things
from knowledge.exposures.withdrawals import Heard, withdraw
from knowledge.kinds import KINDS
from knowledge.models import Kind, Summary
from knowledge.search.frequencies import forget_statistics
from knowledge.search.passages import erase_passages
from knowledge.search.spelling import forget_vocabularies

from .files import scrub_files, scrub_redis
from .matching import Needle, PlainNeedle, beginnings_of, describe_needles, letters_of, needles_of, spans_in
from .notes import NOTED, ScrubNote, check_value_of, keep_notes, key_of, needles_of_note, note_of, secret_keys
from .rows import Mark, Place, Rows, find_places, note_places, replace_in_browser_sessions, replace_places

Why = Annotated[
    str,
    Field(max_length=WHY_CHARS),
    AfterValidator(clean_name),
    Field(min_length=3, description="Why it is removed. Everyone reads it who reads the place where the text stood."),
]
KIND_OF_MODEL = {row.model: Kind(kind) for kind, row in KINDS.items()}
NOT_REACHED = (
    gettext_noop("backups made before: a restore removes it again by the note"),
    gettext_noop("exports, and what agents, their providers, webhooks and mails were sent before"),
    gettext_noop("the journal of PostgreSQL and of Redis, until they have been written over"),
    gettext_noop("the memory of programs that run, such as titles on lists, until they are started again"),
    gettext_noop("the files of tables, until they were vacuumed: “bigmind scrub --vacuum” does it at once"),
)


@dataclass
class Scrubbed:
    """What was removed, or would be. An admin reads how many places of which kind, and none of their texts.

    Attributes:
        places: How often it stands in what is stored, by what people call that.
        left: How often it stands where BigMind replaces nothing, such as user names.
        people: How many people have it in their private memory.
        files: How often it stands in which file of the home.
        elsewhere: Sessions of browsers, and messages and keys of Redis, with it.
        number: The number of the scrub; none for a preview.
    """

    dry_run: bool
    places: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    people: int = 0
    open_sessions_told: int = 0
    ended_sessions_told: int = 0
    files: dict[str, int] = field(default_factory=dict)
    elsewhere: int = 0
    number: int | None = None
    report: int | None = None
    tables: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """In how many places it stands that are replaced."""
        return sum(self.places.values()) + sum(self.files.values()) + self.elsewhere

    def as_dict(self) -> dict[str, Any]:
        """Return it for scripts."""
        return {**asdict(self), "total": self.total, "not_reached": NOT_REACHED}


def preview_scrub(actor: Actor | None, whose: User | None = None, *, text: str) -> Scrubbed:
    """Count where a text stands, and change nothing. A look at the whole instance is audited.

    Args:
        actor: None on the command line.
        whose: Only in the memory of this user, who must be the actor; otherwise in the whole instance, for admins.

    Raises:
        Invalid: the text is too short or too long.
        Forbidden: the actor may not.
    """
    needles = needles_of(text)
    _require(actor, whose)
    with _seeing(whose):
        rows = note_places(list(find_places(needles, whose=whose)), needles)
        heard = withdraw(_exposures(_things(rows)), why="", wrote=_sessions_of(rows), dry_run=True)
    scrubbed = _count(rows, heard, dry_run=True)
    if whose is None:
        _outside(scrubbed, needles, Mark("[removed]"), dry_run=True)
        audit("scrub_previewed", places=scrubbed.total)
    return scrubbed


def scrub_text(actor: Actor | None, whose: User | None = None, *, text: str, why: Why) -> Scrubbed:
    """Remove a text from everything that is stored, and leave a mark that says when and why.

    Rows of every kind, the history, passages with their words and vectors, kept replies, receipts, captured
    conversations, notices and deliveries that wait, logs, the cache and Redis. Sessions that received it hear of it,
    and owners of private rows are alerted. A note of keyed hashes makes a restore remove it again. It cannot be undone.

    Raises:
        Invalid: the text is too short or too long, or stands in the reason.
        Forbidden: the actor may not.
    """
    needles = needles_of(text)
    _require(actor, whose)
    if spans_in(why, needles):
        raise Invalid.of("why", "holds the text itself, and is shown in its place", hint="Say what it was instead.")
    at, salt = timezone.now(), secrets.token_hex(16)
    key = key_of(salt, secret_keys()[0])
    scrub = Scrub(
        at=at,
        whose=whose,
        by=actor.user if actor else None,
        why=why,
        salt=salt,
        check_value=check_value_of(key),
        needles=describe_needles(needles, key),
    )
    scrubbed = _carry_out(scrub, needles, by=actor.user if actor else None)
    keep_notes([note_of(scrub)])
    return scrubbed


def scrub_again(notes: Iterable[ScrubNote], secrets_of: Sequence[str]) -> int:
    """Remove from a database that was restored what was removed after its backup; return how many texts.

    Raises:
        Invalid: a note was made with another secret key.
    """
    done = 0
    for note in sorted(notes, key=lambda one: one.at):
        whose = User.objects.filter(pk=note.whose).first() if note.whose else None
        if Scrub.objects.filter(key=note.key).exists() or (note.whose and not whose):
            continue
        hashed = needles_of_note(note, secrets_of)
        scrub = Scrub(whose=whose, **{name: getattr(note, name) for name in NOTED})
        with _seeing(whose):
            found = list(find_places(hashed, whose=whose))
        # What was found tells the text, and by that the places where it was cut short are found as well.
        _carry_out(scrub, [*hashed, *_recover(found, hashed)], by=None)
        done += 1
    return done


def mark_of(at: datetime, why: str) -> Mark:
    """Return what stands in the place of a text."""
    return Mark(f"[removed {at:%Y-%m-%d}: {why}]")


def _carry_out(scrub: Scrub, needles: Sequence[Needle], *, by: User | None) -> Scrubbed:
    whose, mark = scrub.whose, mark_of(scrub.at, scrub.why)
    with _seeing(whose), transaction.atomic():
        found = list(find_places(needles, whose=whose))
        rows = note_places(found, needles)
        things, wrote = _things(rows), _sessions_of(rows)
        reason = f"a text in it was removed: {scrub.why}."[:200]
        heard = withdraw(_exposures(things), why=reason, wrote=wrote)
        replace_places(found, needles, mark)
        forget_texts_of_things((str(kind), str(id)) for kind, id in things)
        _write_passages(things)
        Comparison.objects.filter(entry__in=[id for kind, id in things if kind == Kind.COMPANY]).delete()
        # Read again, so that what was not reached is reported.
        left = note_places(list(find_places(needles, whose=whose)), needles)
        scrubbed = _count(rows, heard, dry_run=False)
        scrubbed.left = dict(left.left + left.counts)
        scrub.counts = scrubbed.places
        scrub.save()
        scrubbed.number = scrub.pk
        _tell(scrub, rows, heard, by=by)
        scrubbed.report = _report(scrub, scrubbed)
    forget_statistics()
    forget_vocabularies()
    # After the commit: no rollback puts back what is taken out of files and caches.
    if whose is None:
        _outside(scrubbed, needles, mark, dry_run=False)
    return scrubbed


def _require(actor: Actor | None, whose: User | None) -> None:
    if actor is None:
        return
    if whose is None:
        actor.require("admin")
    elif whose.pk != actor.user.pk:
        raise Forbidden("Each person removes a text from their own memory.", hint="Leave the user out, as an admin.")


def _seeing(whose: User | None) -> AbstractContextManager[None]:
    return rls_scope(whose.pk) if whose else rls_bypass()


def _things(rows: Rows) -> set[tuple[Kind, Any]]:
    """Return the things, by kind and id, whose texts are concerned: those of the rows, and of the passages."""
    found = {(KIND_OF_MODEL[model], pk) for model, pk in rows.things if model in KIND_OF_MODEL}
    found |= {(Kind.SUMMARY, pk) for model, pk in rows.things if model is Summary}
    return found | {(Kind(kind), KINDS[kind].read_id(id)) for kind, id in rows.passages}


def _exposures(things: Iterable[tuple[Kind, Any]]) -> Iterator[Exposure]:
    return (Exposure(kind.value, str(id)) for kind, id in things)


def _sessions_of(rows: Rows) -> list[tuple[UUID, Exposure]]:
    """Return the sessions in which the things were stored: their agents have seen the text, no matter who said it."""
    found = []
    for kind, id in _things(rows):
        path = KINDS[kind].session
        session = KINDS[kind].model._base_manager.filter(pk=id).values_list(path, flat=True).first() if path else None
        if session:
            found.append((session, Exposure(kind.value, str(id))))
    return found


def _write_passages(things: Iterable[tuple[Kind, Any]]) -> None:
    """Write the passages of these things again: a text that was split over two of them stands in neither alone."""
    for kind, id in sorted(things, key=str):
        thing = KINDS[kind].model._base_manager.filter(pk=id).first()
        if thing is None:
            erase_passages(kind, [id])
        else:
            KINDS[kind].write_passages(thing)


def _tell(scrub: Scrub, rows: Rows, heard: Heard, *, by: User | None) -> None:
    tell_owners(heard, why=f"a text in it was removed: {scrub.why}.")
    for owner in User.objects.filter(pk__in=[*rows.owners]):
        forget_kept_replies(owner)
        if by is None or owner.pk != by.pk:
            places = rows.owners[owner.pk]
            count = "one place" if places == 1 else f"{places:,} places"
            text = f"A text was removed from {count} of your memory, and with it what was told of them: {scrub.why}"
            tell(owner, Alert.Topic.TEXT_REMOVED, text, by=by, places=places, scrub=scrub.pk)
    audit("scrubbed", about=scrub.whose, scrub=scrub.pk, places=sum(rows.counts.values()))


def _report(scrub: Scrub, scrubbed: Scrubbed) -> int:
    erased = Erased({"what": "text"}, counts=dict(scrubbed.places))
    erased.told = {"open": scrubbed.open_sessions_told, "ended": scrubbed.ended_sessions_told}
    return report_erasure(erased, whose=scrub.whose).pk


def _count(rows: Rows, heard: Heard, *, dry_run: bool) -> Scrubbed:
    return Scrubbed(
        dry_run,
        places=dict(sorted(rows.counts.items())),
        left=dict(rows.left),
        people=len(rows.owners),
        open_sessions_told=heard.open,
        ended_sessions_told=heard.ended,
        tables=sorted(rows.tables),
    )


def _outside(scrubbed: Scrubbed, needles: Sequence[Needle], mark: Mark, *, dry_run: bool) -> None:
    scrubbed.files = scrub_files(needles, dry_run=dry_run)
    scrubbed.elsewhere = scrub_redis(needles, dry_run=dry_run)
    scrubbed.elsewhere += replace_in_browser_sessions(needles, mark, dry_run=dry_run)


def _recover(found: Iterable[Place], needles: Sequence[Needle]) -> list[PlainNeedle]:
    # The first form is the plain one.
    for place in found:
        for text in texts_in(list(place.values.values())):
            for start, end in spans_in(text, needles[:1]):
                plain = letters_of(text[start:end])
                return [PlainNeedle(plain), *beginnings_of(plain)]
    return []
