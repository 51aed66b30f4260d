"""Facts that take the place of others, which stay on record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

from django.utils import timezone

from bigmind.core.errors import Conflict
from bigmind.database.columns import ColumnCopy
from bigmind.text.hygiene import digest
from knowledge.anchors.grammar import MOST_ANCHORS
from knowledge.models import Fact, Kind, Passage, Session
from knowledge.search.passages import erase_passages

from .fact_index import index_fact
from .near_duplicates import compare_by_words, look_for

SUCCESSOR = ColumnCopy(
    "the fact that takes the place of a corrected one",
    Fact,
    left_out={
        "id": "It is another row.",
        "user": "It is looked up by.",
        "digest": "It is that of the new text, and looked up by.",
        "superseded_by": "Nothing has taken its place yet.",
        "similar_to": "The new text is compared anew.",
        "contradicted_by": "The new text is compared anew.",
        "deprecated_at": "It is current, and looked up so.",
        "deprecation_reason": "It is current.",
        "created_at": "It is known from now on.",
        "updated_at": "It is known from now on.",
        "provenance": "The new text comes from whoever corrected it.",
        "anchor_checks": "Whoever corrected it knew the code as it was checked last.",
    },
)


def replace_facts(
    facts: Sequence[Fact],
    *,
    stays: Fact,
    text: str = "",
    category: str | None = None,
    days: Mapping[str, datetime] | None = None,
    reason: str,
    said_in: Session | None = None,
) -> tuple[Fact, bool]:
    """Replace facts with one of them, or with a new one that has its category and project.

    Args:
        facts: Locked, and current; the one that stays is among them.
        text: The text of the new one; empty, or that of the one that stays: none is stored.
        days: The dates of the new one, by column, where they differ from those of the one that stays.
        said_in: The session of the new one; without it, that of the one that stays.

    Returns:
        The fact that is valid now, and whether it is new.
    """
    holds, is_new = stays, False
    if text and digest(text) != stays.digest:
        holds, is_new = Fact.objects.get_or_create(
            user=stays.user,
            digest=digest(text),
            deprecated_at=None,
            defaults={
                **SUCCESSOR.values(stays),
                "anchor_checks": stays.accepted_checks,
                "category": category or stays.category,
                "fact": text,
                "source_session": said_in or stays.source_session,
                **(days or {}),
            },
        )
    _take_over_anchors(holds, facts)
    for fact in facts:
        if fact.pk != holds.pk:
            set_aside(fact, reason, by=holds)
    if is_new:
        compare_by_words(holds, look_for(holds).near)
        index_fact(holds, made=True, is_new=True)
    return holds, is_new


def supersede(old: Sequence[Fact], new: Fact) -> list[Fact]:
    """Set aside the facts that a new one replaces, except those that it replaced before."""
    for fact in old:
        if not fact.is_current and fact.superseded_by_id != new.pk:
            raise Conflict(f"Fact {fact.number} has been set aside already.", hint="Leave it out of supersedes.")
        if fact.is_current and new.valid_from and new.valid_from > timezone.now():
            # It stays valid until then, and expires by itself.
            fact.superseded_by, fact.contradicted_by = new, None
            fact.save(update_fields=["superseded_by", "contradicted_by", "updated_at"])
        elif fact.is_current:
            set_aside(fact, f"Superseded by F{new.number}.", by=new)
    _take_over_anchors(new, old)
    return list(old)


def set_aside(fact: Fact, reason: str, *, by: Fact | None = None) -> None:
    """Set a fact aside: no session receives it any more, and what it contradicted is valid again."""
    fact.deprecated_at, fact.deprecation_reason = timezone.now(), reason
    # Its replacement, if it was contradicted. What it contradicted itself is valid again.
    fact.superseded_by, fact.contradicted_by = by or fact.superseded_by or fact.contradicted_by, None
    changed = ["deprecated_at", "deprecation_reason", "superseded_by", "contradicted_by", "updated_at"]
    fact.save(update_fields=changed)
    Fact.objects.filter(contradicted_by=fact).update(contradicted_by=None)
    if fact.superseded_by_id:
        keep_for_then(fact)
    else:
        erase_passages(Kind.FACT, [fact.pk])


def keep_for_then(fact: Fact) -> None:
    """Let questions about the past find a fact that was replaced."""
    passages = Passage.objects.filter(owner=fact.user_id, kind=Kind.FACT, source_id=str(fact.pk))
    if not passages.update(past=True):
        index_fact(fact)


def _take_over_anchors(fact: Fact, old: Sequence[Fact]) -> None:
    """Add the code that the replaced facts rest on, with its last check."""
    joined = list(dict.fromkeys(chain(fact.anchors, *(one.anchors for one in old))))[:MOST_ANCHORS]
    if joined != fact.anchors:
        known = {anchor: check for one in old for anchor, check in one.accepted_checks.items()}
        fact.anchor_checks = {**{anchor: known[anchor] for anchor in joined if anchor in known}, **fact.anchor_checks}
        fact.anchors = joined
        fact.save(update_fields=["anchors", "anchor_checks"])
