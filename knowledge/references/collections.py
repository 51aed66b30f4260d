"""Collections of documentation: listing and browsing them, how well they are covered, and whether they list all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, UUIDField
from django.db.models.functions import Cast
from pydantic import Field

from accounts.actor import Actor
from accounts.services.usage import may_be_shown
from bigmind.core.argument_types import Offset
from bigmind.core.errors import NotFound
from bigmind.database.pagination import Page, page_of
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import mention
from knowledge.argument_types import CAN_BE_COMPLETE, Completeness, ReferenceKind, Risk, least_complete
from knowledge.models import (
    Feedback,
    Kind,
    Reference,
    ReferenceCollection,
    ReferenceDrift,
    ReferenceImport,
    ReferenceType,
    ReferenceUse,
)
from knowledge.models.feedback import COMPLAINTS
from knowledge.models.injection_signs import filter_by_risk
from knowledge.models.person_digests import digest_of_person
from knowledge.references.arguments import CategoryName, CollectionName, TypeName
from knowledge.references.editing import ALL, open_drifts
from knowledge.references.lookup import SearchedCollections

SHOWN = 10
NAMED = 6
"""Collections that the greeting of an agent names: it is read by every conversation."""
CATEGORIES = 30


def completeness_of(references: Iterable[Reference]) -> dict[ReferenceKind, Completeness]:
    """Return for each type how complete the sources of these commands and endpoints are: as the least complete one.

    Declared by each source, because an import of one must not overwrite what another said. Decision 26.
    """
    return _states((one.collection.completeness, one.origin, one.kind) for one in references)


def lists_all(among: SearchedCollections, kind: ReferenceKind, *, program: str = "") -> bool:
    """Return whether all things of a type are documented: every source declares itself complete.

    Of commands only the collections of a program count, unless one was named: nobody lists all programs.
    """
    sources = among.references().filter(kind=kind).order_by()
    if program:
        sources = sources.filter(collection__program=program)
    rows = sources.values_list("collection__completeness", "origin", "kind").distinct()
    return _states(rows).get(kind) == Completeness.COMPLETE


def is_listed_whole(words: Sequence[str], among: SearchedCollections) -> bool:
    """Return whether all commands that begin like a line are listed, so that what is not listed does not exist.

    The longest command that the words begin with decides; where they begin with none, the collection of the program.
    """
    prefixes = {" ".join(words[:length]) for length in range(1, len(words) + 1)}
    programs = [one.program for one in among.all if one.program]
    prefixes |= {f"{program} {words_}" for program in programs for words_ in list(prefixes)}
    forms = among.references().filter(kind=ReferenceType.COMMAND, name__in=prefixes).values_list("name", "form")
    by_length = sorted(forms, key=lambda found: -len(found[0]))
    if by_length:
        longest = [form for name, form in by_length if len(name.split()) == len(by_length[0][0].split())]
        return all((form or {}).get("completeness") == Completeness.COMPLETE for form in longest)
    line = f"{' '.join(words)} ".casefold()
    named = [program for program in programs if line.startswith(f"{program.casefold()} ")]
    if not named:
        # A word that is no documented program may be any program of the machine, unless one collection was asked.
        return bool(among.slug) and lists_all(among, ReferenceKind.COMMAND)
    return all(lists_all(among, ReferenceKind.COMMAND, program=program) for program in named)


def _states(rows: Iterable[tuple[dict[str, dict[str, str]], str, str]]) -> dict[ReferenceKind, Completeness]:
    states: dict[ReferenceKind, set[str]] = {}
    for declared, origin, kind in rows:
        if kind in CAN_BE_COMPLETE:
            states.setdefault(ReferenceKind(kind), set()).add(declared.get(origin, {}).get(kind, Completeness.UNKNOWN))
    return {kind: least_complete(found) for kind, found in states.items()}


@dataclass(frozen=True)
class CollectionPage:
    """A page of a collection, with the counts of each kind, of each category within the kind, and of what is flagged.

    Flagged is what has signs of prompt injections.
    """

    collection: ReferenceCollection
    page: Page[Reference]
    kinds: dict[str, int]
    categories: dict[str, int]
    flagged: int


@dataclass(frozen=True)
class Missing:
    """A gap in the documentation: how often it occurs, and the first places."""

    says: str
    number: int
    first: list[Reference]


@dataclass(frozen=True)
class Coverage:
    """How well a collection is covered, and what waits for a person.

    `asked` has what agents were given most, and `number_asked` how much was given to any: of enough people other than
    the reader.
    """

    collection: ReferenceCollection
    kinds: list[tuple[str, str, int]]
    missing: list[Missing]
    drifts: list[ReferenceDrift]
    imports: list[ReferenceImport]
    asked: list[Reference]
    number_asked: int
    complained: list[Reference]

    @property
    def total(self) -> int:
        """How many references there are."""
        return sum(number for _, _, number in self.kinds)


def list_collections(actor: Actor) -> QuerySet[ReferenceCollection]:
    """List the collections with how many references each has, when it was last imported, and what waits in it."""
    there = Q(references__removed_at=None)
    waiting = ReferenceDrift.objects.filter(
        reference__collection=OuterRef("pk"), decided_at=None, reference__removed_at=None
    )
    newest = ReferenceImport.objects.filter(collection=OuterRef("pk")).order_by("-at")
    return ReferenceCollection.objects.annotate(
        number=Count("references", filter=there),
        commands=Count("references", filter=there & Q(references__kind=ReferenceType.COMMAND)),
        endpoints=Count("references", filter=there & Q(references__kind=ReferenceType.API)),
        drifted=Exists(waiting),
        imported_at=newest.values("at")[:1],
        imported_version=newest.values("version")[:1],
    ).order_by("title", "slug")


def list_documented(*, limit: int = NAMED) -> list[str]:
    """Return the names of collections that have references, those that changed last first."""
    there = Reference.objects.current().filter(collection=OuterRef("pk"))
    named = ReferenceCollection.objects.filter(Exists(there)).order_by("-updated_at", "slug")
    return list(named.values_list("slug", flat=True)[:limit])


def see_collection(actor: Actor, *, collection: CollectionName) -> ReferenceCollection:
    """Return a collection.

    Raises:
        NotFound: there is none of this name.
    """
    found = ReferenceCollection.objects.filter(slug=collection).first()
    if found is None:
        raise NotFound(f"There is no collection {mention(collection)}.")
    return found


def browse_references(
    actor: Actor,
    *,
    collection: CollectionName,
    type: TypeName = "all",
    category: CategoryName = "",
    risk: Risk | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 30,
    offset: Offset = 0,
) -> CollectionPage:
    """Browse a collection by kind and category, in the order of names."""
    chosen = see_collection(actor, collection=collection)
    whole = Reference.objects.current().filter(collection=chosen)
    there = filter_by_risk(whole, risk)
    kinds = dict(there.order_by("kind").values_list("kind").annotate(Count("pk")))
    of_kind = there if type == ALL else there.filter(kind=type)
    categories = of_kind.order_by("category").values_list("category").annotate(Count("pk"))
    narrowed = of_kind.in_category(category) if category else of_kind
    listed = narrowed.select_related("collection").order_by("kind", "name", "title", "key")
    return CollectionPage(
        chosen,
        page_of(listed, limit=limit, offset=offset),
        kinds,
        {name: number for name, number in categories[:CATEGORIES] if name},
        filter_by_risk(whole, "flagged").count(),
    )


# Feedback is its author's own row, but what is wrong with shared documentation counts no matter who said it.
@rls_bypass()
def cover(actor: Actor, *, collection: CollectionName) -> Coverage:
    """Report how well a collection is covered: what there is, what is missing, what drifted, what is asked for."""
    found = see_collection(actor, collection=collection)
    there = Reference.objects.current().filter(collection=found)
    complaints = Feedback.objects.filter(kind=Kind.REFERENCE, verdict__in=COMPLAINTS, settled_at=None)
    wrong = complaints.annotate(about=Cast("source_id", UUIDField())).values("about")
    used = _list_used(actor, found)
    return Coverage(
        collection=found,
        kinds=list(there.order_by("kind", "category").values_list("kind", "category").annotate(Count("pk"))),
        missing=[_missing(there, *gap) for gap in _GAPS],
        drifts=list(open_drifts().filter(reference__collection=found)[: 5 * SHOWN]),
        imports=list(found.imports.select_related("by").order_by("-at")[:SHOWN]),
        asked=list(there.filter(pk__in=used[:SHOWN]).select_related("use").order_by("-use__asked", "name")),
        number_asked=len(used),
        complained=list(there.filter(pk__in=wrong).order_by("name", "title")[:SHOWN]),
    )


def _list_used(actor: Actor, collection: ReferenceCollection) -> list[UUID]:
    """Return what the agents of enough other people were given, the most given first.

    The reader is none of them: a figure about oneself and one colleague would say what that colleague asked.
    """
    uses = ReferenceUse.objects.filter(reference__in=Reference.objects.current().filter(collection=collection))
    return [
        use.pk
        for use in uses.order_by("-asked", "reference__name")
        if may_be_shown(len({*use.people} - {digest_of_person(actor.user.pk, use.pk)}))
    ]


_GAPS = (
    ("Endpoints without a summary", ReferenceType.API, Q(summary="")),
    ("Endpoints without an example", ReferenceType.API, Q(examples=[])),
    ("Commands without a description", ReferenceType.COMMAND, Q(summary="")),
    ("Commands without an example", ReferenceType.COMMAND, Q(examples=[])),
    ("Commands whose options are not known", ReferenceType.COMMAND, Q(form=None)),
)


def _missing(there: QuerySet[Reference], says: str, kind: str, lacks: Q) -> Missing:
    rows = there.filter(lacks, kind=kind)
    return Missing(says, rows.count(), list(rows.order_by("name", "key")[:SHOWN]))
