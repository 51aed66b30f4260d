"""A memory that is taken out and brought back, and all that it says, field by field."""

import json
from datetime import UTC, datetime, timedelta

from accounts.actor import Actor
from accounts.people.profiles import get_profile
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session
from knowledge.transfer.exports import whole_memory
from tests.knowledge.factories import make_fact, make_hypothesis, make_note, make_session

HARD = "Deploys happen on Fridays.\n---\n# never: mind"
"""Three dashes in a line end front matter, for those who read it carelessly."""


def fill_memory(actor: Actor) -> Actor:
    """A memory in which everything is said that can be said."""
    profile = get_profile(actor)
    profile.role, profile.preferences, profile.pinned_facts = "Engineer", "Short answers.", ["Speaks German."]
    profile.save()
    moment = datetime(2025, 3, 1, 10, 30, tzinfo=UTC)
    session = make_session(actor, one_liner="Moved the build", project="depot", topics=["ci", "make"], importance=8)
    Session.objects.filter(pk=session.pk).update(
        started_at=moment, ended_at=moment + timedelta(hours=1), outcome="It builds."
    )
    Chunk.objects.create(session=session, user=actor.user, seq=1, role="user", content="Why?", flag_reason="key")
    Chunk.objects.create(session=session, user=actor.user, seq=2, role="assistant", content="Because.\n\n- a\n- b")
    fact = make_fact(actor, HARD, category="decision", project="depot")
    Fact.objects.filter(pk=fact.pk).update(
        confidence=0.5, created_at=moment, valid_from=moment, valid_until=moment + timedelta(days=9000),
        source_session=session, updated_at=moment + timedelta(days=1),
    )  # fmt: skip
    make_fact(actor, "Prefers pytest.", category="preference")
    belief = make_hypothesis(actor, "I believe X because Y.")
    Hypothesis.objects.filter(pk=belief.pk).update(
        project="depot", confidence=0.3, created_at=moment, check_on="2027-01-01", session=session
    )
    note = make_note(actor, "Call first.\n\n---\n", domain="email/out", key="dymon: packages")
    Note.objects.filter(pk=note.pk).update(created_at=moment, updated_at=moment, project="depot")
    return actor


def fields_of(actor: Actor) -> dict[str, object]:
    """All that is remembered, without what an import makes anew, such as ids."""
    document = whole_memory(actor).model_dump(mode="json")
    numbers = {session["id"]: number for number, session in enumerate(document["sessions"])}
    said = {}
    for kind in ("sessions", "facts", "hypotheses", "notes"):
        for number, row in enumerate(
            sorted(document[kind], key=lambda row: json.dumps([row.get("fact"), row.get("key")]))
        ):
            flat = {**row, **(row.pop("summary", None) or {})}
            for name in {"id", "proof", "provenance", "updated_at" if kind == "sessions" else "id"}:
                flat.pop(name, None)
            for place, chunk in enumerate(flat.pop("chunks", [])):
                flat |= {f"chunk {place} {name}": value for name, value in chunk.items()}
            for link in ("source_session", "session"):
                flat[link] = numbers.get(flat.get(link))
            said |= {(kind, number, name): value for name, value in flat.items()}
    profile = document["profile"] or {}
    return said | {("profile", 0, name): value for name, value in profile.items() if name != "updated_at"}
