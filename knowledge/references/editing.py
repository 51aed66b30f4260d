"""References: reading one, editing its text by hand, and deciding which text is kept where the source changed too."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import Field

from accounts.actor import Actor
from accounts.services.usage import COLLEAGUES
from bigmind.core.argument_types import Cursor, Offset, RowId, SharedContent, SharedLongText
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.database.pagination import Page, page_of
from bigmind.text.hygiene import echo_code
from knowledge.exposures.ledgers import Sent, note_sent
from knowledge.exposures.recent_questions import QuestionRecord
from knowledge.models import Reference, ReferenceDrift, ReferenceType
from knowledge.models.person_digests import digest_of_person
from knowledge.references.arguments import (
    Aliases,
    CategoryName,
    CollectionName,
    CommandText,
    Keywords,
    MethodName,
    PathText,
    ReferenceId,
    SharedName,
)
from knowledge.references.imports import keep_versions, reindex, remove_references, require_documentarian
from knowledge.references.lookup import commands_in, find_endpoints, nearest_references, select_collections
from knowledge.references.texts import Text, text_of, write_text
from knowledge.search.findings import Findings
from knowledge.search.typed_names import Request, request_in

_COUNT = """
INSERT INTO knowledge_referenceuse AS known (reference_id, asked, last_asked_at, people)
SELECT id, 1, now(), ARRAY[person] FROM unnest(%s::uuid[], %s::text[]) AS told(id, person) ORDER BY id
ON CONFLICT (reference_id) DO UPDATE SET asked = known.asked + 1, last_asked_at = now(),
    people = CASE WHEN known.people @> excluded.people OR cardinality(known.people) > %s THEN known.people
        ELSE known.people || excluded.people END
"""
"""In the order of ids, so that two calls with the same references lock the rows in one order. No more people are kept
than it takes to tell that there are enough besides the reader."""
ALL = "all"

log = structlog.get_logger()

DriftId = Annotated[RowId, Field(description="The number of the decision.")]
FIELD_LABELS = {
    "title": "Title",
    "name": "Name",
    "category": "Category",
    "subcategory": "Subcategory",
    "summary": "Summary",
    "content": "Text",
    "aliases": "Aliases",
    "keywords": "Keywords",
    "examples": "Examples",
    "related": "Related",
}
"""The parts of a text that people are shown, in the order in which they read them."""


@dataclass(frozen=True)
class FoundReference:
    """The reference with this name, or nothing and the nearest real names."""

    asked: str
    reference: Reference | None
    matched_on: str = ""
    others: list[Reference] = field(default_factory=list)
    did_you_mean: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return self.reference is not None


@dataclass(frozen=True)
class FoundEndpoint:
    """The endpoint that a request goes to. Without a method, all that the path has; one of several is not chosen."""

    asked: str
    reference: Reference | None
    endpoints: list[Reference] = field(default_factory=list)
    did_you_mean: list[str] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether the path is there, with this method where one was named."""
        return self.reference is not None or (bool(self.endpoints) and not self.did_you_mean)

    @property
    def methods(self) -> list[str]:
        """The methods of the path."""
        return list(dict.fromkeys(endpoint.method for endpoint in self.endpoints))


def get_command(actor: Actor, *, command: CommandText, collection: CollectionName = "") -> FoundReference:
    """Read the exact syntax, options and examples of a command, by its name or an alias.

    Call this before you recommend or run a command; never make one up. Returns the command, or nothing and the nearest
    real ones: then say that you have no information.
    """
    among = select_collections(collection)
    matches = [line.match for line in commands_in(command, among)]
    if not matches:
        note_unanswered(actor, command)
        return FoundReference(
            command, None, did_you_mean=nearest_references(command, among, kinds=[ReferenceType.COMMAND])
        )
    count_use(actor, [matches[0].reference.pk])
    others = [match.reference for match in matches[1:]]
    return FoundReference(command, matches[0].reference, matches[0].matched_on, others)


