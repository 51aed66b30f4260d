"""Embedding: workers process pending passages in batches; a new space is built beside the old one, then replaces it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from time import monotonic, sleep
from uuid import UUID

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actor import Actor
from bigmind.core.background import after_commit
from bigmind.core.deadlocks import retry_collisions
from bigmind.core.errors import Invalid
from bigmind.database.read_only import is_read_only
from bigmind.database.roles import NotOwner
from bigmind.observability.outages import DATABASE, outage_behind
from knowledge.embeddings.calls import Circuit, embed_batch
from knowledge.embeddings.pace import note_pace
from knowledge.embeddings.providers import Embedded, Embedder, EmbedderError, TextsRefused, TokenEmbedder, provider
from knowledge.models import CachedVector, EmbeddingSpace, Kind, Passage, PassageVector
from knowledge.models.embeddings import HAS_VECTOR, IS_SHARED
from knowledge.search.indexes import drop_indexes, keep_statistics
from knowledge.truth.near_duplicates import compare_next

# With the pause of the sweep, the batch of a killed worker waits for less than a minute.
LEASE = timedelta(seconds=30)
# What someone writes waits for the end of a batch of an import: the built-in model makes 6 to 60 long texts a second.
BATCH_SECONDS = 2.0
TURN_SECONDS = BATCH_SECONDS / 2  # Half, because a batch takes about its time: most are a turn.
FIRST_BATCH = 10
COMPARED_AT_ONCE = 3
"""Every fact is compared here, and what was written meanwhile waits for its vector until these are."""
FILLED_AT_ONCE = 20
STORED_AGAIN, STORED_AGAIN_SECONDS = 20, 0.05
LOST_SECONDS = 0.5
WAIT_WHEN_DOWN = timedelta(seconds=15)
WAIT_WHEN_REFUSED = timedelta(days=1)
WAIT_WHEN_STOPPED = timedelta(days=3650)
STOPPED = "An admin stopped it. These texts are found by their words."
AGAIN = "to be made again"
TO_MAKE = Q(vector=None) | Q(trouble=AGAIN)
# Spelled like the condition of the index `vector_next`, so that PostgreSQL uses it.
UNFINISHED = ~Q(vector__isnull=False, trouble="")

YOUNG = timedelta(minutes=10)
"""How long a text that was being stored when its space was made may take to be committed."""
_QUEUE_ALL = """
INSERT INTO knowledge_passagevector (passage_id, space_id, owner_id, kind, trouble)
SELECT passage.id, %(space)s, passage.owner_id, passage.kind, ''
FROM knowledge_passage AS passage
WHERE NOT EXISTS (
    SELECT 1 FROM knowledge_passagevector AS known WHERE known.space_id = %(space)s AND known.passage_id = passage.id
)
ORDER BY passage.id
ON CONFLICT DO NOTHING
"""

Lane = UUID | str
"""Who takes turns at the workers: each person, for private texts, and each kind of shared texts."""
KINDS_IN_TURN = (Kind.COMPANY, Kind.ENTRY, *(kind for kind in Kind if kind not in {Kind.COMPANY, Kind.ENTRY}), "")
"""What people write one by one before what is imported; at last what an older version let wait, which has no kind."""
_BEGAN = timezone.now()
_worked_in: set[str] = set()
"""The space that this process last worked in, if any."""

log = structlog.get_logger()


@dataclass(frozen=True)
class EmbeddingProgress:
    """The progress of a space: how many passages it has, and how many of them have no vector yet."""

    space: str
    total: int
    waiting: int
    troubled: int

    @property
    def processed(self) -> int:
        """How many have their vector."""
        return self.total - self.waiting


def embed_pending() -> int:
    """Embed what is pending, until nothing is or the embedder is down; return how many vectors were made.

    May run twice at once and be killed at any point: a batch is leased for 30 seconds, then another worker takes over
    what is unfinished.
    """
    embedder = provider()
    if _was_replaced(embedder):
        log.info("Another model has taken over: this process has the settings of before.", space=embedder.space)
        return 0
    space = space_of(embedder)
    if space.stopped_at:
        return 0
    made, is_active = 0, active_space() == space
    try:
        _mark_all(space)
        _unless_refused(keep_statistics)  # Of what was imported a moment ago.
        while True:
            made += sum(_work_off(embedder, space))
            if _is_young(space) and queue_missing(space):
                continue
            switch_when_complete(space)
            # Last, because nobody waits for it, and similar texts may be in a later batch; in small parts, because
            # others may write meanwhile.
            if not (is_active and compare_next(space, COMPARED_AT_ONCE)):
                _fill_tokens(embedder, space)
                return made
    except EmbedderError as error:
        log.warning("The embedder is away; the passages wait.", outage="embedder", reason=error.reason)
        # The first failure counts: health says since when the embedder is away.
        EmbeddingSpace.objects.filter(pk=space.pk, failed_at=None).update(failed_at=timezone.now())
        while is_active and compare_next(space, COMPARED_AT_ONCE):
            pass
    except IntegrityError:
        if EmbeddingSpace.objects.filter(pk=space.pk).exists():
            raise
        # Another model has taken over meanwhile, and this space is gone.
    return made


def _work_off(embedder: Embedder, space: EmbeddingSpace) -> Iterator[int]:
    """Embed what is pending; yield for each batch how many vectors were made."""
    size, spent = FIRST_BATCH, defaultdict[Lane, float](float)
    while claimed := _claim(space, size, spent):
        began = monotonic()
        yield _embed_claimed(embedder, space, claimed)
        seconds = monotonic() - began
        for row in claimed:
            spent[_lane_of(row)] += seconds / len(claimed)
        if space.failed_at:
            space.failed_at = None
            space.save(update_fields=["failed_at"])
        # At most twice as many: a quick batch may have come from the cache.
        pace = BATCH_SECONDS / max(seconds, 0.001)
        note_pace(space.name, len(claimed))
        size = max(FIRST_BATCH, int(len(claimed) * min(2.0, pace)))
        _unless_refused(keep_statistics)


def _unless_refused(act: Callable[[], object]) -> None:
    """Do what the owner of the tables alone may do. Vectors are made without it, too: search is slower then."""
    try:
        act()
    except NotOwner as refusal:
        _warn_once(str(refusal))


@cache
def _warn_once(refusal: str) -> None:
    """Log it once in this process: it stays so until the worker is started with another address."""
    log.warning(refusal)


def space_of(embedder: Embedder) -> EmbeddingSpace:
    """Return the space of an embedder, made with all passages waiting in it when there was none.

    The first space there is serves at once; a later one when it is complete.
    """
    space, is_new = EmbeddingSpace.objects.get_or_create(
        name=embedder.space, defaults={"dimensions": embedder.dimensions}
    )
    _worked_in.clear()
    _worked_in.add(space.name)
    if is_new:
        queue_missing(space)
    if not is_read_only() and not EmbeddingSpace.objects.exclude(active_since=None).exists():
        EmbeddingSpace.objects.filter(pk=space.pk).update(active_since=timezone.now())
    return space


@transaction.atomic
def queue_missing(space: EmbeddingSpace) -> int:
    """Queue every passage that has no vector in this space; return how many there were."""
    _take_time()
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE_ALL, {"space": space.pk})
        return int(cursor.rowcount)


def _is_young(space: EmbeddingSpace) -> bool:
    """Whether a text may be missing: one being stored when the space was made did not see it, and was not seen."""
    return space.created_at > timezone.now() - YOUNG


def active_space() -> EmbeddingSpace | None:
    """Return the space that search uses."""
    return EmbeddingSpace.objects.exclude(active_since=None).order_by("-active_since").first()


def switch_when_complete(space: EmbeddingSpace) -> bool:
    """Let search use a space that was built beside another, once nothing waits in it; drop the others."""
    if active_space() == space:
        _drop_leftovers(space)
        return False
    # Texts that the embedder refused do not hold the new model back.
    if space.vectors.filter(TO_MAKE, trouble__in=["", AGAIN]).exists() or queue_missing(space):
        return False
    with transaction.atomic():
        _take_time()
        # One that was stopped a moment ago is empty, not complete.
        ready = EmbeddingSpace.objects.filter(pk=space.pk, stopped_at=None, again_from=None)
        if not ready.update(active_since=timezone.now()):
            return False
        _drop(EmbeddingSpace.objects.exclude(pk=space.pk))
    log.info("Search uses a new embedding space.", space=space.name)
    return True


def _was_replaced(embedder: Embedder) -> bool:
    """Whether the space this process has worked in gave way to that of another model.

    Processes are restarted one after the other: one of before would build the old space again, and switch back to it.
    """
    if embedder.space not in _worked_in or active_space() is None:
        return False
    return not EmbeddingSpace.objects.filter(name=embedder.space).exists()


def _drop_leftovers(space: EmbeddingSpace) -> None:
    """Drop unfinished spaces of other models. A space younger than this process is built by another one."""
    leftovers = EmbeddingSpace.objects.filter(created_at__lt=_BEGAN).exclude(pk=space.pk)
    if leftovers.exists():
        with transaction.atomic():
            _take_time()
            _drop(leftovers)


def _drop(spaces: QuerySet[EmbeddingSpace]) -> None:
    """Delete spaces with their vectors.

    Locked first: this waits for texts that were just queued in them, and texts that are stored meanwhile skip them.
    Otherwise the commit of such a text would fail, because its space is gone.
    """
    EmbeddingSpace.objects.filter(pk__in=[space.pk for space in spaces.order_by("pk").select_for_update()]).delete()


def embedder_error() -> str:
    """Return the embedder's problem, as workers and this process last found it; empty if there is none.

    The embedder is not called: a check every few seconds would cost money, and wake a sleeping model.
    """
    try:
        name = provider().space
    except ImproperlyConfigured as error:
        return f"is not configured: {error}"
    failed = EmbeddingSpace.objects.filter(name=name).exclude(failed_at=None).first()
    if failed is None and not Circuit(name).is_open():
        return ""
    since = f" since {failed.failed_at:%Y-%m-%d %H:%M} UTC" if failed and failed.failed_at else ""
    return f"does not answer{since}; search goes by words, and new texts wait for their vectors"


def progress(*, shared: bool = False) -> EmbeddingProgress:
    """Return how far the space of the configured embedder is. `shared`: with what everybody may read alone."""
    embedder = provider()
    if _was_replaced(embedder) or (is_read_only() and not EmbeddingSpace.objects.filter(name=embedder.space).exists()):
        return EmbeddingProgress(embedder.space, 0, 0, 0)  # It would be made now.
    space = space_of(embedder)
    vectors = space.vectors.filter(owner=None) if shared else space.vectors.all()
    waiting = vectors.filter(TO_MAKE)
    troubled = waiting.exclude(trouble__in=["", AGAIN])
    total = vectors.count()
    return EmbeddingProgress(space.name, total, total if space.again_from else waiting.count(), troubled.count())


@transaction.atomic
def start_again(*, batch_size: int, clear_cache: bool) -> EmbeddingProgress:
    """Re-embed everything with the configured embedder; search uses the old vectors meanwhile.

    With `clear_cache` every text is embedded again; without it only those not in the cache. A worker marks the rows: on
    a large instance that takes longer than anyone should wait for a reply.
    """
    space = space_of(provider())
    EmbeddingSpace.objects.filter(pk=space.pk).update(batch_size=batch_size, stopped_at=None, again_from=timezone.now())
    _take_time()
    if clear_cache:
        space.cached.all().delete()
    queue_missing(space)
    after_commit("knowledge.tasks.embed_pending")
    return progress()


@transaction.atomic
def stop_rebuild(actor: Actor) -> int:
    """Stop re-embedding: the rest keep the vectors they have. Return how many rows were released.

    A space that was being built beside the active one is dropped. The configured one stays as a stopped space, or the
    next sweep would begin it again; `start_again` takes it up, and finds what was made in the cache.
    """
    actor.require("admin")
    _take_time()
    # Locked, so that no worker lets search use a space that is emptied here. Texts are queued in it all the same.
    spaces = list(EmbeddingSpace.objects.select_for_update(no_key=True).order_by("pk"))
    active, configured = active_space(), provider().space
    not_marked = active.vectors.exclude(vector=None).exclude(trouble=AGAIN) if active and active.again_from else None
    let_go = not_marked.count() if not_marked is not None else 0
    let_go += _free(PassageVector.objects.filter(space=active, trouble=AGAIN)).update(trouble="")
    EmbeddingSpace.objects.update(again_from=None)
    for space in spaces:
        if space == active:
            continue
        let_go += space.vectors.count()
        if space.name == configured:
            space.vectors.all().delete()
            EmbeddingSpace.objects.filter(pk=space.pk).update(stopped_at=timezone.now())
        else:
            _drop(EmbeddingSpace.objects.filter(pk=space.pk))
    return let_go


@transaction.atomic
def stop_waiting(actor: Actor, kind: str) -> int:
    """Skip the vectors of shared texts of one kind; return how many texts are no longer pending.

    Call this when an import is not worth its vectors now. The texts are found by their words; `retry_failed` queues
    them again.

    Raises:
        Invalid: there is no such kind.
    """
    actor.require("admin")
    if kind not in Kind.values:
        raise Invalid.of("kind", f"must be one of: {', '.join(Kind.values)}")
    waiting = PassageVector.objects.filter(owner=None, vector=None, kind=kind, trouble="")
    return _free(waiting).update(trouble=STOPPED, not_before=timezone.now() + WAIT_WHEN_STOPPED)


@transaction.atomic
def retry_failed(actor: Actor) -> int:
    """Queue the texts that the embedder rejected again; return how many there are."""
    actor.require("admin")
    failed = PassageVector.objects.filter(UNFINISHED).exclude(trouble__in=["", AGAIN])
    # One that failed when it was made again has a vector: without this mark nobody would see that it waits.
    retried = _free(failed.exclude(vector=None)).update(trouble=AGAIN, not_before=timezone.now())
    retried += _free(failed).update(trouble="", not_before=timezone.now())
    for name in EmbeddingSpace.objects.values_list("name", flat=True):
        Circuit(name).close()  # Someone pressed the button, so the embedder should be back.
    after_commit("knowledge.tasks.embed_pending")
    return retried


def _take_time() -> None:
    """In a large instance what follows in this transaction takes longer than a page may."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout TO 0")


