"""Exposures: what each session was shown, what it says it used, and what that proves about company knowledge."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import User
from accounts.services.usage import COLLEAGUES, may_be_shown
from bigmind.core.errors import Invalid
from bigmind.core.handles import read_handle
from bigmind.core.private_row_numbers import number_in
from bigmind.database.postgresql.kept_plans import Statement
from bigmind.database.rls import rls_bypass
from bigmind.text.hygiene import echo
from knowledge.exposures.feedback import id_of_visible, open_complaints, record_feedback
from knowledge.exposures.uncited_entries import CITING, MOST_OF_ONE, SESSIONS_ASKED, is_personal
from knowledge.kinds import KINDS
from knowledge.models import CompanyEntry, Kind, Serving, Session

MEASURED = frozenset({Kind.COMPANY, Kind.ENTRY, Kind.FACT})
"""Kinds whose exposures are counted."""

CITED = {kind for kind, row in KINDS.items() if row.takes_feedback}
"""Kinds with a handle that a session can cite."""

# What a session says of its exposures is added at once; the sweep recomputes every entry. In a team what was cited
# waits for the sweep, which knows how many people cited it.
_ADD = """
INSERT INTO knowledge_proof (entry_id, served, answered, people, cited, misled, last_cited_at, tallied_at)
SELECT id, 1, 1, 1, (NOT misled)::int, misled::int, CASE WHEN NOT misled THEN now() END, now()
FROM unnest(%s::bigint[], %s::boolean[]) AS told(id, misled) ORDER BY id
ON CONFLICT (entry_id) DO UPDATE SET
    cited = knowledge_proof.cited + excluded.cited,
    misled = knowledge_proof.misled + excluded.misled,
    last_cited_at = coalesce(excluded.last_cited_at, knowledge_proof.last_cited_at)
"""
_TALLY = """
INSERT INTO knowledge_proof (entry_id, served, answered, people, cited, misled, last_cited_at, tallied_at)
SELECT entry.id, sum(told.served), sum(least(told.answered, %(most)s)), count(*) FILTER (WHERE told.answered > 0),
    CASE WHEN count(*) FILTER (WHERE counts) >= %(citing)s THEN sum(told.cited) FILTER (WHERE counts) ELSE 0 END,
    sum(told.misled),
    CASE WHEN count(*) FILTER (WHERE counts) >= %(citing)s THEN max(told.last_cited_at) FILTER (WHERE counts) END, now()
FROM (
    SELECT source_id, serving.user_id, count(*) AS served, count(*) FILTER (WHERE answered) AS answered,
        count(*) FILTER (WHERE cited) AS cited, count(*) FILTER (WHERE misled) AS misled,
        max(session.ended_at) FILTER (WHERE cited) AS last_cited_at
    FROM knowledge_serving AS serving JOIN knowledge_session AS session ON session.id = serving.session_id
    WHERE kind = 'company' GROUP BY source_id, serving.user_id
) AS told JOIN knowledge_companyentry AS entry ON entry.id = told.source_id::bigint,
LATERAL (SELECT told.cited > 0 AND (%(is_personal)s OR (told.user_id IS DISTINCT FROM entry.proposed_by_id
    AND told.user_id IS DISTINCT FROM entry.owner_id)) AS counts) AS voice
GROUP BY entry.id ORDER BY entry.id
ON CONFLICT (entry_id) DO UPDATE SET
    served = excluded.served, answered = excluded.answered, people = excluded.people, cited = excluded.cited,
    misled = excluded.misled, last_cited_at = excluded.last_cited_at, tallied_at = excluded.tallied_at
