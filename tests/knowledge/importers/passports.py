"""A memory that is taken out and brought back, and all that it says, field by field."""

from datetime import UTC, datetime, timedelta

from accounts.actor import Actor
from accounts.people.profiles import get_profile
from knowledge.models import Chunk, Fact, Hypothesis, Note, Session, Summary
from knowledge.transfer.left_out_columns import IN_OTHER_FORMATS
from tests.knowledge.factories import make_fact, make_hypothesis, make_note, make_session

HARD = "Deploys happen on Fridays.\n---\n# never: mind"
"""Three dashes in a line end front matter, for those who read it carelessly."""
OWN = {"id", "provenance"}
"""Columns that an import writes itself."""


def fill_memory(actor: Actor) -> Actor:
    """A memory in which everything is said that can be said."""
    profile = get_profile(actor)
    profile.role, profile.preferences, profile.pinned_facts = "Engineer", "Short answers.", ["Speaks German."]
    profile.save()
    moment = datetime(2025, 3, 1, 10, 30, tzinfo=UTC)
    session = make_session(
        actor, one_liner="Moved the build", project="depot", topics=["ci", "make"], importance=8, summary="Told."
    )
    Session.objects.filter(pk=session.pk).update(
        started_at=moment, ended_at=moment + timedelta(hours=1), outcome="It builds.", auto_closed=True
    )
    make_session(actor, one_liner="Looked around")
    Summary.objects.filter(session=session).update(key_facts=["One"], code_refs=["a.py:1"])
    Chunk.objects.create(session=session, user=actor.user, seq=1, role="user", content="Why?", flag_reason="key")
    Chunk.objects.create(session=session, user=actor.user, seq=2, role="assistant", content="Because.\n\n- a\n- b")
    fact = make_fact(actor, HARD, category="decision", project="depot")
    Fact.objects.filter(pk=fact.pk).update(
        confidence=0.5, created_at=moment, valid_from=moment, valid_until=moment + timedelta(days=9000),
        source_session=session, updated_at=moment + timedelta(days=1), trigger_level="block",
        triggers=["command: git push --force"], anchors=["acme/shop#limits.py:RATE@3f2a1bc"],
    )  # fmt: skip
    make_fact(actor, "Prefers pytest.", category="preference")
    belief = make_hypothesis(actor, "I believe X because Y.")
    Hypothesis.objects.filter(pk=belief.pk).update(
        project="depot", confidence=0.3, created_at=moment, check_on="2027-01-01", session=session,
        status="refuted", resolution="It was not.", resolved_at=moment + timedelta(days=2),
    )  # fmt: skip
    note = make_note(actor, "Call first.\n\n---\n", domain="email/out", key="dymon: packages")
    Note.objects.filter(pk=note.pk).update(
        created_at=moment, updated_at=moment, project="depot", expires_at=moment + timedelta(days=9000)
    )
    return actor


def fields_of(actor: Actor) -> dict[tuple[str, int, str], object]:
    """The stored rows of all that formats carry, column by column, without what an import makes anew."""
    said = {}
    for copied in IN_OTHER_FORMATS:
        rows = copied.model.objects.filter(**{getattr(copied.model, "owned_by", "user"): actor.user})
        for number, row in enumerate(sorted(rows, key=str)):
            values = copied.values(row).items()
            said |= {(copied.model.__name__, number, name): _plain(value) for name, value in values if name not in OWN}
    return said


def _plain(value: object) -> object:
    """A value; a session, which gets another id, by its headline."""
    return str(value) if isinstance(value, Session) else value