def _mark_all(space: EmbeddingSpace) -> None:
    """Mark every vector of a space, if someone asked to re-embed everything.

    The rows keep their vectors until new ones replace them, so nobody's search gets worse on the way. The indexes go
    first: each row that changes would be entered in them again, which takes twenty times as long as changing it.
    """
    if space.again_from is None:
        return
    _unless_refused(partial(drop_indexes, space))
    with transaction.atomic():
        _take_time()
        spaces = EmbeddingSpace.objects.select_for_update(no_key=True).filter(pk=space.pk).exclude(again_from=None)
        if spaces.exists():
            _free(space.vectors.all()).update(not_before=timezone.now(), trouble=AGAIN)
            spaces.update(again_from=None)


def _free(rows: QuerySet[PassageVector]) -> QuerySet[PassageVector]:
    """Lock and return those rows that no one else is changing.

    Anyone who is has just embedded them, or is deleting them. To wait for them while holding rows that they wait for
    would be a deadlock.
    """
    return PassageVector.objects.filter(pk__in=rows.select_for_update(skip_locked=True, of=("self",)).values("pk"))


def _lane_of(row: PassageVector) -> Lane:
    return row.owner_id or row.kind


def _claim(space: EmbeddingSpace, size: int, spent: dict[Lane, float]) -> list[PassageVector]:
    """Lease up to a batch of what is pending. No lock is held while the embedder works.

    What a person has just written comes first, and never shares a batch with what all share, which would take longer.
    Whose texts took the time of a batch, a person or a kind of what all share, comes behind everybody else: so imports
    take turns, and none keeps a single entry waiting. Time counts and not texts, because a turn for each batch would
    let many short facts wait for as many batches of long pages.

    Args:
        spent: The seconds that the texts of each took since the others had their turn; emptied when all had theirs.
    """
    now = timezone.now()
    due = space.vectors.filter(TO_MAKE, not_before__lte=now).select_related("passage")
    due = due.order_by(HAS_VECTOR, IS_SHARED, "-id").select_for_update(skip_locked=True, of=("self",))
    most = min(size, space.batch_size)
    with transaction.atomic():
        rows = _next_in_turn(due, most, {lane for lane, seconds in spent.items() if seconds >= TURN_SECONDS})
        if not rows and spent:
            spent.clear()
            rows = _next_in_turn(due, most, set())
        rows = rows or list(due[:most])
        PassageVector.objects.filter(pk__in=[row.pk for row in rows]).update(not_before=now + LEASE)
    return rows