"""

# Each a moment after the one before, for lists that begin with the newest.
_SERVE = """
INSERT INTO knowledge_serving (session_id, user_id, kind, source_id, at, answered, cited, misled)
SELECT %s, %s, kind, id, %s + place * interval '1 microsecond', false, false, false
FROM unnest(string_to_array(%s, ' '), string_to_array(%s, ' ')) WITH ORDINALITY AS shown(kind, id, place)
ORDER BY kind, id
ON CONFLICT DO NOTHING
"""


class Exposure(NamedTuple):
    """One thing that a session was shown."""

    kind: str
    source_id: str


def serve(session: Session, exposures: Iterable[Exposure]) -> None:
    """Record what a session is shown: one row for each thing, however often it is shown."""
    if shown := list(exposures):
        with connection.cursor() as cursor:
            cursor.execute(*insert_of(session, shown))


def insert_of(session: Session, exposures: Sequence[Exposure]) -> Statement:
    """Return the statement that records what a session is shown, of which neither kinds nor ids have spaces."""
    kinds, ids = [" ".join(map(str, each)) for each in zip(*exposures, strict=True)]
    return _SERVE, [session.pk, session.user_id, timezone.now(), kinds, ids]


def note_use(actor: Actor, session: Session, *, used: Sequence[str] | None, misleading: Sequence[str] | None) -> None:
    """Record what a session used and what misled it. Company knowledge that misled goes back to the curators.

    Raises:
        Invalid: a handle cannot be read.
        NotFound: a handle names nothing that the actor may see.
    """
    if used is None and misleading is None:
        return
    known = {
        Exposure(kind, number_in(id)): Exposure(kind, id)
        for kind, id in Serving.objects.filter(session=session).values_list("kind", "source_id")
    }
    misled = {_parse_handle(actor, "misleading", handle, known) for handle in misleading or []}
    # What both helped and misled counts as misleading.
    cited = {_parse_handle(actor, "used", handle, known) for handle in used or []} - misled
    # A session may cite what it found in another way, such as on a page: that counts as an exposure, too.
    serve(session, (cited | misled) - {*known.values()})
    rows = list(Serving.objects.filter(session=session))
    for row in rows:
        one = Exposure(row.kind, row.source_id)
        row.answered, row.cited, row.misled = True, one in cited, one in misled
    Serving.objects.bulk_update(rows, ["answered", "cited", "misled"])
    _add(cited, misled)
    for one in sorted(misled):
        _complain(actor, one)


def read_last_citations(reader: User, entry_ids: Iterable[int]) -> dict[int, datetime]:
    """Return when each of these entries was last cited: in the reader's own sessions, or in anyone's if enough others
    cited it. With fewer, the time would reveal when one of them worked, and on what.
    """
    mine = Q(user=reader)
    with rls_bypass():
        rows = (
            Serving.objects.filter(kind=Kind.COMPANY, source_id__in=list(map(str, entry_ids)), cited=True)
            .order_by()
            .values("source_id")
            .annotate(
                others=Count("user", filter=~mine, distinct=True),
                own=Max("session__ended_at", filter=mine),
                last=Max("session__ended_at"),
            )
        )
        found = {int(row["source_id"]): row["last" if row["others"] >= COLLEAGUES else "own"] for row in rows}
    return {id: moment for id, moment in found.items() if moment}


def count_verdicts(field: str, reader: User) -> dict[str, Count]:
    """Return what `visible_count` needs of servings to tell a reader how many sessions said so: `cited` or `misled`."""
    mine, by = Q(user=reader), Q(**{field: True})
    return {
        f"all_{field}": Count("pk", filter=by),
        f"my_{field}": Count("pk", filter=by & mine),
        f"others_{field}": Count("user", filter=by & ~mine, distinct=True),
    }


def visible_count(row: Mapping[str, Any], field: str) -> int:
    """Return how many sessions said so: everyone's if enough others did, else the reader's own."""
    number: int = row[f"all_{field}"] if may_be_shown(row[f"others_{field}"]) else row[f"my_{field}"]
    return number


class UseCounts(NamedTuple):
    """How many sessions received something, cited it, and were misled by it."""

    served: int
    cited: int
    misled: int


def counts_of(actor: Actor, kind: str, id: object) -> UseCounts | None:
    """Return what sessions said of something that they received; None where too few people received it.

    Of what is shared everybody's sessions are counted, of facts the actor's own.
    """
    servings = Serving.objects.filter(kind=kind, source_id=str(id))
    is_shared = kind != Kind.FACT
    with rls_bypass():
        row = (servings if is_shared else servings.filter(user=actor.user)).aggregate(
            served=Count("pk"),
            others=Count("user", filter=~Q(user=actor.user), distinct=True),
            **count_verdicts("cited", actor.user),
            **count_verdicts("misled", actor.user),
        )
    is_disclosed = is_personal() or not is_shared or row["others"] >= COLLEAGUES
    if not (row["served"] and is_disclosed):
        return None
    return UseCounts(row["served"], visible_count(row, "cited"), visible_count(row, "misled"))


def tally_servings() -> int:
    """Recompute the figures of every company entry; return how many were ever shown.

    What `_add` counted at once is corrected, and what erased sessions said is dropped.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout TO 0")
        # What belonged to sessions that were erased since no longer counts.
        cursor.execute(
            "DELETE FROM knowledge_proof WHERE NOT EXISTS (SELECT 1 FROM knowledge_serving"
            " WHERE kind = 'company' AND source_id = entry_id::text)"
        )
        most, citing = (SESSIONS_ASKED, 1) if is_personal() else (MOST_OF_ONE, CITING)
        cursor.execute(_TALLY, {"is_personal": is_personal(), "most": most, "citing": citing})
        return int(cursor.rowcount)


def _parse_handle(actor: Actor, argument: str, handle: str, known: Mapping[Exposure, Exposure]) -> Exposure:
    """Return what a handle names: `C142`, `F12`, or kind and id as a search returned them, such as `note:7`."""
    found = read_handle(handle)
    if found is None or found[0] not in CITED:
        raise Invalid.of(
            argument,
            f"has {echo(handle)}, which is no handle",
            hint="Write C142 or F12 as you were told it, or kind:id as a search returned: note:7.",
        )
    kind, id = found
    named = Exposure(kind, id.lstrip("0") if id.isdecimal() else id.lower())
    return known.get(named) or Exposure(kind, id_of_visible(actor, kind, id))


def _add(cited: Iterable[Exposure], misled: Iterable[Exposure]) -> None:
    verdicts = {int(one.source_id): False for one in cited if _is_shared(one) and is_personal()}
    verdicts |= {int(one.source_id): True for one in misled if _is_shared(one)}
    if verdicts:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [list(verdicts), list(verdicts.values())])


def _complain(actor: Actor, one: Exposure) -> None:
    """Report it to the curators, unless the person has an open complaint, which may have a reason."""
    complaints = open_complaints(Kind.COMPANY).filter(user=actor.user, source_id=one.source_id)
    if (
        _is_shared(one)
        and CompanyEntry.objects.approved().filter(pk=one.source_id).exists()
        and not complaints.exists()
    ):
        record_feedback(actor, kind="company", id=one.source_id, verdict="wrong")


def _is_shared(one: Exposure) -> bool:
    return one.kind == Kind.COMPANY
