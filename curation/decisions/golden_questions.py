"""Golden questions: checked whenever the index changes, and before a decision, so that what must be found stays found.

Any search over shared knowledge may lose an item unnoticed: to an entry that ranks above it, an import, another model,
another recipe. A golden question notices.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, Max, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from accounts.models import User
from bigmind import __version__
from bigmind.core.argument_types import Cursor, Limit, Offset, RowId, SharedContent
from bigmind.core.errors import Conflict, NotFound
from bigmind.core.handles import Handle
from bigmind.database.pagination import Page, page_of
from bigmind.text.hygiene import check_content, digest, echo, one_line
from curation.models import GoldenQuestion
from curation.models.golden_questions import QUESTION_CHARS
from knowledge.kinds import KINDS, SEARCHED
from knowledge.models import EmbeddingSpace, Kind, Passage, PassageVector
from knowledge.models.passages import FORM
from knowledge.search.filters import Filters
from knowledge.search.hybrid import search

LOOKED_AT = 10
MOST = 500
"""How many there may be: all are checked whenever the index changes."""
BEFORE_DECISION = 20
"""How many are checked before a decision takes effect: a curator waits for that."""
NEVER = Value(datetime(9999, 12, 31, tzinfo=UTC), DateTimeField())
SHARED = tuple(kind for kind in SEARCHED if KINDS[kind].is_shared)

ANYBODY = User(pk=UUID(int=0))
"""The user who asks: one who owns nothing, so that the answer is what everyone gets from shared knowledge."""

# The words of a question that an entry has too: such an entry may come before what the question must find.
_CONCERNED = """
WITH asked AS (
    SELECT id, kind = 'company' AND source_id = ANY(%(ids)s) AS is_about,
        cardinality(ARRAY(
            SELECT unnest(tsvector_to_array(to_tsvector('english', question)))
            INTERSECT SELECT unnest(%(words)s::text[])
        )) AS shared
    FROM curation_goldenquestion WHERE lost_since IS NULL OR %(lost)s
)
SELECT id FROM asked WHERE is_about OR shared > 0 ORDER BY is_about DESC, shared DESC, id LIMIT %(most)s
"""
_WORDS = "SELECT tsvector_to_array(to_tsvector('english', %s))"

QuestionText = Annotated[
    SharedContent,
    Field(max_length=QUESTION_CHARS, description="The question as people and agents ask it, up to 500 characters."),
]
SharedKind = Annotated[str, Field(pattern=f"^({'|'.join(SHARED)})$", description=f"One of {', '.join(SHARED)}.")]
SharedId = Annotated[
    str,
    Handle(kind_in="kind"),
    AfterValidator(check_content),
    Field(min_length=1, max_length=36, description="The id of what it must find."),
]
Within = Annotated[int, Field(ge=1, le=LOOKED_AT, description="The item must be in this many first results.")]
GoldenId = Annotated[RowId, Field(description="The number of the golden question: 7 for Q7.")]


@dataclass(frozen=True)
class GoldenCheck:
    """The outcome of asking golden questions: how many, and those whose item is not found now."""

    checked: int
    lost: list[GoldenQuestion]

    @property
    def held(self) -> int:
        """How many found their item."""
        return self.checked - len(self.lost)


def pin_golden_question(
    actor: Actor, *, question: QuestionText, kind: SharedKind, id: SharedId, within: Within = 3
) -> GoldenQuestion:
    """Pin a golden question, as a curator: it must keep finding this item of shared knowledge.

    Call this only when a curator asks for it. It is checked now, whenever shared knowledge or the model changes, and
    before a decision that may lose it. Returns it with the item's place now; pinning it again changes `within`.
    """
    actor.require("curate")
    if not _exists(actor, kind, id):
        raise NotFound(f"There is no {KINDS[kind].word} {id} that everybody sees.")
    text = one_line(question)
    key = {"digest": digest(text.casefold()), "kind": kind, "source_id": id}
    if GoldenQuestion.objects.count() >= MOST and not GoldenQuestion.objects.filter(**key).exists():
        raise Conflict(f"There are {MOST} golden questions already.", hint="Remove one that matters less.")
    golden, _ = GoldenQuestion.objects.update_or_create(
        **key,
        defaults={"within": within},
        create_defaults={"within": within, "question": text, "pinned_by": actor.user},
    )
    _note(golden, place_of(golden), index_state())
    return golden


def list_golden_questions(
    actor: Actor,
    *,
    lost: Annotated[bool, Field(description="Only those that lost their item.")] = False,
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: Cursor | None = None,
) -> Page[GoldenQuestion]:
    """List the golden questions, as a curator: what each must find, its place at the last check, and when it was lost.

    Call this when a curator asks whether search still finds what matters. Lost ones come first.
    """
    actor.require("curate")
    rows = GoldenQuestion.objects.lost() if lost else GoldenQuestion.objects.all()
    shown = rows.select_related("pinned_by").annotate(lost_at=Coalesce("lost_since", NEVER))
    return page_of(shown.order_by("lost_at", "question", "pk"), limit=limit, offset=offset, cursor=cursor)


def unpin_golden_question(actor: Actor, *, golden_id: GoldenId) -> GoldenQuestion:
    """Remove a golden question, as a curator. Its item stays. Returns the removed question."""
    actor.require("curate")
    golden = GoldenQuestion.objects.filter(pk=golden_id).first()
    if golden is None:
        raise NotFound(f"There is no golden question Q{golden_id}.", hint="golden_list shows those there are.")
    GoldenQuestion.objects.filter(pk=golden_id).delete()
    return golden


def check_golden_questions(actor: Actor) -> GoldenCheck:
    """Check all golden questions now, as a curator, and store the result. Returns those that lost their item.

    This happens by itself within ten minutes of a change; call it when a curator does not want to wait.
    """
    actor.require("curate")
    return check_all()


def check_all(*, only_outdated: bool = False) -> GoldenCheck:
    """Check the golden questions and store the result.

    Args:
        only_outdated: Leave out those that were asked since the index changed last.
    """
    state = index_state()
    rows = GoldenQuestion.objects.order_by("pk")
    questions = list(rows.exclude(checked_state=state) if only_outdated else rows)
    for golden in questions:
        _note(golden, place_of(golden), state)
    return GoldenCheck(len(questions), [golden for golden in questions if golden.is_lost])


def require_golden_questions(entries: Iterable[int], texts: Iterable[str], despite: Collection[int]) -> None:
    """Refuse a decision after which golden questions would not find their items any more, unless they are named.

    Call it in the transaction of the decision, after its changes: the refusal takes them back. Checks at most 20 of
    those not lost: those about the entries first, then those that share most words with their texts.

    Raises:
        Conflict: golden questions are lost by it. Its details name them in `loses`.
    """
    lost = [golden for golden in find_concerned(entries, texts) if not golden.is_met_at(place_of(golden))]
    if all(golden.pk in despite for golden in lost):
        return
    named = "; ".join(f"{golden.handle} {echo(golden.question)}" for golden in lost)
    numbers = [golden.pk for golden in lost]
    raise Conflict(
        f"Golden questions would not find any more what they must find: {named}.",
        hint=f"Ask the curator. To decide it nevertheless say losing={numbers}.",
        losing=numbers,
        loses=[{"id": golden.pk, "handle": golden.handle, "question": golden.question} for golden in lost],
    )


def place_of(golden: GoldenQuestion) -> int | None:
    """Return the place of its item among the first ten answers of everybody's search; None if it is not among them."""
    return place_in(first_answers(golden.question), golden.kind, golden.source_id)