def _next_in_turn(due: QuerySet[PassageVector], most: int, had_turn: set[Lane]) -> list[PassageVector]:
    """Return the first of what has no vector yet: people's own writing, then one kind after the other."""
    new = due.filter(vector=None)
    people = [lane for lane in had_turn if isinstance(lane, UUID)]
    if rows := list(new.filter(owner__isnull=False).exclude(owner__in=people)[:most]):
        return rows
    if not list(new.filter(owner=None)[:1]):
        return []
    # One query for each, because each reads the start of an index; most of these kinds have nothing pending.
    for kind in (kind for kind in KINDS_IN_TURN if kind not in had_turn):
        if rows := list(new.filter(owner=None, kind=kind).order_by(HAS_VECTOR, "-id")[:most]):
            return rows
    return []


def _embed_claimed(embedder: Embedder, space: EmbeddingSpace, rows: Sequence[PassageVector]) -> int:
    """Embed a batch, again if it collides, and as long as its lease lasts if the database is lost.

    No one else may take it till then.
    """
    give_up = monotonic() + LEASE.total_seconds()
    while True:
        try:
            return retry_collisions(partial(_embed, embedder, space, rows))
        except (OperationalError, InterfaceError) as error:
            if outage_behind(error) != DATABASE or monotonic() > give_up:
                raise
            log.warning("The database was lost while texts were embedded; they are tried again.", error=error)
            sleep(LOST_SECONDS)
            connection.close_if_unusable_or_obsolete()