def list_commands(
    actor: Actor,
    *,
    category: CategoryName = "",
    collection: CollectionName = "",
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[Reference]:
    """List commands, of one category or all, each with its exact name and what it does.

    Call this when search_knowledge found nothing, before you say that there is no such command. Returns a page of them.
    """
    among = select_collections(collection)
    commands = among.references().filter(kind=ReferenceType.COMMAND).select_related("collection")
    if category and category.casefold() != ALL:
        commands = commands.in_category(category)
    return page_of(commands.order_by("collection__slug", "name", "key"), limit=limit, offset=offset, cursor=cursor)


def get_api_endpoint(
    actor: Actor, *, path: PathText, method: MethodName | None = None, collection: CollectionName = ""
) -> FoundEndpoint:
    """Read what an API endpoint takes and returns: parameters, body, responses, examples.

    Call this before you write a request; never make an endpoint up. Values may replace parameters (/users/123), and the
    path's prefix may be omitted. Returns the endpoint, or all methods of the path, or nothing and the nearest ones.
    """
    among = select_collections(collection)
    request = _request(path, method)
    query = f"{request.method} {request.path}".strip()
    endpoints = [match.reference for match in find_endpoints(request, among)]
    chosen = [one for one in endpoints if not request.method or one.method == request.method]
    if not chosen:
        note_unanswered(actor, query)
        return FoundEndpoint(query, None, endpoints, nearest_references(query, among, request=request))
    if len(chosen) > 1:
        return FoundEndpoint(query, None, chosen)
    count_use(actor, [chosen[0].pk])
    return FoundEndpoint(query, chosen[0], endpoints)


def get_reference(actor: Actor, *, reference_id: ReferenceId) -> Reference:
    """Read one item of documentation, whole: a guide, a feature, a setting.

    Call this when search_knowledge returned a summary and you need all of it. Returns the item.
    """
    shown = read_reference(reference_id)
    count_use(actor, [shown.pk])
    return shown


@transaction.atomic
def update_reference(
    actor: Actor,
    *,
    reference_id: ReferenceId,
    title: SharedName | None = None,
    summary: SharedLongText | None = None,
    content: SharedContent | None = None,
    aliases: Aliases | None = None,
    keywords: Keywords | None = None,
    category: CategoryName | None = None,
    subcategory: CategoryName | None = None,
) -> Reference:
    """Correct an item of documentation. Omitted arguments stay unchanged, and so does its exact name.

    Call this when the documentation is wrong or misses an alias; for curators and admins. The next import does not
    overwrite it: new text from the source waits for a decision. Returns the item.
    """
    require_documentarian(actor)
    sent: dict[str, Any] = {
        "title": title,
        "summary": summary,
        "content": content,
        "aliases": aliases,
        "keywords": keywords,
        "category": category,
        "subcategory": subcategory,
    }
    reference = read_reference(reference_id, lock=True)
    changes = {name: value for name, value in sent.items() if value is not None and value != getattr(reference, name)}
    if changes:
        rewrite(actor, reference, changes, why="edit")
    return reference


def rewrite(actor: Actor, reference: Reference, changes: dict[str, Any], *, why: str) -> None:
    """Write a person's text into a reference, keeping the previous version and the text of the source."""
    keep_versions([reference], why=why, by=actor.user)
    if reference.edited_at is None:
        # Only the first edit still finds the text of the source here.
        reference.generated = text_of(reference)
    for name, value in changes.items():
        setattr(reference, name, value)
    reference.edited_at = reference.updated_at = timezone.now()
    reference.edited_by = actor.user
    reference.save()
    reindex([reference], reference.collection)


def read_reference(reference_id: UUID, *, lock: bool = False) -> Reference:
    """Return a reference that is still there.

    Raises:
        NotFound: there is none, or its source no longer has it.
    """
    rows = Reference.objects.current().select_related("collection", "edited_by")
    try:
        # Only its own row: PostgreSQL locks no optional side of a join, which is who edited it.
        return (rows.select_for_update(of=("self",)) if lock else rows).get(pk=reference_id)
    except Reference.DoesNotExist as error:
        hint = "search_knowledge and list_commands show those there are."
        raise NotFound(f"There is no reference {reference_id}.", hint=hint) from error


def count_use(actor: Actor, ids: Iterable[UUID]) -> None:
    """Count that an agent received these references. A failure is logged only, so that no answer depends on it."""
    counted = list(ids)
    if not counted or not actor.is_agent:
        return
    try:
        # A savepoint, where the caller has a transaction: a failed statement would otherwise end that as well.
        with transaction.atomic(), connection.cursor() as cursor:
            people = [digest_of_person(actor.user.pk, id) for id in counted]
            cursor.execute(_COUNT, [counted, people, COLLEAGUES])
    except DatabaseError as error:
        log.warning("What was looked up was not counted.", error=error)


def note_unanswered(actor: Actor, query: str) -> None:
    """Record a name that was not found: what agents look for in vain is what the documentation lacks."""
    note_sent(Sent(actor, question=QuestionRecord(query, None, Findings([], 0, fallback=False))))


def _request(path: str, method: str | None) -> Request:
    request = request_in(path) or request_in(f"/{path.strip().lstrip('/')}")
    if request is None:
        raise Invalid.of("path", f"is no path: {echo_code(path)}", hint="Send one such as /api/v1/users/{id}.")
    return Request(method or request.method, request.path)


@dataclass(frozen=True)
class Difference:
    """One part of a text that is different: as it was, and as it is."""

    label: str
    before: str
    after: str


def open_drifts() -> QuerySet[ReferenceDrift]:
    """Return what waits for a decision, the oldest first."""
    drifts = ReferenceDrift.objects.filter(decided_at=None, reference__removed_at=None)
    return drifts.select_related("reference__collection", "reference__edited_by").order_by("opened_at", "pk")


def see_drift(actor: Actor, *, drift_id: DriftId) -> ReferenceDrift:
    """Return what waits for a decision.

    Raises:
        NotFound: there is none.
    """
    require_documentarian(actor)
    drift = open_drifts().filter(pk=drift_id).first()
    if drift is None:
        raise NotFound(f"There is no open decision {drift_id}.", hint="Someone may have decided it.")
    return drift


@transaction.atomic
def decide_drift(
    actor: Actor, *, drift_id: DriftId, decision: Literal["mine", "new", "edited"], **correction: Any
) -> Reference:
    """Choose the correct text: the person's (`mine`), the source's (`new`), or what is written now (`edited`).

    Raises:
        Conflict: it was decided meanwhile.
    """
    require_documentarian(actor)
    drift = ReferenceDrift.objects.select_for_update().filter(pk=drift_id).first()
    if drift is None:
        raise NotFound(f"There is no open decision {drift_id}.")
    if drift.decided_at:
        raise Conflict("Someone has decided this already.", hint="Read the reference to see what stands.")
    locked = Reference.objects.select_for_update(of=("self",)).select_related("collection")
    reference = locked.get(pk=drift.reference_id)
    if decision == "new":
        _take(actor, reference, drift)
    else:
        if decision == "edited":
            rewrite(actor, reference, correction, why="decision")
        _keep(reference, drift)
    drift.decision, drift.decided_at, drift.decided_by = decision, timezone.now(), actor.user
    drift.save(update_fields=["decision", "decided_at", "decided_by"])
    return reference


def differences(before: Text | None, after: Text | None) -> list[Difference]:
    """Return in which parts two texts differ."""
    pairs = {name: (text_part(before, name), text_part(after, name)) for name in FIELD_LABELS}
    return [Difference(FIELD_LABELS[name], *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def text_part(text: Text | None, name: str) -> str:
    """Return a part of a text as people read it."""
    value = (text or {}).get(name) or []
    if name == "examples":
        return "\n".join(f"{one.get('description', '')}\n{one.get('code', '')}".strip() for one in value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _keep(reference: Reference, drift: ReferenceDrift) -> None:
    """Keep the person's text, and record the source's text as known, so that it does not drift again."""
    reference.digest = drift.digest or reference.digest
    reference.generated = drift.now or reference.generated
    if drift.now is None:
        reference.origin = ""  # Its source no longer has it, and the next import must not ask again.
    reference.save(update_fields=["digest", "generated", "origin"])


def _take(actor: Actor, reference: Reference, drift: ReferenceDrift) -> None:
    if drift.now is None:
        remove_references([reference], by=actor.user)
        return
    keep_versions([reference], why="decision", by=actor.user)
    write_text(reference, drift.now)
    reference.digest, reference.generated = drift.digest, None
    reference.edited_at = reference.edited_by = None
    reference.updated_at = timezone.now()
    reference.save()
    reindex([reference], reference.collection)