def first_answers(question: str) -> list[tuple[str, str]]:
    """Return kind and id of the first ten answers that everybody's search gives, the best first."""
    found = search(question, owner=ANYBODY, filters=Filters(list(map(Kind, SHARED))), limit=LOOKED_AT)
    return [(str(item.kind), item.source_id) for item in found.items]


def place_in(answers: Sequence[tuple[str, str]], kind: str, id: str) -> int | None:
    """Return the place of an item among answers, from 1; None if it is not among them."""
    return next((place for place, one in enumerate(answers, start=1) if one == (kind, id)), None)


def index_state() -> str:
    """Return a text that changes whenever the answers of a search over shared knowledge may change."""
    shared = Passage.objects.filter(owner=None).aggregate(newest=Max("pk"))
    figures = [
        __version__,
        FORM,
        shared["newest"],
        Passage.objects.filter(owner=None).count(),
        PassageVector.objects.filter(passage__owner=None).exclude(vector=None).count(),
        *EmbeddingSpace.objects.exclude(active_since=None).order_by("pk").values_list("name", flat=True),
    ]
    return digest(" ".join(map(str, figures)))


def find_concerned(entries: Iterable[int], texts: Iterable[str], *, lost: bool = False) -> list[GoldenQuestion]:
    """Return the golden questions, at most 20, that a change of these entries to or from these texts may concern.

    Args:
        lost: Whether those that are lost are among them, too.
    """
    if not GoldenQuestion.objects.exists():
        return []
    with connection.cursor() as cursor:
        cursor.execute(_WORDS, ["\n".join(texts)])
        (words,) = cursor.fetchone()
        ids = [str(entry) for entry in entries]
        cursor.execute(_CONCERNED, {"ids": ids, "words": words or [], "most": BEFORE_DECISION, "lost": lost})
        found = [pk for (pk,) in cursor.fetchall()]
    return list(GoldenQuestion.objects.filter(pk__in=found).order_by("pk"))


def _exists(actor: Actor, kind: str, id: str) -> bool:
    key = KINDS[kind].key_in(id)
    return key is not None and KINDS[kind].visible(actor.user).filter(pk=key).exists()


def _note(golden: GoldenQuestion, place: int | None, state: str) -> None:
    now = timezone.now()
    lost_since = None if golden.is_met_at(place) else golden.lost_since or now
    noted = {"place": place, "checked_at": now, "checked_state": state, "lost_since": lost_since}
    for name, value in noted.items():
        setattr(golden, name, value)
    # Not by `save`, which fails where a curator removed the question while it was asked.
    GoldenQuestion.objects.filter(pk=golden.pk).update(**noted)


def items_of(actor: Actor, questions: Sequence[GoldenQuestion]) -> dict[int, Any]:
    """Return what each question must find, by the number of the question; without those whose item is gone."""
    shown: dict[int, Any] = {}
    for kind in {golden.kind for golden in questions}:
        keys = {golden.pk: KINDS[kind].key_in(golden.source_id) for golden in questions if golden.kind == kind}
        rows = KINDS[kind].visible(actor.user).in_bulk([key for key in keys.values() if key is not None])
        shown |= {pk: rows[key] for pk, key in keys.items() if key in rows}
    return shown