def _embed(embedder: Embedder, space: EmbeddingSpace, rows: Sequence[PassageVector]) -> int:
    digests = {row.passage.digest: row.passage.text for row in rows}
    known = dict(CachedVector.objects.filter(space=space, digest__in=digests).values_list("digest", "vector"))
    missing = [digest for digest in digests if digest not in known]
    try:
        known |= _embed_texts(embedder, space, {digest: digests[digest] for digest in missing})
    except TextsRefused as refused:
        if len(missing) == 1:
            _put_off([row for row in rows if row.passage.digest in missing], refused.reason, WAIT_WHEN_REFUSED)
        else:
            return sum(_embed(embedder, space, [row]) for row in rows)
    except EmbedderError:
        _put_off(rows, "", WAIT_WHEN_DOWN)
        raise
    ready = [row for row in rows if row.passage.digest in known]
    for row in ready:
        row.vector, row.trouble = known[row.passage.digest], ""
    stored = _store(ready)
    for _ in range(STORED_AGAIN):
        # Another worker that looks for a batch holds these for a moment. What is skipped for good waits for its lease.
        if len(stored) == len(ready):
            break
        sleep(STORED_AGAIN_SECONDS)
        stored |= _store([row for row in ready if row.pk not in stored])
    return len(stored)


@transaction.atomic
def _store(rows: Sequence[PassageVector]) -> set[int]:
    """Store vectors; return the rows that nobody was changing, such as by deleting their passage."""
    # A passage that was rewritten meanwhile stays pending, for the vector of its new text.
    digests = {row.passage.digest for row in rows}
    there = PassageVector.objects.filter(pk__in=[row.pk for row in rows], passage__digest__in=digests)
    free = set(_free(there).values_list("pk", flat=True))
    PassageVector.objects.bulk_update([row for row in rows if row.pk in free], ["vector", "trouble"])
    return free


