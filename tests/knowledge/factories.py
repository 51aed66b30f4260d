"""Remembered things for tests, made by the services that make them in earnest."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

from django.db.models import Model

from accounts.actor import Actor
from bigmind.text.hygiene import digest, normalise
from knowledge.context.sessions import begin_session, end_session, start_session
from knowledge.conversation.chunks import append_chunk
from knowledge.kb.entry_imports import NewEntry, import_entries
from knowledge.memory.facts import store_fact
from knowledge.memory.hypotheses import add_hypothesis
from knowledge.memory.notes import set_note
from knowledge.models import Chunk, CompanyEntry, Fact, Hypothesis, Kind, Note, Reference, Session
from knowledge.references.imports import import_references
from knowledge.references.readers.reference_drafts import CommandForm, EndpointForm, ReferenceDraft
from knowledge.search.passages import Indexed, index_new
from tests.factories import make_actor

_numbers = count(1)


def make_session(
    actor: Actor,
    *,
    one_liner: str = "",
    project: str = "",
    is_open: bool = False,
    begin: Callable[..., Session] = begin_session,
    **told: Any,
) -> Session:
    """Make a session, ended unless it is to stay open, that was told nothing; `told` is what `end_session` takes."""
    session = begin(actor, project=project)
    if is_open:
        return session
    headline = one_liner or f"Session {next(_numbers)}"
    return end_session(actor, session_id=str(session.pk), one_liner=headline, **told)


make_told_session = partial(make_session, begin=lambda actor, project: start_session(actor, project=project).session)
"""Make a session that began as an agent begins one: with a context, of which it has a receipt."""


def make_chunk(actor: Actor, *, session: Session | None = None, content: str = "", flag_reason: str = "") -> Chunk:
    """Make a chunk: in the session that is given, else in the open one, else in a new one that stays open."""
    session = session or Session.objects.of(actor.user).filter(ended_at=None).first()
    session = session or make_session(actor, is_open=True)
    return append_chunk(
        actor,
        role="assistant",
        content=content or f"Exchange {next(_numbers)}",
        flag_reason=flag_reason,
        session_id=str(session.pk),
    )


def make_fact(actor: Actor, fact: str = "", *, category: Any = "preference", **told: Any) -> Fact:
    """Make a fact; `told` is what `store_fact` takes."""
    return store_fact(actor, category=category, fact=fact or f"Fact {next(_numbers)}", **told).fact


def make_facts(actor: Actor, texts: Iterable[str], *, category: Any = "preference", project: str = "") -> list[Fact]:
    """Make many facts at once, as an import does: they are indexed, and compared with nothing."""
    of_all = {"user": actor.user, "category": category, "project": project}
    facts = Fact.objects.bulk_create(Fact(fact=text, digest=digest(normalise(text)), **of_all) for text in texts)
    index_new(Kind.FACT, [Indexed(fact.pk, fact.fact, project) for fact in facts], owner=actor.user)
    return facts


def make_entries(actor: Actor, contents: Iterable[str], **told: Any) -> None:
    """Make many entries by one import; `told` is what each of its rows says."""
    import_entries(actor, entries=[NewEntry(content=content, **told) for content in contents])


def make_company(approved: CompanyEntry, contents: Iterable[str]) -> None:
    """Make more company knowledge like an entry that was approved: at once, and without asking what it contradicts."""
    columns = {field.attname: getattr(approved, field.attname) for field in CompanyEntry._meta.fields}
    CompanyEntry.objects.bulk_create(
        CompanyEntry(**columns | {"id": None, "content": content, "digest": digest(content)}) for content in contents
    )


def make_note(actor: Actor, content: str = "", *, domain: str = "email", key: str = "", **told: Any) -> Note:
    """Make a note; `told` is what `set_note` takes."""
    number = next(_numbers)
    return set_note(actor, domain=domain, key=key or f"note-{number}", content=content or f"Note {number}", **told)


def make_hypothesis(actor: Actor, hypothesis: str = "", **told: Any) -> Hypothesis:
    """Make a hypothesis, open; `told` is what `add_hypothesis` takes."""
    return add_hypothesis(actor, hypothesis=hypothesis or f"Belief {next(_numbers)}", **told)


def make_draft(name: str = "", *, key: str = "", kind: Any = "command", **told: Any) -> ReferenceDraft:
    """Make a draft as a generator would: a command or an endpoint by its name, else a text; `told` is the rest."""
    form: dict[str, Any] = {}
    if kind == "command" and name:
        form = {"command": CommandForm(name=name, syntax=name)}
    if kind == "api":
        method, _, path = name.partition(" ")
        form = {"endpoint": EndpointForm(method=method, path=path)}
    written = {"title": name or f"Reference {next(_numbers)}", "content": name or "A text.", **form, **told}
    return ReferenceDraft(key=key or name or f"ref-{next(_numbers)}", kind=kind, name=name, **written)


def make_reference(name: str = "", *, collection: str = "helios", **told: Any) -> Reference:
    """Make a reference, imported by a curator."""
    draft = make_draft(name, **told)
    import_references(make_actor(curator=True), collection=collection, drafts=[draft])
    return Reference.objects.get(collection__slug=collection, key=draft.key)


def columns_at_default(row: Model) -> set[str]:
    """The columns that say no more than in a row of which nothing was said."""
    return {
        field.name
        for field in row._meta.concrete_fields
        if not field.primary_key and getattr(row, field.attname) in (None, "", [], {}, field.get_default())
    }