def _embed_texts(embedder: Embedder, space: EmbeddingSpace, texts: dict[str, str]) -> dict[str, object]:
    if not texts:
        return {}
    embedded = embed_batch(embedder, list(texts.values()))
    made = dict(zip(texts, (vector.tolist() for vector in embedded.vectors), strict=True))
    CachedVector.objects.bulk_create(
        [
            CachedVector(space=space, digest=digest, vector=vector, tokens=tokens)
            # Sorted, as all rows that others may write at the same moment: in another order two would wait for each
            # other.
            for (digest, vector), tokens in sorted(zip(made.items(), _signs(embedded), strict=True))
        ],
        ignore_conflicts=True,
    )
    return made


def _signs(embedded: Embedded) -> list[bytes | None]:
    """Return the signs of each text's tokens, concatenated; None for each if the embedder has none."""
    return [one.signs.tobytes() for one in embedded.tokens] or [None] * len(embedded.vectors)


def _fill_tokens(embedder: Embedder, space: EmbeddingSpace) -> None:
    """Add the signs of tokens to what an older version embedded, until something is pending."""
    waiting = space.vectors.filter(TO_MAKE)
    while isinstance(embedder, TokenEmbedder) and not waiting.filter(not_before__lte=timezone.now()).exists():
        rows = list(space.cached.filter(tokens=None).order_by("pk")[:FILLED_AT_ONCE])
        if not rows:
            return
        texts = dict(Passage.objects.filter(digest__in=[row.digest for row in rows]).values_list("digest", "text"))
        signs = dict(zip(texts, _signs(embed_batch(embedder, list(texts.values()))), strict=True)) if texts else {}
        for row in rows:
            row.tokens = signs.get(row.digest, b"")  # Texts that no passage has any more are not worth it.
        CachedVector.objects.bulk_update(rows, ["tokens"])


def _put_off(rows: Sequence[PassageVector], error: str, wait: timedelta) -> None:
    changes = {"not_before": timezone.now() + wait, **({"trouble": error} if error else {})}
    with transaction.atomic():
        _free(PassageVector.objects.filter(pk__in=[row.pk for row in rows])).update(**changes)
